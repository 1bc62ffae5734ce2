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
pub use records::{
    ConflictRecord, Decision, DecisionKind, Enforcement, FoundChange, JournalEntry, JournalStep,
    ReconciliationDecision, ReconciliationResult, Violation, ViolationStatus,
};
pub use scope::{Scope, ScopeKind};
pub use text::{MAX_TEXT, TextError, clean_text, hex, hidden_char_name, is_hidden, visible};

/// What is wrong with a value that a person or a file handed in. Shown as it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("a project name must not be empty; write one such as `local/my-app`")]
    EmptyProjectName,
    #[error("an action name must not be empty; write one such as `local/code-coverage`")]
    EmptyActionName,
    #[error(
        "the name {name:?} holds {what}; use letters, digits and marks that are visible, up to {max} characters"
    )]
    BadName {
        name: String,
        what: String,
        max: usize,
    },
    #[error("{value:?} is not an id: an id has 26 characters, such as 01ARZ3NDEKTSV4RRFFQ69G5FAV")]
    BadId { value: String },
    #[error("unknown scope {value:?}; use global, project, action or plan")]
    UnknownScope { value: String },
    #[error(
        "the scope `{scope}` needs the name of its {scope}; add `--{scope} NAME` or use `global`"
    )]
    MissingSource { scope: &'static str },
    #[error("unknown layer {value:?}; use plain, letter, judgment or assent")]
    UnknownLayer { value: String },
    #[error("unknown severity {value:?}; use error, warning or info")]
    UnknownSeverity { value: String },
    #[error(
        "an invariant takes one letter form, and this one has both no_edits_outside and untouched; write two invariants"
    )]
    TwoLetterForms,
    #[error("a letter invariant needs a check: no_edits_outside or untouched")]
    NoLetterForm,
    #[error(
        "no_edits_outside needs at least one pattern; to forbid every edit write untouched: \"**\""
    )]
    NoPatterns,
    #[error("{field} belongs to the {wants} layer, and this invariant is {has}")]
    ForeignField {
        field: &'static str,
        wants: &'static str,
        has: &'static str,
    },
    #[error("the fields are not understood: {fault}")]
    BadFields { fault: String },
    #[error("each_n_iterations needs a number of 1 or more")]
    ZeroIterations,
    #[error(
        "unknown checkpoint {value:?}; use each_edit, at_satisfaction or each_n_iterations=N with N of 1 or more"
    )]
    UnknownCheckpoint { value: String },
    #[error("unknown remedy {value:?}; use inform, halt or warn")]
    UnknownRemedy { value: String },
    #[error(transparent)]
    Text(#[from] TextError),
}
