//! Adding, editing, removing and restoring invariants.

use std::path::Path;

use super::super::{
    EngineError,
    core::Core,
    requests::{Added, PlanRef},
    step::Step,
};
use crate::{
    model::{
        EventKind, Invariant, InvariantId, InvariantPatch, Layer, LetterCheck, ModelError,
        NewInvariant, Origin, Scope, clean_text,
    },
    rules::glob::{self, Glob, GlobError, GlobFault},
};

impl Core {
    pub(crate) fn add(
        &mut self,
        new: NewInvariant,
        cwd: &Path,
        plan: Option<PlanRef>,
        step: &mut Step<'_>,
    ) -> Result<Added, EngineError> {
        let scope = match plan {
            Some(plan) => Scope::Plan(self.find_plan(&plan)?.id),
            None => new.scope,
        };
        if let Scope::Plan(id) = &scope {
            self.find_plan(&PlanRef {
                text: id.to_string(),
                cwd: cwd.to_owned(),
            })?;
        }
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
        self.write_back(None, Some(&invariant))?;
        self.emit(
            step,
            EventKind::InvariantAdded {
                invariant: invariant.clone(),
            },
        );
        self.note_change(self.journal_group(), None, invariant.clone(), step);
        Ok(Added { invariant, notes })
    }

    pub(crate) fn edit(
        &mut self,
        id: &str,
        patch: InvariantPatch,
        step: &mut Step<'_>,
    ) -> Result<Invariant, EngineError> {
        let before = self.changeable(id)?;
        if let Some(expected) = patch.expected_revision
            && expected != before.revision
        {
            return Err(EngineError::invalid(format!(
                "invariant {} was changed meanwhile (revision {} instead of {expected})",
                before.id, before.revision
            ))
            .hint("open it again and repeat the edit"));
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
        if let Scope::Plan(id) = &after.scope
            && !self.state.plans.contains_key(id)
        {
            let error = EngineError::not_found("plan", &id.to_string());
            return Err(error.hint("see `invar plan list`"));
        }
        if after == before {
            return Ok(before);
        }
        after.revision += 1;
        if after.scope != before.scope {
            after.origin = self.origin_in(&after.scope);
        }
        self.write_edit(&before, &after)?;
        self.emit(
            step,
            EventKind::InvariantEdited {
                invariant: after.clone(),
            },
        );
        self.note_change(self.journal_group(), Some(before), after.clone(), step);
        self.corrected_by_change(after.id, "the invariant was edited", step);
        Ok(after)
    }

    pub(crate) fn remove(
        &mut self,
        id: &str,
        step: &mut Step<'_>,
    ) -> Result<Invariant, EngineError> {
        let before = self.changeable(id)?;
        let mut invariant = before.clone();
        invariant.active = false;
        invariant.revision += 1;
        self.write_back(Some(&before), None)?;
        self.emit(
            step,
            EventKind::InvariantRemoved {
                invariant: invariant.clone(),
            },
        );
        self.note_change(self.journal_group(), Some(before), invariant.clone(), step);
        self.corrected_by_change(invariant.id, "the invariant was removed", step);
        Ok(invariant)
    }

    pub(crate) fn restore(
        &mut self,
        id: &str,
        step: &mut Step<'_>,
    ) -> Result<Invariant, EngineError> {
        let mut invariant = self.find_invariant(id)?.invariant.clone();
        if invariant.active {
            return Err(EngineError::invalid(format!(
                "invariant {} is active, so there is nothing to restore",
                invariant.id
            )));
        }
        let before = invariant.clone();
        invariant.active = true;
        invariant.revision += 1;
        self.write_back(None, Some(&invariant))?;
        self.emit(
            step,
            EventKind::InvariantRestored {
                invariant: invariant.clone(),
            },
        );
        self.note_change(self.journal_group(), Some(before), invariant.clone(), step);
        Ok(invariant)
    }

    /// Writes an edit into the files of both scopes, where they have any.
    fn write_edit(&mut self, before: &Invariant, after: &Invariant) -> Result<(), EngineError> {
        if before.scope == after.scope {
            return self.write_back(Some(before), Some(after));
        }
        self.write_back(None, Some(after))?;
        self.write_back(Some(before), None)
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

    /// Checks layer and text against the scope and returns the cleaned text.
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
        match Glob::parse(&bound, Some(&self.home)) {
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
