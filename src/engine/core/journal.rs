//! Undo and redo over the journal of changes.

use super::{
    super::{
        EngineError,
        step::{Step, Stop},
    },
    Core,
};
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

    pub(crate) fn undo(&mut self, step: &mut Step<'_>) -> Result<Vec<Invariant>, Stop> {
        let last = self.state.journal.iter().rev().find(|e| !e.undone);
        let Some(group) = last.map(|e| e.group) else {
            return Err(EngineError::Invalid("there is nothing to undo".into()).into());
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
        let before = |entry: &JournalEntry| match &entry.before {
            Some(before) => before.clone(),
            None => Invariant {
                active: false,
                ..entry.after.clone()
            },
        };
        let targets: Vec<Invariant> = entries.iter().map(before).collect();
        let targets = self.next_revisions(targets, step)?;
        let mut changed = Vec::new();
        for (mut entry, target) in entries.into_iter().zip(targets) {
            changed.push(self.set_to(target, step));
            entry.undone = true;
            self.replace_entry(entry, step);
        }
        Ok(changed)
    }

    pub(crate) fn redo(&mut self, step: &mut Step<'_>) -> Result<Vec<Invariant>, Stop> {
        let first = self.state.journal.iter().find(|e| e.undone);
        let Some(group) = first.map(|e| e.group) else {
            return Err(EngineError::Invalid("there is nothing to redo".into()).into());
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
        let targets: Vec<Invariant> = entries.iter().map(|e| e.after.clone()).collect();
        let targets = self.next_revisions(targets, step)?;
        let mut changed = Vec::new();
        for (mut entry, target) in entries.into_iter().zip(targets) {
            changed.push(self.set_to(target, step));
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
            false => Err(EngineError::Invalid(format!(
                "invariant {} was changed since; see `invar history {}` and edit it",
                expected.id, expected.id
            ))),
        }
    }

    /// Some contents as the next revisions of their invariants, which stand in their files.
    fn next_revisions(
        &mut self,
        mut targets: Vec<Invariant>,
        step: &Step<'_>,
    ) -> Result<Vec<Invariant>, Stop> {
        let now = |id| self.state.invariants.get(&id).map(|k| k.invariant.clone());
        let known: Vec<Option<Invariant>> = targets.iter().map(|t| now(t.id)).collect();
        for (target, known) in targets.iter_mut().zip(&known) {
            target.revision = known.as_ref().map_or(0, |i| i.revision) + 1;
        }
        let changes: Vec<_> = known
            .iter()
            .map(Option::as_ref)
            .zip(targets.iter().map(Some))
            .collect();
        self.in_files_first(&changes, step)?;
        Ok(targets)
    }

    /// Gives an invariant the content of its next revision.
    fn set_to(&mut self, invariant: Invariant, step: &mut Step<'_>) -> Invariant {
        let id: InvariantId = invariant.id;
        let now = self.state.invariants.get(&id);
        let was_active = now.is_some_and(|k| k.invariant.active);
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
        invariant
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
