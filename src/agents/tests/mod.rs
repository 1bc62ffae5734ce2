//! All adapters against recorded payloads (`tests/fixtures/`), and against the answers that each
//! agent understands (`answers.json`).

use std::{fs, path::Path};

use serde_json::Value;

use super::{
    Agent, HookAnswer, HookEnv, Moment, Occasion, Parsed, Refusal, agent, all,
    capabilities::{Halts, Known},
};
use crate::{
    engine::requests::{HookCall, HookEvent, HookReply},
    model::{Attempt, Effect, Verdict, VerdictKind},
};

mod decided;
mod foreign;
mod own_places;

const PROJECT: &str = "/home/mira/tidewater";

fn fixtures(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name);
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    all.sort();
    assert!(!all.is_empty());
    all
}

fn env() -> HookEnv {
    HookEnv {
        cwd: PROJECT.into(),
        nonce: "n".into(),
        ..HookEnv::default()
    }
}

fn read(name: &str, file: &str) -> Parsed {
    let (_, bytes) = fixtures(name).into_iter().find(|(n, _)| n == file).unwrap();
    agent(name)
        .unwrap()
        .read(&bytes, &env())
        .unwrap_or_else(|e| panic!("{file}: {e}"))
}

fn call(name: &str, file: &str) -> HookCall {
    read(name, file)
        .call
        .unwrap_or_else(|| panic!("{file} asks nothing"))
}

fn attempt(name: &str, file: &str) -> Attempt {
    match call(name, file).what {
        HookEvent::Attempt(attempt) | HookEvent::Ran(attempt) => attempt,
        other => panic!("{file}: {other:?}"),
    }
}

fn changed(name: &str, file: &str) -> Vec<String> {
    let paths = attempt(name, file).effects;
    let paths = paths.iter().flat_map(Effect::changed_paths);
    paths.map(|p| p.display().to_string()).collect()
}

fn command(name: &str, file: &str) -> (String, String) {
    let attempt = attempt(name, file);
    match attempt.effects.as_slice() {
        [Effect::Opaque { command, .. }] => (command.clone(), attempt.cwd.display().to_string()),
        other => panic!("{file}: {other:?}"),
    }
}

fn reply(verdict: VerdictKind, reason: &str) -> HookReply {
    HookReply::of(Verdict {
        verdict,
        reason: reason.into(),
        breaches: Vec::new(),
    })
}

fn occasion(agent: &Agent, moment: Moment) -> Occasion {
    let (event, moment) = *agent.events.iter().find(|(_, m)| *m == moment).unwrap();
    Occasion {
        event: event.into(),
        moment,
        shim: false,
    }
}

#[test]
fn every_recorded_payload_is_read() {
    for agent in all().filter(|a| a.name != "generic") {
        for (file, bytes) in fixtures(agent.name) {
            if file == "delegate-Bash.json" {
                continue; // Another protocol, without a session.
            }
            let parsed = agent.read(&bytes, &env());
            let parsed = parsed.unwrap_or_else(|e| panic!("{}/{file}: {e}", agent.name));
            let before = [
                "PreToolUse",
                "preToolUse",
                "pre_run",
                "pre_write",
                "pre_mcp",
                "pre-tool",
                "before-tool",
                "tool_call",
                "tool.execute.before",
                "tool.call",
            ];
            let before = before
                .iter()
                .any(|b| file.to_lowercase().contains(&b.to_lowercase()))
                && !file.contains("Result");
            let decides = matches!(parsed.call.map(|c| c.what), Some(HookEvent::Attempt(_)));
            assert!(decides || !before, "{}/{file} must be decided", agent.name);
        }
    }
}

#[test]
fn tools_are_reduced_to_what_they_do() {
    let test = format!("{PROJECT}/tests/test_sync.py");
    for (name, file, expected) in [
        (
            "codex",
            "pre-tool-use-apply_patch-delete.json",
            vec!["tests/test_sync.py"],
        ),
        (
            "codex",
            "pre-tool-use-apply_patch-move.json",
            vec!["src/old_name.py", "lib/new_name.py"],
        ),
        (
            "codex",
            "permission-request-apply_patch.json",
            vec!["src/loader.py", "src/cache.py"],
        ),
        (
            "gemini",
            "before-tool-replace.json",
            vec!["tests/test_sync.py"],
        ),
        (
            "gemini",
            "before-tool-mcp.json",
            vec!["docs/notes/loader.md"],
        ),
        ("copilot", "preToolUse-edit.json", vec![test.as_str()]),
        (
            "copilot",
            "pascal-PreToolUse-Edit.json",
            vec![test.as_str()],
        ),
        (
            "copilot",
            "preToolUse-apply_patch.json",
            vec!["src/loader.py"],
        ),
        (
            "copilot",
            "preToolUse-mcp.json",
            vec!["docs/notes/loader.md"],
        ),
        ("cursor", "preToolUse-Delete.json", vec![test.as_str()]),
        (
            "cursor",
            "beforeMCPExecution.json",
            vec!["docs/notes/loader.md"],
        ),
        (
            "opencode",
            "tool.execute.before-apply_patch.json",
            vec!["src/loader.py", "src/cache.py"],
        ),
        (
            "opencode",
            "tool.execute.before-mcp.json",
            vec!["docs/notes/loader.md"],
        ),
        (
            "opencode",
            "v2-tool.execute.before-write.json",
            vec!["src/cache.py"],
        ),
        ("pi", "tool_call-edit.json", vec!["src/loader.py"]),
        (
            "factory-droid",
            "PreToolUse-ApplyPatch.json",
            vec!["src/loader.py", "src/cache.py"],
        ),
        ("windsurf", "pre_write_code.json", vec![test.as_str()]),
        (
            "windsurf",
            "pre_mcp_tool_use.json",
            vec!["docs/notes/loader.md"],
        ),
        (
            "cline",
            "PreToolUse-replace_in_file.json",
            vec!["tests/test_sync.py"],
        ),
        ("kiro", "preToolUse-mcp.json", vec!["docs/notes/loader.md"]),
        (
            "vscode-copilot",
            "PreToolUse-editFiles.json",
            vec!["src/loader.py"],
        ),
    ] {
        assert_eq!(changed(name, file), expected, "{name}/{file}");
    }
    let rm = "rm tests/test_sync.py";
    for (name, file, line, cwd) in [
        (
            "codex",
            "pre-tool-use-bash-workdir.json",
            "rm test_sync.py",
            "/home/mira/tidewater/tests",
        ),
        (
            "gemini",
            "before-tool-run_shell_command.json",
            "mv test_sync.py /tmp/",
            "/home/mira/tidewater/tests",
        ),
        (
            "copilot",
            "preToolUse-bash-stringargs.json",
            "echo patched >> CHANGELOG.md",
            PROJECT,
        ),
        (
            "cursor",
            "beforeShellExecution.json",
            "git checkout -- tests",
            PROJECT,
        ),
        (
            "cursor",
            "beforeShellExecution-empty-cwd.json",
            "git checkout -- tests",
            PROJECT,
        ),
        ("opencode", "tool.execute.before-bash.json", rm, PROJECT),
        ("opencode", "v2-tool.execute.before-shell.json", rm, PROJECT),
        ("pi", "tool_call-bash.json", rm, PROJECT),
        ("crush", "PreToolUse-bash.json", rm, PROJECT),
        ("goose", "BeforeShellExecution.json", rm, PROJECT),
        ("kiro", "preToolUse-execute_bash.json", rm, PROJECT),
        ("cline", "tool_call-run_commands.json", rm, PROJECT),
        ("grok", "PreToolUse-shell.json", rm, PROJECT),
        ("antigravity", "PreToolUse-run_command.json", rm, PROJECT),
        ("amp", "plugin-tool.call-Bash.json", rm, PROJECT),
        ("kimi-code", "PreToolUse-Shell.json", rm, PROJECT),
        (
            "factory-droid",
            "camel-PreToolUse-Bash.json",
            "git rm tests/test_sync.py",
            PROJECT,
        ),
    ] {
        assert_eq!(
            command(name, file),
            (line.into(), cwd.into()),
            "{name}/{file}"
        );
    }
    for (name, file) in [
        ("gemini", "before-tool-read_file.json"),
        ("opencode", "tool.execute.before-read.json"),
        ("cursor", "preToolUse-Read.json"),
        ("kiro", "preToolUse-fs_read.json"),
        ("windsurf", "pre_read_code.json"),
        ("codex", "pre-tool-use-view_image.json"),
        ("pi", "tool_call-read.json"),
        ("copilot", "preToolUse-view.json"),
    ] {
        let attempt = attempt(name, file);
        let reads = attempt
            .effects
            .iter()
            .all(|e| matches!(e, Effect::Read { .. }));
        assert!(reads && !attempt.may_write, "{name}/{file}");
    }
}

#[test]
fn sessions_and_sub_agents_are_told_apart() {
    let child = call("copilot", "preToolUse-subagent-bash.json");
    assert_eq!(
        child.parent.as_deref(),
        Some("2d9f61f0-7b1c-4d43-9a5e-c0e8f4417b26")
    );
    let started = call("opencode", "event-session.created-subagent.json");
    assert_eq!(started.what, HookEvent::SessionStart);
    assert_eq!(started.session, "ses_dd30a17e2ffeHb9sYd1RcT6uLf");
    assert_eq!(
        started.parent.as_deref(),
        Some("ses_dd30aa91cffeQ7tV2kPzN4mJwX")
    );
    let sub = attempt("codex", "pre-tool-use-subagent-bash.json");
    assert_eq!(
        sub.subagent.as_deref(),
        Some("01a22d50-77aa-7d18-a9f2-c40b1e55d7f3")
    );
    assert_eq!(
        call("qwen", "UserPromptSubmit.json").what,
        HookEvent::Prompt
    );
    assert_eq!(
        call("qwen", "UserPromptSubmit-continuation.json").what,
        HookEvent::Settled
    );
    assert_eq!(
        call("kiro", "stop.json").session,
        "dir:/home/mira/tidewater"
    );
}

#[test]
fn a_planning_mode_is_seen() {
    let payload = |mode: &str| {
        format!(
            r#"{{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","permission_mode":"{mode}","tool_name":"Write","tool_input":{{"file_path":"a"}}}}"#
        )
    };
    for (mode, planning) in [("plan", true), ("acceptEdits", false)] {
        for name in ["claude-code", "codex", "qwen"] {
            let parsed = agent(name)
                .unwrap()
                .read(payload(mode).as_bytes(), &env())
                .ok()
                .unwrap();
            assert_eq!(parsed.call.unwrap().planning, planning, "{name} {mode}");
        }
    }
}

#[test]
fn another_agents_payload_is_known_by_its_shape() {
    let claude = agent("claude-code").unwrap();
    let sender = |name: &str, file: &str| {
        let (_, bytes) = fixtures(name).into_iter().find(|(n, _)| n == file).unwrap();
        let parsed = claude.read(&bytes, &env()).ok().unwrap();
        (parsed.agent.name, parsed.call.unwrap().agent)
    };
    assert_eq!(
        sender("cursor", "preToolUse-Shell.json"),
        ("cursor", "cursor".into())
    );
    assert_eq!(
        sender("grok", "PreToolUse-shell.json"),
        ("grok", "grok".into())
    );
    assert_eq!(
        sender("claude-code", "pre-tool-use-bash.json").0,
        "claude-code"
    );
    // Cursor spells Claude Code's events for such a hook; only an exit code is sure then.
    let payload = r#"{"conversation_id":"c","cursor_version":"3","workspace_roots":["/w"],"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"a"},"tool_use_id":"t"}"#;
    let parsed = claude.read(payload.as_bytes(), &env()).ok().unwrap();
    let answer = (parsed.agent.answer)(&parsed.occasion, &reply(VerdictKind::Deny, "no"));
    assert_eq!(
        (answer.exit, answer.stderr.as_str(), answer.stdout),
        (2, "no", None)
    );
}

#[test]
fn answers_are_what_each_agent_understands_byte_for_byte() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/answers.json");
    let answers: Value = serde_json::from_slice(&fs::read(folder).unwrap()).unwrap();
    let mut compared = 0;
    for (name, forms) in answers.as_object().unwrap() {
        // What our plugins do by themselves, and a protocol without a hook.
        if name.starts_with('_') || name.starts_with("opencode") || name.starts_with("acp") {
            continue;
        }
        let agent = agent(name).unwrap_or_else(|| panic!("no adapter for {name}"));
        let reason = "Rule keep-tests: tests/test_sync.py must stay untouched.";
        for (form, expected) in forms.as_object().unwrap() {
            let before = occasion(agent, Moment::Before);
            let answer = match form.as_str() {
                "allow" => (agent.answer)(&before, &reply(VerdictKind::Allow, "")),
                "deny" => (agent.answer)(&before, &reply(VerdictKind::Deny, reason)),
                "deny-pascal" => {
                    let pascal = Occasion {
                        event: "PreToolUse".into(),
                        ..before
                    };
                    (agent.answer)(&pascal, &reply(VerdictKind::Deny, reason))
                }
                "halt" => {
                    let leave = agent.events.iter().any(|(_, m)| *m == Moment::Leave);
                    let at = match leave && name == "copilot" {
                        true => occasion(agent, Moment::Leave),
                        false => before,
                    };
                    let halt = reply(VerdictKind::Halt, "Run halted by rule keep-tests.");
                    (agent.answer)(&at, &halt)
                }
                "context" => {
                    let mut told = reply(VerdictKind::Allow, "");
                    told.context = Some("Reminder: stay inside src/.".into());
                    (agent.answer)(&before, &told)
                }
                "unreachable" => (agent.refuse)(&Refusal {
                    occasion: Some(before),
                    reason: "invar is unreachable; action refused".into(),
                }),
                "ask" => (agent.answer)(&before, &reply(VerdictKind::Ask, reason)),
                other => panic!("{name}: {other}"),
            };
            let stdout = match &expected["stdout"] {
                Value::Null => None,
                json => Some(json.to_string()),
            };
            let expected = HookAnswer {
                stdout,
                stderr: expected["stderr"].as_str().unwrap().into(),
                exit: expected["exit"].as_u64().unwrap() as u8,
            };
            assert_eq!(answer, expected, "{name} {form}");
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn a_denial_denies_by_the_agents_own_rules_and_an_allow_does_not() {
    for agent in all() {
        for (event, moment) in agent.events.iter().filter(|(_, m)| *m == Moment::Before) {
            for shim in [false, true] {
                let at = Occasion {
                    event: (*event).into(),
                    moment: *moment,
                    shim,
                };
                let answer = |verdict, reason| agent.answered(&at, &reply(verdict, reason));
                let denies = |answer: HookAnswer| (agent.denies)(&answer);
                assert!(
                    denies(answer(VerdictKind::Deny, "no")),
                    "{} {event}",
                    agent.name
                );
                assert!(
                    denies(answer(VerdictKind::Halt, "no")),
                    "{} {event}",
                    agent.name
                );
                assert!(
                    !denies(answer(VerdictKind::Allow, "")),
                    "{} {event}",
                    agent.name
                );
                let asks = denies(answer(VerdictKind::Ask, "may I"));
                assert_eq!(
                    asks,
                    !agent.capabilities.can_ask || event.starts_with('P') && agent.name == "cursor",
                    "{} {event}",
                    agent.name
                );
                assert!(
                    !denies(answer(VerdictKind::Warn, "mind")),
                    "{} {event}",
                    agent.name
                );
                let refusal = Refusal::new(Some(at.clone()), "x");
                assert!(denies((agent.refuse)(&refusal)), "{} {event}", agent.name);
            }
        }
        assert!(
            (agent.denies)(&(agent.refuse)(&Refusal::new(None, "x"))),
            "{}",
            agent.name
        );
    }
}

#[test]
fn nothing_malformed_is_let_through() {
    for agent in all() {
        for (file, bytes) in fixtures("malformed") {
            match agent.read(&bytes, &env()) {
                Err(refusal) => assert!(
                    (agent.denies)(&(agent.refuse)(&refusal)),
                    "{}/{file}",
                    agent.name
                ),
                // What can be read goes to the engine.
                Ok(parsed) => {
                    let call = parsed
                        .call
                        .unwrap_or_else(|| panic!("{}/{file}", agent.name));
                    assert!(
                        matches!(call.what, HookEvent::Attempt(_)),
                        "{}/{file}",
                        agent.name
                    );
                    assert!(
                        ![
                            "wrong-types.json",
                            "missing-tool_input.json",
                            "unknown-event.json"
                        ]
                        .contains(&file.as_str())
                    );
                }
            }
        }
    }
    // An emoji cut in two is no reason to deny.
    let (_, bytes) = fixtures("malformed")
        .into_iter()
        .find(|(n, _)| n == "lone-surrogate.txt")
        .unwrap();
    assert!(agent("claude-code").unwrap().read(&bytes, &env()).is_ok());
}

#[test]
fn the_capabilities_agree_with_the_tables() {
    for agent in all() {
        let c = agent.capabilities;
        assert_eq!(
            c.has_call_id,
            !agent.fields.call.is_empty(),
            "{}",
            agent.name
        );
        let ends = agent.events.iter().any(|(_, m)| *m == Moment::After);
        assert!(ends || !c.tells_end, "{}", agent.name);
        for moment in c.hears_at {
            let told = HookReply {
                context: Some("told".into()),
                ..reply(VerdictKind::Allow, "")
            };
            for (event, _) in agent.events.iter().filter(|(_, m)| m == moment) {
                let at = Occasion {
                    event: (*event).into(),
                    moment: *moment,
                    shim: true,
                };
                let heard = (agent.answer)(&at, &told)
                    .stdout
                    .is_some_and(|o| o.contains("told"));
                let foreign = agent.name == "cursor" && event.starts_with('S');
                assert!(heard || foreign, "{} {event}", agent.name);
            }
        }
        let native = c.can_halt == Halts::Native;
        let at = occasion(agent, Moment::Before);
        let at = Occasion { shim: true, ..at };
        let same = (agent.answer)(&at, &reply(VerdictKind::Halt, "x"))
            == (agent.answer)(&at, &reply(VerdictKind::Deny, "x"));
        assert_eq!(native, !same, "{}: a halt is a halt", agent.name);
        assert!(
            !c.limits().is_empty() || c.covers_subagents == Known::Yes,
            "{}",
            agent.name
        );
    }
}
