//! Gemini CLI and Qwen Code, which took over its tools and Claude Code's event names.

use serde_json::json;

use super::{
    answers::{
        Say, additional_context, denies_by_decision, denies_like_claude, json_answer, like_claude,
        refuse_by_exit, say,
    },
    capabilities::{Capabilities, Evidence, Fails, Halts, Known},
    dialect::{Agent, COMMON, Fields, HookAnswer, Moment, Occasion, OwnPlaces},
    settings::{Form, Install},
    tools::Tool,
};
use crate::engine::requests::HookReply;

/// The adapter of Gemini CLI.
pub static GEMINI: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    project_dir_variables: &["GEMINI_PROJECT_DIR"],
    pid_variable: None,
    process_names: &["gemini"],
    own_places: OwnPlaces {
        notes: &["~/.gemini/tmp/**"],
        worktrees: &[],
    },
    events: &[
        ("BeforeTool", Moment::Before),
        ("AfterTool", Moment::After),
        ("BeforeAgent", Moment::Prompt),
        ("AfterAgent", Moment::Stop),
        ("BeforeModel", Moment::Settled),
        ("SessionStart", Moment::SessionStart),
        ("SessionEnd", Moment::SessionEnd),
        ("AfterModel", Moment::Quiet),
        ("BeforeToolSelection", Moment::Quiet),
        ("PreCompress", Moment::Quiet),
        ("Notification", Moment::Quiet),
    ],
    event_of: None,
    fields: FIELDS,
    tools: &TOOLS,
    capabilities: Capabilities {
        can_halt: Halts::Native,
        can_ask: false,
        reason_reaches_model: Known::Yes,
        on_crash: Fails::Open,
        on_timeout: Fails::Open,
        covers_mcp: Known::Yes,
        covers_subagents: Known::Yes,
        has_call_id: false,
        tells_end: true,
        steers_unseen: false,
        hears_at: &[Moment::SessionStart, Moment::Prompt, Moment::After],
        evidence: Evidence::Run("0.61.0"),
        gaps: &[
            "hooks of a project need a trusted folder",
            "nothing tells its sub-agents apart from the main agent",
            "a session keeps the hooks that it started with",
        ],
    },
    answer,
    refuse: refuse_by_exit,
    denies: denies_by_decision,
    install: Some(Install {
        user: ".gemini/settings.json",
        home_variable: None,
        project: ".gemini/settings.json",
        template: include_str!("../../assets/agents/gemini.json"),
        form: Form::Merged,
        after: "sessions that start from now on ask it",
    }),
};

/// The adapter of Qwen Code.
pub static QWEN: Agent = Agent {
    name: "qwen",
    title: "Qwen Code",
    project_dir_variables: &["QWEN_PROJECT_DIR"],
    pid_variable: None,
    process_names: &["qwen"],
    own_places: OwnPlaces::NONE,
    events: &[
        ("PreToolUse", Moment::Before),
        ("PostToolUse", Moment::After),
        ("PostToolUseFailure", Moment::After),
        // It comes before every request to the model, the later ones without a text.
        ("UserPromptSubmit", Moment::Prompt),
        ("SessionStart", Moment::SessionStart),
        ("SessionEnd", Moment::SessionEnd),
        ("Stop", Moment::Stop),
        ("SubagentStop", Moment::SubagentStop),
        ("SubagentStart", Moment::Quiet),
        ("StopFailure", Moment::Quiet),
        ("Notification", Moment::Quiet),
        ("PreCompact", Moment::Quiet),
        ("PostCompact", Moment::Quiet),
        ("PermissionRequest", Moment::Quiet),
    ],
    event_of: None,
    fields: COMMON,
    tools: &TOOLS,
    capabilities: Capabilities {
        can_halt: Halts::ByDenial,
        can_ask: false,
        reason_reaches_model: Known::Yes,
        on_crash: Fails::Open,
        on_timeout: Fails::Open,
        covers_mcp: Known::Yes,
        covers_subagents: Known::Yes,
        has_call_id: true,
        tells_end: true,
        steers_unseen: false,
        hears_at: &[Moment::SessionStart, Moment::Prompt],
        evidence: Evidence::Run("0.24.4"),
        gaps: &["before 0.24 nothing tells its sub-agents apart from the main agent"],
    },
    answer: qwen_answer,
    refuse: refuse_by_exit,
    denies: denies_like_claude,
    install: Some(Install {
        user: ".qwen/settings.json",
        home_variable: None,
        project: ".qwen/settings.json",
        template: include_str!("../../assets/agents/qwen.json"),
        form: Form::Merged,
        after: "sessions that start from now on ask it",
    }),
};

const FIELDS: Fields = Fields {
    call: &[],
    subagent: &[],
    mode: &[],
    stamp: &["/timestamp"],
    ..COMMON
};

static TOOLS: [(&str, Tool); 24] = [
    (
        "run_shell_command",
        Tool::Shell {
            command: &["command"],
            dir: &["dir_path", "directory"],
            language: None,
        },
    ),
    ("write_file", Tool::Change(&["file_path", "absolute_path"])),
    ("replace", Tool::Change(&["file_path", "absolute_path"])),
    ("edit", Tool::Change(&["file_path", "absolute_path"])),
    ("read_file", Tool::Read(&["file_path", "absolute_path"])),
    ("read_many_files", Tool::Read(&[])),
    ("list_directory", Tool::Read(&["dir_path", "path"])),
    ("glob", Tool::Read(&["dir_path", "path"])),
    ("grep_search", Tool::Read(&["dir_path", "path"])),
    ("search_file_content", Tool::Read(&["dir_path", "path"])),
    ("web_fetch", Tool::Harmless),
    ("google_web_search", Tool::Harmless),
    ("web_search", Tool::Harmless),
    ("write_todos", Tool::Harmless),
    ("todo_write", Tool::Harmless),
    ("get_internal_docs", Tool::Harmless),
    ("ask_user", Tool::Harmless),
    ("enter_plan_mode", Tool::Harmless),
    ("exit_plan_mode", Tool::Harmless),
    ("activate_skill", Tool::Harmless),
    ("skill", Tool::Harmless),
    ("invoke_agent", Tool::Spawn),
    ("agent", Tool::Spawn),
    ("task", Tool::Spawn),
];

fn answer(occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    match (say(reply), occasion.moment) {
        (Say::Nothing, _) => HookAnswer::silent(),
        (Say::Context(text), Moment::SessionStart | Moment::Prompt | Moment::After) => {
            additional_context(&occasion.event, text)
        }
        (Say::Context(_), _) => HookAnswer::silent(),
        (Say::Deny(reason), _) => json_answer(&json!({"decision": "deny", "reason": reason})),
        (Say::Halt(reason), _) => json_answer(&json!({
            "decision": "deny", "reason": reason, "continue": false, "stopReason": reason,
        })),
    }
}

/// After an action only what goes with the result reaches the model.
fn qwen_answer(occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    match (say(reply), occasion.moment) {
        (Say::Deny(reason) | Say::Halt(reason), Moment::After) => json_answer(&json!({
            "decision": "block", "reason": reason,
            "hookSpecificOutput": {"hookEventName": occasion.event, "additionalContext": reason},
        })),
        _ => like_claude(occasion, reply),
    }
}
