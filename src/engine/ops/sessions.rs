//! Which plan an agent's session belongs to (semantics section 6).

use std::path::Path;

use jiff::Timestamp;

use super::super::{
    core::Core,
    message,
    protocol::{HookCall, HookEvent, HookReply},
    state::project_root,
};
use crate::{
    model::{
        EventKind, Phase, PhaseState, PlanChange, PlanId, Session, Transition, Verdict, VerdictKind,
    },
    store::Batch,
};

impl Core {
    /// Answers what an agent's hook reports. Never fails: what cannot be decided is denied.
    pub(crate) fn hook(&mut self, call: HookCall, out: &mut Batch) -> HookReply {
        let HookCall {
            agent,
            session,
            project_dir,
            pid,
            hooked,
            what,
        } = call;
        if what == HookEvent::SessionEnd {
            self.end_session(&agent, &session, out);
            return reply(None, Verdict::allow());
        }
        let mut session = self.bind(&agent, &session, &project_dir, pid, out);
        if what == HookEvent::SessionStart && session.hooked != hooked {
            session.hooked = hooked;
            let session = session.clone();
            self.emit(out, EventKind::SessionStarted { session });
        }
        let plan = session.plan;
        match what {
            HookEvent::SessionStart => {
                let effective: Vec<_> = self
                    .state
                    .plans
                    .get(&plan)
                    .map(|p| self.merged(p).effective)
                    .unwrap_or_default();
                let effective: Vec<_> = effective.iter().map(|k| k.invariant.clone()).collect();
                let mut answer = reply(Some(plan), Verdict::allow());
                answer.context = message::context(plan, &effective);
                self.guard_tree(&session);
                let others =
                    self.state.sessions.values().any(|s| {
                        s.root == session.root && s.is_live() && s.session != session.session
                    });
                if !others {
                    // How things are when the run starts.
                    self.trees.accept_all(&session.root);
                }
                answer
            }
            HookEvent::Prompt => {
                self.command_ended(&session, None, out);
                reply(Some(plan), self.halt_of(plan))
            }
            HookEvent::Settled => reply(Some(plan), self.halt_of(plan)),
            HookEvent::Attempt(attempt) => {
                let verdict = self.attempt(&session, attempt, out);
                reply(Some(plan), verdict)
            }
            HookEvent::Ran(attempt) => {
                let found = self.look_at_tree(&session, out);
                self.command_ended(&session, attempt.call, out);
                reply(Some(plan), self.verdict_on_found(plan, found))
            }
            HookEvent::Stopped { turn } => {
                let found = self.look_at_tree(&session, out);
                // A command that was interrupted told no end.
                if turn {
                    self.command_ended(&session, None, out);
                }
                reply(Some(plan), self.verdict_on_found(plan, found))
            }
            HookEvent::Settings { fault } => reply(
                Some(plan),
                match fault.or_else(|| {
                    let gone = session.hooked && !hooked;
                    gone.then(|| "no settings file runs it any more".to_owned())
                }) {
                    Some(fault) => Verdict::deny(format!(
                        "invar keeps its hooks in this session: {fault}. A person takes them out with `invar uninstall`, and starts the agent again."
                    )),
                    None => Verdict::allow(),
                },
            ),
            HookEvent::SessionEnd => reply(Some(plan), Verdict::allow()),
        }
    }

    /// A halt verdict while the plan is halted, else allow.
    pub(crate) fn halt_of(&self, plan: PlanId) -> Verdict {
        match self.state.plans.get(&plan) {
            Some(plan) if plan.is_halted() => Verdict {
                verdict: VerdictKind::Halt,
                reason: message::halted(
                    plan.id,
                    plan.halt_reason
                        .as_deref()
                        .unwrap_or("a person or a rule halted it"),
                ),
                breaches: Vec::new(),
            },
            _ => Verdict::allow(),
        }
    }

    /// The session's record, bound to its plan; made when it is new or its plan is over.
    fn bind(
        &mut self,
        agent: &str,
        session: &str,
        dir: &Path,
        pid: Option<u32>,
        out: &mut Batch,
    ) -> Session {
        let key = (agent.to_owned(), session.to_owned());
        let known = self.state.sessions.get(&key).cloned();
        if let Some(known) = &known {
            let live = self
                .state
                .plans
                .get(&known.plan)
                .is_some_and(|p| !p.is_over());
            // A plan that a person chose meanwhile takes the session over.
            let chosen = self.chosen_plan(&known.project);
            // One that is resumed runs in another process.
            let same_process = pid.is_none() || known.pid == pid;
            let bound = live && known.is_live() && chosen.is_none_or(|c| c == known.plan);
            if bound && same_process {
                return known.clone();
            }
        }
        let root = match &known {
            Some(known) => known.root.clone(),
            None => project_root(dir),
        };
        let alone = !self
            .state
            .sessions
            .values()
            .any(|s| s.root == root && s.is_live());
        if known.is_none() && alone {
            self.trees.start_over(&root);
        }
        let project = self.state.project_of(&root);
        let plan = match known
            .as_ref()
            .map(|k| k.plan)
            .filter(|id| self.continues(*id))
        {
            Some(own) if self.chosen_plan(&project).is_none() => own,
            _ => self.plan_for(agent, &project, pid, out),
        };
        let known_pid = known.as_ref().and_then(|k| k.pid);
        let known_hooked = known.as_ref().is_some_and(|k| k.hooked);
        let known_running = known
            .as_ref()
            .map(|k| k.running.clone())
            .unwrap_or_default();
        let session = Session {
            agent: agent.to_owned(),
            session: session.to_owned(),
            plan,
            project,
            root,
            started_at: known.map_or_else(Timestamp::now, |k| k.started_at),
            pid: pid.or(known_pid),
            ended_at: None,
            hooked: known_hooked,
            running: known_running,
        };
        self.emit(
            out,
            EventKind::SessionStarted {
                session: session.clone(),
            },
        );
        if let Some(mut record) = self.state.plans.get(&plan).cloned()
            && record.agent.as_deref() != Some(agent)
        {
            record.agent = Some(agent.to_owned());
            self.change_plan(record, PlanChange::Session, out);
        }
        session
    }

    fn continues(&self, plan: PlanId) -> bool {
        self.state.plans.get(&plan).is_some_and(|p| !p.is_over())
    }

    fn chosen_plan(&self, project: &crate::model::ProjectName) -> Option<PlanId> {
        let id = self.state.projects.get(project)?.current_plan?;
        self.continues(id).then_some(id)
    }

    /// The plan a person chose; else an automatic one that was left with something standing;
    /// else a new one.
    fn plan_for(
        &mut self,
        agent: &str,
        project: &crate::model::ProjectName,
        pid: Option<u32>,
        out: &mut Batch,
    ) -> PlanId {
        if let Some(chosen) = self.chosen_plan(project) {
            return chosen;
        }
        // An agent that was killed said no goodbye: its process is gone, or runs this session.
        let at_work = |id: PlanId| {
            self.state.sessions.values().any(|s| {
                s.plan == id && s.is_live() && (s.pid.is_none() || s.pid != pid && runs(s.pid))
            })
        };
        let left = self
            .state
            .plans
            .values()
            .find(|p| p.automatic && p.project == *project && !p.is_over() && !at_work(p.id));
        if let Some(left) = left {
            return left.id;
        }
        let mut plan = self.new_plan(project.clone());
        plan.automatic = true;
        plan.agent = Some(agent.to_owned());
        let id = plan.id;
        self.emit(out, EventKind::PlanCreated { plan });
        // A blocked start is recorded, and met again when the agent first wants to change a file.
        let _ = self.transition(id, Transition::StartStrategize, out);
        id
    }

    /// Moves an automatic plan into execution at its first change of a file. The sentence says
    /// why it may not.
    pub(crate) fn start_executing(&mut self, id: PlanId, out: &mut Batch) -> Result<(), String> {
        loop {
            let Some(plan) = self.state.plans.get(&id) else {
                return Ok(());
            };
            if !plan.automatic || plan.phase >= Phase::Execute {
                return Ok(());
            }
            let Some(next) = Transition::after(plan.phase) else {
                return Ok(());
            };
            self.transition(id, next, out).map_err(|e| e.to_string())?;
        }
    }

    fn end_session(&mut self, agent: &str, session: &str, out: &mut Batch) {
        let key = (agent.to_owned(), session.to_owned());
        let Some(mut session) = self
            .state
            .sessions
            .get(&key)
            .filter(|s| s.is_live())
            .cloned()
        else {
            return;
        };
        session.ended_at = Some(Timestamp::now());
        session.running.clear();
        let plan = session.plan;
        self.emit(out, EventKind::SessionEnded { session });
        let others = self
            .state
            .sessions
            .values()
            .any(|s| s.plan == plan && s.is_live());
        let Some(mut record) = self.state.plans.get(&plan).cloned() else {
            return;
        };
        let ends = record.automatic
            && !others
            && !record.is_halted()
            && !record.is_over()
            && !self.has_standing(plan);
        if ends {
            record.state = PhaseState::Complete;
            self.change_plan(record, PlanChange::Completed, out);
        }
    }
}

/// Whether the process is there; one of another user counts as well.
fn runs(pid: Option<u32>) -> bool {
    let pid = pid
        .and_then(|p| i32::try_from(p).ok())
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

fn reply(plan_id: Option<PlanId>, verdict: Verdict) -> HookReply {
    HookReply {
        plan_id,
        verdict,
        context: None,
    }
}
