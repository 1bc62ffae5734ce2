//! What a shell command line would change, read out of it before it runs.
//!
//! The line is parsed with a bash grammar and walked as bash would run it: words are expanded
//! as far as they can be known, `cd` and assignments are followed, wrappers are opened. Where a
//! branch may or may not be taken, both are followed. What cannot be known stays visible as
//! [`Unresolved`], never as "nothing".

mod args;
mod bounds;
mod commands;
mod editors;
mod files;
mod find;
mod git;
mod interactive;
mod links;
mod mounts;
mod names;
mod nesting;
mod notes;
mod parse;
mod proof;
mod scripts;
mod sqlite;
mod stream;
#[cfg(test)]
mod tests;
mod traps;
mod usual;
mod walk;
mod words;
mod world;
mod wrappers;
mod writers;

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

/// What the reader may ask about the disk. Answers may be wrong the moment after; they only
/// sharpen the reading.
pub trait Disk: Sync {
    /// Whether a directory is there, links followed.
    fn is_dir(&self, path: &Path) -> bool;
    /// Whether anything is there.
    fn exists(&self, path: &Path) -> bool;
    /// The names in a directory; `None` when it cannot be listed or holds more than `limit`.
    fn names(&self, dir: &Path, limit: usize) -> Option<Vec<String>>;
}

/// Where a line would run.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The absolute directory that the shell stands in.
    pub cwd: &'a Path,
    /// The project's root.
    pub root: &'a Path,
    pub home: Option<&'a Path>,
    /// Where temporary files are made.
    pub scratch: &'a Path,
    pub disk: &'a dyn Disk,
}

/// A place that a command would change. Paths are absolute, and not yet cleaned.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// The file is written or made.
    Change(PathBuf),
    /// The file or folder goes, with all that lies in it.
    Delete(PathBuf),
    /// Anything in the folder may be written, made or removed.
    Below(PathBuf),
    /// A path of which only parts are known: text, and gaps between. The first text is empty
    /// when the path's beginning is not known.
    Partial { texts: Vec<String>, delete: bool },
}

/// One change that was read out of a line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Found {
    pub target: Target,
    /// The bytes of the line that say so.
    pub bytes: Range<usize>,
    /// The command or sign that does it, such as `sed -i` or `>`.
    pub how: String,
}

/// A part of the line that may change something, nobody can say what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    pub bytes: Range<usize>,
    /// Completes "it is not known …".
    pub why: String,
    /// It was hidden on purpose: text is decoded and then run.
    pub hidden: bool,
}

/// A path that the line names without saying that it changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mention {
    pub path: PathBuf,
    pub bytes: Range<usize>,
}

/// A part of the line that would change invar's own rules or end its guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleChange {
    pub bytes: Range<usize>,
    /// Completes "it would …".
    pub what: String,
}

/// All that was read out of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    pub found: Vec<Found>,
    pub unresolved: Vec<Unresolved>,
    pub mentions: Vec<Mention>,
    pub rule_changes: Vec<RuleChange>,
    /// It is not proven that the line leaves all files alone.
    pub opaque: bool,
    /// Parts that take their commands from later input, such as a shell without a script.
    pub waits: Vec<Range<usize>>,
    /// The work is recorded or handed over: `git commit`, `git push` and the like.
    pub applies: bool,
}

impl Reading {
    /// Whether every command of the line is proven to change no file. What is read out of a line
    /// can only speak against it.
    pub fn only_reads(&self) -> bool {
        !self.opaque && self.found.is_empty() && self.unresolved.is_empty()
    }
}

/// Whether `line`, read as `reading`, is one that people run to look around: nothing was read to
/// change, and its commands are known for looking. It may still write; only the phase of a plan
/// goes by this.
pub fn looks_around(line: &str, reading: &Reading) -> bool {
    let reads = reading.found.is_empty() && reading.unresolved.is_empty();
    reads && (reading.only_reads() || usual::looks(line))
}

/// Reads a program text in another language than bash: what it names and whether it writes. No
/// such text is ever proven to only read.
pub fn read_program(language: &str, text: &str, at: Surroundings<'_>) -> Reading {
    let walk = || walk::program(language, text, at);
    let read = catch_unwind(AssertUnwindSafe(walk))
        .unwrap_or_else(|_| bounds::unreadable(text, at, "what it does"));
    Reading {
        opaque: true,
        ..read
    }
}

/// Reads a command line. Never fails: what cannot be parsed is [`Unresolved`].
pub fn read(line: &str, at: Surroundings<'_>) -> Reading {
    let read = walked(line, at);
    Reading {
        opaque: !proof::only_reads(line, at),
        ..read
    }
}

fn walked(line: &str, at: Surroundings<'_>) -> Reading {
    // A stack of known size, and a fault of the grammar's crate must not end the engine.
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(parse::STACK)
            .spawn_scoped(scope, || {
                catch_unwind(AssertUnwindSafe(|| walk::walk(line, at))).ok()
            })
            .ok()
            .and_then(|thread| thread.join().ok()?)
    })
    .unwrap_or_else(|| bounds::unreadable(line, at, "what it does"))
}
