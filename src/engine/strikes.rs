//! The strike counts of all plans, and what a screen asks of them at every frame without looking at
//! all of them.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::model::{InvariantId, PlanId, Signature, Strike};

/// The name of one strike count.
pub type StrikeKey = (PlanId, InvariantId, Signature);

/// How many counts of a plan are at hand as its latest.
const LATEST: usize = 200;

/// Strike counts by plan, invariant and action signature.
#[derive(Debug, Clone, Default)]
pub struct Strikes {
    all: BTreeMap<StrikeKey, Strike>,
    /// The highest count of each invariant in each plan.
    worst: HashMap<(PlanId, InvariantId), StrikeKey>,
    /// The counts of each plan that moved last, newest first.
    latest: HashMap<PlanId, VecDeque<StrikeKey>>,
}

impl Strikes {
    /// The counts that a store or an engine told.
    pub fn new(mut strikes: Vec<Strike>) -> Self {
        let mut out = Self::default();
        strikes.sort_by_key(|s| s.last_at);
        strikes.into_iter().for_each(|s| out.put(s));
        out
    }

    /// One count.
    pub fn get(&self, key: &StrikeKey) -> Option<&Strike> {
        self.all.get(key)
    }

    /// All counts of all plans.
    pub fn values(&self) -> impl Iterator<Item = &Strike> {
        self.all.values()
    }

    /// The counts of one plan.
    pub fn of(&self, plan: PlanId) -> impl Iterator<Item = &Strike> {
        let first = (
            plan,
            InvariantId(ulid::Ulid::nil()),
            Signature(String::new()),
        );
        let from = self
            .all
            .range(first..)
            .take_while(move |(key, _)| key.0 == plan);
        from.map(|(_, strike)| strike)
    }

    /// The highest count of one invariant in a plan.
    pub fn worst(&self, plan: PlanId, invariant: InvariantId) -> Option<&Strike> {
        self.all.get(self.worst.get(&(plan, invariant))?)
    }

    /// The counts of a plan that moved last, newest first, at most 200 of them.
    pub fn latest(&self, plan: PlanId) -> impl Iterator<Item = &Strike> {
        let keys = self.latest.get(&plan).into_iter().flatten();
        keys.filter_map(|key| self.all.get(key))
    }

    /// Takes a count in, new or changed.
    pub fn put(&mut self, strike: Strike) {
        let key = (
            strike.plan_id,
            strike.invariant_id,
            strike.signature.clone(),
        );
        let latest = self.latest.entry(strike.plan_id).or_default();
        // The same action again is the newest once more.
        if latest.front() != Some(&key) {
            if self.all.contains_key(&key) {
                latest.retain(|k| *k != key);
            }
            latest.push_front(key.clone());
            latest.truncate(LATEST);
        }
        let place = (strike.plan_id, strike.invariant_id);
        let best = self.worst.get(&place).and_then(|k| self.all.get(k));
        if best.is_none_or(|best| strike.count >= best.count) {
            self.worst.insert(place, key.clone());
        }
        self.all.insert(key, strike);
    }

    /// Forgets all counts of a plan.
    pub fn drop_plan(&mut self, plan: PlanId) {
        let keys: Vec<StrikeKey> = self
            .of(plan)
            .map(|s| (s.plan_id, s.invariant_id, s.signature.clone()))
            .collect();
        for key in keys {
            self.worst.remove(&(key.0, key.1));
            self.all.remove(&key);
        }
        self.latest.remove(&plan);
    }

    /// Starts a count again.
    pub fn clear(&mut self, key: &StrikeKey) {
        self.all.remove(key);
        if let Some(latest) = self.latest.get_mut(&key.0) {
            latest.retain(|k| k != key);
        }
        let place = (key.0, key.1);
        if self.worst.get(&place) == Some(key) {
            let left = self.of(key.0).filter(|s| s.invariant_id == key.1);
            let best = left.max_by_key(|s| s.count);
            let best = best.map(|s| (s.plan_id, s.invariant_id, s.signature.clone()));
            match best {
                Some(best) => self.worst.insert(place, best),
                None => self.worst.remove(&place),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strike(path: &str, count: u32) -> Strike {
        Strike {
            plan_id: PlanId(ulid::Ulid::from_parts(1, 1)),
            invariant_id: InvariantId(ulid::Ulid::from_parts(2, 2)),
            signature: Signature::of_path(path),
            count,
            limit: Some(3),
            last_at: jiff::Timestamp::UNIX_EPOCH,
            nonces: Vec::new(),
        }
    }

    #[test]
    fn the_worst_and_the_latest_are_known_without_looking_at_all() {
        let mut strikes = Strikes::new(vec![strike("a", 1), strike("b", 2)]);
        let one = strike("a", 1);
        let worst = |s: &Strikes| s.worst(one.plan_id, one.invariant_id).map(|s| s.count);
        let latest = |s: &Strikes| {
            let all = s
                .latest(one.plan_id)
                .map(|s| s.signature.target().to_owned());
            all.collect::<Vec<_>>()
        };
        assert_eq!(
            (worst(&strikes), latest(&strikes)),
            (Some(2), vec!["b".into(), "a".into()])
        );
        strikes.put(strike("a", 3));
        assert_eq!(
            (worst(&strikes), latest(&strikes)),
            (Some(3), vec!["a".into(), "b".into()])
        );
        let key = (one.plan_id, one.invariant_id, one.signature.clone());
        strikes.clear(&key);
        assert_eq!(
            (worst(&strikes), latest(&strikes)),
            (Some(2), vec!["b".into()])
        );
        for n in 0..300 {
            strikes.put(strike(&format!("f{n}"), 1));
        }
        assert_eq!(latest(&strikes).len(), 200);
        assert_eq!(strikes.of(one.plan_id).count(), 301);
    }
}
