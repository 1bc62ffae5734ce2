//! The merge: which of several copies of an invariant is in force.
//!
//! Copies are invariants with the same key. Of these a non-overridable global wins; else the copy
//! of the strongest scope (plan, action, project, global); else one that was attached directly
//! over one that `plan use` copied from an action; else the older one. Then invariants that
//! contradict each other are settled by the same strength.

use std::{cmp::Reverse, collections::HashMap, sync::Arc};

use super::{
    automaton::Surface,
    conflict::{Contradiction, contradictions},
    normalise::{Key, KeyedInvariant},
};
use crate::model::{ConflictRecord, Invariant, Origin, Severity};

/// A copy that another one displaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadow {
    pub loser: Arc<KeyedInvariant>,
    pub winner: Arc<KeyedInvariant>,
    /// Such as `plan scope > project scope` or `non-overridable global`.
    pub rationale: String,
    /// Why both cannot be in force, for two that are no copies of each other.
    pub contradiction: Option<String>,
}

/// The outcome of a merge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// In force: by rank, highest first, and within a scope by age.
    pub effective: Vec<Arc<KeyedInvariant>>,
    /// Displaced, in the same order.
    pub shadowed: Vec<Shadow>,
    /// Contradictions that precedence does not settle: a person must edit one.
    pub unresolved: Vec<Contradiction>,
}

/// Merges what was collected for one plan: what is in force, what is displaced and by what, and
/// what contradicts each other. Input order does not matter. Linear in the number of invariants,
/// but for the proofs of contradictions.
pub fn merge(collected: &[Arc<KeyedInvariant>]) -> Merged {
    let mut winners: HashMap<&Key, &Arc<KeyedInvariant>> = HashMap::with_capacity(collected.len());
    for candidate in collected {
        winners
            .entry(&candidate.key)
            .and_modify(|best| {
                if strength(&candidate.invariant) > strength(&best.invariant) {
                    *best = candidate;
                }
            })
            .or_insert(candidate);
    }
    let mut merged = Merged::default();
    // A second pass, since the last candidate of a key may be its winner.
    for candidate in collected {
        let winner = winners[&candidate.key];
        if winner.invariant.id == candidate.invariant.id {
            merged.effective.push(Arc::clone(candidate));
        } else {
            merged.shadowed.push(Shadow {
                loser: Arc::clone(candidate),
                winner: Arc::clone(winner),
                rationale: rationale(&winner.invariant, &candidate.invariant),
                contradiction: None,
            });
        }
    }
    settle(&mut merged);
    merged
        .effective
        .sort_by_key(|k| listing_order(&k.invariant));
    merged
        .shadowed
        .sort_by_key(|s| listing_order(&s.loser.invariant));
    merged
}

/// Of two that contradict each other the weaker is overridden; equal ones stay unresolved.
///
/// It comes after the copies are merged: a copy that is displaced cannot contradict anything.
fn settle(merged: &mut Merged) {
    // Only an error blocks an edit, so that two warnings leave everything to be edited.
    let errors = merged.effective.iter().map(|k| &k.invariant);
    let errors = errors.filter(|i| i.severity == Severity::Error);
    // A plan may have several directories, so the merge does not know where its project lies.
    // Absolute patterns are vague then, and prove no contradiction.
    let found = contradictions(errors, &Surface::unknown());
    for contradiction in found {
        if contradiction.unresolved {
            merged.unresolved.push(contradiction);
            continue;
        }
        let place = |id| merged.effective.iter().position(|k| k.invariant.id == id);
        // Several may explain it together; the record names the strongest.
        let strongest = contradiction.stronger.first().copied();
        let (Some(weaker), Some(stronger)) =
            (place(contradiction.weaker), strongest.and_then(place))
        else {
            continue;
        };
        let winner = Arc::clone(&merged.effective[stronger]);
        let loser = merged.effective.remove(weaker);
        merged.shadowed.push(Shadow {
            rationale: rationale(&winner.invariant, &loser.invariant),
            winner,
            loser,
            contradiction: Some(contradiction.proof),
        });
    }
}

/// A greater value wins: a non-overridable global, then rank, then a direct copy over a promoted
/// one, then age. The id makes it a total order, so that two copies never tie and the input order
/// cannot decide.
fn strength(invariant: &Invariant) -> impl Ord + use<> {
    let promoted = matches!(invariant.origin, Origin::PromotedFrom(_));
    (
        invariant.is_locked(),
        invariant.scope.kind().rank(),
        !promoted,
        Reverse(invariant.id),
    )
}

/// The order in which an effective set is listed: by rank, highest first, and within a scope by
/// age. It is not the order of strength: a non-overridable global wins and is listed last.
pub fn listing_order(invariant: &Invariant) -> impl Ord + use<> {
    (Reverse(invariant.scope.kind().rank()), invariant.id)
}

fn rationale(winner: &Invariant, loser: &Invariant) -> String {
    let (high, low) = (winner.scope.kind(), loser.scope.kind());
    if winner.is_locked() && !(loser.is_locked()) {
        "non-overridable global".to_owned()
    } else if high != low {
        format!("{high} scope > {low} scope")
    } else if matches!(loser.origin, Origin::PromotedFrom(_))
        && !matches!(winner.origin, Origin::PromotedFrom(_))
    {
        format!("attached to the {high} directly > promoted")
    } else {
        format!("older {high} invariant > newer one")
    }
}

impl Shadow {
    /// The conflict record that a reconciliation reports of it: both ids, both scopes, and a
    /// sentence on who took precedence.
    pub fn record(&self) -> ConflictRecord {
        let (winner, loser) = (&self.winner.invariant, &self.loser.invariant);
        let (high, low) = (winner.scope.kind(), loser.scope.kind());
        let who = if winner.is_locked() && !loser.is_locked() {
            "non-overridable global".to_owned()
        } else if high == low {
            format!("{high}-scope (older or direct)")
        } else {
            format!("{high}-scope")
        };
        ConflictRecord {
            text: loser.text.clone(),
            winner_id: winner.id,
            loser_id: loser.id,
            winner_scope: high,
            loser_scope: low,
            resolution: format!("{who} invariant takes precedence"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{InvariantId, Layer, LetterCheck, Scope};
    use jiff::Timestamp;
    use ulid::Ulid;

    fn invariant(age: u64, scope: Scope, text: &str) -> Invariant {
        Invariant::new(
            InvariantId(Ulid::from_parts(age, 0)),
            scope,
            Layer::Plain,
            text,
            Timestamp::UNIX_EPOCH,
        )
    }

    fn project() -> Scope {
        Scope::Project("myapp".parse().unwrap())
    }

    fn action() -> Scope {
        Scope::Action("local/code-coverage".parse().unwrap())
    }

    fn plan() -> Scope {
        Scope::Plan("01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap())
    }

    fn run(invariants: Vec<Invariant>) -> Merged {
        merge(
            &invariants
                .into_iter()
                .map(KeyedInvariant::new)
                .collect::<Vec<_>>(),
        )
    }

    fn texts(merged: &Merged) -> Vec<(String, String)> {
        merged
            .effective
            .iter()
            .map(|k| {
                (
                    k.invariant.text.clone(),
                    k.invariant.scope.kind().to_string(),
                )
            })
            .collect()
    }

    #[test]
    fn a_worked_example_over_three_scopes() {
        let merged = run(vec![
            invariant(1, Scope::Global, "Never delete production data"),
            invariant(2, Scope::Global, "Log all changes"),
            invariant(3, project(), "All API changes need tests"),
            invariant(4, project(), "Log all changes"),
            invariant(5, plan(), "Use Python 3.13 only"),
        ]);
        let expected = [
            ("Use Python 3.13 only", "plan"),
            ("All API changes need tests", "project"),
            ("Log all changes", "project"),
            ("Never delete production data", "global"),
        ];
        assert_eq!(
            texts(&merged),
            expected.map(|(t, s)| (t.to_owned(), s.to_owned()))
        );
        assert_eq!(merged.shadowed.len(), 1);
        let shadow = &merged.shadowed[0];
        assert_eq!(shadow.loser.invariant.scope, Scope::Global);
        assert_eq!(shadow.rationale, "project scope > global scope");
        assert_eq!(
            shadow.record().resolution,
            "project-scope invariant takes precedence"
        );
    }

    #[test]
    fn every_pair_of_scopes_goes_to_the_higher_rank() {
        let scopes = [Scope::Global, project(), action(), plan()];
        for (low, lower) in scopes.iter().enumerate() {
            for higher in &scopes[low + 1..] {
                let merged = run(vec![
                    invariant(1, lower.clone(), "Log all changes"),
                    invariant(2, higher.clone(), "log ALL changes"),
                ]);
                assert_eq!(merged.effective[0].invariant.scope, *higher);
                let expected = format!("{} scope > {} scope", higher.kind(), lower.kind());
                assert_eq!(merged.shadowed[0].rationale, expected);
            }
        }
    }

    #[test]
    fn a_non_overridable_global_beats_every_scope() {
        let mut locked = invariant(9, Scope::Global, "Never delete production data");
        locked.non_overridable = true;
        for other in [project(), action(), plan(), Scope::Global] {
            let merged = run(vec![
                invariant(1, other, "never delete production data"),
                locked.clone(),
            ]);
            assert_eq!(merged.effective.len(), 1);
            assert_eq!(merged.effective[0].invariant.id, locked.id);
            assert_eq!(merged.shadowed[0].rationale, "non-overridable global");
        }
    }

    #[test]
    fn non_overridable_has_no_effect_on_other_scopes() {
        let mut project_copy = invariant(1, project(), "x");
        project_copy.non_overridable = true;
        let merged = run(vec![project_copy, invariant(2, plan(), "x")]);
        assert_eq!(merged.effective[0].invariant.scope, plan());
    }

    #[test]
    fn equal_rank_goes_to_the_direct_copy_and_then_to_the_older() {
        let mut promoted = invariant(1, plan(), "x");
        promoted.origin = Origin::PromotedFrom("local/a".parse().unwrap());
        let merged = run(vec![promoted, invariant(2, plan(), "x")]);
        assert_eq!(merged.effective[0].invariant.id.0.timestamp_ms(), 2);
        assert_eq!(
            merged.shadowed[0].rationale,
            "attached to the plan directly > promoted"
        );

        let merged = run(vec![invariant(2, plan(), "x"), invariant(1, plan(), "x")]);
        assert_eq!(merged.effective[0].invariant.id.0.timestamp_ms(), 1);
        assert_eq!(
            merged.shadowed[0].rationale,
            "older plan invariant > newer one"
        );
    }

    #[test]
    fn letter_checks_merge_by_their_patterns_and_not_by_their_text() {
        let letter = |age, scope, patterns: &[&str]| {
            let mut i = invariant(age, scope, &format!("text {age}"));
            i.layer = Layer::Letter(LetterCheck::NoEditsOutside(
                patterns.iter().map(|p| (*p).to_owned()).collect(),
            ));
            i
        };
        let merged = run(vec![
            letter(1, Scope::Global, &["src/**", "docs/*.md"]),
            letter(2, plan(), &["docs/*.md", "src/", "src/**"]),
            letter(3, project(), &["src/**"]),
        ]);
        assert_eq!(merged.effective.len(), 2);
        assert_eq!(merged.shadowed[0].loser.invariant.scope, Scope::Global);
    }

    #[test]
    fn input_order_does_not_matter() {
        let all = vec![
            invariant(1, Scope::Global, "a"),
            invariant(2, project(), "a"),
            invariant(3, plan(), "b"),
            invariant(4, Scope::Global, "b"),
        ];
        let forward = run(all.clone());
        let backward = run(all.into_iter().rev().collect());
        assert_eq!(forward, backward);
    }
}
