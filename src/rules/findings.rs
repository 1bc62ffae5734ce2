//! What a set of invariants says about itself besides contradictions: which are implied by
//! another, overlap, have no effect, can never match, or say the same in other words.
//!
//! Each answer is proven on the sets of paths. Comparing all pairs is quadratic, so most pairs
//! are decided by sample paths or by the beginnings of their patterns, and only the rest is
//! searched. What was found is kept: after one edit only the pairs of that invariant are looked
//! at again, which is linear.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use super::{
    automaton::{PathSet, Search, Surface, Term, Witness, find},
    conflict::{by_strength, sentence, strength},
    polarity::{content_words, statement},
};
use crate::model::{Invariant, InvariantId, Layer, LetterCheck};

/// How many overlapping pairs are listed. Among n invariants there may be n²/2 of them, and
/// nobody reads more; the report says when there are more.
pub const MAX_OVERLAPS: usize = 200;

/// The kinds of finding.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The same in another scope.
    Duplicate,
    /// Both cannot be in force.
    Contradiction,
    /// Implied by another.
    Redundant,
    /// Two sets that overlap without one holding the other: only what both allow may be edited.
    Overlap,
    /// It allows what a non-overridable global does not, without effect.
    Widens,
    /// It can never match, or guards nothing that is there.
    Dead,
    /// The same words in another order or inflection.
    Similar,
    /// Too large to be decided.
    Undecided,
}

impl Kind {
    /// The word of the command line and the JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Contradiction => "contradiction",
            Self::Redundant => "redundant",
            Self::Overlap => "overlap",
            Self::Widens => "widens",
            Self::Dead => "dead",
            Self::Similar => "similar",
            Self::Undecided => "undecided",
        }
    }
}

/// A path that shows something.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Shown {
    pub path: String,
    /// Those of the finding's invariants that allow it to be changed.
    pub allowed_by: Vec<InvariantId>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Finding {
    pub kind: Kind,
    /// Those that take part, the one that gives way last; none can be left out.
    pub invariants: Vec<InvariantId>,
    /// Why, in a sentence.
    pub proof: String,
    #[serde(default)]
    pub witnesses: Vec<Shown>,
}

/// Whether every path that `a` allows is allowed by `b`; `None` when it is not decided. The cheap
/// questions come first: a known path that refutes it, then beginnings, then the search.
pub fn is_contained(a: &PathSet, b: &PathSet) -> Option<bool> {
    if a.refutes_containment(b) {
        return Some(false);
    }
    // For an `untouched` on the right: contained means that no path lies in both.
    if let Some(meets) = a.meets(b) {
        return Some(!meets);
    }
    match find(&[(a, true), (b, false)]) {
        Search::None => Some(true),
        Search::Found(_) => Some(false),
        Search::Undecided => None,
    }
}

/// How an edit changes what may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    /// Less is allowed; a path that no longer is.
    Tighter(Witness),
    /// More is allowed; a path that now is.
    Looser(Witness),
    /// Both: a path that no longer is allowed, and one that now is.
    Incomparable(Witness, Witness),
    Undecided,
}

/// Compares what a check allowed and what it will allow; `None` stands for no check, which allows
/// everything. `tree` holds files relative to the project; one of them is preferred as a witness,
/// since a person knows it.
pub fn compare(
    before: Option<&LetterCheck>,
    after: Option<&LetterCheck>,
    surface: &Surface,
    tree: &[String],
) -> Comparison {
    let all = LetterCheck::NoEditsOutside(vec!["**".into(), "/**".into()]);
    let set = |check: Option<&LetterCheck>| PathSet::of(check.unwrap_or(&all), surface);
    let (before, after) = (set(before), set(after));
    let lost = witness(&[(&before, true), (&after, false)], tree);
    let gained = witness(&[(&after, true), (&before, false)], tree);
    match (lost, gained) {
        (Search::None, Search::None) => Comparison::Equal,
        (Search::Found(lost), Search::None) => Comparison::Tighter(lost),
        (Search::None, Search::Found(gained)) => Comparison::Looser(gained),
        (Search::Found(lost), Search::Found(gained)) => Comparison::Incomparable(lost, gained),
        _ => Comparison::Undecided,
    }
}

/// A path that fulfils all terms: a file of `tree` when one does, else the shortest one that the
/// search finds.
pub fn witness(terms: &[Term<'_>], tree: &[String]) -> Search {
    let fits = |path: &&String| terms.iter().all(|(set, yes)| set.allows(path) == *yes);
    match tree.iter().find(fits) {
        Some(path) => Search::Found(Witness(path.clone())),
        None => find(terms),
    }
}

/// An invariant in one state: its id, its strength, and its set by address. An edit that changes
/// any of these makes another slot, so that what is remembered of the old one cannot be taken for
/// the new one. Equal sets are shared, so mostly the address stays when the check does; where it
/// does not, the pairs are looked at once more.
type Slot = (InvariantId, u8, usize);

struct Entry<'a> {
    slot: Slot,
    invariant: &'a Invariant,
    set: Arc<PathSet>,
}

/// Two overlapping sets: a path of the first alone, one of the second alone, one of both.
type Cut = (String, String, String);

/// Finds, and remembers the answers for the next time, when most invariants are the same.
#[derive(Default)]
pub struct Finder {
    surface: Surface,
    /// Keeps the sets of the slots alive: a freed address could be given to another set, and old
    /// answers would count for that one.
    sets: HashMap<Slot, Arc<PathSet>>,
    /// The strongest one that implies each; `None`: asked, and nobody does.
    implied: HashMap<Slot, Option<Slot>>,
    cuts: BTreeMap<(Slot, Slot), Cut>,
    undecided: HashSet<(Slot, Slot)>,
    order: Vec<Slot>,
    /// More pairs overlap than are listed.
    more: bool,
}

impl Finder {
    /// A finder that knows nothing yet.
    pub fn new(surface: Surface) -> Self {
        Self {
            surface,
            ..Self::default()
        }
    }

    /// All findings among invariants that are in force together, grouped by kind. Contradictions
    /// are not among them: the merge finds those. `tree` holds the project's files, relative to
    /// it; `None` when they are not known, and then nothing is said about files that are missing.
    pub fn findings(&mut self, invariants: &[&Invariant], tree: Option<&[String]>) -> Vec<Finding> {
        let mut sorted: Vec<&Invariant> = invariants.to_vec();
        sorted.sort_by_key(|i| by_strength(i));
        let letters: Vec<&Invariant> = sorted
            .iter()
            .copied()
            .filter(|i| i.layer.letter().is_some())
            .collect();
        make_sets(&letters, &self.surface);
        let entries: Vec<Entry<'_>> = letters
            .iter()
            .filter_map(|invariant| {
                let set = PathSet::of(invariant.layer.letter()?, &self.surface);
                let slot = (
                    invariant.id,
                    strength(invariant),
                    Arc::as_ptr(&set) as usize,
                );
                Some(Entry {
                    slot,
                    invariant,
                    set,
                })
            })
            .collect();
        self.update(&entries);
        let mut found = self.listed(&entries, tree.unwrap_or(&[]));
        for entry in &entries {
            found.extend(self.dead(entry, tree));
        }
        found.extend(similar(&sorted));
        found.sort_by_key(|f| f.kind);
        found
    }

    /// Brings what is remembered up to date with the entries, in the order of their strength.
    fn update(&mut self, entries: &[Entry<'_>]) {
        let now: HashSet<Slot> = entries.iter().map(|e| e.slot).collect();
        let before: HashSet<Slot> = self.order.iter().copied().collect();
        let gone = |slot: &Slot| !now.contains(slot);
        let added: Vec<usize> = (0..entries.len())
            .filter(|at| !before.contains(&entries[*at].slot))
            .collect();
        self.sets.retain(|slot, _| !gone(slot));
        self.cuts.retain(|(a, b), _| !gone(a) && !gone(b));
        self.undecided.retain(|(a, b)| !gone(a) && !gone(b));
        self.implied.retain(|slot, _| !gone(slot));
        for entry in entries {
            self.sets.insert(entry.slot, Arc::clone(&entry.set));
        }
        let all: Vec<usize> = (0..entries.len()).collect();
        let mut undecided = HashSet::new();
        let order = |slot: &Slot| (Reverse(slot.1), slot.0);
        let jobs: Vec<(usize, Vec<usize>)> = all
            .iter()
            .map(|at| match self.implied.get(&entries[*at].slot) {
                None => (*at, all.clone()),
                // The one that implied it is gone. Those stronger than that one were asked before
                // and did not imply it, so only the new ones and the weaker ones are asked.
                Some(Some(by)) if gone(by) => {
                    let from = entries.partition_point(|e| order(&e.slot) < order(by));
                    let behind = (from..entries.len()).filter(|n| !added.contains(n));
                    let mut others: Vec<usize> = added.iter().copied().chain(behind).collect();
                    others.sort_unstable();
                    (*at, others)
                }
                Some(_) => (*at, added.clone()),
            })
            .collect();
        for (at, by, open) in in_parallel(&jobs, |(at, others)| {
            let (by, open) = implier(entries, *at, others);
            (*at, by, open)
        }) {
            let slot = entries[at].slot;
            undecided.extend(open.into_iter().map(|other| (entries[other].slot, slot)));
            let place = |s: &Slot| entries.iter().position(|e| e.slot == *s);
            let known = self.implied.get(&slot).copied().flatten();
            let known = known.filter(|by| now.contains(by));
            // Entries come the strongest first: the smaller place is the stronger one.
            let best = match (known.as_ref().and_then(place), by) {
                (Some(old), Some(new)) => Some(old.min(new)),
                (old, new) => old.or(new),
            };
            self.implied.insert(slot, best.map(|at| entries[at].slot));
        }
        self.undecided.extend(undecided);
        self.find_cuts(entries, &added);
        self.order = entries.iter().map(|e| e.slot).collect();
    }

    /// Finds the overlaps of pairs with a new member; the others are remembered.
    fn find_cuts(&mut self, entries: &[Entry<'_>], added: &[usize]) {
        let is_new: HashSet<usize> = added.iter().copied().collect();
        let edits: Vec<usize> = (0..entries.len())
            .filter(|at| !entries[*at].set.is_untouched())
            .collect();
        self.more = false;
        for (n, a) in edits.iter().enumerate() {
            for b in &edits[n + 1..] {
                if !is_new.contains(a) && !is_new.contains(b) {
                    continue;
                }
                if self.cuts.len() >= MAX_OVERLAPS {
                    self.more = true;
                    return;
                }
                let key = (entries[*a].slot, entries[*b].slot);
                match cut(&entries[*a].set, &entries[*b].set) {
                    Some(Ok(found)) => {
                        self.cuts.insert(key, found);
                    }
                    Some(Err(())) => {
                        self.undecided.insert(key);
                    }
                    None => {}
                }
            }
        }
    }

    /// What is remembered, as findings. A pair is listed once, under the kind that matters most:
    /// one that widens is not listed as redundant or overlapping as well.
    fn listed(&self, entries: &[Entry<'_>], tree: &[String]) -> Vec<Finding> {
        let by_slot: HashMap<Slot, &Entry<'_>> = entries.iter().map(|e| (e.slot, e)).collect();
        let mut found = Vec::new();
        let mut widened: HashSet<(Slot, Slot)> = HashSet::new();
        // What a lower scope allows beyond a non-overridable global has no effect.
        let locked = entries
            .iter()
            .filter(|e| e.invariant.is_locked() && !e.set.is_untouched());
        for global in locked {
            for lower in entries.iter().filter(|e| !e.invariant.is_locked()) {
                if lower.set.is_untouched() {
                    continue;
                }
                let terms = [(&*lower.set, true), (&*global.set, false)];
                if let Search::Found(Witness(path)) = witness(&terms, tree) {
                    widened.insert((global.slot, lower.slot));
                    found.push(Finding {
                        kind: Kind::Widens,
                        invariants: vec![global.invariant.id, lower.invariant.id],
                        proof: format!(
                            "{} allows more than the non-overridable {}, which has no effect: {path}",
                            sentence(lower.invariant),
                            sentence(global.invariant)
                        ),
                        witnesses: vec![shown(path, &[global, lower])],
                    });
                }
            }
        }
        for entry in entries {
            let Some(Some(by)) = self.implied.get(&entry.slot) else {
                continue;
            };
            let Some(other) = by_slot
                .get(by)
                .filter(|o| !widened.contains(&(o.slot, entry.slot)))
            else {
                continue;
            };
            found.push(Finding {
                kind: Kind::Redundant,
                invariants: vec![other.invariant.id, entry.invariant.id],
                proof: implied_sentence(other, entry),
                witnesses: Vec::new(),
            });
        }
        for ((a, b), (only_a, only_b, both)) in &self.cuts {
            let (Some(a), Some(b)) = (by_slot.get(a), by_slot.get(b)) else {
                continue;
            };
            if widened.contains(&(a.slot, b.slot)) {
                continue;
            }
            // The tree is asked anew each time: files come and go while the sets stay.
            let better = |terms: [Term<'_>; 2], path: &String| {
                let fits = |file: &&String| terms.iter().all(|(set, yes)| set.allows(file) == *yes);
                tree.iter().find(fits).unwrap_or(path).clone()
            };
            let both = better([(&a.set, true), (&b.set, true)], both);
            let only_a = better([(&a.set, true), (&b.set, false)], only_a);
            let only_b = better([(&b.set, true), (&a.set, false)], only_b);
            found.push(Finding {
                kind: Kind::Overlap,
                invariants: vec![a.invariant.id, b.invariant.id],
                proof: format!(
                    "{} and {} cut each other: only what both allow may be edited, such as {both}",
                    sentence(a.invariant),
                    sentence(b.invariant)
                ),
                witnesses: vec![
                    shown(both, &[a, b]),
                    shown(only_a, &[a, b]),
                    shown(only_b, &[a, b]),
                ],
            });
        }
        for (a, b) in &self.undecided {
            if let (Some(a), Some(b)) = (by_slot.get(a), by_slot.get(b)) {
                found.push(Finding {
                    kind: Kind::Undecided,
                    invariants: vec![a.invariant.id, b.invariant.id],
                    proof: format!(
                        "{} and {} are too large to be compared; write them with fewer wildcards",
                        sentence(a.invariant),
                        sentence(b.invariant)
                    ),
                    witnesses: Vec::new(),
                });
            }
        }
        if self.more {
            found.push(Finding {
                kind: Kind::Undecided,
                invariants: Vec::new(),
                proof: format!(
                    "more than {MAX_OVERLAPS} pairs cut each other; the rest is not told"
                ),
                witnesses: Vec::new(),
            });
        }
        found
    }

    /// Patterns that can never match, and guards of what is not there.
    fn dead(&self, entry: &Entry<'_>, tree: Option<&[String]>) -> Vec<Finding> {
        let Some(check) = entry.invariant.layer.letter() else {
            return Vec::new();
        };
        let finding = |proof: String| Finding {
            kind: Kind::Dead,
            invariants: vec![entry.invariant.id],
            proof,
            witnesses: Vec::new(),
        };
        let mut found = Vec::new();
        // A pattern with a sample matches something; only the others are worth a search.
        if entry.set.samples().len() < check.patterns().len() {
            for pattern in check.patterns() {
                let alone = LetterCheck::NoEditsOutside(vec![pattern.clone()]);
                if find(&[(&PathSet::of(&alone, &self.surface), true)]).is_none() {
                    found.push(finding(format!(
                        "no valid path can match the pattern {pattern}"
                    )));
                }
            }
        }
        if let (LetterCheck::Untouched(pattern), Some(tree)) = (check, tree)
            && found.is_empty()
            && !tree.iter().any(|file| !entry.set.allows(file))
            && !pattern.starts_with(['/', '~'])
        {
            found.push(finding(format!("{pattern} guards no file that is there")));
        }
        found
    }
}

fn shown(path: String, among: &[&Entry<'_>]) -> Shown {
    let allow = among.iter().filter(|e| e.set.allows(&path));
    Shown {
        allowed_by: allow.map(|e| e.invariant.id).collect(),
        path,
    }
}

fn implied_sentence(other: &Entry<'_>, entry: &Entry<'_>) -> String {
    let (by, own) = (sentence(other.invariant), sentence(entry.invariant));
    match (other.set.is_untouched(), entry.set.is_untouched()) {
        (false, true) => format!("{own} follows from {by}, which allows no edit there at all"),
        (true, true) => format!("{own} follows from {by}, which guards all of it"),
        _ => format!("{own} follows from {by}: whatever that allows, it allows as well"),
    }
}

/// The first of `others` (places in `entries`, ascending) that implies `at`, and those before it
/// of which it is not decided.
fn implier(entries: &[Entry<'_>], at: usize, others: &[usize]) -> (Option<usize>, Vec<usize>) {
    let own = &entries[at];
    let mut open = Vec::new();
    for other in others.iter().filter(|o| **o != at) {
        let by = &entries[*other];
        match is_contained(&by.set, &own.set) {
            // Two that say the same imply each other. Only the weaker one is redundant then, or a
            // person who follows the advice would remove both.
            Some(true) if *other < at || is_contained(&own.set, &by.set) == Some(false) => {
                return (Some(*other), open);
            }
            Some(_) => {}
            None => open.push(*other),
        }
    }
    (None, open)
}

/// How two sets overlap: a path of both and one of each alone. `None` when one holds the other or
/// they have nothing in common, an error when it is not decided.
fn cut(a: &PathSet, b: &PathSet) -> Option<Result<Cut, ()>> {
    let sample = |terms: &[Term<'_>]| {
        let all = a.samples().iter().chain(b.samples());
        let fits = |s: &&String| terms.iter().all(|(set, yes)| set.allows(s) == *yes);
        match all.into_iter().find(fits) {
            Some(path) => Search::Found(Witness(path.clone())),
            None => find(terms),
        }
    };
    let mut paths = Vec::new();
    for terms in [
        [(a, true), (b, true)],
        [(a, true), (b, false)],
        [(b, true), (a, false)],
    ] {
        match sample(&terms) {
            Search::Found(Witness(path)) => paths.push(path),
            Search::None => return None,
            Search::Undecided => return Some(Err(())),
        }
    }
    let [both, only_a, only_b] = <[String; 3]>::try_from(paths).ok()?;
    Some(Ok((only_a, only_b, both)))
}

/// Statements with the same words in another order or inflection, and the same sense. Each is
/// paired with the first of its words, so that ten alike are nine findings and not forty-five.
fn similar(invariants: &[&Invariant]) -> Vec<Finding> {
    let mut seen: HashMap<Vec<String>, &Invariant> = HashMap::new();
    let mut found = Vec::new();
    for invariant in invariants {
        if !matches!(invariant.layer, Layer::Plain | Layer::Judgment { .. }) {
            continue;
        }
        let words = content_words(&invariant.text);
        if words.len() < 2 {
            continue;
        }
        let sense = |i: &Invariant| statement(&i.text).map(|s| s.polarity);
        match seen.get(&words) {
            Some(first) if sense(first) == sense(invariant) => found.push(Finding {
                kind: Kind::Similar,
                invariants: vec![first.id, invariant.id],
                proof: format!(
                    "\"{}\" and \"{}\" have the same words",
                    first.text, invariant.text
                ),
                witnesses: Vec::new(),
            }),
            Some(_) => {}
            None => {
                seen.insert(words, invariant);
            }
        }
    }
    found
}

/// Makes the sets of many invariants, on all processors.
fn make_sets(letters: &[&Invariant], surface: &Surface) {
    in_parallel(letters, |invariant| {
        if let Some(check) = invariant.layer.letter() {
            PathSet::of(check, surface);
        }
    });
}

/// Does each job, on all processors when there are many (starting threads costs more than a few
/// jobs). The answers come in the order of the jobs, so that the outcome does not depend on timing.
fn in_parallel<J: Sync, A: Send>(jobs: &[J], work: impl Fn(&J) -> A + Sync) -> Vec<A> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    if jobs.len() < 64 || threads == 1 {
        return jobs.iter().map(work).collect();
    }
    let size = jobs.len().div_ceil(threads);
    let work = &work;
    std::thread::scope(|scope| {
        let handles: Vec<_> = jobs
            .chunks(size)
            .map(|chunk| {
                (
                    chunk,
                    scope.spawn(move || chunk.iter().map(work).collect::<Vec<A>>()),
                )
            })
            .collect();
        let mut out = Vec::new();
        for (chunk, handle) in handles {
            // A thread that could not do its work has it done here.
            out.extend(
                handle
                    .join()
                    .unwrap_or_else(|_| chunk.iter().map(work).collect()),
            );
        }
        out
    })
}
