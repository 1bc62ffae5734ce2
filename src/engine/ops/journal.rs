//! Undo and redo over the journal of changes.

use super::super::{EngineError, core::Core, step::Step};
use crate::{
    model::{EventKind, Invariant, InvariantId, JournalEntry},
    store::Row,
};

/// How many changes can be taken back.
const DEPTH: usize = 200;

impl Core {
    /// A group for the changes of one command.
    pub(crate) fn journal_group(&self) -> u64 {
        self.state.journal.last().map_or(1, |e| e.number + 1)
    }

    /// Notes a change. What was undone can then no longer be done again.
    pub(crate) fn note_change(
        &mut self,
        group: u64,
        before: Option<Invariant>,
        after: Invariant,
        step: &mut Step<'_>,
    ) {
        let number = self.journal_group();
        let journal = &mut self.state.journal;
        let undone = journal.iter().filter(|e| e.undone).map(|e| e.number);
        step.batch.rows.extend(undone.map(Row::JournalDropped));
        journal.retain(|e| !e.undone);
        if journal.len() == DEPTH {
            step.batch
                .rows
                .push(Row::JournalDropped(journal.remove(0).number));
        }
        let entry = JournalEntry {
            number,
            group,
            before,
            after,
            undone: false,
        };
        step.batch.rows.push(Row::Journal(entry.clone()));
        journal.push(entry);
    }

    pub(crate) fn undo(&mut self, step: &mut Step<'_>) -> Result<Vec<Invariant>, EngineError> {
        let last = self.state.journal.iter().rev().find(|e| !e.undone);
        let Some(group) = last.map(|e| e.group) else {
            return Err(EngineError::invalid("there is nothing to undo"));
        };
        let entries: Vec<JournalEntry> = self
            .state
            .journal
            .iter()
            .rev()
            .filter(|e| e.group == group)
            .cloned()
            .collect();
        for entry in &entries {
            self.expect_now(&entry.after)?;
        }
        let mut changed = Vec::new();
        for mut entry in entries {
            let target = match &entry.before {
                Some(before) => before.clone(),
                None => Invariant {
                    active: false,
                    ..entry.after.clone()
                },
            };
            changed.push(self.set_to(target, step)?);
            entry.undone = true;
            self.replace_entry(entry, step);
        }
        Ok(changed)
    }

    pub(crate) fn redo(&mut self, step: &mut Step<'_>) -> Result<Vec<Invariant>, EngineError> {
        let first = self.state.journal.iter().find(|e| e.undone);
        let Some(group) = first.map(|e| e.group) else {
            return Err(EngineError::invalid("there is nothing to redo"));
        };
        let entries: Vec<JournalEntry> = self
            .state
            .journal
            .iter()
            .filter(|e| e.group == group)
            .cloned()
            .collect();
        for entry in &entries {
            if let Some(before) = &entry.before {
                self.expect_now(before)?;
            }
        }
        let mut changed = Vec::new();
        for mut entry in entries {
            changed.push(self.set_to(entry.after.clone(), step)?);
            entry.undone = false;
            self.replace_entry(entry, step);
        }
        Ok(changed)
    }

    /// Refuses to overwrite what was changed since in a way that the journal does not know.
    fn expect_now(&self, expected: &Invariant) -> Result<(), EngineError> {
        let same = self.state.invariants.get(&expected.id).is_some_and(|k| {
            let now = Invariant {
                revision: expected.revision,
                ..k.invariant.clone()
            };
            now == *expected
        });
        match same {
            true => Ok(()),
            false => Err(EngineError::invalid(format!(
                "invariant {} was changed since",
                expected.id
            ))
            .hint(format!("see `invar history {}` and edit it", expected.id))),
        }
    }

    /// Gives an invariant the content of `target` as a new revision.
    fn set_to(&mut self, target: Invariant, step: &mut Step<'_>) -> Result<Invariant, EngineError> {
        let id: InvariantId = target.id;
        let now = self.state.invariants.get(&id).map(|k| k.invariant.clone());
        let revision = now.as_ref().map_or(0, |i| i.revision) + 1;
        let was_active = now.as_ref().is_some_and(|i| i.active);
        let invariant = Invariant { revision, ..target };
        self.write_back(now.as_ref(), Some(&invariant))?;
        let kind = match (was_active, invariant.active) {
            (true, false) => EventKind::InvariantRemoved {
                invariant: invariant.clone(),
            },
            (false, true) => EventKind::InvariantRestored {
                invariant: invariant.clone(),
            },
            _ => EventKind::InvariantEdited {
                invariant: invariant.clone(),
            },
        };
        self.emit(step, kind);
        self.corrected_by_change(id, "a change was undone or done again", step);
        Ok(invariant)
    }

    fn replace_entry(&mut self, entry: JournalEntry, step: &mut Step<'_>) {
        step.batch.rows.push(Row::Journal(entry.clone()));
        if let Some(old) = self
            .state
            .journal
            .iter_mut()
            .find(|e| e.number == entry.number)
        {
            *old = entry;
        }
    }
}
