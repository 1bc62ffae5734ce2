//! Notices when the configuration may have changed.

use std::path::{Path, PathBuf};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

/// Watches the folder of a file, so that a file that comes, goes or is replaced is seen. Where
/// the folder is not there yet, the nearest one above it is watched until it is.
pub(super) struct Watch {
    watcher: Option<RecommendedWatcher>,
    watched: PathBuf,
    file: PathBuf,
    pub changed: mpsc::Receiver<()>,
}

impl Watch {
    pub(super) fn new(file: &Path) -> Self {
        let (sender, changed) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.map_or(true, |e| !e.kind.is_access()) {
                // A full channel holds one that says the same.
                let _ = sender.try_send(());
            }
        });
        if let Err(error) = &watcher {
            tracing::warn!(%error, "the configuration is not watched");
        }
        let mut watch = Self {
            watcher: watcher.ok(),
            watched: PathBuf::new(),
            file: file.to_owned(),
            changed,
        };
        watch.follow();
        watch
    }

    /// Watches the nearest folder that is there now.
    pub(super) fn follow(&mut self) {
        let mut above = self.file.ancestors().skip(1);
        let (Some(watcher), Some(folder)) = (&mut self.watcher, above.find(|f| f.is_dir())) else {
            return;
        };
        if folder != self.watched && watcher.watch(folder, RecursiveMode::NonRecursive).is_ok() {
            self.watched = folder.to_owned();
        }
    }
}
