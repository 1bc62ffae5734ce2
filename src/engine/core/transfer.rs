//! Importing invariants: all of a file, or nothing of it.

use jiff::Timestamp;

use super::{
    super::{
        EngineError,
        requests::{ImportItem, Imported},
        step::Step,
    },
    Core,
};
use crate::model::{EventKind, Invariant, InvariantId, NewInvariant, Origin};

/// What becomes of one invariant of a file.
enum Item {
    Add(Invariant),
    Change(Invariant),
    Keep,
}

impl Core {
    /// Adds and changes what is in a file: all of it, or nothing. An invariant with an id is taken
    /// over as it is, when it is newer than the one that is known.
    ///
    /// # Errors
    /// The first invariant of the file that is refused, by its number. Nothing was imported then.
    pub(crate) fn import(
        &mut self,
        items: Vec<ImportItem>,
        step: &mut Step<'_>,
    ) -> Result<Imported, EngineError> {
        // Every item is checked before the first is recorded.
        let mut steps = Vec::with_capacity(items.len());
        for (number, item) in items.into_iter().enumerate() {
            let checked = match item {
                ImportItem::Whole(invariant) => self.import_whole(invariant),
                ImportItem::New(new) => self.import_new(new, step.now),
            };
            steps.push(checked.map_err(|error| {
                EngineError::invalid(error.problem)
                    .within(format!("invariant {} of the file", number + 1))
                    .hint("nothing was imported")
            })?);
        }
        let group = self.state.journal.next();
        let (mut added, mut changed, mut unchanged) = (0, 0, 0);
        for item in steps {
            match item {
                Item::Add(invariant) => {
                    added += 1;
                    let journal = self.noted(group, None, &invariant);
                    self.emit(step, EventKind::InvariantAdded { invariant, journal });
                }
                Item::Change(invariant) => {
                    changed += 1;
                    let id = invariant.id;
                    let before = self.state.invariants.get(&id).map(|k| &k.invariant);
                    let journal = self.noted(group, before, &invariant);
                    self.emit(step, EventKind::InvariantEdited { invariant, journal });
                    self.corrected_by_change(id, "a newer revision was imported", step);
                }
                Item::Keep => unchanged += 1,
            }
        }
        Ok(Imported {
            added,
            changed,
            unchanged,
        })
    }

    fn import_whole(&self, invariant: Invariant) -> Result<Item, EngineError> {
        if invariant.origin == Origin::BuiltIn {
            let text = "a built-in invariant comes with invar itself";
            return Err(EngineError::invalid(text));
        }
        self.checked(&invariant.scope, &invariant.layer, Some(&invariant.text))?;
        let Some(known) = self.state.invariants.get(&invariant.id) else {
            return Ok(Item::Add(invariant));
        };
        let known = &known.invariant;
        if *known == invariant {
            Ok(Item::Keep)
        } else if invariant.revision > known.revision {
            Ok(Item::Change(invariant))
        } else {
            Err(EngineError::invalid(format!(
                "{} is here as revision {}, and the file has another form of revision {}",
                invariant.id, known.revision, invariant.revision
            )))
        }
    }

    fn import_new(&mut self, new: NewInvariant, now: Timestamp) -> Result<Item, EngineError> {
        let text = self.checked(&new.scope, &new.layer, new.text.as_deref())?;
        let id = InvariantId(self.new_id(now));
        Ok(Item::Add(Invariant {
            severity: new.severity,
            non_overridable: new.non_overridable,
            on_invariant_breach: new.on_invariant_breach,
            ..Invariant::new(id, new.scope, new.layer, &text, now)
        }))
    }
}
