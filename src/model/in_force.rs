//! Which invariants a reconciliation found in force, and what holds each of them.

use serde::{Deserialize, Serialize};

use super::{DecisionId, Enforcement, Invariant, InvariantId, Layer};

/// What holds an invariant that is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// The agent is told of it, and nobody judges.
    Told,
    /// Every attempt is checked before it happens.
    Checked,
    /// A person is asked before each change.
    Asked,
    /// A judge reads what was done.
    Judged,
}

impl Holding {
    /// What an enforcement record says of it while it holds.
    pub fn response(self) -> &'static str {
        match self {
            Self::Told => "told to the agent; unjudged",
            Self::Checked => "checked before every attempt",
            Self::Asked => "a person is asked before each change",
            Self::Judged => "read by a judge at its checkpoints",
        }
    }
}

/// A set of invariants in force, by what holds them; each list is in the order of age.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<InvariantId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<InvariantId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<InvariantId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<InvariantId>,
}

impl InForce {
    /// The set of some invariants.
    pub fn of<'a>(invariants: impl Iterator<Item = &'a Invariant>) -> Self {
        let mut set = Self::default();
        for invariant in invariants {
            let list = match invariant.layer {
                Layer::Plain => &mut set.told,
                Layer::Letter(_) => &mut set.checked,
                Layer::Assent { .. } => &mut set.asked,
                Layer::Judgment { .. } => &mut set.judged,
            };
            list.push(invariant.id);
        }
        for list in [
            &mut set.told,
            &mut set.checked,
            &mut set.asked,
            &mut set.judged,
        ] {
            list.sort();
        }
        set
    }

    /// Each invariant with what holds it, in the order of age.
    pub fn each(&self) -> Vec<(InvariantId, Holding)> {
        let lists = [
            (&self.told, Holding::Told),
            (&self.checked, Holding::Checked),
            (&self.asked, Holding::Asked),
            (&self.judged, Holding::Judged),
        ];
        let mut all: Vec<_> = lists
            .into_iter()
            .flat_map(|(ids, holding)| ids.iter().map(move |id| (*id, holding)))
            .collect();
        all.sort_by_key(|(id, _)| *id);
        all
    }

    /// The enforcement records of a reconciliation that found this set in force, and these of it
    /// violated.
    pub fn enforcements(&self, decision: DecisionId, violated: &[InvariantId]) -> Vec<Enforcement> {
        let record = |(invariant_id, holding): (InvariantId, Holding)| {
            let enforced = !violated.contains(&invariant_id);
            let response = if enforced {
                holding.response()
            } else {
                "violated"
            };
            Enforcement {
                invariant_id,
                enforced,
                actor_response: response.to_owned(),
                decision_id: decision,
            }
        };
        self.each().into_iter().map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LetterCheck, Scope};

    #[test]
    fn the_records_of_a_reconciliation_follow_from_its_set() {
        let invariant = |n: u64, layer| {
            let id = InvariantId(ulid::Ulid::from_parts(n, 1));
            Invariant::new(
                id,
                Scope::Global,
                layer,
                "text",
                jiff::Timestamp::UNIX_EPOCH,
            )
        };
        let all = [
            invariant(3, Layer::Plain),
            invariant(2, Layer::Letter(LetterCheck::Untouched("a".into()))),
            invariant(1, Layer::Plain),
        ];
        let set = InForce::of(all.iter());
        assert_eq!(set.told, [all[2].id, all[0].id]);
        let decision = DecisionId(ulid::Ulid::from_parts(9, 1));
        let records = set.enforcements(decision, &[all[0].id]);
        let told: Vec<_> = records
            .iter()
            .map(|r| (r.invariant_id, r.enforced, r.actor_response.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (all[2].id, true, "told to the agent; unjudged"),
                (all[1].id, true, "checked before every attempt"),
                (all[0].id, false, "violated"),
            ]
        );
        let json = serde_json::to_string(&InForce::of([].into_iter())).unwrap();
        assert_eq!(json, "{}");
    }
}
