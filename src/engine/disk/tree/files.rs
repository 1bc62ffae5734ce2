//! The files of a tree as the file system has them: which of them count, the stamp by which a change
//! of one is noticed, and its hash.

use std::{
    ffi::OsString,
    fs,
    io::{self, Read},
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::Mutex,
};

use ignore::{DirEntry, WalkBuilder, WalkState};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::snapshot::TooMany;
use crate::facts::Hash;

/// What the file system says about a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub len: u64,
    pub mode: u32,
    pub inode: u64,
    /// When the content changed, in Unix nanoseconds; a program can set it.
    pub modified: i64,
    /// When anything about the file changed, in Unix nanoseconds; no program can set it.
    pub changed: i64,
}

impl Stamp {
    /// The stamp of a file by what the file system says of it.
    pub fn of(meta: &fs::Metadata) -> Self {
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000) + nanos;
        Self {
            len: meta.len(),
            mode: meta.mode(),
            inode: meta.ino(),
            modified: nanos(meta.mtime(), meta.mtime_nsec()),
            changed: nanos(meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// A file as it was at the last look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct File {
    pub stamp: Stamp,
    pub hash: Hash,
}

/// The names of the files and of the folders right in a folder that count.
pub(super) fn list(root: &Path, path: &Path, forced: bool) -> (Vec<OsString>, Vec<OsString>) {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    let walk = builder(&root.join(path), forced).max_depth(Some(1)).build();
    for entry in walk.filter_map(Result::ok).filter(|e| e.depth() == 1) {
        match entry.file_type().is_some_and(|t| t.is_dir()) {
            true => folders.push(entry.file_name().to_owned()),
            false => files.push(entry.file_name().to_owned()),
        }
    }
    (files, folders)
}

/// A walk that finds what counts: what git does not ignore, or with `forced` all of it; hidden
/// files too, and nothing of `.git` but where the walk starts there.
fn builder(start: &Path, forced: bool) -> WalkBuilder {
    let mut walk = WalkBuilder::new(start);
    walk.standard_filters(!forced)
        .hidden(false)
        .follow_links(false)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    // Only git's own files say what git ignores.
    walk.ignore(false);
    walk
}

/// What a walk found, by paths relative to the root, in no order.
#[derive(Default)]
pub(super) struct Found {
    pub folders: Vec<(PathBuf, Stamp)>,
    pub files: Vec<(PathBuf, File)>,
    pub too_many: bool,
}

/// Everything below `start` (relative to `root`), read on several threads; nothing when it is no
/// folder.
///
/// # Errors
/// [`TooMany`] above `limit` files.
pub(super) fn find(
    root: &Path,
    start: &Path,
    forced: bool,
    limit: usize,
) -> Result<Found, TooMany> {
    let found = Mutex::new(Found::default());
    let base = root.join(start);
    if !base.is_dir() {
        return Ok(Found::default());
    }
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(8));
    let walk = builder(&base, forced).threads(threads).build_parallel();
    walk.run(|| {
        let mut own = Collect {
            found: &found,
            own: Found::default(),
        };
        Box::new(move |entry| {
            let Ok(entry) = entry else {
                return WalkState::Continue;
            };
            if !own.add(root, &entry) {
                return WalkState::Continue;
            }
            // Counted in portions: a project above the limit is given up soon, and the threads
            // seldom meet at the lock.
            match own.flush() > limit {
                true => WalkState::Quit,
                false => WalkState::Continue,
            }
        })
    });
    let found = found.into_inner().unwrap_or_default();
    match found.too_many || found.files.len() > limit {
        true => Err(TooMany),
        false => Ok(found),
    }
}

/// What one thread found, handed over in portions.
struct Collect<'a> {
    found: &'a Mutex<Found>,
    own: Found,
}

impl Collect<'_> {
    /// Whether a portion is full.
    fn add(&mut self, root: &Path, entry: &DirEntry) -> bool {
        let Ok(path) = entry.path().strip_prefix(root) else {
            return false;
        };
        if entry.file_type().is_some_and(|t| t.is_dir()) {
            if let Ok(meta) = fs::symlink_metadata(entry.path()) {
                self.own.folders.push((path.to_owned(), Stamp::of(&meta)));
            }
        } else if let Some(file) = read_file(entry.path()) {
            self.own.files.push((path.to_owned(), file));
        }
        self.own.files.len() >= 256
    }

    fn flush(&mut self) -> usize {
        let Ok(mut found) = self.found.lock() else {
            return 0;
        };
        found.folders.append(&mut self.own.folders);
        found.files.append(&mut self.own.files);
        found.files.len()
    }
}

impl Drop for Collect<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Reads a file for its hash; links are not followed, pipes and devices not opened. `None` for a
/// folder, and for what is not there. The hash covers the kind, so that a link to a file with the
/// same text is another content.
pub(super) fn read_file(path: &Path) -> Option<File> {
    let meta = fs::symlink_metadata(path).ok()?;
    let stamp = Stamp::of(&meta);
    let mut hasher = Sha256::new();
    let kind = meta.file_type();
    if kind.is_symlink() {
        hasher.update(b"link");
        hasher.update(fs::read_link(path).ok()?.as_os_str().as_bytes());
    } else if kind.is_file() {
        hasher.update(if meta.mode() & 0o111 != 0 {
            b"exec"
        } else {
            b"file"
        });
        if hash_content(path, &mut hasher).is_err() {
            // One that may not be read cannot be compared by content. Its stamp stands in: then a
            // `touch` counts as a change, and no change is missed.
            hasher.update(stamp.len.to_le_bytes());
            hasher.update(stamp.modified.to_le_bytes());
            hasher.update(stamp.inode.to_le_bytes());
        }
    } else if kind.is_dir() {
        return None;
    } else {
        hasher.update(b"special");
    }
    Some(File {
        stamp,
        hash: hasher.finalize().into(),
    })
}

fn hash_content(path: &Path, hasher: &mut Sha256) -> io::Result<()> {
    let mut file = open(path)?;
    let mut buffer = [0; 16 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            n => hasher.update(&buffer[..n]),
        }
    }
}

/// Opens a file for reading that must not have become a link since it was looked at, and without
/// waiting for a pipe that took its place.
///
/// # Errors
/// What the disk reports; a link is an error.
pub(super) fn open(path: &Path) -> io::Result<fs::File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
}
