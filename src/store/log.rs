//! The event log as a hash chain: each entry carries the hash of the one before, and the head
//! is stored beside it.

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
struct Entry {
    hash: String,
    body: String,
}

#[derive(Serialize, Deserialize)]
struct Head {
    seq: u64,
    hash: String,
}

/// Where a log is broken, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum LogFault {
    /// The content of an entry is not what was written.
    Edited { seq: u64 },
    /// An entry between others is gone.
    Deleted { seq: u64 },
    /// The last entries are gone.
    CutTail { last: u64, expected: u64 },
    /// There are entries after the one that the head names.
    BeyondHead { seq: u64 },
}

/// The outcome of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogReport {
    /// Entries that were read and found good before the first fault.
    pub verified: u64,
    /// The first fault, if any.
    #[serde(default)]
    pub first_fault: Option<LogFault>,
}

fn chain(before: &str, body: &str) -> String {
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
                let head: Head = decode(value.value(), &self.path, "meta", "head")?;
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
                let head: Head = decode(value.value(), &self.path, "meta", "head")?;
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
        let value = encode(&Head { seq: last, hash })?;
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
        let key = seq.to_string();
        let entry: Entry = decode(value, &self.path, "events", &key)?;
        serde_json::from_str(&entry.body).map_err(|e| StoreError::Record {
            path: self.path.clone(),
            table: "events".into(),
            key,
            fault: e.to_string(),
        })
    }

    /// Walks the whole chain and names the first entry that is not as it was written.
    ///
    /// # Errors
    /// What the disk reports. A broken chain is no error but part of the report.
    pub fn verify_log(&self) -> Result<LogReport, StoreError> {
        let doing = "read its log";
        let (head_seq, head_hash) = self.head()?;
        let read = self.read(doing)?;
        let table = read.open_table(EVENTS).map_err(self.fail(doing))?;
        let mut hash = GENESIS_HASH.to_owned();
        let mut verified = 0;
        let report = |verified, fault| {
            Ok(LogReport {
                verified,
                first_fault: fault,
            })
        };
        for row in table.iter().map_err(self.fail(doing))? {
            let (seq, value) = row.map_err(self.fail(doing))?;
            let seq = seq.value();
            if seq > head_seq {
                return report(verified, Some(LogFault::BeyondHead { seq }));
            }
            if seq != verified + 1 {
                return report(verified, Some(LogFault::Deleted { seq: verified + 1 }));
            }
            let edited = LogFault::Edited { seq };
            let key = seq.to_string();
            let Ok(entry) = decode::<Entry>(value.value(), &self.path, "events", &key) else {
                return report(verified, Some(edited));
            };
            hash = chain(&hash, &entry.body);
            let says_its_number =
                serde_json::from_str::<Event>(&entry.body).is_ok_and(|e| e.seq == seq);
            if entry.hash != hash || !says_its_number {
                return report(verified, Some(edited));
            }
            verified = seq;
        }
        if verified < head_seq {
            let cut = LogFault::CutTail {
                last: verified,
                expected: head_seq,
            };
            return report(verified, Some(cut));
        }
        if hash != head_hash {
            return report(
                verified.saturating_sub(1),
                Some(LogFault::Edited { seq: verified }),
            );
        }
        report(verified, None)
    }
}
