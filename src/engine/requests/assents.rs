//! Requests about questions that wait for a person's assent.

use serde::{Deserialize, Serialize};

use super::PlanRef;
use crate::model::AssentId;

/// What persons were asked, in one plan or in all, and what they answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assents {
    pub plan: Option<PlanRef>,
}

/// Which of these questions still wait for a person; a hook asks again and again while it waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StillWaiting {
    pub ids: Vec<AssentId>,
}

/// A person answers a question; the reply is the question with the answer. The same question
/// may be answered again until the change was made. Fails when it is not found or was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssentAnswer {
    /// The question: its id or a unique prefix.
    pub id: String,
    /// Who answers.
    pub by: String,
    pub answer: Ruling,
}

/// A person's answer to a question for assent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    Approve {
        /// As often as the same change comes in this plan, instead of once.
        for_plan: bool,
    },
    Refuse {
        reason: String,
    },
}

/// The agent asks by its own prompt, so that nobody has to answer these here. Those that no
/// longer wait are left as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssentsDelegated {
    pub ids: Vec<AssentId>,
}
