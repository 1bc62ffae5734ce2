//! Watches the project files, so that a change shows without anyone asking.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::project_file;

/// The directories that are watched. Without a watcher the files are still looked at with every
/// call, so that its failure costs only the moment.
pub(super) struct Watch {
    watcher: Option<RecommendedWatcher>,
    roots: BTreeSet<PathBuf>,
}

impl Watch {
    /// Starts with nothing to watch; `changed` is called, on a thread of the watcher, when a
    /// project file may have changed.
    pub(super) fn new(changed: impl Fn() + Send + 'static) -> Self {
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
        }
    }

    /// Watches a project directory from now on. Its file may come and go, so that the folder is
    /// what is watched.
    pub(super) fn add(&mut self, root: &Path) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        if !self.roots.contains(root) && watcher.watch(root, RecursiveMode::NonRecursive).is_ok() {
            self.roots.insert(root.to_owned());
        }
    }
}
