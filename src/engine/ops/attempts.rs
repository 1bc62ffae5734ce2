//! Deciding attempts: letter checks, strikes, halt (semantics section 6).

use std::path::Path;

use super::super::{
    core::{Compiled, Core},
    message,
    places::{self, FoundPath},
};
use crate::{
    model::{
        Attempt, Breach, Effect, EventKind, PhaseState, PlanChange, PlanId, Session, Severity,
        Signature, Verdict, VerdictKind,
    },
    store::Batch,
};

impl Core {
    /// Decides one attempt of a session, counts its strikes and records it.
    pub(crate) fn attempt(
        &mut self,
        session: &Session,
        attempt: Attempt,
        out: &mut Batch,
    ) -> Verdict {
        let plan = session.plan;
        let halt = self.halt_of(plan);
        let verdict = match halt.verdict {
            VerdictKind::Halt => halt,
            _ => self.decide(session, &attempt, out),
        };
        let halts_now = verdict.verdict == VerdictKind::Halt && !verdict.breaches.is_empty();
        self.emit(
            out,
            EventKind::Attempted {
                plan_id: plan,
                agent: session.agent.clone(),
                session: session.session.clone(),
                attempt,
                verdict: verdict.clone(),
            },
        );
        if halts_now {
            self.halt(plan, &verdict.breaches, out);
        }
        verdict
    }

    fn decide(&mut self, session: &Session, attempt: &Attempt, out: &mut Batch) -> Verdict {
        let changes = attempt
            .effects
            .iter()
            .any(|e| !e.changed_paths().is_empty());
        if !changes {
            return Verdict::allow();
        }
        let tool = crate::model::visible(&attempt.tool);
        let unreadable = self.state.unreadable.first().map(String::as_str);
        if let Some(fault) = unreadable.or_else(|| self.file_fault(&session.root)) {
            return Verdict::deny(format!(
                "invar denied this {tool}: not all invariants can be loaded ({fault}). A person must mend that."
            ));
        }
        let compiled = match self.compiled(session.plan, &session.root) {
            Ok(compiled) => compiled,
            Err(fault) => {
                return Verdict::deny(format!(
                    "invar denied this {tool}: invariant {} cannot be checked ({}). A person must mend it.",
                    fault.invariant, fault.error
                ));
            }
        };
        let mut breaches: Vec<Breach> = Vec::new();
        for effect in &attempt.effects {
            let moved = matches!(effect, Effect::Delete { .. } | Effect::Move { .. });
            for path in effect.changed_paths() {
                for breach in self.breaches_of(session.plan, attempt, &compiled, path, moved) {
                    let known = breaches.iter().any(|b| {
                        b.invariant_id == breach.invariant_id && b.signature == breach.signature
                    });
                    if !known {
                        breaches.push(breach);
                    }
                }
            }
        }
        let verdict = verdict_of(&breaches);
        if matches!(verdict, VerdictKind::Allow | VerdictKind::Warn)
            && let Err(why) = self.start_executing(session.plan, out)
        {
            return Verdict::deny(format!("invar denied this {tool}: {why}"));
        }
        let reason = match verdict {
            VerdictKind::Allow => String::new(),
            _ => message::reason(verdict, &attempt.tool, session.plan, &breaches),
        };
        Verdict {
            verdict,
            reason,
            breaches,
        }
    }

    /// What a change of one path breaks, with the strike that each would be.
    fn breaches_of(
        &self,
        plan: PlanId,
        attempt: &Attempt,
        compiled: &Compiled,
        path: &Path,
        subtree: bool,
    ) -> Vec<Breach> {
        let found = places::find(
            path,
            &attempt.cwd,
            &compiled.root,
            Some(&self.home),
            &self.scratch,
        );
        found
            .broken(&compiled.set, subtree)
            .into_iter()
            .filter_map(|index| self.breach(plan, attempt, compiled, index, &found))
            .collect()
    }

    fn breach(
        &self,
        plan: PlanId,
        attempt: &Attempt,
        compiled: &Compiled,
        index: usize,
        found: &FoundPath,
    ) -> Option<Breach> {
        let invariant = &compiled.letters[index].invariant;
        let check = invariant.layer.letter()?;
        let canonical = found
            .canonical
            .relative
            .as_ref()
            .unwrap_or(&found.canonical.absolute);
        let signature = Signature::of_path(&canonical.to_string_lossy());
        let remedy = match invariant.severity {
            Severity::Error => invariant.on_invariant_breach.unwrap_or(self.remedy),
            // Only an error blocks.
            Severity::Warning | Severity::Info => crate::model::Remedy::Warn,
        };
        let limit = remedy.limit();
        let strike = limit.map_or(0, |limit| {
            let counted = self
                .state
                .strikes
                .get(&(plan, invariant.id, signature.clone()));
            let nonce = attempt.nonce.as_ref();
            match counted {
                // The same call again, after its answer was lost: not counted twice.
                Some(s) if nonce.is_some_and(|n| s.nonces.contains(n)) => s.count,
                Some(s) => (s.count + 1).min(limit),
                None => 1,
            }
        });
        Some(Breach {
            invariant_id: invariant.id,
            text: invariant.text.clone(),
            scope: invariant.scope.clone(),
            severity: invariant.severity,
            remedy,
            signature,
            path: found.shown.clone(),
            allowed: message::allowed_instead(check),
            strike,
            limit,
        })
    }

    fn halt(&mut self, plan: PlanId, breaches: &[Breach], out: &mut Batch) {
        let Some(mut record) = self.state.plans.get(&plan).cloned() else {
            return;
        };
        let reason = message::halt_summary(breaches);
        record.resume_to = Some(record.state);
        record.state = PhaseState::Halted;
        record.halt_reason = Some(reason.clone());
        record.halted_by = breaches
            .iter()
            .filter(|b| b.limit == Some(b.strike))
            .map(|b| (b.invariant_id, b.signature.clone()))
            .collect();
        self.change_plan(record, PlanChange::Halted { reason }, out);
    }
}

/// The gravest of what the breaches call for.
fn verdict_of(breaches: &[Breach]) -> VerdictKind {
    let one = |b: &Breach| match b.limit {
        None => VerdictKind::Warn,
        Some(limit) if b.strike >= limit => VerdictKind::Halt,
        Some(_) => VerdictKind::Deny,
    };
    let order = [VerdictKind::Halt, VerdictKind::Deny, VerdictKind::Warn];
    order
        .into_iter()
        .find(|kind| breaches.iter().any(|b| one(b) == *kind))
        .unwrap_or(VerdictKind::Allow)
}
