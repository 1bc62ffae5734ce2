//! The rows of the effective set: what is in force, and what is shadowed by what.

use std::sync::Arc;

use super::tree::Node;
use crate::{
    engine::state::State,
    model::{Invariant, InvariantId, Strike},
    rules::{merge::merge, normalise::KeyedInvariant},
};

/// A row: an invariant in force, one that is shadowed, or one of invar's own.
#[derive(Debug, Clone)]
pub struct EffectiveRow {
    pub keyed: Arc<KeyedInvariant>,
    /// For a shadowed one: the scope that shadows it, and why.
    pub shadowed_by: Option<Shadowed>,
    /// It contradicts another of equal strength: a person must edit one.
    pub contradicts: bool,
    /// The highest strike count it has in the shown plan, with its limit.
    pub strikes: Option<Strike>,
}

/// Who shadows, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadowed {
    pub by: InvariantId,
    pub scope: &'static str,
    pub rationale: String,
}

impl EffectiveRow {
    /// The invariant.
    pub fn invariant(&self) -> &Invariant {
        &self.keyed.invariant
    }

    /// What a filter looks at.
    pub fn filter_text(&self) -> String {
        let i = self.invariant();
        format!("{} {} {}", i.text, i.scope.kind(), i.layer.kind().as_str())
    }
}

/// The rows for a node of the scope tree: effective first, then shadowed, then built in.
pub fn rows(state: &State, built_in: &[Arc<KeyedInvariant>], node: &Node) -> Vec<EffectiveRow> {
    let plan = match node {
        Node::Plan(id) => state.plans.get(id),
        _ => None,
    };
    let collected = match (node, plan) {
        (_, Some(plan)) => state.collect_for_plan(plan),
        (Node::Project(name), _) => state.collect(Some(name), None),
        (Node::Action(name), _) => state.collect(None, Some(name)),
        _ => state.collect(None, None),
    };
    let merged = merge(&collected);
    let strikes = |id: InvariantId| {
        let plan = plan?;
        state.strikes.worst(plan.id, id).cloned()
    };
    let contradicts = |id: InvariantId| {
        let mut all = merged.unresolved.iter();
        all.any(|c| c.weaker == id || c.stronger.contains(&id))
    };
    let plain = |keyed: &Arc<KeyedInvariant>| EffectiveRow {
        contradicts: contradicts(keyed.invariant.id),
        strikes: strikes(keyed.invariant.id),
        keyed: Arc::clone(keyed),
        shadowed_by: None,
    };
    let mut rows: Vec<EffectiveRow> = merged.effective.iter().map(plain).collect();
    rows.extend(merged.shadowed.iter().map(|shadow| EffectiveRow {
        contradicts: false,
        shadowed_by: Some(Shadowed {
            by: shadow.winner.invariant.id,
            scope: shadow.winner.invariant.scope.kind().as_str(),
            rationale: shadow.rationale.clone(),
        }),
        keyed: Arc::clone(&shadow.loser),
        strikes: None,
    }));
    rows.extend(built_in.iter().map(plain));
    rows
}
