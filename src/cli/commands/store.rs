//! log verify, and the store's own commands: stats, compact, archive.

use std::time::Duration;

use jiff::{Timestamp, tz::TimeZone};
use serde_json::json;

use super::{
    super::{
        Context,
        args::{ArchiveArgs, StoreCommand, VerifyArgs},
        exit,
        output::{Done, Failure},
    },
    Outcome, table,
};
use crate::{
    engine::{
        EngineError,
        requests::{LogVerify, MeasureStore},
    },
    store::{LogFault, LogReport, RowDifference, Store},
};

/// How long a read of the whole store may take.
const PATIENCE: Duration = Duration::from_secs(60 * 60);

pub(super) fn verify(context: &mut Context, args: VerifyArgs) -> Outcome {
    context.be_patient(PATIENCE);
    let against = args.against;
    let report = context.ask_saying("verifying the log", LogVerify { against })?;
    let text = match (&report.head, args.head && report.is_whole()) {
        (Some(head), true) => format!("{head}\n"),
        _ => told(&report),
    };
    let whole = report.is_whole();
    let mut done = Done::new(text, json!({"log": report}));
    if !whole {
        done.exit = exit::FAILED;
    }
    Ok(done)
}

fn told(report: &LogReport) -> String {
    let mut text = match &report.first_fault {
        None => format!("the log is whole: {} entries\n", report.verified),
        Some(fault) => format!(
            "the log is broken: {}; {} entries before it are good\n",
            fault_in_words(fault),
            report.verified
        ),
    };
    for reason in &report.unproven {
        text.push_str(&format!("not proven: {reason}\n"));
    }
    if report.first_fault.is_some() || !report.unproven.is_empty() {
        return text;
    }
    if report.rows_differ == 0 {
        text.push_str(&format!(
            "the store holds what follows from it: {} rows\n",
            report.rows
        ));
        return text;
    }
    text.push_str(&format!(
        "the store does not hold what follows from it: {} rows do not, {} do\n",
        report.rows_differ, report.rows
    ));
    for fault in &report.row_faults {
        let what = match fault.difference {
            RowDifference::Changed => "is not as the log says",
            RowDifference::Missing => "is missing",
            RowDifference::Added => "is in the store, and the log says nothing of it",
        };
        text.push_str(&format!("  {} {what} (table {})\n", fault.row, fault.table));
    }
    let more = report.rows_differ - report.row_faults.len() as u64;
    if more > 0 {
        text.push_str(&format!("  and {more} more\n"));
    }
    text
}

fn fault_in_words(fault: &LogFault) -> String {
    match fault {
        LogFault::Edited { seq } => format!("entry {seq} is not what was written"),
        LogFault::Deleted { seq } => format!("entry {seq} is gone"),
        LogFault::CutTail { last, expected } => {
            format!("the log ends at entry {last} and should end at {expected}")
        }
        LogFault::BeyondHead { seq } => format!("entry {seq} stands behind the end of the log"),
        LogFault::Older { last, kept } => format!(
            "it ends at entry {last}, before entry {kept} of the head that was kept: an older copy was put back"
        ),
        LogFault::OtherHistory { seq } => format!(
            "entry {seq} is not the one of the head that was kept: the log was written anew"
        ),
    }
}

pub(super) fn store(context: &mut Context, command: StoreCommand) -> Outcome {
    match command {
        StoreCommand::Stats => stats(context),
        StoreCommand::Compact => compact(context),
        StoreCommand::Archive(args) => archive(context, &args),
    }
}

fn stats(context: &mut Context) -> Outcome {
    context.be_patient(PATIENCE);
    let size = context.ask_saying("measuring the store", MeasureStore {})?;
    let mut rows = vec![
        ("store", context.locations.store.display().to_string()),
        ("schema", size.schema.to_string()),
        ("file", bytes(size.file_bytes)),
        ("events", size.events.to_string()),
        ("can be archived", size.archivable.to_string()),
    ];
    for archived in &size.archives {
        rows.push((
            "archive",
            format!("{}: {} to {}", archived.file, archived.first, archived.last),
        ));
    }
    let mut text: String = rows
        .iter()
        .map(|(name, value)| format!("{name:<16} {value}\n"))
        .collect();
    let tables: Vec<Vec<String>> = size
        .tables
        .iter()
        .filter(|t| t.rows > 0)
        .map(|t| vec![t.table.clone(), t.rows.to_string(), bytes(t.bytes)])
        .collect();
    text.push('\n');
    text.push_str(&table(&["TABLE", "ROWS", "SIZE"], &tables));
    Ok(Done::new(text, json!({"store": size})))
}

fn compact(context: &mut Context) -> Outcome {
    let mut store = alone(context)?;
    let (before, after) = store.compact().map_err(EngineError::from)?;
    let text = format!(
        "the store took {} and takes {}\n",
        bytes(before),
        bytes(after)
    );
    Ok(Done::new(
        text,
        json!({"before_bytes": before, "after_bytes": after}),
    ))
}

fn archive(context: &mut Context, args: &ArchiveArgs) -> Outcome {
    let before = start_of(args.before)?;
    let store = alone(context)?;
    let view = store.view().map_err(EngineError::from)?;
    let last = view.archivable(before).map_err(EngineError::from)?;
    drop(view);
    let Some(last) = last else {
        let text = format!(
            "there is nothing to archive: the oldest event is not before {}, or of a plan that goes on\n",
            args.before
        );
        return Ok(Done::new(text, json!({"archived": null})));
    };
    if args.dry_run {
        let text = format!("events up to {last} would be moved\n");
        return Ok(Done::new(text, json!({"archived": null, "last": last})));
    }
    let archived = store.archive(last).map_err(EngineError::from)?;
    let text = format!(
        "events {} to {} are in {} now; keep it beside the store, so that `invar log verify` proves all of it\n",
        archived.first, archived.last, archived.file
    );
    Ok(Done::new(text, json!({"archived": archived})))
}

/// The store itself, when a person asks and nobody else has it.
fn alone(context: &mut Context) -> Result<Store, Failure> {
    context.check_caller()?;
    // What was asked may have opened it in this process.
    context.release();
    let store = Store::open(&context.locations.store).map_err(EngineError::from)?;
    Ok(store)
}

/// The first moment of a day, where the person is.
fn start_of(day: jiff::civil::Date) -> Result<Timestamp, Failure> {
    let start = TimeZone::system().to_timestamp(day.at(0, 0, 0, 0));
    start.map_err(|e| {
        Failure::failed(format!("the day {day} cannot be told in this time zone")).caused_by(e)
    })
}

/// A size as a person reads it.
fn bytes(size: u64) -> String {
    let mut size = size as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB"] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = next;
    }
    match unit {
        "B" => format!("{size} {unit}"),
        _ => format!("{size:.1} {unit}"),
    }
}
