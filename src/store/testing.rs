//! Ways to damage a store, for tests of what notices it.

use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, TableHandle};

use super::{
    StoreError,
    tables::{INVARIANTS, ROW_TABLES, RowTable},
};
use invar_model::InvariantId;

/// A row as it lies in the file: its table, key and value.
pub type RawRow = (&'static str, Vec<u8>, Vec<u8>);

fn open(path: &Path) -> Result<Database, StoreError> {
    Database::open(path).map_err(|e| StoreError::open(path, e))
}

fn failed<E: Into<redb::Error>>(path: &Path) -> impl Fn(E) -> StoreError + '_ {
    move |error| StoreError::redb(path, "damage it", error.into())
}

fn table(name: &str) -> Option<RowTable> {
    ROW_TABLES.into_iter().find(|t| t.name() == name)
}

/// All rows of all tables.
///
/// # Errors
/// What the disk reports; here and below.
pub fn rows(path: &Path) -> Result<Vec<RawRow>, StoreError> {
    let fail = failed::<redb::Error>(path);
    let db = open(path)?;
    let read = db.begin_read().map_err(|e| fail(e.into()))?;
    let mut out = Vec::new();
    for table in ROW_TABLES {
        let open = read.open_table(table).map_err(|e| fail(e.into()))?;
        let name = ROW_TABLES
            .iter()
            .map(redb::TableDefinition::name)
            .find(|name| *name == table.name())
            .unwrap_or_default();
        for row in open.iter().map_err(|e| fail(e.into()))? {
            let (key, value) = row.map_err(|e| fail(e.into()))?;
            out.push((name, key.value().to_vec(), value.value().to_vec()));
        }
    }
    Ok(out)
}

/// Writes a row, or takes it out when there is no value.
///
/// # Errors
/// As above.
pub fn set_row(
    path: &Path,
    name: &str,
    key: &[u8],
    value: Option<&[u8]>,
) -> Result<(), StoreError> {
    let fail = failed::<redb::Error>(path);
    let Some(table) = table(name) else {
        return Ok(());
    };
    let db = open(path)?;
    let txn = db.begin_write().map_err(|e| fail(e.into()))?;
    {
        let mut open = txn.open_table(table).map_err(|e| fail(e.into()))?;
        let done = match value {
            Some(value) => open.insert(key, value),
            None => open.remove(key),
        };
        done.map_err(|e| fail(e.into()))?;
    }
    txn.commit().map_err(|e| fail(e.into()))
}

/// Takes tables out of a file, as they are missing in one that was made before there were any.
///
/// # Errors
/// As above.
pub fn drop_tables(path: &Path, names: &[&str]) -> Result<(), StoreError> {
    let fail = failed::<redb::Error>(path);
    let db = open(path)?;
    let txn = db.begin_write().map_err(|e| fail(e.into()))?;
    for table in names.iter().filter_map(|name| table(name)) {
        txn.delete_table(table).map_err(|e| fail(e.into()))?;
    }
    txn.commit().map_err(|e| fail(e.into()))
}

/// Makes the record of an invariant unreadable.
///
/// # Errors
/// As above.
pub fn damage_invariant(path: &Path, id: InvariantId) -> Result<(), StoreError> {
    set_row(path, INVARIANTS.name(), &id.to_bytes(), Some(b"\x01{"))
}
