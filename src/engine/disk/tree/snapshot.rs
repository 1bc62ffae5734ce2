//! A content snapshot of a project's files, and what has changed since.
//!
//! Only files whose stamp differs are read again, so that a look at an unchanged project costs one
//! `stat` for each file and folder. That is safe since the stamp holds the change time, which no
//! program can set back. It has one gap, the tick of the file system's clock: see [`TICK_NANOS`].

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Mutex,
};

use serde::{Deserialize, Serialize};

use super::files::{File, Found, Stamp, find, list, read_file};
use crate::facts::{FileChange, Hash};

/// File systems keep time in ticks. Two changes within one tick have the same stamp, so a file that
/// changed less than this before a look may change again unseen. Such files are read again at the
/// next look whatever their stamp says. In nanoseconds, and longer than the ticks of all usual
/// kernels.
const TICK_NANOS: i64 = 40_000_000;

/// Hooks of git run by themselves: a file that an agent leaves there is an edit.
const HOOKS: &str = ".git/hooks";

/// A folder as it was at the last look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Folder {
    /// `None`: its list is not known to be complete, and is read at the next look.
    stamp: Option<Stamp>,
    /// Everything in it counts, what git ignores too.
    forced: bool,
    files: BTreeMap<OsString, File>,
}

/// The files of one project directory as they were.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Unix nanoseconds of the look at the files.
    taken: i64,
    /// By path relative to the root; the root is the empty path.
    folders: BTreeMap<PathBuf, Folder>,
    /// Files and folders that count although git ignores them.
    named: BTreeSet<PathBuf>,
}

/// More files than may be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

impl Snapshot {
    /// Looks at all files below `root`. `named` are paths, relative to it, that count although
    /// git ignores them.
    ///
    /// # Errors
    /// [`TooMany`] above `limit` files.
    pub fn take(root: &Path, named: &BTreeSet<PathBuf>, limit: usize) -> Result<Self, TooMany> {
        let mut snapshot = Self {
            taken: now(),
            folders: BTreeMap::new(),
            named: BTreeSet::new(),
        };
        snapshot.add_tree(root, Path::new(""), false, limit)?;
        snapshot.add_tree(root, Path::new(HOOKS), true, limit)?;
        snapshot.name(root, named, limit)?;
        Ok(snapshot)
    }

    /// How many files it knows.
    pub fn len(&self) -> usize {
        self.folders.values().map(|f| f.files.len()).sum()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The files with their hashes, in order.
    pub fn files(&self) -> impl Iterator<Item = (PathBuf, Hash)> + '_ {
        self.folders.iter().flat_map(|(folder, content)| {
            let files = content.files.iter();
            files.map(move |(name, file)| (folder.join(name), file.hash))
        })
    }

    /// The hash of one file as it was.
    pub fn hash(&self, path: &Path) -> Option<Hash> {
        let folder = self.folders.get(path.parent()?)?;
        folder.files.get(path.file_name()?).map(|f| f.hash)
    }

    /// Makes a file as it is now its baseline: the next look reports no change of it.
    pub fn accept(&mut self, root: &Path, path: &Path) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        let folder = self.folders.entry(parent.to_owned()).or_default();
        match read_file(&root.join(path)) {
            Some(file) => folder.files.insert(name.to_owned(), file),
            None => folder.files.remove(name),
        };
        // The folder's own stamp changed with it, and is not known here.
        folder.stamp = None;
    }

    /// Makes more paths count although git ignores them. What lies there now is how it was.
    ///
    /// # Errors
    /// [`TooMany`] above `limit` files.
    pub fn name(
        &mut self,
        root: &Path,
        named: &BTreeSet<PathBuf>,
        limit: usize,
    ) -> Result<(), TooMany> {
        let new: Vec<PathBuf> = named.difference(&self.named).cloned().collect();
        for path in new {
            if root.join(&path).is_dir() {
                self.add_tree(root, &path, true, limit)?;
            } else if let Some(file) = read_file(&root.join(&path)) {
                self.put(&path, file, true);
            }
            self.named.insert(path);
        }
        Ok(())
    }

    /// Puts a file in; with `keep`, only when it is not known yet.
    fn put(&mut self, path: &Path, file: File, keep: bool) {
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            let folder = self.folders.entry(parent.to_owned()).or_default();
            match keep {
                true => {
                    folder.files.entry(name.to_owned()).or_insert(file);
                }
                false => {
                    folder.files.insert(name.to_owned(), file);
                }
            }
        }
    }

    /// Adds all that lies below `start`; what is known already stays as it was.
    fn add_tree(
        &mut self,
        root: &Path,
        start: &Path,
        forced: bool,
        limit: usize,
    ) -> Result<(), TooMany> {
        let Found { folders, files, .. } = find(root, start, forced, limit)?;
        for (path, stamp) in folders {
            let folder = self.folders.entry(path).or_default();
            folder.stamp = Some(stamp);
            folder.forced |= forced;
        }
        for (path, file) in files {
            self.put(&path, file, true);
        }
        match self.len() > limit {
            true => Err(TooMany),
            false => Ok(()),
        }
    }

    /// Looks again at everything, makes the current tree the baseline, and returns what changed.
    ///
    /// # Errors
    /// [`TooMany`] above `limit` files; the snapshot is of no use then, and must be taken anew.
    pub fn refresh(&mut self, root: &Path, limit: usize) -> Result<Vec<FileChange>, TooMany> {
        self.refresh_in(root, limit, None).map(|l| l.changes)
    }

    /// The folders that it knows.
    pub(super) fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.keys()
    }

    /// Looks again at the folders `only`, or at all, and makes the current tree the baseline there.
    ///
    /// # Errors
    /// [`TooMany`] above `limit` files; the snapshot is of no use then, and must be taken anew.
    pub(super) fn refresh_in(
        &mut self,
        root: &Path,
        limit: usize,
        only: Option<&BTreeSet<PathBuf>>,
    ) -> Result<Looked, TooMany> {
        // Read before the first file: what changes during the look counts as unsure next time.
        let since = self.taken;
        let taken = now();
        let (looked, linked) = look(root, &self.folders, since, only);
        let mut new_folders = Vec::new();
        let mut changes = Vec::new();
        let mut count = self.len();
        let mut new_trees = Vec::new();
        for look in looked {
            let Some(folder) = self.folders.get_mut(&look.path) else {
                continue;
            };
            for (name, file) in look.files {
                let path = look.path.join(&name);
                let before = folder.files.get(&name).map(|f| f.hash);
                match file {
                    Some(file) => {
                        if before != Some(file.hash) {
                            changes.push(FileChange {
                                path,
                                before,
                                now: Some(file.hash),
                                // A program can set the modified time, also into the future.
                                at: file.stamp.changed.max(file.stamp.modified.min(taken)),
                            });
                        }
                        count += usize::from(before.is_none());
                        folder.files.insert(name, file);
                    }
                    None => {
                        folder.files.remove(&name);
                        count -= 1;
                        changes.push(FileChange {
                            path,
                            before,
                            now: None,
                            // The file is gone, and its folder changed when it went.
                            at: look.stamp.map_or(taken, |s| s.changed),
                        });
                    }
                }
            }
            match look.stamp {
                Some(stamp) => folder.stamp = Some(stamp),
                None => folder.stamp = None,
            }
            new_trees.extend(look.folders.into_iter().map(|path| (path, look.forced)));
        }
        // A folder that is gone has lost its files one by one above.
        self.folders.retain(|path, folder| {
            !folder.files.is_empty() || path.as_os_str().is_empty() || root.join(path).is_dir()
        });
        // A folder that counts although git ignores it may be new. No list of its parent names it.
        for path in self
            .named
            .iter()
            .map(PathBuf::as_path)
            .chain([Path::new(HOOKS)])
        {
            if !self.folders.contains_key(path) && root.join(path).is_dir() {
                new_trees.push((path.to_owned(), true));
            }
        }
        for (path, forced) in new_trees {
            let Found { folders, files, .. } = find(root, &path, forced, limit)?;
            for (path, stamp) in folders {
                new_folders.push(path.clone());
                let folder = self.folders.entry(path).or_default();
                folder.stamp = Some(stamp);
                folder.forced |= forced;
            }
            for (path, file) in files {
                let before = self.hash(&path);
                if before != Some(file.hash) {
                    changes.push(FileChange {
                        path: path.clone(),
                        before,
                        now: Some(file.hash),
                        at: file.stamp.changed,
                    });
                    count += usize::from(before.is_none());
                }
                self.put(&path, file, false);
            }
        }
        // So may a file that is named.
        for path in self.named.clone() {
            if self.hash(&path).is_none()
                && let Some(file) = read_file(&root.join(&path))
            {
                changes.push(FileChange {
                    path: path.clone(),
                    before: None,
                    now: Some(file.hash),
                    at: file.stamp.changed,
                });
                self.put(&path, file, false);
            }
        }
        if count > limit {
            return Err(TooMany);
        }
        self.taken = taken;
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        changes.dedup_by(|a, b| a.path == b.path);
        Ok(Looked {
            changes,
            new_folders,
            linked,
        })
    }
}

/// What a look found.
pub(super) struct Looked {
    pub changes: Vec<FileChange>,
    /// Folders that were not known before.
    pub new_folders: Vec<PathBuf>,
    /// Those of the folders looked at that have files with several names.
    pub linked: BTreeSet<PathBuf>,
}

impl Looked {
    /// This look and one right after it.
    pub(super) fn and(&mut self, mut later: Self) -> Self {
        let mut changes = std::mem::take(&mut self.changes);
        changes.append(&mut later.changes);
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        let mut new_folders = std::mem::take(&mut self.new_folders);
        new_folders.append(&mut later.new_folders);
        Self {
            changes,
            new_folders,
            linked: later.linked,
        }
    }
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
}

/// What one folder looks like now, where it differs.
struct Look {
    path: PathBuf,
    forced: bool,
    stamp: Option<Stamp>,
    /// Files with another stamp, and those that went.
    files: Vec<(OsString, Option<File>)>,
    /// Folders that are new.
    folders: Vec<PathBuf>,
}

/// Looks at the folders `only`, or at all, some on another thread. The second part names the
/// folders that have files with several names.
fn look(
    root: &Path,
    folders: &BTreeMap<PathBuf, Folder>,
    since: i64,
    only: Option<&BTreeSet<PathBuf>>,
) -> (Vec<Look>, BTreeSet<PathBuf>) {
    let all: Vec<(&PathBuf, &Folder)> = match only {
        Some(only) => only
            .iter()
            .filter_map(|path| folders.get_key_value(path))
            .collect(),
        None => folders.iter().collect(),
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(8));
    // A thread costs more than a few hundred files.
    let files: usize = all.iter().map(|(_, f)| f.files.len()).sum();
    let threads = threads.min(files / 500 + 1);
    // Each thread takes the next folder that is left, so that one large folder holds up only its
    // own; the lock is taken once by each thread, at its end.
    let next = std::sync::atomic::AtomicUsize::new(0);
    let looks = Mutex::new((Vec::new(), BTreeSet::new()));
    let work = || {
        let (mut own, mut linked) = (Vec::new(), BTreeSet::new());
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some((path, folder)) = all.get(at) else {
                break;
            };
            let mut links = false;
            own.extend(look_at(root, path, folder, folders, since, &mut links));
            if links {
                linked.insert((*path).clone());
            }
        }
        if let Ok(mut looks) = looks.lock() {
            looks.0.append(&mut own);
            looks.1.append(&mut linked);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    looks.into_inner().unwrap_or_default()
}

/// `None` when nothing in the folder moved. `links` becomes true for a file with several names.
fn look_at(
    root: &Path,
    path: &Path,
    folder: &Folder,
    known: &BTreeMap<PathBuf, Folder>,
    since: i64,
    links: &mut bool,
) -> Option<Look> {
    let absolute = root.join(path);
    let meta = fs::symlink_metadata(&absolute).ok().filter(|m| m.is_dir());
    let stamp = meta.as_ref().map(Stamp::of);
    // Changed so shortly before the last look that a change after it could have the same stamp.
    let unsure = |stamp: &Stamp| stamp.changed.max(stamp.modified) > since - TICK_NANOS;
    let mut look = Look {
        path: path.to_owned(),
        forced: folder.forced,
        stamp,
        files: Vec::new(),
        folders: Vec::new(),
    };
    let same_list = match (&folder.stamp, &stamp) {
        (Some(before), Some(now)) => before == now && !unsure(now),
        _ => false,
    };
    for (name, file) in &folder.files {
        let at = absolute.join(name);
        match fs::symlink_metadata(&at) {
            Ok(meta) if !meta.is_dir() => {
                *links |= meta.nlink() > 1;
                let now = Stamp::of(&meta);
                if now != file.stamp || unsure(&now) {
                    // The stamp moves without the content, too (`touch`, a hard link), and the
                    // file may be gone by now.
                    let fresh = read_file(&at);
                    if fresh.as_ref() != Some(file) {
                        look.files.push((name.clone(), fresh));
                    }
                }
            }
            _ => look.files.push((name.clone(), None)),
        }
    }
    // A folder's stamp moves when a name in it comes or goes. Its list is read only then, since
    // what git ignores has to be found out for each name.
    if !same_list && stamp.is_some() {
        let (files, folders) = list(root, path, folder.forced);
        for name in files {
            if !folder.files.contains_key(&name)
                && let Some(file) = read_file(&absolute.join(&name))
            {
                let meta = fs::symlink_metadata(absolute.join(&name));
                *links |= meta.is_ok_and(|m| m.nlink() > 1);
                look.files.push((name, Some(file)));
            }
        }
        let new = folders.into_iter().map(|name| path.join(name));
        look.folders = new.filter(|path| !known.contains_key(path)).collect();
    }
    let moved = folder.stamp != stamp || !look.files.is_empty() || !look.folders.is_empty();
    moved.then_some(look)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct World {
        _dir: tempfile::TempDir,
        root: PathBuf,
        snapshot: Snapshot,
    }

    fn world(files: &[(&str, &str)], named: &[&str]) -> World {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("w");
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        for (path, text) in files {
            write(&root, path, text);
        }
        let named = named.iter().map(PathBuf::from).collect();
        let snapshot = Snapshot::take(&root, &named, 1000).unwrap();
        World {
            _dir: dir,
            root,
            snapshot,
        }
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// `+` made, `-` gone, `~` changed.
    fn changes(w: &mut World) -> Vec<String> {
        let changes = w.snapshot.refresh(&w.root, 1000).unwrap();
        let short = |c: &FileChange| {
            let sign = match (c.before, c.now) {
                (None, _) => '+',
                (_, None) => '-',
                _ => '~',
            };
            format!("{sign}{}", c.path.display())
        };
        changes.iter().map(short).collect()
    }

    #[test]
    fn every_kind_of_change_is_found_once() {
        let mut w = world(
            &[
                ("a", "1"),
                ("b/c", "2"),
                ("b/d", "3"),
                ("e/f/g", "4"),
                ("same", "5"),
            ],
            &[],
        );
        assert!(changes(&mut w).is_empty());
        write(&w.root, "a", "9");
        write(&w.root, "new/deep/x", "6");
        write(&w.root, "b/y", "7");
        fs::remove_file(w.root.join("b/d")).unwrap();
        fs::remove_dir_all(w.root.join("e")).unwrap();
        fs::rename(w.root.join("b/c"), w.root.join("moved")).unwrap();
        write(&w.root, "same", "5");
        let expected = [
            "~a",
            "-b/c",
            "-b/d",
            "+b/y",
            "-e/f/g",
            "+moved",
            "+new/deep/x",
        ];
        assert_eq!(changes(&mut w), expected);
        assert!(changes(&mut w).is_empty());
        assert_eq!(
            w.snapshot,
            Snapshot {
                taken: w.snapshot.taken,
                ..w.snapshot.clone()
            }
        );
    }

    #[test]
    fn a_forged_time_hides_nothing() {
        let mut w = world(&[("a", "1")], &[]);
        let before = fs::metadata(w.root.join("a")).unwrap().modified().unwrap();
        write(&w.root, "a", "2");
        let file = fs::File::options()
            .write(true)
            .open(w.root.join("a"))
            .unwrap();
        file.set_modified(before).unwrap();
        assert_eq!(changes(&mut w), ["~a"]);
    }

    #[test]
    fn ignored_files_count_when_they_are_named() {
        let files = [
            (".gitignore", "out/\n*.log\n"),
            ("out/x", "1"),
            ("a.log", "1"),
            ("b.log", "1"),
        ];
        let mut w = world(&files, &["a.log", "not-there.log"]);
        for file in ["out/x", "a.log", "b.log", "out/y", "not-there.log"] {
            write(&w.root, file, "2");
        }
        assert_eq!(changes(&mut w), ["~a.log", "+not-there.log"]);
        let mut w = world(&files, &["out"]);
        write(&w.root, "out/x", "2");
        write(&w.root, "out/y", "2");
        assert_eq!(changes(&mut w), ["~out/x", "+out/y"]);
    }

    #[test]
    fn a_file_that_is_known_stays_watched_when_it_becomes_ignored() {
        let mut w = world(&[("tests/a", "1")], &[]);
        write(&w.root, ".gitignore", "tests/\n");
        assert_eq!(changes(&mut w), ["+.gitignore"]);
        write(&w.root, "tests/a", "2");
        assert_eq!(changes(&mut w), ["~tests/a"]);
    }

    #[test]
    fn links_modes_and_hooks_count() {
        let mut w = world(&[("a", "1"), ("b", "1")], &[]);
        symlink("a", w.root.join("l")).unwrap();
        assert_eq!(changes(&mut w), ["+l"]);
        fs::remove_file(w.root.join("l")).unwrap();
        symlink("b", w.root.join("l")).unwrap();
        fs::set_permissions(w.root.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
        write(&w.root, ".git/hooks/pre-commit", "x");
        write(&w.root, ".git/index", "x");
        assert_eq!(changes(&mut w), ["+.git/hooks/pre-commit", "~a", "~l"]);
        // A file in place of a folder, and a folder in place of a file.
        fs::remove_file(w.root.join("b")).unwrap();
        write(&w.root, "b/c", "1");
        assert_eq!(changes(&mut w), ["-b", "+b/c"]);
    }

    #[test]
    fn it_survives_its_file_and_has_a_limit() {
        let w = world(&[("a", "1"), ("b/c", "2")], &["x"]);
        let bytes = postcard::to_stdvec(&w.snapshot).unwrap();
        assert_eq!(
            postcard::from_bytes::<Snapshot>(&bytes).unwrap(),
            w.snapshot
        );
        assert_eq!(Snapshot::take(&w.root, &BTreeSet::new(), 1), Err(TooMany));
    }
}
