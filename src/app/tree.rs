//! The scope tree: global, and under their headings projects, actions and plans.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    engine::state::State,
    model::{ActionName, PlanId, ProjectName, Scope, ScopeKind},
};

/// The name of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    Global,
    /// A heading that folds.
    Heading(ScopeKind),
    Project(ProjectName),
    Action(ActionName),
    Plan(PlanId),
}

/// A row of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRow {
    pub node: Node,
    pub label: String,
    /// Active invariants attached to it.
    pub count: usize,
    /// For a heading, whether its rows show.
    pub open: bool,
    pub depth: u16,
}

impl Node {
    /// The row of a scope.
    pub fn of(scope: &Scope) -> Self {
        match scope {
            Scope::Global => Self::Global,
            Scope::Project(name) => Self::Project(name.clone()),
            Scope::Action(name) => Self::Action(name.clone()),
            Scope::Plan(id) => Self::Plan(*id),
        }
    }

    /// The scope that an invariant added here gets.
    pub fn scope(&self) -> Option<Scope> {
        match self {
            Self::Global => Some(Scope::Global),
            Self::Heading(_) => None,
            Self::Project(name) => Some(Scope::Project(name.clone())),
            Self::Action(name) => Some(Scope::Action(name.clone())),
            Self::Plan(id) => Some(Scope::Plan(*id)),
        }
    }
}

/// Builds the rows from the state; headings in `folded` hide theirs.
pub fn rows(state: &State, folded: &BTreeSet<ScopeKind>) -> Vec<TreeRow> {
    let mut projects: BTreeMap<ProjectName, usize> = state
        .projects
        .keys()
        .map(|name| (name.clone(), 0))
        .collect();
    let mut actions: BTreeMap<ActionName, usize> = state
        .actions
        .values()
        .filter(|a| a.active)
        .map(|a| (a.name.clone(), 0))
        .collect();
    let mut plans: BTreeMap<PlanId, usize> = BTreeMap::new();
    let mut global = 0;
    for plan in state.plans.values() {
        projects.entry(plan.project.clone()).or_default();
        plans.insert(plan.id, 0);
        if let Some(action) = &plan.action {
            actions.entry(action.clone()).or_default();
        }
    }
    for keyed in state.invariants.values().filter(|k| k.invariant.active) {
        match &keyed.invariant.scope {
            Scope::Global => global += 1,
            Scope::Project(name) => *projects.entry(name.clone()).or_default() += 1,
            Scope::Action(name) => *actions.entry(name.clone()).or_default() += 1,
            Scope::Plan(id) => *plans.entry(*id).or_default() += 1,
        }
    }
    let mut out = vec![TreeRow {
        node: Node::Global,
        label: "global".into(),
        count: global,
        open: false,
        depth: 0,
    }];
    let mut group = |kind: ScopeKind, label: &str, members: Vec<(Node, String, usize)>| {
        if members.is_empty() {
            return;
        }
        let open = !folded.contains(&kind);
        out.push(TreeRow {
            node: Node::Heading(kind),
            label: label.to_owned(),
            count: members.len(),
            open,
            depth: 0,
        });
        if open {
            out.extend(members.into_iter().map(|(node, label, count)| TreeRow {
                node,
                label,
                count,
                open: false,
                depth: 1,
            }));
        }
    };
    let named = |list: BTreeMap<ProjectName, usize>| {
        list.into_iter()
            .map(|(n, c)| (Node::Project(n.clone()), n.to_string(), c))
            .collect()
    };
    group(ScopeKind::Project, "projects", named(projects));
    let actions = actions
        .into_iter()
        .map(|(n, c)| (Node::Action(n.clone()), n.to_string(), c));
    group(ScopeKind::Action, "actions", actions.collect());
    // The youngest plan is the one a person looks for.
    let plans = plans
        .into_iter()
        .rev()
        .map(|(id, c)| (Node::Plan(id), id.short(), c));
    group(ScopeKind::Plan, "plans", plans.collect());
    out
}
