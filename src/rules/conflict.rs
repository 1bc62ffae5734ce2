//! Contradictions: letter checks that together leave no path to be edited, and statements that
//! say the opposite of each other.
//!
//! The letter checks are walked from the strongest to the weakest, and a path that all of them
//! allow is carried along. Usually the next check allows it too, and one look is enough. When the
//! next check forbids it, another path is searched. Searching under all checks at once would be
//! exponential in their number, so the search starts under the new check alone, and each check
//! that forbids the path it finds joins the search. When no path is left, the few that joined
//! are the explanation.

use std::{cmp::Reverse, collections::HashMap, sync::Arc};

use super::{
    automaton::{PathSet, Search, Surface, Term, Witness, find},
    polarity::{Polarity, statement},
};
use crate::model::{Invariant, InvariantId, Layer, Scope};

/// How many checks may take part in one explanation. The product of their automata grows with
/// each, and a person reads no longer list; beyond it nothing is claimed.
const MAX_EXPLANATION: usize = 24;

/// Invariants that cannot all be in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The first one, from the strongest, that cannot be kept.
    pub weaker: InvariantId,
    /// The earlier ones that explain it, none of which can be left out; the strongest first.
    pub stronger: Vec<InvariantId>,
    /// Whether precedence does not settle it: one of them has the same strength.
    pub unresolved: bool,
    /// Why they contradict, in a sentence.
    pub proof: String,
    /// A path that the weaker one allows, and one that the others do.
    pub witnesses: Option<(Witness, Witness)>,
}

/// The strength of an invariant, a greater number for a stronger one: 4 for non-overridable
/// globals, then 3 for plan, 2 action, 1 project, 0 global. Equal strength is not settled by age,
/// unlike between copies: two contradicting conditions are both meant.
pub fn strength(invariant: &Invariant) -> u8 {
    match &invariant.scope {
        Scope::Global if invariant.non_overridable => 4,
        Scope::Plan(_) => 3,
        Scope::Action(_) => 2,
        Scope::Project(_) => 1,
        Scope::Global => 0,
    }
}

/// An order in which each invariant comes before those that give way to it.
pub fn by_strength(invariant: &Invariant) -> impl Ord + use<> {
    (Reverse(strength(invariant)), invariant.id)
}

/// All contradictions among invariants: first those of letter checks, then those of wording, each
/// from the strongest invariant to the weakest. One that cannot be kept is set aside before the
/// next ones are looked at, so that it is named once and does not contradict others in turn.
///
/// What is found is proven. What is not decided (a search that grew too large, patterns whose
/// place is not known) is left out.
pub fn contradictions<'a>(
    invariants: impl Iterator<Item = &'a Invariant>,
    surface: &Surface,
) -> Vec<Contradiction> {
    let mut all: Vec<&Invariant> = invariants.collect();
    all.sort_by_key(|i| by_strength(i));
    let mut found = of_letters(&all, surface);
    found.extend(of_wording(&all));
    found
}

/// A letter invariant in the walk.
struct Kept<'a> {
    invariant: &'a Invariant,
    set: Arc<PathSet>,
}

fn of_letters(all: &[&Invariant], surface: &Surface) -> Vec<Contradiction> {
    let mut kept: Vec<Kept<'_>> = Vec::new();
    let mut carried: Option<String> = None;
    let mut found = Vec::new();
    for invariant in all {
        let Some(check) = invariant.layer.letter() else {
            continue;
        };
        let next = Kept {
            invariant,
            set: PathSet::of(check, surface),
        };
        let still = carried.as_ref().is_some_and(|path| next.set.allows(path));
        // The usual case: the path that all of them allow is a witness for this one, too.
        if still && !kept.is_empty() {
            kept.push(next);
            continue;
        }
        // First those that are strictly stronger: precedence settles such a contradiction, while
        // one with an equal would block the plan.
        let own = strength(invariant);
        let stronger = kept
            .iter()
            .take_while(|k| strength(k.invariant) > own)
            .count();
        let outcome = match explain(&kept[..stronger], &next) {
            Outcome::Possible(_) if stronger < kept.len() => explain(&kept, &next),
            outcome => outcome,
        };
        match outcome {
            Outcome::Possible(path) => {
                carried = path;
                kept.push(next);
            }
            Outcome::Impossible(members) => {
                let members: Vec<&Kept<'_>> = members.into_iter().map(|at| &kept[at]).collect();
                found.push(letter_contradiction(&members, &next));
            }
        }
    }
    found
}

enum Outcome {
    /// They go together; a path that all allow, where one could be found.
    Possible(Option<String>),
    /// They do not; the numbers of the earlier ones that explain it.
    Impossible(Vec<usize>),
}

/// Whether some path is allowed by `next` and all of `kept`; else which few of `kept` exclude it.
///
/// Each round searches under the chosen ones only. A path that it finds either satisfies all, or
/// shows one more that must be chosen. A chosen one cannot forbid the next path, so there are at
/// most [`MAX_EXPLANATION`] rounds.
fn explain(kept: &[Kept<'_>], next: &Kept<'_>) -> Outcome {
    let mut chosen: Vec<usize> = Vec::new();
    let together = |chosen: &[usize]| {
        let own = chosen.iter().map(|at| (&*kept[*at].set, true));
        let terms: Vec<Term<'_>> = own.chain([(&*next.set, true)]).collect();
        find(&terms)
    };
    loop {
        match together(&chosen) {
            Search::Undecided => return Outcome::Possible(None),
            // Empty by itself: that is a *dead* invariant, and no contradiction between two.
            Search::None if chosen.is_empty() => return Outcome::Possible(None),
            Search::None => {
                // An explanation with a part that is not needed would send a person to edit the
                // wrong invariant: each one is left out in turn, and only kept when it is needed.
                let mut at = 0;
                while at < chosen.len() && chosen.len() > 1 {
                    let mut without = chosen.clone();
                    without.remove(at);
                    match together(&without) {
                        Search::None => chosen = without,
                        _ => at += 1,
                    }
                }
                chosen.sort_unstable();
                return Outcome::Impossible(chosen);
            }
            Search::Found(Witness(path)) => {
                let forbids = |k: &Kept<'_>| !k.set.allows(&path);
                match kept.iter().position(forbids) {
                    None => return Outcome::Possible(Some(path)),
                    Some(_) if chosen.len() == MAX_EXPLANATION => return Outcome::Possible(None),
                    // It takes part already and forbids the path nevertheless: its set is vague
                    // there, so that choosing it again would not help.
                    Some(at) if chosen.contains(&at) => return Outcome::Possible(None),
                    Some(at) => chosen.push(at),
                }
            }
        }
    }
}

/// The contradiction of `next` with `members`, with a path for each side where one is found.
fn letter_contradiction(members: &[&Kept<'_>], next: &Kept<'_>) -> Contradiction {
    let path = |answer: Search| match answer {
        Search::Found(witness) => Some(witness),
        _ => None,
    };
    let theirs: Vec<Term<'_>> = members.iter().map(|k| (&*k.set, true)).collect();
    let own = path(find(&[(&*next.set, true)]));
    let listed: Vec<String> = members.iter().map(|k| sentence(k.invariant)).collect();
    let weakest = members.iter().map(|k| strength(k.invariant)).min();
    Contradiction {
        weaker: next.invariant.id,
        stronger: members.iter().map(|k| k.invariant.id).collect(),
        unresolved: weakest == Some(strength(next.invariant)),
        proof: format!(
            "no path is allowed by {} and by {}, so that nothing could be edited at all",
            listed.join(" and "),
            sentence(next.invariant)
        ),
        witnesses: own.zip(path(find(&theirs))),
    }
}

/// What a letter invariant says, for a proof.
pub fn sentence(invariant: &Invariant) -> String {
    let check = invariant.layer.letter();
    check
        .map(|c| format!("\"{}\"", c.sentence()))
        .unwrap_or_default()
}

/// Statements with the same words and the opposite sense. `all` come the strongest first. Linear:
/// only statements with the same core are compared.
fn of_wording(all: &[&Invariant]) -> Vec<Contradiction> {
    let mut kept: HashMap<String, Vec<(&Invariant, Polarity)>> = HashMap::new();
    let mut found = Vec::new();
    for invariant in all {
        if !matches!(invariant.layer, Layer::Plain | Layer::Judgment { .. }) {
            continue;
        }
        let Some(own) = statement(&invariant.text) else {
            continue;
        };
        let same = kept.entry(own.core).or_default();
        let opposite = same.iter().find(|(_, other)| other.opposes(own.polarity));
        match opposite {
            Some((stronger, _)) => found.push(Contradiction {
                weaker: invariant.id,
                stronger: vec![stronger.id],
                unresolved: strength(stronger) == strength(invariant),
                proof: format!(
                    "\"{}\" and \"{}\" say the opposite of each other",
                    stronger.text, invariant.text
                ),
                witnesses: None,
            }),
            None => same.push((invariant, own.polarity)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use ulid::Ulid;

    use super::*;
    use crate::model::{LetterCheck, PlanId};

    fn invariant(number: u64, scope: Scope, layer: Layer, text: &str) -> Invariant {
        let id = InvariantId(Ulid::from_parts(number, number.into()));
        Invariant::new(id, scope, layer, text, Timestamp::UNIX_EPOCH)
    }

    fn only(number: u64, scope: Scope, patterns: &[&str]) -> Invariant {
        let patterns = patterns.iter().map(|p| (*p).to_owned()).collect();
        let layer = Layer::Letter(LetterCheck::NoEditsOutside(patterns));
        invariant(number, scope, layer, "x")
    }

    fn untouched(number: u64, scope: Scope, pattern: &str) -> Invariant {
        let layer = Layer::Letter(LetterCheck::Untouched(pattern.into()));
        invariant(number, scope, layer, "x")
    }

    fn found(all: &[Invariant]) -> Vec<(Vec<u64>, u64, bool)> {
        let number = |id: InvariantId| id.0.timestamp_ms();
        contradictions(all.iter(), &Surface::default())
            .iter()
            .map(|c| {
                let stronger = c.stronger.iter().map(|id| number(*id)).collect();
                (stronger, number(c.weaker), c.unresolved)
            })
            .collect()
    }

    fn project() -> Scope {
        Scope::Project("local/x".parse().unwrap())
    }

    fn plan() -> Scope {
        Scope::Plan(PlanId(Ulid::from_parts(9, 9)))
    }

    #[test]
    fn sets_that_exclude_each_other_leave_nothing() {
        let one = only(1, project(), &["src/**"]);
        for (patterns, contradicts) in [
            (&["docs/**"][..], true),
            (&["docs/**", "src/a/**"], false),
            (&["src2/**"], true),
            (&["src/a.rs"], false),
            (&["src"], true),
            (&["**/*.rs"], false),
            (&["SRC/x"], true),
            (&["/abs/**"], false),
            (&["s*"], true),
            (&["s*/*"], false),
            (&["s\\*c/**"], true),
            (&["?rc/a/../b"], false),
        ] {
            let two = only(2, project(), patterns);
            let expected: &[_] = if contradicts {
                &[(vec![1], 2, true)]
            } else {
                &[]
            };
            assert_eq!(found(&[one.clone(), two]), expected, "{patterns:?}");
        }
    }

    #[test]
    fn the_stronger_stays_and_three_may_be_needed() {
        let all = [
            only(1, Scope::Global, &["docs/**"]),
            only(2, plan(), &["src/**"]),
        ];
        assert_eq!(found(&all), [(vec![2], 1, false)], "precedence settles it");
        let mut locked = only(1, Scope::Global, &["docs/**"]);
        locked.non_overridable = true;
        assert_eq!(found(&[locked, all[1].clone()]), [(vec![1], 2, false)]);
        let three = [
            only(1, project(), &["a/**", "b/**"]),
            only(2, project(), &["b/**", "c/**"]),
            only(3, project(), &["a/**", "c/**"]),
        ];
        assert_eq!(
            found(&three),
            [(vec![1, 2], 3, true)],
            "no two of them contradict"
        );
        let beside = [
            three[0].clone(),
            only(4, project(), &["**"]),
            three[1].clone(),
            untouched(5, project(), "d"),
            three[2].clone(),
        ];
        assert_eq!(
            found(&beside),
            [(vec![1, 2], 3, true)],
            "only those that are needed"
        );
    }

    #[test]
    fn what_is_untouched_may_be_all_that_is_left() {
        let all = [
            only(1, project(), &["src/a"]),
            untouched(2, project(), "src"),
        ];
        assert_eq!(found(&all), [(vec![1], 2, true)]);
        let all = [
            only(1, project(), &["src/**"]),
            untouched(2, project(), "src/a"),
        ];
        assert_eq!(found(&all), []);
        let all = [
            only(1, project(), &["a", "b"]),
            untouched(2, project(), "a"),
            untouched(3, project(), "b"),
        ];
        assert_eq!(found(&all), [(vec![1, 2], 3, true)]);
    }

    #[test]
    fn a_stronger_explanation_is_preferred() {
        let all = [
            only(1, plan(), &["src/**"]),
            only(2, project(), &["src/a/**"]),
            only(3, project(), &["docs/**"]),
        ];
        assert_eq!(found(&all), [(vec![1], 3, false)]);
    }

    #[test]
    fn both_sides_have_a_path() {
        let all = [
            only(1, project(), &["src/**"]),
            only(2, project(), &["docs/*.md"]),
        ];
        let found = contradictions(all.iter(), &Surface::default());
        let witness = |text: &str| Witness(text.into());
        assert_eq!(
            found[0].witnesses,
            Some((witness("docs/.md"), witness("src/a")))
        );
        assert!(
            found[0].proof.contains("no edits outside src/**"),
            "{}",
            found[0].proof
        );
    }

    #[test]
    fn opposite_statements_contradict() {
        let text = |number, scope, text: &str| invariant(number, scope, Layer::Plain, text);
        let all = [
            text(1, project(), "Never log request bodies"),
            text(2, project(), "Always log request bodies."),
            text(3, plan(), "Do not use tabs"),
            text(4, project(), "Use tabs"),
            text(5, project(), "Log all changes"),
        ];
        assert_eq!(found(&all), [(vec![1], 2, true), (vec![3], 4, false)]);
    }
}
