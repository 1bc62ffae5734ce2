//! What is known of judging: the actions that have to be read, the checks that were made, and
//! what they cost.

use std::collections::{BTreeMap, HashMap, VecDeque};

use jiff::{Timestamp, tz::Offset};

use crate::{
    model::{Attempt, CheckOutcome, Effect, InvariantId, JudgeCheck, JudgedAction, Money, PlanId},
    store::Row,
};

/// How many actions of a plan wait for a judge at most; older ones are dropped.
const MAX_ACTIONS: usize = 300;

/// How many checks are at hand, for the cache and the screen.
const RECENT: usize = 500;

/// What was spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub money: Money,
    pub checks: u32,
}

/// Actions, checks and costs.
#[derive(Debug, Default)]
pub struct Judging {
    actions: BTreeMap<(PlanId, u64), JudgedAction>,
    /// The last action that was read, for each clause of a plan.
    read: HashMap<(PlanId, InvariantId), u64>,
    recent: VecDeque<JudgeCheck>,
    by_plan: HashMap<PlanId, Spent>,
    by_day: HashMap<jiff::civil::Date, Spent>,
}

impl Judging {
    /// From what a store or an engine told.
    pub fn new(mut checks: Vec<JudgeCheck>, actions: Vec<JudgedAction>) -> Self {
        let mut out = Self::default();
        out.actions
            .extend(actions.into_iter().map(|a| ((a.plan_id, a.seq), a)));
        checks.sort_by_key(|c| c.id);
        for check in checks {
            out.put(check);
        }
        out
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

    /// Takes in a check.
    pub fn put(&mut self, check: JudgeCheck) {
        if check.outcome != CheckOutcome::Failed {
            let read = self
                .read
                .entry((check.plan_id, check.invariant_id))
                .or_default();
            *read = (*read).max(check.upto);
        }
        let calls = if check.cached {
            0
        } else {
            check.answers.len() as u32
        };
        let day = day_of(check.at);
        for spent in [
            self.by_plan.entry(check.plan_id).or_default(),
            self.by_day.entry(day).or_default(),
        ] {
            spent.money = spent.money.plus(check.cost);
            spent.checks = spent.checks.saturating_add(calls);
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(check);
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
        let read = self.read.get(&(plan, invariant)).copied().unwrap_or(0);
        self.of(plan, read).cloned().collect()
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

    /// The checks of a plan at hand, youngest first.
    pub fn checks_of(&self, plan: PlanId) -> impl Iterator<Item = &JudgeCheck> {
        self.recent.iter().rev().filter(move |c| c.plan_id == plan)
    }

    /// What the checks of a plan cost so far.
    pub fn spent_by(&self, plan: PlanId) -> Spent {
        self.by_plan.get(&plan).copied().unwrap_or_default()
    }

    /// What all checks of the day of `now` (UTC) cost so far.
    pub fn spent_on_day(&self, now: Timestamp) -> Spent {
        self.by_day.get(&day_of(now)).copied().unwrap_or_default()
    }
}

fn day_of(at: Timestamp) -> jiff::civil::Date {
    Offset::UTC.to_datetime(at).date()
}
