//! Which plan an agent's session belongs to, and what its hook is answered.
//!
//! A call of a hook goes through four steps: *binding* finds the session's plan, *consider* finds
//! out everything that the answer needs, *bind* records the session, and *verdict_on* decides and
//! records. The first two may stop for a missing fact, and so record nothing; the others may not
//! stop.

use super::{
    super::{
        facts::Need,
        message,
        requests::{HookCall, HookEvent, HookReply, PROBE_SESSION},
        step::Step,
    },
    Core,
    attempts::{AgentMode, Weighed},
    found::Assessed,
    sets::Uncheckable,
};
use crate::model::{
    Attempt, EventKind, Phase, PhaseState, PlanChange, PlanId, ProjectName, Session, Transition,
    Verdict, VerdictKind,
};

/// Where a session belongs, before anything is recorded.
struct Binding {
    session: Session,
    /// `None`: a plan is to be made for it.
    plan: Option<PlanId>,
    /// The session differs from its record, which is then written again.
    changed: bool,
}

/// What was found out about a hook's call before anything is recorded.
#[derive(Default)]
struct Considered {
    /// The same attempt was decided just now.
    again: Option<Verdict>,
    weighed: Option<Result<Weighed, Uncheckable>>,
    /// What changed in the tree.
    assessed: Option<Assessed>,
}

impl Core {
    /// Answers what an agent's hook reports. What cannot be decided is denied.
    ///
    /// # Errors
    /// A fact is missing; nothing has changed then.
    pub(super) fn hook(&mut self, call: HookCall, step: &mut Step<'_>) -> Result<HookReply, Need> {
        // `doctor` tries the installed hooks by this session. It must leave no trace.
        if call.session == PROBE_SESSION {
            let verdict = match &call.what {
                HookEvent::Attempt(attempt) => self.probe(attempt, step.facts)?,
                _ => Verdict::allow(),
            };
            return Ok(reply(None, verdict));
        }
        if call.what == HookEvent::SessionEnd {
            self.end_session(&call.agent, &call.session, step);
            return Ok(reply(None, Verdict::allow()));
        }
        let binding = self.binding(&call, step)?;
        let considered = self.consider(&binding, &call, step)?;
        // From here on everything is recorded.
        let session = self.bind(binding, &call, step);
        let starts = call.what == HookEvent::SessionStart;
        let begins = starts || call.what == HookEvent::Prompt;
        let verdict = self.verdict_on(&session, &call, considered, step);
        let mut answer = reply(Some(session.plan), verdict);
        let ends = call.what == HookEvent::Stopped { turn: true };
        answer.judging = ends && self.is_judging(session.plan);
        if answer.verdict.verdict == VerdictKind::Ask {
            let waiting = self.state.waiting_assents(session.plan);
            let own = waiting.filter(|a| a.session == session.session);
            answer.waiting = own.map(|a| a.id).collect();
            answer.attended = self.attended;
        }
        // A session whose start was not seen gets the set at its next prompt, and not in the
        // middle of a turn. A denial carries its own reason and no news besides.
        let hears = call.traits.hears && (begins || session.told.is_some());
        if hears && answer.verdict.verdict == VerdictKind::Allow {
            answer.context = self.news(&session, starts, step);
        }
        Ok(answer)
    }

    /// Everything about a call that must be known before the first record of it is made.
    fn consider(
        &mut self,
        binding: &Binding,
        call: &HookCall,
        step: &Step<'_>,
    ) -> Result<Considered, Need> {
        let session = &binding.session;
        let mut out = Considered::default();
        let looks = match &call.what {
            HookEvent::SessionStart | HookEvent::Ran(_) | HookEvent::Stopped { .. } => true,
            HookEvent::Attempt(attempt) => {
                let key = (session.agent.clone(), session.session.clone());
                let again = self.decided.again(&key, &call.via, attempt, step.now);
                out.again = again.cloned();
                if out.again.is_none() {
                    let root = &step.facts.root;
                    let compiled = match binding.plan {
                        Some(plan) => self.compiled(plan, root),
                        None => self.compiled_for_new(&session.project, root),
                    };
                    out.weighed = Some(self.weigh(attempt, compiled, step.facts)?);
                }
                // This agent does not report the end of a command. Its next attempt shows that the
                // last one is over, and is the moment to look at what it changed.
                out.again.is_none() && !call.traits.tells_end && !session.running.is_empty()
            }
            _ => false,
        };
        if looks {
            let key = (session.agent.clone(), session.session.clone());
            out.assessed =
                Some(self.assess(&session.root, &session.project, Some(&key), step.facts)?);
        }
        Ok(out)
    }

    /// Decides a call of which everything is known, and records it. The order within each arm
    /// matters: what a look found is attributed to commands that still count as running, so it is
    /// recorded before they are ended.
    fn verdict_on(
        &mut self,
        session: &Session,
        call: &HookCall,
        considered: Considered,
        step: &mut Step<'_>,
    ) -> Verdict {
        let plan = session.plan;
        let Considered {
            again,
            weighed,
            assessed,
        } = considered;
        let assessed = assessed.unwrap_or_default();
        match &call.what {
            HookEvent::SessionStart => {
                // What changed while nobody was at work is reported and counts against nobody. A
                // command that still runs is blamed for what it did meanwhile: a session that
                // starts again, as after a compaction, launders nothing.
                self.record_found(assessed, step);
                step.effects.guard = self.compiled(plan, &step.facts.root).ok();
                Verdict::allow()
            }
            HookEvent::Prompt => {
                self.command_ended(session, None, step);
                self.halt_of(plan)
            }
            HookEvent::Settled => self.halt_of(plan),
            HookEvent::Attempt(attempt) => match (again, weighed) {
                (Some(verdict), _) => verdict,
                (None, Some(weighed)) => {
                    self.verdict_on_attempt(session, call, attempt, weighed, assessed, step)
                }
                (None, None) => {
                    Verdict::deny("invar denied this: it was not looked at; please report it")
                }
            },
            HookEvent::Ran(attempt) => {
                self.record_found(assessed, step);
                let found = self.unreported.remove(&plan).unwrap_or_default();
                self.command_ended(session, attempt.call.clone(), step);
                self.verdict_on_found(plan, found)
            }
            HookEvent::Stopped { turn } => {
                // While a judge is at work the hook asks again and again; it is one turn still.
                if *turn && !call.again {
                    self.judge_after_turn(plan, step);
                }
                self.record_found(assessed, step);
                let found = self.unreported.remove(&plan).unwrap_or_default();
                // A command that was interrupted never reports its end.
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
        weighed: Result<Weighed, Uncheckable>,
        assessed: Assessed,
        step: &mut Step<'_>,
    ) -> Verdict {
        if !call.traits.tells_end && !session.running.is_empty() {
            self.record_found(assessed, step);
            let found = self.unreported.remove(&session.plan).unwrap_or_default();
            self.command_ended(session, None, step);
            // The only moment at which this agent's model can learn of it: the attempt itself is
            // denied for that, and can be made again.
            if !found.is_empty() {
                return self.verdict_on_found(session.plan, found);
            }
        }
        let mode = AgentMode {
            planning: call.planning,
            steers_unseen: call.traits.steers_unseen,
        };
        let clauses = weighed
            .as_ref()
            .is_ok_and(|w| w.compiled.clauses().next().is_some());
        let verdict = self.attempt(session, attempt.clone(), weighed, mode, step);
        if verdict.lets_through() && clauses {
            self.judge_after_edit(session.plan, step);
        }
        // A question is asked anew when the same attempt comes again: it may have been answered.
        if verdict.verdict != VerdictKind::Ask {
            let key = (session.agent.clone(), session.session.clone());
            self.decided
                .note(key, &call.via, attempt.clone(), &verdict, step.now);
        }
        verdict
    }

    /// What a model has to read of its plan's effective set: all of it when the session starts, and
    /// again after each change; `None` when it knows the set. The digest in the session's record
    /// says which set the model has read last.
    fn news(&mut self, session: &Session, starts: bool, step: &mut Step<'_>) -> Option<String> {
        let compiled = self.compiled(session.plan, &step.facts.root).ok()?;
        let told = session.told.as_deref();
        let digest = compiled.digest();
        if told == Some(digest) && !starts {
            return None;
        }
        let context = compiled.context(session.plan);
        let context = match told {
            Some(told) if !starts && told != digest => {
                Some(message::changed_context(context.as_deref()))
            }
            _ => context,
        };
        if told != Some(digest) {
            let key = (session.agent.clone(), session.session.clone());
            // The record is read again: the attempt may have changed it since.
            let mut session = self.state.sessions.get(&key)?.clone();
            session.told = Some(digest.to_owned());
            self.emit(step, EventKind::SessionChanged { session });
        }
        context
    }

    /// A halt verdict while the plan is halted, else allow.
    pub(super) fn halt_of(&self, plan: PlanId) -> Verdict {
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

    /// Where a call's session belongs. Nothing is recorded.
    ///
    /// # Errors
    /// The call was located in another directory than the session works in, or it is not known
    /// which processes are there.
    fn binding(&self, call: &HookCall, step: &Step<'_>) -> Result<Binding, Need> {
        let (agent, pid) = (call.agent.as_str(), call.pid);
        let key = (agent.to_owned(), call.session.clone());
        let known = self.state.sessions.get(&key).cloned();
        // A session stays in the directory in which it started, whatever folder its agent goes
        // to: patterns are anchored there.
        let root = match &known {
            Some(known) => known.root.clone(),
            None => step.here().to_owned(),
        };
        if step.facts.root.written != root {
            return Err(Need::Root(root));
        }
        let parent = known.as_ref().and_then(|k| k.parent.clone());
        let parent = parent.or_else(|| call.parent.clone());
        // A sub-agent works for the plan of the session that started it.
        let parents_plan = parent.as_ref().and_then(|parent| {
            let key = (agent.to_owned(), parent.clone());
            let plan = self.state.sessions.get(&key)?.plan;
            self.continues(plan).then_some(plan)
        });
        if let Some(known) = &known {
            // A plan that a person chose meanwhile takes the session over.
            let chosen = self.chosen_plan(&known.project).or(parents_plan);
            // One that is resumed runs in another process.
            let same_process = pid.is_none() || known.pid == pid;
            let bound = self.continues(known.plan)
                && known.is_live()
                && chosen.is_none_or(|c| c == known.plan);
            if bound && same_process && known.parent == parent {
                return Ok(Binding {
                    session: known.clone(),
                    plan: Some(known.plan),
                    changed: false,
                });
            }
        }
        let project = self.state.project_of(&root);
        let own = known.as_ref().map(|k| k.plan);
        let own = own.filter(|id| self.continues(*id));
        // A plan that a person chose for the project outweighs both, and `plan_for` finds it.
        let plan = match parents_plan.or(own) {
            Some(plan) if self.chosen_plan(&project).is_none() => Some(plan),
            _ => self.plan_for(&project, pid, step)?,
        };
        // A new plan sends the context again, even when what is in force reads the same.
        let told = known.as_ref().filter(|k| Some(k.plan) == plan);
        let told = told.and_then(|k| k.told.clone());
        let fresh = Session {
            parent,
            told,
            agent: agent.to_owned(),
            session: call.session.clone(),
            plan: plan.unwrap_or(PlanId(ulid::Ulid::nil())),
            project,
            root,
            started_at: known.as_ref().map_or(step.now, |k| k.started_at),
            pid: pid.or(known.as_ref().and_then(|k| k.pid)),
            ended_at: None,
            hooked: known.as_ref().is_some_and(|k| k.hooked),
            running: known.map(|k| k.running).unwrap_or_default(),
        };
        Ok(Binding {
            session: fresh,
            plan,
            changed: true,
        })
    }

    /// Records where a session belongs, and returns its record. A plan is made when it has none.
    /// Only what changed is recorded, so that most calls write nothing here.
    fn bind(&mut self, binding: Binding, call: &HookCall, step: &mut Step<'_>) -> Session {
        let Binding {
            mut session,
            plan,
            mut changed,
        } = binding;
        if plan.is_none() {
            session.plan = self.automatic_plan(&session, step);
        }
        if call.what == HookEvent::SessionStart && session.hooked != call.hooked {
            session.hooked = call.hooked;
            changed = true;
        }
        if !changed {
            return session;
        }
        let key = (session.agent.clone(), session.session.clone());
        let known = self.state.sessions.get(&key);
        let record = session.clone();
        let event = match known.is_some_and(|k| k.is_live()) {
            true => EventKind::SessionChanged { session: record },
            false => EventKind::SessionStarted { session: record },
        };
        self.emit(step, event);
        if let Some(mut record) = self.state.plans.get(&session.plan).cloned()
            && record.agent.as_deref() != Some(&session.agent)
        {
            record.agent = Some(session.agent.clone());
            self.change_plan(record, PlanChange::Session, step);
        }
        session
    }

    /// Whether a plan is known and not over.
    fn continues(&self, plan: PlanId) -> bool {
        self.state.plans.get(&plan).is_some_and(|p| !p.is_over())
    }

    /// The plan that a person chose last for a project, while it is not over.
    fn chosen_plan(&self, project: &ProjectName) -> Option<PlanId> {
        let id = self.state.projects.get(project)?.current_plan?;
        self.continues(id).then_some(id)
    }

    /// The plan for a session that has none: the one a person chose; else an automatic one that
    /// was left behind with strikes or violations; else `None`, and one is to be made. Two agents
    /// at work at once have a plan each.
    ///
    /// # Errors
    /// It is not known which processes of sessions are there.
    fn plan_for(
        &self,
        project: &ProjectName,
        pid: Option<u32>,
        step: &Step<'_>,
    ) -> Result<Option<PlanId>, Need> {
        if let Some(chosen) = self.chosen_plan(project) {
            return Ok(Some(chosen));
        }
        let left: Vec<PlanId> = self
            .state
            .plans
            .values()
            .filter(|p| p.automatic && p.project == *project && !p.is_over())
            .map(|p| p.id)
            .collect();
        let at_work: Vec<&Session> = self
            .state
            .sessions
            .values()
            .filter(|s| s.is_live() && left.contains(&s.plan))
            .collect();
        // An agent that was killed did not end its session. Its plan is free when its process is
        // gone, or is the one that asks now.
        let others: Vec<u32> = at_work
            .iter()
            .filter_map(|s| s.pid)
            .filter(|p| Some(*p) != pid)
            .collect();
        let alive = &step.facts.alive;
        if others.iter().any(|pid| !alive.contains_key(pid)) {
            return Err(Need::Alive(others));
        }
        let is_at_work = |id: &PlanId| {
            at_work.iter().any(|s| {
                let runs = |p: u32| Some(p) != pid && alive.get(&p) == Some(&true);
                s.plan == *id && s.pid.is_none_or(runs)
            })
        };
        Ok(left.into_iter().find(|id| !is_at_work(id)))
    }

    /// Makes a plan for a session for which no person has chosen one.
    fn automatic_plan(&mut self, session: &Session, step: &mut Step<'_>) -> PlanId {
        let mut plan = self.new_plan(session.project.clone(), step.now);
        plan.automatic = true;
        plan.agent = Some(session.agent.clone());
        let id = plan.id;
        self.emit(step, EventKind::PlanCreated { plan });
        // A blocked start is recorded, and met again when the agent first wants to change a file.
        let _ = self.transition(id, Transition::StartStrategize, step);
        id
    }

    /// Moves an automatic plan into execution at its first change of a file, through all phases
    /// before it.
    ///
    /// # Errors
    /// A sentence that says why it may not; the plan is recorded as blocked then.
    pub(super) fn start_executing(
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

    /// Asks the gate of apply for an automatic plan, when its agent records the work or hands it
    /// over (`git commit`, `git push`). Each time anew, and the plan goes on afterwards: an agent
    /// commits more than once.
    ///
    /// # Errors
    /// A sentence that says why it may not; the plan is recorded as blocked then.
    pub(super) fn start_applying(&mut self, id: PlanId, step: &mut Step<'_>) -> Result<(), String> {
        self.start_executing(id, step)?;
        if !self.state.plans.get(&id).is_some_and(|p| p.automatic) {
            return Ok(());
        }
        self.enter(id, Transition::ApplyPlan, PhaseState::Processing, step)
            .map(|_| ())
            .map_err(|e| e.to_string())
    }

    /// Ends a session with its sub-agents, and completes its automatic plan when nothing stands
    /// against it. One with strikes or violations stays, and the project's next session goes on
    /// with it: starting again wipes nothing.
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

fn reply(plan_id: Option<PlanId>, verdict: Verdict) -> HookReply {
    HookReply {
        plan_id,
        ..HookReply::of(verdict)
    }
}
