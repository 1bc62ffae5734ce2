//! Opening the file: whose it is, which schema it has, and opening it again after a failed write.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use redb::{
    Builder, ConcurrencyMode, Database, ReadTransaction, ReadableDatabase, WriteTransaction,
};

use super::{
    Store, StoreError,
    codec::{decode, encode},
    migrate,
    tables::{EVENTS, META, ROW_TABLES},
};

/// The schema this program writes. A newer one is refused, an older one is migrated.
pub const SCHEMA: u32 = 2;

const CACHE_BYTES: usize = 32 << 20;

impl Store {
    /// Opens the store at `path` for writing, and makes it when it is not there. The folder is
    /// made with mode 0700, the file with 0600.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another process writes; a newer schema; a file that is no
    /// store; what the disk reports.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let store = Self {
            db: None,
            path: path.to_owned(),
            #[cfg(any(test, feature = "testing"))]
            faults: None,
        };
        store.opened()
    }

    /// As [`Store::open`], on a disk that fails when a test says so.
    ///
    /// # Errors
    /// As [`Store::open`].
    #[cfg(any(test, feature = "testing"))]
    pub fn open_on(path: &Path, faults: &super::Faults) -> Result<Self, StoreError> {
        let store = Self {
            db: None,
            path: path.to_owned(),
            faults: Some(faults.clone()),
        };
        store.opened()
    }

    fn opened(mut self) -> Result<Self, StoreError> {
        make_file(&self.path)?;
        self.reopen()?;
        Ok(self)
    }

    /// Opens the file again. redb refuses everything after the disk has failed once, until then;
    /// what the last commit wrote is found or given up as a whole.
    ///
    /// # Errors
    /// As [`Store::open`]. The store is then closed, and every use of it fails until this
    /// succeeds.
    pub fn reopen(&mut self) -> Result<(), StoreError> {
        // The lock of the old one must be gone first.
        self.db = None;
        self.db = Some(self.open_database()?);
        let prepared = self.prepare(true);
        if prepared.is_err() {
            self.db = None;
        }
        prepared
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open_database(&self) -> Result<Database, StoreError> {
        let mut builder = Builder::new();
        builder
            .set_cache_size(CACHE_BYTES)
            .set_concurrency_mode(ConcurrencyMode::SingleWriter);
        #[cfg(any(test, feature = "testing"))]
        if let Some(faults) = &self.faults {
            let backend = faults
                .backend(&self.path)
                .map_err(|e| StoreError::io(&self.path, "open it", &e))?;
            return builder
                .create_with_backend(backend)
                .map_err(|e| StoreError::open(&self.path, e));
        }
        builder
            .create(&self.path)
            .map_err(|e| StoreError::open(&self.path, e))
    }

    fn db(&self) -> Result<&Database, StoreError> {
        self.db.as_ref().ok_or_else(|| StoreError::Io {
            path: self.path.clone(),
            doing: "use it".into(),
            fault: "it could not be opened again after the disk failed".into(),
        })
    }

    /// Whether the file can be used. After the disk has failed once it cannot, until
    /// [`Store::reopen`].
    pub fn works(&self) -> bool {
        self.db().is_ok_and(|db| db.try_begin_write().is_ok())
    }

    /// What the last commit left; `doing` names in the error what was wanted.
    pub(super) fn read(&self, doing: &'static str) -> Result<ReadTransaction, StoreError> {
        self.db()?.begin_read().map_err(self.fail(doing))
    }

    pub(super) fn write(&self, doing: &'static str) -> Result<WriteTransaction, StoreError> {
        self.db()?.begin_write().map_err(self.fail(doing))
    }

    pub(super) fn fail<E: Into<redb::Error>>(
        &self,
        doing: &'static str,
    ) -> impl Fn(E) -> StoreError + '_ {
        move |error| StoreError::redb(&self.path, doing, error.into())
    }

    /// Checks the schema, makes all tables in a new file, and migrates an older one.
    fn prepare(&mut self, copies: bool) -> Result<(), StoreError> {
        match self.schema()? {
            Some(SCHEMA) => Ok(()),
            None => self.create_tables(),
            Some(found) if found > SCHEMA => Err(StoreError::Schema {
                path: self.path.clone(),
                found,
                known: SCHEMA,
            }),
            Some(_) if copies => {
                // Only a file that is closed can be copied as a whole. Whoever opens it meanwhile
                // migrates it, which is seen when it is open again.
                self.db = None;
                migrate::copy(&self.path, SCHEMA)?;
                self.db = Some(self.open_database()?);
                self.prepare(false)
            }
            Some(1) => self.migrate_from_1(),
            Some(other) => Err(StoreError::Damaged {
                path: self.path.clone(),
                fault: format!("it has schema {other}, which there never was"),
            }),
        }
    }

    fn schema(&self) -> Result<Option<u32>, StoreError> {
        let doing = "read its schema version";
        let read = self.read(doing)?;
        let meta = match read.open_table(META) {
            Ok(meta) => meta,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(e) => return Err(self.fail(doing)(e)),
        };
        let value = meta.get("schema").map_err(self.fail(doing))?;
        value
            .map(|v| decode(v.value(), &self.path, "meta", "schema"))
            .transpose()
    }

    pub(super) fn write_schema(
        &self,
        txn: &WriteTransaction,
        schema: u32,
    ) -> Result<(), StoreError> {
        let doing = "write its schema version";
        let mut meta = txn.open_table(META).map_err(self.fail(doing))?;
        let value = encode(&schema)?;
        meta.insert("schema", value.as_slice())
            .map_err(self.fail(doing))?;
        Ok(())
    }

    fn create_tables(&self) -> Result<(), StoreError> {
        let doing = "create its tables";
        let txn = self.write(doing)?;
        for table in ROW_TABLES {
            txn.open_table(table).map_err(self.fail(doing))?;
        }
        txn.open_table(EVENTS).map_err(self.fail(doing))?;
        self.write_schema(&txn, SCHEMA)?;
        txn.commit().map_err(self.fail(doing))
    }
}

/// Makes the file and its folder, when they are not there, for the owner alone.
fn make_file(path: &Path) -> Result<(), StoreError> {
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|e| StoreError::io(path, "create its folder", &e))?;
    }
    let made = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(StoreError::io(path, "create it", &e)),
    }
}
