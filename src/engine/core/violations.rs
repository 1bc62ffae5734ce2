//! Violations: reported from outside, corrected, waived.

use super::{
    super::{EngineError, requests::PlanRef, step::Step},
    Core,
};
use crate::model::{
    EventKind, FoundChange, Invariant, InvariantId, Origin, PlanId, ReconciliationResult, Severity,
    Violation, ViolationId, ViolationStatus, clean_text,
};

impl Core {
    /// An actor outside reports what it found: the invariants, by id or prefix, that do not hold in
    /// a plan, and what it says of them.
    ///
    /// # Errors
    /// No such plan or invariant, or one that is not in force there; a text that is refused.
    pub(crate) fn enforce(
        &mut self,
        plan: &PlanRef,
        violated: &[String],
        response: &str,
        step: &mut Step<'_>,
    ) -> Result<ReconciliationResult, EngineError> {
        let plan = self.find_plan(plan, step.here())?.clone();
        let details = match response.trim() {
            "" => "reported without details".to_owned(),
            text => {
                clean_text(text).map_err(|e| EngineError::invalid(&e).within("the response"))?
            }
        };
        let merged = self.merged(&plan);
        let effective = &merged.effective;
        let mut found = Vec::new();
        for id in violated {
            let keyed = self.find_invariant(id)?;
            let in_force = effective
                .iter()
                .find(|k| k.invariant.id == keyed.invariant.id);
            let Some(keyed) = in_force else {
                let (id, plan) = (keyed.invariant.id, plan.id);
                let message = format!("invariant {id} is not in force in plan {plan}");
                return Err(EngineError::invalid(message)
                    .hint(format!("see `invar list --effective --plan {plan}`")));
            };
            found.push(keyed.invariant.clone());
        }
        for invariant in found {
            // The same finding reported twice is one violation.
            let known = self
                .state
                .open_violations(plan.id)
                .any(|v| v.invariant_id == invariant.id && v.details == details);
            if known {
                continue;
            }
            self.violated(plan.id, &invariant, details.clone(), None, step);
        }
        let (result, _) = self.reconcile(&plan, None, step);
        Ok(result)
    }

    /// Opens a violation of an invariant in a plan.
    pub(super) fn violated(
        &mut self,
        plan_id: PlanId,
        invariant: &Invariant,
        details: String,
        found: Option<FoundChange>,
        step: &mut Step<'_>,
    ) -> Violation {
        let violation = Violation {
            id: ViolationId(self.new_id(step.now)),
            plan_id,
            invariant_id: invariant.id,
            violated_text: invariant.text.clone(),
            severity: invariant.severity,
            details,
            at: step.now,
            status: ViolationStatus::Open,
            found,
        };
        self.emit(
            step,
            EventKind::InvariantViolated {
                plan_id,
                violation: violation.clone(),
            },
        );
        violation
    }

    /// Ends an open violation, and looks again at what it blocked.
    pub(super) fn correct(&mut self, violation: Violation, by: &str, step: &mut Step<'_>) {
        let plan_id = violation.plan_id;
        self.corrected(violation, by, step);
        self.reconcile_after_correction(plan_id, step);
    }

    /// Ends an open violation; what it blocked is to be looked at again.
    pub(super) fn corrected(&mut self, mut violation: Violation, by: &str, step: &mut Step<'_>) {
        violation.status = ViolationStatus::Corrected {
            resolved_at: step.now,
            by: by.to_owned(),
        };
        let plan_id = violation.plan_id;
        self.emit(step, EventKind::CorrectionApplied { plan_id, violation });
    }

    /// A person resolves a violation: as corrected, or waived with a reason.
    ///
    /// # Errors
    /// No such violation, one that is resolved, a waiver of a non-overridable invariant or without
    /// a reason.
    pub(crate) fn resolve_violation(
        &mut self,
        id: &str,
        waive: Option<String>,
        step: &mut Step<'_>,
    ) -> Result<Violation, EngineError> {
        let id = self.find_violation(id)?;
        let mut violation = self.state.violations[&id].clone();
        if !violation.is_open() {
            return Err(EngineError::invalid(format!(
                "violation {id} is resolved already"
            )));
        }
        let resolved_at = step.now;
        violation.status = match waive {
            None => ViolationStatus::Corrected {
                resolved_at,
                by: "a person".into(),
            },
            Some(reason) => {
                let locked = self
                    .state
                    .invariants
                    .get(&violation.invariant_id)
                    .is_some_and(|k| {
                        k.invariant.is_locked() || k.invariant.origin == Origin::BuiltIn
                    });
                if locked {
                    return Err(EngineError::invalid(format!(
                        "violation {id} is of a non-overridable invariant, which nobody may waive"
                    ))
                    .hint(format!(
                        "correct what violates it, then run `invar resolve {id}`"
                    )));
                }
                let reason = clean_text(&reason)
                    .map_err(|e| EngineError::invalid(&e).within("a waiver needs a reason"))?;
                ViolationStatus::Waived {
                    resolved_at,
                    reason,
                }
            }
        };
        let plan_id = violation.plan_id;
        self.emit(
            step,
            EventKind::CorrectionApplied {
                plan_id,
                violation: violation.clone(),
            },
        );
        self.reconcile_after_correction(plan_id, step);
        Ok(violation)
    }

    /// A changed or removed invariant no longer stands violated, and blocked plans are looked
    /// at again.
    pub(crate) fn corrected_by_change(&mut self, id: InvariantId, by: &str, step: &mut Step<'_>) {
        let open: Vec<Violation> = self
            .state
            .violations
            .values()
            .filter(|v| v.invariant_id == id && v.is_open())
            .cloned()
            .collect();
        for mut violation in open {
            violation.status = ViolationStatus::Corrected {
                resolved_at: step.now,
                by: by.to_owned(),
            };
            let plan_id = violation.plan_id;
            self.emit(step, EventKind::CorrectionApplied { plan_id, violation });
        }
        let blocked: Vec<_> = self
            .state
            .plans
            .values()
            .filter(|p| p.violated_ids.contains(&id))
            .map(|p| p.id)
            .collect();
        for plan in blocked {
            self.reconcile_after_correction(plan, step);
        }
    }

    /// Whether something in the plan still needs a person or a correction.
    pub(crate) fn has_standing(&self, plan: crate::model::PlanId) -> bool {
        self.state
            .open_violations(plan)
            .any(|v| v.severity == Severity::Error)
            || self.state.strikes_of(plan).any(|s| s.count > 0)
    }
}
