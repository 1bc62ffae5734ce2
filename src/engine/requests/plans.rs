//! Requests about plans.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::{ActionName, Plan, ProjectName, Transition};

/// A plan as a person names it: an id, a unique prefix of four characters or more, or `@` for
/// the current plan of the project that `cwd` lies in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRef {
    pub text: String,
    pub cwd: PathBuf,
}

/// Makes a plan of an action, current in its project. Fails for parameters that the action's
/// invariants do not take, and for a parent that is not found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanUse {
    pub action: ActionName,
    pub project: ProjectName,
    pub params: BTreeMap<String, String>,
    pub parent: Option<PlanRef>,
}

/// The plan that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanMade {
    pub plan: Plan,
    /// How many invariants it took over from its action.
    pub promoted: usize,
}

/// Takes a plan to its next phase. Fails with what blocks it; that it was blocked is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTransition {
    pub plan: PlanRef,
    pub transition: Transition,
}

/// Lets a halted plan go on. Fails when it is not halted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanResume {
    pub plan: PlanRef,
}

/// Ends a plan. Fails when it is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanCancel {
    pub plan: PlanRef,
}

/// One plan. Fails when it is not found, or several are meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanShow {
    pub plan: PlanRef,
}

/// All plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanList {}
