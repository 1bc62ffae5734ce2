//! What is known of judging: the actions that have to be read, the checks that were made, and
//! what they cost.

use std::collections::{BTreeMap, VecDeque};

use jiff::{Timestamp, civil::Date};

use crate::{
    model::{
        Attempt, CheckOutcome, Cost, DayCost, Effect, InvariantId, JudgeCheck, JudgeReading,
        JudgedAction, PlanId, day_of,
    },
    store::{Record, Row},
};

/// How many actions of a plan wait for a judge at most; older ones are dropped.
const MAX_ACTIONS: usize = 300;

/// How many checks are at hand, for the cache and the screen.
pub const RECENT: usize = 500;

/// Actions, checks and costs.
#[derive(Debug, Default)]
pub struct Judging {
    actions: BTreeMap<(PlanId, u64), JudgedAction>,
    /// How far each clause of a plan has been held against what was done.
    readings: BTreeMap<(PlanId, InvariantId), JudgeReading>,
    recent: VecDeque<JudgeCheck>,
    by_day: BTreeMap<Date, Cost>,
}

impl Judging {
    /// From what a store or an engine told: how far was read, what was spent, and the checks made
    /// last.
    pub fn new(
        readings: Vec<JudgeReading>,
        day_costs: Vec<DayCost>,
        recent: Vec<JudgeCheck>,
    ) -> Self {
        let mut judging = Self {
            by_day: day_costs.into_iter().map(|d| (d.day, d.cost)).collect(),
            recent: recent.into(),
            ..Self::default()
        };
        readings.into_iter().for_each(|r| judging.put_reading(r));
        judging
    }

    /// Takes in actions that a judge has to read.
    pub fn put_actions(&mut self, actions: Vec<JudgedAction>) {
        let keyed = actions.into_iter().map(|a| ((a.plan_id, a.seq), a));
        self.actions.extend(keyed);
    }

    /// Takes in how far a judge has read.
    pub fn put_reading(&mut self, reading: JudgeReading) {
        let key = (reading.plan_id, reading.invariant_id);
        self.readings.insert(key, reading);
    }

    /// Takes in the checks that were made last, oldest first.
    pub fn recall(&mut self, checks: Vec<JudgeCheck>) {
        self.recent = checks.into();
    }

    /// Takes in an attempt that was let through; the rows that change.
    pub fn acted(&mut self, plan: PlanId, seq: u64, attempt: &Attempt) -> Vec<Row> {
        let Some(change) = &attempt.change else {
            return Vec::new();
        };
        let acts = |e: &Effect| !matches!(e, Effect::Read { .. });
        if !attempt.may_write && !attempt.effects.iter().any(acts) {
            return Vec::new();
        }
        let paths = attempt.effects.iter().flat_map(Effect::changed_paths);
        let action = JudgedAction {
            plan_id: plan,
            seq,
            tool: attempt.tool.clone(),
            paths: paths.map(|p| p.display().to_string()).collect(),
            change: change.shown.clone(),
        };
        let mut rows = vec![Row::JudgedAction(action.clone())];
        self.actions.insert((plan, seq), action);
        let own: Vec<u64> = self.of(plan, 0).map(|a| a.seq).collect();
        for seq in own.iter().take(own.len().saturating_sub(MAX_ACTIONS)) {
            self.actions.remove(&(plan, *seq));
            rows.push(Row::JudgedActionDropped(plan, *seq));
        }
        rows
    }

    /// Takes in a check; the rows that change. Nothing more is read for a plan that does not go
    /// on.
    pub fn put(&mut self, check: JudgeCheck, goes_on: bool) -> Vec<Row> {
        let mut rows = vec![Row::Check(check.clone())];
        if goes_on {
            let reading = self
                .readings
                .entry((check.plan_id, check.invariant_id))
                .or_insert_with(|| JudgeReading::new(check.plan_id, check.invariant_id));
            reading.take(&check);
            rows.push(Row::Live(Record::Reading(reading.clone())));
        }
        let cost = self.by_day.entry(check.day()).or_default();
        cost.add(&check);
        rows.push(Row::DayCost(DayCost {
            day: check.day(),
            cost: *cost,
        }));
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(check);
        rows
    }

    /// Drops the actions of a plan that nobody will read any more; the rows of that.
    pub fn drop_actions(&mut self, plan: PlanId) -> Vec<Row> {
        let seqs: Vec<u64> = self.of(plan, 0).map(|a| a.seq).collect();
        let mut rows = Vec::new();
        for seq in seqs {
            self.actions.remove(&(plan, seq));
            rows.push(Row::JudgedActionDropped(plan, seq));
        }
        rows
    }

    /// Forgets how far was read in a plan.
    pub fn drop_plan(&mut self, plan: PlanId) {
        let keys: Vec<_> = self
            .readings_of(plan)
            .map(|r| (r.plan_id, r.invariant_id))
            .collect();
        for key in keys {
            self.readings.remove(&key);
        }
    }

    /// How far was read, for each clause of each plan.
    pub fn readings(&self) -> impl Iterator<Item = &JudgeReading> {
        self.readings.values()
    }

    /// How far was read in a plan, for each clause.
    pub fn readings_of(&self, plan: PlanId) -> impl Iterator<Item = &JudgeReading> {
        let first = (plan, InvariantId(ulid::Ulid::nil()));
        let from = self.readings.range(first..);
        from.take_while(move |(key, _)| key.0 == plan)
            .map(|(_, r)| r)
    }

    /// What the checks of each day cost.
    pub fn day_costs(&self) -> impl Iterator<Item = DayCost> {
        let each = self.by_day.iter();
        each.map(|(day, cost)| DayCost {
            day: *day,
            cost: *cost,
        })
    }

    /// All actions that wait for a judge, for tests that compare states.
    #[cfg(test)]
    pub(crate) fn actions(&self) -> impl Iterator<Item = &JudgedAction> {
        self.actions.values()
    }

    /// The actions of a plan after an event, oldest first.
    pub fn of(&self, plan: PlanId, after: u64) -> impl Iterator<Item = &JudgedAction> {
        let from = (plan, after.saturating_add(u64::from(after > 0)));
        self.actions.range(from..=(plan, u64::MAX)).map(|(_, a)| a)
    }

    /// What a clause has not been held against yet.
    pub fn due(&self, plan: PlanId, invariant: InvariantId) -> Vec<JudgedAction> {
        let read = self.reading(plan, invariant).map_or(0, |r| r.upto);
        self.of(plan, read).cloned().collect()
    }

    /// How far a clause of a plan has been held against what was done; nothing before the first
    /// check.
    pub fn reading(&self, plan: PlanId, invariant: InvariantId) -> Option<&JudgeReading> {
        self.readings.get(&(plan, invariant))
    }

    /// The same question with a readable answer, asked before.
    pub fn answered(&self, digest: &str) -> Option<&JudgeCheck> {
        let mut all = self.recent.iter().rev();
        all.find(|c| c.digest == digest && c.outcome != CheckOutcome::Failed)
    }

    /// The checks at hand, oldest first.
    pub fn recent(&self) -> Vec<JudgeCheck> {
        self.recent.iter().cloned().collect()
    }

    /// What the checks of a plan cost so far.
    pub fn spent_by(&self, plan: PlanId) -> Cost {
        let costs = self.readings_of(plan).map(|r| r.cost);
        costs.fold(Cost::default(), Cost::plus)
    }

    /// What all checks of the day of `now` (UTC) cost so far.
    pub fn spent_on_day(&self, now: Timestamp) -> Cost {
        self.by_day.get(&day_of(now)).copied().unwrap_or_default()
    }
}
