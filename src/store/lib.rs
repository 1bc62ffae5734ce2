//! Floor 2: the store. The only folder that knows redb.
//!
//! One file, one writer (`SingleWriter`). Everything arrives as a [`Batch`]: events for the
//! log and rows for the tables, applied in one transaction. `docs/store.md` has the tables.

mod codec;
mod error;
mod log;
mod tables;

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use redb::{Builder, ConcurrencyMode, Database, ReadableDatabase};

pub use error::StoreError;
pub use log::{LogFault, LogReport};

use codec::{decode, encode};
use invar_model::{
    Action, Assent, Decision, DecisionId, Enforcement, Event, Invariant, InvariantId, JournalEntry,
    JudgeCheck, JudgedAction, Plan, PlanId, Project, Session, Signature, Strike, Violation, hex,
};
use tables::*;

/// The schema this program writes. A newer one is refused, an older one is migrated.
pub const SCHEMA: u32 = 1;

const CACHE_BYTES: usize = 32 << 20;

/// A row that a batch writes. Keys follow from the values.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    Invariant(Invariant),
    Plan(Plan),
    Project(Project),
    Action(Action),
    Journal(JournalEntry),
    JournalDropped(u64),
    Session(Session),
    Strike(Strike),
    /// The count starts again.
    StrikeCleared(PlanId, InvariantId, Signature),
    Violation(Violation),
    Assent(Assent),
    Check(JudgeCheck),
    /// An action that a judge has to read.
    JudgedAction(JudgedAction),
    /// It is read, or too old to matter: its plan and number.
    JudgedActionDropped(PlanId, u64),
    Decision(Decision),
    Enforcement(PlanId, Enforcement),
}

/// What one transaction writes.
#[derive(Debug, Default)]
pub struct Batch {
    pub events: Vec<Event>,
    pub rows: Vec<Row>,
}

impl Batch {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.rows.is_empty()
    }
}

/// All that an engine keeps in memory, as it stood at the last commit.
#[derive(Debug, Default)]
pub struct Loaded {
    pub invariants: Vec<Invariant>,
    pub plans: Vec<Plan>,
    pub projects: Vec<Project>,
    pub actions: Vec<Action>,
    pub journal: Vec<JournalEntry>,
    pub sessions: Vec<Session>,
    pub strikes: Vec<Strike>,
    pub violations: Vec<Violation>,
    pub assents: Vec<Assent>,
    pub checks: Vec<JudgeCheck>,
    pub judged_actions: Vec<JudgedAction>,
    /// The number of the last event; 0 for an empty log.
    pub seq: u64,
    /// Invariants that cannot be read: named, and never skipped in silence.
    pub unreadable: Vec<StoreError>,
}

/// An open store: the one writer of its file.
pub struct Store {
    db: Database,
    path: PathBuf,
}

impl Store {
    /// Opens the store at `path` for writing, and makes it when it is not there. The folder is
    /// made with mode 0700, the file with 0600.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another process writes; a newer schema; a file that is no
    /// store; what the disk reports.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .map_err(|e| StoreError::io(path, "create its folder", &e))?;
        }
        match fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
        {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(StoreError::io(path, "create it", &e)),
        }
        let db = Builder::new()
            .set_cache_size(CACHE_BYTES)
            .set_concurrency_mode(ConcurrencyMode::SingleWriter)
            .create(path)
            .map_err(|e| StoreError::open(path, e))?;
        let store = Self {
            db,
            path: path.to_owned(),
        };
        store.prepare()?;
        Ok(store)
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn fail<E: Into<redb::Error>>(&self, doing: &'static str) -> impl Fn(E) -> StoreError + '_ {
        move |error| StoreError::redb(&self.path, doing, error.into())
    }

    /// Checks the schema, and makes all tables in a new file.
    fn prepare(&self) -> Result<(), StoreError> {
        let fail = "read its schema version";
        let found = {
            let read = self.db.begin_read().map_err(self.fail(fail))?;
            match read.open_table(META) {
                Ok(meta) => {
                    let value = meta.get("schema").map_err(self.fail(fail))?;
                    match value {
                        Some(v) => Some(decode::<u32>(v.value(), &self.path, "meta", "schema")?),
                        None => None,
                    }
                }
                Err(redb::TableError::TableDoesNotExist(_)) => None,
                Err(e) => return Err(self.fail(fail)(e)),
            }
        };
        match found {
            Some(SCHEMA) => Ok(()),
            Some(found) => Err(StoreError::Schema {
                path: self.path.clone(),
                found,
                known: SCHEMA,
            }),
            None => self.create_tables(),
        }
    }

    fn create_tables(&self) -> Result<(), StoreError> {
        let doing = "create its tables";
        let txn = self.db.begin_write().map_err(self.fail(doing))?;
        {
            let mut meta = txn.open_table(META).map_err(self.fail(doing))?;
            let value = encode(&SCHEMA)?;
            meta.insert("schema", value.as_slice())
                .map_err(self.fail(doing))?;
            for table in ROW_TABLES {
                txn.open_table(table).map_err(self.fail(doing))?;
            }
            txn.open_table(EVENTS).map_err(self.fail(doing))?;
        }
        txn.commit().map_err(self.fail(doing))
    }

    /// Writes a batch in one transaction; returns when it is durable.
    ///
    /// # Errors
    /// What the disk reports. Nothing of the batch is then written.
    pub fn commit(&self, batch: &Batch) -> Result<(), StoreError> {
        let doing = "write";
        let txn = self.db.begin_write().map_err(self.fail(doing))?;
        for row in &batch.rows {
            let (table, key, value) = encode_row(row)?;
            let mut table = txn.open_table(table).map_err(self.fail(doing))?;
            match value {
                Some(value) => {
                    table
                        .insert(key.as_slice(), value.as_slice())
                        .map_err(self.fail(doing))?;
                }
                None => {
                    table.remove(key.as_slice()).map_err(self.fail(doing))?;
                }
            }
        }
        if !batch.events.is_empty() {
            self.append_events(&txn, &batch.events)?;
        }
        // Revisions are kept for ever, so that an edit can be seen and undone.
        let mut revisions = txn.open_table(REVISIONS).map_err(self.fail(doing))?;
        for row in &batch.rows {
            if let Row::Invariant(invariant) = row {
                let key = revision_key(invariant.id, invariant.revision);
                let value = encode(invariant)?;
                revisions
                    .insert(key.as_slice(), value.as_slice())
                    .map_err(self.fail(doing))?;
            }
        }
        drop(revisions);
        txn.commit().map_err(self.fail(doing))
    }

    /// Reads all that an engine keeps in memory.
    ///
    /// # Errors
    /// A record of another table that cannot be read stops the load and is named. An invariant
    /// that cannot be read is told in [`Loaded::unreadable`], so that a person can still look.
    pub fn load(&self) -> Result<Loaded, StoreError> {
        let mut unreadable = Vec::new();
        let mut invariants = Vec::new();
        for record in self.records(INVARIANTS, &[])? {
            match record {
                Ok(invariant) => invariants.push(invariant),
                Err(fault) => unreadable.push(fault),
            }
        }
        Ok(Loaded {
            unreadable,
            invariants,
            plans: self.all(PLANS)?,
            projects: self.all(PROJECTS)?,
            actions: self.all(ACTIONS)?,
            journal: self.all(JOURNAL)?,
            sessions: self.all(SESSIONS)?,
            strikes: self.all(STRIKES)?,
            violations: self.all(VIOLATIONS)?,
            assents: self.all(ASSENTS)?,
            checks: self.all(CHECKS)?,
            judged_actions: self.all(JUDGED_ACTIONS)?,
            seq: self.head()?.0,
        })
    }

    /// All revisions of an invariant, oldest first.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn history(&self, id: InvariantId) -> Result<Vec<Invariant>, StoreError> {
        self.range(REVISIONS, &id.to_bytes())
    }

    /// The decision tree of a plan, oldest node first.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn decisions(&self, plan: PlanId) -> Result<Vec<Decision>, StoreError> {
        self.range(DECISIONS, &plan.to_bytes())
    }

    /// The enforcement records that one decision of a plan made.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn enforcements(
        &self,
        plan: PlanId,
        decision: DecisionId,
    ) -> Result<Vec<Enforcement>, StoreError> {
        let mut prefix = plan.to_bytes().to_vec();
        prefix.extend(decision.to_bytes());
        self.range(ENFORCEMENTS, &prefix)
    }

    fn all<T: serde::de::DeserializeOwned>(&self, table: RowTable) -> Result<Vec<T>, StoreError> {
        self.range(table, &[])
    }

    fn range<T: serde::de::DeserializeOwned>(
        &self,
        table: RowTable,
        prefix: &[u8],
    ) -> Result<Vec<T>, StoreError> {
        self.records(table, prefix)?.into_iter().collect()
    }

    /// The values whose keys start with `prefix`, in the order of their keys; each is read or
    /// says why not.
    fn records<T: serde::de::DeserializeOwned>(
        &self,
        table: RowTable,
        prefix: &[u8],
    ) -> Result<Vec<Result<T, StoreError>>, StoreError> {
        use redb::TableHandle;
        let doing = "read";
        let read = self.db.begin_read().map_err(self.fail(doing))?;
        let name = table.name().to_owned();
        let open = read.open_table(table).map_err(self.fail(doing))?;
        let mut out = Vec::new();
        for entry in open.range(prefix..).map_err(self.fail(doing))? {
            let (key, value) = entry.map_err(self.fail(doing))?;
            if !key.value().starts_with(prefix) {
                break;
            }
            out.push(decode(value.value(), &self.path, &name, &hex(key.value())));
        }
        Ok(out)
    }
}

/// Makes the record of an invariant unreadable, for tests of what depends on it.
///
/// # Errors
/// What the disk reports.
#[cfg(feature = "testing")]
pub fn damage_invariant(path: &Path, id: InvariantId) -> Result<(), StoreError> {
    let store = Store::open(path)?;
    let doing = "damage a record";
    let txn = store.db.begin_write().map_err(store.fail(doing))?;
    let mut table = txn.open_table(INVARIANTS).map_err(store.fail(doing))?;
    table
        .insert(id.to_bytes().as_slice(), b"\x01{".as_slice())
        .map_err(store.fail(doing))?;
    drop(table);
    txn.commit().map_err(store.fail(doing))
}

#[cfg(test)]
mod tests;
