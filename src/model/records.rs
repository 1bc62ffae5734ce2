//! What reconciliation leaves behind: conflicts, decisions, enforcement records, violations.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    DecisionId, Invariant, InvariantId, PlanId, ProjectName, ScopeKind, Severity, Transition,
    ViolationId,
};

/// Two invariants with the same key, and how precedence settled it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictRecord {
    pub text: String,
    pub winner_id: InvariantId,
    pub loser_id: InvariantId,
    pub winner_scope: ScopeKind,
    pub loser_scope: ScopeKind,
    pub resolution: String,
}

/// The decision behind one resolved conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconciliationDecision {
    pub winner: Invariant,
    pub loser: Invariant,
    /// Such as `plan scope > project scope`.
    pub rationale: String,
    pub timestamp: Timestamp,
}

/// That one effective invariant was looked at in one reconciliation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    pub invariant_id: InvariantId,
    pub enforced: bool,
    pub actor_response: String,
    pub decision_id: DecisionId,
}

/// The kinds of node in a plan's decision tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// One reconciliation: the root of what it decided.
    InvariantEnforced,
    /// One conflict that precedence resolved.
    ConflictResolved,
}

/// A node of a plan's decision tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub id: DecisionId,
    pub plan_id: PlanId,
    #[serde(default)]
    pub parent: Option<DecisionId>,
    pub kind: DecisionKind,
    pub at: Timestamp,
    pub summary: String,
    #[serde(default)]
    pub invariant_ids: Vec<InvariantId>,
    /// The digest of the set that was in force, for a reconciliation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
}

/// Whether a violation still stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum ViolationStatus {
    Open,
    /// A correction made it no longer true.
    Corrected {
        resolved_at: Timestamp,
        by: String,
    },
    /// A person let it stand, with a reason.
    Waived {
        resolved_at: Timestamp,
        reason: String,
    },
}

/// An invariant that does not hold, with what a person needs to act on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    pub id: ViolationId,
    pub plan_id: PlanId,
    pub invariant_id: InvariantId,
    pub violated_text: String,
    pub severity: Severity,
    pub details: String,
    pub at: Timestamp,
    #[serde(flatten)]
    pub status: ViolationStatus,
    /// The change of a file that was found, for one that nobody reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundChange>,
}

/// A changed file, and how it was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundChange {
    pub root: PathBuf,
    /// Relative to the root.
    pub path: PathBuf,
    /// SHA-256 in hex of the file's kind and content before; `None` when it was not there.
    #[serde(default)]
    pub before: Option<String>,
}

impl Violation {
    /// Whether it still stands.
    pub fn is_open(&self) -> bool {
        self.status == ViolationStatus::Open
    }

    /// Whether it keeps a transition from happening: open, and of severity `error`.
    pub fn blocks(&self) -> bool {
        self.is_open() && self.severity == Severity::Error
    }
}

/// What an event about an invariant means to the journal of changes that people can take back.
/// Events without one, such as those that follow from a project's file, cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum JournalStep {
    /// A person's change: the next entry.
    Noted {
        /// Entries of one command have one group and are undone together.
        group: u64,
        /// The projects that it touches; none for a change of a global or an action's invariant.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        projects: Vec<ProjectName>,
    },
    /// The entry was taken back.
    Undone { number: u64 },
    /// The entry was done again.
    Redone { number: u64 },
}

/// A change of an invariant that a person can take back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Greater for younger entries.
    pub number: u64,
    /// Entries of one command have one group and are undone together.
    pub group: u64,
    /// The projects that it touches; none for a change of a global or an action's invariant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<ProjectName>,
    /// `None` for an invariant that was added.
    #[serde(default)]
    pub before: Option<Invariant>,
    pub after: Invariant,
    /// It was taken back, and can be done again.
    #[serde(default)]
    pub undone: bool,
}

/// The outcome of one reconciliation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconciliationResult {
    pub plan_id: PlanId,
    #[serde(default)]
    pub transition: Option<Transition>,
    pub resolved_invariants: Vec<Invariant>,
    pub conflicts_detected: usize,
    pub conflicts_resolved: usize,
    pub decisions: Vec<ReconciliationDecision>,
    pub conflicts: Vec<ConflictRecord>,
    pub violated_ids: Vec<InvariantId>,
    pub success: bool,
}
