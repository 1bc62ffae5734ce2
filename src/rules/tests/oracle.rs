//! The truth about small sets of invariants, found by trying every path, against what is proven.

use std::collections::HashSet;

use jiff::Timestamp;
use proptest::prelude::*;
use ulid::Ulid;

use crate::{
    automaton::Surface,
    conflict::{by_strength, contradictions, strength},
    findings::{Comparison, Finder, Kind, compare},
    letter::{LetterSet, PatternEnv, Place},
    model::{Invariant, InvariantId, Layer, LetterCheck, Scope, Severity},
};

/// All paths of these letters, up to five signs, and a few longer ones that patterns name.
fn paths() -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..5 {
        last = last
            .iter()
            .flat_map(|p| ["a", "b", "/", "."].iter().map(move |c| format!("{p}{c}")))
            .collect();
        all.extend(last.clone());
    }
    all.retain(|p| p.split('/').all(|part| !matches!(part, "" | "." | "..")));
    all
}

fn allows(check: &LetterCheck, path: &str) -> bool {
    let set = LetterSet::compile([check], PatternEnv::default()).unwrap();
    allowed_by(&set, path)
}

fn allowed_by(set: &LetterSet, path: &str) -> bool {
    let place = Place {
        relative: Some(path.as_bytes()),
        absolute: b"/elsewhere/x",
        scratch: false,
        subtree: false,
        holds_root: false,
    };
    set.broken_by(place).is_empty()
}

/// What each check allows of all paths.
struct Truth {
    sets: Vec<HashSet<usize>>,
    paths: Vec<String>,
}

impl Truth {
    fn of(checks: &[&LetterCheck]) -> Self {
        let paths = paths();
        let sets = checks
            .iter()
            .map(|check| {
                let set = LetterSet::compile([*check], PatternEnv::default()).unwrap();
                (0..paths.len())
                    .filter(|at| allowed_by(&set, &paths[*at]))
                    .collect()
            })
            .collect();
        Self { sets, paths }
    }

    fn common(&self, members: &[usize]) -> Option<&str> {
        let (first, rest) = members.split_first()?;
        let mut common = self.sets[*first]
            .iter()
            .filter(|p| rest.iter().all(|m| self.sets[*m].contains(p)));
        common.next().map(|at| self.paths[*at].as_str())
    }
}

/// Patterns of which the shortest match is short.
fn pattern() -> impl Strategy<Value = String> {
    let sign = prop_oneof![3 => Just("a"), 3 => Just("b"), 2 => Just("*"), 1 => Just("?"),
        1 => Just("[ab]"), 1 => Just("{a,b}"), 1 => Just("{,b}")];
    let part = prop_oneof![
        4 => proptest::collection::vec(sign, 1..3).prop_map(|s| s.concat()),
        1 => Just("**".to_owned()),
    ];
    proptest::collection::vec(part, 1..3).prop_map(|p| p.join("/"))
}

fn check() -> impl Strategy<Value = LetterCheck> {
    prop_oneof![
        3 => proptest::collection::vec(pattern(), 1..4).prop_map(LetterCheck::NoEditsOutside),
        1 => pattern().prop_map(LetterCheck::Untouched),
    ]
}

fn invariants() -> impl Strategy<Value = Vec<Invariant>> {
    proptest::collection::vec((check(), 0..4usize), 2..6).prop_map(|all| {
        all.into_iter()
            .enumerate()
            .map(|(n, (check, scope))| {
                let scope = match scope {
                    0 | 1 => Scope::Global,
                    2 => Scope::Project("local/x".parse().unwrap()),
                    _ => Scope::Action("local/y".parse().unwrap()),
                };
                let id = InvariantId(Ulid::from_parts(n as u64 + 1, 0));
                let layer = Layer::Letter(check);
                let mut i = Invariant::new(id, scope.clone(), layer, "x", Timestamp::UNIX_EPOCH);
                i.non_overridable = scope == Scope::Global && n % 2 == 0;
                i.severity = Severity::Error;
                i
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each contradiction is one, each of its members is needed, and none is missed.
    #[test]
    fn contradictions_are_the_truth(mut all in invariants()) {
        all.sort_by_key(by_strength);
        let checks: Vec<&LetterCheck> = all.iter().filter_map(|i| i.layer.letter()).collect();
        let truth = Truth::of(&checks);
        let place = |id: InvariantId| all.iter().position(|i| i.id == id).unwrap();
        let found = contradictions(all.iter(), &Surface::default());
        for c in &found {
            let mut members: Vec<usize> = c.stronger.iter().map(|id| place(*id)).collect();
            members.push(place(c.weaker));
            prop_assert_eq!(truth.common(&members), None, "{:?}", c);
            for left_out in &members {
                let rest: Vec<usize> = members.iter().copied().filter(|m| m != left_out).collect();
                // What is found to be possible is longer than what was tried, at times.
                if truth.common(&rest).is_none() {
                    let sets: Vec<_> = rest.iter().map(|m| crate::automaton::PathSet::of(checks[*m], &Surface::default())).collect();
                    let terms: Vec<_> = sets.iter().map(|s| (&**s, true)).collect();
                    prop_assert!(!crate::automaton::find(&terms).is_none(), "{:?}", c);
                }
            }
            if let Some((own, theirs)) = &c.witnesses {
                let (weaker, stronger) = members.split_last().unwrap();
                prop_assert!(own.0.starts_with('/') || allows(checks[*weaker], &own.0));
                let outside = theirs.0.starts_with('/');
                prop_assert!(outside || stronger.iter().all(|m| allows(checks[*m], &theirs.0)));
            }
            let equal = c.stronger.iter().any(|id| strength(&all[place(*id)]) == strength(&all[place(c.weaker)]));
            prop_assert_eq!(c.unresolved, equal);
        }
        // The walk, by trying: those that are kept leave a path, those that are not do not.
        let gone: Vec<usize> = found.iter().map(|c| place(c.weaker)).collect();
        let mut kept: Vec<usize> = Vec::new();
        for at in 0..all.len() {
            let mut next = kept.clone();
            next.push(at);
            if gone.contains(&at) {
                prop_assert_eq!(truth.common(&next), None);
            } else {
                kept = next;
            }
        }
        if let Some(path) = truth.common(&kept) {
            prop_assert!(kept.iter().all(|m| allows(checks[*m], path)));
        } else if kept.len() > 1 {
            let sets: Vec<_> = kept.iter().map(|m| crate::automaton::PathSet::of(checks[*m], &Surface::default())).collect();
            let terms: Vec<_> = sets.iter().map(|s| (&**s, true)).collect();
            match crate::automaton::find(&terms) {
                crate::automaton::Search::Found(w) => {
                    let outside = w.0.starts_with('/');
                    prop_assert!(outside || kept.iter().all(|m| allows(checks[*m], &w.0)));
                }
                answer => prop_assert!(false, "{:?} {:?}", kept, answer),
            }
        }
    }

    /// What is implied, cut and widened, by trying every path.
    #[test]
    fn findings_are_the_truth(mut all in invariants()) {
        all.sort_by_key(by_strength);
        let checks: Vec<&LetterCheck> = all.iter().filter_map(|i| i.layer.letter()).collect();
        let truth = Truth::of(&checks);
        let place = |id: InvariantId| all.iter().position(|i| i.id == id).unwrap();
        let refs: Vec<&Invariant> = all.iter().collect();
        let found = Finder::new(Surface::default()).findings(&refs, None);
        let sets = &truth.sets;
        let is_edits = |at: usize| matches!(checks[at], LetterCheck::NoEditsOutside(_));
        for f in &found {
            let members: Vec<usize> = f.invariants.iter().map(|id| place(*id)).collect();
            for shown in &f.witnesses {
                for id in &f.invariants {
                    let allowed = allows(checks[place(*id)], &shown.path);
                    prop_assert_eq!(allowed, shown.allowed_by.contains(id), "{:?}", f);
                }
            }
            match (f.kind, members.as_slice()) {
                (Kind::Redundant, [by, own]) => {
                    prop_assert!(sets[*by].is_subset(&sets[*own]), "{:?}", f);
                }
                (Kind::Overlap, [_, _]) => prop_assert_eq!(f.witnesses.len(), 3),
                (Kind::Widens, [global, lower]) => {
                    prop_assert!(all[*global].is_locked() && !all[*lower].is_locked());
                    prop_assert_eq!(&f.witnesses[0].allowed_by, &vec![all[*lower].id]);
                }
                (Kind::Dead, [_]) => {}
                other => prop_assert!(false, "{:?}", other),
            }
        }
        // None is missed.
        let told = |kind: Kind, a: usize, b: usize| {
            found.iter().any(|f| f.kind == kind && f.invariants.contains(&all[a].id) && f.invariants.contains(&all[b].id))
        };
        for a in 0..all.len() {
            for b in 0..all.len() {
                if a == b || !is_edits(a) || !is_edits(b) {
                    continue;
                }
                let only = |x: usize, y: usize| sets[x].difference(&sets[y]).next().is_some();
                let widens = all[a].is_locked() && !all[b].is_locked() && only(b, a);
                prop_assert!(!widens || told(Kind::Widens, a, b), "{} {}", a, b);
                let both = sets[a].intersection(&sets[b]).next().is_some();
                let cut = a < b && both && only(a, b) && only(b, a);
                let named = told(Kind::Overlap, a, b) || told(Kind::Widens, a, b);
                prop_assert!(!cut || named, "{} {}", a, b);
            }
            // Somebody implies it, by the paths and by proof.
            let implied = (0..a).find(|by| sets[*by].is_subset(&sets[a]));
            if let Some(by) = implied {
                let one = |at: usize| crate::automaton::PathSet::of(checks[at], &Surface::default());
                let proven = crate::findings::is_contained(&one(by), &one(a)) == Some(true);
                let redundant = found.iter().any(|f| f.kind == Kind::Redundant && f.invariants.last() == Some(&all[a].id));
                prop_assert!(!proven || redundant || told(Kind::Widens, by, a), "{} {}", by, a);
            }
        }
    }

    /// After one edit the same is found as from the start.
    #[test]
    fn what_is_remembered_is_what_is_found_anew(all in invariants(), edited in check(), at in 0..5usize) {
        let mut finder = Finder::new(Surface::default());
        let refs: Vec<&Invariant> = all.iter().collect();
        finder.findings(&refs, None);
        let mut after = all.clone();
        let at = at % after.len();
        after[at].layer = Layer::Letter(edited);
        let mut fewer = after.clone();
        fewer.remove(0);
        for set in [&after, &fewer, &all] {
            let refs: Vec<&Invariant> = set.iter().collect();
            let again = finder.findings(&refs, None);
            let anew = Finder::new(Surface::default()).findings(&refs, None);
            let key = |f: &crate::findings::Finding| (f.kind, f.invariants.clone());
            let sorted = |found: &[crate::findings::Finding]| {
                let mut keys: Vec<_> = found.iter().map(key).collect();
                keys.sort();
                keys
            };
            prop_assert_eq!(sorted(&again), sorted(&anew));
        }
    }

    #[test]
    fn an_edit_is_tighter_or_looser_as_the_paths_say(before in check(), after in check()) {
        let truth = Truth::of(&[&before, &after]);
        let lost = truth.sets[0].difference(&truth.sets[1]).next().is_some();
        let gained = truth.sets[1].difference(&truth.sets[0]).next().is_some();
        let check = |path: &str, was: bool| allows(&before, path) == was && allows(&after, path) != was;
        match compare(Some(&before), Some(&after), &Surface::default(), &[]) {
            Comparison::Equal => prop_assert!(!lost && !gained),
            Comparison::Tighter(w) => prop_assert!(!gained && (w.0.starts_with('/') || check(&w.0, true))),
            Comparison::Looser(w) => prop_assert!(!lost && (w.0.starts_with('/') || check(&w.0, false))),
            Comparison::Incomparable(l, g) => {
                prop_assert!(l.0.starts_with('/') || check(&l.0, true));
                prop_assert!(g.0.starts_with('/') || check(&g.0, false));
            }
            Comparison::Undecided => prop_assert!(false),
        }
    }
}
