//! Claude Code: hook JSON on stdin, JSON or an exit code back. An allow is silence. Anything
//! but a well-formed refusal lets the action run, so that each failure is turned into one.

use serde_json::json;

use super::{
    answers::{
        Say, additional_context, cut, denies_like_claude, json_answer, permission_denied,
        refuse_by_exit, say,
    },
    capabilities::{Capabilities, Evidence, Fails, Halts, Known},
    dialect::{Agent, COMMON, HookAnswer, Moment, Occasion, OwnPlaces},
    settings::{Form, Install},
    tools::{SHELL, Tool},
};
use crate::{engine::requests::HookReply, model::VerdictKind};

/// The adapter.
pub static CLAUDE_CODE: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    project_dir_variables: &["CLAUDE_PROJECT_DIR"],
    pid_variable: Some("CLAUDE_PID"),
    process_names: &["claude"],
    own_places: OwnPlaces {
        notes: &["~/.claude/plans/**", "~/.claude/projects/*/memory/**"],
        worktrees: &[".claude/worktrees/*"],
    },
    events: &EVENTS,
    event_of: None,
    fields: COMMON,
    tools: &TOOLS,
    capabilities: Capabilities {
        can_halt: Halts::Native,
        can_ask: true,
        reason_reaches_model: Known::Yes,
        // `onFailure: "block"` closes it from 2.1.295 on.
        on_crash: Fails::Open,
        on_timeout: Fails::Open,
        covers_mcp: Known::Yes,
        covers_subagents: Known::Yes,
        has_call_id: true,
        tells_end: true,
        steers_unseen: false,
        hears_at: &[
            Moment::SessionStart,
            Moment::Prompt,
            Moment::Before,
            Moment::After,
        ],
        evidence: Evidence::Run("2.1.332"),
        gaps: &[
            "`--bare`, `--safe-mode` and `disableAllHooks` start it without hooks",
            "before 2.1.295 a hook that cannot be started lets the action run; newer versions block it",
        ],
    },
    answer,
    refuse: refuse_by_exit,
    denies: denies_like_claude,
    install: Some(Install {
        user: ".claude/settings.json",
        home_variable: Some(("CLAUDE_CONFIG_DIR", "settings.json")),
        project: ".claude/settings.json",
        template: include_str!("../../assets/agents/claude-code.json"),
        form: Form::Merged,
        after: "running sessions follow within a second or two",
    }),
};

/// The events that the agent knows.
static EVENTS: [(&str, Moment); 34] = [
    ("PreToolUse", Moment::Before),
    ("PreSkillShellCommand", Moment::Before),
    ("PostToolUse", Moment::After),
    ("PostToolUseFailure", Moment::After),
    ("PostToolBatch", Moment::Settled),
    ("UserPromptSubmit", Moment::Prompt),
    ("SessionStart", Moment::SessionStart),
    ("SessionEnd", Moment::SessionEnd),
    ("Stop", Moment::Stop),
    ("SubagentStop", Moment::SubagentStop),
    ("ConfigChange", Moment::Settings),
    ("PermissionRequest", Moment::Quiet),
    ("PermissionDenied", Moment::Quiet),
    ("UserPromptExpansion", Moment::Quiet),
    ("Setup", Moment::Quiet),
    ("StopFailure", Moment::Quiet),
    ("SubagentStart", Moment::Quiet),
    ("PreCompact", Moment::Quiet),
    ("PostCompact", Moment::Quiet),
    ("PreModelSwitch", Moment::Quiet),
    ("PostModelSwitch", Moment::Quiet),
    ("Notification", Moment::Quiet),
    ("TeammateIdle", Moment::Quiet),
    ("TaskCreated", Moment::Quiet),
    ("TaskCompleted", Moment::Quiet),
    ("Elicitation", Moment::Quiet),
    ("ElicitationResult", Moment::Quiet),
    ("WorktreeCreate", Moment::Quiet),
    ("WorktreeRemove", Moment::Quiet),
    ("InstructionsLoaded", Moment::Quiet),
    ("CwdChanged", Moment::Quiet),
    ("FileChanged", Moment::Quiet),
    ("DirectoryAdded", Moment::Quiet),
    ("MessageDisplay", Moment::Quiet),
];

static TOOLS: [(&str, Tool); 28] = [
    ("Write", Tool::Change(&["file_path"])),
    ("Edit", Tool::Change(&["file_path"])),
    ("MultiEdit", Tool::Edits(&["file_path"])),
    ("NotebookEdit", Tool::Change(&["notebook_path"])),
    ("Read", Tool::Read(&["file_path"])),
    ("NotebookRead", Tool::Read(&["notebook_path"])),
    ("LSP", Tool::Read(&["filePath"])),
    ("Glob", Tool::Read(&["path"])),
    ("Grep", Tool::Read(&["path"])),
    ("LS", Tool::Read(&["path"])),
    ("Bash", SHELL),
    ("Monitor", SHELL),
    (
        "PowerShell",
        Tool::Shell {
            command: &["command"],
            dir: &[],
            language: Some("pwsh"),
        },
    ),
    ("Agent", Tool::Spawn),
    ("Task", Tool::Spawn),
    ("TodoWrite", Tool::Harmless),
    ("WebFetch", Tool::Harmless),
    ("WebSearch", Tool::Harmless),
    ("AskUserQuestion", Tool::Harmless),
    ("ExitPlanMode", Tool::Harmless),
    ("EnterPlanMode", Tool::Harmless),
    ("Skill", Tool::Harmless),
    ("TaskOutput", Tool::Harmless),
    ("KillShell", Tool::Harmless),
    ("BashOutput", Tool::Harmless),
    ("EnterWorktree", Tool::Harmless),
    ("ToolSearch", Tool::Harmless),
    ("SendMessage", Tool::Harmless),
];

fn answer(occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    let event = occasion.event.as_str();
    let is_action = occasion.moment == Moment::Before;
    if is_action && reply.verdict.verdict == VerdictKind::Ask {
        return json_answer(&json!({"hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "ask",
            "permissionDecisionReason": cut(&reply.verdict.reason),
        }}));
    }
    json_answer(&match (say(reply), is_action) {
        (Say::Nothing, _) => return HookAnswer::silent(),
        (Say::Context(text), _) => return additional_context(event, text),
        (Say::Deny(reason), true) => permission_denied(event, &reason),
        // Every form that stops some version of the agent.
        (Say::Halt(reason), true) => json!({
            "continue": false,
            "stopReason": reason,
            "hookSpecificOutput": permission_denied(event, &reason)["hookSpecificOutput"],
        }),
        (Say::Deny(reason), false) => json!({"decision": "block", "reason": reason}),
        (Say::Halt(reason), false) => json!({"continue": false, "stopReason": reason}),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::Value;

    use super::*;
    use crate::{
        agents::{HookEnv, Parsed, Refusal, answers::MAX_REASON},
        engine::requests::HookEvent,
        model::{Effect, Verdict, VerdictKind},
    };

    fn read(payload: &Value) -> Result<Parsed, Refusal> {
        CLAUDE_CODE.read(payload.to_string().as_bytes(), &HookEnv::default())
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
    fn what_lacks_a_field_is_refused_with_the_field() {
        for (payload, part) in [
            (tool_call("Write", json!({"content": "x"})), "`file_path`"),
            (tool_call("Write", json!({"file_path": 7})), "`file_path`"),
            (tool_call("Bash", json!({})), "`command`"),
            (
                json!({"session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": "Write"}),
                "`tool_input`",
            ),
            (
                json!({"session_id": 7, "cwd": "/w", "hook_event_name": "PreToolUse"}),
                "`session_id`",
            ),
            (
                json!({"session_id": "s", "cwd": null, "hook_event_name": "PreToolUse"}),
                "`cwd`",
            ),
        ] {
            let refusal = read(&payload).err().unwrap();
            let answer = (CLAUDE_CODE.refuse)(&refusal);
            assert!(answer.stderr.contains(part), "{}", answer.stderr);
            assert_eq!((answer.exit, answer.stdout), (2, None));
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
            let refusal = CLAUDE_CODE
                .read(payload, &HookEnv::default())
                .err()
                .unwrap();
            let answer = (CLAUDE_CODE.refuse)(&refusal);
            assert_eq!((answer.exit, answer.stdout), (2, None));
            assert!(!answer.stderr.is_empty());
        }
    }

    fn answered(event: &str, reply: &HookReply) -> HookAnswer {
        let (_, moment) = *EVENTS.iter().find(|(name, _)| *name == event).unwrap();
        let occasion = Occasion {
            event: event.into(),
            moment,
            shim: false,
        };
        answer(&occasion, reply)
    }

    #[test]
    fn answers_have_the_recorded_form() {
        let reply = |verdict, reason: &str| {
            HookReply::of(Verdict {
                verdict,
                reason: reason.into(),
                breaches: Vec::new(),
            })
        };
        let stdout = |event: &str, r: HookReply| {
            serde_json::from_str::<Value>(&answered(event, &r).stdout.unwrap()).unwrap()
        };
        assert_eq!(
            answered("PreToolUse", &reply(VerdictKind::Allow, "")),
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
        let call = CLAUDE_CODE
            .read(payload.to_string().as_bytes(), &env)
            .unwrap()
            .call
            .unwrap();
        assert_eq!(call.project_dir, Path::new("/w"));
        let silent = json!({"hook_event_name": "Notification"});
        assert_eq!(read(&silent).unwrap().call, None);
    }
}
