//! Requests about what was recorded in plans: violations, strikes and decisions.

use serde::{Deserialize, Serialize};

use super::PlanRef;
use crate::model::{Decision, Enforcement};

/// A person records how a plan kept to its invariants; the reply is the reconciliation of it.
/// Fails when the plan or an invariant is not found, or is not in force there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforce {
    pub plan: PlanRef,
    /// Ids, or unique prefixes, of the invariants that were violated.
    pub violated: Vec<String>,
    /// What was done about it.
    pub response: String,
}

/// Closes a violation: corrected, or waived for a reason. Fails when it is not found or closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolve {
    pub violation: String,
    pub waive: Option<String>,
}

/// Puts the file of a found violation back as it was. Fails when no copy was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutBack {
    pub violation: String,
}

/// The violations of one plan, or of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violations {
    pub plan: Option<PlanRef>,
}

/// The strikes of one plan, or of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strikes {
    pub plan: Option<PlanRef>,
}

/// The decision tree of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    pub plan: PlanRef,
}

/// One reconciliation in a plan's decision tree with its enforcement records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionNode {
    pub decision: Decision,
    pub enforcements: Vec<Enforcement>,
}
