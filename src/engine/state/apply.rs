//! What an event makes of a state, and of the rows that a store keeps.

use super::{RECENT, State, is_breach, past::key_of};
use crate::{
    model::{
        AssentStatus, Decision, Event, EventKind, Invariant, JournalStep, Plan, PlanChange, PlanId,
        Running, Session, Strike, Verdict,
    },
    store::{Record, Row},
};

/// How many commands of one session are kept in mind.
const MAX_RUNNING: usize = 64;

impl State {
    /// Takes an event in, and returns the rows that a store keeps of it.
    pub fn apply(&mut self, event: &Event) -> Vec<Row> {
        self.seq = event.seq;
        self.breaches += u64::from(is_breach(&event.kind));
        let mut rows = Vec::new();
        if event.kind.is_notable() {
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(event.clone());
            rows.push(Row::Notable(event.seq));
        }
        rows.extend(self.rows_of(event));
        rows
    }

    fn rows_of(&mut self, event: &Event) -> Vec<Row> {
        match &event.kind {
            EventKind::InvariantAdded { invariant, journal }
            | EventKind::InvariantEdited { invariant, journal }
            | EventKind::InvariantRemoved { invariant, journal }
            | EventKind::InvariantRestored { invariant, journal } => {
                self.change_invariant(invariant, journal.as_ref())
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
                let mut rows = vec![Row::Live(Record::Plan(plan.clone()))];
                if let Some(action) = &plan.action {
                    let count = self.plans_of.entry(action.clone()).or_default();
                    *count += 1;
                    rows.push(Row::PlansOf(action.clone(), *count));
                }
                rows
            }
            EventKind::PlanChanged { plan, change } => self.change_plan(plan, change),
            EventKind::SessionStarted { session }
            | EventKind::SessionChanged { session }
            | EventKind::SessionEnded { session } => self.change_session(session),
            EventKind::Attempted {
                plan_id,
                attempt,
                verdict,
                agent,
                session,
            } => {
                let mut rows =
                    self.count_strikes(*plan_id, attempt.nonce.as_deref(), verdict, event);
                if verdict.lets_through() && self.goes_on(*plan_id) {
                    rows.extend(self.judging.acted(*plan_id, event.seq, attempt));
                }
                if attempt.may_write && verdict.lets_through() {
                    let command = Running::of(attempt, event.at);
                    rows.extend(
                        self.change_running(agent, session, |running| running.push(command)),
                    );
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
                let ended = |r: &Running| match call {
                    Some(_) => r.call == *call,
                    None => true,
                };
                let end =
                    |running: &mut Vec<Running>| running.retain(|r| r.background || !ended(r));
                self.change_running(agent, session, end)
                    .into_iter()
                    .collect()
            }
            EventKind::ChangeNotAttributed { .. }
            | EventKind::ConfigurationRead { .. }
            | EventKind::LogArchived { .. } => Vec::new(),
            EventKind::InvariantViolated { violation, .. }
            | EventKind::CorrectionApplied { violation, .. } => {
                self.put_violation(violation.clone());
                let record = Record::Violation(violation.clone());
                vec![self.row_of(violation.plan_id, record)]
            }
            EventKind::AssentChanged { assent } => {
                self.put_assent(assent.clone());
                let mut rows = vec![self.row_of(assent.plan_id, Record::Assent(assent.clone()))];
                // The person in front of the agent may let the command run at once.
                if assent.status == AssentStatus::Delegated
                    && let Some(command) = assent.command.clone()
                {
                    let run = |running: &mut Vec<Running>| {
                        let known = |r: &Running| r.call.is_some() && r.call == command.call;
                        if !running.iter().any(known) {
                            running.push(command);
                        }
                    };
                    rows.extend(self.change_running(&assent.agent, &assent.session, run));
                }
                rows
            }
            EventKind::JudgeChecked { check } => {
                let goes_on = self.goes_on(check.plan_id);
                self.judging.put(check.clone(), goes_on)
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
            EventKind::StoreMigrated { journal, .. } => self.journal.restart(journal),
        }
    }

    fn change_invariant(
        &mut self,
        invariant: &Invariant,
        journal: Option<&JournalStep>,
    ) -> Vec<Row> {
        let before = self.invariants.get(&invariant.id);
        let before = before.map(|k| k.invariant.clone());
        let left = before.as_ref().and_then(|i| self.past_plan_of(i));
        let belongs = self.past_plan_of(invariant);
        let mut rows = Vec::new();
        if left != belongs {
            rows.extend(left.map(|plan| Row::InvariantLeft(plan, invariant.id)));
        }
        let record = Record::Invariant(invariant.clone());
        rows.push(match belongs {
            Some(_) => Row::Past(record),
            None => Row::Live(record),
        });
        if let Some(step) = journal {
            rows.extend(self.journal.take(step, before, invariant));
        }
        self.put_invariant(invariant.clone());
        rows
    }

    fn change_plan(&mut self, plan: &Plan, change: &PlanChange) -> Vec<Row> {
        let id = plan.id;
        // Only logs of the first schema halt a plan that is over.
        let known = self.plans.contains_key(&id);
        let mut rows = match plan.is_over() {
            true => Vec::new(),
            false => self.come_back(id),
        };
        if known || !plan.is_over() {
            self.plans.insert(id, plan.clone());
        }
        rows.push(self.row_of(id, Record::Plan(plan.clone())));
        if let PlanChange::Resumed { cleared } = change {
            for (invariant, signature) in cleared {
                self.strikes.clear(&(id, *invariant, signature.clone()));
                rows.push(Row::StrikeCleared(id, *invariant, signature.clone()));
            }
        }
        rows.extend(self.leave(id));
        rows
    }

    fn change_session(&mut self, session: &Session) -> Vec<Row> {
        let before = self.sessions.get(&key_of(session)).map(|s| s.plan);
        let was_past = before.is_some_and(|plan| !self.goes_on(plan));
        self.put_session(session.clone());
        let record = Record::Session(session.clone());
        let mut rows = match (self.goes_on(session.plan), was_past) {
            (false, _) => vec![Row::Past(record)],
            (true, true) => vec![Row::Back(record)],
            (true, false) => vec![Row::Live(record)],
        };
        // The plan that it worked in before may have waited for it alone, and so may this one.
        let moved = before.filter(|plan| *plan != session.plan);
        for plan in moved.into_iter().chain([session.plan]) {
            rows.extend(self.leave(plan));
        }
        rows
    }

    /// Changes what a session at hand is running; the row of that.
    fn change_running(
        &mut self,
        agent: &str,
        session: &str,
        change: impl FnOnce(&mut Vec<Running>),
    ) -> Option<Row> {
        let key = (agent.to_owned(), session.to_owned());
        let session = self.sessions.get_mut(&key)?;
        change(&mut session.running);
        let surplus = session.running.len().saturating_sub(MAX_RUNNING);
        session.running.drain(..surplus);
        let session = session.clone();
        Some(self.row_of(session.plan, Record::Session(session)))
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
            self.put_strike(strike.clone());
            rows.push(self.row_of(plan_id, Record::Strike(strike)));
        }
        rows
    }
}
