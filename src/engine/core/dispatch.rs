//! One arm for each request.

use super::{
    super::{
        Call, EngineError, Reply,
        requests::{
            ActionAdd, ActionList, ActionRemove, Add, AgentPids, AssentAnswer, Assents,
            AssentsDelegated, Check, Edit, Effective, Enforce, Explain, Findings, HookCall, Import,
            List, PlanCancel, PlanList, PlanResume, PlanShow, PlanTransition, PlanUse, ProjectBind,
            ProjectList, ProjectOf, PutBack, Redo, Remove, Replay, Request, Resolve, Restore, Show,
            StillWaiting, Strikes, TakeSnapshot, TreeState, Undo, Violations,
        },
        step::{Step, Stop},
    },
    Core,
};

impl Core {
    /// Decides one request. Events go into the step's batch and are already part of the state.
    ///
    /// # Errors
    /// What the caller did wrong, or what blocks; events in the batch count nevertheless, since a
    /// blocked transition is recorded. [`Stop::Needs`] for a fact that is missing; nothing has
    /// changed then.
    pub fn handle(&mut self, call: Call, step: &mut Step<'_>) -> Result<Reply, Stop> {
        let here = step.here();
        // Each arm wraps what its request is answered with; another reply does not compile.
        match call {
            Call::TakeSnapshot(_) => Ok(TakeSnapshot::into_reply(self.snapshot())),
            Call::TreeState(_) => Ok(TreeState::into_reply(step.facts.tree.clone())),
            Call::AgentPids(_) => Ok(AgentPids::into_reply(self.agent_pids())),

            Call::Add(r) => {
                let added = self.add(r.invariant, r.plan, step);
                Ok(Add::into_reply(added?))
            }
            Call::Edit(r) => Ok(Edit::into_reply(self.edit(&r.id, r.patch, step)?)),
            Call::Remove(r) => Ok(Remove::into_reply(self.remove(&r.id, step)?)),
            Call::Restore(r) => Ok(Restore::into_reply(self.restore(&r.id, step)?)),
            Call::Undo(r) => Ok(Undo::into_reply(self.undo(&r, step)?)),
            Call::Redo(r) => Ok(Redo::into_reply(self.redo(&r, step)?)),
            Call::Import(r) => Ok(Import::into_reply(self.import(r.items, step)?)),
            Call::Show(r) => {
                let invariant = self.find_invariant(&r.id)?.invariant.clone();
                Ok(Show::into_reply(invariant))
            }
            Call::List(r) => Ok(List::into_reply(self.list(r, here)?)),
            Call::Effective(r) => Ok(Effective::into_reply(self.effective(r.of, here)?)),

            Call::PlanUse(r) => {
                let made = self.plan_use(r.action, r.project, r.params, r.parent, step);
                Ok(PlanUse::into_reply(made?))
            }
            Call::PlanTransition(r) => {
                let result = self.plan_transition(&r.plan, r.transition, step)?;
                Ok(PlanTransition::into_reply(result))
            }
            Call::PlanResume(r) => {
                let plan = self.plan_resume(&r.plan, step);
                Ok(PlanResume::into_reply(plan?))
            }
            Call::PlanCancel(r) => {
                let plan = self.plan_cancel(&r.plan, step);
                Ok(PlanCancel::into_reply(plan?))
            }
            Call::PlanShow(r) => {
                let plan = self.find_plan(&r.plan, here).cloned();
                Ok(PlanShow::into_reply(plan?))
            }
            Call::PlanList(_) => {
                let plans = self.state.plans.values();
                Ok(PlanList::into_reply(plans.cloned().collect()))
            }

            Call::ProjectBind(r) => {
                let project = self.project_bind(r.name, here, step);
                Ok(ProjectBind::into_reply(project?))
            }
            Call::ProjectOf(_) => {
                let name = self.state.project_of(here);
                Ok(ProjectOf::into_reply(self.project_record(&name)))
            }
            Call::ProjectList(_) => {
                let projects = self.state.projects.values();
                Ok(ProjectList::into_reply(projects.cloned().collect()))
            }
            Call::ActionAdd(r) => Ok(ActionAdd::into_reply(self.action_add(r.name, step)?)),
            Call::ActionRemove(r) => {
                let action = self.action_remove(r.name, step);
                Ok(ActionRemove::into_reply(action?))
            }
            Call::ActionList(_) => Ok(ActionList::into_reply(self.action_list())),

            Call::Check(r) => {
                let checked = self.check(r.of, &r.paths, step.facts);
                Ok(Check::into_reply(checked?))
            }
            Call::Findings(r) => Ok(Findings::into_reply(self.findings(r.of, step.facts)?)),
            Call::Explain(r) => {
                let explained = self.explain(r.of, &r.what, step.facts);
                Ok(Explain::into_reply(explained?))
            }
            Call::Replay(r) => {
                let breaches = self.replay(r.of, &r.attempts, step.facts);
                Ok(Replay::into_reply(breaches?))
            }

            Call::Enforce(r) => {
                let result = self.enforce(&r.plan, &r.violated, &r.response, step);
                Ok(Enforce::into_reply(result?))
            }
            Call::Resolve(r) => {
                let violation = self.resolve_violation(&r.violation, r.waive, step);
                Ok(Resolve::into_reply(violation?))
            }
            Call::PutBack(r) => {
                let violation = self.put_back(&r.violation, step);
                Ok(PutBack::into_reply(violation?))
            }
            Call::Violations(r) => {
                let plan = self.plan_id_of(r.plan.as_ref(), here)?;
                let all = self.state.violations.values();
                let wanted = all.filter(|v| plan.is_none_or(|p| v.plan_id == p));
                Ok(Violations::into_reply(wanted.cloned().collect()))
            }
            Call::Strikes(r) => {
                let plan = self.plan_id_of(r.plan.as_ref(), here)?;
                let all = self.state.strikes.values();
                let wanted = all.filter(|s| plan.is_none_or(|p| s.plan_id == p));
                Ok(Strikes::into_reply(wanted.cloned().collect()))
            }

            Call::Assents(r) => Ok(Assents::into_reply(self.assents(r.plan, here)?)),
            Call::StillWaiting(r) => Ok(StillWaiting::into_reply(self.still_waiting(r.ids))),
            Call::AssentAnswer(r) => {
                let assent = self.answer_assent(&r.id, r.by, r.answer, step);
                Ok(AssentAnswer::into_reply(assent?))
            }
            Call::AssentsDelegated(r) => {
                self.delegate_assents(&r.ids, step);
                Ok(AssentsDelegated::into_reply(()))
            }

            Call::HookCall(call) => Ok(HookCall::into_reply(self.hook(call, step)?)),

            Call::Ping(_)
            | Call::History(_)
            | Call::Decisions(_)
            | Call::Events(_)
            | Call::LogVerify(_)
            | Call::MeasureStore(_) => {
                let what = call.name();
                let message = format!("{what:?} is not decided by the engine's core");
                Err(EngineError::failed(message).hint("please report it").into())
            }
        }
    }

    fn agent_pids(&self) -> Vec<u32> {
        let live = self.state.sessions.values().filter(|s| s.is_live());
        live.filter_map(|s| s.pid).collect()
    }
}
