//! The helper as a process: what it prints when it cannot ask anybody.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::{
    io::Write,
    process::{Command, Stdio},
};

/// What the helper prints for `question` on its stdin.
fn answer_to(question: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_invar-judge"))
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(question.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_question_that_cannot_be_asked_is_an_error_and_never_a_verdict() {
    for (question, why) in [
        ("", "the question is not JSON"),
        ("{}", "the question has no usable `http`"),
        (
            r#"{"http": {"kind": "openai", "base_url": "", "model": "m", "key_variable": "",
                "max_tokens": 1, "timeout_seconds": 1, "retries": 0}}"#,
            "the question has no prompt",
        ),
    ] {
        let answer: serde_json::Value = serde_json::from_str(&answer_to(question)).unwrap();
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(why), "{error}");
        assert_eq!(answer["verdict"], serde_json::Value::Null);
    }
}
