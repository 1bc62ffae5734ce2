//! Floor 0: what things are. Plain serde types and their errors; no I/O, no decisions.

mod assent;
mod attempt;
mod event;
pub mod fault;
mod ids;
mod in_force;
mod invariant;
mod judge;
mod names;
mod plan;
mod problem;
mod records;
mod scope;
mod text;
mod words;

pub use assent::{Assent, AssentStatus, SLACK_NANOS};
pub use attempt::{Attempt, Breach, Change, Effect, Signature, Strike, Verdict, VerdictKind};
pub use event::{Event, EventKind, GENESIS_HASH, PlanChange};
pub use ids::{AssentId, CheckId, DecisionId, InvariantId, PlanId, ViolationId};
pub use in_force::{Holding, InForce};
pub use invariant::{
    Checkpoint, Invariant, InvariantPatch, Layer, LayerKind, LetterCheck, NewInvariant, Origin,
    Remedy, Severity,
};
pub use judge::{
    CheckOutcome, Cost, DayCost, HttpSettings, JudgeAnswer, JudgeCheck, JudgeReading, JudgedAction,
    Money, day_of,
};
pub use names::{ActionName, ProjectName};
pub use plan::{Action, Phase, PhaseState, Plan, Project, Running, Session, Transition};
pub use problem::Problem;
pub use records::{
    ConflictRecord, Decision, DecisionKind, Enforcement, FoundChange, JournalEntry, JournalStep,
    ReconciliationDecision, ReconciliationResult, Violation, ViolationStatus,
};
pub use scope::{Scope, ScopeKind};
pub use text::{MAX_TEXT, TextError, clean_text, hex, hidden_char_name, is_hidden, visible};

/// What is wrong with a value that a person or a file handed in. Shown as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelError {
    EmptyProjectName,
    EmptyActionName,
    BadName {
        name: String,
        what: String,
        max: usize,
    },
    BadId {
        value: String,
    },
    UnknownScope {
        value: String,
    },
    MissingSource {
        scope: &'static str,
    },
    UnknownLayer {
        value: String,
    },
    UnknownSeverity {
        value: String,
    },
    TwoLetterForms,
    NoLetterForm,
    NoPatterns,
    ForeignField {
        field: &'static str,
        wants: &'static str,
        has: &'static str,
    },
    BadFields {
        fault: String,
    },
    ZeroIterations,
    UnknownCheckpoint {
        value: String,
    },
    UnknownRemedy {
        value: String,
    },
    Text(TextError),
}

crate::error_by_problem!(ModelError);

impl ModelError {
    /// What is wrong, and what to write instead.
    pub fn problem(&self) -> Problem {
        match self {
            Self::EmptyProjectName => Problem::new("a project name must not be empty")
                .hint("write one such as `local/my-app`"),
            Self::EmptyActionName => Problem::new("an action name must not be empty")
                .hint("write one such as `local/code-coverage`"),
            Self::BadName { name, what, max } => {
                Problem::new(format!("the name {name:?} holds {what}")).hint(format!(
                    "use letters, digits and marks that are visible, up to {max} characters"
                ))
            }
            Self::BadId { value } => Problem::new(format!(
                "{value:?} is not an id: an id has 26 characters, such as 01ARZ3NDEKTSV4RRFFQ69G5FAV"
            )),
            Self::UnknownScope { value } => Problem::new(format!("unknown scope {value:?}"))
                .hint("use global, project, action or plan"),
            Self::MissingSource { scope } => Problem::new(format!(
                "the scope `{scope}` needs the name of its {scope}"
            ))
            .hint(format!("add `--{scope} NAME` or use `global`")),
            Self::UnknownLayer { value } => Problem::new(format!("unknown layer {value:?}"))
                .hint("use plain, letter, judgment or assent"),
            Self::UnknownSeverity { value } => Problem::new(format!("unknown severity {value:?}"))
                .hint("use error, warning or info"),
            Self::TwoLetterForms => Problem::new(
                "an invariant takes one letter form, and this one has both no_edits_outside and untouched",
            )
            .hint("write two invariants"),
            Self::NoLetterForm => {
                Problem::new("a letter invariant needs a check: no_edits_outside or untouched")
            }
            Self::NoPatterns => Problem::new("no_edits_outside needs at least one pattern")
                .hint("to forbid every edit write untouched: \"**\""),
            Self::ForeignField { field, wants, has } => Problem::new(format!(
                "{field} belongs to the {wants} layer, and this invariant is {has}"
            )),
            Self::BadFields { fault } => {
                Problem::new("the fields are not understood").caused_by(fault)
            }
            Self::ZeroIterations => Problem::new("each_n_iterations needs a number of 1 or more"),
            Self::UnknownCheckpoint { value } => {
                Problem::new(format!("unknown checkpoint {value:?}")).hint(
                    "use each_edit, at_satisfaction or each_n_iterations=N with N of 1 or more",
                )
            }
            Self::UnknownRemedy { value } => Problem::new(format!("unknown remedy {value:?}"))
                .hint("use inform, halt or warn"),
            Self::Text(error) => error.problem(),
        }
    }
}

impl From<TextError> for ModelError {
    fn from(error: TextError) -> Self {
        Self::Text(error)
    }
}
