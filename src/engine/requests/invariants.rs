//! Requests about invariants: changing them, reading them, and the set that is in force.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Belongs, PlanRef};
use crate::model::{
    ActionName, Invariant, InvariantPatch, NewInvariant, PlanId, ProjectName, Scope,
};

/// Adds an invariant. Fails when it is not well formed, or its plan is not found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Add {
    pub invariant: NewInvariant,
    /// Where the person is: what project the invariant belongs to by default.
    pub cwd: PathBuf,
    /// The plan whose invariant it shall be, instead of the scope in `invariant`.
    pub plan: Option<PlanRef>,
}

/// An invariant that was added, with what a person should know about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    pub invariant: Invariant,
    pub notes: Vec<String>,
}

/// Changes an invariant; the reply is what it is now. Fails when it is not found, is removed or
/// built in, or is no longer at the revision that the patch expects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Its id or a unique prefix, here and below.
    pub id: String,
    pub patch: InvariantPatch,
}

/// Removes an invariant; it can be restored. Fails as [`Edit`] does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remove {
    pub id: String,
}

/// Takes a removed invariant back. Fails when it is not found or not removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    pub id: String,
}

/// Takes the last change back that belongs to a project, or to none; the reply is what was changed
/// by that. Fails when there is none, when it touches another project as well, when it is not the
/// one that the person saw, or when its invariant was changed since in a way that the journal does
/// not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// Where the person is: their project, unless `project` names another.
    pub cwd: PathBuf,
    pub project: Option<ProjectName>,
    /// The number of the journal's entry that the person saw as the last one.
    pub expect: Option<u64>,
}

/// Does the change that was undone last in a project again. Fails as [`Undo`] does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redo {
    /// As in [`Undo`], here and below.
    pub cwd: PathBuf,
    pub project: Option<ProjectName>,
    pub expect: Option<u64>,
}

/// Takes over invariants from a file: all of them or, when one is refused, none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    pub items: Vec<ImportItem>,
}

/// An invariant of a file: whole, as invar exported it, or as a person wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportItem {
    Whole(Invariant),
    New(NewInvariant),
}

/// How many invariants of a file were new, other than before, and known already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    pub added: usize,
    pub changed: usize,
    pub unchanged: usize,
}

/// One invariant, a built-in one too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Show {
    pub id: String,
}

/// All revisions of an invariant, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    pub id: String,
}

/// The invariants of one scope, or of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    pub scope: Option<Scope>,
    /// The plan whose own invariants are wanted, instead of `scope`.
    pub plan: Option<PlanRef>,
    /// Removed ones too.
    pub removed: bool,
}

/// What is in force: the set with what it displaced, and what it cannot settle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effective {
    pub of: EffectiveOf,
}

/// Whose effective set is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectiveOf {
    /// Global alone.
    Global,
    /// Global and project.
    Project(ProjectName),
    /// Global and action: a preview of a plan made from it.
    Action(ActionName),
    /// All that is in force in a plan.
    Plan(PlanRef),
}

impl EffectiveOf {
    pub(super) fn belongs_to(&self) -> Belongs<'_> {
        match self {
            Self::Global | Self::Project(_) | Self::Action(_) => Belongs::Store,
            Self::Plan(plan) => Belongs::Plan(plan),
        }
    }
}

/// The effective set of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveSet {
    pub plan_id: Option<PlanId>,
    pub invariants: Vec<Invariant>,
    pub conflicts_resolved: Vec<Resolved>,
    /// Contradictions that keep a plan from going on.
    #[serde(default)]
    pub conflicts_unresolved: Vec<Unresolved>,
    /// invar's own, which guard the guard.
    pub built_in: Vec<Invariant>,
}

/// An invariant that another displaced, as `list --effective` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    pub overridden: Invariant,
    pub by: Invariant,
    pub rationale: String,
    /// Why both cannot be in force, for two that are no copies of each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<String>,
}

/// Invariants that cannot all be in force, and that precedence does not settle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unresolved {
    /// The strongest of those that explain it.
    pub stronger: Invariant,
    /// The others that are needed to explain it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Invariant>,
    pub weaker: Invariant,
    pub proof: String,
    /// A path that the weaker one allows, and one that the others do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witnesses: Option<(String, String)>,
}
