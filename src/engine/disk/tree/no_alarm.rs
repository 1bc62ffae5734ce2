//! Systems whose kernel does not report what happens in folders: each look is a whole one.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Never there.
#[derive(Debug)]
pub(super) enum Alarm {}

impl Alarm {
    /// None to be had.
    pub(super) fn over<'a>(_: &Path, _: impl Iterator<Item = &'a PathBuf>) -> Option<Self> {
        None
    }

    /// See `alarm.rs`.
    pub(super) fn drain(&mut self) -> Option<BTreeSet<PathBuf>> {
        match *self {}
    }

    /// See `alarm.rs`.
    pub(super) fn looked<'a>(
        &mut self,
        _: &Path,
        _: impl Iterator<Item = &'a PathBuf>,
        _: &'a [PathBuf],
    ) {
        match *self {}
    }

    /// See `alarm.rs`.
    pub(super) fn has_new_link(&self, _: &BTreeSet<PathBuf>) -> bool {
        match *self {}
    }

    /// See `alarm.rs`.
    pub(super) fn link(&mut self, _: &BTreeSet<PathBuf>, _: BTreeSet<PathBuf>) {
        match *self {}
    }
}
