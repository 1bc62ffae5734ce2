//! The deciding part of an engine: calls in, replies and a batch of writes out. It touches no
//! store; reads that need one are answered by the [`writer`](super::writer).

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
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
    protocol::{EffectiveOf, EffectiveSet, PlanRef, Resolved, Unresolved},
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
        Self::Invalid(format!("invariant {}: {}", fault.invariant, fault.error))
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

    /// Says how many breaches there were since the engine started.
    pub(super) fn count_breaches(&mut self, breaches: u64) {
        self.state.breaches = breaches;
    }

    /// Starts again from another state, after a failed write. What was concluded from events
    /// that did not last goes as well.
    pub(super) fn reset(&mut self, state: State) {
        self.state = state;
        self.compiled.clear();
        self.files.clear();
        self.finders.clear();
        self.decided = Decided::default();
        self.announced.clear();
        self.untold.clear();
        self.under_way.drop_jobs();
    }

    /// Decides one call. Events go into `out` and are already part of the state.
    ///
    /// # Errors
    /// What the caller did wrong, or what blocks. Events in `out` count nevertheless: a blocked
    /// transition is recorded.
    pub fn handle(&mut self, call: Call, step: &mut Step<'_>) -> Result<Reply, EngineError> {
        self.sync_files(call.directory(), step);
        match call {
            Call::Ping => Ok(Reply::Pong {
                pid: std::process::id(),
            }),
            Call::Snapshot => Ok(Reply::Snapshot(Box::new(self.snapshot()))),
            Call::Add {
                invariant,
                cwd,
                plan,
            } => self.add(invariant, &cwd, plan, step),
            Call::Edit { id, patch } => self.edit(&id, patch, step),
            Call::Remove { id } => self.remove(&id, step),
            Call::Restore { id } => self.restore(&id, step),
            Call::Undo => self.undo(step),
            Call::Redo => self.redo(step),
            Call::Show { id } => {
                let invariant = self.find_invariant(&id)?.invariant.clone();
                Ok(Reply::Invariant(Box::new(invariant)))
            }
            Call::List {
                scope,
                plan,
                removed,
            } => self.list(scope, plan, removed),
            Call::Effective { of } => Ok(Reply::Effective(Box::new(self.effective(of)?))),
            Call::PlanUse {
                action,
                project,
                params,
                parent,
            } => self.plan_use(action, project, params, parent, step),
            Call::PlanTransition { plan, transition } => {
                let plan = self.find_plan(&plan)?.id;
                if transition == Transition::ApplyPlan {
                    self.judge_before_apply(plan, step);
                    self.look_before_apply(plan, step);
                }
                let result = self.transition(plan, transition, step)?;
                Ok(Reply::Reconciled(Box::new(result)))
            }
            Call::PlanResume { plan } => self.plan_resume(&plan, step),
            Call::PlanCancel { plan } => self.plan_cancel(&plan, step),
            Call::PlanShow { plan } => Ok(Reply::Plan(Box::new(self.find_plan(&plan)?.clone()))),
            Call::PlanList => Ok(Reply::Plans(self.state.plans.values().cloned().collect())),
            Call::ProjectBind { name, root } => self.project_bind(name, &root, step),
            Call::ProjectList => Ok(Reply::Projects(
                self.state.projects.values().cloned().collect(),
            )),
            Call::ProjectOf { dir } => {
                let name = self.state.project_of(&project_root(&dir));
                Ok(Reply::Project(self.project_record(&name)))
            }
            Call::ActionAdd { name } => self.action_add(name, step),
            Call::ActionRemove { name } => self.action_remove(name, step),
            Call::ActionList => Ok(Reply::Actions(self.action_list())),
            Call::Import { items } => self.import(items, step),
            Call::Explain {
                of,
                root,
                cwd,
                what,
            } => self.explain(of, &root, &cwd, &what),
            Call::Replay { of, root, attempts } => self.replay(of, &root, &attempts),
            Call::Findings { of, root } => self.findings(of, &root),
            Call::Check { of, root, paths } => self.check(of, &root, &paths),
            Call::Enforce {
                plan,
                violated,
                response,
            } => self.enforce(&plan, &violated, &response, step),
            Call::Resolve { violation, waive } => self.resolve_violation(&violation, waive, step),
            Call::PutBack { violation } => self.put_back(&violation, step),
            Call::Assents { plan } => self.assents(plan),
            Call::AssentAnswer { id, by, answer } => self.answer_assent(&id, by, answer, step),
            Call::AssentsDelegated { ids } => Ok(self.delegate_assents(&ids, step)),
            Call::Violations { plan } => {
                let plan = plan.map(|p| self.find_plan(&p).map(|p| p.id)).transpose()?;
                let all = self.state.violations.values();
                let wanted = all.filter(|v| plan.is_none_or(|p| v.plan_id == p));
                Ok(Reply::Violations(wanted.cloned().collect()))
            }
            Call::Strikes { plan } => {
                let plan = plan.map(|p| self.find_plan(&p).map(|p| p.id)).transpose()?;
                let all = self.state.strikes.values();
                let wanted = all.filter(|s| plan.is_none_or(|p| s.plan_id == p));
                Ok(Reply::Strikes(wanted.cloned().collect()))
            }
            Call::Hook(call) => Ok(Reply::Hook(Box::new(self.hook(call, step)))),
            Call::TreeState { root } => {
                let fault = self.trees.ensure(&root, std::time::Duration::ZERO).err();
                Ok(Reply::Tree {
                    watched: self.trees.watched(&root),
                    fault: fault.map(|f| f.to_string()),
                })
            }
            Call::AgentPids => {
                let live = self.state.sessions.values().filter(|s| s.is_live());
                Ok(Reply::Pids(live.filter_map(|s| s.pid).collect()))
            }
            Call::RootsOf { plan } => {
                let plan = self.find_plan(&plan)?.id;
                Ok(Reply::Roots(self.roots_of(plan)))
            }
            Call::History { .. }
            | Call::Decisions { .. }
            | Call::Events { .. }
            | Call::LogVerify => Err(EngineError::Failed(
                "this read belongs to the store; please report it".into(),
            )),
        }
    }

    /// All that a screen shows.
    pub fn snapshot(&self) -> super::protocol::Snapshot {
        super::protocol::Snapshot {
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

    fn list(
        &self,
        scope: Option<Scope>,
        plan: Option<PlanRef>,
        removed: bool,
    ) -> Result<Reply, EngineError> {
        let scope = match plan {
            Some(plan) => Some(Scope::Plan(self.find_plan(&plan)?.id)),
            None => scope,
        };
        let wanted = |i: &Invariant| {
            (i.active || removed) && scope.as_ref().is_none_or(|scope| i.scope == *scope)
        };
        let all = self.state.invariants.values().map(|k| &k.invariant);
        Ok(Reply::Invariants(
            all.filter(|i| wanted(i)).cloned().collect(),
        ))
    }

    /// The plan that a person names.
    ///
    /// # Errors
    /// No plan, or several.
    pub fn find_plan(&self, reference: &PlanRef) -> Result<&Plan, EngineError> {
        if reference.text == "@" {
            let project = self.state.project_of(&project_root(&reference.cwd));
            return self
                .state
                .current_plan(&project)
                .ok_or_else(|| EngineError::NotFound {
                    what: "a current plan of project".into(),
                    name: project.to_string(),
                    hint: "make one with `invar plan use ACTION --project NAME`".into(),
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
        [] => Err(EngineError::NotFound {
            what: what.into(),
            name: text.into(),
            hint: match wanted.len() < MIN_PREFIX {
                true => format!("give at least {MIN_PREFIX} characters of the id; {hint}"),
                false => hint.into(),
            },
        }),
        several => Err(EngineError::NotUnique {
            what: what.into(),
            name: text.into(),
            candidates: several.iter().take(4).map(ToString::to_string).collect(),
        }),
    }
}
