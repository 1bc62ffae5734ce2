//! The tree check: what really changed in a project, whoever changed it and however.
//!
//! A snapshot is taken when a run starts and compared with the disk again after each command that
//! may have written. Walks happen on the thread that asks, beside the engine's loop.
//!
//! Two locks: the map of trees is locked to find a tree, and never while a tree is looked at; each
//! tree is locked during its look. So a walk of a large project holds up only those who ask about
//! the same project, who would have to wait for its outcome anyway.

#[cfg(target_os = "linux")]
mod alarm;
#[cfg(not(target_os = "linux"))]
#[path = "no_alarm.rs"]
mod alarm;
mod files;
mod restore;
mod snapshot;

use std::{
    collections::{BTreeSet, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use alarm::Alarm;

pub use restore::RestoreError;
pub use snapshot::{Snapshot, TooMany};

use crate::{
    Locations,
    config::TreeConfig,
    facts::{FileChange, Hash},
    model::hex,
};

/// Why a tree is not watched, or not yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotWatched {
    #[error("`[tree] check` is off in the configuration")]
    Off,
    #[error(
        "the project has more than {limit} files that git does not ignore; raise `[tree] max_files`, or ignore what is made"
    )]
    TooMany { limit: usize },
    #[error("the first look at the project's files is not done yet; try again in a moment")]
    NotYet,
}

/// The trees of all projects at work.
#[derive(Debug)]
pub struct Trees {
    config: RwLock<TreeConfig>,
    /// Counts the configurations; see [`Trees::configure`].
    generation: AtomicU64,
    /// Where snapshots outlive the process.
    folder: PathBuf,
    trees: Mutex<HashMap<PathBuf, Arc<Tree>>>,
    /// The process stays, so that folders are watched: that costs more than one look, and less
    /// than many. A hook without an engine ends after one.
    stays: AtomicBool,
}

#[derive(Debug)]
struct Tree {
    root: PathBuf,
    inner: Mutex<Inner>,
    /// Wakes those who wait for the first snapshot.
    built: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    /// The baseline: what the files were at the last look.
    snapshot: Option<Snapshot>,
    alarm: Option<Alarm>,
    /// A thread is taking the first snapshot; there is never a second one.
    building: bool,
    /// Found and not yet taken. The snapshot has taken them in already, so that they must not be
    /// lost: no later look finds them again.
    changes: Vec<FileChange>,
    /// What `untouched` invariants name, relative to the root.
    named: BTreeSet<PathBuf>,
    /// The snapshot differs from its file.
    dirty: bool,
    /// When it was found that there are too many files; it is tried again after a while.
    too_many_at: Option<Instant>,
    /// The digest of the set that `guard` was asked for last.
    guarded: Option<String>,
    /// The configuration that the two above were found under.
    generation: u64,
}

impl Inner {
    /// Whether a snapshot is to be taken: there is none, and if there were too many files, that
    /// was found `after` ago at least.
    fn is_due(&self, after: Duration) -> bool {
        let waits = self.too_many_at.is_some_and(|at| at.elapsed() < after);
        self.snapshot.is_none() && !self.building && !waits
    }
}

/// How long a tree with too many files is left alone, since finding that out costs a walk.
const TRY_AGAIN: Duration = Duration::from_secs(30);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while it was held left changes unreported at worst; they are found again.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Trees {
    /// The trees of one store.
    pub fn new(locations: &Locations, config: &TreeConfig) -> Self {
        Self {
            config: RwLock::new(config.clone()),
            generation: AtomicU64::new(0),
            folder: locations.trees(),
            trees: Mutex::default(),
            stays: AtomicBool::new(false),
        }
    }

    /// Keeps a tree from being looked at while `run` runs, as a look at it would.
    #[cfg(test)]
    pub(crate) fn hold<T>(&self, root: &Path, run: impl FnOnce() -> T) -> T {
        let tree = self.tree(root).unwrap();
        let _held = lock(&tree.inner);
        run()
    }

    /// Says that the process stays: trees are watched from then on, and not only looked at.
    pub fn stay(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }

    /// Uses other settings from now on. A greater limit, or copies that are wanted now, count at
    /// the next call about a tree.
    ///
    /// The engine's thread calls this, so it takes no lock of a tree: those are held during looks.
    /// Trees notice by the generation that the settings are others.
    pub fn configure(&self, config: &TreeConfig) {
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config.clone();
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Locks a tree. What was concluded under other settings is forgotten first.
    fn open<'a>(&self, tree: &'a Tree) -> MutexGuard<'a, Inner> {
        let mut inner = lock(&tree.inner);
        let generation = self.generation.load(Ordering::Acquire);
        if inner.generation != generation {
            inner.generation = generation;
            inner.too_many_at = None;
            inner.guarded = None;
        }
        inner
    }

    fn config(&self) -> TreeConfig {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        config.clone()
    }

    /// Makes sure that there is a snapshot, waiting for it at most `wait`. It is taken on a thread
    /// of its own, which goes on when the wait is over: the next call finds it.
    ///
    /// # Errors
    /// [`NotWatched`], when there is none.
    pub fn ensure(self: &Arc<Self>, root: &Path, wait: Duration) -> Result<(), NotWatched> {
        let tree = self.tree(root)?;
        let until = Instant::now() + wait;
        let mut inner = self.open(&tree);
        if inner.is_due(TRY_AGAIN) {
            inner.building = true;
            inner.too_many_at = None;
            let (trees, own) = (Arc::clone(self), Arc::clone(&tree));
            let spawned = std::thread::Builder::new()
                .name("tree".into())
                .spawn(move || trees.build(&own));
            if spawned.is_err() {
                inner.building = false;
            }
        }
        while inner.snapshot.is_none() {
            if inner.too_many_at.is_some() {
                return Err(NotWatched::TooMany {
                    limit: self.config().max_files,
                });
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !inner.building {
                return Err(NotWatched::NotYet);
            }
            let waited = tree.built.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Forgets that there were too many files, since somebody may have mended that: the next
    /// look tries again.
    pub fn try_again(&self, root: &Path) {
        if let Ok(tree) = self.tree(root) {
            lock(&tree.inner).too_many_at = None;
        }
    }

    /// Looks at the tree again. What changed waits to be [taken](Self::take).
    ///
    /// # Errors
    /// [`NotWatched`], when there is no snapshot to compare with.
    pub fn refresh(self: &Arc<Self>, root: &Path, wait: Duration) -> Result<(), NotWatched> {
        self.refresh_as(root, wait, false)
    }

    /// As [`refresh`](Self::refresh), and looks at every file, whatever the kernel reported.
    ///
    /// # Errors
    /// [`NotWatched`], when there is no snapshot to compare with.
    pub fn refresh_whole(self: &Arc<Self>, root: &Path, wait: Duration) -> Result<(), NotWatched> {
        self.refresh_as(root, wait, true)
    }

    fn refresh_as(
        self: &Arc<Self>,
        root: &Path,
        wait: Duration,
        whole: bool,
    ) -> Result<(), NotWatched> {
        self.ensure(root, wait)?;
        let tree = self.tree(root)?;
        let mut inner = lock(&tree.inner);
        let limit = self.config().max_files;
        let Inner {
            snapshot, alarm, ..
        } = &mut *inner;
        let Some(snapshot) = snapshot else {
            return Err(NotWatched::NotYet);
        };
        let mut only = alarm.as_mut().and_then(Alarm::drain);
        if only.is_none() {
            // Watched first and looked at then: what happens in between is found by the look or
            // reported, and perhaps both. The other way round it would be neither.
            *alarm = match self.stays.load(Ordering::Relaxed) {
                true => Alarm::over(&tree.root, snapshot.folders()),
                false => None,
            };
        }
        if whole {
            only = None;
        }
        let mut looked = snapshot.refresh_in(&tree.root, limit, only.as_ref());
        if let (Some(alarm), Ok(found)) = (alarm.as_ref(), &mut looked)
            && only.is_some()
            && alarm.has_new_link(&found.linked)
        {
            // A file got a second name, and may have been written through it: its first one can
            // lie anywhere.
            only = None;
            let more = snapshot.refresh_in(&tree.root, limit, None);
            looked = more.map(|more| found.and(more));
        }
        if let (Some(alarm), Ok(looked)) = (alarm.as_mut(), &looked) {
            let all = || snapshot.folders().cloned().collect();
            let looked_at = only.unwrap_or_else(all);
            alarm.looked(&tree.root, looked_at.iter(), &looked.new_folders);
            alarm.link(&looked_at, looked.linked.clone());
        }
        match looked.map(|l| l.changes) {
            Ok(changes) => {
                inner.dirty |= !changes.is_empty();
                inner.changes.extend(changes);
                Ok(())
            }
            // The snapshot is half of the old and half of the new.
            Err(TooMany) => {
                inner.snapshot = None;
                inner.alarm = None;
                inner.too_many_at = Some(Instant::now());
                Err(NotWatched::TooMany { limit })
            }
        }
    }

    /// Takes back what was taken, when nobody could record it: the next [`take`](Self::take) gives
    /// it again.
    pub fn give_back(&self, root: &Path, changes: Vec<FileChange>) {
        if let Ok(tree) = self.tree(root) {
            let mut inner = lock(&tree.inner);
            let newer = std::mem::replace(&mut inner.changes, changes);
            inner.changes.extend(newer);
        }
    }

    /// What the looks since the last time found, oldest look first. Whoever takes it records it,
    /// or gives it back.
    pub fn take(&self, root: &Path) -> Vec<FileChange> {
        match self.tree(root) {
            Ok(tree) => std::mem::take(&mut lock(&tree.inner).changes),
            Err(_) => Vec::new(),
        }
    }

    /// Says which paths count although git ignores them, and keeps copies of guarded files
    /// where files are put back. `set` names the set of invariants that asks for it; asked again
    /// with the same one, nothing is done.
    pub fn guard(
        &self,
        root: &Path,
        set: &str,
        named: BTreeSet<PathBuf>,
        is_guarded: &dyn Fn(&Path) -> bool,
    ) {
        let Ok(tree) = self.tree(root) else { return };
        let mut inner = self.open(&tree);
        if inner.guarded.as_deref() == Some(set) {
            return;
        }
        // Without a snapshot there is nothing to copy yet.
        inner.guarded = inner.snapshot.is_some().then(|| set.to_owned());
        if !named.is_subset(&inner.named) {
            inner.named.extend(named);
            let named = inner.named.clone();
            if let Some(snapshot) = &mut inner.snapshot {
                // Above the limit the next look reports it.
                let _ = snapshot.name(&tree.root, &named, self.config().max_files);
                inner.dirty = true;
            }
        }
        if self.config().restore
            && let Some(snapshot) = &inner.snapshot
        {
            restore::keep(&self.copies(), &tree.root, snapshot, is_guarded);
        }
    }

    /// Puts a file back as it was, never through a link, and makes that the baseline: the next look
    /// finds no change. `path` is relative to `root`; `hash` names the content.
    ///
    /// # Errors
    /// [`RestoreError`]: no copy, a link on the way, or what the disk reports.
    pub fn restore(&self, root: &Path, path: &Path, hash: &Hash) -> Result<(), RestoreError> {
        let tree = self.tree(root).map_err(|_| RestoreError::NoCopy)?;
        let mut inner = lock(&tree.inner);
        restore::put_back(&self.copies(), &tree.root, path, hash)?;
        if let Some(snapshot) = &mut inner.snapshot {
            snapshot.accept(&tree.root, path);
            inner.dirty = true;
        }
        Ok(())
    }

    /// What the file was at the last look.
    pub fn hash(&self, root: &Path, path: &Path) -> Option<Hash> {
        let tree = lock(&self.trees).get(root).cloned()?;
        lock(&tree.inner).snapshot.as_ref()?.hash(path)
    }

    /// How many files of the project are watched; `None` while there is no snapshot.
    pub fn watched(&self, root: &Path) -> Option<usize> {
        let tree = lock(&self.trees).get(root).cloned()?;
        lock(&tree.inner).snapshot.as_ref().map(Snapshot::len)
    }

    fn copies(&self) -> PathBuf {
        self.folder.join("copies")
    }

    /// The tree of a project directory, made when there is none.
    ///
    /// # Errors
    /// [`NotWatched::Off`].
    fn tree(&self, root: &Path) -> Result<Arc<Tree>, NotWatched> {
        if !self.config().check {
            return Err(NotWatched::Off);
        }
        let mut trees = lock(&self.trees);
        let tree = trees.entry(root.to_owned()).or_insert_with(|| {
            Arc::new(Tree {
                root: root.to_owned(),
                inner: Mutex::default(),
                built: Condvar::new(),
            })
        });
        Ok(Arc::clone(tree))
    }

    /// Takes the first snapshot of a tree: the one that an earlier process left, else a new one.
    /// Changes since an earlier one are found by the next look. The tree is not locked during the
    /// walk, so that those who wait can give up in time.
    fn build(&self, tree: &Tree) {
        let named = lock(&tree.inner).named.clone();
        let limit = self.config().max_files;
        let known = self.load(&tree.root);
        let found = match known {
            Some(snapshot) => Ok((snapshot, false)),
            None => Snapshot::take(&tree.root, &named, limit).map(|s| (s, true)),
        };
        let mut inner = lock(&tree.inner);
        match found {
            // More may have been named during the walk.
            Ok((mut snapshot, fresh)) => match snapshot.name(&tree.root, &inner.named, limit) {
                Ok(()) => {
                    inner.snapshot = Some(snapshot);
                    inner.dirty = fresh;
                }
                Err(TooMany) => inner.too_many_at = Some(Instant::now()),
            },
            Err(TooMany) => inner.too_many_at = Some(Instant::now()),
        }
        inner.building = false;
        if inner.dirty {
            self.save(tree, &mut inner);
        }
        tree.built.notify_all();
    }

    /// The file of a tree's snapshot, named by the path of its root.
    fn file(&self, root: &Path) -> PathBuf {
        let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
        let name: String = hex(&hash[..12]);
        self.folder.join(format!("{name}.tree"))
    }

    fn load(&self, root: &Path) -> Option<Snapshot> {
        let bytes = fs::read(self.file(root)).ok()?;
        // A version mismatch, or a truncated file: rebuild. What changed meanwhile is then not
        // found, as in a project that is new.
        postcard::from_bytes(&bytes).ok()
    }

    fn save(&self, tree: &Tree, inner: &mut Inner) {
        let Some(snapshot) = &inner.snapshot else {
            return;
        };
        let written = postcard::to_stdvec(snapshot)
            .map_err(io::Error::other)
            .and_then(|bytes| write_private(&self.file(&tree.root), &bytes));
        match written {
            Ok(()) => inner.dirty = false,
            Err(error) => tracing::warn!(%error, "a snapshot could not be written"),
        }
    }

    /// Writes the snapshots to their files. One with changes that nobody has taken is left out: the
    /// older file makes the next process find them again.
    pub fn save_all(&self) {
        let trees: Vec<Arc<Tree>> = lock(&self.trees).values().cloned().collect();
        for tree in trees {
            let mut inner = lock(&tree.inner);
            if inner.dirty && inner.changes.is_empty() {
                self.save(&tree, &mut inner);
            }
        }
    }
}

impl Drop for Trees {
    fn drop(&mut self) {
        self.save_all();
    }
}

/// Writes a file that only this user may read, whole or not at all.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut file, bytes)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_settings_count_at_once_and_wait_for_no_look() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("w");
        fs::create_dir(&root).unwrap();
        for name in ["a", "b", "c"] {
            fs::write(root.join(name), "x").unwrap();
        }
        let at = |name: &str| dir.path().join(name);
        let locations = Locations {
            store: at("invar.redb"),
            config: at("config.toml"),
            logs: at("logs"),
            socket: at("socket"),
            home: at("home"),
        };
        let small = TreeConfig {
            max_files: 1,
            ..TreeConfig::default()
        };
        let trees = Arc::new(Trees::new(&locations, &small));
        let long = Duration::from_secs(60);
        let too_many = NotWatched::TooMany { limit: 1 };
        assert_eq!(trees.ensure(&root, long), Err(too_many));

        // As during a look, which holds the tree.
        let tree = trees.tree(&root).unwrap();
        let held = lock(&tree.inner);
        trees.configure(&TreeConfig::default());
        drop(held);

        assert_eq!(trees.ensure(&root, long), Ok(()));
        assert_eq!(trees.watched(&root), Some(3));
    }
}
