//! How much of a line is followed. Every bound is checked before the work or the stack is spent,
//! and a line that reaches one is read as something that may change any path it names.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
    path::PathBuf,
};

use super::{
    Found, Mention, Reading, Surroundings, Target, Unresolved, notes::looks_like_path, walk::Walker,
};

/// How much is done for a line, in steps of roughly ten nanoseconds.
pub(super) const WORK: usize = 3_000_000;

/// What one command costs, those of loops and branches counted each time.
pub(super) const COMMAND: usize = 1_000;

/// How deeply commands stand in each other at most, wrappers counted.
pub(super) const MAX_LEVEL: usize = 120;

/// The longest value that is kept, in bytes, and the most words of one.
pub(super) const MAX_VALUE: usize = 65_536;
pub(super) const MAX_ITEMS: usize = 2_048;

pub(super) const TOO_MUCH: &str = "what it does, since there is too much in it to follow";
pub(super) const TOO_DEEP: &str = "what it does, since it is nested too deeply";

/// How many of a line's words are looked for on disk, when it is not followed to its end.
const MAX_LOOKED_FOR: usize = 500;

/// From how many folders the paths of such a line are seen.
const MAX_BASES: usize = 8;

impl Walker<'_> {
    /// Pays for some work; false when there is nothing left to pay with, and the line is given up.
    pub(super) fn charge(&mut self, steps: usize) -> bool {
        match self.work.checked_sub(steps) {
            Some(left) => self.work = left,
            None => {
                self.work = 0;
                self.give_up(TOO_MUCH);
            }
        }
        !self.spent
    }

    /// Follows nothing more of the line.
    pub(super) fn give_up(&mut self, why: &str) {
        if !std::mem::replace(&mut self.spent, true) {
            self.not_followed(why);
        }
    }

    /// A part of the line is not followed: it may change whatever the line names.
    pub(super) fn not_followed(&mut self, why: &str) {
        self.unresolved(why);
        if !std::mem::replace(&mut self.named_all, true) {
            let line = self.line.clone();
            name_all(&line, self.at, &self.span, &mut self.out);
        }
    }
}

/// The reading of a line that cannot be followed at all.
pub(super) fn unreadable(line: &str, at: Surroundings<'_>, why: &str) -> Reading {
    let mut out = Reading {
        opaque: true,
        ..Reading::default()
    };
    let bytes = 0..line.len();
    out.unresolved.push(Unresolved {
        bytes: bytes.clone(),
        why: why.to_owned(),
        hidden: false,
    });
    name_all(line, at, &bytes, &mut out);
    out
}

/// Notes everything in a line that could be a path, seen from each folder that it may go to.
fn name_all(line: &str, at: Surroundings<'_>, bytes: &Range<usize>, out: &mut Reading) {
    let apart = |c: char| c.is_whitespace() || "\"'`=<>|&;()[]{},:\\".contains(c);
    let words: Vec<&str> = line.split(apart).filter(|w| !w.is_empty()).collect();
    let mut bases = vec![at.cwd.to_owned()];
    for pair in words.windows(2) {
        let goes = matches!(pair[0], "cd" | "pushd" | "chdir" | "-C");
        let base = at.cwd.join(pair[1]);
        if goes && bases.len() < MAX_BASES && !bases.contains(&base) {
            bases.push(base);
        }
    }
    let unique: BTreeSet<&str> = words.into_iter().collect();
    let mut known: HashSet<PathBuf> = out.mentions.iter().map(|m| m.path.clone()).collect();
    let (mut looked_for, mut patterns) = (0, 0);
    for word in unique {
        for base in &bases {
            let path = base.join(word);
            if word.contains(['*', '?', '$']) {
                patterns += 1;
                if patterns <= MAX_LOOKED_FOR {
                    part(&path.to_string_lossy(), bytes, out);
                }
                continue;
            }
            let plain = !looks_like_path(word) && !word.starts_with('-');
            looked_for += usize::from(plain);
            let there = || at.disk.exists(&path) && !at.disk.is_dir(&path);
            if !plain || (looked_for <= MAX_LOOKED_FOR && there()) {
                if word.starts_with('-') || !known.insert(path.clone()) {
                    continue;
                }
                let bytes = bytes.clone();
                out.mentions.push(Mention { path, bytes });
            }
        }
    }
}

/// A path with signs in it that stand for anything.
fn part(path: &str, bytes: &Range<usize>, out: &mut Reading) {
    let texts: Vec<String> = path.split(['*', '?', '$']).map(str::to_owned).collect();
    let found = Found {
        target: Target::Partial {
            texts,
            delete: false,
        },
        bytes: bytes.clone(),
        how: "a line that is not followed to its end".to_owned(),
    };
    if !out.found.contains(&found) {
        out.found.push(found);
    }
}
