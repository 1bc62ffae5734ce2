//! Floor 2: the store. The only folder that knows redb.
//!
//! One file, one writer (`SingleWriter`). Everything arrives as a [`Batch`]: events for the
//! log and rows for the tables, applied in one transaction. `docs/store.md` has the tables.

mod codec;
mod error;
#[cfg(any(test, feature = "testing"))]
mod faults;
mod log;
mod open;
mod tables;

#[cfg(feature = "testing")]
use std::path::Path;
use std::path::PathBuf;

use redb::Database;

pub use error::StoreError;
#[cfg(any(test, feature = "testing"))]
pub use faults::Faults;
pub use log::{LogFault, LogReport};
pub use open::SCHEMA;

use codec::{decode, encode};
use invar_model::{
    Action, Assent, Decision, DecisionId, Enforcement, Event, InForce, Invariant, InvariantId,
    JournalEntry, JudgeCheck, JudgedAction, Plan, PlanId, Project, Session, Signature, Strike,
    Violation, hex,
};
use tables::*;

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
    /// A set of invariants in force, under its digest.
    Set(String, InForce),
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
    /// Nothing while the file could not be opened again.
    db: Option<Database>,
    path: PathBuf,
    /// The disk of a test, which fails when it is told to.
    #[cfg(any(test, feature = "testing"))]
    faults: Option<Faults>,
}

impl Store {
    /// Writes a batch in one transaction; returns when it is durable.
    ///
    /// # Errors
    /// What the disk reports. Nothing of the batch is then written.
    pub fn commit(&self, batch: &Batch) -> Result<(), StoreError> {
        let doing = "write";
        let txn = self.write(doing)?;
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

    /// The enforcement records that one decision of a plan made, in a store of the first schema.
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

    /// The set of invariants in force that has this digest, if the store has met it.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn set(&self, digest: &str) -> Result<Option<InForce>, StoreError> {
        let doing = "read";
        let read = self.read(doing)?;
        let table = read.open_table(SETS).map_err(self.fail(doing))?;
        let value = table.get(digest.as_bytes()).map_err(self.fail(doing))?;
        value
            .map(|value| decode(value.value(), &self.path, "sets", digest))
            .transpose()
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
        let read = self.read(doing)?;
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
    let txn = store.write(doing)?;
    let mut table = txn.open_table(INVARIANTS).map_err(store.fail(doing))?;
    table
        .insert(id.to_bytes().as_slice(), b"\x01{".as_slice())
        .map_err(store.fail(doing))?;
    drop(table);
    txn.commit().map_err(store.fail(doing))
}

#[cfg(test)]
mod tests;
