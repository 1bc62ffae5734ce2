//! What a decision knows from outside: found by whoever asks, on a thread of its own, and handed
//! in with the call. A decision that lacks a fact names it, and is made again with it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    core::sets::Compiled,
    located::{FoundPath, LocatedAttempt, Root},
    project_file::{FileEdit, FileReading},
    requests::TreeWatch,
};

/// SHA-256 of a file's kind, executable bit and content.
pub type Hash = [u8; 32];

/// A file that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Relative to the root.
    pub path: PathBuf,
    /// `None`: it was not there.
    pub before: Option<Hash>,
    /// `None`: it is not there any more.
    pub now: Option<Hash>,
    /// Unix nanoseconds of the change, by the clock of the file system.
    pub at: i64,
}

/// A file that was to be put back, and how that went: the error is a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub root: PathBuf,
    pub path: PathBuf,
    pub outcome: Result<(), String>,
}

/// A file to be put back as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToRestore {
    pub root: PathBuf,
    /// Relative to the root.
    pub path: PathBuf,
    pub before: Hash,
}

/// What is known of the world for one call. Empty for a call that is about none of it.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The project directory that the call comes from.
    pub root: Root,
    /// The attempts that the call is about, in its order.
    pub attempts: Vec<LocatedAttempt>,
    /// The paths that the call is about, in its order.
    pub paths: Vec<FoundPath>,
    /// The files of the project that git does not ignore, relative to it.
    pub files: Vec<String>,
    /// What changed in project directories since the look before.
    pub changes: Vec<(Root, Vec<FileChange>)>,
    /// The trees that the decision asked about were looked at.
    pub looked: bool,
    /// Whether the project's tree is watched, for the call that asks about it.
    pub tree: TreeWatch,
    /// What was asked to be put back.
    pub restored: Vec<Restored>,
    /// What was asked to be written into project files, and how they read since.
    pub written: Vec<(FileEdit, FileReading)>,
    /// The processes that were asked about, and whether each is there.
    pub alive: BTreeMap<u32, bool>,
}

impl Facts {
    /// The looks at a project directory: its spellings, and what changed.
    pub fn looks_at(&self, root: &Path) -> impl Iterator<Item = (&Root, &FileChange)> {
        let of = self
            .changes
            .iter()
            .filter(move |(of, _)| of.written == root);
        of.flat_map(|(root, changes)| changes.iter().map(move |change| (root, change)))
    }

    /// What became of a file that was to be put back, at `path` relative to `root`; `None` when
    /// nobody has tried.
    pub fn restored(&self, root: &Path, path: &Path) -> Option<&Result<(), String>> {
        let same = |r: &&Restored| r.root == root && r.path == path;
        self.restored.iter().find(same).map(|r| &r.outcome)
    }
}

/// A fact that a decision lacks. Whoever asks finds it out and asks again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The call is about this project directory and not the one that it was located in.
    Root(PathBuf),
    /// The files of the folders of which anything may change.
    Files(ForSet),
    /// What changed in these project directories.
    Looks(Vec<PathBuf>),
    /// Which of these processes are there.
    Alive(Vec<u32>),
    /// These files are to be put back first.
    Restore(Vec<ToRestore>),
    /// These changes are to be in the project files first.
    Write(Vec<FileEdit>),
}

/// The set that files are to be held against.
#[derive(Debug, Clone)]
pub struct ForSet(pub(crate) Arc<Compiled>);

impl PartialEq for ForSet {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ForSet {}
