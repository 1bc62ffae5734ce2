//! A disk that fails when a test says so.

use std::{
    fs::OpenOptions,
    io,
    ops::Bound,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use redb::{BackendError, StorageBackend, backends::FileBackend};

/// What a disk still does. Clones are the same disk.
#[derive(Debug, Clone)]
pub struct Faults(Arc<Left>);

#[derive(Debug)]
struct Left {
    /// How many more writes succeed; negative for any number.
    writes: AtomicI64,
    /// As `writes`, for reads.
    reads: AtomicI64,
}

impl Default for Faults {
    fn default() -> Self {
        Self(Arc::new(Left {
            writes: AtomicI64::new(-1),
            reads: AtomicI64::new(-1),
        }))
    }
}

impl Faults {
    /// Lets `count` more writes happen and refuses all that follow, as a full disk does.
    pub fn refuse_writes_after(&self, count: u32) {
        self.0.writes.store(count.into(), Ordering::SeqCst);
    }

    /// Refuses writes and reads, as a disk that is gone does.
    pub fn refuse_everything(&self) {
        self.0.writes.store(0, Ordering::SeqCst);
        self.0.reads.store(0, Ordering::SeqCst);
    }

    /// The disk works again.
    pub fn mend(&self) {
        self.0.writes.store(-1, Ordering::SeqCst);
        self.0.reads.store(-1, Ordering::SeqCst);
    }

    pub(super) fn backend(&self, path: &Path) -> io::Result<FaultyBackend> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let file = FileBackend::new(file).map_err(io::Error::other)?;
        Ok(FaultyBackend {
            file,
            faults: self.clone(),
        })
    }
}

fn take(left: &AtomicI64, what: &str) -> io::Result<()> {
    let next = |n: i64| match n {
        0 => None,
        n if n < 0 => Some(n),
        n => Some(n - 1),
    };
    match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next) {
        Ok(_) => Ok(()),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::StorageFull,
            format!("the disk of this test refuses to {what}"),
        )),
    }
}

/// A file whose reads and writes ask [`Faults`] first.
#[derive(Debug)]
pub(super) struct FaultyBackend {
    file: FileBackend,
    faults: Faults,
}

impl FaultyBackend {
    fn write_one(&self) -> io::Result<()> {
        take(&self.faults.0.writes, "write")
    }
}

impl StorageBackend for FaultyBackend {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        take(&self.faults.0.reads, "read")?;
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.write_one()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.write_one()?;
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write_one()?;
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}
