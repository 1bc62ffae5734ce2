//! Floor 2: the store. The only folder that knows redb.
//!
//! One file, one writer (`SingleWriter`). Everything arrives as a [`Batch`]: events for the
//! log and rows for the tables, applied in one transaction. `docs/store.md` has the tables.

mod archive;
mod codec;
mod error;
#[cfg(any(test, feature = "testing"))]
mod faults;
mod log;
mod migrate;
mod open;
mod past;
mod prove;
mod rows;
mod tables;
#[cfg(feature = "testing")]
pub mod testing;
mod upkeep;
mod view;

use std::path::PathBuf;

use redb::{Database, ReadableTableMetadata, WriteTransaction};

pub use archive::Archived;
pub use error::StoreError;
#[cfg(any(test, feature = "testing"))]
pub use faults::Faults;
pub use log::LogHead;
pub use open::SCHEMA;
pub use past::IdRange;
pub use prove::{LogFault, LogReport, RowDifference, RowFault};
pub use rows::{Batch, Loaded, Past, Record, Row};
pub use tables::NOTABLE_KEPT;
pub use upkeep::{StoreSize, TableSize};
pub use view::View;

use codec::decode;
use invar_model::{
    Decision, DecisionId, Enforcement, InForce, Invariant, InvariantId, PlanId, hex,
};
use tables::*;

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
        self.write_rows(&txn, &batch.rows)?;
        if !batch.events.is_empty() {
            self.append_events(&txn, &batch.events)?;
        }
        txn.commit().map_err(self.fail(doing))
    }

    fn write_rows(&self, txn: &WriteTransaction, rows: &[Row]) -> Result<(), StoreError> {
        let doing = "write";
        let mut notable = false;
        for row in rows {
            notable |= matches!(row, Row::Notable(_));
            for change in changes(row)? {
                let mut table = txn.open_table(change.table).map_err(self.fail(doing))?;
                let key = change.key.as_slice();
                match change.value {
                    Some(value) => table.insert(key, value.as_slice()),
                    None => table.remove(key),
                }
                .map_err(self.fail(doing))?;
            }
        }
        if notable {
            let mut table = txn.open_table(NOTABLE).map_err(self.fail(doing))?;
            while table.len().map_err(self.fail(doing))? > NOTABLE_KEPT as u64 {
                table.pop_first().map_err(self.fail(doing))?;
            }
        }
        Ok(())
    }

    /// Reads what an engine keeps in memory: all that goes on.
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
            plans_of: self.all(PLANS_OF)?,
            journal: self.all(JOURNAL)?,
            sessions: self.all(SESSIONS)?,
            strikes: self.all(STRIKES)?,
            violations: self.all(VIOLATIONS)?,
            assents: self.all(ASSENTS)?,
            readings: self.all(READINGS)?,
            day_costs: self.all(DAY_COSTS)?,
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

    /// The value of a row; the error names the row.
    fn decoded<T: serde::de::DeserializeOwned>(
        &self,
        table: RowTable,
        key: &[u8],
        value: &[u8],
    ) -> Result<T, StoreError> {
        use redb::TableHandle;
        decode(value, &self.path, table.name(), &hex(key))
    }

    /// The values whose keys start with `prefix`, in the order of their keys; each is read or
    /// says why not.
    fn records<T: serde::de::DeserializeOwned>(
        &self,
        table: RowTable,
        prefix: &[u8],
    ) -> Result<Vec<Result<T, StoreError>>, StoreError> {
        let doing = "read";
        let read = self.read(doing)?;
        let open = read.open_table(table).map_err(self.fail(doing))?;
        let mut out = Vec::new();
        for entry in open.range(prefix..).map_err(self.fail(doing))? {
            let (key, value) = entry.map_err(self.fail(doing))?;
            if !key.value().starts_with(prefix) {
                break;
            }
            out.push(self.decoded(table, key.value(), value.value()));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
