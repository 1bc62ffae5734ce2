//! The log file of programs that stay: off the screen, where a person can find it.

use std::{fs, os::unix::fs::DirBuilderExt, path::Path};

use tracing_appender::{
    non_blocking::WorkerGuard,
    rolling::{RollingFileAppender, Rotation},
};
use tracing_subscriber::EnvFilter;

/// How many days are kept.
const DAYS: usize = 7;

/// Starts to log into `folder`, by `INVAR_LOG` or else from `info` on. Without a folder that can
/// be written nothing is logged; that is no reason not to guard. The guard writes the rest when
/// it is dropped.
pub fn start(folder: &Path) -> Option<WorkerGuard> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .ok()?;
    let file = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("invar")
        .filename_suffix("log")
        .max_log_files(DAYS)
        .build(folder)
        .ok()?;
    let (writer, guard) = tracing_appender::non_blocking(file);
    let filter = EnvFilter::try_from_env("INVAR_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(false)
        .try_init()
        .ok()?;
    Some(guard)
}
