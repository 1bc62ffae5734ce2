//! The deciding part of an engine, and pure: a state and what is known of a call go in, events
//! come out. It reads no disk, no clock and no store; a decision that lacks a fact says which
//! ([`Stop::Needs`](super::step::Stop)), and is made again with it. `tests/it/layering.rs` holds it
//! to that.
//!
//! So every decision has two halves: first what it lacks is asked for, then it is recorded. Once
//! [`Core::emit`] was called, nothing may be lacking any more: the state would hold half of a call
//! that is then decided a second time.

mod actions;
mod assent;
mod attempts;
mod check;
mod decided;
mod dispatch;
mod explain;
mod files;
mod findings;
mod found;
mod invariants;
mod journal;
mod judging;
mod plans;
pub(crate) mod reach;
mod reconcile;
mod sessions;
pub(crate) mod sets;
mod transfer;
mod violations;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use ulid::Ulid;

use self::{
    decided::Decided,
    files::KnownFiles,
    found::{Announced, Unreported},
    judging::UnderWay,
    sets::{Compiled, Sets, Uncheckable},
};
use super::{
    Config, EngineError, Locations,
    config::JudgeConfig,
    located::Root,
    requests::{EffectiveOf, EffectiveSet, List, PlanRef, Resolved, Snapshot, Unresolved},
    state::{State, is_breach},
    step::{Ids, Step},
};
use crate::{
    model::{
        Event, EventKind, Invariant, JudgeCheck, Money, Plan, PlanId, ProjectName, Remedy, Scope,
        ViolationId,
    },
    rules::{
        automaton::Witness,
        findings::Finder,
        merge::{Merged, merge},
        normalise::KeyedInvariant,
    },
    store::Past,
};

/// Decides calls on a [`State`].
pub struct Core {
    pub(crate) state: State,
    sets: Sets,
    remedy: Remedy,
    reconcile_seconds: u32,
    /// Files that were found changed are put back.
    restores: bool,
    /// Why the configuration as it stands now cannot be used.
    config_fault: Option<String>,
    /// What the project files said when they were read last.
    files: KnownFiles,
    // What follows is kept in memory only, and lost when the engine ends. Everything that was
    // decided is in the state.
    announced: Announced,
    unreported: Unreported,
    /// The attempts that were decided last, for those that come twice.
    decided: Decided,
    /// How judges are asked, and what is under way.
    judge: JudgeConfig,
    under_way: UnderWay,
    /// Somebody watches, so that a question may be answered soon.
    attended: bool,
    /// What is known of the sets of each project, for the next question about them.
    finders: HashMap<PathBuf, Finder>,
    ids: Ids,
}

impl Core {
    /// An engine's mind over what a store holds; the random part of its ids follows from `seed`.
    pub fn new(state: State, locations: &Locations, config: &Config, seed: u64) -> Self {
        let built_in = super::builtin::invariants(locations).into_iter();
        Self {
            state,
            sets: Sets::new(built_in.map(KeyedInvariant::new).collect(), &locations.home),
            remedy: config.remedy.on_invariant_breach,
            reconcile_seconds: config.engine.reconcile_seconds,
            restores: config.tree.restore,
            config_fault: None,
            files: KnownFiles::default(),
            announced: Announced::default(),
            unreported: Unreported::new(),
            decided: Decided::default(),
            judge: config.judge.clone(),
            under_way: UnderWay::default(),
            attended: false,
            finders: HashMap::new(),
            ids: Ids::new(seed),
        }
    }

    /// The sets that are kept, for tests of how long.
    #[cfg(test)]
    pub(crate) fn sets(&self) -> &Sets {
        &self.sets
    }

    /// Uses another configuration from now on. One that could not be read is recorded with its
    /// fault, and the last good one stays in force.
    pub(crate) fn configure(&mut self, config: Result<Box<Config>, String>, step: &mut Step<'_>) {
        self.config_fault = config.as_ref().err().cloned();
        if let Ok(config) = config {
            self.remedy = config.remedy.on_invariant_breach;
            self.reconcile_seconds = config.engine.reconcile_seconds;
            self.restores = config.tree.restore;
            self.judge = config.judge;
        }
        let fault = self.config_fault.clone();
        self.emit(step, EventKind::ConfigurationRead { fault });
    }

    /// How judges are asked.
    pub(crate) fn judge(&self) -> &JudgeConfig {
        &self.judge
    }

    /// Sets whether somebody watches: a hook then waits for the answer to a question.
    pub(crate) fn attend(&mut self, attended: bool) {
        self.attended = attended;
    }

    /// The state that decisions are made on.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Takes in the last notable events and checks, oldest first, for the snapshots that screens get.
    pub(crate) fn recall(&mut self, recent: Vec<Event>, checks: Vec<JudgeCheck>) {
        self.state.judging.recall(checks);
        let breaches = recent.iter().filter(|e| is_breach(&e.kind));
        self.state.breaches = breaches.count() as u64;
        self.state.recent = recent.into();
    }

    /// Sets how many breaches there were since the engine started.
    pub(crate) fn count_breaches(&mut self, breaches: u64) {
        self.state.breaches = breaches;
    }

    /// What a judge answered could not be taken in: what it was about is due again.
    pub(crate) fn give_up(&mut self, check: &JudgeCheck) {
        self.under_way.give_up(check);
    }

    /// Starts again from another state, after a failed write. What was concluded from events
    /// that did not last goes as well.
    pub(crate) fn reset(&mut self, state: State) {
        self.state = state;
        self.sets.clear();
        self.files = KnownFiles::default();
        self.finders.clear();
        self.decided = Decided::default();
        self.announced = Announced::default();
        self.unreported.clear();
        self.under_way.drop_jobs();
    }

    /// All that a screen shows: the whole state, with what the configuration adds to it.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            restores: self.restores,
            config_fault: self.config_fault.clone(),
            judge_bounds: self.judge.kind.map(|_| {
                (
                    Money::of(self.judge.plan_bound),
                    Money::of(self.judge.day_bound),
                )
            }),
            ..self.state.snapshot(self.built_in().cloned().collect())
        }
    }

    /// Records an event: numbered, applied to the state, and put into the batch. It counts for
    /// what is decided next in the same call, before it is durable; when the commit fails the
    /// writer calls [`Core::reset`].
    fn emit(&mut self, step: &mut Step<'_>, kind: EventKind) {
        // Before it is applied: an edit that moves an invariant touches the sets of both scopes,
        // and the old one is known only until then.
        match &kind {
            EventKind::InvariantAdded { invariant, .. }
            | EventKind::InvariantRemoved { invariant, .. }
            | EventKind::InvariantRestored { invariant, .. } => {
                self.forget(&invariant.scope.clone())
            }
            EventKind::InvariantEdited { invariant, .. } => {
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
        self.drop_gone();
    }

    /// Has records of plans that are over at hand, for one call.
    pub(crate) fn visit(&mut self, past: Past) {
        self.state.visit(past);
    }

    /// Lets go of what visited.
    pub(crate) fn let_go(&mut self) {
        self.state.let_go();
        self.drop_gone();
    }

    /// Drops what is kept about plans that are over.
    fn drop_gone(&mut self) {
        for plan in self.state.take_gone() {
            self.sets.drop_plan(plan);
            self.unreported.remove(&plan);
            self.under_way.drop_plan(plan);
        }
    }

    /// Drops the compiled sets that an edit in `scope` touches.
    fn forget(&mut self, scope: &Scope) {
        let plans = &self.state.plans;
        self.sets.forget(scope, |id| plans.get(id));
    }

    /// A new id, greater than all that this engine gave before, so that ids order by age.
    fn new_id(&mut self, now: Timestamp) -> Ulid {
        self.ids.next(now)
    }

    /// invar's own invariants.
    fn built_in(&self) -> impl Iterator<Item = &Invariant> {
        self.sets.built_in().iter().map(|k| &k.invariant)
    }

    /// The merge for one plan.
    fn merged(&mut self, plan: &Plan) -> Arc<Merged> {
        let state = &self.state;
        self.sets.merged(plan.id, || state.collect_for_plan(plan))
    }

    /// The compiled letter checks of a plan whose agent works in `root`.
    ///
    /// # Errors
    /// [`Uncheckable`], when a pattern does not compile.
    fn compiled(&mut self, plan: PlanId, root: &Root) -> Result<Arc<Compiled>, Uncheckable> {
        let state = &self.state;
        let collected = || {
            let plan = state.plans.get(&plan);
            plan.map_or_else(Vec::new, |p| state.collect_for_plan(p))
        };
        self.sets.of_plan(plan, root, collected)
    }

    /// The compiled letter checks that a plan will have which is made in `project` just now.
    ///
    /// # Errors
    /// [`Uncheckable`], when a pattern does not compile.
    fn compiled_for_new(
        &mut self,
        project: &ProjectName,
        root: &Root,
    ) -> Result<Arc<Compiled>, Uncheckable> {
        let merged = merge(&self.state.collect(Some(project), None));
        self.sets.compile(&merged.effective, root)
    }

    /// The effective set of a plan or the preview of a scope, with what was displaced and what
    /// contradicts. `here` is the project directory that the call comes from.
    ///
    /// # Errors
    /// No such plan, or several.
    fn effective(&self, of: EffectiveOf, here: &Path) -> Result<EffectiveSet, EngineError> {
        let (plan_id, merged) = self.merged_for(of, here)?;
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
        let plain = |k: &Arc<KeyedInvariant>| k.invariant.clone();
        Ok(EffectiveSet {
            plan_id,
            invariants: merged.effective.iter().map(plain).collect(),
            conflicts_resolved: merged.shadowed.iter().map(resolved).collect(),
            conflicts_unresolved: merged.unresolved.iter().filter_map(unresolved).collect(),
            built_in: self.built_in().cloned().collect(),
        })
    }

    /// The merge for a plan, or the preview for a scope. Made anew, unlike [`Core::merged`]: people
    /// ask for it, and seldom.
    ///
    /// # Errors
    /// No such plan, or several.
    fn merged_for(
        &self,
        of: EffectiveOf,
        here: &Path,
    ) -> Result<(Option<PlanId>, Merged), EngineError> {
        let (plan_id, collected) = match of {
            EffectiveOf::Global => (None, self.state.collect(None, None)),
            EffectiveOf::Project(name) => (None, self.state.collect(Some(&name), None)),
            EffectiveOf::Action(name) => (None, self.state.collect(None, Some(&name))),
            EffectiveOf::Plan(plan) => {
                let plan = self.find_plan(&plan, here)?;
                (Some(plan.id), self.state.collect_for_plan(plan))
            }
        };
        Ok((plan_id, merge(&collected)))
    }

    /// The invariants of a scope, a plan or all, by age; those that were removed only when asked.
    ///
    /// # Errors
    /// No such plan, or several.
    pub(super) fn list(&self, asked: List, here: &Path) -> Result<Vec<Invariant>, EngineError> {
        let scope = match asked.plan {
            Some(plan) => Some(Scope::Plan(self.find_plan(&plan, here)?.id)),
            None => asked.scope,
        };
        let wanted = |i: &Invariant| {
            (i.active || asked.removed) && scope.as_ref().is_none_or(|scope| i.scope == *scope)
        };
        let all = self.state.invariants.values().map(|k| &k.invariant);
        Ok(all.filter(|i| wanted(i)).cloned().collect())
    }

    /// The plan that a request is about, when it is about one.
    fn plan_id_of(
        &self,
        reference: Option<&PlanRef>,
        here: &Path,
    ) -> Result<Option<PlanId>, EngineError> {
        reference
            .map(|plan| self.find_plan(plan, here).map(|p| p.id))
            .transpose()
    }

    /// The plan that a person names; `here` is the project directory that the call comes from,
    /// whose current plan `@` means.
    ///
    /// # Errors
    /// No plan, or several.
    pub fn find_plan(&self, reference: &PlanRef, here: &Path) -> Result<&Plan, EngineError> {
        if reference.text == "@" {
            let project = self.state.project_of(here);
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
    pub fn find_invariant(&self, text: &str) -> Result<&Arc<KeyedInvariant>, EngineError> {
        let ids = self.state.invariants.keys();
        match unique("invariant", text, ids, "see `invar list --all`") {
            Ok(id) => Ok(&self.state.invariants[&id]),
            Err(error) => self
                .sets
                .built_in()
                .iter()
                .find(|k| k.invariant.id.to_string().eq_ignore_ascii_case(text))
                .ok_or(error),
        }
    }

    /// The violation that a person names by its id or a unique prefix.
    fn find_violation(&self, text: &str) -> Result<ViolationId, EngineError> {
        unique(
            "violation",
            text,
            self.state.violations.keys(),
            "see `invar violations`",
        )
    }
}

/// The shortest prefix that may stand for an id; a slip of the finger should match none.
pub(super) const MIN_PREFIX: usize = 4;

/// The one id that begins with `text`, in either case. `what` and `hint` are for the error.
///
/// # Errors
/// No such id, or several.
fn unique<'a, T: std::fmt::Display + Copy + 'a>(
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
