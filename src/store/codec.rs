//! Values: a version byte, then JSON, so that a record can be read by eye and grow new fields.

use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};

use super::StoreError;

const VERSION: u8 = 1;

/// Encodes a value.
pub(super) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, StoreError> {
    let mut out = vec![VERSION];
    serde_json::to_writer(&mut out, value).map_err(|e| StoreError::Encode(e.to_string()))?;
    Ok(out)
}

/// Decodes a value; `table` and `key` name the record in the error.
pub(super) fn decode<T: DeserializeOwned>(
    bytes: &[u8],
    path: &Path,
    table: &str,
    key: &str,
) -> Result<T, StoreError> {
    let fail = |fault: String| StoreError::Record {
        path: path.to_owned(),
        table: table.to_owned(),
        key: key.to_owned(),
        fault,
    };
    match bytes.split_first() {
        Some((&VERSION, json)) => serde_json::from_slice(json).map_err(|e| fail(e.to_string())),
        Some((other, _)) => Err(fail(format!("it has the unknown version {other}"))),
        None => Err(fail("it is empty".into())),
    }
}
