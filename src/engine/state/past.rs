//! What is over leaves. A plan is *past* when its work is over and no session is at work in it:
//! then all its records leave the tables that an engine loads, in the transaction that makes it
//! so. An engine lets go of them at once, and has them visit for a call that is about them; a
//! mirror keeps the youngest.

use std::collections::BTreeSet;

use super::State;
use crate::{
    model::{
        Assent, AssentId, Invariant, InvariantId, PlanId, Scope, Session, Strike, Violation,
        ViolationId,
    },
    rules::normalise::KeyedInvariant,
    store::{Past, Record, Row},
};

/// The name of a session: its agent, and the agent's own name of it.
pub(super) type SessionKey = (String, String);

/// What belongs to one plan, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Belongings {
    pub sessions: BTreeSet<SessionKey>,
    pub invariants: BTreeSet<InvariantId>,
    pub violations: BTreeSet<ViolationId>,
    pub assents: BTreeSet<AssentId>,
}

pub(super) fn key_of(session: &Session) -> SessionKey {
    (session.agent.clone(), session.session.clone())
}

impl State {
    /// Whether a plan is over and nobody works in it.
    pub(super) fn has_ended(&self, plan: PlanId) -> bool {
        self.plans.get(&plan).is_some_and(|p| p.is_over()) && !self.has_session(plan)
    }

    /// Whether a session is at work in a plan.
    fn has_session(&self, plan: PlanId) -> bool {
        let of = self.of_plan.get(&plan).into_iter();
        let mut keys = of.flat_map(|of| &of.sessions);
        keys.any(|key| self.sessions.get(key).is_some_and(Session::is_live))
    }

    /// Whether the records of a plan are loaded by engines: it goes on, or somebody works in it.
    pub fn goes_on(&self, plan: PlanId) -> bool {
        self.plans.contains_key(&plan) && !self.past.contains(&plan)
    }

    /// The row of a record that belongs to a plan.
    pub(super) fn row_of(&self, plan: PlanId, record: Record) -> Row {
        match self.goes_on(plan) {
            true => Row::Live(record),
            false => Row::Past(record),
        }
    }

    /// Whether an invariant belongs to a plan that is past, and to which.
    pub(super) fn past_plan_of(&self, invariant: &Invariant) -> Option<PlanId> {
        match invariant.scope {
            Scope::Plan(plan) if !self.goes_on(plan) => Some(plan),
            _ => None,
        }
    }

    /// Keeps an invariant at hand, unless its plan is not.
    pub(super) fn put_invariant(&mut self, invariant: Invariant) {
        let id = invariant.id;
        self.drop_invariant(id);
        if let Scope::Plan(plan) = invariant.scope {
            if !self.plans.contains_key(&plan) && !self.past.contains(&plan) {
                return;
            }
            self.of_plan.entry(plan).or_default().invariants.insert(id);
        }
        if invariant.active {
            let scope = invariant.scope.clone();
            self.by_scope.entry(scope).or_default().insert(id);
        }
        self.invariants.insert(id, KeyedInvariant::new(invariant));
    }

    fn drop_invariant(&mut self, id: InvariantId) {
        let Some(old) = self.invariants.remove(&id) else {
            return;
        };
        let scope = &old.invariant.scope;
        if let Some(ids) = self.by_scope.get_mut(scope) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_scope.remove(scope);
            }
        }
        if let Scope::Plan(plan) = scope
            && let Some(of) = self.of_plan.get_mut(plan)
        {
            of.invariants.remove(&id);
        }
    }

    /// Keeps a session at hand.
    pub(super) fn put_session(&mut self, session: Session) {
        let key = key_of(&session);
        if let Some(old) = self.sessions.get(&key)
            && old.plan != session.plan
            && let Some(of) = self.of_plan.get_mut(&old.plan)
        {
            of.sessions.remove(&key);
        }
        let of = self.of_plan.entry(session.plan).or_default();
        of.sessions.insert(key.clone());
        self.sessions.insert(key, session);
    }

    /// Keeps a violation at hand, unless its plan is not.
    pub(super) fn put_violation(&mut self, violation: Violation) {
        if self.plans.contains_key(&violation.plan_id) {
            let of = self.of_plan.entry(violation.plan_id).or_default();
            of.violations.insert(violation.id);
            self.violations.insert(violation.id, violation);
        }
    }

    /// Keeps a question at hand, unless its plan is not.
    pub(super) fn put_assent(&mut self, assent: Assent) {
        if self.plans.contains_key(&assent.plan_id) {
            let of = self.of_plan.entry(assent.plan_id).or_default();
            of.assents.insert(assent.id);
            self.assents.insert(assent.id, assent);
        }
    }

    /// Keeps a strike at hand, unless its plan is not.
    pub(super) fn put_strike(&mut self, strike: Strike) {
        if self.plans.contains_key(&strike.plan_id) {
            self.strikes.put(strike);
        }
    }

    /// The records of a plan, as an engine has them at hand.
    fn records_of(&self, plan: PlanId) -> Vec<Record> {
        let mut records: Vec<Record> = Vec::new();
        records.extend(self.plans.get(&plan).cloned().map(Record::Plan));
        records.extend(self.strikes.of(plan).cloned().map(Record::Strike));
        let readings = self.judging.readings_of(plan);
        records.extend(readings.cloned().map(Record::Reading));
        let Some(of) = self.of_plan.get(&plan) else {
            return records;
        };
        let invariants = of
            .invariants
            .iter()
            .filter_map(|id| self.invariants.get(id));
        records.extend(invariants.map(|k| Record::Invariant(k.invariant.clone())));
        let violations = of
            .violations
            .iter()
            .filter_map(|id| self.violations.get(id));
        records.extend(violations.cloned().map(Record::Violation));
        let assents = of.assents.iter().filter_map(|id| self.assents.get(id));
        records.extend(assents.cloned().map(Record::Assent));
        records
    }

    /// Lets a plan leave that has just ended; the rows of that.
    pub(super) fn leave(&mut self, plan: PlanId) -> Vec<Row> {
        if self.past.contains(&plan) || !self.has_ended(plan) {
            return Vec::new();
        }
        let mut rows: Vec<Row> = self.records_of(plan).into_iter().map(Row::Past).collect();
        let of = self.of_plan.get(&plan).into_iter();
        let sessions = of.flat_map(|of| &of.sessions);
        let sessions = sessions.filter_map(|key| self.sessions.get(key));
        rows.extend(sessions.cloned().map(Record::Session).map(Row::Past));
        rows.extend(self.judging.drop_actions(plan));
        match self.keeps {
            // Visitors stay until their call is decided.
            0 => {
                self.forget(plan);
                self.gone.push(plan);
            }
            _ => {
                self.past.insert(plan);
                self.let_go();
            }
        }
        rows
    }

    /// Takes a plan back that is not over any more; the rows of that. Its sessions stay away:
    /// they have ended.
    pub(super) fn come_back(&mut self, plan: PlanId) -> Vec<Row> {
        if !self.past.remove(&plan) {
            return Vec::new();
        }
        let back = |record| match record {
            Record::Invariant(invariant) => vec![
                Row::InvariantLeft(plan, invariant.id),
                Row::Live(Record::Invariant(invariant)),
            ],
            record => vec![Row::Back(record)],
        };
        self.records_of(plan).into_iter().flat_map(back).collect()
    }

    /// Forgets the oldest of the past plans at hand that are too many.
    pub fn let_go(&mut self) {
        while self.past.len() > self.keeps {
            let Some(plan) = self.past.pop_first() else {
                break;
            };
            self.forget(plan);
            // A mirror keeps nothing else about plans.
            if self.keeps == 0 {
                self.gone.push(plan);
            }
        }
    }

    /// The plans that were let go of since the last time.
    pub fn take_gone(&mut self) -> Vec<PlanId> {
        std::mem::take(&mut self.gone)
    }

    fn forget(&mut self, plan: PlanId) {
        self.plans.remove(&plan);
        self.strikes.drop_plan(plan);
        self.judging.drop_plan(plan);
        let of = self.of_plan.remove(&plan).unwrap_or_default();
        for id in of.invariants {
            self.drop_invariant(id);
        }
        for id in of.violations {
            self.violations.remove(&id);
        }
        for id in of.assents {
            self.assents.remove(&id);
        }
        for key in of.sessions {
            self.sessions.remove(&key);
        }
    }

    /// Has records of past plans at hand, until [`State::let_go`].
    pub fn visit(&mut self, past: Past) {
        for plan in past.plans {
            if !self.plans.contains_key(&plan.id) {
                self.past.insert(plan.id);
                self.plans.insert(plan.id, plan);
            }
        }
        past.strikes.into_iter().for_each(|v| self.put_strike(v));
        past.violations
            .into_iter()
            .for_each(|v| self.put_violation(v));
        past.assents.into_iter().for_each(|v| self.put_assent(v));
        // Their plans need not come with them.
        for invariant in past.invariants {
            if let Scope::Plan(plan) = invariant.scope
                && !self.goes_on(plan)
            {
                self.past.insert(plan);
                self.put_invariant(invariant);
            }
        }
        for session in past.sessions {
            if !self.sessions.contains_key(&key_of(&session)) {
                if !self.plans.contains_key(&session.plan) {
                    self.past.insert(session.plan);
                }
                self.put_session(session);
            }
        }
        past.readings
            .into_iter()
            .for_each(|v| self.judging.put_reading(v));
    }
}
