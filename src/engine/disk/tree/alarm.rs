//! Which folders of a tree may have changed, as the kernel reports it, so that a look at a tree
//! where nothing happened asks the disk about next to nothing.
//!
//! The kernel queues its reports before the system call that caused them returns. They are read at
//! the moment of a look and not on a thread beside it: a command that has ended has all its
//! reports in the queue. What the reports cannot say makes [`Alarm::drain`] answer "anywhere", and
//! the tree is then looked at as a whole: an overflow of the queue, a folder that was moved, a
//! folder that could not be watched. Two things they leave out: a write to a file through another
//! name of it, so that folders with such files count as changed each time, and a write through a
//! memory mapping after its file was closed, which the whole look at the gate of apply finds.

use std::{
    collections::{BTreeSet, HashMap},
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
    io::Errno,
};

/// What is reported of a folder: its list, and the content and permissions of its files.
const WATCHED: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);

/// After these nobody knows any more which folder a report is about, or what is missing.
const BLINDING: ReadFlags = ReadFlags::QUEUE_OVERFLOW
    .union(ReadFlags::UNMOUNT)
    .union(ReadFlags::MOVE_SELF);

/// How much is read of the queue at a time.
const BUFFER: usize = 64 << 10;

/// The watch over the folders of one tree. Paths are relative to its root.
#[derive(Debug)]
pub(super) struct Alarm {
    queue: OwnedFd,
    folders: HashMap<i32, PathBuf>,
    watched: BTreeSet<PathBuf>,
    /// Where something may have happened that was not looked at since.
    suspects: BTreeSet<PathBuf>,
    /// Folders with files that have other names too.
    linked: BTreeSet<PathBuf>,
    /// Something may have happened anywhere.
    blind: bool,
}

impl Alarm {
    /// Watches the folders of a tree from now on; what happened before is not known. `None` where
    /// the kernel has no such thing, or no room for it.
    pub(super) fn over<'a>(
        root: &Path,
        folders: impl Iterator<Item = &'a PathBuf>,
    ) -> Option<Self> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let mut alarm = Self {
            queue,
            folders: HashMap::new(),
            watched: BTreeSet::new(),
            suspects: BTreeSet::new(),
            linked: BTreeSet::new(),
            blind: false,
        };
        for folder in folders {
            alarm.watch(root, folder);
        }
        // Without room for all of them, each look would be a whole one and this a waste.
        (!alarm.blind).then_some(alarm)
    }

    fn watch(&mut self, root: &Path, folder: &Path) {
        match inotify::add_watch(&self.queue, root.join(folder), WATCHED) {
            Ok(id) => {
                self.folders.insert(id, folder.to_owned());
                self.watched.insert(folder.to_owned());
            }
            // It went meanwhile; its parent reports that.
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(_) => self.blind = true,
        }
    }

    /// The folders in which something may have happened since the last look; `None`: in any.
    pub(super) fn drain(&mut self) -> Option<BTreeSet<PathBuf>> {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut reports = Reader::new(&self.queue, &mut buffer);
        loop {
            let report = match reports.next() {
                Ok(report) => report,
                Err(Errno::WOULDBLOCK) => break,
                Err(Errno::INTR) => continue,
                Err(_) => {
                    self.blind = true;
                    break;
                }
            };
            let what = report.events();
            if what.intersects(BLINDING) {
                self.blind = true;
                break;
            }
            let Some(folder) = self.folders.get(&report.wd()) else {
                continue;
            };
            // A folder that went is seen by its parent, too.
            let parent = what
                .contains(ReadFlags::DELETE_SELF)
                .then(|| folder.parent());
            self.suspects.extend(parent.flatten().map(Path::to_owned));
            self.suspects.insert(folder.clone());
            if what.contains(ReadFlags::IGNORED) {
                self.watched.remove(folder);
                self.folders.remove(&report.wd());
            }
        }
        if self.blind {
            return None;
        }
        let mut suspects = std::mem::take(&mut self.suspects);
        suspects.extend(self.linked.iter().cloned());
        Some(suspects)
    }

    /// After a look at `looked_at` that found the folders `new`: watches what is not watched yet.
    /// Such a folder was read before it was watched, so that it is looked at once more next time.
    pub(super) fn looked<'a>(
        &mut self,
        root: &Path,
        looked_at: impl Iterator<Item = &'a PathBuf>,
        new: &'a [PathBuf],
    ) {
        for folder in looked_at.chain(new) {
            if !self.watched.contains(folder) && root.join(folder).is_dir() {
                self.watch(root, folder);
                self.suspects.insert(folder.clone());
            }
        }
    }

    /// Whether a folder has a file with several names that had none before.
    pub(super) fn has_new_link(&self, linked: &BTreeSet<PathBuf>) -> bool {
        !linked.is_subset(&self.linked)
    }

    /// Says of folders that were looked at which of them have files with several names.
    pub(super) fn link(&mut self, looked_at: &BTreeSet<PathBuf>, linked: BTreeSet<PathBuf>) {
        self.linked.retain(|folder| !looked_at.contains(folder));
        self.linked.extend(linked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folders(names: &[&str]) -> BTreeSet<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn only_where_something_happened_is_suspect() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("c")).unwrap();
        fs::write(root.join("c/file"), "x").unwrap();
        let all = folders(&["", "a", "a/b", "c"]);
        let mut alarm = Alarm::over(root, all.iter()).unwrap();
        assert_eq!(alarm.drain(), Some(folders(&[])));
        fs::write(root.join("a/b/new"), "x").unwrap();
        assert_eq!(alarm.drain(), Some(folders(&["a/b"])));
        fs::write(root.join("c/file"), "y").unwrap();
        assert_eq!(alarm.drain(), Some(folders(&["c"])));
        fs::read(root.join("c/file")).unwrap();
        assert_eq!(alarm.drain(), Some(folders(&[])), "reading is nothing");
        fs::remove_dir_all(root.join("a")).unwrap();
        assert_eq!(alarm.drain(), Some(folders(&["", "a", "a/b"])));
    }

    #[test]
    fn what_it_cannot_follow_makes_it_suspect_everything() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        let all = folders(&["", "a", "a/b"]);
        let mut alarm = Alarm::over(root, all.iter()).unwrap();
        fs::rename(root.join("a"), root.join("z")).unwrap();
        assert_eq!(alarm.drain(), None);
        let mut alarm = Alarm::over(root, folders(&[""]).iter()).unwrap();
        let many = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events");
        let many: usize = many.unwrap().trim().parse().unwrap();
        for n in 0..=many / 2 {
            fs::write(root.join(format!("f{n}")), "x").unwrap();
        }
        assert_eq!(alarm.drain(), None, "the queue overflowed");
    }

    #[test]
    fn a_new_folder_is_watched_and_looked_at_once_more() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let mut alarm = Alarm::over(root, folders(&[""]).iter()).unwrap();
        fs::create_dir(root.join("new")).unwrap();
        let suspects = alarm.drain().unwrap();
        assert_eq!(suspects, folders(&[""]));
        alarm.looked(root, suspects.iter(), &["new".into()]);
        assert_eq!(alarm.drain(), Some(folders(&["new"])));
        fs::write(root.join("new/file"), "x").unwrap();
        assert_eq!(alarm.drain(), Some(folders(&["new"])));
        assert_eq!(alarm.drain(), Some(folders(&[])));
    }
}
