//! The effects of one call to a foreign tool while they are found: what its verb makes of each path,
//! each of them once, and no more than may be.

use super::{
    foreign::ForeignCall,
    keys::{Key, Side},
    verbs::Verb,
};
use crate::model::Effect;

/// As many changes may one call name: each is found on the disk and held against every invariant.
const MAX_EFFECTS: usize = 200;

/// As many places and commands are held against those that are known, doubles among them.
const MAX_FOUND: usize = 20_000;

pub(super) struct Gathered {
    verb: Verb,
    effects: Vec<Effect>,
    fault: Option<String>,
    /// How many of the effects do more than read.
    acting: usize,
    /// How many were found, doubles too.
    found: usize,
    /// The ends of moves and copies, brought together at the end.
    from: Vec<String>,
    to: Vec<String>,
}

impl Gathered {
    /// Nothing yet, of a tool with that verb.
    pub fn new(verb: Verb) -> Self {
        Self {
            verb,
            effects: Vec::new(),
            fault: None,
            acting: 0,
            found: 0,
            from: Vec::new(),
            to: Vec::new(),
        }
    }

    /// How many effects there are.
    pub fn len(&self) -> usize {
        self.effects.len()
    }

    /// Sets the language of the commands among the effects from number `from` on; `None` is a shell.
    pub fn speak(&mut self, from: usize, language: Option<&str>) {
        for effect in self.effects.iter_mut().skip(from) {
            if let Effect::Opaque { language: of, .. } = effect {
                *of = language.map(str::to_owned);
            }
        }
    }

    /// What the tool does at one place.
    pub fn end(&mut self, path: String, key: Key) {
        match (self.verb, key.side) {
            (Verb::Read, _) if !key.written => self.push(Effect::Read { path: path.into() }),
            (Verb::Delete, _) => self.push(Effect::Delete { path: path.into() }),
            (Verb::Move | Verb::Copy, Side::To) => self.later(path, Side::To),
            (Verb::Move, _) | (Verb::Copy, Side::From) => self.later(path, Side::From),
            (Verb::Read | Verb::Copy | Verb::Write, _) => {
                self.push(Effect::Change { path: path.into() });
            }
        }
    }

    /// Whether too much was found to go on.
    fn is_spent(&mut self, acts: bool) -> bool {
        self.found += 1;
        let spent = self.found > MAX_FOUND;
        if spent && acts {
            self.fault(format!(
                "it names more than {MAX_FOUND} places; do it in several calls"
            ));
        }
        spent
    }

    fn later(&mut self, path: String, side: Side) {
        if self.is_spent(true) {
            return;
        }
        let ends = match side {
            Side::To => &mut self.to,
            Side::From | Side::Neither => &mut self.from,
        };
        // One more than may be, so that the limit is noticed.
        if ends.len() <= MAX_EFFECTS && !ends.contains(&path) {
            ends.push(path);
        }
    }

    /// A command line, or a program text in a language.
    pub fn opaque(&mut self, text: &str, language: Option<&str>) {
        self.push(Effect::Opaque {
            command: text.to_owned(),
            language: language.map(str::to_owned),
        });
    }

    /// Something was not read; the first reason counts.
    pub fn fault(&mut self, why: String) {
        self.fault.get_or_insert(why);
    }

    /// One effect, once.
    pub fn push(&mut self, effect: Effect) {
        let acts = !matches!(effect, Effect::Read { .. });
        if self.is_spent(acts) {
            return;
        }
        if self.fault.is_some() || self.effects.contains(&effect) {
            return;
        }
        if acts && self.acting == MAX_EFFECTS {
            return self.fault(format!(
                "it names more than {MAX_EFFECTS} files and commands; do it in several calls"
            ));
        }
        // What is only read is of no weight, and not kept beyond measure.
        if acts || self.effects.len() < 2 * MAX_EFFECTS {
            self.acting += usize::from(acts);
            self.effects.push(effect);
        }
    }

    /// Brings the ends of moves and copies together.
    pub fn finish(mut self) -> ForeignCall {
        let (from, to) = (std::mem::take(&mut self.from), std::mem::take(&mut self.to));
        let moved = |from: &str, to: &str| Effect::Move {
            from: from.into(),
            to: to.into(),
        };
        match (self.verb, from.first(), to.first()) {
            (Verb::Move, Some(first), Some(last)) => {
                // Each of them at least once: what goes, and what something arrives at.
                for place in &to {
                    self.push(moved(first, place));
                }
                for path in from.iter().skip(1) {
                    self.push(moved(path, last));
                }
            }
            (Verb::Move, Some(_), None) => {
                for path in from {
                    self.push(Effect::Delete { path: path.into() });
                }
            }
            (_, _, to_some) => {
                for path in from {
                    self.push(match to_some {
                        Some(_) => Effect::Read { path: path.into() },
                        None => Effect::Change { path: path.into() },
                    });
                }
                for path in &to {
                    self.push(Effect::Change { path: path.into() });
                }
            }
        }
        ForeignCall {
            effects: self.effects,
            fault: self.fault,
        }
    }
}
