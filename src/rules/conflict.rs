//! Contradictions between letter checks (semantics section 4, kind 2): what remains editable is
//! empty.
//!
//! Proven by the beginnings of patterns alone: a pattern matches only paths that begin with the
//! text before its first wildcard, so that sets of beginnings which exclude each other have no
//! path in common. What this cannot prove is no finding; it never claims one that is none.

use crate::model::{Invariant, InvariantId, LetterCheck, Scope};

/// Two invariants that leave no path which may be edited, with those between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The first one, from the strongest, that leaves nothing.
    pub weaker: InvariantId,
    /// An earlier one that explains it.
    pub stronger: InvariantId,
    /// Whether both have the same strength: precedence does not settle it then.
    pub unresolved: bool,
    /// Why nothing is left, in a sentence.
    pub proof: String,
}

/// What a pattern's paths begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Beginning {
    text: String,
    /// The pattern has no wildcard: this is the whole path.
    whole: bool,
    absolute: bool,
}

impl Beginning {
    fn of(pattern: &str) -> Self {
        let body = pattern.strip_prefix("./").unwrap_or(pattern);
        let mut text = String::new();
        let mut whole = true;
        let mut chars = body.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' => text.extend(chars.next()),
                '*' | '?' | '[' | '{' => {
                    whole = false;
                    break;
                }
                '/' if chars.peek().is_none() => {
                    text.push('/');
                    whole = false;
                }
                c => text.push(c),
            }
        }
        Self {
            // Case may not count on the disk.
            text: text.to_lowercase(),
            whole,
            absolute: body.starts_with('/') || body.starts_with('~'),
        }
    }

    /// The beginning of what both can match; `None` when that is certainly nothing.
    fn and(&self, other: &Self) -> Option<Self> {
        if self.absolute != other.absolute {
            return Some(self.clone());
        }
        let (short, long) = match self.text.len() <= other.text.len() {
            true => (self, other),
            false => (other, self),
        };
        let fits = match short.whole {
            true => long.text == short.text,
            false => long.text.starts_with(&short.text),
        };
        fits.then(|| Self {
            whole: long.whole || (short.whole && long.text == short.text),
            ..long.clone()
        })
    }
}

/// The strength of an invariant: non-overridable globals first, then plan, action, project,
/// global.
pub fn strength(invariant: &Invariant) -> u8 {
    match &invariant.scope {
        Scope::Global if invariant.non_overridable => 4,
        Scope::Plan(_) => 3,
        Scope::Action(_) => 2,
        Scope::Project(_) => 1,
        Scope::Global => 0,
    }
}

/// Finds the contradictions among letter invariants. Each one that leaves nothing is set aside
/// before the next ones are looked at.
pub fn contradictions<'a>(invariants: impl Iterator<Item = &'a Invariant>) -> Vec<Contradiction> {
    let mut all: Vec<(&Invariant, &[String])> = invariants
        .filter_map(|i| match i.layer.letter()? {
            LetterCheck::NoEditsOutside(patterns) => Some((i, patterns.as_slice())),
            LetterCheck::Untouched(_) => None,
        })
        .collect();
    all.sort_by_key(|(i, _)| (std::cmp::Reverse(strength(i)), i.id));
    let mut left: Option<Vec<Beginning>> = None;
    let mut kept: Vec<(&Invariant, Vec<Beginning>)> = Vec::new();
    let mut found = Vec::new();
    for (invariant, patterns) in all {
        let own: Vec<Beginning> = patterns.iter().map(|p| Beginning::of(p)).collect();
        let next: Vec<Beginning> = match &left {
            None => own.clone(),
            Some(left) => {
                let pairs = left.iter().flat_map(|l| own.iter().map(move |o| l.and(o)));
                pairs.flatten().collect()
            }
        };
        if !next.is_empty() {
            left = Some(next);
            kept.push((invariant, own));
            continue;
        }
        // One earlier invariant explains it, else all of them together: the last one is named.
        let alone = kept
            .iter()
            .find(|(_, other)| !other.iter().any(|l| own.iter().any(|o| l.and(o).is_some())));
        let Some((stronger, _)) = alone.or(kept.last()) else {
            continue;
        };
        found.push(Contradiction {
            weaker: invariant.id,
            stronger: stronger.id,
            unresolved: strength(stronger) == strength(invariant),
            proof: format!(
                "no path lies both in {} and in {}, so that nothing could be edited at all",
                listed(stronger),
                listed(invariant)
            ),
        });
    }
    found
}

fn listed(invariant: &Invariant) -> String {
    let patterns = invariant.layer.letter().map(|c| c.patterns().join(", "));
    patterns.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use ulid::Ulid;

    use super::*;
    use crate::model::Layer;

    fn only(number: u128, scope: Scope, patterns: &[&str]) -> Invariant {
        let patterns = patterns.iter().map(|p| (*p).to_owned()).collect();
        let layer = Layer::Letter(LetterCheck::NoEditsOutside(patterns));
        let id = InvariantId(Ulid::from_parts(number as u64, number));
        Invariant::new(id, scope, layer, "x", Timestamp::UNIX_EPOCH)
    }

    fn found(all: &[Invariant]) -> Vec<(u64, u64, bool)> {
        let number = |id: InvariantId| id.0.timestamp_ms();
        contradictions(all.iter())
            .iter()
            .map(|c| (number(c.stronger), number(c.weaker), c.unresolved))
            .collect()
    }

    fn project() -> Scope {
        Scope::Project("local/x".parse().unwrap())
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
            (&["SRC/x"], false),
            (&["/abs/**"], false),
            (&["s*"], false),
            (&["s\\*c/**"], true),
        ] {
            let two = only(2, project(), patterns);
            let expected: &[_] = if contradicts { &[(1, 2, true)] } else { &[] };
            assert_eq!(found(&[one.clone(), two]), expected, "{patterns:?}");
        }
    }

    #[test]
    fn the_stronger_stays_and_three_may_be_needed() {
        let plan = Scope::Plan(crate::model::PlanId(Ulid::from_parts(9, 9)));
        let all = [
            only(1, Scope::Global, &["docs/**"]),
            only(2, plan, &["src/**"]),
        ];
        assert_eq!(found(&all), [(2, 1, false)], "precedence settles it");
        let mut locked = only(1, Scope::Global, &["docs/**"]);
        locked.non_overridable = true;
        assert_eq!(found(&[locked, all[1].clone()]), [(1, 2, false)]);
        let three = [
            only(1, project(), &["a/**", "b/**"]),
            only(2, project(), &["b/**", "c/**"]),
            only(3, project(), &["a/**", "c/**"]),
        ];
        assert_eq!(found(&three), [(2, 3, true)], "no two of them contradict");
    }
}
