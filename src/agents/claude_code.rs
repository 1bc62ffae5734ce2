//! Claude Code: hook JSON on stdin, JSON or an exit code back. An allow is silence. Anything
//! but a well-formed refusal lets the action run, so that each failure is turned into one.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{
    Adapter, Coverage, HookAnswer, HookEnv, Parsed, Refusal, Support,
    install::claude_guard,
    tools::{effects_of_unknown, only_reads},
};
use crate::{
    engine::protocol::{HookCall, HookEvent, HookReply},
    model::{Attempt, Effect, Layer, VerdictKind, visible},
};

/// The adapter.
pub struct ClaudeCode;

/// Longer strings are cut by the agent; the end of ours must not be lost.
const MAX_REASON: usize = 9_000;

const PRE_TOOL_USE: &str = "PreToolUse";

/// Events that the agent knows and that need no decision.
const SILENT: [&str; 23] = [
    "PermissionRequest",
    "PermissionDenied",
    "UserPromptExpansion",
    "Setup",
    "StopFailure",
    "SubagentStart",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "Notification",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

/// Tools that touch no file of the project.
const HARMLESS: [&str; 14] = [
    "Agent",
    "Task",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "AskUserQuestion",
    "ExitPlanMode",
    "EnterPlanMode",
    "Skill",
    "TaskOutput",
    "KillShell",
    "BashOutput",
    "EnterWorktree",
    "ToolSearch",
];

impl Adapter for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn project_dir_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_PROJECT_DIR")
    }

    fn pid_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_PID")
    }

    fn process_names(&self) -> &'static [&'static str] {
        &["claude"]
    }

    fn coverage(&self, layer: &Layer) -> Coverage {
        let (support, why) = match layer {
            Layer::Letter(_) => (
                Support::Partly,
                "file tools and commands are checked before they act; what a script or program changes is found right after it",
            ),
            Layer::Plain => (
                Support::Partly,
                "told to the model at the start; nobody judges it, others can report it",
            ),
            Layer::Judgment { .. } => (Support::Unsupported, "no judge is configured to read it"),
            Layer::Assent { .. } => (Support::Unsupported, "nobody is there to ask for assent"),
        };
        Coverage { support, why }
    }

    fn read(&self, payload: &[u8], env: &HookEnv) -> Result<Parsed, Refusal> {
        let payload = payload.strip_prefix(b"\xef\xbb\xbf").unwrap_or(payload);
        let refuse = |event: Option<&str>, reason: String| Refusal {
            event: event.map(str::to_owned),
            reason,
        };
        if payload.trim_ascii().is_empty() {
            return Err(refuse(None, "the hook's input is empty; see that the agent runs `invar hook claude-code` with its JSON on stdin".into()));
        }
        // Bytes that are no UTF-8 become marks; what they stand in is judged all the same.
        let text = String::from_utf8_lossy(payload);
        let value: Value = serde_json::from_str(&text)
            .map_err(|e| refuse(None, format!("the hook's input is not JSON ({e})")))?;
        let Value::Object(fields) = value else {
            return Err(refuse(None, "the hook's input is not a JSON object".into()));
        };
        let event = match fields.get("hook_event_name") {
            Some(Value::String(event)) => event.clone(),
            _ => {
                return Err(refuse(
                    None,
                    "the hook's input has no hook_event_name".into(),
                ));
            }
        };
        let lacks = |field: &str| {
            refuse(
                Some(&event),
                format!(
                    "the hook's input for {event} has no usable field `{field}`; this invar may be older than the agent"
                ),
            )
        };
        if SILENT.contains(&event.as_str()) {
            return Ok(Parsed { event, call: None });
        }
        let what = match event.as_str() {
            PRE_TOOL_USE | "PreSkillShellCommand" | "PostToolUse" | "PostToolUseFailure" => None,
            "ConfigChange" => Some(HookEvent::Settings { fault: None }),
            "Stop" => Some(HookEvent::Stopped { turn: true }),
            "SubagentStop" => Some(HookEvent::Stopped { turn: false }),
            "SessionStart" => Some(HookEvent::SessionStart),
            "SessionEnd" => Some(HookEvent::SessionEnd),
            "UserPromptSubmit" => Some(HookEvent::Prompt),
            "PostToolBatch" => Some(HookEvent::Settled),
            unknown => {
                return Err(refuse(
                    Some(&event),
                    format!(
                        "the event {} is unknown to this invar; update invar, or take the event out of the agent's hook settings",
                        visible(unknown)
                    ),
                ));
            }
        };
        let session = text_field(&fields, "session_id").ok_or_else(|| lacks("session_id"))?;
        let cwd = text_field(&fields, "cwd").ok_or_else(|| lacks("cwd"))?;
        let project_dir = env
            .project_dir
            .clone()
            .unwrap_or_else(|| PathBuf::from(cwd));
        let mut hooked = false;
        let what = match what {
            Some(HookEvent::Settings { .. }) => {
                let (runs, fault) = claude_guard(env.home.as_deref(), &project_dir);
                hooked = runs;
                HookEvent::Settings { fault }
            }
            Some(what) => {
                if what == HookEvent::SessionStart {
                    hooked = claude_guard(env.home.as_deref(), &project_dir).0;
                }
                what
            }
            None => {
                let attempt = attempt(&fields, cwd, env).map_err(lacks)?;
                match event.starts_with("Post") {
                    true if attempt.may_write => HookEvent::Ran(attempt),
                    true => return Ok(Parsed { event, call: None }),
                    false => HookEvent::Attempt(attempt),
                }
            }
        };
        let call = HookCall {
            agent: self.name().to_owned(),
            session: session.to_owned(),
            project_dir,
            pid: env.pid,
            hooked,
            what,
        };
        Ok(Parsed {
            event,
            call: Some(call),
        })
    }

    fn answer(&self, event: &str, reply: &HookReply) -> HookAnswer {
        let reason = cut(&reply.verdict.reason);
        let is_action = matches!(event, PRE_TOOL_USE | "PreSkillShellCommand");
        let denial = || {
            json!({
                "hookEventName": event,
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            })
        };
        let context = |text: &str| json!({"hookEventName": event, "additionalContext": cut(text)});
        let out = match (reply.verdict.verdict, is_action) {
            (VerdictKind::Deny, true) => json!({"hookSpecificOutput": denial()}),
            // Every form that stops some version of the agent.
            (VerdictKind::Halt, true) => json!({
                "continue": false,
                "stopReason": reason,
                "hookSpecificOutput": denial(),
            }),
            (VerdictKind::Deny, false) => json!({"decision": "block", "reason": reason}),
            (VerdictKind::Halt, false) => json!({"continue": false, "stopReason": reason}),
            (VerdictKind::Warn, _) => json!({"hookSpecificOutput": context(&reason)}),
            (VerdictKind::Allow, _) => match &reply.context {
                Some(text) => json!({"hookSpecificOutput": context(text)}),
                None => return HookAnswer::silent(),
            },
        };
        HookAnswer {
            stdout: Some(out.to_string()),
            stderr: String::new(),
            exit: 0,
        }
    }

    fn refuse(&self, refusal: &Refusal) -> HookAnswer {
        let reason = cut(&refusal.to_string());
        if refusal.event.as_deref() == Some(PRE_TOOL_USE) {
            let out = json!({"hookSpecificOutput": {
                "hookEventName": PRE_TOOL_USE,
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }});
            return HookAnswer {
                stdout: Some(out.to_string()),
                stderr: String::new(),
                exit: 0,
            };
        }
        // Exit code 2 with a reason blocks whatever the event is.
        HookAnswer {
            stdout: None,
            stderr: reason,
            exit: 2,
        }
    }
}

fn text_field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields
        .get(name)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// Reduces a tool call to its effects; the error names the field that is missing.
fn attempt(fields: &Map<String, Value>, cwd: &str, env: &HookEnv) -> Result<Attempt, &'static str> {
    let tool = text_field(fields, "tool_name").ok_or("tool_name")?;
    let input = match fields.get("tool_input") {
        Some(Value::Object(input)) => input,
        _ => return Err("tool_input"),
    };
    let path = |name: &'static str| text_field(input, name).map(PathBuf::from).ok_or(name);
    let effects = match tool {
        "Write" | "Edit" => vec![Effect::Change {
            path: path("file_path")?,
        }],
        "MultiEdit" => {
            let mut effects = vec![Effect::Change {
                path: path("file_path")?,
            }];
            let edits = input
                .get("edits")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            for edit in edits.filter_map(|e| e.get("file_path")?.as_str()) {
                effects.push(Effect::Change { path: edit.into() });
            }
            effects
        }
        "NotebookEdit" => vec![Effect::Change {
            path: path("notebook_path")?,
        }],
        "Read" => vec![Effect::Read {
            path: path("file_path")?,
        }],
        "Bash" | "PowerShell" | "Monitor" => {
            let command = text_field(input, "command").ok_or("command")?.to_owned();
            let language = (tool == "PowerShell").then(|| "pwsh".to_owned());
            vec![Effect::Opaque { command, language }]
        }
        "Glob" | "Grep" | "LS" => {
            let path = text_field(input, "path").unwrap_or(cwd);
            vec![Effect::Read { path: path.into() }]
        }
        harmless if HARMLESS.contains(&harmless) => Vec::new(),
        other => effects_of_unknown(other, &Value::Object(input.clone())),
    };
    // Sub-agents act through hooks of their own; what they change is found as theirs.
    let declared = matches!(
        tool,
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "Read" | "Glob" | "Grep" | "LS"
    ) || HARMLESS.contains(&tool);
    let may_write = !declared && !only_reads(tool);
    let background =
        input.get("run_in_background") == Some(&Value::Bool(true)) || tool == "Monitor";
    Ok(Attempt {
        tool: tool.to_owned(),
        cwd: Path::new(cwd).to_owned(),
        effects,
        call: text_field(fields, "tool_use_id").map(str::to_owned),
        may_write,
        background,
        subagent: text_field(fields, "agent_id").map(str::to_owned),
        nonce: Some(env.nonce.clone()).filter(|n| !n.is_empty()),
    })
}

/// Cuts at a character boundary.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_REASON) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Verdict;

    fn read(payload: &Value) -> Result<Parsed, Refusal> {
        ClaudeCode.read(payload.to_string().as_bytes(), &HookEnv::default())
    }

    fn tool_call(tool: &str, input: Value) -> Value {
        json!({
            "session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse",
            "tool_name": tool, "tool_input": input,
        })
    }

    fn effects(tool: &str, input: Value) -> Vec<Effect> {
        match read(&tool_call(tool, input)).unwrap().call.unwrap().what {
            HookEvent::Attempt(attempt) => attempt.effects,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_tool_is_reduced_to_what_it_does() {
        let change = |p: &str| vec![Effect::Change { path: p.into() }];
        assert_eq!(
            effects("Write", json!({"file_path": "/w/a", "content": "x"})),
            change("/w/a")
        );
        assert_eq!(
            effects(
                "Edit",
                json!({"file_path": "/w/a", "old_string": "file_path"})
            ),
            change("/w/a")
        );
        assert_eq!(
            effects("NotebookEdit", json!({"notebook_path": "/w/n.ipynb"})),
            change("/w/n.ipynb")
        );
        assert_eq!(
            effects("mcp__notes__write_note", json!({"path": "docs/n.md"})),
            change("docs/n.md")
        );
        assert_eq!(
            effects("Bash", json!({"command": "ls"})),
            [Effect::Opaque {
                command: "ls".into(),
                language: None
            }]
        );
        assert_eq!(
            effects("Read", json!({"file_path": "/w/a"})),
            [Effect::Read {
                path: "/w/a".into()
            }]
        );
        assert!(effects("Agent", json!({"prompt": "edit x"})).is_empty());
        let several = json!({"file_path": "a", "edits": [{"file_path": "b"}, {"old_string": "c"}]});
        assert_eq!(effects("MultiEdit", several).len(), 2);
    }

    #[test]
    fn what_lacks_a_field_is_refused_in_the_form_that_denies() {
        for (payload, part) in [
            (tool_call("Write", json!({"content": "x"})), "`file_path`"),
            (tool_call("Write", json!({"file_path": 7})), "`file_path`"),
            (tool_call("Bash", json!({})), "`command`"),
            (
                json!({"session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": "Write"}),
                "`tool_input`",
            ),
            (
                json!({"session_id": 7, "cwd": null, "hook_event_name": "PreToolUse"}),
                "`session_id`",
            ),
        ] {
            let refusal = read(&payload).unwrap_err();
            let answer = ClaudeCode.refuse(&refusal);
            let out: Value = serde_json::from_str(&answer.stdout.unwrap()).unwrap();
            let inner = &out["hookSpecificOutput"];
            assert_eq!(inner["permissionDecision"], "deny");
            let reason = inner["permissionDecisionReason"].as_str().unwrap();
            assert!(reason.contains(part), "{reason}");
            assert_eq!(answer.exit, 0);
        }
    }

    #[test]
    fn what_is_no_event_is_refused_by_exit_code_two() {
        for payload in [
            &b""[..],
            b"hello",
            b"[1,2]",
            b"{\"a\":",
            b"{}",
            b"{\"hook_event_name\":\"PreQuantumUse\"}",
        ] {
            let refusal = ClaudeCode.read(payload, &HookEnv::default()).unwrap_err();
            let answer = ClaudeCode.refuse(&refusal);
            assert_eq!((answer.exit, answer.stdout), (2, None));
            assert!(!answer.stderr.is_empty());
        }
    }

    #[test]
    fn answers_have_the_recorded_form() {
        let reply = |verdict, reason: &str| HookReply {
            plan_id: None,
            verdict: Verdict {
                verdict,
                reason: reason.into(),
                breaches: Vec::new(),
            },
            context: None,
        };
        let stdout = |event: &str, r: HookReply| {
            serde_json::from_str::<Value>(&ClaudeCode.answer(event, &r).stdout.unwrap()).unwrap()
        };
        assert_eq!(
            ClaudeCode.answer("PreToolUse", &reply(VerdictKind::Allow, "")),
            HookAnswer::silent()
        );
        assert_eq!(
            stdout("PreToolUse", reply(VerdictKind::Deny, "no")),
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}})
        );
        assert_eq!(
            stdout("PreToolUse", reply(VerdictKind::Halt, "no")),
            json!({"continue": false, "stopReason": "no", "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}})
        );
        assert_eq!(
            stdout("PostToolBatch", reply(VerdictKind::Halt, "no")),
            json!({"continue": false, "stopReason": "no"})
        );
        let mut start = reply(VerdictKind::Allow, "");
        start.context = Some("rules".into());
        assert_eq!(
            stdout("SessionStart", start),
            json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "rules"}})
        );
        let long = stdout("PreToolUse", reply(VerdictKind::Deny, &"é".repeat(20_000)));
        let reason = long["hookSpecificOutput"]["permissionDecisionReason"]
            .as_str()
            .unwrap();
        assert!(reason.chars().count() <= MAX_REASON + 1);
    }

    #[test]
    fn the_project_is_where_the_agent_was_started() {
        let env = HookEnv {
            project_dir: Some("/w".into()),
            nonce: "n".into(),
            ..HookEnv::default()
        };
        let payload =
            json!({"session_id": "s", "cwd": "/w/src/deep", "hook_event_name": "SessionStart"});
        let call = ClaudeCode
            .read(payload.to_string().as_bytes(), &env)
            .unwrap()
            .call
            .unwrap();
        assert_eq!(call.project_dir, Path::new("/w"));
        let silent = json!({"hook_event_name": "Notification"});
        assert_eq!(read(&silent).unwrap().call, None);
    }
}
