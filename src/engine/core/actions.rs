//! Action templates: named, so that they can be listed before they carry anything.

use std::collections::BTreeSet;

use super::{
    super::{
        EngineError,
        requests::ActionSummary,
        step::{Step, Stop},
    },
    Core,
};
use crate::model::{Action, ActionName, EventKind, Scope};

impl Core {
    /// Makes an action known, or known again; one that is known already stays as it is.
    ///
    /// # Errors
    /// None of its own.
    pub(crate) fn action_add(
        &mut self,
        name: ActionName,
        step: &mut Step<'_>,
    ) -> Result<ActionSummary, EngineError> {
        let known = self.state.actions.get(&name).is_some_and(|a| a.active);
        if !known {
            let action = Action {
                name: name.clone(),
                created_at: step.now,
                active: true,
            };
            self.emit(step, EventKind::ActionAdded { action });
        }
        Ok(self.action_summary(name))
    }

    /// Removes the template and, softly, the invariants it carries. Plans that were made from it
    /// keep their copies.
    ///
    /// # Errors
    /// No such action.
    pub(crate) fn action_remove(
        &mut self,
        name: ActionName,
        step: &mut Step<'_>,
    ) -> Result<ActionSummary, Stop> {
        if !self.action_names().contains(&name) {
            let error = EngineError::not_found("action", &name.to_string());
            return Err(error.hint("see `invar action list`").into());
        }
        let summary = self.action_summary(name.clone());
        let carried: Vec<_> = self
            .state
            .in_scope(&Scope::Action(name.clone()))
            .map(|k| k.invariant.id.to_string())
            .collect();
        for id in carried {
            // An action's invariants stand in no file, so that nothing is to be written first.
            self.remove(&id, step)?;
        }
        let action = Action {
            name,
            created_at: step.now,
            active: false,
        };
        self.emit(step, EventKind::ActionRemoved { action });
        Ok(summary)
    }

    /// All actions by name, with how many invariants they carry and plans were made from them.
    pub(crate) fn action_list(&self) -> Vec<ActionSummary> {
        self.action_names()
            .into_iter()
            .map(|name| self.action_summary(name))
            .collect()
    }

    /// Named by a record or by an invariant that is active.
    fn action_names(&self) -> BTreeSet<ActionName> {
        let mut names: BTreeSet<ActionName> = self
            .state
            .actions
            .values()
            .filter(|a| a.active)
            .map(|a| a.name.clone())
            .collect();
        for keyed in self
            .state
            .invariants
            .values()
            .filter(|k| k.invariant.active)
        {
            if let Scope::Action(name) = &keyed.invariant.scope {
                names.insert(name.clone());
            }
        }
        names
    }

    fn action_summary(&self, name: ActionName) -> ActionSummary {
        ActionSummary {
            invariants: self.state.in_scope(&Scope::Action(name.clone())).count(),
            plans: self.state.plans_of.get(&name).map_or(0, |n| *n as usize),
            name,
        }
    }
}
