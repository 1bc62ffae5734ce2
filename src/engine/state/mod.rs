//! What an engine keeps in memory, and a screen as its mirror: a fold over events.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    path::Path,
    sync::Arc,
};

use crate::{
    model::{
        Action, ActionName, Assent, AssentId, Event, EventKind, Invariant, InvariantId, Layer,
        LetterCheck, Origin, Plan, PlanId, Project, ProjectName, Scope, Session, Strike,
        VerdictKind, Violation, ViolationId,
    },
    rules::{glob, normalise::KeyedInvariant},
    store::Loaded,
};

use super::{journal::Journal, judging::Judging, requests::Snapshot, strikes::Strikes};

mod apply;
mod past;

use past::Belongings;

/// How many of the last notable events are kept at hand.
pub const RECENT: usize = crate::store::NOTABLE_KEPT;

/// How many plans that are over a mirror keeps.
pub const MIRRORED: usize = 200;

/// Whether an agent did, or tried, what it should not.
pub fn is_breach(kind: &EventKind) -> bool {
    match kind {
        EventKind::Attempted { verdict, .. } => {
            !matches!(verdict.verdict, VerdictKind::Allow | VerdictKind::Ask)
        }
        EventKind::ChangeFound { .. } => true,
        _ => false,
    }
}

/// The state as of event `seq`.
#[derive(Debug, Default)]
pub struct State {
    pub seq: u64,
    /// The invariants of what goes on, removed ones too.
    pub invariants: BTreeMap<InvariantId, Arc<KeyedInvariant>>,
    /// The active ones by where they apply.
    by_scope: HashMap<Scope, BTreeSet<InvariantId>>,
    pub plans: BTreeMap<PlanId, Plan>,
    pub projects: BTreeMap<ProjectName, Project>,
    pub actions: BTreeMap<ActionName, Action>,
    /// By agent and the agent's own session name.
    pub sessions: HashMap<(String, String), Session>,
    pub strikes: Strikes,
    pub violations: BTreeMap<ViolationId, Violation>,
    pub assents: BTreeMap<AssentId, Assent>,
    /// What judges were asked and answered.
    pub judging: Judging,
    pub recent: VecDeque<Event>,
    /// How many breaches were refused, warned of or found since the engine started, those that
    /// it remembers from before included. Exact, whatever a screen could keep up with.
    pub breaches: u64,
    /// Why invariants of the store could not be loaded; nothing is decided without them.
    pub unreadable: Vec<String>,
    /// How many plans were made from each action.
    pub plans_of: BTreeMap<ActionName, u64>,
    /// The digests of the sets in force that were written out since this state was loaded.
    pub sets: HashSet<String>,
    /// Changes that can be undone.
    pub journal: Journal,
    /// What belongs to each plan.
    of_plan: HashMap<PlanId, Belongings>,
    /// The plans at hand that are over and in which no session is at work.
    past: BTreeSet<PlanId>,
    /// How many of these stay at hand.
    keeps: usize,
    /// The plans that were let go of, for whoever keeps more about them.
    gone: Vec<PlanId>,
}

impl State {
    /// The state that a store holds, without what is over; its last events are recalled apart.
    pub fn from_loaded(loaded: Loaded) -> Self {
        let mut state = Self::from_snapshot(Snapshot {
            seq: loaded.seq,
            invariants: loaded.invariants,
            plans: loaded.plans,
            projects: loaded.projects,
            actions: loaded.actions,
            sessions: loaded.sessions,
            strikes: loaded.strikes,
            violations: loaded.violations,
            assents: loaded.assents,
            readings: loaded.readings,
            day_costs: loaded.day_costs,
            journal: loaded.journal,
            ..Snapshot::default()
        });
        state.keeps = 0;
        state.plans_of = loaded.plans_of.into_iter().collect();
        state.judging.put_actions(loaded.judged_actions);
        let unreadable = loaded.unreadable.iter();
        state.unreadable = unreadable.map(ToString::to_string).collect();
        state
    }

    /// The state that an engine sent. As a mirror it keeps the youngest plans that are over.
    pub fn from_snapshot(snapshot: Snapshot) -> Self {
        let mut state = Self {
            seq: snapshot.seq,
            recent: snapshot.recent.into(),
            breaches: snapshot.breaches,
            plans: snapshot.plans.into_iter().map(|p| (p.id, p)).collect(),
            projects: keyed(snapshot.projects, |p| p.name.clone()),
            actions: keyed(snapshot.actions, |a| a.name.clone()),
            strikes: Strikes::new(snapshot.strikes),
            judging: Judging::new(snapshot.readings, snapshot.day_costs, snapshot.checks),
            journal: Journal::new(snapshot.journal),
            keeps: MIRRORED,
            ..Self::default()
        };
        snapshot
            .sessions
            .into_iter()
            .for_each(|v| state.put_session(v));
        snapshot
            .violations
            .into_iter()
            .for_each(|v| state.put_violation(v));
        snapshot
            .assents
            .into_iter()
            .for_each(|v| state.put_assent(v));
        snapshot
            .invariants
            .into_iter()
            .for_each(|v| state.put_invariant(v));
        let over: Vec<PlanId> = state
            .plans
            .keys()
            .copied()
            .filter(|id| state.has_ended(*id))
            .collect();
        state.past.extend(over);
        state
    }

    /// The state before the first event, which keeps all that there ever was: to follow a log
    /// from its start.
    pub fn whole() -> Self {
        Self {
            keeps: usize::MAX,
            ..Self::default()
        }
    }

    /// A copy to send; `built_in` is the engine's to add.
    pub fn snapshot(&self, built_in: Vec<Invariant>) -> Snapshot {
        Snapshot {
            seq: self.seq,
            invariants: self
                .invariants
                .values()
                .map(|k| k.invariant.clone())
                .collect(),
            plans: self.plans.values().cloned().collect(),
            projects: self.projects.values().cloned().collect(),
            actions: self.actions.values().cloned().collect(),
            sessions: self.sessions.values().cloned().collect(),
            strikes: self.strikes.values().cloned().collect(),
            violations: self.violations.values().cloned().collect(),
            assents: self.assents.values().cloned().collect(),
            checks: self.judging.recent(),
            readings: self.judging.readings().cloned().collect(),
            day_costs: self.judging.day_costs().collect(),
            journal: self.journal.entries().to_vec(),
            restores: false,
            config_fault: None,
            judge_bounds: None,
            breaches: self.breaches,
            built_in,
            recent: self.recent.iter().cloned().collect(),
        }
    }

    /// The active invariants attached to exactly this scope, oldest first.
    pub fn in_scope<'a>(
        &'a self,
        scope: &Scope,
    ) -> impl Iterator<Item = &'a Arc<KeyedInvariant>> + use<'a> {
        self.by_scope
            .get(scope)
            .into_iter()
            .flatten()
            .filter_map(|id| self.invariants.get(id))
    }

    /// All that applies to a plan, before the merge: global → project → action → plan. The
    /// invariants of its action get the plan's parameters.
    pub fn collect_for_plan(&self, plan: &Plan) -> Vec<Arc<KeyedInvariant>> {
        let mut collected = self.collect(Some(&plan.project), None);
        if let Some(action) = &plan.action {
            for keyed in self.in_scope(&Scope::Action(action.clone())) {
                collected.push(bound(keyed, plan));
            }
        }
        collected.extend(self.in_scope(&Scope::Plan(plan.id)).cloned());
        collected
    }

    /// Global, and what is attached to a project or an action.
    pub fn collect(
        &self,
        project: Option<&ProjectName>,
        action: Option<&ActionName>,
    ) -> Vec<Arc<KeyedInvariant>> {
        let mut collected: Vec<_> = self.in_scope(&Scope::Global).cloned().collect();
        if let Some(project) = project {
            collected.extend(self.in_scope(&Scope::Project(project.clone())).cloned());
        }
        if let Some(action) = action {
            collected.extend(self.in_scope(&Scope::Action(action.clone())).cloned());
        }
        collected
    }

    /// The project that a directory belongs to: the one bound to its root, else
    /// `local/<folder name>`.
    pub fn project_of(&self, root: &Path) -> ProjectName {
        let bound = self
            .projects
            .values()
            .find(|p| p.roots.iter().any(|r| r == root));
        match bound {
            Some(project) => project.name.clone(),
            None => default_project_name(root),
        }
    }

    /// What a person has not answered yet, in one plan.
    pub fn waiting_assents(&self, plan: PlanId) -> impl Iterator<Item = &Assent> {
        let own = self
            .of_plan
            .get(&plan)
            .into_iter()
            .flat_map(|of| &of.assents);
        own.filter_map(|id| self.assents.get(id))
            .filter(|a| a.is_waiting())
    }

    /// The violations of a plan that still stand.
    pub fn open_violations(&self, plan: PlanId) -> impl Iterator<Item = &Violation> {
        let own = self
            .of_plan
            .get(&plan)
            .into_iter()
            .flat_map(|of| &of.violations);
        own.filter_map(|id| self.violations.get(id))
            .filter(|v| v.is_open())
    }

    /// The counts of a plan that are above zero.
    pub fn strikes_of(&self, plan: PlanId) -> impl Iterator<Item = &Strike> {
        self.strikes.of(plan)
    }

    /// The plan that a project's `@` means: the one a person chose, else the youngest that is
    /// not over.
    pub fn current_plan(&self, project: &ProjectName) -> Option<&Plan> {
        let chosen = self
            .projects
            .get(project)
            .and_then(|p| p.current_plan)
            .and_then(|id| self.plans.get(&id))
            .filter(|plan| !plan.is_over());
        chosen.or_else(|| {
            self.plans
                .values()
                .rev()
                .find(|p| p.project == *project && !p.is_over())
        })
    }
}

fn keyed<K: Ord, V>(values: Vec<V>, key: impl Fn(&V) -> K) -> BTreeMap<K, V> {
    values.into_iter().map(|v| (key(&v), v)).collect()
}

/// `local/<folder name>`; hidden characters of the folder's name become visible marks.
pub fn default_project_name(root: &Path) -> ProjectName {
    let folder = root
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let shown: String = crate::model::visible(&folder).chars().take(150).collect();
    #[expect(
        clippy::expect_used,
        reason = "a visible prefix and at most 150 visible characters"
    )]
    ProjectName::new(&format!("local/{shown}")).expect("a visible, short name")
}

/// The invariant with the parameters of the plan put in; unbound ones stay and are refused
/// where the patterns are compiled.
pub fn bound(keyed: &Arc<KeyedInvariant>, plan: &Plan) -> Arc<KeyedInvariant> {
    let Layer::Letter(check) = &keyed.invariant.layer else {
        return Arc::clone(keyed);
    };
    if check
        .patterns()
        .iter()
        .all(|p| glob::parameters(p).is_empty())
    {
        return Arc::clone(keyed);
    }
    let bind = |pattern: &String| glob::bind(pattern, &plan.params).unwrap_or(pattern.clone());
    let new_check = match check {
        LetterCheck::NoEditsOutside(list) => {
            LetterCheck::NoEditsOutside(list.iter().map(bind).collect())
        }
        LetterCheck::Untouched(pattern) => LetterCheck::Untouched(bind(pattern)),
    };
    let mut invariant = keyed.invariant.clone();
    if invariant.text == check.sentence() {
        invariant.text = new_check.sentence();
    }
    invariant.layer = Layer::Letter(new_check);
    KeyedInvariant::new(invariant)
}

/// The copy of an action's invariant that `plan use` attaches to the plan.
pub fn promoted(keyed: &Arc<KeyedInvariant>, plan: &Plan, action: &ActionName) -> Invariant {
    let mut invariant = bound(keyed, plan).invariant.clone();
    invariant.scope = Scope::Plan(plan.id);
    invariant.origin = Origin::PromotedFrom(action.clone());
    invariant.revision = 1;
    invariant
}
