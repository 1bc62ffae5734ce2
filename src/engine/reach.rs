//! What an action reaches: its effects, and what is read out of its commands, held against the
//! letter checks of a plan.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::places::{self, FoundPath, OwnDisk, Root};
use crate::{
    model::{Effect, Origin, Severity, Signature},
    rules::{
        letter::LetterSet,
        normalise::Keyed,
        path::clean,
        shell::{self, Found, Reading, Surroundings, Target, Unresolved},
    },
};

/// How many files of a folder are looked at, when all of it may change.
const MAX_BELOW: usize = 20_000;

/// A check that an action would break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    /// The check's number in the set.
    pub index: usize,
    pub signature: Signature,
    /// The path that breaks it, as it is shown.
    pub shown: String,
    /// How the action comes to that path, where its words do not say so.
    pub why: Option<String>,
}

/// The checks of a plan and the place where an agent stands.
#[derive(Clone, Copy)]
pub(super) struct Reach<'a> {
    pub set: &'a LetterSet,
    pub letters: &'a [Arc<Keyed>],
    pub root: &'a Root,
    pub home: &'a Path,
    pub scratch: &'a [PathBuf],
    pub cwd: &'a Path,
}

impl Reach<'_> {
    /// Reads a command or program text.
    pub(super) fn read(&self, command: &str, language: Option<&str>) -> Reading {
        let temporary = std::env::temp_dir();
        let at = Surroundings {
            cwd: self.cwd,
            root: &self.root.written,
            home: Some(self.home),
            scratch: self.scratch.first().map_or(&temporary, |s| s),
            disk: &OwnDisk,
        };
        match language {
            None => shell::read(command, at),
            Some(language) => shell::read_program(language, command, at),
        }
    }

    /// What a declared effect breaks.
    pub(super) fn of_effect(&self, effect: &Effect) -> Vec<Hit> {
        match effect {
            Effect::Change { path } => self.of_path(path, false, None),
            Effect::Delete { path } => self.deletion(path, None),
            Effect::Move { from, to } => {
                let mut hits = self.deletion(from, None);
                hits.extend(self.of_path(to, true, None));
                hits
            }
            Effect::Read { .. } | Effect::Opaque { .. } => Vec::new(),
        }
    }

    /// What a line that was read breaks; `line` is its text.
    pub(super) fn of_reading(&self, reading: &Reading, line: &str) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        let mut add = |more: Vec<Hit>| {
            for hit in more {
                let same = |h: &Hit| h.index == hit.index && h.signature == hit.signature;
                if !hits.iter().any(same) {
                    hits.push(hit);
                }
            }
        };
        for found in &reading.found {
            add(self.of_found(found));
        }
        for unresolved in &reading.unresolved {
            if unresolved.hidden {
                add(self.hidden(unresolved, line));
                continue;
            }
            for mention in &reading.mentions {
                let why = format!(
                    "it is not known {}, and the line names this path",
                    unresolved.why
                );
                add(self.of_path(&mention.path, false, Some(&why)));
            }
        }
        hits
    }

    /// What one change that was read out of a line breaks.
    pub(super) fn of_found(&self, found: &Found) -> Vec<Hit> {
        let why = format!("`{}` changes it", found.how);
        match &found.target {
            Target::Change(path) => self.of_path(path, false, Some(&why)),
            Target::Delete(path) => self.deletion(path, Some(&why)),
            Target::Below(path) => {
                let why = format!("`{}` may change anything in it", found.how);
                self.below(path, Some(&why), false)
            }
            Target::Partial { texts, .. } => {
                let why = format!(
                    "`{}` changes it, and not all of its name is known",
                    found.how
                );
                self.in_part(texts, &why)
            }
        }
    }

    pub(super) fn find(&self, path: &Path) -> FoundPath {
        places::find(path, self.cwd, self.root, Some(self.home), self.scratch)
    }

    fn of_path(&self, path: &Path, subtree: bool, why: Option<&str>) -> Vec<Hit> {
        let found = self.find(path);
        let broken = found.broken(self.set, subtree);
        broken
            .into_iter()
            .map(|index| hit(index, &found, why))
            .collect()
    }

    /// A path goes with all that lies in it; what is guarded in it by a pattern as well.
    fn deletion(&self, path: &Path, why: Option<&str>) -> Vec<Hit> {
        let mut hits = self.of_path(path, true, why);
        if self.find(path).canonical.absolute.is_dir() {
            for more in self.below(path, why, true) {
                if self.set.is_untouched(more.index) && !hits.iter().any(|h| h.index == more.index)
                {
                    hits.push(more);
                }
            }
        }
        hits
    }

    /// Anything in a folder may change.
    fn below(&self, folder: &Path, why: Option<&str>, built_in: bool) -> Vec<Hit> {
        let found = self.find(folder);
        let mut hits: Vec<Hit> = Vec::new();
        // What is guarded by its full name.
        for index in found.broken(self.set, true) {
            if self.set.is_untouched(index) {
                hits.push(hit(index, &found, why));
            }
        }
        // What must not be edited at all.
        let sample = self.find(&folder.join("x"));
        for index in sample.broken(self.set, false) {
            if !self.set.is_untouched(index) {
                hits.push(Hit {
                    shown: format!("{}/**", found.shown.trim_end_matches('/')),
                    ..hit(index, &found, why)
                });
            }
        }
        // What is guarded by a pattern, and there.
        let relative = match &found.canonical.relative {
            Some(relative) => relative.to_string_lossy().into_owned(),
            None if found.canonical.holds_root => String::new(),
            None => return hits,
        };
        let wild: Vec<usize> = self
            .set
            .wild_in(&relative)
            .into_iter()
            .filter(|i| built_in || self.letters[*i].invariant.origin != Origin::BuiltIn)
            .filter(|i| !hits.iter().any(|h| h.index == *i))
            .collect();
        if wild.is_empty() {
            return hits;
        }
        for file in places::files_below(&found.canonical.absolute, MAX_BELOW) {
            let found = self.find(&file);
            for index in found.broken(self.set, false) {
                if wild.contains(&index) && !hits.iter().any(|h| h.index == index) {
                    hits.push(hit(index, &found, why));
                }
            }
        }
        hits
    }

    /// A path of which only parts are known: one that it could be is asked about.
    fn in_part(&self, texts: &[String], why: &str) -> Vec<Hit> {
        let mut texts = texts.to_vec();
        let Some(start) = texts.first_mut() else {
            return Vec::new();
        };
        let mut hits = Vec::new();
        if start.starts_with('/') {
            // The known beginning is cleaned as a path, its last part as it is.
            if let Some((folder, name)) = start.rsplit_once('/') {
                let folder = clean(Path::new(if folder.is_empty() { "/" } else { folder }));
                *start = format!(
                    "{}/{name}",
                    folder.display().to_string().trim_end_matches('/')
                );
            }
            let sample = PathBuf::from(texts.join("x"));
            let shown = texts.join("…");
            for sample in self.of_path(&sample, false, Some(why)) {
                let shown = self.shorten(&shown);
                hits.push(Hit { shown, ..sample });
            }
        }
        let shown = self.shorten(&texts.join("…"));
        let roots = [&self.root.written, &self.root.resolved];
        for root in roots {
            for index in self.set.near(&texts, &root.to_string_lossy()) {
                if !hits.iter().any(|h: &Hit| h.index == index) {
                    hits.push(Hit {
                        index,
                        signature: Signature::of_path(&shown),
                        shown: shown.clone(),
                        why: Some(why.to_owned()),
                    });
                }
            }
        }
        hits
    }

    fn shorten(&self, path: &str) -> String {
        let root = format!("{}/", self.root.written.display());
        path.strip_prefix(&root).unwrap_or(path).to_owned()
    }

    /// Text that is decoded and then run could do anything: the first invariant of a person's
    /// that blocks is held against it.
    fn hidden(&self, unresolved: &Unresolved, line: &str) -> Vec<Hit> {
        let own = self.letters.iter().position(|k| {
            k.invariant.origin != Origin::BuiltIn && k.invariant.severity == Severity::Error
        });
        let hit = own.map(|index| Hit {
            index,
            signature: Signature::of_command(line),
            shown: part(line, &unresolved.bytes).to_owned(),
            why: Some(format!("it is not known {}", unresolved.why)),
        });
        hit.into_iter().collect()
    }
}

/// The part of a line that `bytes` name.
pub(super) fn part<'a>(line: &'a str, bytes: &Range<usize>) -> &'a str {
    line.get(bytes.clone()).unwrap_or(line)
}

fn hit(index: usize, found: &FoundPath, why: Option<&str>) -> Hit {
    Hit {
        index,
        signature: found.signature(),
        shown: found.shown.clone(),
        why: why.map(str::to_owned),
    }
}
