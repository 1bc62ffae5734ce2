//! Questions about what the invariants say of paths, command lines and themselves. Nothing is
//! counted or recorded.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::EffectiveOf;
use crate::{
    model::{Attempt, Invariant, InvariantId, PlanId, Scope, Severity, VerdictKind},
    rules::findings::Finding,
};

/// Asks the letter invariants about changed paths, without an agent and without strikes. Fails
/// when a pattern does not compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub of: EffectiveOf,
    /// The project directory that the paths are seen from.
    pub root: PathBuf,
    pub paths: Vec<CheckPath>,
}

/// A path that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckPath {
    pub path: PathBuf,
    /// It was removed or moved away, with all that lies under it.
    #[serde(default)]
    pub subtree: bool,
}

/// How many paths were looked at, and those that an invariant forbids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    pub checked: usize,
    pub offences: Vec<Offence>,
}

/// A changed path that an invariant forbids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offence {
    pub path: String,
    pub invariant_id: InvariantId,
    pub text: String,
    #[serde(flatten)]
    pub scope: Scope,
    pub severity: Severity,
    pub allowed: String,
}

/// What a set of invariants says about itself: contradictions, duplicates and the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    pub of: EffectiveOf,
    pub root: PathBuf,
}

/// What was found about a set of invariants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingsReport {
    pub plan_id: Option<PlanId>,
    pub findings: Vec<Finding>,
    /// Those that the findings name.
    pub invariants: Vec<Invariant>,
}

/// What would happen to an attempt, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explain {
    pub of: EffectiveOf,
    pub root: PathBuf,
    /// Where the agent would be.
    pub cwd: PathBuf,
    pub what: ExplainWhat,
}

/// An attempt to explain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplainWhat {
    /// A change of a path, as an agent would write it.
    Path(PathBuf),
    /// A command line of a shell.
    Command(String),
}

/// What would happen to an attempt, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// The action signature: the canonical target, or the command.
    pub signature: String,
    /// Every place that the path means, relative to the project where it lies inside.
    pub places: Vec<PathBuf>,
    pub scratch: bool,
    /// What was read out of the attempt.
    pub effects: Vec<ReadEffect>,
    /// It may change more than could be read; the tree is looked at afterwards.
    pub opaque: bool,
    pub asked: Vec<Asked>,
    /// The verdict of a first attempt.
    pub verdict: VerdictKind,
}

/// One thing that was read out of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadEffect {
    /// `change`, `delete`, `below` (anything in a folder), `partial` (a name of which only parts
    /// are known), `unresolved` or `rules` (it would change invar's own).
    pub effect: String,
    /// The path, or why it is not known.
    pub target: String,
    /// The command or sign that does it.
    pub how: String,
    /// The bytes of the line, from and to; absent for a path that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<(usize, usize)>,
    /// Every place that the path means, relative to the project where it lies inside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PathBuf>,
}

/// What was asked of an invariant, and the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub invariant_id: InvariantId,
    pub text: String,
    #[serde(flatten)]
    pub scope: Scope,
    pub holds: bool,
    /// The paths, or parts of the line, that break it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken_by: Vec<String>,
    /// What would be allowed instead.
    pub allowed: String,
}

/// What each of recorded attempts would break, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    pub of: EffectiveOf,
    pub root: PathBuf,
    pub attempts: Vec<Attempt>,
}
