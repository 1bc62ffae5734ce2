//! A person's assent to one change: what is asked, and what was answered.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{AssentId, InvariantId, PlanId, Running, Signature};

/// What has become of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum AssentStatus {
    /// Nobody has answered.
    Waiting,
    /// The agent asked the person in front of it by its own prompt.
    Delegated,
    Approved {
        by: String,
        answered_at: Timestamp,
        /// As often as it comes in this plan, instead of once.
        for_plan: bool,
        /// The one time is over.
        used: bool,
    },
    Refused {
        by: String,
        answered_at: Timestamp,
        /// What the model reads.
        reason: String,
    },
}

/// One question: may this change be made? It is bound to the content that is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assent {
    pub id: AssentId,
    pub plan_id: PlanId,
    pub invariant_id: InvariantId,
    /// The clause.
    pub text: String,
    pub agent: String,
    pub session: String,
    pub tool: String,
    pub signature: Signature,
    /// The path as it is shown.
    pub path: String,
    /// The change as a person reads it, cut where it is long.
    pub change: String,
    /// SHA-256 in hex over the whole of what the tool was given.
    pub digest: String,
    pub asked_at: Timestamp,
    /// The agent's name of the call that asked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The command that runs once it is let through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Running>,
    /// When the change was let through last, or left to the agent's own prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub let_at: Option<Timestamp>,
    #[serde(flatten)]
    pub status: AssentStatus,
}

impl Assent {
    /// Whether a person has to answer.
    pub fn is_waiting(&self) -> bool {
        self.status == AssentStatus::Waiting
    }

    /// Whether this assent covers a change that was found in the tree. `change` is when it
    /// happened, in Unix nanoseconds; `ran` are the commands that ran then, the one that started
    /// last at the end. One approval is for one change: what another command does to the same
    /// file later is not covered.
    pub fn covers(&self, change: i128, ran: &[&Running]) -> bool {
        let approved = matches!(self.status, AssentStatus::Approved { .. });
        let Some(let_at) = self
            .let_at
            .filter(|_| approved || self.status == AssentStatus::Delegated)
        else {
            return false;
        };
        let let_at = let_at.as_nanosecond();
        let Some(blamed) = ran.last() else {
            return let_at <= change + SLACK_NANOS;
        };
        if self.call.is_some() && ran.iter().any(|r| r.call == self.call) {
            return true;
        }
        // The change may also come from another call that was let through while the command ran.
        // An approval covers that. An answer to the agent's own prompt is not known to invar, so
        // it does not excuse a command that is certainly another call.
        let other = self.call.is_some() && blamed.call.is_some();
        let slack = if other { 0 } else { SLACK_NANOS };
        let meanwhile = let_at + slack >= blamed.since.as_nanosecond();
        meanwhile && (approved || !other || blamed.background)
    }
}

/// How far the time of a file may lag behind the clock, in nanoseconds: file systems keep time in
/// ticks. Times of files and of calls are compared with this much room.
pub const SLACK_NANOS: i128 = 50_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn command(call: &str, since: i64) -> Running {
        Running {
            call: Some(call.into()),
            tool: "Bash".into(),
            command: "make".into(),
            since: at(since),
            background: false,
        }
    }

    #[test]
    fn an_assent_covers_its_own_change_and_no_later_one() {
        let approved = AssentStatus::Approved {
            by: "a person".into(),
            answered_at: at(9),
            for_plan: false,
            used: true,
        };
        let assent = |status: &AssentStatus, let_at: Option<i64>| Assent {
            id: AssentId(ulid::Ulid::nil()),
            plan_id: PlanId(ulid::Ulid::nil()),
            invariant_id: InvariantId(ulid::Ulid::nil()),
            text: "x".into(),
            agent: "a".into(),
            session: "s".into(),
            tool: "Write".into(),
            signature: Signature::of_path("db/x"),
            path: "db/x".into(),
            change: String::new(),
            digest: String::new(),
            asked_at: at(8),
            call: Some("write".into()),
            command: None,
            let_at: let_at.map(at),
            status: status.clone(),
        };
        let when = |seconds: i64| at(seconds).as_nanosecond();
        let asked = &AssentStatus::Delegated;
        for (status, let_at, ran, covered) in [
            // Nobody's command ran: it is the change itself.
            (&approved, Some(10), vec![], true),
            (asked, Some(10), vec![], true),
            (&approved, None, vec![], false),
            (&AssentStatus::Waiting, Some(10), vec![], false),
            // The command that asked.
            (asked, Some(10), vec![command("write", 10)], true),
            (
                asked,
                Some(10),
                vec![command("write", 10), command("other", 11)],
                true,
            ),
            // A later command.
            (&approved, Some(10), vec![command("script", 11)], false),
            (asked, Some(10), vec![command("script", 11)], false),
            // A command that ran already.
            (&approved, Some(10), vec![command("server", 5)], true),
            (asked, Some(10), vec![command("script", 5)], false),
        ] {
            let ran: Vec<&Running> = ran.iter().collect();
            let given = assent(status, let_at).covers(when(12), &ran);
            assert_eq!(given, covered, "{status:?} {let_at:?} {ran:?}");
        }
    }
}
