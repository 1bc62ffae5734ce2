//! The forms of answers that several agents share.

use serde_json::{Value, json};

use super::dialect::{HookAnswer, Moment, Occasion, Refusal};
use crate::{engine::requests::HookReply, model::VerdictKind};

/// Longer strings are cut by some agents; the end of ours must not be lost.
pub const MAX_REASON: usize = 9_000;

/// What must be said, in the words of no agent.
pub enum Say<'a> {
    Nothing,
    /// Text for the model besides.
    Context(&'a str),
    Deny(String),
    Halt(String),
}

/// What of a reply must be said.
pub fn say(reply: &HookReply) -> Say<'_> {
    let reason = || cut(&reply.verdict.reason);
    match reply.verdict.verdict {
        // Where the agent cannot ask, or nobody is there.
        VerdictKind::Deny | VerdictKind::Ask => Say::Deny(reason()),
        VerdictKind::Halt => Say::Halt(reason()),
        VerdictKind::Warn => Say::Context(&reply.verdict.reason),
        VerdictKind::Allow => reply.context.as_deref().map_or(Say::Nothing, Say::Context),
    }
}

/// JSON on stdout, and nothing else.
pub fn json_answer(value: &Value) -> HookAnswer {
    HookAnswer {
        stdout: Some(value.to_string()),
        stderr: String::new(),
        exit: 0,
    }
}

/// Exit code 2 with a reason, which blocks whatever the event is in every agent but a few.
pub fn exit_two(reason: &str) -> HookAnswer {
    HookAnswer {
        stdout: None,
        stderr: cut(reason),
        exit: 2,
    }
}

/// Claude Code's denial of an action, taken over by many.
pub fn permission_denied(event: &str, reason: &str) -> Value {
    json!({"hookSpecificOutput": {
        "hookEventName": event,
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    }})
}

/// Claude Code's way of telling the model something.
pub fn additional_context(event: &str, text: &str) -> HookAnswer {
    json_answer(&json!({"hookSpecificOutput": {
        "hookEventName": event,
        "additionalContext": cut(text),
    }}))
}

/// The answer of agents with Claude Code's form that know no halt: a halt before an action is
/// a denial, at a prompt it keeps the turn from beginning, at the end of a turn it is silence.
pub fn like_claude(occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    let event = occasion.event.as_str();
    match (say(reply), occasion.moment) {
        (Say::Nothing, _) => HookAnswer::silent(),
        (Say::Context(text), _) => additional_context(event, text),
        (Say::Deny(reason) | Say::Halt(reason), Moment::Before) => {
            json_answer(&permission_denied(event, &reason))
        }
        (Say::Halt(reason), Moment::Prompt | Moment::SessionStart | Moment::Settled) => {
            json_answer(&json!({"continue": false, "stopReason": reason}))
        }
        (Say::Halt(_), Moment::Stop | Moment::SubagentStop) => HookAnswer::silent(),
        (Say::Deny(reason) | Say::Halt(reason), _) => {
            json_answer(&json!({"decision": "block", "reason": reason}))
        }
    }
}

/// `{"decision": …, "reason": …}` before an action; exit code 2 elsewhere.
pub fn decision(word: &str, occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    match (say(reply), occasion.moment) {
        (Say::Nothing | Say::Context(_), _) => HookAnswer::silent(),
        (Say::Halt(_), Moment::Stop | Moment::SubagentStop) => HookAnswer::silent(),
        (Say::Deny(reason) | Say::Halt(reason), _) => {
            json_answer(&json!({"decision": word, "reason": reason}))
        }
    }
}

/// Exit code 2 with the reason, or silence.
pub fn by_exit_code(occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    match (say(reply), occasion.moment) {
        (Say::Nothing | Say::Context(_), _) => HookAnswer::silent(),
        (Say::Halt(_), Moment::Stop | Moment::SubagentStop) => HookAnswer::silent(),
        (Say::Deny(reason) | Say::Halt(reason), _) => exit_two(&reason),
    }
}

/// A refusal by exit code.
pub fn refuse_by_exit(refusal: &Refusal) -> HookAnswer {
    exit_two(&refusal.reason)
}

/// Whether an answer denies by Claude Code's rules.
pub fn denies_like_claude(answer: &HookAnswer) -> bool {
    let out = parsed(answer);
    answer.exit == 2
        || out["hookSpecificOutput"]["permissionDecision"] == "deny"
        || out["decision"] == "block"
}

/// Whether an answer denies by `decision`, or by exit code 2 with a reason.
pub fn denies_by_decision(answer: &HookAnswer) -> bool {
    let out = parsed(answer);
    (answer.exit == 2 && !answer.stderr.is_empty())
        || out["decision"] == "deny"
        || out["decision"] == "block"
}

/// Whether an answer denies by its exit code.
pub fn denies_by_exit(answer: &HookAnswer) -> bool {
    answer.exit == 2
}

/// The JSON on stdout; null when there is none.
pub fn parsed(answer: &HookAnswer) -> Value {
    let text = answer.stdout.as_deref().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

/// Cuts at a character boundary.
pub fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_REASON) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
