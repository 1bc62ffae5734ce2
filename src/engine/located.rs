//! What an attempt means on the disk: plain data, found once on the thread of whoever asks (see
//! [`disk`](super::disk)), and all that a decision knows of the disk.

use std::path::{Path, PathBuf};

use crate::{
    model::{Effect, Signature},
    rules::{
        letter::{LetterSet, Place},
        path::{clean, inside},
        shell::Reading,
    },
};

/// A project directory in the spellings that lead to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Root {
    /// As the agent says it.
    pub written: PathBuf,
    /// With all links followed.
    pub resolved: PathBuf,
    /// Whether its file system takes `A` and `a` for the same name.
    pub fold_case: bool,
}

impl Root {
    /// The part of an absolute path below the project, when it lies inside by either spelling.
    pub fn relative(&self, path: &Path) -> Option<PathBuf> {
        inside(path, &self.written)
            .or_else(|| inside(path, &self.resolved))
            .map(Path::to_owned)
    }

    /// A file of the project at `path`, relative to the root, taken as it stands: links in it
    /// are not followed. For paths that come from a walk of the disk, which follows none.
    pub fn at(&self, path: &Path) -> FoundPath {
        let place = FoundPlace {
            relative: Some(path.to_owned()),
            absolute: self.resolved.join(path),
            scratch: false,
            holds_root: false,
        };
        FoundPath {
            places: vec![place.clone()],
            canonical: place,
            shown: path.to_string_lossy().into_owned(),
        }
    }
}

/// One place that a written path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPlace {
    /// Relative to the project root, when it lies inside.
    pub relative: Option<PathBuf>,
    pub absolute: PathBuf,
    /// In a scratch folder and not in the project.
    pub scratch: bool,
    /// The project lies at or under it.
    pub holds_root: bool,
}

/// The places of one path; the canonical one is what the kernel would write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPath {
    pub places: Vec<FoundPlace>,
    pub canonical: FoundPlace,
    /// How the path is shown to people and models: relative inside the project.
    pub shown: String,
}

impl FoundPath {
    /// The signature under which a change here is counted: that of the canonical place, so that
    /// each spelling of the path has the same.
    pub fn signature(&self) -> Signature {
        let canonical = &self.canonical;
        let path = canonical.relative.as_ref().unwrap_or(&canonical.absolute);
        Signature::of_path(&path.to_string_lossy())
    }

    /// The checks of `set` that a change here breaks in any of its places, ascending. With
    /// `subtree`, all that lies below goes with it.
    pub fn broken(&self, set: &LetterSet, subtree: bool) -> Vec<usize> {
        let mut broken: Vec<usize> = self
            .places
            .iter()
            .flat_map(|place| {
                let relative = place.relative.as_ref();
                set.broken_by(Place {
                    relative: relative.map(|r| r.as_os_str().as_encoded_bytes()),
                    absolute: place.absolute.as_os_str().as_encoded_bytes(),
                    scratch: place.scratch,
                    subtree,
                    holds_root: place.holds_root,
                })
            })
            .collect();
        broken.sort_unstable();
        broken.dedup();
        broken
    }
}

/// The files below a folder that git does not ignore, held against one set: matching thousands of
/// files takes as long as listing them, so that both are done by whoever asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The digest of the set.
    pub set: String,
    /// For each check that a change of some file breaks, the first such file.
    pub guarded: Vec<(usize, FoundPath)>,
}

/// A folder of which anything may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedFolder {
    pub folder: FoundPath,
    /// Some file right in it.
    pub sample: FoundPath,
    /// What is guarded below. `None`: not listed, since listing costs a walk and most decisions do
    /// without; a decision that needs it says so.
    pub files: Option<Listing>,
}

/// A place that is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocatedTarget {
    Change(FoundPath),
    /// It is made by moving something there, with all that lies in it.
    Arrival(FoundPath),
    /// It goes, with all that lies in it; the folder where it is one.
    Delete(FoundPath, Option<LocatedFolder>),
    /// Anything in the folder may change.
    Below(LocatedFolder),
    /// A path of which only `texts` are known, with gaps between; a path that it could be, when
    /// its beginning is known.
    Partial {
        texts: Vec<String>,
        sample: Option<FoundPath>,
    },
}

/// A command line, or a program text, that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedLine {
    pub text: String,
    pub reading: Reading,
    /// The places of `reading.found`, in its order.
    pub targets: Vec<LocatedTarget>,
    /// The places of `reading.mentions`, where a part of the line is not known.
    pub mentions: Vec<FoundPath>,
}

/// One effect of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocatedEffect {
    /// It changes nothing.
    Read,
    /// Declared changes: one, or the two sides of a move.
    Declared(Vec<LocatedTarget>),
    Line(Box<LocatedLine>),
}

/// All places that an attempt can mean, and what its commands were read to do. The same order as
/// the effects of the attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocatedAttempt {
    pub root: Root,
    pub effects: Vec<LocatedEffect>,
}

impl LocatedAttempt {
    /// Whether the attempt is known to change nothing: it has effects, and each of them is a
    /// line that was proven to read. `effects` are those of the attempt.
    pub fn only_reads(&self) -> bool {
        let reads = |effect: &LocatedEffect| match effect {
            LocatedEffect::Line(line) => line.reading.only_reads(),
            _ => false,
        };
        !self.effects.is_empty() && self.effects.iter().all(reads)
    }

    /// The folders whose files a decision may ask for.
    pub fn folders_mut(&mut self) -> impl Iterator<Item = &mut LocatedFolder> {
        let targets = self.effects.iter_mut().flat_map(|effect| match effect {
            LocatedEffect::Read => Default::default(),
            LocatedEffect::Declared(targets) => targets.iter_mut(),
            LocatedEffect::Line(line) => line.targets.iter_mut(),
        });
        targets.filter_map(|target| match target {
            LocatedTarget::Below(folder) | LocatedTarget::Delete(_, Some(folder)) => Some(folder),
            _ => None,
        })
    }

    /// The paths that are declared to change.
    pub fn declared(&self) -> impl Iterator<Item = &FoundPath> {
        let targets = self.effects.iter().flat_map(|effect| match effect {
            LocatedEffect::Declared(targets) => targets.as_slice(),
            LocatedEffect::Read | LocatedEffect::Line(_) => &[],
        });
        targets.filter_map(|target| match target {
            LocatedTarget::Change(path)
            | LocatedTarget::Arrival(path)
            | LocatedTarget::Delete(path, _) => Some(path),
            LocatedTarget::Below(_) | LocatedTarget::Partial { .. } => None,
        })
    }
}

/// Whether an effect does more than read.
pub fn acts(effect: &Effect) -> bool {
    !matches!(effect, Effect::Read { .. })
}

/// A path of which the beginning is known, with its known folders cleaned: the texts again, and a
/// path that they could stand for.
pub fn sample_of(texts: &[String]) -> (Vec<String>, Option<PathBuf>) {
    let mut texts = texts.to_vec();
    let Some(start) = texts.first_mut().filter(|t| t.starts_with('/')) else {
        return (texts, None);
    };
    // The known beginning is cleaned as a path, its last part as it is.
    if let Some((folder, name)) = start.rsplit_once('/') {
        let folder = clean(Path::new(if folder.is_empty() { "/" } else { folder }));
        *start = format!(
            "{}/{name}",
            folder.display().to_string().trim_end_matches('/')
        );
    }
    let sample = PathBuf::from(texts.join("x"));
    (texts, Some(sample))
}
