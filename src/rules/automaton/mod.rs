//! Sets of paths as automata: what a letter check allows, and whether some path lies in several
//! sets at once.
//!
//! An automaton is made from the very expression that the matcher runs, so that both mean the
//! same by construction. Paths inside the project and outside it are two spaces that are looked
//! at one after the other.
//!
//! A set is *vague* where it is not known which paths a pattern means: an absolute pattern may
//! match paths inside the project when the project's place or the home folder is not known. Such
//! a set is bounded from both sides. For a proof that no path is left it counts as all paths (an
//! over-approximation), and for a witness as none (an under-approximation), so that neither
//! answer can be wrong; between the two the question stays undecided.

mod search;
mod table;

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

pub use search::{Term, find};
use table::{DEAD, Table};

use super::{glob::Glob, letter::composed};
use crate::model::LetterCheck;

/// How many sets are kept for the next question. Beyond it all are dropped at once: that many
/// different checks come only from a store that is replaced as a whole.
const MAX_CACHED: usize = 25_000;

/// What patterns are read against.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Surface {
    /// The home folder, which stands for `~/`.
    pub home: Option<String>,
    /// The project's folder.
    pub root: Option<String>,
    /// Upper and lower case are one.
    pub fold_case: bool,
}

impl Surface {
    /// Nothing is known but how the file systems of this machine usually are.
    pub fn unknown() -> Self {
        Self {
            fold_case: cfg!(any(target_os = "macos", windows)),
            ..Self::default()
        }
    }
}

/// A path that proves something: relative to the project, or absolute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Witness(pub String);

/// The answer to "is there a path that …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Search {
    /// There is: this one, the shortest.
    Found(Witness),
    /// There is none.
    None,
    /// The question is too large to be decided.
    Undecided,
}

impl Search {
    /// Whether it is proven that there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// One space of a set: the union of what its automata accept.
#[derive(Debug, Default)]
struct Side {
    tables: Vec<(Arc<Table>, u32)>,
    /// Some pattern might match anything here, and it is not known what. The tables hold what is
    /// known of the others.
    vague: bool,
}

impl Side {
    fn matches(&self, path: &[u8]) -> bool {
        self.tables
            .iter()
            .any(|(table, start)| table.accepts[table.run(*start, path) as usize])
    }
}

/// The paths that one letter check allows to be changed.
#[derive(Debug)]
pub struct PathSet {
    inside: Side,
    outside: Side,
    /// What matches is forbidden instead (`untouched`).
    complement: bool,
    /// Too large to be decided.
    unknown: bool,
    /// One for each pattern: the text that every matching path inside begins with, and whether it
    /// is the whole path. An empty text for a pattern of which nothing is known.
    prefixes: Vec<(String, bool)>,
    /// Paths inside that match, one a pattern.
    samples: Vec<String>,
    /// A path inside that is allowed.
    allowed: Option<String>,
}

type Cache = HashMap<(LetterCheck, Surface), Arc<PathSet>>;

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

impl PathSet {
    /// What a check allows. Made once for each check and surface, and shared.
    pub fn of(check: &LetterCheck, surface: &Surface) -> Arc<Self> {
        let key = (check.clone(), surface.clone());
        let lock = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return Arc::clone(known);
        }
        // Without the lock, since building is slow and other threads ask at the same time. Two
        // that build the same get equal sets.
        let made = Arc::new(Self::build(check, surface));
        let mut cache = lock();
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(key, Arc::clone(&made));
        made
    }

    fn build(check: &LetterCheck, surface: &Surface) -> Self {
        let complement = matches!(check, LetterCheck::Untouched(_));
        let mut set = Self {
            inside: Side::default(),
            outside: Side::default(),
            complement,
            unknown: false,
            prefixes: Vec::new(),
            samples: Vec::new(),
            allowed: None,
        };
        let home = surface.home.as_deref().map(std::path::Path::new);
        let (mut relative, mut absolute) = (Vec::new(), Vec::new());
        let mut examples = Vec::new();
        for pattern in check.patterns() {
            let Ok(glob) = Glob::parse(pattern, home) else {
                // Below an unknown home folder, or not bound yet: it might mean anything.
                set.inside.vague = true;
                set.outside.vague = true;
                set.prefixes.push((String::new(), false));
                continue;
            };
            let mut regex = glob.regex.clone();
            // As the matcher does: what is guarded is guarded with everything below it.
            if complement {
                regex.truncate(regex.len() - r"\z".len());
                regex.push_str(r"(?:/(?s-u:.)*)?\z");
            }
            if glob.absolute {
                absolute.push(regex);
                set.prefixes.push((String::new(), false));
            } else {
                // An `untouched` also matches what lies below, so it is never a whole path.
                let whole = !glob.wild && !complement;
                set.prefixes
                    .push((folded(&glob.literal_prefix, surface), whole));
                relative.push(regex);
                examples.push(glob.example);
            }
        }
        for regex in &relative {
            match Table::of(regex, surface.fold_case) {
                Some(table) => {
                    let start = table.start;
                    set.inside.tables.push((table, start));
                }
                None => set.unknown = true,
            }
        }
        for regex in &absolute {
            let Some(table) = Table::of(regex, surface.fold_case) else {
                set.unknown = true;
                continue;
            };
            match &surface.root {
                // Inside the project an absolute pattern means what follows the project's folder:
                // the automaton starts where that folder leads.
                Some(root) => {
                    let folder = format!("{}/", root.trim_end_matches('/'));
                    let inside = table.run(table.start, folder.as_bytes());
                    set.inside.tables.push((Arc::clone(&table), inside));
                }
                None => set.inside.vague = true,
            }
            let start = table.start;
            set.outside.tables.push((table, start));
        }
        // Some paths that are in the set, and one that it allows. Most questions are decided by
        // trying them, without a search.
        let matched = examples
            .into_iter()
            .filter(|e| set.inside.matches(e.as_bytes()));
        set.samples = matched.filter(|e| is_valid(e)).collect();
        let usual = ["x", "a", "src/x", "x/x/x"].map(str::to_owned);
        let mut known = usual.iter().chain(&set.samples);
        set.allowed = known.find(|path| set.allows(path)).cloned();
        set
    }

    /// Whether a path may be changed; relative to the project, or absolute for one outside.
    pub fn allows(&self, path: &str) -> bool {
        let side = if path.starts_with('/') {
            &self.outside
        } else {
            &self.inside
        };
        side.matches(&composed(path.as_bytes())) != self.complement
    }

    /// Paths inside the project that its patterns match.
    pub fn samples(&self) -> &[String] {
        &self.samples
    }

    /// Whether a known path shows that this set is not contained in `other`: this one allows it,
    /// and `other` does not. `false` proves nothing.
    pub fn refutes_containment(&self, other: &Self) -> bool {
        let known = other
            .samples
            .iter()
            .chain(&self.allowed)
            .chain(&self.samples);
        let sure = !(self.inside.vague || other.inside.vague);
        sure && known
            .into_iter()
            .any(|path| self.allows(path) && !other.allows(path))
    }

    /// For a `no_edits_outside` and an `untouched`: whether some path may be edited by the one and
    /// is guarded by the other. `None` when only a search can decide, or the two are of other
    /// kinds.
    ///
    /// The text that each guarded path begins with is run through the automata of the other set.
    /// Where it leads to a living state, the shortest way on is tried as a witness; where it leads
    /// nowhere, no guarded path can match.
    pub fn meets(&self, untouched: &Self) -> Option<bool> {
        let comparable = !self.complement
            && untouched.complement
            && !self.inside.vague
            && !untouched.inside.vague
            && self.outside.tables.is_empty()
            && !self.outside.vague;
        if !comparable || self.unknown || untouched.unknown {
            return None;
        }
        let bases = untouched.samples.iter().map(|s| format!("{s}/"));
        let prefixes = untouched.prefixes.iter().map(|(prefix, _)| prefix.clone());
        let mut alive = false;
        for base in prefixes.chain(bases) {
            for (table, start) in &self.inside.tables {
                let state = table.run(*start, base.as_bytes());
                if state == DEAD {
                    continue;
                }
                alive = true;
                let mut path = base.clone().into_bytes();
                path.extend(match table.tail(state) {
                    // A folder by itself is no valid path.
                    tail if tail.is_empty() && path.ends_with(b"/") => b"x".to_vec(),
                    tail => tail,
                });
                let text = String::from_utf8_lossy(&path);
                let matches = self.inside.matches(&path) && untouched.inside.matches(&path);
                if matches && is_valid(&text) {
                    return Some(true);
                }
            }
        }
        // No guarded path begins in a way that leads anywhere.
        (!alive && untouched.prefixes.len() == 1).then_some(false)
    }

    /// Whether it is too large for anything to be decided about it.
    pub fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// Whether it forbids instead of allowing.
    pub fn is_untouched(&self) -> bool {
        self.complement
    }

    /// Whether no path inside the project can match both, as far as their beginnings show. `false`
    /// proves nothing. It compares what the patterns *match*, so a caller must want both matched.
    fn are_apart(&self, other: &Self) -> bool {
        let apart = |a: &(String, bool), b: &(String, bool)| {
            let (short, long) = if a.0.len() <= b.0.len() {
                (a, b)
            } else {
                (b, a)
            };
            match short.1 {
                true if long.1 => short.0 != long.0,
                // Either may go on behind its beginning, so they are apart only when neither
                // begins the other. (A whole path that the longer begins with is treated as if it
                // could go on, too: an answer of "not apart" is always safe.)
                _ => !long.0.starts_with(&short.0),
            }
        };
        self.prefixes
            .iter()
            .all(|a| other.prefixes.iter().all(|b| apart(a, b)))
    }

    fn side(&self, space: Space) -> &Side {
        match space {
            Space::Inside => &self.inside,
            Space::Outside => &self.outside,
        }
    }
}

fn folded(text: &str, surface: &Surface) -> String {
    match surface.fold_case {
        true => caseless::default_case_fold_str(text),
        false => text.to_owned(),
    }
}

fn is_valid(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    Inside,
    Outside,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::letter::{LetterSet, PatternEnv, Place};

    fn edits(patterns: &[&str]) -> LetterCheck {
        LetterCheck::NoEditsOutside(patterns.iter().map(|p| (*p).to_owned()).collect())
    }

    fn set(check: &LetterCheck) -> Arc<PathSet> {
        PathSet::of(check, &Surface::default())
    }

    fn found(terms: &[(&LetterCheck, bool)]) -> Option<String> {
        let sets: Vec<_> = terms.iter().map(|(check, _)| set(check)).collect();
        let terms: Vec<Term<'_>> = sets
            .iter()
            .zip(terms)
            .map(|(s, (_, yes))| (&**s, *yes))
            .collect();
        match find(&terms) {
            Search::Found(Witness(path)) => Some(path),
            Search::None => None,
            Search::Undecided => panic!("undecided"),
        }
    }

    #[test]
    fn witnesses_read_as_paths() {
        let untouched = LetterCheck::Untouched("src/a".into());
        for (terms, expected) in [
            (vec![(edits(&["src/**"]), true)], Some("src/a")),
            (
                vec![(edits(&["src/**"]), true), (edits(&["**/*.rs"]), true)],
                Some("src/.rs"),
            ),
            (
                vec![(edits(&["src/**"]), true), (edits(&["docs/**"]), true)],
                None,
            ),
            (
                vec![(edits(&["src/**"]), true), (untouched.clone(), true)],
                Some("src/b"),
            ),
            (vec![(edits(&["src/a"]), true), (untouched, true)], None),
            (
                vec![(edits(&["src/*.rs"]), true), (edits(&["src/**"]), false)],
                None,
            ),
            (
                vec![(edits(&["src/**"]), true), (edits(&["src/*"]), false)],
                Some("src/a/a"),
            ),
            (
                vec![(edits(&["a?"]), true), (edits(&["ab"]), false)],
                Some("aa"),
            ),
            (
                vec![(edits(&["/etc/*"]), true), (edits(&["/etc/hosts"]), false)],
                Some("/etc/a"),
            ),
            (vec![(edits(&["[/]"]), true)], Some("[/]")),
        ] {
            let terms: Vec<_> = terms.iter().map(|(check, yes)| (check, *yes)).collect();
            assert_eq!(found(&terms).as_deref(), expected, "{terms:?}");
        }
    }

    #[test]
    fn an_empty_branch_does_not_make_a_pattern_one_path() {
        let (one, two) = (edits(&["src/a{,b}"]), edits(&["src/ab"]));
        assert_eq!(
            found(&[(&one, true), (&two, true)]).as_deref(),
            Some("src/ab")
        );
    }

    #[test]
    fn what_is_not_known_proves_nothing() {
        let (one, home) = (edits(&["src/**"]), edits(&["~/app/docs/**"]));
        let answer = |surface: &Surface| {
            find(&[
                (&PathSet::of(&one, surface), true),
                (&PathSet::of(&home, surface), true),
            ])
        };
        assert_eq!(
            answer(&Surface::default()),
            Search::Undecided,
            "the project might be ~/app/docs"
        );
        let placed = |root: &str| Surface {
            home: Some("/h".into()),
            root: Some(root.into()),
            fold_case: false,
        };
        assert_eq!(answer(&placed("/h/app")), Search::None);
        assert_eq!(
            answer(&placed("/h/app/docs")),
            Search::Found(Witness("src/a".into()))
        );
    }

    #[test]
    fn case_counts_where_the_file_system_counts_it() {
        let (one, two) = (edits(&["src/**"]), edits(&["SRC/**"]));
        let answer = |fold_case| {
            let surface = Surface {
                fold_case,
                ..Surface::default()
            };
            find(&[
                (&PathSet::of(&one, &surface), true),
                (&PathSet::of(&two, &surface), true),
            ])
        };
        assert!(answer(false).is_none() && !answer(true).is_none());
    }

    #[test]
    fn a_question_that_is_too_large_is_not_decided() {
        // Each of these multiplies the states of the product.
        let checks: Vec<LetterCheck> = (0..14)
            .map(|n| edits(&[&format!("**/{}x{}", "?".repeat(n), "?".repeat(13))]))
            .collect();
        let sets: Vec<_> = checks.iter().map(set).collect();
        let mut terms: Vec<Term<'_>> = sets.iter().map(|s| (&**s, true)).collect();
        let none = set(&edits(&["a/b"]));
        terms.push((&none, false));
        assert_ne!(find(&terms), Search::None);
    }

    /// Patterns of all signs over a few letters.
    fn pattern() -> impl Strategy<Value = String> {
        let sign = prop_oneof![
            4 => "[abc]", 2 => Just("*".to_owned()), 1 => Just("?".to_owned()),
            1 => Just("[ab]".to_owned()), 1 => Just("[!a]".to_owned()), 1 => Just("{a,b/c}".to_owned()),
            1 => Just("{,.}".to_owned()), 1 => Just("é".to_owned()), 1 => Just(".".to_owned()),
        ];
        let part = prop_oneof![
            3 => proptest::collection::vec(sign, 1..4).prop_map(|s| s.concat()),
            1 => Just("**".to_owned()),
        ];
        let joined = proptest::collection::vec(part, 1..4).prop_map(|p| p.join("/"));
        (joined, prop_oneof![3 => Just(""), 1 => Just("/")])
            .prop_map(|(p, end)| format!("{p}{end}"))
    }

    fn path() -> impl Strategy<Value = String> {
        proptest::collection::vec("[abcé.]{1,3}", 1..5).prop_map(|parts| parts.join("/"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_automaton_and_the_matcher_agree(
            patterns in proptest::collection::vec(pattern(), 1..4),
            paths in proptest::collection::vec(path(), 1..20),
            untouched in any::<bool>(),
        ) {
            let check = match untouched {
                true => LetterCheck::Untouched(patterns[0].clone()),
                false => LetterCheck::NoEditsOutside(patterns),
            };
            if let Ok(letters) = LetterSet::compile([&check], PatternEnv::default()) {
                let set = set(&check);
                for path in paths {
                    let place = Place {
                        relative: Some(path.as_bytes()),
                        absolute: b"/elsewhere/x",
                        scratch: false,
                        subtree: false,
                        holds_root: false,
                    };
                    let allowed = letters.broken_by(place).is_empty();
                    prop_assert_eq!(set.allows(&path), allowed, "{:?} {}", &check, path);
                }
            }
        }
    }
}
