//! Undo and redo over the journal of changes. Neither takes events back: both are changes of their
//! own, which give an invariant the content of an earlier revision as its next one.

use super::{
    super::{
        EngineError,
        requests::{Redo, Undo},
        step::{Step, Stop},
    },
    Core,
};
use crate::model::{
    EventKind, Invariant, InvariantId, JournalEntry, JournalStep, ProjectName, Scope,
};

impl Core {
    /// That the changes of one command, which share `group`, can be undone; each is the invariant
    /// before and after.
    pub(super) fn noted(
        &self,
        group: u64,
        before: Option<&Invariant>,
        after: &Invariant,
    ) -> Option<JournalStep> {
        let mut projects: Vec<ProjectName> = before
            .into_iter()
            .chain([after])
            .filter_map(|i| self.project_in(&i.scope))
            .collect();
        projects.sort();
        projects.dedup();
        Some(JournalStep::Noted { group, projects })
    }

    /// The project that invariants of a scope belong to.
    fn project_in(&self, scope: &Scope) -> Option<ProjectName> {
        match scope {
            Scope::Project(name) => Some(name.clone()),
            Scope::Plan(id) => self.state.plans.get(id).map(|p| p.project.clone()),
            Scope::Global | Scope::Action(_) => None,
        }
    }

    /// Takes the last change of a project back, with all that one command changed; the invariants
    /// as they are then.
    ///
    /// # Errors
    /// Nothing to undo, a last change that is not the one the person saw, an invariant that was
    /// changed since by something else; or the project's file is to be written first.
    pub(super) fn undo(
        &mut self,
        asked: &Undo,
        step: &mut Step<'_>,
    ) -> Result<Vec<Invariant>, Stop> {
        let project = self.project_asked(asked.project.as_ref(), step);
        let group = self.state.journal.to_undo(&project);
        let entries = owned(group, &project, "undo", asked.expect)?;
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
        let undone = |entry: &JournalEntry| JournalStep::Undone {
            number: entry.number,
        };
        let steps = entries.iter().map(undone).zip(targets);
        Ok(steps
            .map(|(s, target)| self.set_to(target, s, step))
            .collect())
    }

    /// Makes the change again that was undone last; the invariants as they are then.
    ///
    /// # Errors
    /// As [`Core::undo`].
    pub(super) fn redo(
        &mut self,
        asked: &Redo,
        step: &mut Step<'_>,
    ) -> Result<Vec<Invariant>, Stop> {
        let project = self.project_asked(asked.project.as_ref(), step);
        let group = self.state.journal.to_redo(&project);
        let entries = owned(group, &project, "redo", asked.expect)?;
        for entry in &entries {
            if let Some(before) = &entry.before {
                self.expect_now(before)?;
            }
        }
        let targets: Vec<Invariant> = entries.iter().map(|e| e.after.clone()).collect();
        let targets = self.next_revisions(targets, step)?;
        let redone = |entry: &JournalEntry| JournalStep::Redone {
            number: entry.number,
        };
        let steps = entries.iter().map(redone).zip(targets);
        Ok(steps
            .map(|(s, target)| self.set_to(target, s, step))
            .collect())
    }

    /// The project that was named, else that of the directory that the call comes from.
    fn project_asked(&self, named: Option<&ProjectName>, step: &Step<'_>) -> ProjectName {
        named
            .cloned()
            .unwrap_or_else(|| self.state.project_of(step.here()))
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
    fn set_to(
        &mut self,
        invariant: Invariant,
        journal: JournalStep,
        step: &mut Step<'_>,
    ) -> Invariant {
        let id: InvariantId = invariant.id;
        let now = self.state.invariants.get(&id);
        let was_active = now.is_some_and(|k| k.invariant.active);
        let (journal, after) = (Some(journal), invariant.clone());
        let kind = match (was_active, invariant.active) {
            (true, false) => EventKind::InvariantRemoved { invariant, journal },
            (false, true) => EventKind::InvariantRestored { invariant, journal },
            _ => EventKind::InvariantEdited { invariant, journal },
        };
        self.emit(step, kind);
        self.corrected_by_change(id, "a change was undone or done again", step);
        after
    }
}

/// The entries that are to be undone or done again, when there are any, they are those that the
/// person saw, and no other project is touched.
fn owned(
    group: Result<Vec<&JournalEntry>, &JournalEntry>,
    project: &ProjectName,
    word: &str,
    expect: Option<u64>,
) -> Result<Vec<JournalEntry>, EngineError> {
    let entries = group.map_err(|shared| {
        let id = shared.after.id;
        let others = shared.projects.iter().filter(|p| *p != project);
        let others: Vec<&str> = others.map(ProjectName::as_str).collect();
        EngineError::invalid(format!(
            "the change to {word} concerns {} as well: it moved invariant {id} between projects",
            others.join(" and ")
        ))
        .hint(format!("move it with `invar edit {id}`"))
    })?;
    let Some(first) = entries.first() else {
        return Err(EngineError::invalid(format!(
            "there is nothing to {word} in {project}"
        )));
    };
    if expect.is_some_and(|number| number != first.number) {
        let message = format!(
            "another change came meanwhile, so that the one to {word} is not the one that was shown"
        );
        return Err(EngineError::invalid(message).hint(format!("look at it, and {word} again")));
    }
    Ok(entries.into_iter().cloned().collect())
}
