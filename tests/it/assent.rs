//! Changes that wait for a person: the hook, the command line and the screen together.

use serde_json::{Value, json};

use crate::support::{Decision, Running, Screen, World, decision, wait_for};

fn guarded() -> World {
    let w = World::new();
    w.ok(&[
        "add",
        "--assent",
        "--when",
        "db/**",
        "A person approves each schema change",
    ]);
    w
}

fn write(w: &World, content: &str) -> crate::support::Ran {
    w.tool(
        "s",
        "Write",
        json!({"file_path": w.project.join("db/schema.sql"), "content": content}),
    )
}

fn waiting(w: &World) -> Vec<Value> {
    w.data(&["assent", "list"])["assents"]
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn an_approval_is_for_one_content_and_one_time() {
    let w = guarded();
    assert_eq!(
        decision(&w.tool(
            "s",
            "Write",
            json!({"file_path": w.project.join("src/a"), "content": "x"})
        ))
        .0,
        Decision::Allow
    );
    let asked = write(&w, "create table a").json();
    let answer = &asked["hookSpecificOutput"];
    assert_eq!(
        answer["permissionDecision"], "ask",
        "Claude Code has a prompt of its own"
    );
    let reason = answer["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("invar assent approve"), "{reason}");
    // Another content asks anew, and neither overwrites the other.
    write(&w, "drop table a");
    let all = waiting(&w);
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[0]["change"], "+create table a\n");
    assert_eq!(all[0]["path"], "db/schema.sql");
    let id = all[0]["id"].as_str().unwrap();
    let approved = w.data(&["assent", "approve", id]);
    assert_eq!(approved["assents"][0]["for_plan"], false);
    assert!(
        approved["assents"][0]["by"]
            .as_str()
            .unwrap()
            .contains("user")
    );
    assert_eq!(decision(&write(&w, "create table a")).0, Decision::Allow);
    let again = write(&w, "create table a").json();
    assert_eq!(
        again["hookSpecificOutput"]["permissionDecision"], "ask",
        "once is once"
    );
    let used = w.run(&["assent", "approve", id]);
    assert_eq!(used.code, 1);
    assert!(
        used.stderr.contains("the change was made"),
        "{}",
        used.stderr
    );
    // For the plan: the same change as often as it comes.
    let id = waiting(&w).last().unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    w.ok(&["assent", "approve", "--plan", &id]);
    for _ in 0..2 {
        assert_eq!(decision(&write(&w, "create table a")).0, Decision::Allow);
    }
    assert_eq!(
        write(&w, "create table b").json()["hookSpecificOutput"]["permissionDecision"],
        "ask"
    );
}

#[test]
fn a_refusal_is_read_by_the_model_and_its_repetition_is_a_strike() {
    let w = guarded();
    write(&w, "drop table users");
    let id = waiting(&w)[0]["id"].as_str().unwrap().to_owned();
    let bare = w.run(&["assent", "refuse", &id, "--reason", " "]);
    assert_eq!(bare.code, 1);
    assert!(bare.stderr.contains("needs a reason"), "{}", bare.stderr);
    w.ok(&["assent", "refuse", &id, "--reason", "we keep the users"]);
    for (strike, expected) in [
        (1, Decision::Deny),
        (2, Decision::Deny),
        (3, Decision::Halt),
    ] {
        let (got, reason) = decision(&write(&w, "drop table users"));
        assert_eq!(got, expected);
        assert!(
            reason.contains("we keep the users")
                && reason.contains(&format!("strike {strike} of 3")),
            "{reason}"
        );
    }
}

#[test]
fn an_agent_without_a_prompt_is_denied_with_instructions_and_commands_ask_too() {
    let w = guarded();
    let payload = json!({
        "session_id": "c", "cwd": w.project, "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_use_id": "1", "tool_input": {"command": "echo x > db/schema.sql"},
    });
    let answer = w.hook_of("codex", payload.to_string().as_bytes()).json();
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
    let reason = answer["hookSpecificOutput"]["permissionDecisionReason"]
        .as_str()
        .unwrap();
    assert!(reason.contains("invar assent approve"), "{reason}");
    let all = waiting(&w);
    assert_eq!(all[0]["change"], "$ echo x > db/schema.sql\n");
    let plan = w.data(&["plan", "check", "--agent", "codex"]);
    assert_eq!(plan["invariants"][0]["support"], "partly");
    // An agent may not answer for the person.
    let mut own = w.command(&["assent", "approve", all[0]["id"].as_str().unwrap()]);
    let refused = crate::support::Ran::new(own.env("CLAUDECODE", "1").output().unwrap());
    assert_eq!(refused.code, 3, "{}", refused.stderr);
}

#[test]
fn a_person_at_the_screen_answers_while_the_hook_waits() {
    let w = guarded();
    let mut s = Screen::open(&w, &[], (110, 34));
    s.shows("A person approves");
    let ask = |content: &'static str| {
        let input = json!({"file_path": w.project.join("db/schema.sql"), "content": content});
        let payload = json!({
            "session_id": "s", "cwd": w.project, "hook_event_name": "PreToolUse",
            "tool_name": "Write", "tool_input": input, "tool_use_id": content,
        });
        let mut child = w
            .command(&["hook", "claude-code"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(
            &mut child.stdin.take().unwrap(),
            payload.to_string().as_bytes(),
        )
        .unwrap();
        Running(child)
    };
    let end = |mut hook: Running| {
        wait_for("the hook's answer", || hook.0.try_wait().unwrap());
        let mut out = String::new();
        std::io::Read::read_to_string(&mut hook.0.stdout.take().unwrap(), &mut out).unwrap();
        out
    };
    let hook = ask("create table a");
    s.shows("1 needs you");
    s.send("b");
    s.shows("approve once");
    s.shows("+create table a");
    s.send("1");
    s.shows("approved");
    assert_eq!(end(hook), "");
    let hook = ask("drop table a");
    s.shows("+drop table a");
    s.send("3");
    s.shows("why?");
    s.send("not today\r");
    assert!(end(hook).contains("not today"));
    s.shows("Nothing stands in the way");
    s.send("\u{1b}");
    s.hides("Nothing stands in the way");
    s.send("q");
    s.shows("Leave while agents run?");
    s.send("y");
    s.end();
}
