//! Letter checks: whether a change to a path breaks `no_edits_outside` or `untouched`.
//!
//! All patterns of a plan are compiled into one automaton over relative paths and one over
//! absolute paths, so that a check costs one pass over the path however many rules there are.
//!
//! For a folder of which anything may change, [`LetterSet::wild_in`] names all checks that might be
//! broken there (an over-approximation: a look at the files decides). For a path of which only
//! parts are known, [`LetterSet::near`] names those that these parts point at; it may miss some,
//! which the look at the tree after the command finds.

use std::{borrow::Cow, path::Path};

use regex::bytes::{Regex, RegexSet, RegexSetBuilder};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::glob::{Glob, GlobError};
use crate::model::LetterCheck;

/// What patterns are compiled against.
#[derive(Debug, Clone, Copy, Default)]
pub struct PatternEnv<'a> {
    /// Stands for `~/`.
    pub home: Option<&'a Path>,
    /// The project lies on a file system where upper and lower case are the same.
    pub fold_case: bool,
}

/// A place on disk that an attempt would change, in one spelling.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Bytes of the path relative to the project root; `None` when it lies outside.
    pub relative: Option<&'a [u8]>,
    /// Bytes of the absolute path.
    pub absolute: &'a [u8],
    /// In a scratch folder outside the project: nobody's business, unless named absolutely.
    pub scratch: bool,
    /// The whole of what lies under the path goes too (a deletion or a move).
    pub subtree: bool,
    /// The project itself lies at or under the path.
    pub holds_root: bool,
}

/// The compiled letter checks of one plan. Index `i` answers for the `i`-th check given.
#[derive(Debug)]
pub struct LetterSet {
    checks: Vec<Compiled>,
    relative: Patterns,
    absolute: Patterns,
}

#[derive(Debug)]
struct Compiled {
    untouched: bool,
    /// For `untouched`: what is known of the guarded path without matching, to see whether a
    /// folder that goes takes it along.
    guarded: Option<Guarded>,
}

#[derive(Debug)]
struct Guarded {
    absolute: bool,
    /// The text before the first wildcard.
    prefix: String,
    /// A path that it guards.
    example: String,
    /// It has wildcards.
    wild: bool,
}

/// Patterns in sets of bounded size, each pattern with the check it belongs to.
#[derive(Debug, Default)]
struct Patterns {
    sets: Vec<RegexSet>,
    owners: Vec<u32>,
}

/// How many patterns share one automaton. One for all would be the fastest to run, but it grows
/// faster than the number of patterns; in portions the memory stays proportional.
const SET_SIZE: usize = 256;

impl LetterSet {
    /// Compiles the checks.
    ///
    /// # Errors
    /// The index of the first check that does not compile, with its fault. A check is never
    /// left out.
    pub fn compile<'a>(
        checks: impl IntoIterator<Item = &'a LetterCheck>,
        env: PatternEnv<'_>,
    ) -> Result<Self, (usize, GlobError)> {
        let mut compiled = Vec::new();
        let (mut relative, mut absolute) = (Vec::new(), Vec::new());
        for (index, check) in checks.into_iter().enumerate() {
            let untouched = matches!(check, LetterCheck::Untouched(_));
            let mut guarded = None;
            for pattern in check.patterns() {
                let glob = Glob::parse(pattern, env.home).map_err(|e| (index, e))?;
                let mut regex = glob.regex;
                if untouched {
                    // What is guarded is guarded with everything below it.
                    regex.truncate(regex.len() - r"\z".len());
                    regex.push_str(r"(?:/(?s-u:.)*)?\z");
                    guarded = Some(Guarded {
                        absolute: glob.absolute,
                        wild: glob.wild,
                        prefix: glob.literal_prefix,
                        example: glob.example,
                    });
                }
                let list = if glob.absolute {
                    &mut absolute
                } else {
                    &mut relative
                };
                list.push((regex, index as u32));
            }
            compiled.push(Compiled { untouched, guarded });
        }
        let build = |list: Vec<(String, u32)>| {
            Patterns::build(list, env.fold_case).map_err(|owner| {
                let fault = super::glob::GlobFault::TooLarge;
                (
                    owner,
                    GlobError {
                        pattern: String::new(),
                        column: 1,
                        fault,
                    },
                )
            })
        };
        Ok(Self {
            checks: compiled,
            relative: build(relative)?,
            absolute: build(absolute)?,
        })
    }

    /// How many checks it holds.
    pub fn len(&self) -> usize {
        self.checks.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    /// Whether check `index` is an `untouched`.
    pub fn is_untouched(&self, index: usize) -> bool {
        self.checks[index].untouched
    }

    /// The indices of the checks that a change to `place` breaks, ascending. Exact for the path
    /// itself; with `subtree`, what patterns with wildcards guard below it is left to
    /// [`LetterSet::wild_in`] and a look at the files.
    pub fn broken_by(&self, place: Place<'_>) -> Vec<usize> {
        let mut matched = vec![false; self.checks.len()];
        let relative = place.relative.map(composed);
        let absolute = composed(place.absolute);
        if let Some(relative) = &relative {
            self.relative.mark(relative, &mut matched);
        }
        self.absolute.mark(&absolute, &mut matched);
        // Removing a folder above the project removes the project, even from a scratch folder.
        let takes_root = place.subtree && place.holds_root;
        let nobodys_business = place.scratch && place.relative.is_none() && !takes_root;
        self.checks
            .iter()
            .zip(&matched)
            .enumerate()
            .filter(|(_, (check, matched))| match check.untouched {
                // Named means guarded, in a scratch folder too; `no_edits_outside` does not reach
                // there.
                true => {
                    **matched
                        || (place.subtree
                            && check.lies_under(relative.as_deref(), &absolute, takes_root))
                }
                false => !**matched && !nobodys_business,
            })
            .map(|(index, _)| index)
            .collect()
    }

    /// The `untouched` checks that a path of which only parts are known is close to, ascending.
    /// `texts` are its known parts in order, with any text between them; the path is absolute, and
    /// the first text is empty when its beginning is not known. `root` is the project's folder.
    ///
    /// A check is close when its example path fits the known parts. That is no proof either way:
    /// a pattern with wildcards has other paths as well.
    pub fn near(&self, texts: &[String], root: &str) -> Vec<usize> {
        let parts: Vec<String> = texts.iter().map(|t| regex::escape(t)).collect();
        let Ok(regex) = Regex::new(&format!(r"\A(?s-u:{})\z", parts.join(".*"))) else {
            // Too long for an expression: then it might be any of them.
            return (0..self.len()).filter(|i| self.is_untouched(*i)).collect();
        };
        let might = |guarded: &Guarded| {
            let example = match guarded.absolute {
                true => guarded.example.clone(),
                false => format!("{}/{}", root.trim_end_matches('/'), guarded.example),
            };
            regex.is_match(example.as_bytes())
        };
        let guarded = self.checks.iter().map(|check| check.guarded.as_ref());
        guarded
            .enumerate()
            .filter(|(_, guarded)| guarded.is_some_and(might))
            .map(|(index, _)| index)
            .collect()
    }

    /// The `untouched` checks with wildcards that may match something in a folder: only a look at
    /// its files can say. `relative` is the folder's path from the root, empty for the root
    /// itself. Decided by the text before the first wildcard: it lies in the folder, or the folder
    /// lies in what it begins.
    pub fn wild_in(&self, relative: &str) -> Vec<usize> {
        let may = |guarded: &Guarded| {
            let prefix = guarded.prefix.as_str();
            guarded.wild
                && !guarded.absolute
                && (relative.is_empty()
                    || prefix.starts_with(&format!("{relative}/"))
                    || format!("{relative}/")
                        .starts_with(prefix.rsplit_once('/').map_or("", |(p, _)| p)))
        };
        let guarded = self.checks.iter().map(|check| check.guarded.as_ref());
        guarded
            .enumerate()
            .filter(|(_, guarded)| guarded.is_some_and(may))
            .map(|(index, _)| index)
            .collect()
    }

    /// What `untouched` checks guard, as far as it is spelled out: the text before the first
    /// wildcard, and whether that is the whole. Relative ones only.
    pub fn guarded_texts(&self) -> impl Iterator<Item = (&str, bool)> {
        self.checks
            .iter()
            .filter_map(|check| check.guarded.as_ref())
            .filter(|guarded| !guarded.absolute)
            .map(|guarded| (guarded.prefix.as_str(), !guarded.wild))
    }
}

/// The path in composed form: `e` and an accent are one letter, as in the patterns.
pub(super) fn composed(path: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(path) {
        Ok(text) if !text.is_ascii() && !is_nfc(text) => {
            Cow::Owned(text.nfc().collect::<String>().into_bytes())
        }
        _ => Cow::Borrowed(path),
    }
}

impl Compiled {
    /// Whether the guarded path lies in the folder at `place`.
    fn lies_under(&self, relative: Option<&[u8]>, absolute: &[u8], takes_root: bool) -> bool {
        let Some(guarded) = &self.guarded else {
            return false;
        };
        let folder = match guarded.absolute {
            true => Some(absolute),
            // All that is spelled out lies in the project, which goes. What a wildcard guards is
            // looked for file by file, since there may be none.
            false if takes_root => return !guarded.wild,
            false => relative,
        };
        // The text before a wildcard is enough: `tests/unit/*.py` lies in `tests` whatever the
        // star stands for. The slash keeps `test` from holding `tests`.
        folder.is_some_and(|folder| {
            guarded
                .prefix
                .as_bytes()
                .strip_prefix(folder)
                .is_some_and(|rest| rest.first() == Some(&b'/'))
        })
    }
}

impl Patterns {
    fn build(list: Vec<(String, u32)>, fold_case: bool) -> Result<Self, usize> {
        let mut sets = Vec::new();
        for chunk in list.chunks(SET_SIZE) {
            // Each pattern compiled alone before, within the library's own limit. The greater
            // limits are for a whole portion; the second bounds what matching may cache.
            let set = RegexSetBuilder::new(chunk.iter().map(|(regex, _)| regex))
                .case_insensitive(fold_case)
                .size_limit(256 << 20)
                .dfa_size_limit(8 << 20)
                .build()
                .map_err(|_| chunk[0].1 as usize)?;
            sets.push(set);
        }
        let owners = list.into_iter().map(|(_, owner)| owner).collect();
        Ok(Self { sets, owners })
    }

    fn mark(&self, path: &[u8], matched: &mut [bool]) {
        for (number, set) in self.sets.iter().enumerate() {
            for hit in set.matches(path).iter() {
                matched[self.owners[number * SET_SIZE + hit] as usize] = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(checks: &[LetterCheck]) -> LetterSet {
        let env = PatternEnv {
            home: Some(Path::new("/home/mira")),
            fold_case: false,
        };
        LetterSet::compile(checks, env).unwrap()
    }

    fn outside(patterns: &[&str]) -> LetterCheck {
        LetterCheck::NoEditsOutside(patterns.iter().map(|p| (*p).to_owned()).collect())
    }

    fn untouched(pattern: &str) -> LetterCheck {
        LetterCheck::Untouched(pattern.to_owned())
    }

    fn inside(path: &str) -> Place<'_> {
        Place {
            relative: Some(path.as_bytes()),
            absolute: b"/w/?",
            scratch: false,
            subtree: false,
            holds_root: false,
        }
    }

    fn elsewhere(path: &str, scratch: bool) -> Place<'_> {
        Place {
            relative: None,
            absolute: path.as_bytes(),
            scratch,
            subtree: false,
            holds_root: false,
        }
    }

    #[test]
    fn both_forms_are_checked_at_once() {
        let set = set(&[
            outside(&["src/**", "docs/*.md"]),
            untouched("tests/test_sync.py"),
        ]);
        for (path, broken) in [
            ("src/a.rs", vec![]),
            ("docs/a.md", vec![]),
            ("docs/x/a.md", vec![0]),
            ("README.md", vec![0]),
            ("tests/test_sync.py", vec![0, 1]),
            ("vendor/src/x", vec![0]),
        ] {
            assert_eq!(set.broken_by(inside(path)), broken, "{path}");
        }
    }

    #[test]
    fn untouched_covers_what_lies_below() {
        let set = set(&[untouched("tests"), untouched("db/")]);
        assert_eq!(set.broken_by(inside("tests/a/b.py")), [0]);
        assert_eq!(set.broken_by(inside("tests")), [0]);
        assert_eq!(set.broken_by(inside("tests2/a")), Vec::<usize>::new());
        assert_eq!(set.broken_by(inside("db/1.sql")), [1]);
    }

    #[test]
    fn removing_a_folder_removes_the_guarded_file_in_it() {
        let set = set(&[untouched("tests/unit/test_sync.py")]);
        for (folder, hit) in [
            ("tests", true),
            ("tests/unit", true),
            ("test", false),
            ("src", false),
        ] {
            let place = Place {
                subtree: true,
                ..inside(folder)
            };
            assert_eq!(!set.broken_by(place).is_empty(), hit, "{folder}");
            assert!(set.broken_by(inside(folder)).is_empty(), "{folder}");
        }
    }

    #[test]
    fn outside_the_root_only_absolute_patterns_match() {
        let set = set(&[outside(&["**", "~/notes/*.md"]), untouched("/srv/db/**")]);
        assert_eq!(set.broken_by(elsewhere("/etc/hosts", false)), [0]);
        assert!(
            set.broken_by(elsewhere("/home/mira/notes/a.md", false))
                .is_empty()
        );
        assert!(set.broken_by(elsewhere("/tmp/x", true)).is_empty());
        assert_eq!(set.broken_by(elsewhere("/srv/db/x", true)), [1]);
    }

    #[test]
    fn the_projects_own_folder_holds_all_that_is_guarded() {
        let set = set(&[
            untouched("tests/a"),
            untouched("/srv/db"),
            outside(&["src/**"]),
        ]);
        let place = Place {
            subtree: true,
            holds_root: true,
            ..elsewhere("/tmp/w", true)
        };
        assert_eq!(set.broken_by(place), [0, 2]);
        assert!(set.broken_by(elsewhere("/tmp/w", true)).is_empty());
    }

    #[test]
    fn both_unicode_forms_of_a_name_are_one() {
        let set = set(&[
            untouched("tests/\u{e9}.py"),
            outside(&["e\u{301}/**", "tests/**"]),
        ]);
        assert_eq!(set.broken_by(inside("tests/e\u{301}.py")), [0]);
        assert_eq!(set.broken_by(inside("\u{e9}/a")), Vec::<usize>::new());
        // Full-width letters are another name.
        assert_eq!(set.broken_by(inside("\u{ff54}ests/\u{e9}.py")), [1]);
    }

    #[test]
    fn a_path_known_in_part_may_be_near() {
        let set = set(&[
            untouched("tests/test_sync.py"),
            untouched("db/**/*.sql"),
            outside(&["src/**"]),
        ]);
        let near = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
            set.near(&texts, "/w")
        };
        assert_eq!(near(&["/w/tests/", ""]), [0]);
        assert_eq!(near(&["", "/test_sync.py"]), [0]);
        assert_eq!(near(&["/w/db/", ".sql"]), [1]);
        assert_eq!(near(&["/w/src/", ""]), Vec::<usize>::new());
        assert_eq!(near(&["/w/te", "c.py"]), [0]);
    }

    #[test]
    fn case_folds_where_the_file_system_folds_it() {
        let env = PatternEnv {
            home: None,
            fold_case: true,
        };
        let set = LetterSet::compile(&[untouched("tests/Sync.py")], env).unwrap();
        assert_eq!(set.broken_by(inside("TESTS/sync.PY")), [0]);
    }

    #[test]
    fn a_fault_refuses_the_whole_set_and_names_the_check() {
        let checks = [untouched("a"), untouched("src/[x")];
        let (index, error) = LetterSet::compile(&checks, PatternEnv::default()).unwrap_err();
        assert_eq!((index, error.column), (1, 5));
    }

    #[test]
    fn thousands_of_patterns_keep_their_owners() {
        let checks: Vec<_> = (0..1000)
            .map(|n| untouched(&format!("dir{n}/file{n}.py")))
            .collect();
        let set = set(&checks);
        assert_eq!(set.broken_by(inside("dir777/file777.py")), [777]);
        assert_eq!(set.len(), 1000);
    }
}
