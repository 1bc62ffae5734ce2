//! Why a request was not done.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::disk::tree::NotWatched;
use crate::{
    model::{InvariantId, ModelError, PlanId, Problem, Transition},
    rules::glob::GlobError,
    store::StoreError,
};

/// Why a request was not done: a kind for programs, and a sentence in parts for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineError {
    #[serde(flatten)]
    pub kind: ErrorKind,
    #[serde(flatten)]
    pub problem: Problem,
}

/// The kinds of errors. They map to exit codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum ErrorKind {
    /// What was asked for is not well formed, or does not fit what is there.
    Invalid,
    /// There is nothing of that name.
    NotFound,
    /// Several have that name.
    NotUnique { candidates: Vec<String> },
    /// Open violations or contradictions keep the plan from its next phase.
    Blocked(Box<Block>),
    /// What is in force is not known, so that nothing can be said to keep to it.
    InvariantLoad { faults: Vec<String> },
    /// Merging took longer than the configuration lets it.
    ReconciliationTimeout { seconds: u32 },
    /// The plan was halted, and a person must resume it.
    Halted,
    /// The caller is an agent, and the request is for people.
    NotForAgents,
    /// The store cannot be read or written.
    Store,
    /// It may be done later: somebody else is at work, or went away.
    Busy,
    /// Anything else.
    Failed,
}

/// What keeps a plan from its next phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub plan_id: PlanId,
    pub transition: Transition,
    pub violated_ids: Vec<InvariantId>,
    pub reasons: Vec<String>,
}

/// Makes the constructors of the kinds that have no fields.
macro_rules! plain_kinds {
    ($($(#[$doc:meta])* $name:ident = $kind:ident;)*) => {
        impl EngineError {
            $(
                $(#[$doc])*
                pub fn $name(problem: impl Into<Problem>) -> Self {
                    Self::new(ErrorKind::$kind, problem)
                }
            )*
        }
    };
}

plain_kinds! {
    /// [`ErrorKind::Invalid`]
    invalid = Invalid;
    /// [`ErrorKind::NotForAgents`]
    not_for_agents = NotForAgents;
    /// [`ErrorKind::Store`]
    store = Store;
    /// [`ErrorKind::Busy`]
    busy = Busy;
    /// [`ErrorKind::Failed`]
    failed = Failed;
}

impl EngineError {
    /// An error of a kind.
    pub fn new(kind: ErrorKind, problem: impl Into<Problem>) -> Self {
        let problem = problem.into();
        Self { kind, problem }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.problem = self.problem.hint(hint);
        self
    }

    /// Says what caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl fmt::Display) -> Self {
        self.problem = self.problem.caused_by(source);
        self
    }

    /// Says where it happened, in front of all else.
    #[must_use]
    pub fn within(mut self, place: impl fmt::Display) -> Self {
        self.problem = self.problem.within(place);
        self
    }

    /// Adds a remark in brackets, behind all else.
    #[must_use]
    pub fn remark(mut self, remark: impl fmt::Display) -> Self {
        self.problem = self.problem.remark(remark);
        self
    }

    /// There is no `what` of that name.
    pub fn not_found(what: &str, name: &str) -> Self {
        let message = format!("{what} {name:?} was not found");
        Self::new(ErrorKind::NotFound, message)
    }

    /// Several have that name.
    pub fn not_unique(what: &str, name: &str, candidates: Vec<String>) -> Self {
        let all = candidates.join(", ");
        let message = format!("{what} {name:?} is not unique: it could be {all}");
        Self::new(ErrorKind::NotUnique { candidates }, message).hint("give more characters")
    }

    /// A plan cannot enter its next phase.
    pub fn blocked(block: Block) -> Self {
        let message = format!(
            "{} of plan {} is blocked: {}",
            block.transition.verb(),
            block.plan_id,
            block.reasons.join("; ")
        );
        Self::new(ErrorKind::Blocked(Box::new(block)), message)
    }

    /// A plan cannot enter its next phase, since what is in force there is not known.
    pub fn invariant_load(plan: PlanId, transition: Transition, faults: Vec<String>) -> Self {
        let message = format!(
            "{} of plan {plan} is blocked, since not all invariants can be loaded: {}",
            transition.verb(),
            faults.join("; ")
        );
        Self::new(ErrorKind::InvariantLoad { faults }, message)
    }

    /// A plan cannot enter its next phase, since merging took too long.
    pub fn reconciliation_timeout(plan: PlanId, transition: Transition, seconds: u32) -> Self {
        let message = format!(
            "{} of plan {plan} is blocked: reconciliation took longer than {seconds} s",
            transition.verb()
        );
        Self::new(ErrorKind::ReconciliationTimeout { seconds }, message)
            .hint("raise `reconcile_seconds` in the configuration, or remove invariants")
    }

    /// A plan was halted.
    pub fn halted(plan: PlanId, reason: &str) -> Self {
        let message = format!("plan {plan} is halted ({reason})");
        Self::new(ErrorKind::Halted, message).hint(format!(
            "resume it with `invar plan resume {plan}`, or cancel it"
        ))
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for EngineError {}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Locked { .. } => Self::busy(&error),
            _ => Self::store(&error),
        }
    }
}

impl From<ModelError> for EngineError {
    fn from(error: ModelError) -> Self {
        Self::invalid(&error)
    }
}

impl From<GlobError> for EngineError {
    fn from(error: GlobError) -> Self {
        Self::invalid(&error)
    }
}

impl From<NotWatched> for EngineError {
    fn from(error: NotWatched) -> Self {
        match error {
            NotWatched::NotYet => {
                Self::busy("the first look at the project's files is not done yet")
                    .hint("try again in a moment")
            }
            NotWatched::Off | NotWatched::TooMany { .. } => Self::failed(error.to_string()),
        }
    }
}
