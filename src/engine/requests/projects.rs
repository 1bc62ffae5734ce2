//! Requests about projects, and about actions, the templates of plans.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::{ActionName, ProjectName};

/// Gives a directory to a project. A directory belongs to one project, so that another one
/// loses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectBind {
    pub name: ProjectName,
    pub root: PathBuf,
}

/// The project that a directory belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectOf {
    pub dir: PathBuf,
}

/// All projects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectList {}

/// Names an action, so that it is listed before it carries anything. Nothing changes when it is
/// known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionAdd {
    pub name: ActionName,
}

/// Removes an action with the invariants it carries; the reply says how many those were. Fails
/// when it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionRemove {
    pub name: ActionName,
}

/// All actions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionList {}

/// An action and how many invariants it carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionSummary {
    pub name: ActionName,
    pub invariants: usize,
    pub plans: usize,
}
