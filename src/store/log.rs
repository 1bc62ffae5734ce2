//! The event log as a hash chain: each entry carries the hash of the one before, and the head
//! is stored beside it.

use std::{fmt, path::Path, str::FromStr};

use redb::{ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    Store, StoreError,
    codec::{decode, encode},
    tables::{EVENTS, META},
};
use invar_model::{Event, GENESIS_HASH, hex};

/// A stored entry. The event is kept as text, so that its hash is over the very bytes.
#[derive(Serialize, Deserialize)]
pub(super) struct Entry {
    pub hash: String,
    pub body: String,
}

/// The end of a log: the number and the hash of its last entry. Whoever keeps it elsewhere can
/// tell later whether the log still goes back to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogHead {
    pub seq: u64,
    pub hash: String,
}

impl fmt::Display for LogHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for LogHead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let head = text.trim().split_once(':').and_then(|(seq, hash)| {
            let is_hash = hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
            let head = Self {
                seq: seq.parse().ok()?,
                hash: hash.to_ascii_lowercase(),
            };
            is_hash.then_some(head)
        });
        head.ok_or_else(|| {
            format!("{text:?} is no head of a log; it is a number, a colon and 64 hex digits, as `invar log verify --head` prints it")
        })
    }
}

/// The hash of an entry, which holds all before it.
pub(super) fn chain(before: &str, body: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(before.as_bytes());
    hash.update(body.as_bytes());
    hex(&hash.finalize())
}

impl Store {
    /// The number and the hash of the last entry.
    pub(super) fn head(&self) -> Result<(u64, String), StoreError> {
        let doing = "read the head of its log";
        let read = self.read(doing)?;
        let meta = read.open_table(META).map_err(self.fail(doing))?;
        match meta.get("head").map_err(self.fail(doing))? {
            Some(value) => {
                let head: LogHead = decode(value.value(), &self.path, "meta", "head")?;
                Ok((head.seq, head.hash))
            }
            None => Ok((0, GENESIS_HASH.to_owned())),
        }
    }

    /// As [`Store::head`], within a transaction.
    pub(super) fn head_in(&self, txn: &WriteTransaction) -> Result<(u64, String), StoreError> {
        let doing = "read the head of its log";
        let meta = txn.open_table(META).map_err(self.fail(doing))?;
        match meta.get("head").map_err(self.fail(doing))? {
            Some(value) => {
                let head: LogHead = decode(value.value(), &self.path, "meta", "head")?;
                Ok((head.seq, head.hash))
            }
            None => Ok((0, GENESIS_HASH.to_owned())),
        }
    }

    pub(super) fn append_events(
        &self,
        txn: &WriteTransaction,
        events: &[Event],
    ) -> Result<(), StoreError> {
        let doing = "append to its log";
        let (_, mut hash) = self.head_in(txn)?;
        let mut meta = txn.open_table(META).map_err(self.fail(doing))?;
        let mut table = txn.open_table(EVENTS).map_err(self.fail(doing))?;
        let mut last = 0;
        for event in events {
            let body =
                serde_json::to_string(event).map_err(|e| StoreError::Encode(e.to_string()))?;
            hash = chain(&hash, &body);
            let value = encode(&Entry {
                hash: hash.clone(),
                body,
            })?;
            table
                .insert(event.seq, value.as_slice())
                .map_err(self.fail(doing))?;
            last = event.seq;
        }
        let value = encode(&LogHead { seq: last, hash })?;
        meta.insert("head", value.as_slice())
            .map_err(self.fail(doing))?;
        Ok(())
    }

    /// Up to `limit` events with a number greater than `since`, in order.
    ///
    /// # Errors
    /// An entry that cannot be read.
    pub fn events(&self, since: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let doing = "read its log";
        let read = self.read(doing)?;
        let table = read.open_table(EVENTS).map_err(self.fail(doing))?;
        let mut out = Vec::new();
        for row in table
            .range(since.saturating_add(1)..)
            .map_err(self.fail(doing))?
            .take(limit)
        {
            let (seq, value) = row.map_err(self.fail(doing))?;
            out.push(self.event(seq.value(), value.value())?);
        }
        Ok(out)
    }

    pub(super) fn event(&self, seq: u64, value: &[u8]) -> Result<Event, StoreError> {
        decode_event(&self.path, seq, value)
    }
}

/// The event of an entry.
pub(super) fn decode_event(path: &Path, seq: u64, value: &[u8]) -> Result<Event, StoreError> {
    let key = seq.to_string();
    let entry: Entry = decode(value, path, "events", &key)?;
    serde_json::from_str(&entry.body).map_err(|e| StoreError::Record {
        path: path.to_owned(),
        table: "events".into(),
        key,
        fault: e.to_string(),
    })
}
