//! The form for every other agent and for scripts: documented JSON in, JSON and an exit code out
//! (docs/agents.md).

use serde_json::json;

use super::{
    answers::{Say, cut, json_answer, parsed, say},
    capabilities::{Capabilities, Evidence, Fails, Halts, Known},
    dialect::{Agent, Fields, HookAnswer, Moment, Occasion, OwnPlaces, Refusal},
    tools::Tool,
};
use crate::{engine::requests::HookReply, model::VerdictKind};

/// The exit codes of the command line: 3 blocked, 4 halted.
const DENIED: u8 = 3;
const HALTED: u8 = 4;

/// The adapter.
pub static GENERIC: Agent = Agent {
    name: "generic",
    title: "any other agent",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &[],
    own_places: OwnPlaces::NONE,
    events: &[
        ("before", Moment::Before),
        ("after", Moment::After),
        ("settled", Moment::Settled),
        ("prompt", Moment::Prompt),
        ("session_start", Moment::SessionStart),
        ("session_end", Moment::SessionEnd),
        ("stop", Moment::Stop),
        ("subagent_stop", Moment::SubagentStop),
    ],
    event_of: None,
    fields: Fields {
        event: &["/event"],
        session: &["/session"],
        cwd: &["/cwd"],
        project: &["/project"],
        tool: &["/tool"],
        input: &["/input"],
        call: &["/call"],
        subagent: &["/subagent"],
        parent: &["/parent"],
        mode: &["/mode"],
        stamp: &["/time"],
        prompt: &["/prompt"],
        cwd_may_lack: false,
    },
    tools: &[("before", Tool::Declared), ("after", Tool::Declared)],
    capabilities: Capabilities {
        can_halt: Halts::Native,
        can_ask: false,
        reason_reaches_model: Known::Unknown,
        on_crash: Fails::Unknown,
        on_timeout: Fails::Unknown,
        covers_mcp: Known::Unknown,
        covers_subagents: Known::Unknown,
        has_call_id: true,
        tells_end: true,
        steers_unseen: false,
        hears_at: &[
            Moment::SessionStart,
            Moment::Prompt,
            Moment::Before,
            Moment::After,
        ],
        evidence: Evidence::Documented,
        gaps: &["what holds depends on the program that asks"],
    },
    answer,
    refuse: |refusal: &Refusal| HookAnswer {
        exit: DENIED,
        ..json_answer(&json!({"verdict": "deny", "reason": cut(&refusal.reason)}))
    },
    denies: |answer: &HookAnswer| {
        let verdict = parsed(answer)["verdict"].clone();
        answer.exit != 0 || verdict == "deny" || verdict == "halt"
    },
    install: None,
};

fn answer(_: &Occasion, reply: &HookReply) -> HookAnswer {
    let verdict = reply.verdict.verdict;
    let mut out = json!({"verdict": verdict});
    if let Some(plan) = &reply.plan_id {
        out["plan_id"] = json!(plan);
    }
    match say(reply) {
        Say::Nothing => {}
        Say::Context(text) => out["context"] = cut(text).into(),
        Say::Deny(reason) | Say::Halt(reason) => out["reason"] = reason.into(),
    }
    HookAnswer {
        exit: match verdict {
            VerdictKind::Deny | VerdictKind::Ask => DENIED,
            VerdictKind::Halt => HALTED,
            VerdictKind::Allow | VerdictKind::Warn => 0,
        },
        ..json_answer(&out)
    }
}
