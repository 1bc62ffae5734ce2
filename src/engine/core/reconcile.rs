//! Reconciliation, before each transition of a plan and after each correction: the invariants of
//! all scopes are collected and merged, it is evaluated what keeps them from holding, and the
//! outcome is recorded.
//!
//! A [`Survey`] finds all of it out and records nothing, so that a transition which takes too long
//! can be given up with nothing but its failure on record.

use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{super::step::Step, Core};
use crate::{
    model::{
        Decision, DecisionId, DecisionKind, EventKind, InForce, InvariantId, Layer, PhaseState,
        Plan, PlanChange, PlanId, ReconciliationDecision, ReconciliationResult, Severity,
        Transition, hex,
    },
    rules::merge::Merged,
};

/// What one reconciliation found, before it is recorded.
pub(super) struct Survey {
    merged: Arc<Merged>,
    /// Each invariant that does not hold once.
    violated_ids: Vec<InvariantId>,
    /// What blocks, in sentences; one invariant may have several.
    reasons: Vec<String>,
}

impl Core {
    /// Collects, merges and evaluates; records nothing.
    pub(super) fn survey(
        &mut self,
        plan: &Plan,
        transition: Option<Transition>,
        now: Timestamp,
    ) -> Survey {
        let merged = self.merged(plan);
        let (violated_ids, reasons) = self.evaluate(plan, transition, &merged, now);
        Survey {
            merged,
            violated_ids,
            reasons,
        }
    }

    /// Runs one reconciliation of `plan` and records it; `transition` is the one that it is for,
    /// `None` for a report from outside. The second part says in sentences what blocks; it is
    /// empty when the reconciliation succeeded.
    pub(crate) fn reconcile(
        &mut self,
        plan: &Plan,
        transition: Option<Transition>,
        step: &mut Step<'_>,
    ) -> (ReconciliationResult, Vec<String>) {
        let survey = self.survey(plan, transition, step.now);
        self.record(plan, transition, survey, step)
    }

    /// Records what a reconciliation found, as [`Core::reconcile`] gives it.
    pub(super) fn record(
        &mut self,
        plan: &Plan,
        transition: Option<Transition>,
        survey: Survey,
        step: &mut Step<'_>,
    ) -> (ReconciliationResult, Vec<String>) {
        let Survey {
            merged,
            violated_ids,
            reasons,
        } = survey;
        let success = reasons.is_empty();
        let decision_id = DecisionId(self.new_id(step.now));
        let now = step.now;
        let name = transition.map_or("reconciliation", Transition::verb);
        let mut decisions = vec![Decision {
            id: decision_id,
            plan_id: plan.id,
            parent: None,
            kind: DecisionKind::InvariantEnforced,
            at: now,
            summary: match success {
                true => format!("{name}: {} in force, all hold", merged.effective.len()),
                false => format!("{name}: blocked by {}", reasons.join("; ")),
            },
            invariant_ids: violated_ids.clone(),
            set: None,
        }];
        for shadow in &merged.shadowed {
            let (winner, loser) = (&shadow.winner.invariant, &shadow.loser.invariant);
            decisions.push(Decision {
                id: DecisionId(self.new_id(step.now)),
                plan_id: plan.id,
                parent: Some(decision_id),
                kind: DecisionKind::ConflictResolved,
                at: now,
                summary: format!(
                    "{}: {} kept, {} dropped",
                    shadow.rationale, winner.id, loser.id
                ),
                invariant_ids: vec![winner.id, loser.id],
                set: None,
            });
        }
        let in_force = InForce::of(merged.effective.iter().map(|k| &k.invariant));
        let set = digest(&in_force);
        // A set is written out once, however often it is met.
        let is_new = !self.state.sets.contains(&set) && !(step.knows_set)(&set);
        let in_force = is_new.then_some(in_force);
        self.emit(
            step,
            EventKind::InvariantReconciled {
                plan_id: plan.id,
                transition,
                success,
                effective: merged.effective.len(),
                conflicts_detected: merged.shadowed.len() + merged.unresolved.len(),
                conflicts_resolved: merged.shadowed.len(),
                decisions,
                violated_ids: violated_ids.clone(),
                set: Some(set),
                in_force,
            },
        );
        // Violations that block are emitted again at every transition that they block, and not
        // only when they were found: whoever follows the log sees at the gate why it is closed.
        let standing: Vec<_> = self
            .state
            .open_violations(plan.id)
            .filter(|v| transition.is_some() && v.blocks())
            .cloned()
            .collect();
        for violation in standing
            .into_iter()
            .filter(|v| violated_ids.contains(&v.invariant_id))
        {
            self.emit(
                step,
                EventKind::InvariantViolated {
                    plan_id: plan.id,
                    violation,
                },
            );
        }
        (
            result(plan, transition, &merged, violated_ids, success, now),
            reasons,
        )
    }

    /// What keeps the effective set from holding: open violations, checks that cannot be run,
    /// and layers that nobody answers for.
    fn evaluate(
        &mut self,
        plan: &Plan,
        transition: Option<Transition>,
        merged: &Merged,
        now: Timestamp,
    ) -> (Vec<InvariantId>, Vec<String>) {
        let mut ids: Vec<InvariantId> = Vec::new();
        let mut reasons = Vec::new();
        let mut add = |id, reason: String| {
            if !ids.contains(&id) {
                ids.push(id);
            }
            reasons.push(reason);
        };
        for violation in self.state.open_violations(plan.id).filter(|v| v.blocks()) {
            let id = violation.invariant_id;
            // One that was displaced or removed since does not have to hold any more.
            let in_force = merged.effective.iter().any(|k| k.invariant.id == id);
            if in_force {
                add(
                    id,
                    format!(
                        "\"{}\" is violated ({}); resolve violation {}",
                        violation.violated_text,
                        crate::model::visible(&violation.details),
                        violation.id
                    ),
                );
            }
        }
        for conflict in &merged.unresolved {
            let text = |id| {
                let found = merged.effective.iter().find(|k| k.invariant.id == id);
                found.map_or(String::new(), |k| k.invariant.text.clone())
            };
            let stronger: Vec<String> = conflict
                .stronger
                .iter()
                .map(|id| format!("\"{}\"", text(*id)))
                .collect();
            let reason = format!(
                "{} and \"{}\" contradict each other: {}; edit or remove one",
                stronger.join(" and "),
                text(conflict.weaker),
                conflict.proof
            );
            add(conflict.weaker, reason);
        }
        if let Some((id, fault)) = self.uncheckable(&merged.effective) {
            add(id, format!("invariant {id} cannot be checked: {fault}"));
        }
        // A condition that nobody checks must not pass for one that holds.
        for invariant in merged.effective.iter().map(|k| &k.invariant) {
            let unsupported = match invariant.layer {
                Layer::Judgment { .. } if self.judge.kind.is_none() => {
                    "no judge is configured to read it"
                }
                Layer::Judgment { .. } => continue,
                Layer::Plain | Layer::Letter(_) | Layer::Assent { .. } => continue,
            };
            if invariant.severity == Severity::Error {
                add(
                    invariant.id,
                    format!(
                        "\"{}\" is unsupported: {unsupported}; make it a letter or plain invariant, or remove it",
                        invariant.text
                    ),
                );
            }
        }
        // Work may go on while a judge has still to read it; only applying waits for that.
        if transition == Some(Transition::ApplyPlan) && self.judge.kind.is_some() {
            for (id, reason) in self.unjudged(plan, now) {
                add(id, reason);
            }
        }
        // Of a contradiction between equals any member may be edited, so all are named. They come
        // last: the reasons name the weaker one.
        for stronger in merged.unresolved.iter().flat_map(|c| &c.stronger) {
            if !ids.contains(stronger) {
                ids.push(*stronger);
            }
        }
        (ids, reasons)
    }

    /// After a correction: reconciles a blocked plan again. When nothing blocks any more, the
    /// plan is queued for the same transition, which a person or an orchestrator retries.
    pub(crate) fn reconcile_after_correction(&mut self, id: PlanId, step: &mut Step<'_>) {
        let Some(plan) = self.state.plans.get(&id).cloned() else {
            return;
        };
        if plan.state != PhaseState::Blocked {
            return;
        }
        // The transition is not made by itself: the agent may have stopped, and a person or an
        // orchestrator knows when to go on.
        let transition = plan.blocked;
        let (result, _) = self.reconcile(&plan, transition, step);
        let mut plan = plan;
        plan.violated_ids = result.violated_ids;
        plan.fault = None;
        let Some(transition) = transition else { return };
        let change = match result.success {
            true => {
                plan.state = PhaseState::Queued;
                PlanChange::Unblocked { transition }
            }
            false => PlanChange::Blocked { transition },
        };
        self.change_plan(plan, change, step);
    }
}

/// Names a set in force by its content: the first half of a SHA-256, in hex.
fn digest(set: &InForce) -> String {
    let mut hash = Sha256::new();
    for (id, holding) in set.each() {
        hash.update(id.to_bytes());
        hash.update(holding.response().as_bytes());
    }
    hex(&hash.finalize()[..16])
}

/// The answer that whoever asked for the reconciliation gets.
fn result(
    plan: &Plan,
    transition: Option<Transition>,
    merged: &Merged,
    violated_ids: Vec<InvariantId>,
    success: bool,
    now: Timestamp,
) -> ReconciliationResult {
    ReconciliationResult {
        plan_id: plan.id,
        transition,
        conflicts_detected: merged.shadowed.len() + merged.unresolved.len(),
        conflicts_resolved: merged.shadowed.len(),
        conflicts: merged.shadowed.iter().map(|s| s.record()).collect(),
        decisions: merged
            .shadowed
            .iter()
            .map(|s| ReconciliationDecision {
                winner: s.winner.invariant.clone(),
                loser: s.loser.invariant.clone(),
                rationale: s.rationale.clone(),
                timestamp: now,
            })
            .collect(),
        resolved_invariants: merged
            .effective
            .iter()
            .map(|k| k.invariant.clone())
            .collect(),
        violated_ids,
        success,
    }
}
