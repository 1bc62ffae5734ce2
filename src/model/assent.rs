//! A person's assent to one change: what is asked, and what was answered (semantics section 7).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{AssentId, InvariantId, PlanId, Signature};

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
    #[serde(flatten)]
    pub status: AssentStatus,
}

impl Assent {
    /// Whether a person has to answer.
    pub fn is_waiting(&self) -> bool {
        self.status == AssentStatus::Waiting
    }

    /// Whether a person let the change be made, now or before.
    pub fn was_given(&self) -> bool {
        matches!(
            self.status,
            AssentStatus::Approved { .. } | AssentStatus::Delegated
        )
    }
}
