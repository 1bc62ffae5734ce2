//! Locating: every question about the disk that the decision on an attempt needs, asked once, on
//! the thread of whoever asks. Nothing here knows an invariant, so that the same answer serves
//! whatever is in force when the attempt is decided.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::places::{self, OwnDisk, root_at};
use crate::{
    config::Config,
    core::sets::Compiled,
    located::{
        FoundPath, FoundPlace, Listing, LocatedAttempt, LocatedEffect, LocatedFolder, LocatedLine,
        LocatedTarget, Root, sample_of,
    },
    model::{Attempt, Effect},
    rules::shell::{self, Reading, Surroundings, Target},
};

/// How many files of a folder are listed, when all of it may change. A guarded file beyond that is
/// not found before the command runs; the look at the tree afterwards finds it.
const MAX_BELOW: usize = 20_000;

/// What locating needs besides the attempt: the person's home, and the folders that are scratch
/// in every spelling.
#[derive(Debug, Clone)]
pub struct Locator {
    home: PathBuf,
    scratch: Vec<PathBuf>,
}

impl Locator {
    /// From the home folder and the configured scratch folders.
    pub fn new(home: &Path, config: &Config) -> Self {
        let mut scratch: Vec<PathBuf> = config.paths.scratch.clone();
        scratch.extend(config.paths.scratch.iter().map(|s| places::resolve(s)));
        scratch.sort();
        scratch.dedup();
        Self {
            home: home.to_owned(),
            scratch,
        }
    }

    /// All places that `path` means, written by somebody who stands in `cwd`.
    pub fn path(&self, path: &Path, cwd: &Path, root: &Root) -> FoundPath {
        places::find(path, cwd, root, Some(&self.home), &self.scratch)
    }

    /// Locates an attempt in the project directory `root`. Folders are not listed yet.
    pub fn attempt(&self, attempt: &Attempt, root: &Path) -> LocatedAttempt {
        let root = root_at(root);
        let at = At {
            locator: self,
            root: &root,
            cwd: &attempt.cwd,
        };
        let effects = attempt.effects.iter().map(|e| at.effect(e)).collect();
        LocatedAttempt { root, effects }
    }

    /// Lists the folders of which anything may change.
    pub(crate) fn list(&self, located: &mut LocatedAttempt, set: &Compiled) {
        let root = located.root.clone();
        let known = |f: &LocatedFolder| f.files.as_ref().is_some_and(|l| l.set == set.digest());
        for folder in located.folders_mut().filter(|f| !known(f)) {
            folder.files = Some(self.listing(&folder.folder, &root, set));
        }
    }

    fn listing(&self, folder: &FoundPath, root: &Root, set: &Compiled) -> Listing {
        let checks = set.checks();
        let mut guarded: Vec<(usize, FoundPath)> = Vec::new();
        for file in self.files_of(folder, root) {
            for index in file.broken(checks.set, false) {
                if !guarded.iter().any(|(known, _)| *known == index) {
                    guarded.push((index, file.clone()));
                }
            }
        }
        Listing {
            set: set.digest().to_owned(),
            guarded,
        }
    }

    fn files_of(&self, folder: &FoundPath, root: &Root) -> Vec<FoundPath> {
        let start = &folder.canonical.absolute;
        let files = places::files_below(start, MAX_BELOW);
        files
            .filter_map(|file| {
                let below = file.strip_prefix(start).ok()?;
                let meta = fs::symlink_metadata(&file).ok();
                // A file with one name and no link on the way lies where the folder lies: joining
                // the texts is enough, and much cheaper than to follow each path anew.
                match meta.is_some_and(|m| m.is_file() && m.nlink() < 2) {
                    true => Some(joined(folder, below, root)),
                    false => Some(self.path(&file, &root.written, root)),
                }
            })
            .collect()
    }
}

/// The places of a file `below` a folder.
fn joined(folder: &FoundPath, below: &Path, root: &Root) -> FoundPath {
    let place = |of: &FoundPlace| {
        let absolute = of.absolute.join(below);
        let relative = root.relative(&absolute);
        FoundPlace {
            scratch: of.scratch && relative.is_none(),
            holds_root: false,
            relative,
            absolute,
        }
    };
    let places: Vec<FoundPlace> = folder.places.iter().map(place).collect();
    let canonical = place(&folder.canonical);
    let shown = canonical.relative.as_ref().unwrap_or(&canonical.absolute);
    FoundPath {
        shown: shown.to_string_lossy().into_owned(),
        places,
        canonical,
    }
}

/// Where an attempt is made: the project directory, and the directory that its paths start from.
struct At<'a> {
    locator: &'a Locator,
    root: &'a Root,
    cwd: &'a Path,
}

impl At<'_> {
    fn find(&self, path: &Path) -> FoundPath {
        self.locator.path(path, self.cwd, self.root)
    }

    fn effect(&self, effect: &Effect) -> LocatedEffect {
        match effect {
            Effect::Read { .. } => LocatedEffect::Read,
            Effect::Change { path } => {
                LocatedEffect::Declared(vec![LocatedTarget::Change(self.find(path))])
            }
            Effect::Delete { path } => LocatedEffect::Declared(vec![self.deletion(path)]),
            Effect::Move { from, to } => LocatedEffect::Declared(vec![
                self.deletion(from),
                LocatedTarget::Arrival(self.find(to)),
            ]),
            Effect::Opaque { command, language } => {
                LocatedEffect::Line(Box::new(self.line(command, language.as_deref())))
            }
        }
    }

    fn line(&self, text: &str, language: Option<&str>) -> LocatedLine {
        let reading = self.read(text, language);
        let targets = reading.found.iter().map(|f| self.target(&f.target));
        // The paths that a line names matter only where a part of it is not understood.
        let unknown = reading.unresolved.iter().any(|u| !u.hidden);
        let mentions = reading.mentions.iter().filter(|_| unknown);
        LocatedLine {
            text: text.to_owned(),
            targets: targets.collect(),
            mentions: mentions.map(|m| self.find(&m.path)).collect(),
            reading,
        }
    }

    fn read(&self, text: &str, language: Option<&str>) -> Reading {
        let temporary = std::env::temp_dir();
        let at = Surroundings {
            cwd: self.cwd,
            root: &self.root.written,
            home: Some(&self.locator.home),
            scratch: self.locator.scratch.first().map_or(&temporary, |s| s),
            disk: &OwnDisk,
        };
        match language {
            None => shell::read(text, at),
            Some(language) => shell::read_program(language, text, at),
        }
    }

    fn target(&self, target: &Target) -> LocatedTarget {
        match target {
            Target::Change(path) => LocatedTarget::Change(self.find(path)),
            Target::Delete(path) => self.deletion(path),
            Target::Below(path) => LocatedTarget::Below(self.folder(path, self.find(path))),
            Target::Partial { texts, .. } => {
                let (texts, sample) = sample_of(texts);
                let sample = sample.map(|s| self.find(&s));
                LocatedTarget::Partial { texts, sample }
            }
        }
    }

    fn deletion(&self, path: &Path) -> LocatedTarget {
        let found = self.find(path);
        let folder = found.canonical.absolute.is_dir();
        let folder = folder.then(|| self.folder(path, found.clone()));
        LocatedTarget::Delete(found, folder)
    }

    fn folder(&self, path: &Path, folder: FoundPath) -> LocatedFolder {
        LocatedFolder {
            folder,
            sample: self.find(&path.join("x")),
            files: None,
        }
    }
}
