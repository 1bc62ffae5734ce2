//! Watches the project files, so that a change shows without anyone asking.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use crate::project_file;

/// The directories that are watched. Where one cannot be watched, all files are looked
/// at with every call instead.
pub(crate) struct Watch {
    watcher: Option<RecommendedWatcher>,
    roots: BTreeSet<PathBuf>,
    /// A directory could not be watched.
    missed: bool,
}

impl Watch {
    /// Starts with nothing to watch; `changed` is called, on a thread of the watcher, when a
    /// project file may have changed.
    pub(crate) fn new(changed: impl Fn() + Send + 'static) -> Self {
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let ours = |path: &PathBuf| path.file_name().is_some_and(|n| n == project_file::NAME);
            // An event that could not be told apart counts as well.
            if event.map_or(true, |e| !e.kind.is_access() && e.paths.iter().any(ours)) {
                changed();
            }
        });
        if let Err(error) = &watcher {
            tracing::warn!(%error, "project files are not watched");
        }
        Self {
            watcher: watcher.ok(),
            roots: BTreeSet::new(),
            missed: false,
        }
    }

    /// Watches a project directory from now on. Its file may come and go, so that the folder is
    /// what is watched.
    pub(crate) fn add(&mut self, root: &Path) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        if self.roots.contains(root) || !root.is_dir() {
            return;
        }
        match watcher.watch(root, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.roots.insert(root.to_owned());
            }
            Err(error) => {
                tracing::warn!(%error, "a project file is not watched");
                self.missed = true;
            }
        }
    }

    /// Whether every directory that was added is watched.
    pub(crate) fn is_complete(&self) -> bool {
        self.watcher.is_some() && !self.missed
    }
}
