//! Proof that the log is as it was written, and that the tables hold what follows from it: each
//! event is replayed, and each row is held against what the replay says.

use std::collections::{HashMap, VecDeque, hash_map::Entry as Slot};

use redb::{ReadableTable, TableHandle};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    NOTABLE_KEPT, Row, StoreError, View,
    archive::{Archive, Archived},
    codec::decode,
    log::{Entry, LogHead, chain},
    tables::{EVENTS, NOTABLE, ROW_TABLES, changes, number_key, words_for},
};
use invar_model::{Event, GENESIS_HASH};

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
    /// The log ends before a head that was kept elsewhere: an older copy was put back.
    Older { last: u64, kept: u64 },
    /// The entry of a head that was kept elsewhere is another one: the log was written anew.
    OtherHistory { seq: u64 },
}

/// How a row differs from what the log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowDifference {
    /// It is there, and the log says otherwise.
    Changed,
    /// The log says that it is there.
    Missing,
    /// The log says nothing of it.
    Added,
}

/// A row that does not follow from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowFault {
    pub table: String,
    /// The row in words, such as `the plan 01ARZ3NDEKTSV4RRFFQ69G5FAV`.
    pub row: String,
    pub difference: RowDifference,
}

/// The outcome of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogReport {
    /// Entries that were read and found good before the first fault.
    pub verified: u64,
    /// The first fault of the log, if any. The rows are then not looked at.
    #[serde(default)]
    pub first_fault: Option<LogFault>,
    /// The end of the log, to be kept elsewhere.
    #[serde(default)]
    pub head: Option<LogHead>,
    /// Rows that follow from the log.
    #[serde(default)]
    pub rows: u64,
    /// The first rows that do not follow from the log.
    #[serde(default)]
    pub row_faults: Vec<RowFault>,
    /// How many rows do not.
    #[serde(default)]
    pub rows_differ: u64,
    /// What could not be proven, and why.
    #[serde(default)]
    pub unproven: Vec<String>,
}

impl LogReport {
    /// Whether nothing is wrong with what could be proven.
    pub fn is_whole(&self) -> bool {
        self.first_fault.is_none() && self.rows_differ == 0
    }
}

const READING: &str = "read its log";

/// How many rows are named.
const NAMED: usize = 20;

/// What the rows have to be: a digest of the value for each table and key.
#[derive(Default)]
struct Expected {
    rows: HashMap<(usize, Vec<u8>), [u8; 32]>,
    /// Only the last ones are kept.
    notable: VecDeque<u64>,
}

impl Expected {
    fn take(&mut self, row: &Row) -> Result<(), StoreError> {
        if let Row::Notable(seq) = row {
            self.notable.push_back(*seq);
            if self.notable.len() > NOTABLE_KEPT {
                self.notable.pop_front();
            }
            return Ok(());
        }
        for change in changes(row)? {
            let place = (place_of(change.table.name()), change.key);
            match change.value {
                Some(value) => self.rows.insert(place, Sha256::digest(value).into()),
                None => self.rows.remove(&place),
            };
        }
        Ok(())
    }

    fn close(&mut self) {
        let place = place_of(NOTABLE.name());
        for seq in std::mem::take(&mut self.notable) {
            let digest = Sha256::digest([]).into();
            self.rows.insert((place, number_key(seq)), digest);
        }
    }
}

fn place_of(table: &str) -> usize {
    ROW_TABLES
        .iter()
        .position(|t| t.name() == table)
        .unwrap_or(ROW_TABLES.len())
}

/// Where the walk along the chain stands.
struct Walk<'a> {
    seq: u64,
    hash: String,
    kept: Option<&'a LogHead>,
    fault: Option<LogFault>,
}

impl Walk<'_> {
    /// Goes on to the next entry; false when it is not the next one.
    fn step(&mut self, seq: u64, hash: Option<&str>, body: &str) -> Option<Event> {
        let fault = |walk: &mut Self, fault| {
            walk.fault = Some(fault);
            None
        };
        if seq != self.seq + 1 {
            let seq = self.seq + 1;
            return fault(self, LogFault::Deleted { seq });
        }
        let now = chain(&self.hash, body);
        let event = serde_json::from_str::<Event>(body).ok();
        let event = event.filter(|event| event.seq == seq);
        let Some(event) = event.filter(|_| hash.is_none_or(|hash| hash == now)) else {
            return fault(self, LogFault::Edited { seq });
        };
        self.seq = seq;
        self.hash = now;
        match self.meets_kept() {
            true => Some(event),
            false => fault(self, LogFault::OtherHistory { seq }),
        }
    }

    fn meets_kept(&self) -> bool {
        self.kept
            .is_none_or(|kept| kept.seq != self.seq || kept.hash == self.hash)
    }
}

impl View {
    /// Walks the whole log, archives included, and then all tables. `replay` says which rows an
    /// event makes, from the first event on; `kept` is a head of the log that was kept elsewhere.
    ///
    /// # Errors
    /// What the disk reports. What does not hold is no error but part of the report.
    pub fn verify(
        &self,
        mut replay: impl FnMut(&Event) -> Vec<Row>,
        kept: Option<&LogHead>,
    ) -> Result<LogReport, StoreError> {
        let head = self.head()?;
        let end = head.clone().unwrap_or_else(|| LogHead {
            seq: 0,
            hash: GENESIS_HASH.to_owned(),
        });
        let mut walk = Walk {
            seq: 0,
            hash: GENESIS_HASH.to_owned(),
            kept,
            fault: None,
        };
        let mut expected = Expected::default();
        let mut unproven = Vec::new();
        let mut take = |event: &Event| -> Result<(), StoreError> {
            let rows = replay(event);
            rows.iter().try_for_each(|row| expected.take(row))
        };
        for archived in self.archives()? {
            if walk.fault.is_some() {
                break;
            }
            self.walk_archive(&archived, &mut walk, &mut take, &mut unproven)?;
        }
        if walk.fault.is_none() {
            self.walk_table(&end, &mut walk, &mut take)?;
        }
        let mut fault = walk.fault.take();
        if let (None, Some(kept)) = (&fault, kept)
            && kept.seq > end.seq
        {
            fault = Some(LogFault::Older {
                last: end.seq,
                kept: kept.seq,
            });
        }
        let mut report = LogReport {
            verified: walk.seq,
            first_fault: fault,
            head,
            rows: 0,
            row_faults: Vec::new(),
            rows_differ: 0,
            unproven,
        };
        if report.first_fault.is_none() && report.unproven.is_empty() {
            expected.close();
            self.hold_rows(expected, &mut report)?;
        }
        Ok(report)
    }

    fn walk_archive(
        &self,
        archived: &Archived,
        walk: &mut Walk<'_>,
        take: &mut dyn FnMut(&Event) -> Result<(), StoreError>,
        unproven: &mut Vec<String>,
    ) -> Result<(), StoreError> {
        let path = self.path.with_file_name(&archived.file);
        let Some(archive) = Archive::open(&path)? else {
            unproven.push(format!(
                "entries {} to {} lie in the archive {}, which is not beside the store; without it neither they nor the rows can be proven",
                archived.first, archived.last, archived.file
            ));
            // The chain goes on behind it.
            walk.seq = archived.last;
            walk.hash.clone_from(&archived.hash);
            if !walk.meets_kept() {
                walk.fault = Some(LogFault::OtherHistory { seq: walk.seq });
            }
            return Ok(());
        };
        for body in archive.bodies() {
            let body = body.map_err(|e| StoreError::io(&path, "read the archive", &e))?;
            match walk.step(walk.seq + 1, None, &body) {
                Some(event) => take(&event)?,
                None => return Ok(()),
            }
        }
        if walk.seq != archived.last {
            let seq = walk.seq + 1;
            walk.fault = Some(LogFault::Deleted { seq });
        } else if walk.hash != archived.hash {
            walk.fault = Some(LogFault::Edited { seq: walk.seq });
        }
        Ok(())
    }

    fn walk_table(
        &self,
        end: &LogHead,
        walk: &mut Walk<'_>,
        take: &mut dyn FnMut(&Event) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let table = self.read.open_table(EVENTS).map_err(self.fail(READING))?;
        for row in table.iter().map_err(self.fail(READING))? {
            let (seq, value) = row.map_err(self.fail(READING))?;
            let seq = seq.value();
            if seq > end.seq {
                walk.fault = Some(LogFault::BeyondHead { seq });
                return Ok(());
            }
            let key = seq.to_string();
            let entry = decode::<Entry>(value.value(), &self.path, "events", &key);
            let (hash, body) = match &entry {
                Ok(entry) => (entry.hash.as_str(), entry.body.as_str()),
                Err(_) => ("", ""),
            };
            match walk.step(seq, Some(hash), body) {
                Some(event) => take(&event)?,
                None => return Ok(()),
            }
        }
        if walk.seq < end.seq {
            walk.fault = Some(LogFault::CutTail {
                last: walk.seq,
                expected: end.seq,
            });
        } else if walk.hash != end.hash {
            walk.fault = Some(LogFault::Edited { seq: walk.seq });
            walk.seq = walk.seq.saturating_sub(1);
        }
        Ok(())
    }

    /// Holds each row against what the log says.
    fn hold_rows(&self, mut expected: Expected, report: &mut LogReport) -> Result<(), StoreError> {
        let mut differs = |table: &str, key: &[u8], difference| {
            report.rows_differ += 1;
            if report.row_faults.len() < NAMED {
                report.row_faults.push(RowFault {
                    table: table.to_owned(),
                    row: words_for(table, key),
                    difference,
                });
            }
        };
        for (place, table) in ROW_TABLES.iter().enumerate() {
            let open = self.read.open_table(*table).map_err(self.fail(READING))?;
            for row in open.iter().map_err(self.fail(READING))? {
                let (key, value) = row.map_err(self.fail(READING))?;
                let digest: [u8; 32] = Sha256::digest(value.value()).into();
                match expected.rows.entry((place, key.value().to_vec())) {
                    Slot::Vacant(_) => differs(table.name(), key.value(), RowDifference::Added),
                    Slot::Occupied(slot) => {
                        let same = slot.remove() == digest;
                        report.rows += u64::from(same);
                        if !same {
                            differs(table.name(), key.value(), RowDifference::Changed);
                        }
                    }
                }
            }
        }
        let mut missing: Vec<(usize, Vec<u8>)> = expected.rows.into_keys().collect();
        missing.sort();
        for (place, key) in missing {
            let table = ROW_TABLES.get(place).map_or("", |t| t.name());
            differs(table, &key, RowDifference::Missing);
        }
        Ok(())
    }
}
