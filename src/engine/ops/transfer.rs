//! Importing invariants: all of a file, or nothing of it.

use super::super::{EngineError, Reply, core::Core, protocol::ImportItem};
use crate::{
    model::{EventKind, Invariant, InvariantId, NewInvariant, Origin},
    store::Batch,
};

/// What becomes of one invariant of a file.
enum Step {
    Add(Invariant),
    Change(Invariant),
    Keep,
}

impl Core {
    pub(crate) fn import(
        &mut self,
        items: Vec<ImportItem>,
        out: &mut Batch,
    ) -> Result<Reply, EngineError> {
        // Every item is judged before the first is written.
        let mut steps = Vec::with_capacity(items.len());
        for (number, item) in items.into_iter().enumerate() {
            let step = match item {
                ImportItem::Whole(invariant) => self.import_whole(invariant),
                ImportItem::New(new) => self.import_new(new),
            };
            steps.push(step.map_err(|error| {
                EngineError::Invalid(format!(
                    "invariant {} of the file: {error}; nothing was imported",
                    number + 1
                ))
            })?);
        }
        let group = self.journal_group();
        let (mut added, mut changed, mut unchanged) = (0, 0, 0);
        for step in steps {
            match step {
                Step::Add(invariant) => {
                    added += 1;
                    self.note_change(group, None, invariant.clone(), out);
                    self.emit(out, EventKind::InvariantAdded { invariant });
                }
                Step::Change(invariant) => {
                    changed += 1;
                    let id = invariant.id;
                    let before = self.state.invariants.get(&id).map(|k| k.invariant.clone());
                    self.note_change(group, before, invariant.clone(), out);
                    self.emit(out, EventKind::InvariantEdited { invariant });
                    self.corrected_by_change(id, "a newer revision was imported", out);
                }
                Step::Keep => unchanged += 1,
            }
        }
        Ok(Reply::Imported {
            added,
            changed,
            unchanged,
        })
    }

    fn import_whole(&self, invariant: Invariant) -> Result<Step, EngineError> {
        if invariant.origin == Origin::BuiltIn {
            let text = "a built-in invariant comes with invar itself";
            return Err(EngineError::Invalid(text.into()));
        }
        self.checked(&invariant.scope, &invariant.layer, Some(&invariant.text))?;
        let Some(known) = self.state.invariants.get(&invariant.id) else {
            return Ok(Step::Add(invariant));
        };
        let known = &known.invariant;
        if *known == invariant {
            Ok(Step::Keep)
        } else if invariant.revision > known.revision {
            Ok(Step::Change(invariant))
        } else {
            Err(EngineError::Invalid(format!(
                "{} is here as revision {}, and the file has another form of revision {}",
                invariant.id, known.revision, invariant.revision
            )))
        }
    }

    fn import_new(&mut self, new: NewInvariant) -> Result<Step, EngineError> {
        let text = self.checked(&new.scope, &new.layer, new.text.as_deref())?;
        let id = InvariantId(self.new_id());
        Ok(Step::Add(Invariant {
            severity: new.severity,
            non_overridable: new.non_overridable,
            on_invariant_breach: new.on_invariant_breach,
            ..Invariant::new(id, new.scope, new.layer, &text, jiff::Timestamp::now())
        }))
    }
}
