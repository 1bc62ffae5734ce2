//! Deciding attempts: letter checks, strikes, halt. What cannot be decided is denied: a guard that
//! fails lets nothing through.

use std::sync::Arc;

use ulid::Ulid;

use super::{
    super::{
        EngineError,
        builtin::BuiltIn,
        facts::{Facts, ForSet, Need},
        located::{LocatedAttempt, LocatedEffect, acts},
        message,
        requests::EffectiveOf,
        step::{Step, Stop},
    },
    Core,
    assent::AssentOutcome,
    reach::{Hit, Unlisted, part},
    sets::{Compiled, Uncheckable},
};
use crate::{
    model::{
        Attempt, Breach, Effect, EventKind, Invariant, Layer, PhaseState, PlanChange, PlanId,
        Session, Severity, Signature, Verdict, VerdictKind,
    },
    rules::{normalise::KeyedInvariant, shell::looks_around},
};

/// An attempt held against the set that is in force, before anything is recorded.
pub(super) struct Weighed {
    pub compiled: Arc<Compiled>,
    reached: Reached,
}

impl Core {
    /// Holds an attempt against a compiled set, and records nothing. The inner error is an
    /// invariant that cannot be checked; it is passed on, since the denial must be recorded.
    ///
    /// # Errors
    /// A fact is missing.
    pub(super) fn weigh(
        &self,
        attempt: &Attempt,
        compiled: Result<Arc<Compiled>, Uncheckable>,
        facts: &Facts,
    ) -> Result<Result<Weighed, Uncheckable>, Need> {
        let compiled = match compiled {
            Ok(compiled) => compiled,
            Err(fault) => return Ok(Err(fault)),
        };
        let nothing = LocatedAttempt::default();
        let located = facts.attempts.first().unwrap_or(&nothing);
        let reached = self.reached(attempt, located, &compiled)?;
        Ok(Ok(Weighed { compiled, reached }))
    }

    /// Decides one attempt of a session that was weighed, and records it with its verdict; its
    /// strikes are counted by that event. Whatever is wrong is part of the verdict.
    pub(super) fn attempt(
        &mut self,
        session: &Session,
        mut attempt: Attempt,
        weighed: Result<Weighed, Uncheckable>,
        mode: AgentMode,
        step: &mut Step<'_>,
    ) -> Verdict {
        let plan = session.plan;
        let halt = self.halt_of(plan);
        let compiled = weighed.as_ref().ok().map(|w| Arc::clone(&w.compiled));
        // In a halted plan everything is denied, reading too, and nothing is counted.
        let verdict = match halt.verdict {
            VerdictKind::Halt => halt,
            _ => self.decide(session, &mut attempt, weighed, mode, step),
        };
        // The content of a change is kept only where a judge or a person has to see it.
        if !compiled.as_ref().is_some_and(|c| c.wants_changes()) {
            attempt.change = None;
        }
        if verdict.lets_through() {
            self.announce(session, step);
            // The command is about to run: its tree must be watched by the set of this moment.
            if attempt.may_write {
                step.effects.guard = compiled;
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

    /// The verdict on an attempt in a plan that is not halted. In this order: reading is free; a
    /// set that cannot be checked, and input that nobody sees, deny; breaches outweigh questions to
    /// a person; and only what is otherwise allowed moves the plan on.
    fn decide(
        &mut self,
        session: &Session,
        attempt: &mut Attempt,
        weighed: Result<Weighed, Uncheckable>,
        mode: AgentMode,
        step: &mut Step<'_>,
    ) -> Verdict {
        if !attempt.may_write && !attempt.effects.iter().any(acts) {
            return Verdict::allow();
        }
        let tool = crate::model::visible(&attempt.tool);
        let reached = match weighed {
            Ok(weighed) => weighed.reached,
            Err(fault) => {
                return Verdict::deny(format!(
                    "invar denied this {tool}: invariant {} cannot be checked ({}). A person must mend it.",
                    fault.invariant, fault.error
                ));
            }
        };
        if let Some(part) = reached.waits.as_ref().filter(|_| mode.steers_unseen) {
            return Verdict::deny(message::waits(&attempt.tool, part));
        }
        // A command that is proven to read needs no look at the tree afterwards. Tools that declare
        // their effects keep theirs: a foreign server may do more than it says.
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
        let needs_assent = |(keyed, _): &(Arc<KeyedInvariant>, Hit)| {
            matches!(keyed.invariant.layer, Layer::Assent { .. })
        };
        let (mut assents, hits): (Vec<_>, Vec<_>) =
            reached.hits.into_iter().partition(needs_assent);
        // Several patterns of one invariant may match one path: that is one question.
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
        // Nobody is asked about an attempt that is denied anyway.
        if matches!(verdict, VerdictKind::Allow | VerdictKind::Warn) && !assents.is_empty() {
            match self.assent_to(session, attempt, assents, step) {
                AssentOutcome::Granted => {}
                AssentOutcome::Waiting(waiting) => {
                    return Verdict {
                        verdict: VerdictKind::Ask,
                        reason: message::asks(&attempt.tool, &waiting),
                        breaches: Vec::new(),
                    };
                }
                AssentOutcome::Refused(refused) => {
                    breaches.extend(refused);
                    verdict = verdict_of(&breaches);
                }
            }
        }
        if matches!(verdict, VerdictKind::Allow | VerdictKind::Warn) && !mode.planning {
            let moved = match (reached.applies, reached.begins) {
                (true, _) => self.start_applying(session.plan, step),
                (false, true) => self.start_executing(session.plan, step),
                (false, false) => Ok(()),
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
    ///
    /// # Errors
    /// A fact is missing.
    pub(super) fn probe(&self, attempt: &Attempt, facts: &Facts) -> Result<Verdict, Need> {
        let of = EffectiveOf::Project(self.state.project_of(&facts.root.written));
        let compiled = match self.preview(of, facts) {
            Ok(compiled) => compiled,
            Err(error) => return Ok(Verdict::deny(format!("invar denied this: {error}"))),
        };
        let nothing = LocatedAttempt::default();
        let located = facts.attempts.first().unwrap_or(&nothing);
        let breaches = self.would_break(&compiled, attempt, located)?;
        let verdict = verdict_of(&breaches);
        let reason = match verdict {
            VerdictKind::Allow => String::new(),
            _ => message::reason(verdict, &attempt.tool, PlanId(Ulid::nil()), &breaches),
        };
        Ok(Verdict {
            verdict,
            reason,
            breaches,
        })
    }

    /// What each of some recorded attempts would break, each as if it were the first.
    ///
    /// # Errors
    /// No such plan, or an invariant that cannot be checked.
    pub(super) fn replay(
        &self,
        of: EffectiveOf,
        attempts: &[Attempt],
        facts: &Facts,
    ) -> Result<Vec<Vec<Breach>>, Stop> {
        let compiled = self.preview(of, facts)?;
        let both = attempts.iter().zip(&facts.attempts);
        both.map(|(attempt, located)| Ok(self.would_break(&compiled, attempt, located)?))
            .collect()
    }

    /// The compiled checks of something that need not be a plan, for an agent in the call's
    /// project. It is not kept.
    ///
    /// # Errors
    /// No such plan, or an invariant that cannot be checked.
    fn preview(&self, of: EffectiveOf, facts: &Facts) -> Result<Arc<Compiled>, EngineError> {
        let (_, merged) = self.merged_for(of, &facts.root.written)?;
        let effective = &merged.effective;
        Ok(Arc::new(self.sets.compile_anew(
            effective,
            &facts.root,
            true,
        )?))
    }

    /// What an attempt would break, each as a first strike. Nothing is counted.
    ///
    /// # Errors
    /// The files of a folder decide, and are not listed.
    fn would_break(
        &self,
        compiled: &Arc<Compiled>,
        attempt: &Attempt,
        located: &LocatedAttempt,
    ) -> Result<Vec<Breach>, Need> {
        let mut breaches: Vec<Breach> = Vec::new();
        for (keyed, hit) in self.reached(attempt, located, compiled)?.hits {
            // No plan has this id, so that this is the first strike.
            let breach = self.breach(PlanId(Ulid::nil()), None, &keyed.invariant, hit);
            let known = breaches
                .iter()
                .any(|b| b.invariant_id == breach.invariant_id && b.signature == breach.signature);
            if !known {
                breaches.push(breach);
            }
        }
        Ok(breaches)
    }

    /// The invariant that only people change invariants.
    pub(super) fn only_people(&self) -> Option<&Arc<KeyedInvariant>> {
        let mut own = self.sets.built_in().iter();
        own.find(|k| k.invariant.id == BuiltIn::OnlyPeople.id())
    }

    /// What an attempt would break, and whether it may change anything at all.
    ///
    /// # Errors
    /// The files of a folder decide, and are not listed; or the attempt was not located.
    fn reached(
        &self,
        attempt: &Attempt,
        located: &LocatedAttempt,
        compiled: &Arc<Compiled>,
    ) -> Result<Reached, Need> {
        // An effect that was not located must not pass for one that breaks nothing.
        if located.effects.len() != attempt.effects.len() {
            return Err(Need::Root(compiled.checks().root.written.clone()));
        }
        let checks = compiled.checks();
        let files = |Unlisted| Need::Files(ForSet(Arc::clone(compiled)));
        let (mut reached, mut hits, mut changes) = (Vec::new(), Vec::new(), false);
        let (mut waits, mut applies, mut begins) = (None, false, false);
        for (effect, located) in attempt.effects.iter().zip(&located.effects) {
            changes |= !effect.changed_paths().is_empty();
            begins |= !effect.changed_paths().is_empty();
            hits.extend(checks.of_effect(located).map_err(files)?);
            let LocatedEffect::Line(line) = located else {
                continue;
            };
            let reading = &line.reading;
            changes |= !reading.only_reads() || !reading.rule_changes.is_empty();
            begins |= !looks_around(&line.text, reading);
            applies |= reading.applies;
            let waiting = reading.waits.first();
            waits = waits.or_else(|| waiting.map(|at| part(&line.text, at).to_owned()));
            // A command that runs invar to change something. One such part is enough to deny.
            for (keyed, change) in self.only_people().into_iter().zip(&reading.rule_changes) {
                let hit = Hit {
                    index: 0,
                    signature: Signature::of_command(&line.text),
                    shown: part(&line.text, &change.bytes).to_owned(),
                    why: Some(format!("it would {}", change.what)),
                };
                reached.push((Arc::clone(keyed), hit));
            }
        }
        let letters = hits
            .into_iter()
            .map(|hit: Hit| (Arc::clone(compiled.letter(hit.index)), hit));
        Ok(Reached {
            hits: letters.chain(reached).collect(),
            changes,
            waits,
            applies,
            begins: begins || attempt.effects.is_empty(),
        })
    }

    /// A breach with the strike that it would be: the count of the same invariant and target in
    /// `plan`, and one more. It is counted when an event with it is applied. `nonce` names the call
    /// that made it, where there is one.
    pub(super) fn breach(
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
                // The remedy, and so the limit, may be another than when the others were counted.
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

    /// Halts a plan. The breaches whose strike is the last one say why; their counts start again
    /// when a person resumes it, and no others.
    pub(super) fn halt(&mut self, plan: PlanId, breaches: &[Breach], step: &mut Step<'_>) {
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

/// The mode an agent is in, as far as it affects verdicts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AgentMode {
    /// It is in its own planning mode: nothing it does begins execution.
    pub planning: bool,
    /// Input to a running command comes by no hook.
    pub steers_unseen: bool,
}

/// What an attempt comes to, by all its effects.
struct Reached {
    /// The invariants that it would break.
    hits: Vec<(Arc<KeyedInvariant>, Hit)>,
    /// It may change something: not all of it is proven to read.
    changes: bool,
    /// The part of a command that takes its orders from later input.
    waits: Option<String>,
    /// It records the work or hands it over.
    applies: bool,
    /// It is work, and not only a look around: the plan executes from then on.
    begins: bool,
}

/// The gravest of what the breaches call for; allow when there are none.
pub(super) fn verdict_of(breaches: &[Breach]) -> VerdictKind {
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
