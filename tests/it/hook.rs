//! The hook process, as Claude Code calls it.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Decision, decision, files, guarded};
use Decision::{Allow, Deny, Halt};

#[test]
fn the_third_strike_halts_over_restarts_of_everything() {
    let w = guarded();
    let (first, reason) = w.edit("one", "tests/test_sync.py");
    assert_eq!(first, Deny);
    for part in [
        "tests/test_sync.py is untouched",
        "\"tests/test_sync.py\"",
        "allowed:",
        "strike 1 of 3",
    ] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(
        w.edit("one", "README.md").0,
        Deny,
        "another action has its own count"
    );
    assert_eq!(w.edit("one", "src/a.rs").0, Allow);
    // Every call is an engine of its own here; a new session is a new agent.
    assert!(
        w.edit("two", "tests/test_sync.py")
            .1
            .contains("strike 2 of 3")
    );
    let (third, reason) = w.edit("three", "tests/test_sync.py");
    assert_eq!(third, Halt);
    assert!(reason.contains("invar plan resume"), "{reason}");
    assert_eq!(
        w.edit("three", "src/a.rs").0,
        Halt,
        "a halted run gets nothing through"
    );
    let halted = w.run(&["plan", "strategize"]);
    assert_eq!(halted.code, 4, "{}", halted.stderr);
    w.ok(&["plan", "resume"]);
    assert_eq!(w.edit("three", "src/a.rs").0, Allow);
    assert!(
        w.edit("three", "README.md").1.contains("strike 2 of 3"),
        "other counts stand"
    );
}

#[test]
fn a_halt_reaches_every_moment_at_which_a_turn_can_stop() {
    let w = guarded();
    for _ in 0..3 {
        w.edit("s", "tests/test_sync.py");
    }
    for event in ["PostToolBatch", "UserPromptSubmit"] {
        let payload = json!({"session_id": "s", "cwd": w.project, "hook_event_name": event});
        let answer = w.hook_bytes(payload.to_string().as_bytes()).json();
        assert_eq!(answer["continue"], false, "{event}");
        assert!(answer["stopReason"].as_str().unwrap().contains("halted"));
    }
}

#[test]
fn the_model_is_told_the_invariants_when_it_starts() {
    let w = guarded();
    let payload = json!({"session_id": "s", "cwd": w.project, "hook_event_name": "SessionStart", "source": "startup"});
    let answer = w.hook_bytes(payload.to_string().as_bytes()).json();
    let context = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(
        context.contains("tests/test_sync.py is untouched"),
        "{context}"
    );
}

/// What each recorded payload leads to under the rules of [`guarded`], in its own project.
#[test]
fn recorded_payloads_are_answered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude-code");
    let denied = [
        "pre-tool-use-edit.json",
        "pre-tool-use-write-outside.json",
        "pre-tool-use-notebook-edit.json",
        "pre-tool-use-subagent-edit.json",
        "pre-tool-use-mcp.json",
        "pre-tool-use-windows-write.json",
        "pre-tool-use-write-via-symlink.json",
        "pre-tool-use-bash-background.json",
        "pre-tool-use-bash-drifted-cwd.json",
        "pre-tool-use-monitor.json",
        "pre-tool-use-subagent-bash.json",
        "pre-tool-use-bash-unsandboxed.json",
    ];
    // docs/index.md and docs/notes/loader.md differ by one pattern.
    let allowed_by_pattern = ["pre-tool-use-subagent-edit.json"];
    let fixtures = files(&folder, ".json");
    assert!(fixtures.len() > 35);
    let mut wrong = Vec::new();
    for fixture in fixtures {
        let w = guarded();
        std::os::unix::fs::symlink("/etc", w.project.join("src/vendored")).unwrap();
        let name = fixture.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&fixture).unwrap();
        let project = w.project.display().to_string();
        let text = text.replace("/home/mira/tidewater", &project);
        let text = match name {
            // Its command is what counts, not its folder.
            "pre-tool-use-powershell.json" => text.replace(r"D:\\work\\tidewater", &project),
            _ => text,
        };
        let (decision, reason) = decision(&w.hook_bytes(text.as_bytes()));
        let wanted = denied.contains(&name) && !allowed_by_pattern.contains(&name);
        if (decision == Deny) != wanted {
            wrong.push(format!("{name}: {decision:?} {reason}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_malformed_is_denied_with_the_reason() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/malformed");
    let w = guarded();
    let fixtures = files(&folder, "");
    assert_eq!(fixtures.len(), 10);
    for fixture in fixtures {
        let payload = fs::read(&fixture).unwrap();
        let name = fixture.file_name().unwrap().to_str().unwrap();
        let payload = match name {
            // Well formed but for its tool; its paths are judged, and this one is outside.
            "unknown-tool.json" => String::from_utf8(payload)
                .unwrap()
                .replace("/home/mira/tidewater", &w.project.display().to_string())
                .into_bytes(),
            _ => payload,
        };
        let (decision, reason) = decision(&w.hook_bytes(&payload));
        if name == "lone-surrogate.txt" {
            assert_eq!(decision, Allow, "an emoji cut in two is no reason to deny");
            continue;
        }
        assert_eq!(decision, Deny, "{name}");
        assert!(reason.contains("invar denied this"), "{name}: {reason}");
    }
}

#[test]
fn a_payload_of_200_megabytes_is_denied_and_read_to_its_end() {
    let w = guarded();
    let mut payload = b"{\"session_id\":\"".to_vec();
    payload.resize(200 << 20, b'x');
    let ran = w.hook_bytes(&payload);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("200 MB"), "{}", ran.stderr);
}

#[test]
fn whatever_fails_inside_ends_in_a_denial() {
    let w = guarded();
    w.configure("nonsense = [");
    let (decision_now, reason) = w.edit("s", "src/a.rs");
    assert_eq!(decision_now, Deny, "a broken configuration");
    assert!(reason.contains("config.toml, line 1"), "{reason}");

    let w = guarded();
    fs::write(w.store(), "no store at all").unwrap();
    let (decision_now, reason) = w.edit("s", "src/a.rs");
    assert_eq!(decision_now, Deny, "a damaged store");
    assert!(reason.contains("invar.redb"), "{reason}");

    let w = guarded();
    let payload = json!({
        "session_id": "s", "cwd": w.project, "hook_event_name": "PreToolUse",
        "tool_name": "Edit", "tool_input": {"file_path": "src/a.rs"},
    });
    let mut command = w.command(&["hook", "claude-code"]);
    command
        .env_remove("HOME")
        .stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        payload.to_string().as_bytes(),
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "no home");

    let unknown = w.run(&["hook", "nobody"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("claude-code"), "{}", unknown.stderr);
}

#[test]
fn a_socket_that_nobody_answers_leads_to_a_denial_within_the_deadline() {
    let w = guarded();
    let listener = std::os::unix::net::UnixListener::bind(w.base.join("dead.sock")).unwrap();
    let owner = json!({"pid": 1, "socket": w.base.join("dead.sock")});
    let mut path = w.store().into_os_string();
    path.push(".owner");
    fs::write(&path, owner.to_string()).unwrap();
    let (decision, reason) = w.edit("s", "src/a.rs");
    assert_eq!(decision, Deny);
    assert!(reason.contains("in time"), "{reason}");
    drop(listener);
    assert_eq!(
        w.edit("s", "src/a.rs").0,
        Allow,
        "a stale note of a host that is gone is no obstacle"
    );
}

#[test]
fn an_engine_is_left_behind_and_ends_with_its_store() {
    let w = guarded();
    w.configure("[engine]\nautostart = true\n");
    assert_eq!(w.edit("s", "src/a.rs").0, Allow);
    let owner = w.store().with_extension("redb.owner");
    let pid = crate::support::wait_for("the engine", || {
        let text = fs::read(&owner).ok()?;
        serde_json::from_slice::<Value>(&text).ok()?["pid"].as_i64()
    });
    assert!(
        w.edit("s", "tests/test_sync.py")
            .1
            .contains("strike 1 of 3")
    );
    fs::remove_dir_all(w.store().parent().unwrap()).unwrap();
    let process = Path::new("/proc").join(pid.to_string());
    crate::support::wait_for("the end of the engine", || {
        // It was started by a process that is gone, so that nobody reaps it here but init.
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        (status.is_empty() || status.contains("State:\tZ")).then_some(())
    });
}
