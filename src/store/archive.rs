//! Archives: the oldest events of a log, moved to a file of their own. The chain goes on over the
//! seam: the store keeps the hash of the last entry that it gave away.
//!
//! An archive is text. Its first line says which entries it holds, each line after it is the body
//! of one, as it stood in the log.

use std::{
    collections::HashSet,
    fs,
    io::{self, BufRead, BufReader, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use redb::{ReadOnlyTable, ReadableTable};
use serde::{Deserialize, Serialize};

use super::{
    Store, StoreError, View,
    codec::{decode, encode},
    log::{Entry, decode_event},
    tables::{EVENTS, META, PLANS},
};
use invar_model::{Event, EventKind, PlanId};

/// What a store knows of entries that it gave away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    /// The name of the file; it is looked for beside the store.
    pub file: String,
    pub first: u64,
    pub last: u64,
    /// The hash of the last entry.
    pub hash: String,
}

/// The first line of an archive.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    invar_archive: u32,
    first: u64,
    last: u64,
}

/// The form of the file that this program writes and reads.
const FORM: u32 = 1;

/// An archive that is open.
pub(super) struct Archive(BufReader<fs::File>);

impl Archive {
    /// Opens an archive; nothing when there is no such file.
    ///
    /// # Errors
    /// What the disk reports; a file that is no archive, or a newer one.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(StoreError::io(path, "open the archive", &e)),
        };
        let mut lines = BufReader::new(file);
        let mut first = String::new();
        lines
            .read_line(&mut first)
            .map_err(|e| StoreError::io(path, "read the archive", &e))?;
        match serde_json::from_str::<Head>(&first) {
            Ok(head) if head.invar_archive == FORM => Ok(Some(Self(lines))),
            _ => Err(StoreError::Damaged {
                path: path.to_owned(),
                fault: "its first line is not that of an archive".into(),
            }),
        }
    }

    /// The bodies of its entries, in order.
    pub(super) fn bodies(self) -> impl Iterator<Item = io::Result<String>> {
        self.0.lines()
    }
}

impl View {
    /// The last event that may be archived: all up to it are older than `before`, and of plans
    /// that are over or of none. Nothing when not even the first may.
    ///
    /// # Errors
    /// An entry that cannot be read.
    pub fn archivable(&self, before: Timestamp) -> Result<Option<u64>, StoreError> {
        let doing = "read its log";
        let mut going_on: HashSet<PlanId> = HashSet::new();
        let plans = self.read.open_table(PLANS).map_err(self.fail(doing))?;
        for row in plans.iter().map_err(self.fail(doing))? {
            let (key, _) = row.map_err(self.fail(doing))?;
            let id = <[u8; 16]>::try_from(key.value()).map(ulid::Ulid::from_bytes);
            going_on.extend(id.map(PlanId));
        }
        let head = self.head()?.map_or(0, |head| head.seq);
        let table = self.read.open_table(EVENTS).map_err(self.fail(doing))?;
        let mut last = None;
        for row in table.iter().map_err(self.fail(doing))? {
            let (seq, value) = row.map_err(self.fail(doing))?;
            let event = decode_event(&self.path, seq.value(), value.value())?;
            let stays = event.kind.plan_id().is_some_and(|p| going_on.contains(&p));
            // The end of the log stays, so that it is seen where it goes on.
            if event.at >= before || stays || event.seq == head {
                break;
            }
            last = Some(event.seq);
        }
        Ok(last)
    }
}

impl Store {
    /// Moves all events up to `last` into a new archive beside the store, and records that.
    ///
    /// # Errors
    /// What the disk reports. The events are then still in the store; a file that was written
    /// already is replaced by the next try.
    pub fn archive(&self, last: u64) -> Result<Archived, StoreError> {
        let doing = "archive old events";
        let read = self.read(doing)?;
        let table = read.open_table(EVENTS).map_err(self.fail(doing))?;
        let first = table.first().map_err(self.fail(doing))?;
        let first = first.map_or(0, |(seq, _)| seq.value());
        let mut file = self.path.file_name().unwrap_or_default().to_owned();
        file.push(format!(".archive-{first}-{last}"));
        let path = self.path.with_file_name(&file);
        let written = self.write_archive(&path, &table, first, last);
        let moved = written.and_then(|hash| {
            let archived = Archived {
                file: file.to_string_lossy().into_owned(),
                first,
                last,
                hash,
            };
            self.forget_archived(&archived)?;
            Ok(archived)
        });
        if moved.is_err() {
            let _ = fs::remove_file(part_of(&path));
        }
        moved
    }

    /// Writes the file whole or not at all, for the owner alone; the hash of its last entry.
    fn write_archive(
        &self,
        path: &Path,
        table: &ReadOnlyTable<u64, &'static [u8]>,
        first: u64,
        last: u64,
    ) -> Result<String, StoreError> {
        let doing = "read its log";
        let fail = |e: io::Error| StoreError::io(path, "write the archive", &e);
        let part = part_of(path);
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)
            .map_err(fail)?;
        let mut out = BufWriter::new(file);
        let head = Head {
            invar_archive: FORM,
            first,
            last,
        };
        let line = serde_json::to_string(&head).map_err(|e| StoreError::Encode(e.to_string()))?;
        writeln!(out, "{line}").map_err(fail)?;
        let mut hash = None;
        for row in table.range(..=last).map_err(self.fail(doing))? {
            let (seq, value) = row.map_err(self.fail(doing))?;
            let key = seq.value().to_string();
            let entry: Entry = decode(value.value(), &self.path, "events", &key)?;
            writeln!(out, "{}", entry.body).map_err(fail)?;
            hash = Some(entry.hash).filter(|_| seq.value() == last);
        }
        let file = out.into_inner().map_err(|e| fail(e.into_error()))?;
        file.sync_all().map_err(fail)?;
        fs::rename(&part, path).map_err(fail)?;
        hash.ok_or_else(|| StoreError::Io {
            path: self.path.clone(),
            doing: "archive old events".into(),
            fault: format!("there is no event {last}"),
        })
    }

    /// Takes archived events out of the log, and records where they are.
    fn forget_archived(&self, archived: &Archived) -> Result<(), StoreError> {
        let doing = "take archived events out of its log";
        let mut archives = self.view()?.archives()?;
        archives.push(archived.clone());
        let txn = self.write(doing)?;
        {
            let mut events = txn.open_table(EVENTS).map_err(self.fail(doing))?;
            events
                .retain_in(..=archived.last, |_, _| false)
                .map_err(self.fail(doing))?;
            let mut meta = txn.open_table(META).map_err(self.fail(doing))?;
            let value = encode(&archives)?;
            meta.insert("archives", value.as_slice())
                .map_err(self.fail(doing))?;
        }
        let event = Event {
            seq: self.head_in(&txn)?.0 + 1,
            at: Timestamp::now(),
            kind: EventKind::LogArchived {
                first: archived.first,
                last: archived.last,
                file: archived.file.clone(),
            },
        };
        self.append_events(&txn, &[event])?;
        txn.commit().map_err(self.fail(doing))
    }
}

/// Where an archive lies while it is written.
fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}
