//! Every agent's hook, as a process: what it may not do is denied in its own words.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Ran, World, guarded};

fn fixture(w: &World, agent: &str, file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let text = fs::read_to_string(folder.join(agent).join(file)).unwrap();
    text.replace("/home/mira/tidewater", &w.project.display().to_string())
}

fn ask(w: &World, agent: &str, file: &str) -> Ran {
    w.hook_of(agent, fixture(w, agent, file).as_bytes())
}

/// A forbidden and an allowed payload of each agent, and where its answer says no.
const CASES: [(&str, &str, &str, &str); 17] = [
    (
        "codex",
        "pre-tool-use-apply_patch-delete.json",
        "pre-tool-use-codemode-bash.json",
        "/hookSpecificOutput/permissionDecisionReason",
    ),
    (
        "gemini",
        "before-tool-replace.json",
        "before-tool-write_file.json",
        "/reason",
    ),
    (
        "qwen",
        "PreToolUse-run_shell_command.json",
        "PreToolUse-read_file.json",
        "/hookSpecificOutput/permissionDecisionReason",
    ),
    (
        "opencode",
        "tool.execute.before-bash.json",
        "tool.execute.before-write.json",
        "/reason",
    ),
    (
        "opencode",
        "v2-tool.execute.before-shell.json",
        "v2-tool.execute.before-write.json",
        "/reason",
    ),
    (
        "copilot",
        "preToolUse-edit.json",
        "preToolUse-create.json",
        "/permissionDecisionReason",
    ),
    (
        "copilot",
        "pascal-PreToolUse-Edit.json",
        "pascal-PreToolUse-Write.json",
        "/hookSpecificOutput/permissionDecisionReason",
    ),
    (
        "cursor",
        "preToolUse-Delete.json",
        "preToolUse-Write.json",
        "/user_message",
    ),
    (
        "pi",
        "tool_call-bash.json",
        "tool_call-write.json",
        "/reason",
    ),
    (
        "crush",
        "PreToolUse-bash.json",
        "PreToolUse-write.json",
        "/reason",
    ),
    (
        "factory-droid",
        "PreToolUse-Execute.json",
        "PreToolUse-Create.json",
        "/hookSpecificOutput/permissionDecisionReason",
    ),
    (
        "goose",
        "PreToolUse-shell.json",
        "PreToolUse-write.json",
        "/reason",
    ),
    (
        "windsurf",
        "pre_write_code.json",
        "pre_read_code.json",
        "stderr",
    ),
    (
        "kiro",
        "preToolUse-execute_bash.json",
        "preToolUse-fs_write.json",
        "stderr",
    ),
    (
        "cline",
        "PreToolUse-replace_in_file.json",
        "PreToolUse-write_to_file.json",
        "/errorMessage",
    ),
    ("grok", "PreToolUse-shell.json", "", "/reason"),
    ("antigravity", "PreToolUse-run_command.json", "", "/reason"),
];

#[test]
fn what_is_forbidden_is_denied_in_each_agents_own_form() {
    for (agent, forbidden, allowed, place) in CASES {
        let w = guarded();
        let ran = ask(&w, agent, forbidden);
        let reason = match place {
            "stderr" => ran.stderr.clone(),
            place => ran
                .json()
                .pointer(place)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        };
        assert!(
            reason.contains("strike 1 of 3"),
            "{agent}: {} {}",
            ran.stdout,
            ran.stderr
        );
        if allowed.is_empty() {
            continue;
        }
        let ran = ask(&w, agent, allowed);
        assert_eq!(ran.code, 0, "{agent}/{allowed}: {}", ran.stderr);
        assert!(
            !ran.stdout.contains("denied") && !ran.stdout.contains("deny"),
            "{agent}/{allowed}: {}",
            ran.stdout
        );
    }
}

#[test]
fn an_interactive_shell_is_denied_where_its_input_is_unseen() {
    let w = guarded();
    let ran = ask(&w, "codex", "pre-tool-use-bash-interactive-shell.json");
    let answer = ran.json();
    let reason = answer["hookSpecificOutput"]["permissionDecisionReason"]
        .as_str()
        .unwrap();
    assert!(reason.contains("waits for input"), "{reason}");
    // With Claude Code nobody can type into it.
    let ran = w.tool("s", "Bash", json!({"command": "bash"}));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
}

#[test]
fn one_action_that_comes_twice_counts_once() {
    let w = guarded();
    let mut engine = w.command(&["serve"]);
    let _engine = crate::support::Running(engine.spawn().unwrap());
    crate::support::wait_for("the engine", || {
        w.store()
            .with_extension("redb.owner")
            .exists()
            .then_some(())
    });
    let payload = |event: &str| {
        json!({
            "conversation_id": "c", "generation_id": "g", "cursor_version": "3.9.16",
            "hook_event_name": event, "workspace_roots": [w.project], "cwd": w.project,
            "tool_name": "Shell", "tool_use_id": "t1", "command": "rm tests/test_sync.py",
            "tool_input": {"command": "rm tests/test_sync.py"},
        })
        .to_string()
    };
    let shell = json!({
        "conversation_id": "c", "generation_id": "g", "cursor_version": "3.9.16",
        "hook_event_name": "beforeShellExecution", "workspace_roots": [w.project],
        "command": "rm tests/test_sync.py", "cwd": w.project,
    });
    // Cursor's own hook, another of its events, and Claude Code's hook file.
    let own = w.hook_of("cursor", payload("preToolUse").as_bytes());
    let event = w.hook_of("cursor", shell.to_string().as_bytes());
    let foreign = w.hook_of("claude-code", payload("PreToolUse").as_bytes());
    assert!(
        own.json()["user_message"]
            .as_str()
            .unwrap()
            .contains("strike 1 of 3")
    );
    assert_eq!(event.json(), own.json());
    assert_eq!(foreign.code, 2);
    assert!(
        foreign.stderr.contains("strike 1 of 3"),
        "{}",
        foreign.stderr
    );
    let strikes = w.data(&["strikes"]);
    let counts: Vec<u64> = strikes["strikes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["count"].as_u64().unwrap())
        .collect();
    assert!(
        !counts.is_empty() && counts.iter().all(|c| *c == 1),
        "{strikes}"
    );
}

#[test]
fn the_generic_form_is_what_its_page_says() {
    let w = guarded();
    let ask = |event: Value| {
        let mut payload = json!({"session": "s", "cwd": w.project});
        payload
            .as_object_mut()
            .unwrap()
            .extend(event.as_object().unwrap().clone());
        w.hook_of("generic", payload.to_string().as_bytes())
    };
    let start = ask(json!({"event": "session_start"}));
    assert!(
        start.json()["context"]
            .as_str()
            .unwrap()
            .contains("test_sync.py is untouched")
    );
    let edit =
        |path: &str| json!({"event": "before", "tool": "edit", "input": {"changes": [path]}});
    let allowed = ask(edit("src/a.rs"));
    assert_eq!(
        (allowed.code, &allowed.json()["verdict"]),
        (0, &json!("allow"))
    );
    for (strike, code, verdict) in [(1, 3, "deny"), (2, 3, "deny"), (3, 4, "halt")] {
        let ran = ask(edit("tests/test_sync.py"));
        let answer = ran.json();
        assert_eq!(
            (ran.code, answer["verdict"].as_str()),
            (code, Some(verdict))
        );
        assert!(
            answer["reason"]
                .as_str()
                .unwrap()
                .contains(&format!("strike {strike} of 3"))
        );
    }
    assert_eq!(
        ask(edit("src/a.rs")).code,
        4,
        "a halted run gets nothing through"
    );
    let command =
        json!({"event": "before", "tool": "sh", "input": {"command": "rm tests/test_sync.py"}});
    assert_eq!(ask(command).code, 4);
    assert_eq!(ask(json!({"event": "prompt"})).code, 4);
    let nonsense = ask(json!({"event": "before", "tool": "edit"}));
    assert_eq!(nonsense.code, 3);
    assert!(
        nonsense.json()["reason"]
            .as_str()
            .unwrap()
            .contains("`input`")
    );
}

#[test]
fn a_model_hears_of_a_change_of_its_invariants_once() {
    let w = guarded();
    let payload = |event: &str| {
        json!({"session_id": "s", "cwd": w.project, "hook_event_name": event, "prompt": "go"})
            .to_string()
    };
    let context = |ran: &Ran| match ran.stdout.is_empty() {
        true => String::new(),
        false => ran.json()["hookSpecificOutput"]["additionalContext"]
            .as_str()
            .unwrap()
            .to_owned(),
    };
    let start = w.hook_bytes(payload("SessionStart").as_bytes());
    assert!(context(&start).contains("test_sync.py is untouched"));
    let quiet = w.hook_bytes(payload("UserPromptSubmit").as_bytes());
    assert_eq!(context(&quiet), "", "nothing has changed");
    w.ok(&["add", "--untouched", "LICENSE"]);
    let told = w.hook_bytes(payload("UserPromptSubmit").as_bytes());
    assert!(context(&told).contains("have changed"), "{}", told.stdout);
    assert!(context(&told).contains("LICENSE is untouched"));
    assert_eq!(
        context(&w.hook_bytes(payload("UserPromptSubmit").as_bytes())),
        ""
    );
    w.ok(&["add", "--untouched", "NOTICE"]);
    let read = w.tool(
        "s",
        "Read",
        json!({"file_path": w.project.join("src/a.rs")}),
    );
    assert!(
        context(&read).contains("NOTICE is untouched"),
        "before an action as well"
    );
}

#[test]
fn a_commit_moves_an_automatic_plan_to_apply_and_waits_at_its_gate() {
    let w = World::new();
    w.ok(&["add", "--untouched", "tests/test_sync.py"]);
    let commit = || w.tool("s", "Bash", json!({"command": "git commit -qm x"}));
    assert_eq!(w.edit("s", "src/a.rs").0, crate::support::Decision::Allow);
    let ran = commit();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    let status = w.data(&["status"]);
    assert_eq!(status["phase"], "apply");
    assert_eq!(
        w.edit("s", "src/a.rs").0,
        crate::support::Decision::Allow,
        "the run goes on"
    );
    let id = w.data(&["list"])["invariants"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    w.ok(&[
        "enforce",
        "@",
        "--violated",
        &id,
        "--response",
        "it is broken",
    ]);
    let answer = commit().json();
    let reason = answer["hookSpecificOutput"]["permissionDecisionReason"]
        .as_str()
        .unwrap();
    assert!(reason.contains("apply"), "{reason}");
}
