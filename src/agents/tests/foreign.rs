//! Foreign tools: what is read out of their names and inputs, and that each of them is looked after.

use serde_json::{Value, json};

use super::{super::foreign, agent, env};
use crate::{
    engine::requests::HookEvent,
    model::{Attempt, Effect},
};

/// The effects of a call, in words: `change a`, `move a to b`, `run ls`.
fn effects(tool: &str, input: Value) -> Vec<String> {
    let call = foreign::read(tool, &input);
    assert_eq!(call.fault, None, "{tool} {input}");
    call.effects.iter().map(words).collect()
}

fn words(effect: &Effect) -> String {
    match effect {
        Effect::Change { path } => format!("change {}", path.display()),
        Effect::Delete { path } => format!("delete {}", path.display()),
        Effect::Read { path } => format!("read {}", path.display()),
        Effect::Move { from, to } => format!("move {} to {}", from.display(), to.display()),
        Effect::Opaque { command, language } => match language {
            None => format!("run {command}"),
            Some(language) => format!("{language} {command}"),
        },
    }
}

fn has(tool: &str, input: &Value, expected: &str) {
    let all = effects(tool, input.clone());
    assert!(
        all.iter().any(|e| e == expected),
        "{tool} {input}: {all:?} has no {expected}"
    );
}

fn payload(event: &str, tool: &str, input: &Value) -> Vec<u8> {
    json!({
        "session_id": "s", "cwd": "/w", "hook_event_name": event, "tool_name": tool,
        "tool_input": input,
    })
    .to_string()
    .into_bytes()
}

fn attempt(tool: &str, input: &Value) -> Attempt {
    let claude = agent("claude-code").unwrap();
    let parsed = claude.read(&payload("PreToolUse", tool, input), &env());
    match parsed.ok().unwrap().call.unwrap().what {
        HookEvent::Attempt(attempt) => attempt,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_foreign_tool_is_looked_after_whatever_it_is_called() {
    let claude = agent("claude-code").unwrap();
    let input = json!({"path": "tests/t.py"});
    for tool in [
        "mcp__x__read_file",
        "mcp__x__search_and_replace",
        "mcp__x__get_or_create_file",
        "mcp__x__fetch_to_file",
        "mcp__x__hover",
        "mcp__ide__getDiagnostics",
        "ReadMcpResourceTool",
        "FutureTool",
    ] {
        assert!(attempt(tool, &input).may_write, "{tool}");
        let after = claude.read(&payload("PostToolUse", tool, &input), &env());
        let what = after.ok().unwrap().call.map(|call| call.what);
        assert!(matches!(what, Some(HookEvent::Ran(_))), "{tool}: {what:?}");
    }
    for (tool, input) in [
        ("Read", json!({"file_path": "a"})),
        ("NotebookRead", json!({"notebook_path": "docs/n.ipynb"})),
        (
            "LSP",
            json!({"operation": "hover", "filePath": "tests/t.py"}),
        ),
        ("SendMessage", json!({"to": "docs/x", "message": "hello"})),
    ] {
        let attempt = attempt(tool, &input);
        assert!(!attempt.may_write, "{tool}");
        assert!(
            attempt
                .effects
                .iter()
                .all(|e| matches!(e, Effect::Read { .. })),
            "{tool}"
        );
    }
}

#[test]
fn a_verb_of_the_name_says_what_is_done() {
    let input = json!({"path": "tests/t.py"});
    for (tool, expected) in [
        ("mcp__x__search_and_replace", "change tests/t.py"),
        ("mcp__x__find_and_replace", "change tests/t.py"),
        ("mcp__x__get_or_create_file", "change tests/t.py"),
        ("mcp__x__fetch_to_file", "change tests/t.py"),
        ("mcp__x__read_write_file", "change tests/t.py"),
        ("mcp__x__get_and_set", "change tests/t.py"),
        ("FutureTool", "change tests/t.py"),
        ("mcp__x__list_and_delete", "delete tests/t.py"),
        ("mcp__x__delete_folder", "delete tests/t.py"),
        ("mcp__x__rename", "delete tests/t.py"),
        ("mcp__fs__read_file", "read tests/t.py"),
        ("mcp__x__readFile", "read tests/t.py"),
        ("mcp__x__fs_read", "read tests/t.py"),
        ("mcp__x__directory_tree", "read tests/t.py"),
        ("mcp__x__output_stream_read", "read tests/t.py"),
        ("mcp__lf__listObservations", "read tests/t.py"),
        ("mcp__ide__getDiagnostics", "read tests/t.py"),
        ("mcp__x__hover", "read tests/t.py"),
        ("mcp__x__run_tests", "read tests/t.py"),
        ("mcp__x__explain_code", "read tests/t.py"),
    ] {
        assert_eq!(effects(tool, input.clone()), [expected], "{tool}");
    }
    // A tool that calls another one does what that does.
    for (inner, expected) in [("read_file", "read a.py"), ("delete_file", "delete a.py")] {
        let input =
            json!({"server_name": "fs", "tool_name": inner, "arguments": "{\"path\":\"a.py\"}"});
        assert_eq!(effects("use_mcp_tool", input), [expected]);
    }
    // What a reading tool is told to write is written.
    let fetched = json!({"url": "https://example.org/a", "outputPath": "tests/t.py"});
    assert_eq!(effects("mcp__x__fetch", fetched), ["change tests/t.py"]);
}

#[test]
fn a_path_counts_in_any_field_and_depth() {
    let path = "tests/t.py";
    for input in [
        json!({"relative_path": path, "regex": "x", "repl": "y"}),
        json!({"relative_path": path, "name_path": "f", "body": "z"}),
        json!({"pathInProject": path, "text": "z"}),
        json!({"fileName": path}),
        json!({"destinationPath": path}),
        json!({"file_paths": [path], "text": "z"}),
        json!({"filepaths": [path]}),
        json!({"targets": [path]}),
        json!({"entry": path}),
        json!({"resource": path}),
        json!({"out": path}),
        json!({"selector": "tests/t.py::test_x"}),
        json!({"files": [{"name": path, "content": "z"}]}),
        json!({"a": {"b": [{"c": [[{"d": {"e": path}}]]}]}}),
        json!({"arguments": "{\"path\":\"tests/t.py\",\"content\":\"z\"}"}),
        json!({"changes": {path: [{"newText": "z"}]}}),
        json!({"edits": {path: "z"}}),
        json!({"path": ["tests", "t.py"]}),
        json!({"file_name": "t.py", "directory": "tests"}),
        json!({"folder": "tests", "files": [{"name": "t.py", "content": "z"}]}),
        json!({"root": "tests", "path": "t.py"}),
        json!({"path": "tests%2Ft.py"}),
        json!({"entry": "tests%2Ft.py"}),
        json!({"path": " tests/t.py "}),
        json!({"path": "tests/t.py:12"}),
    ] {
        has("mcp__x__edit", &input, "change tests/t.py");
    }
    let absolute = "/w/tests/t.py";
    for input in [
        json!({"path": "FILE:///w/tests/t.py"}),
        json!({"path": "file:/w/tests/t.py"}),
        json!({"path": "file://localhost/w/tests/t.py"}),
        json!({"uri": "file:///w/tests%2ft.py"}),
        json!({"path": "vscode-remote://ssh/w/tests/t.py"}),
        json!({"path": {"fsPath": absolute}}),
        json!({"textDocument": {"uri": "file:///w/tests/t.py"}}),
        json!({"changes": {"file:///w/tests/t.py": [{"newText": "z"}]}}),
        json!({"cwd": "/w/tests", "path": "t.py"}),
        json!({"branch": absolute}),
        json!({"cwd": absolute}),
        json!({"directory": absolute, "name": "x"}),
    ] {
        has("mcp__x__edit", &input, "change /w/tests/t.py");
    }
    let deep = (0..100).fold(json!({"x": path}), |inner, _| json!({ "x": inner }));
    has("mcp__x__edit", &deep, "change tests/t.py");
}

#[test]
fn paths_are_found_in_their_order() {
    let input = json!({
        "target": "/w/docs/a.md",
        "payload": {"nested": {"path": "/etc/hosts"}},
        "files": ["a.py", "not a path"],
        "filePath": "b",
    });
    assert_eq!(
        effects("FutureTool", input),
        [
            "change /w/docs/a.md",
            "change /etc/hosts",
            "change a.py",
            "change b"
        ]
    );
}

#[test]
fn deleting_and_moving_name_both_ends() {
    for (tool, input, expected) in [
        (
            "move",
            json!({"from": "tests", "to": "old"}),
            vec!["move tests to old"],
        ),
        (
            "delete",
            json!({"ids": ["tests/t.py"]}),
            vec!["delete tests/t.py"],
        ),
        (
            "delete_folder",
            json!({"path": "tests"}),
            vec!["delete tests"],
        ),
        (
            "delete_folder",
            json!({"folder": "tests"}),
            vec!["delete tests"],
        ),
        (
            "delete_folder",
            json!({"item": "tests"}),
            vec!["delete tests"],
        ),
        (
            "remove_files",
            json!({"ids": ["Makefile"]}),
            vec!["delete Makefile"],
        ),
        (
            "delete_files",
            json!({"pattern": "tests/*.py"}),
            vec!["delete tests", "delete tests/*.py"],
        ),
        (
            "delete_file",
            json!({"directory": "tests", "name": "t.py"}),
            vec!["delete tests/t.py"],
        ),
        (
            "rename",
            json!({"old_name": "src/a.py", "new_name": "tests/t.py"}),
            vec!["move src/a.py to tests/t.py"],
        ),
        (
            "rename",
            json!({"path": "src/a.py", "new_name": "b.py"}),
            vec!["move src/a.py to src/b.py"],
        ),
        (
            "moveFile",
            json!({"source": "tests", "destination": "old"}),
            vec!["move tests to old"],
        ),
        (
            "moveFile",
            json!({"sourcePath": "tests", "destinationPath": "old"}),
            vec!["move tests to old"],
        ),
        (
            "move_files",
            json!({"from": ["a/x.py", "b/y.py"], "to": "src/"}),
            vec!["move a/x.py to src/", "move b/y.py to src/"],
        ),
        (
            "copy_file",
            json!({"sourcePath": "tests/t.py", "destinationPath": "src/t.py"}),
            vec!["read tests/t.py", "change src/t.py"],
        ),
        (
            "copy_file",
            json!({"source": "tests/t.py"}),
            vec!["change tests/t.py"],
        ),
    ] {
        assert_eq!(
            effects(&format!("mcp__x__{tool}"), input.clone()),
            expected,
            "{tool} {input}"
        );
    }
}

#[test]
fn commands_programs_and_patches_are_what_they_are() {
    let input = json!({
        "command": "rm a", "cmd": ["bash", "-lc", "rm b"],
        "nested": {"code": "open('c')", "language": "python"},
        "edit": "*** Begin Patch\n*** Update File: d\n*** End Patch", "location": "/w/e.txt", "content": "--- a/f\n+++ b/f\n",
    });
    assert_eq!(
        effects("mcp__box__run", input),
        [
            "run rm a",
            "run rm b",
            "python open('c')",
            "change d",
            "change /w/e.txt"
        ]
    );
    for (tool, input, expected) in [
        (
            "x",
            json!({"cmd": ["rm", "it's"]}),
            vec![r"run 'rm' 'it'\''s'"],
        ),
        (
            "x",
            json!({"command": "cp", "args": ["src/a.py", "tests/t.py"]}),
            vec!["run cp 'src/a.py' 'tests/t.py'"],
        ),
        (
            "x",
            json!({"args": ["-c", "echo z > t"], "program": "sh"}),
            vec!["run sh '-c' 'echo z > t'"],
        ),
        (
            "x",
            json!({"executable": "rm", "arguments": "-r tests"}),
            vec!["run rm -r tests"],
        ),
        (
            "x",
            json!({"command": "rm a", "args": ["b"]}),
            vec!["run rm a", "run rm a 'b'"],
        ),
        (
            "x",
            json!({"code": "*** Begin Patch\n*** Delete File: d\n*** End Patch"}),
            vec!["delete d"],
        ),
        (
            "x",
            json!({"argv": ["cp", "a", "b"]}),
            vec!["run 'cp' 'a' 'b'"],
        ),
        (
            "x",
            json!({"commands": ["ls", "rm a"]}),
            vec!["run ls", "run rm a"],
        ),
        ("x", json!({"commandLine": "rm a"}), vec!["run rm a"]),
        (
            "mcp__tmux__send_keys",
            json!({"keys": "rm a"}),
            vec!["run rm a"],
        ),
        (
            "mcp__x__terminal",
            json!({"text": "rm a\n"}),
            vec!["run rm a\n"],
        ),
        (
            "mcp__js__run",
            json!({"javascript": "f()"}),
            vec!["program f()"],
        ),
        (
            "mcp__jupyter__insert_execute_code_cell",
            json!({"source": "f()"}),
            vec!["program f()"],
        ),
        (
            "x",
            json!({"command": "rm a", "cwd": "/w/b"}),
            vec!["run rm a", "run cd '/w/b' && rm a"],
        ),
    ] {
        assert_eq!(effects(tool, input.clone()), expected, "{tool} {input}");
    }
}

#[test]
fn what_is_no_path_is_left_alone() {
    for (tool, input) in [
        (
            "mail__send",
            json!({
                "to": "mira@example.org", "source": "https://example.org/a/b", "text": "edit src/a.rs",
                "target": "production", "route": "/api/v1", "link": "/login",
            }),
        ),
        (
            "github__create_pull_request",
            json!({"title": "t", "body": "see tests/t.py", "head": "feature/x", "base": "main", "repo": "owner/name"}),
        ),
        (
            "memory__create_entities",
            json!({"entities": [{"name": "tests/t.py", "entityType": "file", "observations": ["/x/y.md"]}]}),
        ),
        (
            "thinking__think",
            json!({"thought": "tests/t.py", "next": false, "total": 3}),
        ),
        (
            "slack__post_message",
            json!({"channel": "dev/a.b", "text": "tests/t.py"}),
        ),
        (
            "tavily__tavily-extract",
            json!({"urls": ["https://example.org/a.html"]}),
        ),
        (
            "x__run",
            json!({"model": "a/b", "mime_type": "text/html", "version": "1.2", "date": "2026/12/03", "at": "12:30"}),
        ),
        ("board__move_card", json!({"from": "todo", "to": "done"})),
        (
            "git__git_commit",
            json!({"repo_path": "/w", "message": "mend src/a.rs"}),
        ),
    ] {
        assert_eq!(
            effects(&format!("mcp__{tool}"), input.clone()),
            [""; 0],
            "{tool} {input}"
        );
    }
}

#[test]
fn a_call_beyond_measure_is_denied_with_the_reason_and_looked_after() {
    let claude = agent("claude-code").unwrap();
    let files = |count: usize| {
        let files: Vec<String> = (0..count).map(|n| format!("src/f{n}.py")).collect();
        json!({ "files": files })
    };
    let packed = (0..5).fold(
        json!({"path": "a.py"}),
        |inner, _| json!({"arguments": inner.to_string()}),
    );
    let starts = (0..20).fold(
        json!({"path": "a.py"}),
        |inner, n| json!({"cwd": format!("/w{n}"), "x": inner}),
    );
    for (input, part) in [
        (files(201), "more than 200 files"),
        (
            json!({ "files": vec!["a.py"; 30_000] }),
            "more than 20000 places",
        ),
        (packed, "packed more than 4 times"),
        (starts, "more than 16 folders"),
    ] {
        let refusal = claude.read(&payload("PreToolUse", "mcp__x__edit", &input), &env());
        let refusal = refusal.err().unwrap();
        assert!(refusal.reason.contains(part), "{}", refusal.reason);
        assert!((claude.denies)(&(claude.refuse)(&refusal)));
        let after = claude.read(&payload("PostToolUse", "mcp__x__edit", &input), &env());
        let what = after.ok().unwrap().call.unwrap().what;
        assert!(matches!(what, HookEvent::Ran(_)));
    }
    assert_eq!(attempt("mcp__x__edit", &files(200)).effects.len(), 200);
    assert!(
        !attempt("mcp__x__read_files", &files(1000))
            .effects
            .is_empty()
    );
}
