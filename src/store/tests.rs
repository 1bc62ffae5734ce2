use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use jiff::Timestamp;

use redb::ReadableTable;

use super::{codec::encode, *};
use invar_model::{Event, EventKind, Layer, Scope};

fn invariant(n: u64, revision: u32) -> Invariant {
    let id = InvariantId(ulid::Ulid::from_parts(n, 1));
    let text = format!("invariant {n}");
    let now = Timestamp::UNIX_EPOCH;
    Invariant {
        revision,
        ..Invariant::new(id, Scope::Global, Layer::Plain, &text, now)
    }
}

fn batch(first: u64, count: u64) -> Batch {
    let mut batch = Batch::default();
    for seq in first..first + count {
        let kind = EventKind::InvariantAdded {
            invariant: invariant(seq, 1),
            journal: None,
        };
        batch.events.push(Event {
            seq,
            at: Timestamp::UNIX_EPOCH,
            kind,
        });
        batch
            .rows
            .push(Row::Live(Record::Invariant(invariant(seq, 1))));
    }
    batch
}

fn fresh() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("data/invar.redb")).unwrap();
    (dir, store)
}

#[test]
fn what_was_committed_is_loaded_after_reopening() {
    let (dir, store) = fresh();
    store.commit(&batch(1, 3)).unwrap();
    drop(store);
    let store = Store::open(&dir.path().join("data/invar.redb")).unwrap();
    let loaded = store.load().unwrap();
    assert_eq!(
        loaded.invariants,
        [invariant(1, 1), invariant(2, 1), invariant(3, 1)]
    );
    assert_eq!(loaded.seq, 3);
    assert_eq!(store.events(1, 10).unwrap().len(), 2);
    assert_eq!(store.events(0, 1).unwrap()[0].seq, 1);
}

#[test]
fn every_revision_is_kept() {
    let (_dir, store) = fresh();
    for revision in 1..=3 {
        let rows = vec![Row::Live(Record::Invariant(invariant(1, revision)))];
        store
            .commit(&Batch {
                events: Vec::new(),
                rows,
            })
            .unwrap();
    }
    let history = store.history(invariant(1, 1).id).unwrap();
    assert_eq!(
        history.iter().map(|i| i.revision).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert_eq!(store.load().unwrap().invariants.len(), 1);
}

#[test]
fn file_and_folder_are_for_the_owner_alone() {
    let (dir, store) = fresh();
    let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(store.path()), 0o600);
    assert_eq!(mode(&dir.path().join("data")), 0o700);
}

#[test]
fn a_second_writer_is_refused_with_a_sentence() {
    let (_dir, store) = fresh();
    let error = Store::open(store.path()).err().unwrap();
    assert!(matches!(error, StoreError::Locked { .. }));
    assert!(
        error.to_string().contains("in use by another process"),
        "{error}"
    );
}

#[test]
fn a_newer_schema_is_refused() {
    let (_dir, store) = fresh();
    let path = store.path().to_owned();
    let txn = store.write("change it").unwrap();
    txn.open_table(META)
        .unwrap()
        .insert("schema", encode(&9u32).unwrap().as_slice())
        .unwrap();
    txn.commit().unwrap();
    drop(store);
    let error = Store::open(&path).err().unwrap().to_string();
    assert!(
        error.contains("schema 9") && error.contains("newer invar"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_no_store_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("invar.redb");
    fs::write(&path, "hello, I am a text file and no store at all").unwrap();
    let error = Store::open(&path).err().unwrap();
    assert!(!matches!(error, StoreError::Locked { .. }), "{error}");
    assert_eq!(
        fs::read_to_string(&path).unwrap().len(),
        43,
        "it is left as it was"
    );
}

#[test]
fn an_unreadable_record_is_named_and_not_skipped() {
    let (_dir, store) = fresh();
    store.commit(&batch(1, 2)).unwrap();
    let txn = store.write("change it").unwrap();
    let key = invariant(1, 1).id.to_bytes();
    txn.open_table(INVARIANTS)
        .unwrap()
        .insert(key.as_slice(), b"\x01{".as_slice())
        .unwrap();
    txn.commit().unwrap();
    let loaded = store.load().unwrap();
    assert_eq!(loaded.invariants, [invariant(2, 1)]);
    let error = loaded.unreadable[0].to_string();
    assert!(
        error.contains(&hex(&key)) && error.contains("`invariants`"),
        "{error}"
    );
}

/// Verifies a store in which an event says one row.
fn verified(store: &Store, kept: Option<&LogHead>) -> LogReport {
    let replay = |event: &Event| match &event.kind {
        EventKind::InvariantAdded { invariant, .. } => {
            vec![Row::Live(Record::Invariant(invariant.clone()))]
        }
        _ => Vec::new(),
    };
    store.view().unwrap().verify(replay, kept).unwrap()
}

#[test]
fn a_good_log_verifies() {
    let (_dir, store) = fresh();
    assert!(verified(&store, None).is_whole());
    store.commit(&batch(1, 3)).unwrap();
    let kept = store.view().unwrap().head().unwrap().unwrap();
    store.commit(&batch(4, 2)).unwrap();
    let report = verified(&store, Some(&kept));
    assert!(report.is_whole(), "{report:?}");
    assert_eq!((report.verified, report.rows), (5, 10));
    assert_eq!(report.unproven, [] as [String; 0]);
    let head = report.head.unwrap();
    assert_eq!(head.seq, 5);
    assert_eq!(head.to_string().parse(), Ok(head));
    assert!("5:abc".parse::<LogHead>().is_err());
}

#[test]
fn a_head_that_was_kept_tells_an_older_copy_and_another_history() {
    let (_dir, store) = fresh();
    store.commit(&batch(1, 3)).unwrap();
    let (_other_dir, other) = fresh();
    other.commit(&batch(1, 5)).unwrap();
    let kept = other.view().unwrap().head().unwrap().unwrap();
    let older = verified(&store, Some(&kept)).first_fault;
    assert_eq!(older, Some(LogFault::Older { last: 3, kept: 5 }));
    let elsewhere = LogHead {
        seq: 2,
        hash: kept.hash,
    };
    let report = verified(&store, Some(&elsewhere));
    assert_eq!(report.first_fault, Some(LogFault::OtherHistory { seq: 2 }));
}

#[test]
fn old_events_go_to_an_archive_that_is_proven_with_the_rest() {
    let (dir, store) = fresh();
    store.commit(&batch(1, 6)).unwrap();
    let kept = store.view().unwrap().head().unwrap().unwrap();
    let early = store.archive(2).unwrap();
    let late = store.archive(4).unwrap();
    assert_eq!((early.first, early.last), (1, 2));
    assert_eq!((late.first, late.last), (3, 4));
    let file = |a: &Archived| dir.path().join("data").join(&a.file);
    let mode = fs::metadata(file(&early)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let numbers: Vec<u64> = store
        .events(0, 100)
        .unwrap()
        .iter()
        .map(|e| e.seq)
        .collect();
    assert_eq!(numbers, [5, 6, 7, 8], "and what was archived is recorded");
    let report = verified(&store, Some(&kept));
    assert!(
        report.is_whole() && report.unproven.is_empty(),
        "{report:?}"
    );
    assert_eq!((report.verified, report.rows), (8, 12));
    // A changed archive is found.
    let good = fs::read_to_string(file(&late)).unwrap();
    fs::write(file(&late), good.replace("invariant 3", "invariant X")).unwrap();
    let fault = verified(&store, None).first_fault;
    assert!(
        matches!(fault, Some(LogFault::Edited { seq: 3 | 4 })),
        "{fault:?}"
    );
    let cut: String = good.lines().take(2).map(|l| format!("{l}\n")).collect();
    fs::write(file(&late), cut).unwrap();
    let fault = verified(&store, None).first_fault;
    assert_eq!(fault, Some(LogFault::Deleted { seq: 4 }));
    // Without it the chain goes on over the seam, and the rest is said not to be proven.
    fs::rename(file(&late), dir.path().join("elsewhere")).unwrap();
    let report = verified(&store, Some(&kept));
    assert!(report.is_whole(), "{report:?}");
    assert_eq!((report.verified, report.rows), (8, 0));
    assert!(report.unproven[0].contains(&late.file), "{report:?}");
    fs::write(file(&late), good).unwrap();
    assert_eq!(verified(&store, None).rows, 12);
}

#[test]
fn an_archive_that_cannot_be_recorded_takes_nothing_away() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("invar.redb");
    let faults = Faults::default();
    let mut store = Store::open_on(&path, &faults).unwrap();
    store.commit(&batch(1, 4)).unwrap();
    faults.refuse_writes_after(0);
    store.archive(2).unwrap_err();
    faults.mend();
    store.reopen().unwrap();
    assert_eq!(store.events(0, 10).unwrap().len(), 4);
    store.archive(2).unwrap();
    assert!(verified(&store, None).is_whole());
}

#[test]
fn a_store_is_measured_and_compacted() {
    let (_dir, mut store) = fresh();
    store.commit(&batch(1, 200)).unwrap();
    let size = store.view().unwrap().size().unwrap();
    assert_eq!((size.events, size.archivable), (200, 199));
    let rows = |name: &str| {
        let table = size.tables.iter().find(|t| t.table == name).unwrap();
        (table.rows, table.bytes > 0)
    };
    assert_eq!(rows("events"), (200, true));
    assert_eq!(rows("invariants"), (200, true));
    assert_eq!(rows("plans"), (0, false));
    store.archive(150).unwrap();
    let (before, after) = store.compact().unwrap();
    assert!(after < before, "{after} of {before}");
    assert!(verified(&store, None).is_whole());
}

#[test]
fn an_edit_a_deletion_and_a_cut_tail_are_told_apart() {
    type Change<'a> = &'a dyn Fn(&mut redb::Table<u64, &[u8]>);
    let tamper = |change: Change| {
        let (_dir, store) = fresh();
        store.commit(&batch(1, 5)).unwrap();
        let txn = store.write("change it").unwrap();
        change(&mut txn.open_table(EVENTS).unwrap());
        txn.commit().unwrap();
        verified(&store, None)
    };
    let edited = tamper(&|table| {
        let mut bytes = table.get(3).unwrap().unwrap().value().to_vec();
        let at = bytes.windows(11).position(|w| w == b"invariant 3").unwrap();
        bytes[at] = b'I';
        table.insert(3, bytes.as_slice()).unwrap();
    });
    assert_eq!(
        (edited.verified, edited.first_fault),
        (2, Some(LogFault::Edited { seq: 3 }))
    );
    let deleted = tamper(&|table| drop(table.remove(2).unwrap()));
    assert_eq!(
        (deleted.verified, deleted.first_fault),
        (1, Some(LogFault::Deleted { seq: 2 }))
    );
    let cut = tamper(&|table| drop(table.remove(5).unwrap()));
    assert_eq!(
        cut.first_fault,
        Some(LogFault::CutTail {
            last: 4,
            expected: 5
        })
    );
    let beyond = tamper(&|table| {
        let bytes = table.get(5).unwrap().unwrap().value().to_vec();
        table.insert(6, bytes.as_slice()).unwrap();
    });
    assert_eq!(beyond.first_fault, Some(LogFault::BeyondHead { seq: 6 }));
}
