//! Why a request was not done.

use serde::{Deserialize, Serialize};

use crate::{
    model::{InvariantId, ModelError, PlanId, Transition},
    rules::glob::GlobError,
    store::StoreError,
};

/// Why a request was not done. The kinds map to exit codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", content = "detail", rename_all = "snake_case")]
pub enum EngineError {
    /// What was asked for is not well formed.
    #[error("{0}")]
    Invalid(String),
    #[error("{what} {name:?} was not found; {hint}")]
    NotFound {
        what: String,
        name: String,
        hint: String,
    },
    #[error("{what} {name:?} is not unique: it could be {}; give more characters", candidates.join(", "))]
    NotUnique {
        what: String,
        name: String,
        candidates: Vec<String>,
    },
    /// Open violations or contradictions keep the plan from its next phase.
    #[error("{} of plan {plan_id} is blocked: {}", transition.verb(), reasons.join("; "))]
    Blocked {
        plan_id: PlanId,
        transition: Transition,
        violated_ids: Vec<InvariantId>,
        reasons: Vec<String>,
    },
    /// What is in force is not known, so that nothing can be said to keep to it.
    #[error(
        "{} of plan {plan_id} is blocked, since not all invariants can be loaded: {}", transition.verb(), faults.join("; ")
    )]
    InvariantLoad {
        plan_id: PlanId,
        transition: Transition,
        faults: Vec<String>,
    },
    /// Merging took longer than the configuration lets it.
    #[error(
        "{} of plan {plan_id} is blocked: reconciliation took longer than {seconds} s; raise `reconcile_seconds` in the configuration, or remove invariants", transition.verb()
    )]
    ReconciliationTimeout {
        plan_id: PlanId,
        transition: Transition,
        seconds: u32,
    },
    #[error(
        "plan {plan_id} is halted ({reason}); resume it with `invar plan resume {plan_id}`, or cancel it"
    )]
    Halted { plan_id: PlanId, reason: String },
    /// The caller is an agent, and the call is for people.
    #[error("{0}")]
    NotForAgents(String),
    #[error("{0}")]
    Store(String),
    #[error("{0}")]
    Busy(String),
    #[error("{0}")]
    Failed(String),
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Locked { .. } => Self::Busy(error.to_string()),
            other => Self::Store(other.to_string()),
        }
    }
}

impl From<ModelError> for EngineError {
    fn from(error: ModelError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl From<GlobError> for EngineError {
    fn from(error: GlobError) -> Self {
        Self::Invalid(error.to_string())
    }
}
