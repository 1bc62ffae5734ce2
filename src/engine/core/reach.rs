//! What a located attempt reaches: its places held against the letter checks of a plan. Pure: the
//! places are found already, and what is not among them is asked for.
//!
//! A change is allowed only when every place that its path can mean may be changed, so each place
//! is asked about and all hits count. Where a line is not understood, what it names counts as
//! changed: an over-approximation, bounded to paths that the line itself mentions.

use std::{ops::Range, sync::Arc};

use super::super::located::{
    FoundPath, LocatedEffect, LocatedFolder, LocatedLine, LocatedTarget, Root,
};
use crate::{
    model::{Origin, Severity, Signature},
    rules::{
        letter::LetterSet,
        normalise::KeyedInvariant,
        shell::{Found, Unresolved},
    },
};

/// A check that an action would break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The check's number in the set.
    pub index: usize,
    pub signature: Signature,
    /// The path that breaks it, as it is shown.
    pub shown: String,
    /// How the action comes to that path, where its words do not say so.
    pub why: Option<String>,
}

/// The decision needs the files of a folder, and they are not listed for its set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unlisted;

/// The checks of a plan in one project directory.
#[derive(Clone, Copy)]
pub(crate) struct Checks<'a> {
    pub set: &'a LetterSet,
    pub letters: &'a [Arc<KeyedInvariant>],
    pub root: &'a Root,
    /// Tells the set from others.
    pub digest: &'a str,
}

impl Checks<'_> {
    /// What one effect breaks.
    ///
    /// # Errors
    /// [`Unlisted`], when the files of a folder decide.
    pub(crate) fn of_effect(&self, effect: &LocatedEffect) -> Result<Vec<Hit>, Unlisted> {
        match effect {
            LocatedEffect::Read => Ok(Vec::new()),
            LocatedEffect::Declared(targets) => {
                let mut hits = Vec::new();
                for target in targets {
                    hits.extend(self.of_target(target, None)?);
                }
                Ok(hits)
            }
            LocatedEffect::Line(line) => self.of_line(line),
        }
    }

    /// What a line that was read breaks.
    ///
    /// # Errors
    /// [`Unlisted`], when the files of a folder decide.
    pub(crate) fn of_line(&self, line: &LocatedLine) -> Result<Vec<Hit>, Unlisted> {
        let mut hits: Vec<Hit> = Vec::new();
        let mut add = |more: Vec<Hit>| {
            for hit in more {
                let same = |h: &Hit| h.index == hit.index && h.signature == hit.signature;
                if !hits.iter().any(same) {
                    hits.push(hit);
                }
            }
        };
        for (found, target) in line.reading.found.iter().zip(&line.targets) {
            add(self.of_target(target, Some(&how(found, target)))?);
        }
        for unresolved in &line.reading.unresolved {
            if unresolved.hidden {
                add(self.hidden(unresolved, &line.text));
                continue;
            }
            let why = format!(
                "it is not known {}, and the line names this path",
                unresolved.why
            );
            for mention in &line.mentions {
                add(self.of_path(mention, false, Some(&why)));
            }
        }
        Ok(hits)
    }

    fn of_target(&self, target: &LocatedTarget, why: Option<&str>) -> Result<Vec<Hit>, Unlisted> {
        Ok(match target {
            LocatedTarget::Change(path) => self.of_path(path, false, why),
            LocatedTarget::Arrival(path) => self.of_path(path, true, why),
            LocatedTarget::Delete(path, folder) => self.deletion(path, folder.as_ref(), why)?,
            LocatedTarget::Below(folder) => self.below(folder, why, false)?,
            LocatedTarget::Partial { texts, sample } => {
                self.in_part(texts, sample.as_ref(), why.unwrap_or_default())
            }
        })
    }

    fn of_path(&self, found: &FoundPath, subtree: bool, why: Option<&str>) -> Vec<Hit> {
        let broken = found.broken(self.set, subtree);
        broken
            .into_iter()
            .map(|index| hit(index, found, why))
            .collect()
    }

    /// A path goes with all that lies in it. What is guarded in it by name follows from the path;
    /// what is guarded by a pattern is found among the folder's files.
    fn deletion(
        &self,
        path: &FoundPath,
        folder: Option<&LocatedFolder>,
        why: Option<&str>,
    ) -> Result<Vec<Hit>, Unlisted> {
        let mut hits = self.of_path(path, true, why);
        if let Some(folder) = folder {
            for more in self.below(folder, why, true)? {
                if self.set.is_untouched(more.index) && !hits.iter().any(|h| h.index == more.index)
                {
                    hits.push(more);
                }
            }
        }
        Ok(hits)
    }

    /// Anything in a folder may change.
    fn below(
        &self,
        folder: &LocatedFolder,
        why: Option<&str>,
        built_in: bool,
    ) -> Result<Vec<Hit>, Unlisted> {
        let found = &folder.folder;
        let mut hits: Vec<Hit> = Vec::new();
        // What is guarded by its full name: known without a look at the files.
        for index in found.broken(self.set, true) {
            if self.set.is_untouched(index) {
                hits.push(hit(index, found, why));
            }
        }
        // A `no_edits_outside` that does not reach into the folder: some file in it stands for all.
        for index in folder.sample.broken(self.set, false) {
            if !self.set.is_untouched(index) {
                hits.push(Hit {
                    shown: format!("{}/**", found.shown.trim_end_matches('/')),
                    ..hit(index, found, why)
                });
            }
        }
        // What is guarded by a pattern counts only when there is such a file: `**/*.snap` would
        // otherwise forbid every command that may write anywhere. Listing files costs a walk, so
        // they are asked for only now.
        let relative = match &found.canonical.relative {
            Some(relative) => relative.to_string_lossy().into_owned(),
            None if found.canonical.holds_root => String::new(),
            None => return Ok(hits),
        };
        let wild: Vec<usize> = self
            .set
            .wild_in(&relative)
            .into_iter()
            .filter(|i| built_in || self.letters[*i].invariant.origin != Origin::BuiltIn)
            .filter(|i| !hits.iter().any(|h| h.index == *i))
            .collect();
        if wild.is_empty() {
            return Ok(hits);
        }
        let listing = folder.files.as_ref().filter(|l| l.set == self.digest);
        for (index, file) in &listing.ok_or(Unlisted)?.guarded {
            if wild.contains(index) && !hits.iter().any(|h| h.index == *index) {
                hits.push(hit(*index, file, why));
            }
        }
        Ok(hits)
    }

    /// A path of which only parts are known: a path that it could be is held against the checks,
    /// and guarded paths that fit the known parts count as hit.
    fn in_part(&self, texts: &[String], sample: Option<&FoundPath>, why: &str) -> Vec<Hit> {
        let shown = self.shorten(&texts.join("…"));
        let mut hits: Vec<Hit> = Vec::new();
        if let Some(sample) = sample {
            for sample in self.of_path(sample, false, Some(why)) {
                let shown = shown.clone();
                hits.push(Hit { shown, ..sample });
            }
        }
        for root in [&self.root.written, &self.root.resolved] {
            for index in self.set.near(texts, &root.to_string_lossy()) {
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

    /// Text that is decoded and then run could do anything, and is written so that nobody can see
    /// what. It breaks the first invariant of a person's that blocks; without one it breaks none.
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

/// How a line comes to change a place.
fn how(found: &Found, target: &LocatedTarget) -> String {
    match target {
        LocatedTarget::Below(_) => format!("`{}` may change anything in it", found.how),
        LocatedTarget::Partial { .. } => format!(
            "`{}` changes it, and not all of its name is known",
            found.how
        ),
        _ => format!("`{}` changes it", found.how),
    }
}

/// The part of a line that `bytes` name.
pub(crate) fn part<'a>(line: &'a str, bytes: &Range<usize>) -> &'a str {
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
