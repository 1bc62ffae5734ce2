//! Cursor: `permission` answers, in the editor and in its command line. It also runs Claude Code's
//! hook files, so that the same action may come twice.

use serde_json::json;

use super::{
    answers::{Say, cut, exit_two, json_answer, parsed, refuse_by_exit, say},
    capabilities::{Capabilities, Evidence, Fails, Halts, Known},
    dialect::{Agent, Fields, HookAnswer, Moment, Occasion, OwnPlaces},
    settings::{Form, Install},
    tools::{SHELL, Tool},
};
use crate::{engine::requests::HookReply, model::VerdictKind};

/// The adapter.
pub static CURSOR: Agent = Agent {
    name: "cursor",
    title: "Cursor",
    project_dir_variables: &["CURSOR_PROJECT_DIR"],
    pid_variable: None,
    process_names: &["cursor", "cursor-agent"],
    own_places: OwnPlaces {
        notes: &["~/.cursor/plans/**", ".cursor/plans/**"],
        worktrees: &["~/.cursor/worktrees/*/*"],
    },
    events: &[
        ("preToolUse", Moment::Before),
        ("beforeShellExecution", Moment::Before),
        ("beforeMCPExecution", Moment::Before),
        ("postToolUse", Moment::After),
        ("postToolUseFailure", Moment::After),
        ("afterShellExecution", Moment::After),
        ("afterMCPExecution", Moment::Quiet),
        ("beforeReadFile", Moment::Quiet),
        ("beforeTabFileRead", Moment::Quiet),
        ("afterFileEdit", Moment::Quiet),
        ("afterTabFileEdit", Moment::Quiet),
        ("beforeSubmitPrompt", Moment::Prompt),
        ("sessionStart", Moment::SessionStart),
        ("sessionEnd", Moment::SessionEnd),
        ("stop", Moment::Stop),
        ("subagentStart", Moment::Quiet),
        ("subagentStop", Moment::SubagentStop),
        ("preCompact", Moment::Quiet),
        ("afterAgentResponse", Moment::Quiet),
        ("afterAgentThought", Moment::Quiet),
        ("workspaceOpen", Moment::Quiet),
        // By Claude Code's hook files.
        ("PreToolUse", Moment::Before),
        ("PostToolUse", Moment::After),
        ("PostToolUseFailure", Moment::After),
        ("UserPromptSubmit", Moment::Prompt),
        ("SessionStart", Moment::SessionStart),
        ("SessionEnd", Moment::SessionEnd),
        ("Stop", Moment::Stop),
        ("SubagentStop", Moment::SubagentStop),
        ("PreCompact", Moment::Quiet),
    ],
    event_of: None,
    fields: FIELDS,
    tools: &TOOLS,
    capabilities: Capabilities {
        can_halt: Halts::ByDenial,
        can_ask: true,
        reason_reaches_model: Known::Unknown,
        // `failClosed` closes both.
        on_crash: Fails::Closed,
        on_timeout: Fails::Closed,
        covers_mcp: Known::Yes,
        covers_subagents: Known::Unknown,
        has_call_id: true,
        tells_end: true,
        steers_unseen: false,
        hears_at: &[Moment::SessionStart],
        evidence: Evidence::Documented,
        gaps: &[
            "hooks of a project need a trusted workspace",
            "hooks are read when it starts",
        ],
    },
    answer,
    refuse: refuse_by_exit,
    denies,
    install: Some(Install {
        user: ".cursor/hooks.json",
        home_variable: None,
        project: ".cursor/hooks.json",
        template: include_str!("../../assets/agents/cursor.json"),
        form: Form::Merged,
        after: "start Cursor again, which reads its hooks only then",
    }),
};

const FIELDS: Fields = Fields {
    event: &["/hook_event_name"],
    session: &["/conversation_id", "/session_id"],
    cwd: &["/cwd"],
    project: &["/workspace_roots/0"],
    tool: &["/tool_name"],
    input: &["/tool_input", "/command"],
    call: &["/tool_use_id"],
    subagent: &["/subagent_id"],
    parent: &[],
    mode: &["/composer_mode"],
    stamp: &[],
    prompt: &["/prompt"],
    cwd_may_lack: true,
};

static TOOLS: [(&str, Tool); 19] = [
    ("Shell", CURSOR_SHELL),
    ("Bash", SHELL),
    // These two name no tool, or no other input than the line.
    ("beforeShellExecution", Tool::Line),
    ("afterShellExecution", Tool::Line),
    ("Write", Tool::Change(&["file_path", "path"])),
    ("StrReplace", Tool::Change(&["path", "file_path"])),
    ("Edit", Tool::Change(&["file_path", "path"])),
    ("MultiEdit", Tool::Edits(&["file_path", "path"])),
    ("EditNotebook", Tool::Change(&["target_notebook", "path"])),
    ("Delete", Tool::Delete(&["path", "file_path"])),
    ("Read", Tool::Read(&["file_path", "path"])),
    ("Grep", Tool::Read(&["path"])),
    ("Glob", Tool::Read(&["path"])),
    ("LS", Tool::Read(&["path"])),
    ("SemanticSearch", Tool::Read(&["path"])),
    ("Task", Tool::Spawn),
    ("TodoWrite", Tool::Harmless),
    ("WebSearch", Tool::Harmless),
    ("WebFetch", Tool::Harmless),
];

const CURSOR_SHELL: Tool = Tool::Shell {
    command: &["command"],
    dir: &["cwd", "working_directory"],
    language: None,
};

fn answer(occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    // Through Claude Code's hook file only an exit code is sure to be understood.
    let foreign = occasion.event.starts_with(|c: char| c.is_ascii_uppercase());
    if occasion.moment == Moment::Before && !foreign && reply.verdict.verdict == VerdictKind::Ask {
        let reason = cut(&reply.verdict.reason);
        return json_answer(&json!({
            "permission": "ask", "user_message": reason, "agent_message": reason,
        }));
    }
    match (say(reply), occasion.moment) {
        (Say::Deny(reason) | Say::Halt(reason), _) if foreign => exit_two(&reason),
        _ if foreign => HookAnswer::silent(),
        (Say::Context(text), Moment::SessionStart) => {
            json_answer(&json!({"additional_context": cut(text)}))
        }
        (Say::Nothing | Say::Context(_), Moment::Before) => {
            json_answer(&json!({"permission": "allow"}))
        }
        (Say::Nothing | Say::Context(_), Moment::Prompt) => json_answer(&json!({"continue": true})),
        (Say::Nothing | Say::Context(_), _) => HookAnswer::silent(),
        (Say::Deny(reason) | Say::Halt(reason), Moment::Before) => json_answer(&json!({
            "permission": "deny", "user_message": reason, "agent_message": reason,
        })),
        (Say::Deny(reason) | Say::Halt(reason), Moment::Prompt | Moment::SessionStart) => {
            json_answer(&json!({"continue": false, "user_message": reason}))
        }
        (Say::Deny(reason), Moment::Stop | Moment::SubagentStop) => {
            json_answer(&json!({"followup_message": reason}))
        }
        (Say::Deny(reason) | Say::Halt(reason), Moment::After) => {
            json_answer(&json!({"additional_context": reason}))
        }
        (Say::Deny(_) | Say::Halt(_), _) => HookAnswer::silent(),
    }
}

fn denies(answer: &HookAnswer) -> bool {
    answer.exit == 2 || parsed(answer)["permission"] == "deny"
}
