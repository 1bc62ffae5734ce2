//! GitHub Copilot CLI: the spelling of the events in its settings picks the protocol, so that both
//! are read. A denial before an action is always given; a halt ends the run where it asks for
//! leave.

use serde_json::{Map, Value, json};

use super::{
    answers::{
        Say, additional_context, cut, json_answer, parsed, permission_denied, refuse_by_exit, say,
    },
    capabilities::{Capabilities, Evidence, Fails, Halts, Known},
    dialect::{Agent, Fields, HookAnswer, Moment, Occasion, OwnPlaces},
    settings::{Form, Install},
    tools::{SHELL, Tool},
};
use crate::engine::requests::HookReply;

/// The adapter.
pub static COPILOT: Agent = Agent {
    name: "copilot",
    title: "GitHub Copilot CLI",
    project_dir_variables: &["COPILOT_PROJECT_DIR"],
    pid_variable: None,
    process_names: &["copilot"],
    own_places: OwnPlaces {
        notes: &["~/.copilot/session-state/**"],
        worktrees: &[],
    },
    events: &[
        ("preToolUse", Moment::Before),
        ("permissionRequest", Moment::Leave),
        ("postToolUse", Moment::After),
        ("postToolUseFailure", Moment::After),
        ("userPromptSubmitted", Moment::Prompt),
        ("sessionStart", Moment::SessionStart),
        ("sessionEnd", Moment::SessionEnd),
        ("agentStop", Moment::Stop),
        ("subagentStart", Moment::Quiet),
        ("subagentStop", Moment::SubagentStop),
        ("errorOccurred", Moment::Quiet),
        ("notification", Moment::Quiet),
        ("preCompact", Moment::Quiet),
        ("PreToolUse", Moment::Before),
        ("PostToolUse", Moment::After),
        ("PostToolUseFailure", Moment::After),
        ("UserPromptSubmit", Moment::Prompt),
        ("SessionStart", Moment::SessionStart),
        ("SessionEnd", Moment::SessionEnd),
        ("Stop", Moment::Stop),
        ("SubagentStart", Moment::Quiet),
        ("SubagentStop", Moment::SubagentStop),
        ("PreCompact", Moment::Quiet),
        ("Notification", Moment::Quiet),
        ("ErrorOccurred", Moment::Quiet),
    ],
    event_of: Some(event_of),
    fields: FIELDS,
    tools: &TOOLS,
    capabilities: Capabilities {
        can_halt: Halts::ByDenial,
        can_ask: false,
        reason_reaches_model: Known::Yes,
        on_crash: Fails::Closed,
        on_timeout: Fails::Open,
        covers_mcp: Known::Yes,
        covers_subagents: Known::Yes,
        has_call_id: false,
        tells_end: true,
        steers_unseen: false,
        hears_at: &[Moment::SessionStart, Moment::Before],
        evidence: Evidence::Run("1.0.102"),
        gaps: &[
            "where it asks for leave first, a halt ends the run at once",
            "hooks of a project need a trusted folder, and with `-p` a variable of the environment",
        ],
    },
    answer,
    refuse: refuse_by_exit,
    denies,
    install: Some(Install {
        user: ".copilot/hooks/invar.json",
        home_variable: Some(("COPILOT_HOME", "hooks/invar.json")),
        project: ".github/hooks/invar.json",
        template: include_str!("../../assets/agents/copilot.json"),
        form: Form::Merged,
        after: "sessions that start from now on ask it",
    }),
};

const FIELDS: Fields = Fields {
    event: &["/hookName", "/hook_event_name"],
    session: &["/sessionId", "/session_id"],
    cwd: &["/cwd"],
    project: &[],
    tool: &["/toolName", "/tool_name"],
    input: &["/toolArgs", "/toolInput", "/tool_input"],
    call: &[],
    subagent: &["/agentId", "/agent_id"],
    parent: &["/parentAgentId", "/parent_agent_id"],
    mode: &[],
    stamp: &["/timestamp"],
    prompt: &["/prompt"],
    cwd_may_lack: false,
};

static TOOLS: [(&str, Tool); 24] = [
    ("bash", SHELL),
    ("Bash", SHELL),
    (
        "powershell",
        Tool::Shell {
            command: &["command"],
            dir: &[],
            language: Some("pwsh"),
        },
    ),
    ("read_bash", Tool::Harmless),
    ("stop_bash", Tool::Harmless),
    ("list_bash", Tool::Harmless),
    ("create", Tool::Change(&["path", "file_path"])),
    ("Write", Tool::Change(&["path", "file_path"])),
    ("edit", Tool::Change(&["path", "file_path"])),
    ("Edit", Tool::Change(&["path", "file_path"])),
    ("str_replace_editor", Tool::Change(&["path", "file_path"])),
    ("apply_patch", Tool::Patch(&["patch", "input", "command"])),
    ("view", Tool::Read(&["path", "file_path"])),
    ("Read", Tool::Read(&["path", "file_path"])),
    ("grep", Tool::Read(&["path"])),
    ("Grep", Tool::Read(&["path"])),
    ("glob", Tool::Read(&["path"])),
    ("Glob", Tool::Read(&["path"])),
    ("task", Tool::Spawn),
    ("Task", Tool::Spawn),
    ("fetch", Tool::Harmless),
    ("web_fetch", Tool::Harmless),
    ("report_intent", Tool::Harmless),
    ("update_todo", Tool::Harmless),
];

/// Only some of its payloads name their event; the others are recognised by their fields.
fn event_of(fields: &Map<String, Value>) -> Option<String> {
    let has = |name: &str| fields.contains_key(name);
    let event = if has("toolName") {
        match (has("toolResult"), has("error")) {
            (true, _) => "postToolUse",
            (false, true) => "postToolUseFailure",
            (false, false) => "preToolUse",
        }
    } else if has("errorContext") {
        "errorOccurred"
    } else if has("trigger") {
        "preCompact"
    } else if has("agentName") || has("agentId") {
        match has("stopReason") {
            true => "subagentStop",
            false => "subagentStart",
        }
    } else if has("stopReason") {
        "agentStop"
    } else if has("source") || has("initialPrompt") {
        "sessionStart"
    } else if has("prompt") {
        "userPromptSubmitted"
    } else if has("reason") {
        "sessionEnd"
    } else if has("message") {
        "notification"
    } else {
        return None;
    };
    Some(event.to_owned())
}

fn answer(occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    let pascal = occasion.event.starts_with(|c: char| c.is_ascii_uppercase());
    match (say(reply), occasion.moment) {
        (Say::Nothing, _) => HookAnswer::silent(),
        (Say::Context(text), Moment::SessionStart | Moment::Before) => match pascal {
            true => additional_context(&occasion.event, text),
            false => json_answer(&json!({"additionalContext": cut(text)})),
        },
        (Say::Context(_), _) => HookAnswer::silent(),
        (Say::Deny(reason), Moment::Leave) => {
            json_answer(&json!({"behavior": "deny", "message": reason}))
        }
        (Say::Halt(reason), Moment::Leave) => {
            json_answer(&json!({"behavior": "deny", "message": reason, "interrupt": true}))
        }
        (Say::Deny(reason) | Say::Halt(reason), Moment::Before) => json_answer(&match pascal {
            true => permission_denied(&occasion.event, &reason),
            false => json!({"permissionDecision": "deny", "permissionDecisionReason": reason}),
        }),
        (Say::Halt(_), Moment::Stop | Moment::SubagentStop) => HookAnswer::silent(),
        // After an action this replaces its result; at the end of a turn it sends the model on.
        (Say::Deny(reason) | Say::Halt(reason), _) => {
            json_answer(&json!({"decision": "block", "reason": reason}))
        }
    }
}

/// By the agent's rules: a denial in the form of the event's spelling, or any exit code but 0.
fn denies(answer: &HookAnswer) -> bool {
    let out = parsed(answer);
    answer.exit != 0
        || out["permissionDecision"] == "deny"
        || out["hookSpecificOutput"]["permissionDecision"] == "deny"
        || out["behavior"] == "deny"
}
