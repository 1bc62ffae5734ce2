//! What a person may want to know of the file, and making it smaller.

use std::fs;

use jiff::Timestamp;
use redb::{ReadableTableMetadata, TableHandle};
use serde::{Deserialize, Serialize};

use super::{
    Archived, SCHEMA, Store, StoreError, View,
    tables::{EVENTS, ROW_TABLES},
};

/// The size of one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSize {
    pub table: String,
    pub rows: u64,
    /// Keys and values, without what the tree around them takes.
    pub bytes: u64,
}

/// What lies in a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreSize {
    pub schema: u32,
    /// The size of the file.
    pub file_bytes: u64,
    /// The number of the last event.
    pub events: u64,
    pub tables: Vec<TableSize>,
    pub archives: Vec<Archived>,
    /// How many events could be archived now.
    pub archivable: u64,
}

impl View {
    /// What lies in the store, and how much.
    ///
    /// # Errors
    /// What the disk reports.
    pub fn size(&self) -> Result<StoreSize, StoreError> {
        let doing = "measure it";
        let file = fs::metadata(&self.path).map_err(|e| StoreError::io(&self.path, doing, &e))?;
        let mut tables = Vec::new();
        let events = self.read.open_table(EVENTS).map_err(self.fail(doing))?;
        let first = {
            use redb::ReadableTable;
            let first = events.first().map_err(self.fail(doing))?;
            first.map_or(0, |(seq, _)| seq.value())
        };
        tables.push(TableSize {
            table: EVENTS.name().to_owned(),
            rows: events.len().map_err(self.fail(doing))?,
            bytes: events.stats().map_err(self.fail(doing))?.stored_bytes(),
        });
        for table in ROW_TABLES {
            let open = self.read.open_table(table).map_err(self.fail(doing))?;
            tables.push(TableSize {
                table: table.name().to_owned(),
                rows: open.len().map_err(self.fail(doing))?,
                bytes: open.stats().map_err(self.fail(doing))?.stored_bytes(),
            });
        }
        let last = self.archivable(Timestamp::now())?;
        Ok(StoreSize {
            schema: SCHEMA,
            file_bytes: file.len(),
            events: self.head()?.map_or(0, |head| head.seq),
            tables,
            archives: self.archives()?,
            archivable: last.map_or(0, |last| last + 1 - first),
        })
    }
}

impl Store {
    /// Gives the disk back what the file does not need; the size before and after.
    ///
    /// # Errors
    /// What the disk reports.
    pub fn compact(&mut self) -> Result<(u64, u64), StoreError> {
        let doing = "compact it";
        let path = self.path.clone();
        let size = || {
            let file = fs::metadata(&path);
            file.map(|m| m.len())
                .map_err(|e| StoreError::io(&path, doing, &e))
        };
        let before = size()?;
        let fail = |e: redb::CompactionError| StoreError::redb(&path, doing, e.into());
        if let Some(db) = &mut self.db {
            // Each round moves what the one before made room for.
            while db.compact().map_err(fail)? {}
        }
        Ok((before, size()?))
    }
}
