//! Deciding attempts: letter checks, strikes, halt (semantics section 6).

use std::{path::Path, sync::Arc};

use ulid::Ulid;

use super::super::{
    EngineError,
    builtin::ONLY_PEOPLE,
    core::{Compiled, Core},
    message,
    places::Root,
    reach::{Hit, Reach, part},
    requests::EffectiveOf,
    step::Step,
};
use super::assent::Given;
use crate::{
    model::{
        Attempt, Breach, Effect, EventKind, Invariant, Layer, PhaseState, PlanChange, PlanId,
        Session, Severity, Signature, Verdict, VerdictKind,
    },
    rules::normalise::Keyed,
};

impl Core {
    /// Decides one attempt of a session, counts its strikes and records it.
    pub(crate) fn attempt(
        &mut self,
        session: &Session,
        mut attempt: Attempt,
        how: How,
        step: &mut Step<'_>,
    ) -> Verdict {
        let plan = session.plan;
        let halt = self.halt_of(plan);
        let verdict = match halt.verdict {
            VerdictKind::Halt => halt,
            _ => self.decide(session, &mut attempt, how, step),
        };
        let wanted = self
            .compiled(plan, &session.root)
            .is_ok_and(|compiled| compiled.wants_changes);
        if !wanted {
            attempt.change = None;
        }
        if verdict.lets_through() {
            self.announce(session, &attempt, step.now);
            if attempt.may_write {
                self.guard_tree(session);
            }
        }
        let halts_now = verdict.verdict == VerdictKind::Halt && !verdict.breaches.is_empty();
        self.emit(
            step,
            EventKind::Attempted {
                plan_id: plan,
                agent: session.agent.clone(),
                session: session.session.clone(),
                attempt,
                verdict: verdict.clone(),
            },
        );
        if halts_now {
            self.halt(plan, &verdict.breaches, step);
        }
        verdict
    }

    fn decide(
        &mut self,
        session: &Session,
        attempt: &mut Attempt,
        how: How,
        step: &mut Step<'_>,
    ) -> Verdict {
        let acts = |e: &Effect| !matches!(e, Effect::Read { .. });
        if !attempt.may_write && !attempt.effects.iter().any(acts) {
            return Verdict::allow();
        }
        let tool = crate::model::visible(&attempt.tool);
        let compiled = match self.compiled(session.plan, &session.root) {
            Ok(compiled) => compiled,
            Err(fault) => {
                return Verdict::deny(format!(
                    "invar denied this {tool}: invariant {} cannot be checked ({}). A person must mend it.",
                    fault.invariant, fault.error
                ));
            }
        };
        let reached = self.reached(attempt, &compiled);
        if let Some(part) = reached.waits.as_ref().filter(|_| how.steers_unseen) {
            return Verdict::deny(message::waits(&attempt.tool, part));
        }
        // A command that is known to read needs no look afterwards.
        let commands = attempt
            .effects
            .iter()
            .all(|e| matches!(e, Effect::Opaque { .. }));
        if !reached.changes && commands && !attempt.effects.is_empty() {
            attempt.may_write = false;
        }
        if !reached.changes && !attempt.may_write {
            return Verdict::allow();
        }
        let unreadable = self.state.unreadable.first().map(String::as_str);
        if let Some(fault) = unreadable.or_else(|| self.file_fault(&session.root)) {
            return Verdict::deny(format!(
                "invar denied this {tool}: not all invariants can be loaded ({fault}). A person must mend that."
            ));
        }
        let needs_assent =
            |(keyed, _): &(Arc<Keyed>, Hit)| matches!(keyed.invariant.layer, Layer::Assent { .. });
        let (mut assents, hits): (Vec<_>, Vec<_>) =
            reached.hits.into_iter().partition(needs_assent);
        assents.dedup_by(|a, b| {
            a.0.invariant.id == b.0.invariant.id && a.1.signature == b.1.signature
        });
        let mut breaches: Vec<Breach> = Vec::new();
        for (keyed, hit) in hits {
            let breach = self.breach(
                session.plan,
                attempt.nonce.as_deref(),
                &keyed.invariant,
                hit,
            );
            let known = breaches
                .iter()
                .any(|b| b.invariant_id == breach.invariant_id && b.signature == breach.signature);
            if !known {
                breaches.push(breach);
            }
        }
        let mut verdict = verdict_of(&breaches);
        if matches!(verdict, VerdictKind::Allow | VerdictKind::Warn) && !assents.is_empty() {
            match self.assent_to(session, attempt, assents, step) {
                Given::Yes => {}
                Given::Waiting(waiting) => {
                    return Verdict {
                        verdict: VerdictKind::Ask,
                        reason: message::asks(&attempt.tool, &waiting),
                        breaches: Vec::new(),
                    };
                }
                Given::No(refused) => {
                    breaches.extend(refused);
                    verdict = verdict_of(&breaches);
                }
            }
        }
        if matches!(verdict, VerdictKind::Allow | VerdictKind::Warn) && !how.planning {
            let moved = match reached.applies {
                true => self.start_applying(session.plan, step),
                false => self.start_executing(session.plan, step),
            };
            if let Err(why) = moved {
                return Verdict::deny(format!("invar denied this {tool}: {why}"));
            }
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

    /// The verdict on an attempt that is neither counted nor recorded: `doctor` asks so whether
    /// the guard is live.
    pub(crate) fn probe(&self, root: &Path, attempt: &Attempt) -> Verdict {
        let of = EffectiveOf::Project(self.state.project_of(root));
        let compiled = match self.preview(of, root) {
            Ok(compiled) => compiled,
            Err(error) => return Verdict::deny(format!("invar denied this: {error}")),
        };
        let breaches = self.would_break(&compiled, attempt);
        let verdict = verdict_of(&breaches);
        let reason = match verdict {
            VerdictKind::Allow => String::new(),
            _ => message::reason(verdict, &attempt.tool, PlanId(Ulid::nil()), &breaches),
        };
        Verdict {
            verdict,
            reason,
            breaches,
        }
    }

    /// What each of some recorded attempts would break, each as if it were the first.
    ///
    /// # Errors
    /// No such plan, or an invariant that cannot be checked.
    pub(crate) fn replay(
        &self,
        of: EffectiveOf,
        root: &Path,
        attempts: &[Attempt],
    ) -> Result<Vec<Vec<Breach>>, EngineError> {
        let compiled = self.preview(of, root)?;
        let breaches = attempts.iter().map(|a| self.would_break(&compiled, a));
        Ok(breaches.collect())
    }

    /// The checks of something that need not be a plan, for an agent in `root`.
    fn preview(&self, of: EffectiveOf, root: &Path) -> Result<Compiled, EngineError> {
        let (_, merged) = self.merged_for(of)?;
        let root = Root::new(root);
        let all = self.built_in.iter().chain(&merged.effective);
        let (letters, set) = self.letter_set(all, &root)?;
        Ok(Compiled::of(root, letters, set))
    }

    fn would_break(&self, compiled: &Compiled, attempt: &Attempt) -> Vec<Breach> {
        let mut breaches: Vec<Breach> = Vec::new();
        for (keyed, hit) in self.reached(attempt, compiled).hits {
            // No plan has this id, so that this is the first strike.
            let breach = self.breach(PlanId(Ulid::nil()), None, &keyed.invariant, hit);
            let known = breaches
                .iter()
                .any(|b| b.invariant_id == breach.invariant_id && b.signature == breach.signature);
            if !known {
                breaches.push(breach);
            }
        }
        breaches
    }

    /// What an attempt would break, and whether it may change anything at all.
    fn reached(&self, attempt: &Attempt, compiled: &Compiled) -> Reached {
        let reach = self.reach(compiled, &attempt.cwd);
        let (mut reached, mut hits, mut changes) = (Vec::new(), Vec::new(), false);
        let (mut waits, mut applies) = (None, false);
        for effect in &attempt.effects {
            let Effect::Opaque { command, language } = effect else {
                changes |= !effect.changed_paths().is_empty();
                hits.extend(reach.of_effect(effect));
                continue;
            };
            let reading = reach.read(command, language.as_deref());
            changes |= !reading.only_reads() || !reading.rule_changes.is_empty();
            applies |= reading.applies;
            let waiting = reading.waits.first();
            waits = waits.or_else(|| waiting.map(|at| part(command, at).to_owned()));
            hits.extend(reach.of_reading(&reading, command));
            let only_people = self
                .built_in
                .iter()
                .find(|k| k.invariant.text == ONLY_PEOPLE);
            for (keyed, change) in only_people.into_iter().zip(&reading.rule_changes) {
                let hit = Hit {
                    index: 0,
                    signature: Signature::of_command(command),
                    shown: part(command, &change.bytes).to_owned(),
                    why: Some(format!("it would {}", change.what)),
                };
                reached.push((Arc::clone(keyed), hit));
            }
        }
        let letters = hits
            .into_iter()
            .map(|hit: Hit| (Arc::clone(&compiled.letters[hit.index]), hit));
        Reached {
            hits: letters.chain(reached).collect(),
            changes,
            waits,
            applies,
        }
    }

    /// The checks of a plan, asked by an agent that stands in `cwd`.
    pub(crate) fn reach<'a>(&'a self, compiled: &'a Compiled, cwd: &'a Path) -> Reach<'a> {
        Reach {
            set: &compiled.set,
            letters: &compiled.letters,
            root: &compiled.root,
            home: &self.home,
            scratch: &self.scratch,
            cwd,
        }
    }

    /// A breach with the strike that it would be.
    pub(crate) fn breach(
        &self,
        plan: PlanId,
        nonce: Option<&str>,
        invariant: &Invariant,
        hit: Hit,
    ) -> Breach {
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
                .get(&(plan, invariant.id, hit.signature.clone()));
            match counted {
                // The same call again, after its answer was lost: not counted twice.
                Some(s) if nonce.is_some_and(|n| s.nonces.iter().any(|k| k == n)) => s.count,
                Some(s) => (s.count + 1).min(limit),
                None => 1,
            }
        });
        Breach {
            invariant_id: invariant.id,
            text: invariant.text.clone(),
            scope: invariant.scope.clone(),
            severity: invariant.severity,
            remedy,
            signature: hit.signature,
            path: hit.shown,
            allowed: match invariant.layer.letter() {
                Some(check) => message::allowed_instead(check),
                None => "looking, with `invar list` and the like".to_owned(),
            },
            why: hit.why,
            strike,
            limit,
        }
    }

    pub(crate) fn halt(&mut self, plan: PlanId, breaches: &[Breach], step: &mut Step<'_>) {
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
        self.change_plan(record, PlanChange::Halted { reason }, step);
    }
}

/// What of an agent's ways counts for its attempts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct How {
    /// It is in its own planning mode: nothing it does begins execution.
    pub planning: bool,
    /// Input to a running command comes by no hook.
    pub steers_unseen: bool,
}

/// What an attempt reaches.
struct Reached {
    /// The invariants that it would break.
    hits: Vec<(Arc<Keyed>, Hit)>,
    /// It is not known to change nothing.
    changes: bool,
    /// The part of a command that takes its orders from later input.
    waits: Option<String>,
    /// It records the work or hands it over.
    applies: bool,
}

/// The gravest of what the breaches call for.
pub(crate) fn verdict_of(breaches: &[Breach]) -> VerdictKind {
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
