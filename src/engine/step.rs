//! One step of the engine: what a call is decided with besides the state, and what comes out.

use std::{path::Path, sync::Arc};

use jiff::Timestamp;
use ulid::Ulid;

use super::{
    EngineError,
    core::sets::Compiled,
    facts::{Facts, Need},
};
use crate::store::Batch;

/// The inputs of one decision besides the state, and its outputs.
pub struct Step<'a> {
    /// When the engine took the call up; every record of the call carries it.
    pub now: Timestamp,
    /// What is known of the disk.
    pub facts: &'a Facts,
    /// Whether more than so many seconds have passed since the call was taken up.
    pub late: &'a dyn Fn(u32) -> bool,
    /// Whether the store has met the set in force that has this digest.
    pub knows_set: &'a dyn Fn(&str) -> bool,
    /// Events and rows, to be made durable together.
    pub batch: &'a mut Batch,
    /// What is to be done before the call is answered.
    pub effects: Effects,
}

impl<'a> Step<'a> {
    /// A step at `now` that knows `facts` and writes into `batch`.
    pub fn new(
        now: Timestamp,
        facts: &'a Facts,
        late: &'a dyn Fn(u32) -> bool,
        knows_set: &'a dyn Fn(&str) -> bool,
        batch: &'a mut Batch,
    ) -> Self {
        Self {
            now,
            facts,
            late,
            knows_set,
            batch,
            effects: Effects::default(),
        }
    }

    /// The project directory that the call comes from; empty when it does not say.
    pub fn here(&self) -> &'a Path {
        &self.facts.root.written
    }
}

/// What is done beside the engine before a call is answered.
#[derive(Debug, Default)]
pub struct Effects {
    /// What this set guards counts in the tree of its project from now on.
    pub(crate) guard: Option<Arc<Compiled>>,
}

/// Why a call was not decided. Nothing is recorded when a fact is missing.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// What is wrong, or what blocks.
    Refused(EngineError),
    /// The decision lacks a fact.
    Needs(Need),
}

impl From<EngineError> for Stop {
    fn from(error: EngineError) -> Self {
        Self::Refused(error)
    }
}

impl From<Need> for Stop {
    fn from(need: Need) -> Self {
        Self::Needs(need)
    }
}

/// Gives ids that order by age, even when the clock goes back. Their random part follows from a
/// seed, so that a test gets the same ids for the same calls.
#[derive(Debug)]
pub(crate) struct Ids {
    last: Ulid,
    chance: u64,
}

impl Ids {
    /// Ids whose random part follows from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            last: Ulid::nil(),
            chance: seed,
        }
    }

    /// A new id, greater than all that this source gave before.
    pub(crate) fn next(&mut self, now: Timestamp) -> Ulid {
        let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
        let random = u128::from(self.draw()) << 64 | u128::from(self.draw());
        let fresh = Ulid::from_parts(millis, random);
        self.last = match fresh > self.last {
            true => fresh,
            false => self.last.increment().unwrap_or(fresh),
        };
        self.last
    }

    /// SplitMix64, which needs no more than one word of state.
    fn draw(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.chance;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_order_by_age_even_when_the_clock_goes_back() {
        let mut ids = Ids::new(7);
        let early = Timestamp::from_millisecond(1_000).unwrap();
        let late = Timestamp::from_millisecond(2_000).unwrap();
        let given: Vec<Ulid> = [early, early, late, early, late]
            .into_iter()
            .map(|now| ids.next(now))
            .collect();
        assert!(given.is_sorted());
        assert_eq!(given[2].timestamp_ms(), 2_000);
        let mut again = Ids::new(7);
        assert_eq!(again.next(early), given[0], "the seed decides");
    }
}
