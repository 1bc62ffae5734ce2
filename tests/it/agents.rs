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

/// The files below a folder with their bytes.
fn everything(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    crate::support::files(folder, "")
        .into_iter()
        .map(|p| (p.clone(), fs::read(&p).unwrap()))
        .collect()
}

#[test]
fn uninstall_puts_everything_back_byte_for_byte() {
    let w = World::new();
    let odd = "{\n\t// tabs, a comment and no line end\n\t\"a\": 1.0, \"hooks\": { },\r\n}";
    let own = [
        ".claude/settings.json",
        ".gemini/settings.json",
        ".cursor/hooks.json",
    ];
    for file in own {
        fs::create_dir_all(w.home.join(file).parent().unwrap()).unwrap();
        fs::write(w.home.join(file), odd).unwrap();
    }
    let settings = |w: &World| {
        let mut all = everything(&w.home);
        all.retain(|(path, _)| !path.starts_with(w.home.join(".local")));
        all.extend(everything(&w.project));
        all
    };
    let before = settings(&w);
    let agents = [
        "claude-code",
        "codex",
        "gemini",
        "qwen",
        "opencode",
        "copilot",
        "cursor",
        "pi",
        "crush",
        "factory-droid",
        "windsurf",
        "grok",
    ];
    for level in ["--user", "--project"] {
        for agent in agents {
            let shown = w.ok(&["install", agent, level, "--dry-run"]).stdout;
            assert!(
                shown.contains("+++ ") && shown.contains(&format!("hook {agent}"))
                    || shown.contains("const INVAR"),
                "{shown}"
            );
            w.ok(&["install", agent, level]);
            let installed = settings(&w);
            let again = w.ok(&["install", agent, level]).stdout;
            assert!(again.contains("already"), "{again}");
            assert_eq!(
                settings(&w),
                installed,
                "{agent}: a second time changes nothing"
            );
        }
    }
    assert_ne!(settings(&w), before);
    for level in ["--project", "--user"] {
        for agent in agents {
            w.ok(&["uninstall", agent, level]);
        }
    }
    assert_eq!(settings(&w), before);
    assert!(
        !w.home.join(".codex").exists(),
        "folders that were made go too"
    );
}

#[test]
fn settings_that_were_changed_meanwhile_lose_only_ours() {
    let w = World::new();
    let file = w.home.join(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{\"model\": \"x\"}").unwrap();
    w.ok(&["install", "claude-code"]);
    let text = fs::read_to_string(&file).unwrap().replace("\"x\"", "\"y\"");
    fs::write(&file, text).unwrap();
    w.ok(&["uninstall", "claude-code"]);
    let left: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(left, json!({"model": "y"}));
    let unknown = w.run(&["install", "goose"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.stderr.contains("invar hook goose"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn doctor_judges_by_what_the_installed_hooks_do() {
    let w = World::new();
    fs::write(w.project.join("tests/test_sync.py"), "x").unwrap();
    w.ok(&["add", "--untouched", "tests/test_sync.py"]);
    w.ok(&["add", "--untouched", "gone.py"]);
    let none = w.run(&["doctor"]);
    assert_eq!(none.code, 1);
    assert!(
        none.stdout.contains("fix: invar install claude-code"),
        "{}",
        none.stdout
    );
    let agents = [
        "claude-code",
        "gemini",
        "qwen",
        "opencode",
        "copilot",
        "cursor",
        "pi",
        "crush",
        "factory-droid",
        "windsurf",
        "grok",
    ];
    for agent in agents {
        w.ok(&["install", agent]);
    }
    let live = w.run(&["doctor"]);
    assert_eq!(live.code, 0, "{}", live.stdout);
    assert_eq!(
        live.stdout
            .matches("a forbidden attempt was denied")
            .count(),
        agents.len(),
        "{}",
        live.stdout
    );
    assert!(
        live.stdout.contains("gone.py guards no file that is there"),
        "{}",
        live.stdout
    );
    assert_eq!(
        w.data(&["strikes"])["strikes"],
        json!([]),
        "it leaves no trace"
    );
    assert_eq!(w.data(&["plan", "list"])["plans"], json!([]));

    w.ok(&["install", "codex"]);
    let untrusted = w.run(&["doctor", "codex"]);
    assert_eq!(untrusted.code, 1);
    assert!(
        untrusted.stdout.contains("not trusted yet"),
        "{}",
        untrusted.stdout
    );

    let file = w.home.join(".claude/settings.json");
    let text = fs::read_to_string(&file).unwrap();
    // A hook that lets everything through.
    let binary = env!("CARGO_BIN_EXE_invar");
    let folder = w.base.join("fake");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("invar"), "#!/bin/sh\ncat > /dev/null\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.join("invar"), mode).unwrap();
    fs::write(
        &file,
        text.replace(binary, &folder.join("invar").display().to_string()),
    )
    .unwrap();
    let open = w.run(&["--format", "json", "doctor", "claude-code"]);
    assert_eq!(open.code, 1);
    assert!(
        open.stdout.contains("let a forbidden attempt through"),
        "{}",
        open.stdout
    );
    fs::write(&file, text.replace(binary, "/nowhere/invar")).unwrap();
    let dead = w.run(&["doctor", "claude-code"]);
    assert!(
        dead.stdout.contains("there is no such program"),
        "{}",
        dead.stdout
    );
    assert!(dead.stdout.contains("fix: invar install claude-code"));
}

#[test]
fn replay_tells_what_each_invariant_would_have_cost() {
    let w = guarded();
    let project = w.project.display().to_string();
    let edit = |path: &str| {
        json!({
            "type": "assistant", "cwd": project, "sessionId": "s",
            "message": {"content": [{"type": "tool_use", "id": path, "name": "Edit", "input": {"file_path": format!("{project}/{path}")}}]},
        })
        .to_string()
    };
    let lines = [
        edit("src/a.rs"),
        edit("tests/test_sync.py"),
        edit("README.md"),
        edit("tests/test_sync.py"),
        edit("tests/test_sync.py"),
        "nonsense".into(),
    ];
    let file = w.base.join("t.jsonl");
    fs::write(&file, lines.join("\n")).unwrap();
    let data = w.data(&["replay", file.to_str().unwrap()]);
    assert_eq!(data["attempts"], 5);
    assert_eq!(data["refused"].as_array().unwrap().len(), 4);
    let cost = data["costs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["text"] == "tests/test_sync.py is untouched")
        .unwrap();
    assert_eq!(
        (&cost["refused"], &cost["targets"], &cost["halts_at"]),
        (&json!(3), &json!(1), &json!(5))
    );
    assert_eq!(data["halted"]["s"], 5);
    assert_eq!(data["unread"].as_array().unwrap().len(), 1);
    let text = w.ok(&["replay", file.to_str().unwrap()]).stdout;
    assert!(
        text.contains("5 attempts, 4 of them")
            && text.contains("would have been halted at attempt 5"),
        "{text}"
    );
    assert_eq!(
        w.data(&["strikes"])["strikes"],
        json!([]),
        "nothing is counted"
    );
    let missing = w.run(&["replay", "nothing.jsonl"]);
    assert_eq!(missing.code, 1);
    assert!(
        missing.stderr.contains("nothing.jsonl"),
        "{}",
        missing.stderr
    );
}

#[test]
fn a_status_line_is_one_line_and_never_fails() {
    let w = guarded();
    let line = |w: &World, input: Value| {
        let mut child = w
            .command(&["statusline", "claude-code"])
            .current_dir("/")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(
            &mut child.stdin.take().unwrap(),
            input.to_string().as_bytes(),
        )
        .unwrap();
        let ran = Ran::new(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
        ran.stdout
    };
    let here = json!({"workspace": {"project_dir": w.project}, "cwd": "/elsewhere"});
    assert!(line(&w, here.clone()).starts_with("invar action queued · 2 in force"));
    w.edit("s", "tests/test_sync.py");
    assert!(line(&w, here.clone()).contains("strike 1/3"));
    assert_eq!(line(&w, json!({"cwd": "/"})), "invar · no plan\n");
    fs::write(w.store(), "no store").unwrap();
    assert!(
        line(&w, here).starts_with("invar ? "),
        "a store that cannot be read"
    );
}
