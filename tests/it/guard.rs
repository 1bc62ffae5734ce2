//! The guard itself under attack: faults injected into every part, and agents that want it gone.

use std::{
    fs,
    io::{Read, Write},
    os::unix::{net::UnixListener, process::CommandExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Decision::*, Ran, World, decision, guarded, wait_for};

fn owner_file(w: &World) -> PathBuf {
    w.store().with_extension("redb.owner")
}

fn edit_payload(w: &World, path: &str) -> String {
    json!({
        "session_id": "s", "cwd": w.project, "hook_event_name": "PreToolUse",
        "tool_name": "Edit", "tool_input": {"file_path": w.project.join(path), "old_string": "a", "new_string": "b"},
    })
    .to_string()
}

/// Starts a hook and gives it its payload; it is not waited for.
fn start(w: &World, mut command: Command, payload: &str) -> Child {
    let mut child = command
        .env("CLAUDE_PROJECT_DIR", &w.project)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(payload.as_bytes());
    child
}

fn hook(w: &World) -> Command {
    w.command(&["hook", "claude-code"])
}

fn finish(child: Child) -> Ran {
    Ran::new(child.wait_with_output().unwrap())
}

fn serve(w: &World) -> Child {
    let child = w.command(&["serve"]).spawn().unwrap();
    wait_for("the engine", || owner_file(w).exists().then_some(()));
    child
}

fn signal(child: &Child, name: &str) {
    let done = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status();
    assert!(done.unwrap().success());
}

/// The verdicts go on as if nothing had been: the store is what counts.
#[test]
#[cfg(target_os = "linux")]
fn an_engine_that_is_killed_in_the_middle_of_a_request_loses_nothing() {
    let w = guarded();
    let mut engine = serve(&w);
    assert!(
        w.edit("s", "tests/test_sync.py")
            .1
            .contains("strike 1 of 3")
    );
    signal(&engine, "STOP");
    let asking = start(&w, hook(&w), &edit_payload(&w, "tests/test_sync.py"));
    let process = PathBuf::from(format!("/proc/{}", asking.id()));
    // It holds a socket and sleeps: its request is sent, and it waits for the answer.
    wait_for("the hook to wait", || {
        let status = fs::read_to_string(process.join("status")).ok()?;
        let mut open = fs::read_dir(process.join("fd")).ok()?.flatten();
        let socket = open.any(|fd| {
            fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
        });
        (socket && status.contains("State:\tS")).then_some(())
    });
    signal(&engine, "KILL");
    engine.wait().unwrap();
    let (kind, reason) = decision(&finish(asking));
    assert_eq!(kind, Deny);
    assert!(reason.contains("strike 2 of 3"), "{reason}");
    assert_eq!(w.edit("s", "tests/test_sync.py").0, Halt);
}

#[test]
fn an_engine_that_hangs_up_on_every_request_leads_to_a_denial() {
    let w = guarded();
    let socket = w.base.join("rude.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let owner = json!({"pid": 1, "socket": socket});
    fs::write(owner_file(&w), owner.to_string()).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut byte = [0];
            let _ = stream.unwrap().read(&mut byte);
        }
    });
    let (kind, reason) = w.edit("s", "src/a.rs");
    assert_eq!(kind, Deny);
    assert!(reason.contains("engine"), "{reason}");
}

#[test]
fn a_store_that_another_process_holds_leads_to_a_denial() {
    let w = guarded();
    let mut engine = serve(&w);
    signal(&engine, "STOP");
    fs::remove_file(owner_file(&w)).unwrap();
    let socket = w.store().with_file_name("invar.sock");
    let _ = fs::remove_file(socket);
    let (kind, reason) = w.edit("s", "src/a.rs");
    signal(&engine, "KILL");
    engine.wait().unwrap();
    assert_eq!(kind, Deny);
    assert!(reason.contains("invar.redb"), "{reason}");
    assert_eq!(w.edit("s", "src/a.rs").0, Allow, "it is free again");
}

#[test]
fn a_full_disk_denies_and_loses_no_strike() {
    let w = guarded();
    assert!(
        w.edit("s", "tests/test_sync.py")
            .1
            .contains("strike 1 of 3")
    );
    // No file may grow: what a full disk answers, for this process alone.
    let mut command = Command::new("sh");
    let size = fs::metadata(w.store()).unwrap().len() / 512;
    let own = hook(&w);
    command
        .arg("-c")
        .arg(format!(
            "trap '' XFSZ; ulimit -f {}; exec \"$0\" hook claude-code",
            size / 4
        ))
        .arg(own.get_program())
        .env_clear()
        .envs(own.get_envs().filter_map(|(k, v)| Some((k, v?))))
        .current_dir(&w.project)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (kind, reason) = decision(&finish(start(
        &w,
        command,
        &edit_payload(&w, "tests/test_sync.py"),
    )));
    assert_eq!(kind, Deny);
    assert!(reason.contains("invar"), "{reason}");
    let (_, reason) = w.edit("s", "tests/test_sync.py");
    assert!(reason.contains("of 3"), "the store is well: {reason}");
}

#[test]
fn a_store_with_damaged_pages_denies() {
    let w = guarded();
    let mut bytes = fs::read(w.store()).unwrap();
    let end = bytes.len();
    for at in (512..end).step_by(97) {
        bytes[at] ^= 0x5a;
    }
    fs::write(w.store(), bytes).unwrap();
    let (kind, reason) = w.edit("s", "src/a.rs");
    assert_eq!(kind, Deny);
    assert!(!reason.is_empty());
}

#[test]
fn the_hook_needs_no_directory_of_its_own() {
    let w = guarded();
    for dir in ["/", "/proc"] {
        let mut command = hook(&w);
        command.current_dir(dir);
        let (kind, reason) = decision(&finish(start(&w, command, &edit_payload(&w, "README.md"))));
        assert_eq!(kind, Deny);
        assert!(reason.contains("README.md"), "{reason}");
    }
    // Two strikes so far; the third one halts.
    // A directory that is gone.
    let gone = w.base.join("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = Command::new("sh");
    let own = hook(&w);
    command
        .args(["-c", "rmdir \"$PWD\"; exec \"$0\" hook claude-code"])
        .arg(own.get_program())
        .env_clear()
        .envs(own.get_envs().filter_map(|(k, v)| Some((k, v?))))
        .current_dir(&gone)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (kind, _) = decision(&finish(start(&w, command, &edit_payload(&w, "README.md"))));
    assert_eq!(kind, Halt);
}

#[test]
fn input_that_ends_early_or_is_missing_is_denied() {
    let w = guarded();
    let payload = edit_payload(&w, "src/a.rs");
    for part in ["", &payload[..payload.len() / 2], "null", "\u{feff}"] {
        let (kind, reason) = decision(&w.hook_bytes(part.as_bytes()));
        assert_eq!(kind, Deny, "{part}");
        assert!(reason.contains("hook's input"), "{reason}");
    }
    let closed = hook(&w).stdin(Stdio::null()).output().unwrap();
    assert_eq!(decision(&Ran::new(closed)).0, Deny);
    // A closed descriptor is none that can be read.
    let mut command = Command::new("sh");
    let own = hook(&w);
    command
        .args(["-c", "exec \"$0\" hook claude-code <&-"])
        .arg(own.get_program())
        .env_clear()
        .envs(own.get_envs().filter_map(|(k, v)| Some((k, v?))));
    assert_eq!(decision(&Ran::new(command.output().unwrap())).0, Deny);
}

#[test]
fn an_answer_that_cannot_be_written_blocks_by_its_exit_code() {
    let w = guarded();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut child = hook(&w)
        .env("CLAUDE_PROJECT_DIR", &w.project)
        .stdin(Stdio::piped())
        .stdout(full)
        .spawn()
        .unwrap();
    let payload = edit_payload(&w, "README.md");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(payload.as_bytes())
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn only_people_change_the_rules() {
    let w = guarded();
    let list = || w.data(&["list"])["invariants"].as_array().unwrap().len();
    let before = list();
    let id = w.data(&["list"])["invariants"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    for args in [
        vec!["remove", "--yes", &id],
        vec!["add", "everything goes"],
        vec!["edit", &id, "x"],
        vec!["undo"],
        vec!["install", "claude-code"],
        vec!["uninstall", "claude-code"],
        vec!["action", "add", "local/x"],
    ] {
        for mark in ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI"] {
            let ran = Ran::new(w.command(&args).env(mark, "1").output().unwrap());
            assert_eq!(ran.code, 3, "{args:?}: {}", ran.stderr);
            assert!(ran.stderr.contains("only people change"), "{}", ran.stderr);
        }
    }
    let looked = Ran::new(
        w.command(&["list"])
            .env("CLAUDECODE", "1")
            .output()
            .unwrap(),
    );
    assert_eq!(looked.code, 0, "an agent may look");
    assert_eq!(list(), before);
}

/// A process that descends from the agent of a live session is the agent's, whatever its
/// environment says; on the command line and on the socket.
#[test]
#[cfg(target_os = "linux")]
fn descendants_of_an_agent_are_the_agent() {
    let w = guarded();
    let start = json!({"session_id": "s", "cwd": w.project, "hook_event_name": "SessionStart", "source": "startup"});
    fs::write(w.base.join("start.json"), start.to_string()).unwrap();
    let script = r#"
        CLAUDE_PID=$$ CLAUDE_PROJECT_DIR="$PWD" "$0" hook claude-code < "$1" > /dev/null
        sh -c 'sh -c "env -i HOME=$HOME $0 add sneaky"' "$0"
    "#;
    let agent = |w: &World| {
        let own = hook(w);
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .arg(own.get_program())
            .arg(w.base.join("start.json"))
            .env_clear()
            .envs(own.get_envs().filter_map(|(k, v)| Some((k, v?))))
            .current_dir(&w.project)
            .process_group(0);
        Ran::new(command.output().unwrap())
    };
    let ran = agent(&w);
    assert!(
        ran.stderr.contains("descends from"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    let mut engine = serve(&w);
    let ran = agent(&w);
    assert!(
        ran.stderr.contains("descends from"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    signal(&engine, "TERM");
    engine.wait().unwrap();
    assert!(!w.ok(&["list"]).stdout.contains("sneaky"));
}

#[test]
fn what_a_command_changes_is_told_right_after_it() {
    let w = guarded();
    fs::write(w.project.join("tests/test_sync.py"), "assert True\n").unwrap();
    let event = |event: &str, more: Value| {
        let mut payload = json!({
            "session_id": "s", "cwd": w.project, "hook_event_name": event,
            "tool_name": "Bash", "tool_input": {"command": "./x.sh"}, "tool_use_id": "t1",
        });
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        w.hook_bytes(payload.to_string().as_bytes())
    };
    event("SessionStart", json!({"source": "startup"}));
    assert_eq!(decision(&event("PreToolUse", json!({}))).0, Allow);
    fs::write(w.project.join("tests/test_sync.py"), "pass\n").unwrap();
    let answer = event("PostToolUse", json!({"tool_response": {"stdout": ""}})).json();
    assert_eq!(answer["decision"], "block");
    let reason = answer["reason"].as_str().unwrap();
    assert!(
        reason.contains("tests/test_sync.py") && reason.contains("strike 1 of 3"),
        "{reason}"
    );
    let violations = w.data(&["violations"]);
    assert_eq!(violations["violations"][0]["status"], "open");
    // At the end of the turn nothing is told twice.
    assert_eq!(event("Stop", json!({"stop_hook_active": false})).stdout, "");
    fs::write(w.project.join("tests/test_sync.py"), "assert True\n").unwrap();
    event("Stop", json!({"stop_hook_active": false}));
    let violations = w.data(&["violations"]);
    assert_eq!(violations["violations"][0]["status"], "corrected");
}

#[test]
fn hooks_stay_in_the_settings_of_a_session() {
    let w = guarded();
    w.ok(&["install", "claude-code", "--project"]);
    let event = |event: &str, more: Value| {
        let mut payload = json!({"session_id": "s", "cwd": w.project, "hook_event_name": event});
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        w.hook_bytes(payload.to_string().as_bytes())
    };
    event("SessionStart", json!({"source": "startup"}));
    let settings = w.project.join(".claude/settings.json");
    let changed = json!({"source": "project_settings", "file_path": settings});
    assert_eq!(event("ConfigChange", changed.clone()).stdout, "");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace("PreToolUse", "Other")).unwrap();
    let answer = event("ConfigChange", changed.clone()).json();
    assert_eq!(answer["decision"], "block");
    fs::write(
        &settings,
        text.replacen('{', "{\"disableAllHooks\": true,", 1),
    )
    .unwrap();
    let answer = event("ConfigChange", changed).json();
    assert!(
        answer["reason"]
            .as_str()
            .unwrap()
            .contains("disableAllHooks")
    );
}
