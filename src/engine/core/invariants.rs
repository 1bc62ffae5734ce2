//! Adding, editing, removing and restoring invariants.

use super::{
    super::{
        EngineError,
        requests::{Added, PlanRef},
        step::{Step, Stop},
    },
    Core,
};
use crate::{
    model::{
        EventKind, Invariant, InvariantId, InvariantPatch, Layer, LetterCheck, ModelError,
        NewInvariant, Origin, Scope, clean_text,
    },
    rules::glob::{self, Glob, GlobError, GlobFault},
};

impl Core {
    /// Adds an invariant, to `plan` if one is named, else to its own scope; with notes on what a
    /// person probably did not mean.
    ///
    /// # Errors
    /// No such plan, a pattern or a text that is refused; or the project's file is to be written
    /// first.
    pub(crate) fn add(
        &mut self,
        new: NewInvariant,
        plan: Option<PlanRef>,
        step: &mut Step<'_>,
    ) -> Result<Added, Stop> {
        let scope = match plan {
            Some(plan) => Scope::Plan(self.find_plan(&plan, step.here())?.id),
            None => new.scope,
        };
        self.has_plan(&scope)?;
        let text = self.checked(&scope, &new.layer, new.text.as_deref())?;
        let mut notes = Vec::new();
        if new.non_overridable && scope != Scope::Global {
            notes.push(format!(
                "non_overridable is stored, and has no effect on the {} scope: only a global invariant can be non-overridable",
                scope.kind()
            ));
        }
        notes.extend(pattern_notes(&new.layer));
        let id = InvariantId(self.new_id(step.now));
        let invariant = Invariant {
            severity: new.severity,
            non_overridable: new.non_overridable,
            on_invariant_breach: new.on_invariant_breach,
            origin: self.origin_in(&scope),
            ..Invariant::new(id, scope, new.layer, &text, step.now)
        };
        self.in_files_first(&[(None, Some(&invariant))], step)?;
        let journal = self.noted(self.state.journal.next(), None, &invariant);
        self.emit(
            step,
            EventKind::InvariantAdded {
                invariant: invariant.clone(),
                journal,
            },
        );
        Ok(Added { invariant, notes })
    }

    /// Changes an invariant as `patch` says. A patch that changes nothing makes no revision.
    ///
    /// # Errors
    /// No such invariant, one that cannot be changed, one that was changed meanwhile, a pattern or
    /// a text that is refused; or the project's file is to be written first.
    pub(crate) fn edit(
        &mut self,
        id: &str,
        patch: InvariantPatch,
        step: &mut Step<'_>,
    ) -> Result<Invariant, Stop> {
        let before = self.changeable(id)?;
        if let Some(expected) = patch.expected_revision
            && expected != before.revision
        {
            return Err(EngineError::invalid(format!(
                "invariant {} was changed meanwhile (revision {} instead of {expected})",
                before.id, before.revision
            ))
            .hint("open it again and repeat the edit")
            .into());
        }
        let mut after = before.clone();
        let generated = before
            .layer
            .letter()
            .is_some_and(|c| c.sentence() == before.text);
        after.scope = patch.scope.unwrap_or(after.scope);
        after.severity = patch.severity.unwrap_or(after.severity);
        after.non_overridable = patch.non_overridable.unwrap_or(after.non_overridable);
        after.layer = patch.layer.unwrap_or(after.layer);
        // A text that was written from the check follows the check.
        let text = patch
            .text
            .or_else(|| (!generated).then(|| before.text.clone()));
        after.text = self.checked(&after.scope, &after.layer, text.as_deref())?;
        self.has_plan(&after.scope)?;
        if after == before {
            return Ok(before);
        }
        after.revision += 1;
        if after.scope != before.scope {
            after.origin = self.origin_in(&after.scope);
        }
        match before.scope == after.scope {
            true => self.in_files_first(&[(Some(&before), Some(&after))], step)?,
            // It may move from one file to another. It is written into the new one first: should
            // the second write fail, it stands in both, and not in neither.
            false => self.in_files_first(&[(None, Some(&after)), (Some(&before), None)], step)?,
        }
        let journal = self.noted(self.state.journal.next(), Some(&before), &after);
        self.emit(
            step,
            EventKind::InvariantEdited {
                invariant: after.clone(),
                journal,
            },
        );
        self.corrected_by_change(after.id, "the invariant was edited", step);
        Ok(after)
    }

    /// Removes an invariant, softly: its history stays.
    ///
    /// # Errors
    /// No such invariant, or one that cannot be removed; or the project's file is to be written
    /// first.
    pub(crate) fn remove(&mut self, id: &str, step: &mut Step<'_>) -> Result<Invariant, Stop> {
        let before = self.changeable(id)?;
        let mut invariant = before.clone();
        invariant.active = false;
        invariant.revision += 1;
        self.in_files_first(&[(Some(&before), None)], step)?;
        let journal = self.noted(self.state.journal.next(), Some(&before), &invariant);
        self.emit(
            step,
            EventKind::InvariantRemoved {
                invariant: invariant.clone(),
                journal,
            },
        );
        self.corrected_by_change(invariant.id, "the invariant was removed", step);
        Ok(invariant)
    }

    /// Brings a removed invariant back as it was.
    ///
    /// # Errors
    /// No such invariant, or one that is there; or the project's file is to be written first.
    pub(crate) fn restore(&mut self, id: &str, step: &mut Step<'_>) -> Result<Invariant, Stop> {
        let mut invariant = self.find_invariant(id)?.invariant.clone();
        if invariant.active {
            return Err(EngineError::invalid(format!(
                "invariant {} is active, so there is nothing to restore",
                invariant.id
            ))
            .into());
        }
        let before = invariant.clone();
        invariant.active = true;
        invariant.revision += 1;
        self.in_files_first(&[(None, Some(&invariant))], step)?;
        let journal = self.noted(self.state.journal.next(), Some(&before), &invariant);
        self.emit(
            step,
            EventKind::InvariantRestored {
                invariant: invariant.clone(),
                journal,
            },
        );
        Ok(invariant)
    }

    /// Refuses a scope of a plan that is not at hand.
    fn has_plan(&self, scope: &Scope) -> Result<(), EngineError> {
        match scope {
            Scope::Plan(id) if !self.state.plans.contains_key(id) => {
                let error = EngineError::not_found("plan", &id.to_string());
                Err(error.hint("see `invar plan list`"))
            }
            _ => Ok(()),
        }
    }

    /// The invariant of that id, when a person may change it.
    fn changeable(&self, id: &str) -> Result<Invariant, EngineError> {
        let invariant = self.find_invariant(id)?.invariant.clone();
        if invariant.origin == Origin::BuiltIn {
            return Err(EngineError::invalid(format!(
                "invariant {} is built in: it keeps agents away from what guards them, and cannot be changed",
                invariant.id
            )));
        }
        if !invariant.active {
            let error = EngineError::not_found("active invariant", id);
            return Err(error.hint(format!(
                "it was removed; bring it back with `invar restore {}`",
                invariant.id
            )));
        }
        Ok(invariant)
    }

    /// Checks the layer and the text of an invariant in `scope`, and returns the cleaned text; the
    /// check's own sentence where none is given.
    ///
    /// # Errors
    /// A pattern that does not compile, a parameter that nothing binds, or a text that is refused.
    pub(crate) fn checked(
        &self,
        scope: &Scope,
        layer: &Layer,
        text: Option<&str>,
    ) -> Result<String, EngineError> {
        let patterns = match layer {
            Layer::Letter(LetterCheck::NoEditsOutside(list)) if list.is_empty() => {
                return Err(ModelError::NoPatterns.into());
            }
            Layer::Letter(check) => check.patterns(),
            Layer::Assent { when } => when.as_slice(),
            Layer::Plain | Layer::Judgment { .. } => &[],
        };
        for pattern in patterns {
            self.check_pattern(scope, pattern)?;
        }
        let text = text.map(str::trim).filter(|t| !t.is_empty());
        let text = match (text, layer) {
            (Some(text), _) => clean_text(text),
            (None, Layer::Letter(check)) => clean_text(&check.sentence()),
            (None, _) => clean_text(""),
        };
        Ok(text.map_err(ModelError::from)?)
    }

    /// Compiles a pattern; parameters are for the invariants of an action, whose plan binds them.
    fn check_pattern(&self, scope: &Scope, pattern: &str) -> Result<(), EngineError> {
        let parameters = glob::parameters(pattern);
        let bound = match scope {
            Scope::Action(_) => {
                // Any value will do to check the rest of the pattern.
                let values = parameters
                    .iter()
                    .map(|(n, _)| (n.clone(), "x".into()))
                    .collect();
                glob::bind(pattern, &values)?
            }
            Scope::Plan(id) => match self.state.plans.get(id) {
                Some(plan) => glob::bind(pattern, &plan.params)?,
                None => pattern.to_owned(),
            },
            _ => pattern.to_owned(),
        };
        match Glob::parse(&bound, Some(self.sets.home())) {
            Ok(_) => Ok(()),
            Err(GlobError {
                fault: GlobFault::UnboundParameter(name),
                column,
                ..
            }) => Err(EngineError::invalid(format!(
                "pattern {pattern:?}, column {column}: the parameter {{{name}}} is bound by `plan use`, so only an invariant of an action can have it"
            ))
            .hint(format!(
                "use --action NAME, or write \\{{{name}}} for a folder of that name"
            ))),
            Err(error) => Err(error.into()),
        }
    }
}

/// What a person probably did not mean.
fn pattern_notes(layer: &Layer) -> Vec<String> {
    let Some(LetterCheck::NoEditsOutside(patterns)) = layer.letter() else {
        return Vec::new();
    };
    patterns
        .iter()
        .filter(|p| !p.contains(['*', '?', '[', '{', '.']) && !p.ends_with('/'))
        .map(|p| format!("the pattern {p} allows that one path only; write {p}/** for all in it"))
        .collect()
}
