//! Watches the project files and the configuration, so that a change shows without anyone asking.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use crate::project_file;

/// What may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    ProjectFile,
    Configuration,
}

/// The directories that are watched. Where one cannot be watched, all files are looked
/// at with every call instead.
pub(crate) struct Watch {
    watcher: Option<RecommendedWatcher>,
    roots: BTreeSet<PathBuf>,
    /// A directory could not be watched.
    missed: bool,
    config: PathBuf,
}

impl Watch {
    /// Starts with the configuration to watch; `changed` is called, on a thread of the watcher,
    /// when that or a project file may have changed.
    pub(crate) fn new(config: &Path, changed: impl Fn(Changed) + Send + 'static) -> Self {
        let own = config.to_owned();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let is = |path: &PathBuf| match path.file_name() {
                Some(name) if name == project_file::NAME => Some(Changed::ProjectFile),
                // Its folder may come and go, or be a link to where it really lies.
                _ if own.starts_with(path) => Some(Changed::Configuration),
                _ => None,
            };
            match event {
                Ok(event) if event.kind.is_access() => {}
                Ok(event) => {
                    let mut what: Vec<Changed> = event.paths.iter().filter_map(is).collect();
                    what.dedup();
                    what.into_iter().for_each(&changed);
                }
                // It is not known what an error is about, so it counts as both.
                Err(_) => {
                    changed(Changed::ProjectFile);
                    changed(Changed::Configuration);
                }
            }
        });
        if let Err(error) = &watcher {
            tracing::warn!(%error, "project files are not watched");
        }
        let mut watch = Self {
            watcher: watcher.ok(),
            roots: BTreeSet::new(),
            missed: false,
            config: config.to_owned(),
        };
        watch.follow();
        watch
    }

    /// Watches the nearest folder above the configuration that is there now, since its own may
    /// not be there yet; whether that is another one than before.
    pub(crate) fn follow(&mut self) -> bool {
        let nearest = self.config.ancestors().skip(1).find(|f| f.is_dir());
        let nearest = nearest.map(Path::to_owned);
        nearest.is_some_and(|folder| {
            let other = !self.roots.contains(&folder);
            self.add(&folder);
            other
        })
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
