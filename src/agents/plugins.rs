//! Agents that run plugins instead of commands: opencode and pi. Our plugin asks `invar hook`,
//! fails closed by itself and knows a halt, which the agent's own form cannot say.

use serde_json::{Map, Value, json};

use super::{
    answers::{Say, cut, json_answer, parsed, say},
    capabilities::{Capabilities, Evidence, Fails, Halts, Known},
    dialect::{Agent, Fields, HookAnswer, Moment, Occasion, OwnPlaces, Refusal},
    settings::{Form, Install},
    tools::{SHELL, Tool},
};
use crate::engine::requests::HookReply;

/// The adapter of opencode, 1.x and 2.x.
pub static OPENCODE: Agent = Agent {
    name: "opencode",
    title: "opencode",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["opencode"],
    own_places: OwnPlaces {
        notes: &[".opencode/plans/**"],
        worktrees: &[],
    },
    events: &[
        ("tool.execute.before", Moment::Before),
        ("v2.tool.execute.before", Moment::Before),
        ("tool.execute.after", Moment::After),
        ("v2.tool.execute.after", Moment::After),
        ("chat.message", Moment::Prompt),
        ("session.created", Moment::SessionStart),
        ("session.idle", Moment::Stop),
        ("session.deleted", Moment::SessionEnd),
        ("session.error", Moment::Quiet),
        ("file.edited", Moment::Quiet),
        // The tools' own hook decides.
        ("v2.permission.evaluate", Moment::Quiet),
    ],
    event_of: Some(opencode_event),
    fields: Fields {
        event: &[],
        session: &[
            "/input/sessionID",
            "/event/sessionID",
            "/event/properties/sessionID",
            "/event/properties/info/id",
        ],
        cwd: &["/directory"],
        project: &["/directory"],
        tool: &["/input/tool", "/event/tool"],
        input: &["/output/args", "/input/args", "/event/input"],
        call: &["/input/callID", "/event/id"],
        subagent: &[],
        parent: &["/parent", "/event/properties/info/parentID"],
        mode: &["/event/agent", "/input/agent"],
        stamp: &[],
        prompt: &[],
        cwd_may_lack: false,
    },
    tools: &OPENCODE_TOOLS,
    capabilities: Capabilities {
        can_halt: Halts::Native,
        can_ask: false,
        reason_reaches_model: Known::Yes,
        on_crash: Fails::Closed,
        on_timeout: Fails::Closed,
        covers_mcp: Known::Yes,
        covers_subagents: Known::Yes,
        has_call_id: true,
        tells_end: true,
        steers_unseen: false,
        hears_at: &[Moment::Prompt, Moment::After],
        evidence: Evidence::Run("1.18.34"),
        gaps: &[
            "a plugin that the agent does not load guards nothing: see its log for `invar`",
            "2.x has not been run, its plugin rests on what others report",
        ],
    },
    answer: opencode_answer,
    refuse: |refusal: &Refusal| {
        json_answer(&json!({"verdict": "deny", "reason": cut(&refusal.reason)}))
    },
    denies: |answer: &HookAnswer| {
        let verdict = parsed(answer)["verdict"].clone();
        verdict != "allow" && verdict != "warn"
    },
    install: Some(Install {
        user: ".config/opencode/plugins/invar.js",
        home_variable: Some(("XDG_CONFIG_HOME", "opencode/plugins/invar.js")),
        project: ".opencode/plugins/invar.js",
        template: include_str!("../../assets/agents/opencode.js"),
        form: Form::Whole,
        after: "sessions that start from now on ask it",
    }),
};

/// The adapter of pi.
pub static PI: Agent = Agent {
    name: "pi",
    title: "pi",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["pi"],
    own_places: OwnPlaces::NONE,
    events: &[
        ("tool_call", Moment::Before),
        ("tool_result", Moment::After),
        ("before_agent_start", Moment::Prompt),
        ("session_start", Moment::SessionStart),
        ("session_shutdown", Moment::SessionEnd),
        ("agent_end", Moment::Stop),
        // The person's own command.
        ("user_bash", Moment::Quiet),
    ],
    event_of: None,
    fields: Fields {
        event: &["/event/type"],
        session: &["/ctx/sessionId"],
        cwd: &["/ctx/cwd"],
        project: &[],
        tool: &["/event/toolName"],
        input: &["/event/input"],
        call: &["/event/toolCallId"],
        subagent: &[],
        parent: &[],
        mode: &[],
        stamp: &[],
        prompt: &["/event/prompt"],
        cwd_may_lack: false,
    },
    tools: &[
        ("bash", SHELL),
        ("write", Tool::Change(&["path"])),
        ("edit", Tool::Change(&["path"])),
        ("read", Tool::Read(&["path"])),
        ("ls", Tool::Read(&["path"])),
        ("find", Tool::Read(&["path"])),
        ("grep", Tool::Read(&["path"])),
    ],
    capabilities: Capabilities {
        can_halt: Halts::Native,
        can_ask: false,
        reason_reaches_model: Known::Yes,
        on_crash: Fails::Closed,
        on_timeout: Fails::Closed,
        // It has neither by itself.
        covers_mcp: Known::Yes,
        covers_subagents: Known::Yes,
        has_call_id: true,
        tells_end: true,
        steers_unseen: false,
        hears_at: &[Moment::Prompt],
        evidence: Evidence::Run("1.6.0"),
        gaps: &["other extensions run beside invar's and are trusted like it"],
    },
    answer: pi_answer,
    refuse: |refusal: &Refusal| {
        json_answer(&json!({"block": true, "reason": cut(&refusal.reason)}))
    },
    denies: |answer: &HookAnswer| answer.exit != 0 || parsed(answer)["block"] == true,
    install: Some(Install {
        user: ".pi/agent/extensions/invar.ts",
        home_variable: None,
        project: ".pi/extensions/invar.ts",
        template: include_str!("../../assets/agents/pi.ts"),
        form: Form::Whole,
        after: "type /reload in a running session; new ones ask it from the start",
    }),
};

static OPENCODE_TOOLS: [(&str, Tool); 22] = [
    ("bash", OPENCODE_SHELL),
    ("shell", OPENCODE_SHELL),
    ("write", Tool::Change(&["filePath", "path"])),
    ("edit", Tool::Change(&["filePath", "path"])),
    ("multiedit", Tool::Edits(&["filePath", "path"])),
    ("apply_patch", Tool::Patch(&["patchText", "patch"])),
    ("patch", Tool::Patch(&["patchText", "patch"])),
    ("read", Tool::Read(&["filePath", "path"])),
    ("list", Tool::Read(&["path"])),
    ("ls", Tool::Read(&["path"])),
    ("glob", Tool::Read(&["path"])),
    ("grep", Tool::Read(&["path"])),
    ("task", Tool::Spawn),
    ("subagent", Tool::Spawn),
    ("todowrite", Tool::Harmless),
    ("todoread", Tool::Harmless),
    ("webfetch", Tool::Harmless),
    ("websearch", Tool::Harmless),
    ("skill", Tool::Harmless),
    ("question", Tool::Harmless),
    ("plan_exit", Tool::Harmless),
    // A call to a tool that is not there.
    ("invalid", Tool::Harmless),
];

const OPENCODE_SHELL: Tool = Tool::Shell {
    command: &["command"],
    dir: &["workdir"],
    language: None,
};

/// The hook, or the kind of what came over the event bus.
fn opencode_event(fields: &Map<String, Value>) -> Option<String> {
    let hook = fields.get("hook")?.as_str()?;
    let event = match hook {
        "event" => fields.get("event")?.get("type")?.as_str()?,
        hook => hook,
    };
    Some(event.to_owned())
}

/// The verdict in one word, for our plugin.
fn opencode_answer(_: &Occasion, reply: &HookReply) -> HookAnswer {
    let mut out = json!({"verdict": reply.verdict.verdict});
    match say(reply) {
        Say::Nothing => {}
        Say::Context(text) => out["context"] = cut(text).into(),
        Say::Deny(reason) | Say::Halt(reason) => out["reason"] = reason.into(),
    }
    json_answer(&out)
}

/// What the agent takes from a handler; our plugin also understands a halt and a context.
fn pi_answer(occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    match say(reply) {
        Say::Nothing => HookAnswer::silent(),
        Say::Context(text) if occasion.shim => json_answer(&json!({"context": cut(text)})),
        Say::Context(_) => HookAnswer::silent(),
        Say::Deny(reason) => json_answer(&json!({"block": true, "reason": reason})),
        Say::Halt(reason) => json_answer(&match occasion.shim {
            true => json!({"block": true, "reason": reason, "halt": true}),
            false => json!({"block": true, "reason": reason}),
        }),
    }
}
