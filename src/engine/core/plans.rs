//! The life of plans: use, transitions, halt, resume, cancel; and the projects they work in.

use std::{collections::BTreeMap, path::Path};

use jiff::Timestamp;

use super::{
    super::{
        Block, EngineError, ErrorKind,
        requests::{PlanMade, PlanRef},
        state::promoted,
        step::{Step, Stop},
    },
    Core,
    reconcile::Survey,
};
use crate::{
    model::{
        ActionName, EventKind, InvariantId, Phase, PhaseState, Plan, PlanChange, PlanId, Project,
        ProjectName, ReconciliationResult, Scope, Transition,
    },
    rules::{glob, normalise::KeyedInvariant},
};

impl Core {
    /// Makes a plan from an action in a project, and makes it the project's current one. The
    /// action's invariants are copied into the plan, with its parameters bound; what is in force in
    /// `parent` as well.
    ///
    /// # Errors
    /// No such parent, or a parameter without a value. Nothing is recorded then.
    pub(crate) fn plan_use(
        &mut self,
        action: ActionName,
        project: ProjectName,
        params: BTreeMap<String, String>,
        parent: Option<PlanRef>,
        step: &mut Step<'_>,
    ) -> Result<PlanMade, EngineError> {
        let here = step.here();
        let parent = parent.map(|p| self.find_plan(&p, here).cloned());
        let parent = parent.transpose()?;
        let mut plan = self.new_plan(project.clone(), step.now);
        plan.action = Some(action.clone());
        plan.parent = parent.as_ref().map(|p| p.id);
        plan.params = params;
        let templates: Vec<_> = self
            .state
            .in_scope(&Scope::Action(action.clone()))
            .cloned()
            .collect();
        // All parameters are bound once before anything is recorded.
        for template in &templates {
            let patterns = template
                .invariant
                .layer
                .letter()
                .map(|c| c.patterns())
                .unwrap_or(&[]);
            for pattern in patterns {
                glob::bind(pattern, &plan.params)?;
            }
        }
        self.emit(step, EventKind::PlanCreated { plan: plan.clone() });
        for template in &templates {
            let mut invariant = promoted(template, &plan, &action);
            invariant.id = InvariantId(self.new_id(step.now));
            invariant.created_at = step.now;
            self.emit(
                step,
                EventKind::InvariantAdded {
                    invariant,
                    journal: None,
                },
            );
        }
        if let Some(parent) = parent {
            self.inherit(&parent, &plan, step);
        }
        let mut record = self.project_record(&project);
        record.current_plan = Some(plan.id);
        self.emit(step, EventKind::ProjectBound { project: record });
        Ok(PlanMade {
            plan,
            promoted: templates.len(),
        })
    }

    /// Gives a child plan what is in force in its parent and would not reach it by itself.
    fn inherit(&mut self, parent: &Plan, child: &Plan, step: &mut Step<'_>) {
        let has: Vec<_> = self
            .state
            .collect_for_plan(child)
            .iter()
            .map(|k| k.key.clone())
            .collect();
        let missing: Vec<_> = self
            .merged(parent)
            .effective
            .iter()
            .filter(|k| k.invariant.scope != Scope::Global && !has.contains(&k.key))
            .cloned()
            .collect();
        for keyed in missing {
            let mut invariant = keyed.invariant.clone();
            invariant.id = InvariantId(self.new_id(step.now));
            invariant.scope = Scope::Plan(child.id);
            invariant.revision = 1;
            self.emit(
                step,
                EventKind::InvariantAdded {
                    invariant,
                    journal: None,
                },
            );
        }
    }

    /// A plan that nothing has happened to yet.
    pub(crate) fn new_plan(&mut self, project: ProjectName, now: Timestamp) -> Plan {
        Plan {
            id: PlanId(self.new_id(now)),
            project,
            action: None,
            parent: None,
            params: BTreeMap::new(),
            phase: Phase::Action,
            state: PhaseState::Queued,
            created_at: now,
            updated_at: now,
            entered: BTreeMap::new(),
            automatic: false,
            agent: None,
            blocked: None,
            violated_ids: Vec::new(),
            fault: None,
            halt_reason: None,
            halted_by: Vec::new(),
            resume_to: None,
        }
    }

    /// What is known of a project; nothing yet, for one that no event has named.
    pub(crate) fn project_record(&self, name: &ProjectName) -> Project {
        self.state
            .projects
            .get(name)
            .cloned()
            .unwrap_or_else(|| Project {
                name: name.clone(),
                roots: Vec::new(),
                current_plan: None,
            })
    }

    /// Records a change of a plan.
    pub(crate) fn change_plan(&mut self, mut plan: Plan, change: PlanChange, step: &mut Step<'_>) {
        plan.updated_at = step.now;
        self.emit(step, EventKind::PlanChanged { plan, change });
    }

    /// A person or an orchestrator takes a plan to its next phase.
    ///
    /// # Errors
    /// What blocks; before `apply`, what is to be looked at first.
    pub(super) fn plan_transition(
        &mut self,
        plan: &PlanRef,
        transition: Transition,
        step: &mut Step<'_>,
    ) -> Result<ReconciliationResult, Stop> {
        let plan = self.find_plan(plan, step.here())?.id;
        if transition == Transition::ApplyPlan {
            let assessed = self.assess_before_apply(plan, step.facts)?;
            self.judge_before_apply(plan, step);
            for assessed in assessed {
                self.record_found(assessed, step);
            }
        }
        Ok(self.transition(plan, transition, step)?)
    }

    /// One step of the plan's life, after its reconciliation.
    ///
    /// # Errors
    /// As [`Core::enter`].
    pub(crate) fn transition(
        &mut self,
        id: PlanId,
        transition: Transition,
        step: &mut Step<'_>,
    ) -> Result<ReconciliationResult, EngineError> {
        let state = match transition.target() {
            Phase::Apply => PhaseState::Applied,
            _ => PhaseState::Processing,
        };
        self.enter(id, transition, state, step)
    }

    /// A transition after which the plan is in `state`, when its reconciliation succeeds.
    ///
    /// # Errors
    /// A phase that does not follow, a plan that is halted or over; what blocks, and then the plan
    /// is recorded as blocked.
    pub(super) fn enter(
        &mut self,
        id: PlanId,
        transition: Transition,
        state: PhaseState,
        step: &mut Step<'_>,
    ) -> Result<ReconciliationResult, EngineError> {
        let plan = self.state.plans[&id].clone();
        check_order(&plan, transition)?;
        let survey = match self.survey_for(&plan, transition, step) {
            Ok(survey) => survey,
            Err(error) => {
                let mut plan = plan;
                plan.state = PhaseState::Blocked;
                plan.blocked = Some(transition);
                plan.fault = fault_in(&error);
                self.change_plan(plan, PlanChange::Blocked { transition }, step);
                return Err(error);
            }
        };
        let (result, reasons) = self.record(&plan, Some(transition), survey, step);
        let mut plan = self.state.plans[&id].clone();
        if !result.success {
            plan.state = PhaseState::Blocked;
            plan.blocked = Some(transition);
            plan.fault = None;
            plan.violated_ids = result.violated_ids.clone();
            self.change_plan(plan, PlanChange::Blocked { transition }, step);
            return Err(EngineError::blocked(Block {
                plan_id: id,
                transition,
                violated_ids: result.violated_ids,
                reasons,
            }));
        }
        let phase = transition.target();
        plan.phase = phase;
        plan.state = state;
        plan.blocked = None;
        plan.fault = None;
        plan.violated_ids = Vec::new();
        plan.entered.insert(phase, step.now);
        self.change_plan(plan, PlanChange::Entered { phase }, step);
        Ok(result)
    }

    /// The survey for a transition.
    ///
    /// # Errors
    /// Not all invariants can be loaded, or it took too long. Neither says that an invariant is
    /// violated, and both block: what is not known to hold does not pass.
    fn survey_for(
        &mut self,
        plan: &Plan,
        transition: Transition,
        step: &Step<'_>,
    ) -> Result<Survey, EngineError> {
        let mut faults = self.state.unreadable.clone();
        faults.extend(self.file_faults(&plan.project));
        if !faults.is_empty() {
            return Err(EngineError::invariant_load(plan.id, transition, faults));
        }
        let survey = self.survey(plan, Some(transition), step.now);
        if (step.late)(self.reconcile_seconds) {
            let seconds = self.reconcile_seconds;
            return Err(EngineError::reconciliation_timeout(
                plan.id, transition, seconds,
            ));
        }
        Ok(survey)
    }

    /// Lets a halted plan go on where it was. The counts that halted it start again, and no others.
    ///
    /// # Errors
    /// No such plan, or one that is not halted.
    pub(crate) fn plan_resume(
        &mut self,
        plan: &PlanRef,
        step: &mut Step<'_>,
    ) -> Result<Plan, EngineError> {
        let mut plan = self.find_plan(plan, step.here())?.clone();
        if !plan.is_halted() {
            return Err(EngineError::invalid(format!(
                "plan {} is {} and not halted, so there is nothing to resume",
                plan.id, plan.state
            )));
        }
        plan.state = plan.resume_to.take().unwrap_or(PhaseState::Processing);
        plan.halt_reason = None;
        let cleared = std::mem::take(&mut plan.halted_by);
        self.change_plan(plan.clone(), PlanChange::Resumed { cleared }, step);
        Ok(plan)
    }

    /// Ends a plan for good.
    ///
    /// # Errors
    /// No such plan, or one that is over.
    pub(crate) fn plan_cancel(
        &mut self,
        plan: &PlanRef,
        step: &mut Step<'_>,
    ) -> Result<Plan, EngineError> {
        let mut plan = self.find_plan(plan, step.here())?.clone();
        if plan.is_over() {
            return Err(EngineError::invalid(format!(
                "plan {} is over ({}), so there is nothing to cancel",
                plan.id, plan.state
            )));
        }
        plan.state = PhaseState::Cancelled;
        self.change_plan(plan.clone(), PlanChange::Cancelled, step);
        Ok(plan)
    }

    /// Binds a directory to a project; it belongs to no other one from then on.
    ///
    /// # Errors
    /// None of its own.
    pub(crate) fn project_bind(
        &mut self,
        name: ProjectName,
        root: &Path,
        step: &mut Step<'_>,
    ) -> Result<Project, EngineError> {
        let root = root.to_owned();
        let others: Vec<Project> = self
            .state
            .projects
            .values()
            .filter(|p| p.name != name && p.roots.contains(&root))
            .cloned()
            .collect();
        for mut other in others {
            other.roots.retain(|r| *r != root);
            self.emit(step, EventKind::ProjectBound { project: other });
        }
        let mut project = self.project_record(&name);
        if !project.roots.contains(&root) {
            project.roots.push(root);
        }
        self.emit(
            step,
            EventKind::ProjectBound {
                project: project.clone(),
            },
        );
        Ok(project)
    }

    /// The first letter check that cannot be run, with its fault; `None` when all can.
    pub(crate) fn uncheckable(
        &self,
        effective: &[std::sync::Arc<KeyedInvariant>],
    ) -> Option<(InvariantId, String)> {
        effective.iter().find_map(|keyed| {
            let patterns = keyed.invariant.layer.letter()?.patterns();
            let fault = patterns
                .iter()
                .find_map(|p| glob::Glob::parse(p, Some(self.sets.home())).err())?;
            Some((keyed.invariant.id, fault.to_string()))
        })
    }
}

/// What a person has to mend before the plan can be reconciled at all.
fn fault_in(error: &EngineError) -> Option<String> {
    match &error.kind {
        ErrorKind::InvariantLoad { faults } => Some(format!(
            "not all invariants can be loaded: {}",
            faults.join("; ")
        )),
        ErrorKind::ReconciliationTimeout { seconds } => {
            Some(format!("reconciliation took longer than {seconds} s"))
        }
        _ => None,
    }
}

/// Refuses a transition out of order: phases are neither skipped nor walked back. The present phase
/// may be asked for again.
fn check_order(plan: &Plan, transition: Transition) -> Result<(), EngineError> {
    if plan.is_halted() {
        let reason = plan.halt_reason.as_deref().unwrap_or_default();
        return Err(EngineError::halted(plan.id, reason));
    }
    if plan.is_over() {
        let message = format!("plan {} is over ({})", plan.id, plan.state);
        return Err(EngineError::invalid(message).hint("make a new one with `invar plan use`"));
    }
    let next = Transition::after(plan.phase);
    if next == Some(transition) || plan.phase == transition.target() {
        return Ok(());
    }
    let hint = match next {
        Some(next) if next.target() < transition.target() => {
            format!("run `invar plan {} {}` first", next.verb(), plan.id)
        }
        _ => "a plan does not go back".to_owned(),
    };
    let message = format!(
        "plan {} is in phase {} and cannot go to {}",
        plan.id,
        plan.phase,
        transition.target()
    );
    Err(EngineError::invalid(message).hint(hint))
}
