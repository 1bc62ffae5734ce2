//! The deciding part of an engine: requests in, replies and a batch of writes out. It touches no
//! store; reads that need one are answered by the [`writer`](super::writer).

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use jiff::Timestamp;
use ulid::Ulid;

use super::{
    Call, Config, EngineError, Locations, Reply,
    config::JudgeConfig,
    ops::{
        decided::Decided,
        files::KnownFile,
        found::{Announced, SharedTrees, Untold},
        judging::UnderWay,
    },
    places::{Root, resolve},
    requests::{
        ActionAdd, ActionList, ActionRemove, Add, AgentPids, AssentAnswer, Assents,
        AssentsDelegated, Check, Edit, Effective, EffectiveOf, EffectiveSet, Enforce, Explain,
        Findings, HookCall, Import, List, Ping, PlanCancel, PlanList, PlanRef, PlanResume,
        PlanShow, PlanTransition, PlanUse, Pong, ProjectBind, ProjectList, ProjectOf, PutBack,
        Redo, Remove, Replay, Request, Resolve, Resolved, Restore, RootsOf, Show, Snapshot,
        StillWaiting, Strikes, TakeSnapshot, TreeState, TreeWatch, Undo, Unresolved, Violations,
    },
    state::{State, is_breach, project_root},
    step::{Ids, Step},
    tree::Trees,
};
use crate::{
    model::{
        Event, EventKind, Invariant, InvariantId, Layer, LetterCheck, Money, Plan, PlanId, Remedy,
        Scope, Transition, ViolationId,
    },
    rules::{
        automaton::Witness,
        findings::Finder,
        glob::GlobError,
        letter::{LetterSet, PatternEnv},
        merge::{Merged, merge},
        normalise::Keyed,
    },
};

/// The compiled effective set of one plan in one project directory.
pub(super) struct Compiled {
    pub root: Root,
    /// What each check of `set` stands for, in its order.
    pub letters: Vec<Arc<Keyed>>,
    pub set: LetterSet,
    /// A judge or a person has to see what is changed.
    pub wants_changes: bool,
    /// What a model is told of the set; nothing when it is empty.
    pub context: Option<String>,
    /// The digest of that text.
    pub digest: String,
}

impl Compiled {
    /// Checks of which no model is told.
    pub(super) fn of(root: Root, letters: Vec<Arc<Keyed>>, set: LetterSet) -> Self {
        Self {
            root,
            letters,
            set,
            wants_changes: false,
            context: None,
            digest: String::new(),
        }
    }
}

/// Why a plan's letter checks cannot be run: the invariant and its fault. Fails closed.
#[derive(Debug, Clone)]
pub(super) struct Uncheckable {
    pub invariant: InvariantId,
    pub error: GlobError,
}

impl From<Uncheckable> for EngineError {
    fn from(fault: Uncheckable) -> Self {
        Self::invalid(&fault.error).within(format!("invariant {}", fault.invariant))
    }
}

/// Decides calls on a [`State`].
pub struct Core {
    pub(super) state: State,
    pub(super) built_in: Vec<Arc<Keyed>>,
    pub(super) home: PathBuf,
    pub(super) scratch: Vec<PathBuf>,
    pub(super) remedy: Remedy,
    pub(super) reconcile_seconds: u32,
    pub(super) files: HashMap<PathBuf, KnownFile>,
    pub(super) trees: SharedTrees,
    /// The checks that each tree was told of last.
    pub(super) guarded: HashMap<PathBuf, Weak<Compiled>>,
    /// Changes that agents announced and that were let through.
    pub(super) announced: VecDeque<Announced>,
    /// What was found against plans and their agents have not been told.
    pub(super) untold: Untold,
    /// The attempts that were decided last, for those that come twice.
    pub(super) decided: Decided,
    /// How judges are asked, and what is under way.
    pub(super) judge: JudgeConfig,
    pub(super) under_way: UnderWay,
    /// Somebody watches, so that a question may be answered soon.
    pub(super) attended: bool,
    /// What is known of the sets of each project, for the next question about them.
    pub(super) finders: HashMap<PathBuf, Finder>,
    compiled: HashMap<(PlanId, PathBuf), Arc<Compiled>>,
    ids: Ids,
}

impl Core {
    /// An engine's mind over what a store holds; the random part of its ids follows from `seed`.
    pub fn new(state: State, locations: &Locations, config: &Config, seed: u64) -> Self {
        let mut scratch: Vec<PathBuf> = config.paths.scratch.clone();
        scratch.extend(config.paths.scratch.iter().map(|s| resolve(s)));
        scratch.sort();
        scratch.dedup();
        Self {
            state,
            built_in: super::builtin::invariants(locations)
                .into_iter()
                .map(Keyed::new)
                .collect(),
            home: locations.home.clone(),
            scratch,
            remedy: config.remedy.on_invariant_breach,
            reconcile_seconds: config.engine.reconcile_seconds,
            files: HashMap::new(),
            trees: Arc::new(Trees::new(locations, &config.tree)),
            guarded: HashMap::new(),
            announced: VecDeque::new(),
            untold: Untold::new(),
            decided: Decided::default(),
            judge: config.judge.clone(),
            under_way: UnderWay::default(),
            attended: false,
            finders: HashMap::new(),
            compiled: HashMap::new(),
            ids: Ids::new(seed),
        }
    }

    /// The trees of the projects at work, for the threads that walk them.
    pub(super) fn trees(&self) -> &SharedTrees {
        &self.trees
    }

    /// What it knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Takes in the last notable events.
    pub(super) fn recall(&mut self, recent: Vec<Event>) {
        let breaches = recent.iter().filter(|e| is_breach(&e.kind));
        self.state.breaches = breaches.count() as u64;
        self.state.recent = recent.into();
    }

    /// Starts again from another state, after a failed write.
    pub(super) fn reset(&mut self, state: State) {
        self.state = state;
        self.compiled.clear();
        self.files.clear();
    }

    /// Decides one request. Events go into the step's batch and are already part of the state.
    ///
    /// # Errors
    /// What the caller did wrong, or what blocks. Events in the batch count nevertheless: a
    /// blocked transition is recorded.
    pub fn handle(&mut self, call: Call, step: &mut Step<'_>) -> Result<Reply, EngineError> {
        self.sync_files(call.belongs_to().directory(), step);
        // Each arm wraps what its request is answered with; another reply does not compile.
        match call {
            Call::Ping(_) => Ok(Ping::into_reply(Pong {
                pid: std::process::id(),
            })),
            Call::TakeSnapshot(_) => Ok(TakeSnapshot::into_reply(self.snapshot())),
            Call::TreeState(r) => Ok(TreeState::into_reply(self.tree_state(&r))),
            Call::AgentPids(_) => Ok(AgentPids::into_reply(self.agent_pids())),
            Call::RootsOf(r) => {
                let plan = self.find_plan(&r.plan)?.id;
                Ok(RootsOf::into_reply(self.roots_of(plan)))
            }

            Call::Add(r) => {
                let added = self.add(r.invariant, &r.cwd, r.plan, step);
                added.map(Add::into_reply)
            }
            Call::Edit(r) => self.edit(&r.id, r.patch, step).map(Edit::into_reply),
            Call::Remove(r) => self.remove(&r.id, step).map(Remove::into_reply),
            Call::Restore(r) => self.restore(&r.id, step).map(Restore::into_reply),
            Call::Undo(_) => self.undo(step).map(Undo::into_reply),
            Call::Redo(_) => self.redo(step).map(Redo::into_reply),
            Call::Import(r) => self.import(r.items, step).map(Import::into_reply),
            Call::Show(r) => {
                let invariant = self.find_invariant(&r.id)?.invariant.clone();
                Ok(Show::into_reply(invariant))
            }
            Call::List(r) => self.list(r).map(List::into_reply),
            Call::Effective(r) => self.effective(r.of).map(Effective::into_reply),

            Call::PlanUse(r) => {
                let made = self.plan_use(r.action, r.project, r.params, r.parent, step);
                made.map(PlanUse::into_reply)
            }
            Call::PlanTransition(r) => {
                let plan = self.find_plan(&r.plan)?.id;
                if r.transition == Transition::ApplyPlan {
                    self.judge_before_apply(plan, step);
                    self.look_before_apply(plan, step);
                }
                let result = self.transition(plan, r.transition, step);
                result.map(PlanTransition::into_reply)
            }
            Call::PlanResume(r) => {
                let plan = self.plan_resume(&r.plan, step);
                plan.map(PlanResume::into_reply)
            }
            Call::PlanCancel(r) => {
                let plan = self.plan_cancel(&r.plan, step);
                plan.map(PlanCancel::into_reply)
            }
            Call::PlanShow(r) => {
                let plan = self.find_plan(&r.plan).cloned();
                plan.map(PlanShow::into_reply)
            }
            Call::PlanList(_) => {
                let plans = self.state.plans.values();
                Ok(PlanList::into_reply(plans.cloned().collect()))
            }

            Call::ProjectBind(r) => {
                let project = self.project_bind(r.name, &r.root, step);
                project.map(ProjectBind::into_reply)
            }
            Call::ProjectOf(r) => {
                let name = self.state.project_of(&project_root(&r.dir));
                Ok(ProjectOf::into_reply(self.project_record(&name)))
            }
            Call::ProjectList(_) => {
                let projects = self.state.projects.values();
                Ok(ProjectList::into_reply(projects.cloned().collect()))
            }
            Call::ActionAdd(r) => self.action_add(r.name, step).map(ActionAdd::into_reply),
            Call::ActionRemove(r) => {
                let action = self.action_remove(r.name, step);
                action.map(ActionRemove::into_reply)
            }
            Call::ActionList(_) => Ok(ActionList::into_reply(self.action_list())),

            Call::Check(r) => {
                let checked = self.check(r.of, &r.root, &r.paths);
                checked.map(Check::into_reply)
            }
            Call::Findings(r) => self.findings(r.of, &r.root).map(Findings::into_reply),
            Call::Explain(r) => {
                let explained = self.explain(r.of, &r.root, &r.cwd, &r.what);
                explained.map(Explain::into_reply)
            }
            Call::Replay(r) => {
                let breaches = self.replay(r.of, &r.root, &r.attempts);
                breaches.map(Replay::into_reply)
            }

            Call::Enforce(r) => {
                let result = self.enforce(&r.plan, &r.violated, &r.response, step);
                result.map(Enforce::into_reply)
            }
            Call::Resolve(r) => {
                let violation = self.resolve_violation(&r.violation, r.waive, step);
                violation.map(Resolve::into_reply)
            }
            Call::PutBack(r) => {
                let violation = self.put_back(&r.violation, step);
                violation.map(PutBack::into_reply)
            }
            Call::Violations(r) => {
                let plan = self.plan_id_of(r.plan.as_ref())?;
                let all = self.state.violations.values();
                let wanted = all.filter(|v| plan.is_none_or(|p| v.plan_id == p));
                Ok(Violations::into_reply(wanted.cloned().collect()))
            }
            Call::Strikes(r) => {
                let plan = self.plan_id_of(r.plan.as_ref())?;
                let all = self.state.strikes.values();
                let wanted = all.filter(|s| plan.is_none_or(|p| s.plan_id == p));
                Ok(Strikes::into_reply(wanted.cloned().collect()))
            }

            Call::Assents(r) => self.assents(r.plan).map(Assents::into_reply),
            Call::StillWaiting(r) => Ok(StillWaiting::into_reply(self.still_waiting(r.ids))),
            Call::AssentAnswer(r) => {
                let assent = self.answer_assent(&r.id, r.by, r.answer, step);
                assent.map(AssentAnswer::into_reply)
            }
            Call::AssentsDelegated(r) => {
                self.delegate_assents(&r.ids, step);
                Ok(AssentsDelegated::into_reply(()))
            }

            Call::HookCall(call) => Ok(HookCall::into_reply(self.hook(call, step))),

            Call::History(_) | Call::Decisions(_) | Call::Events(_) | Call::LogVerify(_) => Err(
                EngineError::failed(format!("{:?} is read from the store", call.name()))
                    .hint("please report it"),
            ),
        }
    }

    fn tree_state(&self, asked: &TreeState) -> TreeWatch {
        let fault = self.trees.ensure(&asked.root, Duration::ZERO).err();
        TreeWatch {
            watched: self.trees.watched(&asked.root),
            fault: fault.map(|f| f.to_string()),
        }
    }

    fn agent_pids(&self) -> Vec<u32> {
        let live = self.state.sessions.values().filter(|s| s.is_live());
        live.filter_map(|s| s.pid).collect()
    }

    /// All that a screen shows.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            restores: self.trees.restores(),
            judge_bounds: self.judge.kind.map(|_| {
                (
                    Money::of(self.judge.plan_bound),
                    Money::of(self.judge.day_bound),
                )
            }),
            ..self
                .state
                .snapshot(self.built_in.iter().map(|k| k.invariant.clone()).collect())
        }
    }

    /// Records an event: numbered, applied to the state, and put into the batch.
    pub(super) fn emit(&mut self, step: &mut Step<'_>, kind: EventKind) {
        match &kind {
            EventKind::InvariantAdded { invariant }
            | EventKind::InvariantRemoved { invariant }
            | EventKind::InvariantRestored { invariant } => self.forget(&invariant.scope.clone()),
            EventKind::InvariantEdited { invariant } => {
                let before = self.state.invariants.get(&invariant.id);
                let before = before.map(|k| k.invariant.scope.clone());
                let after = invariant.scope.clone();
                self.forget(&after);
                if let Some(before) = before.filter(|b| *b != after) {
                    self.forget(&before);
                }
            }
            _ => {}
        }
        let event = Event {
            seq: self.state.seq + 1,
            at: step.now,
            kind,
        };
        step.batch.rows.extend(self.state.apply(&event));
        step.batch.events.push(event);
    }

    /// Drops the compiled sets that an edit in `scope` touches.
    fn forget(&mut self, scope: &Scope) {
        let plans = &self.state.plans;
        self.compiled.retain(|(id, _), _| {
            plans.get(id).is_some_and(|plan| match scope {
                Scope::Global => false,
                Scope::Project(name) => plan.project != *name,
                Scope::Action(name) => plan.action.as_ref() != Some(name),
                Scope::Plan(id) => plan.id != *id,
            })
        });
    }

    /// A new id, greater than all that this engine gave before, so that ids order by age.
    pub(super) fn new_id(&mut self, now: Timestamp) -> Ulid {
        self.ids.next(now)
    }

    /// The merge for one plan.
    pub(super) fn merged(&self, plan: &Plan) -> Merged {
        merge(&self.state.collect_for_plan(plan))
    }

    /// The compiled letter checks of a plan whose agent works in `root`.
    pub(super) fn compiled(
        &mut self,
        plan: PlanId,
        root: &Path,
    ) -> Result<Arc<Compiled>, Uncheckable> {
        let key = (plan, root.to_owned());
        if let Some(found) = self.compiled.get(&key) {
            return Ok(Arc::clone(found));
        }
        let merged = self
            .state
            .plans
            .get(&plan)
            .map(|p| self.merged(p))
            .unwrap_or_default();
        let root = Root::new(root);
        let (letters, set) =
            self.letter_set(self.built_in.iter().chain(&merged.effective), &root)?;
        let effective: Vec<_> = merged.effective.iter().map(|k| &k.invariant).collect();
        let context = super::message::context(plan, &effective);
        let digest = super::message::digest(&effective);
        let looked_at =
            |i: &&Invariant| matches!(i.layer, Layer::Judgment { .. } | Layer::Assent { .. });
        let compiled = Arc::new(Compiled {
            wants_changes: effective.iter().any(looked_at),
            context,
            digest,
            ..Compiled::of(root, letters, set)
        });
        self.compiled.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }

    /// Compiles the letter checks among `invariants` for a project directory; the first part
    /// says what each stands for.
    pub(super) fn letter_set<'a>(
        &self,
        invariants: impl Iterator<Item = &'a Arc<Keyed>>,
        root: &Root,
    ) -> Result<(Vec<Arc<Keyed>>, LetterSet), Uncheckable> {
        // What needs assent is found like what is untouched, pattern by pattern.
        let mut letters: Vec<Arc<Keyed>> = Vec::new();
        let mut checks: Vec<LetterCheck> = Vec::new();
        for keyed in invariants {
            match &keyed.invariant.layer {
                Layer::Letter(check) => checks.push(check.clone()),
                Layer::Assent { when } if when.is_empty() => {
                    checks.push(LetterCheck::Untouched("**".into()));
                }
                Layer::Assent { when } => {
                    checks.extend(when.iter().cloned().map(LetterCheck::Untouched));
                }
                Layer::Plain | Layer::Judgment { .. } => {}
            }
            letters.resize(checks.len(), Arc::clone(keyed));
        }
        let env = PatternEnv {
            home: Some(&self.home),
            fold_case: root.fold_case,
        };
        let set = LetterSet::compile(&checks, env).map_err(|(index, error)| Uncheckable {
            invariant: letters[index].invariant.id,
            error,
        })?;
        Ok((letters, set))
    }

    fn effective(&self, of: EffectiveOf) -> Result<EffectiveSet, EngineError> {
        let (plan_id, merged) = self.merged_for(of)?;
        let resolved = |s: &crate::rules::merge::Shadow| Resolved {
            overridden: s.loser.invariant.clone(),
            by: s.winner.invariant.clone(),
            rationale: s.rationale.clone(),
            contradiction: s.contradiction.clone(),
        };
        let find = |id| {
            let mut all = merged.effective.iter();
            all.find(|k| k.invariant.id == id)
                .map(|k| k.invariant.clone())
        };
        let unresolved = |c: &crate::rules::conflict::Contradiction| {
            let mut others: Vec<Invariant> = c.stronger.iter().filter_map(|id| find(*id)).collect();
            let shown = |w: &Witness| w.0.clone();
            Some(Unresolved {
                stronger: (!others.is_empty()).then(|| others.remove(0))?,
                others,
                weaker: find(c.weaker)?,
                proof: c.proof.clone(),
                witnesses: c.witnesses.as_ref().map(|(a, b)| (shown(a), shown(b))),
            })
        };
        let plain = |k: &Arc<Keyed>| k.invariant.clone();
        Ok(EffectiveSet {
            plan_id,
            invariants: merged.effective.iter().map(plain).collect(),
            conflicts_resolved: merged.shadowed.iter().map(resolved).collect(),
            conflicts_unresolved: merged.unresolved.iter().filter_map(unresolved).collect(),
            built_in: self.built_in.iter().map(plain).collect(),
        })
    }

    /// The merge for a plan, or the preview for a scope.
    pub(super) fn merged_for(
        &self,
        of: EffectiveOf,
    ) -> Result<(Option<PlanId>, Merged), EngineError> {
        let (plan_id, collected) = match of {
            EffectiveOf::Global => (None, self.state.collect(None, None)),
            EffectiveOf::Project(name) => (None, self.state.collect(Some(&name), None)),
            EffectiveOf::Action(name) => (None, self.state.collect(None, Some(&name))),
            EffectiveOf::Plan(plan) => {
                let plan = self.find_plan(&plan)?;
                (Some(plan.id), self.state.collect_for_plan(plan))
            }
        };
        Ok((plan_id, merge(&collected)))
    }

    fn list(&self, asked: List) -> Result<Vec<Invariant>, EngineError> {
        let scope = match asked.plan {
            Some(plan) => Some(Scope::Plan(self.find_plan(&plan)?.id)),
            None => asked.scope,
        };
        let wanted = |i: &Invariant| {
            (i.active || asked.removed) && scope.as_ref().is_none_or(|scope| i.scope == *scope)
        };
        let all = self.state.invariants.values().map(|k| &k.invariant);
        Ok(all.filter(|i| wanted(i)).cloned().collect())
    }

    /// The plan that a request is about, when it is about one.
    fn plan_id_of(&self, reference: Option<&PlanRef>) -> Result<Option<PlanId>, EngineError> {
        reference
            .map(|plan| self.find_plan(plan).map(|p| p.id))
            .transpose()
    }

    /// The plan that a person names.
    ///
    /// # Errors
    /// No plan, or several.
    pub fn find_plan(&self, reference: &PlanRef) -> Result<&Plan, EngineError> {
        if reference.text == "@" {
            let project = self.state.project_of(&project_root(&reference.cwd));
            return self.state.current_plan(&project).ok_or_else(|| {
                EngineError::not_found("a current plan of project", &project.to_string())
                    .hint("make one with `invar plan use ACTION --project NAME`")
            });
        }
        let id = unique(
            "plan",
            &reference.text,
            self.state.plans.keys(),
            "see `invar plan list`",
        )?;
        Ok(&self.state.plans[&id])
    }

    /// The invariant that a person names by its id or a unique prefix.
    ///
    /// # Errors
    /// No invariant, or several.
    pub fn find_invariant(&self, text: &str) -> Result<&Arc<Keyed>, EngineError> {
        let ids = self.state.invariants.keys();
        match unique("invariant", text, ids, "see `invar list --all`") {
            Ok(id) => Ok(&self.state.invariants[&id]),
            Err(error) => self
                .built_in
                .iter()
                .find(|k| k.invariant.id.to_string().eq_ignore_ascii_case(text))
                .ok_or(error),
        }
    }

    /// The violation that a person names by its id or a unique prefix.
    pub(super) fn find_violation(&self, text: &str) -> Result<ViolationId, EngineError> {
        unique(
            "violation",
            text,
            self.state.violations.keys(),
            "see `invar violations`",
        )
    }
}

/// The shortest prefix that may stand for an id.
const MIN_PREFIX: usize = 4;

pub(super) fn unique<'a, T: std::fmt::Display + Copy + 'a>(
    what: &str,
    text: &str,
    ids: impl Iterator<Item = &'a T>,
    hint: &str,
) -> Result<T, EngineError> {
    let wanted = text.trim().to_ascii_uppercase();
    let found: Vec<T> = ids
        .filter(|id| wanted.len() >= MIN_PREFIX && id.to_string().starts_with(&wanted))
        .copied()
        .collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => {
            let mut error = EngineError::not_found(what, text);
            if wanted.len() < MIN_PREFIX {
                error = error.hint(format!("give at least {MIN_PREFIX} characters of the id"));
            }
            Err(error.hint(hint))
        }
        several => {
            let candidates = several.iter().take(4).map(ToString::to_string).collect();
            Err(EngineError::not_unique(what, text, candidates))
        }
    }
}
