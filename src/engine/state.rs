//! What an engine keeps in memory, and a screen as its mirror: a fold over events.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    path::Path,
    sync::Arc,
};

use crate::{
    model::{
        Action, ActionName, Assent, AssentId, AssentStatus, Decision, Event, EventKind, Invariant,
        InvariantId, Layer, LetterCheck, Origin, Plan, PlanChange, PlanId, Project, ProjectName,
        Running, Scope, Session, Strike, Verdict, VerdictKind, Violation, ViolationId,
    },
    rules::{glob, normalise::Keyed},
    store::{Loaded, Row},
};

use super::{journal::Journal, judging::Judging, requests::Snapshot, strikes::Strikes};

/// How many of the last notable events are kept at hand.
pub const RECENT: usize = 1000;

/// Whether a person who watches wants to see it: refusals, violations, and what moves or stops
/// a plan.
pub fn is_notable(kind: &EventKind) -> bool {
    match kind {
        EventKind::Attempted { verdict, .. } => verdict.verdict != VerdictKind::Allow,
        EventKind::PlanChanged { change, .. } => !matches!(change, PlanChange::Session),
        EventKind::InvariantViolated { .. }
        | EventKind::CorrectionApplied { .. }
        | EventKind::ChangeFound { .. }
        | EventKind::ChangeNotAttributed { .. }
        | EventKind::ConfigurationRead { .. }
        | EventKind::AssentChanged { .. }
        | EventKind::JudgeChecked { .. } => true,
        _ => false,
    }
}

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
    /// All invariants, removed ones too.
    pub invariants: BTreeMap<InvariantId, Arc<Keyed>>,
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
    /// The digests of the sets in force that were written out since this state was loaded.
    pub sets: HashSet<String>,
    /// Changes that can be undone.
    pub journal: Journal,
}

impl State {
    /// The state that a store holds; its last events are recalled apart.
    pub fn from_loaded(loaded: Loaded) -> Self {
        let state = Self::from_snapshot(Snapshot {
            seq: loaded.seq,
            invariants: loaded.invariants,
            plans: loaded.plans,
            projects: loaded.projects,
            actions: loaded.actions,
            sessions: loaded.sessions,
            strikes: loaded.strikes,
            violations: loaded.violations,
            assents: loaded.assents,
            journal: loaded.journal,
            ..Snapshot::default()
        });
        Self {
            judging: Judging::new(loaded.checks, loaded.judged_actions),
            unreadable: loaded.unreadable.iter().map(ToString::to_string).collect(),
            ..state
        }
    }

    /// The state that an engine sent.
    pub fn from_snapshot(snapshot: Snapshot) -> Self {
        let mut state = Self {
            seq: snapshot.seq,
            recent: snapshot.recent.into(),
            breaches: snapshot.breaches,
            plans: snapshot.plans.into_iter().map(|p| (p.id, p)).collect(),
            projects: keyed(snapshot.projects, |p| p.name.clone()),
            actions: keyed(snapshot.actions, |a| a.name.clone()),
            sessions: snapshot
                .sessions
                .into_iter()
                .map(|s| ((s.agent.clone(), s.session.clone()), s))
                .collect(),
            strikes: Strikes::new(snapshot.strikes),
            violations: keyed(snapshot.violations, |v| v.id),
            assents: keyed(snapshot.assents, |a| a.id),
            judging: Judging::new(snapshot.checks, Vec::new()),
            journal: Journal::new(snapshot.journal),
            ..Self::default()
        };
        for invariant in snapshot.invariants {
            state.put_invariant(invariant);
        }
        state
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
            journal: self.journal.entries().to_vec(),
            restores: false,
            config_fault: None,
            judge_bounds: None,
            breaches: self.breaches,
            built_in,
            recent: self.recent.iter().cloned().collect(),
        }
    }

    fn put_invariant(&mut self, invariant: Invariant) {
        let id = invariant.id;
        if let Some(old) = self.invariants.get(&id)
            && let Some(ids) = self.by_scope.get_mut(&old.invariant.scope)
        {
            ids.remove(&id);
        }
        if invariant.active {
            self.by_scope
                .entry(invariant.scope.clone())
                .or_default()
                .insert(id);
        }
        self.invariants.insert(id, Keyed::new(invariant));
    }

    /// Takes an event in, and returns the rows that a store keeps of it.
    pub fn apply(&mut self, event: &Event) -> Vec<Row> {
        self.seq = event.seq;
        self.breaches += u64::from(is_breach(&event.kind));
        if is_notable(&event.kind) {
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(event.clone());
        }
        match &event.kind {
            EventKind::InvariantAdded { invariant, journal }
            | EventKind::InvariantEdited { invariant, journal }
            | EventKind::InvariantRemoved { invariant, journal }
            | EventKind::InvariantRestored { invariant, journal } => {
                let mut rows = vec![Row::Invariant(invariant.clone())];
                if let Some(step) = journal {
                    let before = self.invariants.get(&invariant.id);
                    let before = before.map(|k| k.invariant.clone());
                    rows.extend(self.journal.take(step, before, invariant));
                }
                self.put_invariant(invariant.clone());
                rows
            }
            EventKind::ProjectBound { project } => {
                self.projects.insert(project.name.clone(), project.clone());
                vec![Row::Project(project.clone())]
            }
            EventKind::ActionAdded { action } | EventKind::ActionRemoved { action } => {
                self.actions.insert(action.name.clone(), action.clone());
                vec![Row::Action(action.clone())]
            }
            EventKind::PlanCreated { plan } => {
                self.plans.insert(plan.id, plan.clone());
                vec![Row::Plan(plan.clone())]
            }
            EventKind::PlanChanged { plan, change } => {
                self.plans.insert(plan.id, plan.clone());
                let mut rows = vec![Row::Plan(plan.clone())];
                if let PlanChange::Resumed { cleared } = change {
                    for (invariant, signature) in cleared {
                        self.strikes
                            .clear(&(plan.id, *invariant, signature.clone()));
                        rows.push(Row::StrikeCleared(plan.id, *invariant, signature.clone()));
                    }
                }
                rows
            }
            EventKind::SessionStarted { session }
            | EventKind::SessionChanged { session }
            | EventKind::SessionEnded { session } => {
                let key = (session.agent.clone(), session.session.clone());
                self.sessions.insert(key, session.clone());
                vec![Row::Session(session.clone())]
            }
            EventKind::Attempted {
                plan_id,
                attempt,
                verdict,
                agent,
                session,
            } => {
                let mut rows =
                    self.count_strikes(*plan_id, attempt.nonce.as_deref(), verdict, event);
                if verdict.lets_through() {
                    rows.extend(self.judging.acted(*plan_id, event.seq, attempt));
                }
                let key = (agent.clone(), session.clone());
                if attempt.may_write
                    && verdict.lets_through()
                    && let Some(session) = self.sessions.get_mut(&key)
                {
                    runs(session, Running::of(attempt, event.at));
                    rows.push(Row::Session(session.clone()));
                }
                rows
            }
            EventKind::ChangeFound {
                plan_id, verdict, ..
            } => self.count_strikes(*plan_id, None, verdict, event),
            EventKind::CommandEnded {
                agent,
                session,
                call,
                ..
            } => {
                let key = (agent.clone(), session.clone());
                let Some(session) = self.sessions.get_mut(&key) else {
                    return Vec::new();
                };
                let ended = |r: &Running| match call {
                    Some(_) => r.call == *call,
                    None => true,
                };
                session.running.retain(|r| r.background || !ended(r));
                vec![Row::Session(session.clone())]
            }
            EventKind::ChangeNotAttributed { .. } | EventKind::ConfigurationRead { .. } => {
                Vec::new()
            }
            EventKind::InvariantViolated { violation, .. }
            | EventKind::CorrectionApplied { violation, .. } => {
                self.violations.insert(violation.id, violation.clone());
                vec![Row::Violation(violation.clone())]
            }
            EventKind::AssentChanged { assent } => {
                self.assents.insert(assent.id, assent.clone());
                let mut rows = vec![Row::Assent(assent.clone())];
                // The person in front of the agent may let the command run at once.
                let key = (assent.agent.clone(), assent.session.clone());
                if assent.status == AssentStatus::Delegated
                    && let Some(command) = assent.command.clone()
                    && let Some(session) = self.sessions.get_mut(&key)
                    && !session
                        .running
                        .iter()
                        .any(|r| r.call.is_some() && r.call == command.call)
                {
                    runs(session, command);
                    rows.push(Row::Session(session.clone()));
                }
                rows
            }
            EventKind::JudgeChecked { check } => {
                self.judging.put(check.clone());
                vec![Row::Check(check.clone())]
            }
            EventKind::InvariantEnforced { plan_id, record } => {
                vec![Row::Enforcement(*plan_id, record.clone())]
            }
            EventKind::InvariantReconciled {
                decisions,
                set,
                in_force,
                ..
            } => {
                let row = |decision: &Decision| {
                    let set = decision.parent.is_none().then(|| set.clone()).flatten();
                    Row::Decision(Decision {
                        set,
                        ..decision.clone()
                    })
                };
                let mut rows: Vec<Row> = decisions.iter().map(row).collect();
                if let (Some(digest), Some(set)) = (set, in_force) {
                    self.sets.insert(digest.clone());
                    rows.push(Row::Set(digest.clone(), set.clone()));
                }
                rows
            }
        }
    }

    fn count_strikes(
        &mut self,
        plan_id: PlanId,
        nonce: Option<&str>,
        verdict: &Verdict,
        event: &Event,
    ) -> Vec<Row> {
        let mut rows = Vec::new();
        for breach in verdict.breaches.iter().filter(|b| b.strike > 0) {
            let key = (plan_id, breach.invariant_id, breach.signature.clone());
            let mut strike = self.strikes.get(&key).cloned().unwrap_or_else(|| Strike {
                plan_id,
                invariant_id: breach.invariant_id,
                signature: breach.signature.clone(),
                count: 0,
                limit: breach.limit,
                last_at: event.at,
                nonces: Vec::new(),
            });
            strike.count = breach.strike;
            strike.limit = breach.limit;
            strike.last_at = event.at;
            if let Some(nonce) = nonce {
                strike.nonces.push(nonce.to_owned());
                let surplus = strike.nonces.len().saturating_sub(8);
                strike.nonces.drain(..surplus);
            }
            self.strikes.put(strike.clone());
            rows.push(Row::Strike(strike));
        }
        rows
    }

    /// The active invariants attached to exactly this scope, oldest first.
    pub fn in_scope<'a>(&'a self, scope: &Scope) -> impl Iterator<Item = &'a Arc<Keyed>> + use<'a> {
        self.by_scope
            .get(scope)
            .into_iter()
            .flatten()
            .filter_map(|id| self.invariants.get(id))
    }

    /// All that applies to a plan, before the merge: global → project → action → plan. The
    /// invariants of its action get the plan's parameters.
    pub fn collect_for_plan(&self, plan: &Plan) -> Vec<Arc<Keyed>> {
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
    ) -> Vec<Arc<Keyed>> {
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
        let all = self.assents.values();
        all.filter(move |a| a.plan_id == plan && a.is_waiting())
    }

    /// The violations of a plan that still stand.
    pub fn open_violations(&self, plan: PlanId) -> impl Iterator<Item = &Violation> {
        self.violations
            .values()
            .filter(move |v| v.plan_id == plan && v.is_open())
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

/// How many commands of one session are kept in mind.
const MAX_RUNNING: usize = 64;

fn runs(session: &mut Session, command: Running) {
    session.running.push(command);
    let surplus = session.running.len().saturating_sub(MAX_RUNNING);
    session.running.drain(..surplus);
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
pub fn bound(keyed: &Arc<Keyed>, plan: &Plan) -> Arc<Keyed> {
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
    Keyed::new(invariant)
}

/// The copy of an action's invariant that `plan use` attaches to the plan.
pub fn promoted(keyed: &Arc<Keyed>, plan: &Plan, action: &ActionName) -> Invariant {
    let mut invariant = bound(keyed, plan).invariant.clone();
    invariant.scope = Scope::Plan(plan.id);
    invariant.origin = Origin::PromotedFrom(action.clone());
    invariant.revision = 1;
    invariant
}
