//! What is read only when it is asked for: records of plans that are over, and what an engine
//! recalls for those who watch.

use std::collections::HashSet;

use redb::ReadableTable;
use serde::de::DeserializeOwned;

use super::{
    Past, Store, StoreError,
    tables::{
        CHECKS, EVENTS, NOTABLE, PAST_ASSENTS, PAST_INVARIANTS, PAST_PLANS, PAST_READINGS,
        PAST_SESSIONS, PAST_STRIKES, PAST_VIOLATIONS, RowTable, session_key_of,
    },
};
use invar_model::{
    Assent, AssentId, Event, Invariant, InvariantId, JudgeCheck, Plan, PlanId, Session, Strike,
    Violation, ViolationId,
};

/// Ids from the first to the second, both included.
pub type IdRange = ([u8; 16], [u8; 16]);

impl Store {
    /// All plans that are over, oldest first.
    ///
    /// # Errors
    /// A record that cannot be read; here and below.
    pub fn past_plans(&self) -> Result<Vec<Plan>, StoreError> {
        self.all(PAST_PLANS)
    }

    /// All violations in plans that are over.
    ///
    /// # Errors
    /// As above.
    pub fn past_violations(&self) -> Result<Vec<Violation>, StoreError> {
        self.all(PAST_VIOLATIONS)
    }

    /// All strikes in plans that are over.
    ///
    /// # Errors
    /// As above.
    pub fn past_strikes(&self) -> Result<Vec<Strike>, StoreError> {
        self.all(PAST_STRIKES)
    }

    /// All questions in plans that are over.
    ///
    /// # Errors
    /// As above.
    pub fn past_assents(&self) -> Result<Vec<Assent>, StoreError> {
        self.all(PAST_ASSENTS)
    }

    /// All invariants of plans that are over.
    ///
    /// # Errors
    /// As above.
    pub fn past_invariants(&self) -> Result<Vec<Invariant>, StoreError> {
        self.all(PAST_INVARIANTS)
    }

    /// Up to `limit` plans that are over, by their ids.
    ///
    /// # Errors
    /// As above.
    pub fn past_plans_in(&self, ids: IdRange, limit: usize) -> Result<Vec<Plan>, StoreError> {
        self.between(PAST_PLANS, ids, limit)
    }

    /// Up to `limit` invariants of plans that are over, by their ids.
    ///
    /// # Errors
    /// As above.
    pub fn past_invariants_in(
        &self,
        ids: IdRange,
        limit: usize,
    ) -> Result<Vec<Invariant>, StoreError> {
        let mut found = Vec::new();
        for (plan, id) in self.owners(PAST_INVARIANTS, ids, limit)? {
            let key = [plan.to_bytes(), id.to_bytes()].concat();
            found.extend(self.one(PAST_INVARIANTS, &key)?);
        }
        Ok(found)
    }

    /// Those of some invariants that belong to plans that are over.
    ///
    /// # Errors
    /// As above.
    pub fn past_invariants_named(
        &self,
        ids: &HashSet<InvariantId>,
    ) -> Result<Vec<Invariant>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for (plan, id) in self.owners(PAST_INVARIANTS, ([0; 16], [0xff; 16]), usize::MAX)? {
            if ids.contains(&InvariantId(id)) {
                let key = [plan.to_bytes(), id.to_bytes()].concat();
                found.extend(self.one(PAST_INVARIANTS, &key)?);
            }
        }
        Ok(found)
    }

    /// The session of that name, when its plan is over.
    ///
    /// # Errors
    /// As above.
    pub fn past_session(&self, agent: &str, session: &str) -> Result<Option<Session>, StoreError> {
        self.one(PAST_SESSIONS, &session_key_of(agent, session))
    }

    /// Up to `limit` plans that are over and have a violation with an id in that range.
    ///
    /// # Errors
    /// As above.
    pub fn plans_of_past_violations(
        &self,
        ids: IdRange,
        limit: usize,
    ) -> Result<Vec<(PlanId, ViolationId)>, StoreError> {
        let found = self.owners(PAST_VIOLATIONS, ids, limit)?;
        let typed = |(plan, id): (ulid::Ulid, ulid::Ulid)| (PlanId(plan), ViolationId(id));
        Ok(found.into_iter().map(typed).collect())
    }

    /// Up to `limit` plans that are over and have a question with an id in that range.
    ///
    /// # Errors
    /// As above.
    pub fn plans_of_past_assents(
        &self,
        ids: IdRange,
        limit: usize,
    ) -> Result<Vec<(PlanId, AssentId)>, StoreError> {
        let found = self.owners(PAST_ASSENTS, ids, limit)?;
        let typed = |(plan, id): (ulid::Ulid, ulid::Ulid)| (PlanId(plan), AssentId(id));
        Ok(found.into_iter().map(typed).collect())
    }

    /// All that is kept of a plan that is over, but for its sessions. Nothing for another plan.
    ///
    /// # Errors
    /// As above.
    pub fn past_of(&self, plan: PlanId) -> Result<Past, StoreError> {
        let key = plan.to_bytes();
        let Some(record) = self.one::<Plan>(PAST_PLANS, &key)? else {
            return Ok(Past::default());
        };
        Ok(Past {
            plans: vec![record],
            strikes: self.range(PAST_STRIKES, &key)?,
            violations: self.range(PAST_VIOLATIONS, &key)?,
            assents: self.range(PAST_ASSENTS, &key)?,
            readings: self.range(PAST_READINGS, &key)?,
            invariants: self.range(PAST_INVARIANTS, &key)?,
            sessions: Vec::new(),
        })
    }

    /// The `count` youngest plans that are over, with all that is kept of them.
    ///
    /// # Errors
    /// As above.
    pub fn recent_past(&self, count: usize) -> Result<Past, StoreError> {
        let plans: Vec<Plan> = self.youngest(PAST_PLANS, count)?;
        let mut past = Past::default();
        for plan in plans {
            let of = self.past_of(plan.id)?;
            past.plans.extend(of.plans);
            past.strikes.extend(of.strikes);
            past.violations.extend(of.violations);
            past.assents.extend(of.assents);
            past.readings.extend(of.readings);
            past.invariants.extend(of.invariants);
        }
        Ok(past)
    }

    /// The youngest checks of judges, oldest first.
    ///
    /// # Errors
    /// As above.
    pub fn last_checks(&self, count: usize) -> Result<Vec<JudgeCheck>, StoreError> {
        self.youngest(CHECKS, count)
    }

    /// The last notable events that the log still holds, oldest first.
    ///
    /// # Errors
    /// As above.
    pub fn last_notable(&self) -> Result<Vec<Event>, StoreError> {
        let doing = "read its log";
        let read = self.read(doing)?;
        let notable = read.open_table(NOTABLE).map_err(self.fail(doing))?;
        let events = read.open_table(EVENTS).map_err(self.fail(doing))?;
        let mut out = Vec::new();
        for row in notable.iter().map_err(self.fail(doing))? {
            let (key, _) = row.map_err(self.fail(doing))?;
            let Ok(seq) = key.value().try_into().map(u64::from_be_bytes) else {
                continue;
            };
            if let Some(value) = events.get(seq).map_err(self.fail(doing))? {
                out.push(self.event(seq, value.value())?);
            }
        }
        Ok(out)
    }

    fn one<T: DeserializeOwned>(
        &self,
        table: RowTable,
        key: &[u8],
    ) -> Result<Option<T>, StoreError> {
        let doing = "read";
        let read = self.read(doing)?;
        let open = read.open_table(table).map_err(self.fail(doing))?;
        let value = open.get(key).map_err(self.fail(doing))?;
        value
            .map(|value| self.decoded(table, key, value.value()))
            .transpose()
    }

    /// Up to `limit` values whose keys are ids in that range.
    fn between<T: DeserializeOwned>(
        &self,
        table: RowTable,
        (from, to): IdRange,
        limit: usize,
    ) -> Result<Vec<T>, StoreError> {
        let doing = "read";
        let read = self.read(doing)?;
        let open = read.open_table(table).map_err(self.fail(doing))?;
        let rows = open
            .range(from.as_slice()..=to.as_slice())
            .map_err(self.fail(doing))?;
        let mut out = Vec::new();
        for row in rows.take(limit) {
            let (key, value) = row.map_err(self.fail(doing))?;
            out.push(self.decoded(table, key.value(), value.value())?);
        }
        Ok(out)
    }

    /// The values with the greatest keys, in the order of their keys.
    fn youngest<T: DeserializeOwned>(
        &self,
        table: RowTable,
        count: usize,
    ) -> Result<Vec<T>, StoreError> {
        let doing = "read";
        let read = self.read(doing)?;
        let open = read.open_table(table).map_err(self.fail(doing))?;
        let mut out = Vec::new();
        for row in open.iter().map_err(self.fail(doing))?.rev().take(count) {
            let (key, value) = row.map_err(self.fail(doing))?;
            out.push(self.decoded(table, key.value(), value.value())?);
        }
        out.reverse();
        Ok(out)
    }

    /// The plans of records whose own ids lie in a range: keys are the plan's id, then their own.
    fn owners(
        &self,
        table: RowTable,
        (from, to): IdRange,
        limit: usize,
    ) -> Result<Vec<(ulid::Ulid, ulid::Ulid)>, StoreError> {
        let doing = "read";
        let read = self.read(doing)?;
        let open = read.open_table(table).map_err(self.fail(doing))?;
        let mut out = Vec::new();
        for row in open.iter().map_err(self.fail(doing))? {
            let (key, _) = row.map_err(self.fail(doing))?;
            let Some((plan, id)) = key.value().split_first_chunk::<16>() else {
                continue;
            };
            let Ok(id) = <[u8; 16]>::try_from(id) else {
                continue;
            };
            if (from..=to).contains(&id) {
                out.push((ulid::Ulid::from_bytes(*plan), ulid::Ulid::from_bytes(id)));
            }
            if out.len() == limit {
                break;
            }
        }
        Ok(out)
    }
}
