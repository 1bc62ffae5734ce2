//! Which plan an agent's session belongs to (semantics section 6).

use super::{
    super::{
        core::Core,
        message,
        requests::{HookCall, HookEvent, HookReply, PROBE_SESSION},
        state::project_root,
        step::Step,
    },
    attempts::How,
};
use crate::model::{
    Attempt, EventKind, Phase, PhaseState, PlanChange, PlanId, Session, Transition, Verdict,
    VerdictKind,
};

impl Core {
    /// Answers what an agent's hook reports. Never fails: what cannot be decided is denied.
    pub(crate) fn hook(&mut self, call: HookCall, step: &mut Step<'_>) -> HookReply {
        if call.session == PROBE_SESSION {
            let verdict = match &call.what {
                HookEvent::Attempt(attempt) => {
                    self.probe(&project_root(&call.project_dir), attempt)
                }
                _ => Verdict::allow(),
            };
            return reply(None, verdict);
        }
        if call.what == HookEvent::SessionEnd {
            self.end_session(&call.agent, &call.session, step);
            return reply(None, Verdict::allow());
        }
        let mut session = self.bind(&call, step);
        let hooked = call.hooked;
        if call.what == HookEvent::SessionStart && session.hooked != hooked {
            session.hooked = hooked;
            let session = session.clone();
            self.emit(step, EventKind::SessionChanged { session });
        }
        let starts = call.what == HookEvent::SessionStart;
        let begins = starts || call.what == HookEvent::Prompt;
        let verdict = self.verdict_on(&session, &call, step);
        let mut answer = reply(Some(session.plan), verdict);
        let ends = call.what == HookEvent::Stopped { turn: true };
        answer.judging = ends && self.is_judging(session.plan);
        if answer.verdict.verdict == VerdictKind::Ask {
            let waiting = self.state.waiting_assents(session.plan);
            let own = waiting.filter(|a| a.session == session.session);
            answer.waiting = own.map(|a| a.id).collect();
            answer.attended = self.attended;
        }
        let hears = call.traits.hears && (begins || session.told.is_some());
        if hears && answer.verdict.verdict == VerdictKind::Allow {
            answer.context = self.news(&session, starts, step);
        }
        answer
    }

    fn verdict_on(&mut self, session: &Session, call: &HookCall, step: &mut Step<'_>) -> Verdict {
        let plan = session.plan;
        match &call.what {
            HookEvent::SessionStart => {
                self.guard_tree(session);
                let others =
                    self.state.sessions.values().any(|s| {
                        s.root == session.root && s.is_live() && s.session != session.session
                    });
                if !others {
                    // How things are when the run starts.
                    self.trees.accept_all(&session.root);
                }
                Verdict::allow()
            }
            HookEvent::Prompt => {
                self.command_ended(session, None, step);
                self.halt_of(plan)
            }
            HookEvent::Settled => self.halt_of(plan),
            HookEvent::Attempt(attempt) => self.verdict_on_attempt(session, call, attempt, step),
            HookEvent::Ran(attempt) => {
                let found = self.look_at_tree(session, step);
                self.command_ended(session, attempt.call.clone(), step);
                self.verdict_on_found(plan, found)
            }
            HookEvent::Stopped { turn } => {
                // The hook asks again while a judge is read to.
                if *turn && !call.again {
                    self.judge_after_turn(plan, step);
                }
                let found = self.look_at_tree(session, step);
                // A command that was interrupted told no end.
                if *turn {
                    self.command_ended(session, None, step);
                }
                let found = self.verdict_on_found(plan, found);
                if *turn {
                    self.sent_back(plan, found)
                } else {
                    found
                }
            }
            HookEvent::Settings { fault } => {
                let gone = session.hooked && !call.hooked;
                let gone = gone.then(|| "no settings file runs it any more".to_owned());
                match fault.clone().or(gone) {
                    Some(fault) => Verdict::deny(format!(
                        "invar keeps its hooks in this session: {fault}. A person takes them out with `invar uninstall`, and starts the agent again."
                    )),
                    None => Verdict::allow(),
                }
            }
            HookEvent::SessionEnd => Verdict::allow(),
        }
    }

    fn verdict_on_attempt(
        &mut self,
        session: &Session,
        call: &HookCall,
        attempt: &Attempt,
        step: &mut Step<'_>,
    ) -> Verdict {
        let key = (session.agent.clone(), session.session.clone());
        if let Some(verdict) = self.decided.again(&key, &call.via, attempt, step.now) {
            return verdict.clone();
        }
        if !call.traits.tells_end && !session.running.is_empty() {
            let found = self.look_at_tree(session, step);
            self.command_ended(session, None, step);
            // The only moment at which the model can be told.
            if !found.is_empty() {
                return self.verdict_on_found(session.plan, found);
            }
        }
        let how = How {
            planning: call.planning,
            steers_unseen: call.traits.steers_unseen,
        };
        let verdict = self.attempt(session, attempt.clone(), how, step);
        if verdict.lets_through() {
            self.judge_after_edit(session.plan, step);
        }
        // A question may have been answered when the same attempt comes again.
        if verdict.verdict != VerdictKind::Ask {
            self.decided
                .note(key, &call.via, attempt.clone(), &verdict, step.now);
        }
        verdict
    }

    /// What a model has to be told of its plan's effective set: all of it when the session
    /// starts, and again after each change.
    fn news(&mut self, session: &Session, starts: bool, step: &mut Step<'_>) -> Option<String> {
        let compiled = self.compiled(session.plan, &session.root).ok()?;
        let told = session.told.as_deref();
        if told == Some(&compiled.digest) && !starts {
            return None;
        }
        let context = match told {
            Some(told) if !starts && told != compiled.digest => {
                Some(message::changed_context(compiled.context.as_deref()))
            }
            _ => compiled.context.clone(),
        };
        if told != Some(&compiled.digest) {
            let key = (session.agent.clone(), session.session.clone());
            // What the attempt changed in the record stays.
            let mut session = self.state.sessions.get(&key)?.clone();
            session.told = Some(compiled.digest.clone());
            self.emit(step, EventKind::SessionChanged { session });
        }
        context
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
    fn bind(&mut self, call: &HookCall, step: &mut Step<'_>) -> Session {
        let (agent, session, dir, pid) = (
            call.agent.as_str(),
            call.session.as_str(),
            call.project_dir.as_path(),
            call.pid,
        );
        let key = (agent.to_owned(), session.to_owned());
        let known = self.state.sessions.get(&key).cloned();
        let parent = known.as_ref().and_then(|k| k.parent.clone());
        let parent = parent.or_else(|| call.parent.clone());
        // A sub-agent works for the plan of the session that started it.
        let parents_plan = parent.as_ref().and_then(|parent| {
            let key = (agent.to_owned(), parent.clone());
            let plan = self.state.sessions.get(&key)?.plan;
            self.continues(plan).then_some(plan)
        });
        if let Some(known) = &known {
            let live = self
                .state
                .plans
                .get(&known.plan)
                .is_some_and(|p| !p.is_over());
            // A plan that a person chose meanwhile takes the session over.
            let chosen = self.chosen_plan(&known.project).or(parents_plan);
            // One that is resumed runs in another process.
            let same_process = pid.is_none() || known.pid == pid;
            let bound = live && known.is_live() && chosen.is_none_or(|c| c == known.plan);
            if bound && same_process && known.parent == parent {
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
        let own = known.as_ref().map(|k| k.plan);
        let own = own.filter(|id| self.continues(*id));
        let plan = match parents_plan.or(own) {
            Some(plan) if self.chosen_plan(&project).is_none() => plan,
            _ => self.plan_for(agent, &project, pid, step),
        };
        let known_pid = known.as_ref().and_then(|k| k.pid);
        let known_hooked = known.as_ref().is_some_and(|k| k.hooked);
        let known_running = known
            .as_ref()
            .map(|k| k.running.clone())
            .unwrap_or_default();
        // Another plan is news, even when what is in force reads the same.
        let told = known.as_ref().filter(|k| k.plan == plan);
        let told = told.and_then(|k| k.told.clone());
        let session = Session {
            parent,
            told,
            agent: agent.to_owned(),
            session: session.to_owned(),
            plan,
            project,
            root,
            started_at: known.as_ref().map_or(step.now, |k| k.started_at),
            pid: pid.or(known_pid),
            ended_at: None,
            hooked: known_hooked,
            running: known_running,
        };
        let record = session.clone();
        let event = match known.is_some_and(|k| k.is_live()) {
            true => EventKind::SessionChanged { session: record },
            false => EventKind::SessionStarted { session: record },
        };
        self.emit(step, event);
        if let Some(mut record) = self.state.plans.get(&plan).cloned()
            && record.agent.as_deref() != Some(agent)
        {
            record.agent = Some(agent.to_owned());
            self.change_plan(record, PlanChange::Session, step);
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
        step: &mut Step<'_>,
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
        let mut plan = self.new_plan(project.clone(), step.now);
        plan.automatic = true;
        plan.agent = Some(agent.to_owned());
        let id = plan.id;
        self.emit(step, EventKind::PlanCreated { plan });
        // A blocked start is recorded, and met again when the agent first wants to change a file.
        let _ = self.transition(id, Transition::StartStrategize, step);
        id
    }

    /// Moves an automatic plan into execution at its first change of a file. The sentence says
    /// why it may not.
    pub(crate) fn start_executing(
        &mut self,
        id: PlanId,
        step: &mut Step<'_>,
    ) -> Result<(), String> {
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
            self.transition(id, next, step).map_err(|e| e.to_string())?;
        }
    }

    /// Moves an automatic plan to its end, when its agent records the work or hands it over: the
    /// gate is asked each time, and the plan goes on. The sentence says why it may not.
    pub(crate) fn start_applying(&mut self, id: PlanId, step: &mut Step<'_>) -> Result<(), String> {
        self.start_executing(id, step)?;
        if !self.state.plans.get(&id).is_some_and(|p| p.automatic) {
            return Ok(());
        }
        self.enter(id, Transition::ApplyPlan, PhaseState::Processing, step)
            .map(|_| ())
            .map_err(|e| e.to_string())
    }

    fn end_session(&mut self, agent: &str, session: &str, step: &mut Step<'_>) {
        let key = (agent.to_owned(), session.to_owned());
        let Some(session) = self
            .state
            .sessions
            .get(&key)
            .filter(|s| s.is_live())
            .cloned()
        else {
            return;
        };
        let plan = session.plan;
        let children: Vec<Session> = self
            .state
            .sessions
            .values()
            .filter(|s| s.is_live() && s.agent == agent)
            .filter(|s| s.parent.as_deref() == Some(session.session.as_str()))
            .cloned()
            .collect();
        for mut session in children.into_iter().chain([session]) {
            session.ended_at = Some(step.now);
            session.running.clear();
            self.emit(step, EventKind::SessionEnded { session });
        }
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
            self.change_plan(record, PlanChange::Completed, step);
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
        ..HookReply::of(verdict)
    }
}
