//! Asking a person for assent, and what was answered.

use std::{path::Path, sync::Arc};

use sha2::{Digest, Sha256};

use super::{
    super::{
        EngineError,
        requests::{PlanRef, Ruling},
        step::Step,
    },
    Core,
    reach::Hit,
    unique,
};
use crate::{
    model::{
        Assent, AssentId, AssentStatus, Attempt, Breach, Change, EventKind, InvariantId, PlanId,
        Running, Session, Signature, hex,
    },
    rules::normalise::KeyedInvariant,
};

/// What an attempt that needs assent has of it.
pub(super) enum AssentOutcome {
    /// A person let all of it be done.
    Granted,
    /// A person refused; counted like any other breach.
    Refused(Vec<Breach>),
    /// Nobody has answered yet.
    Waiting(Vec<Assent>),
}

impl Core {
    /// Whether a person has let an attempt make the changes that `hits` stand for; asks for what
    /// has not been asked before. One refusal refuses the attempt, and one question that waits
    /// makes it wait; only when all were approved are the approvals used up.
    pub(super) fn assent_to(
        &mut self,
        session: &Session,
        attempt: &Attempt,
        hits: Vec<(Arc<KeyedInvariant>, Hit)>,
        step: &mut Step<'_>,
    ) -> AssentOutcome {
        let change = attempt.change.clone().unwrap_or_else(|| described(attempt));
        let now = step.now;
        let command = attempt.may_write.then(|| Running::of(attempt, now));
        let (mut waiting, mut refused, mut spent) = (Vec::new(), Vec::new(), Vec::new());
        for (keyed, hit) in hits {
            let invariant = &keyed.invariant;
            let known = self.state.assents.values().rev().find(|a| {
                a.plan_id == session.plan
                    && a.invariant_id == invariant.id
                    && a.signature == hit.signature
                    && a.digest == change.digest
            });
            match known.map(|a| (a, &a.status)) {
                Some((
                    a,
                    AssentStatus::Approved { for_plan: true, .. }
                    | AssentStatus::Approved { used: false, .. },
                )) => spent.push(a.clone()),
                Some((_, AssentStatus::Refused { reason, .. })) => {
                    let why = format!("a person refused it: {reason}");
                    let hit = Hit {
                        why: Some(why),
                        ..hit
                    };
                    let nonce = attempt.nonce.as_deref();
                    refused.push(self.breach(session.plan, nonce, invariant, hit));
                }
                Some((a, AssentStatus::Waiting)) if a.call == attempt.call => {
                    waiting.push(a.clone());
                }
                // The same change by another call: the question is the same, and the agent waits
                // for it anew.
                Some((a, AssentStatus::Waiting | AssentStatus::Delegated)) => {
                    let assent = Assent {
                        call: attempt.call.clone(),
                        command: command.clone(),
                        status: AssentStatus::Waiting,
                        ..a.clone()
                    };
                    self.emit(
                        step,
                        EventKind::AssentChanged {
                            assent: assent.clone(),
                        },
                    );
                    waiting.push(assent);
                }
                Some((_, AssentStatus::Approved { .. })) | None => {
                    let assent = Assent {
                        id: AssentId(self.new_id(step.now)),
                        plan_id: session.plan,
                        invariant_id: invariant.id,
                        text: invariant.text.clone(),
                        agent: session.agent.clone(),
                        session: session.session.clone(),
                        tool: attempt.tool.clone(),
                        signature: hit.signature,
                        path: hit.shown,
                        change: change.shown.clone(),
                        digest: change.digest.clone(),
                        asked_at: now,
                        call: attempt.call.clone(),
                        command: command.clone(),
                        let_at: None,
                        status: AssentStatus::Waiting,
                    };
                    self.emit(
                        step,
                        EventKind::AssentChanged {
                            assent: assent.clone(),
                        },
                    );
                    waiting.push(assent);
                }
            }
        }
        if !refused.is_empty() {
            return AssentOutcome::Refused(refused);
        }
        if !waiting.is_empty() {
            return AssentOutcome::Waiting(waiting);
        }
        for mut assent in spent {
            if let AssentStatus::Approved { used, for_plan, .. } = &mut assent.status {
                *used = !*for_plan;
            }
            assent.call = attempt.call.clone();
            assent.let_at = Some(now);
            self.emit(step, EventKind::AssentChanged { assent });
        }
        AssentOutcome::Granted
    }

    /// Whether a person let a change that was found be made, in `plan` or in any, for an invariant
    /// that asks for assent. `at` is when it happened, in Unix nanoseconds; `ran` are the commands
    /// that ran then, the one that started last at the end.
    pub(super) fn had_assent(
        &self,
        plan: Option<PlanId>,
        (invariant, signature): (InvariantId, &Signature),
        at: i64,
        ran: &[&Running],
    ) -> bool {
        self.state.assents.values().any(|a| {
            plan.is_none_or(|p| a.plan_id == p)
                && a.invariant_id == invariant
                && a.signature == *signature
                && a.covers(i128::from(at), ran)
        })
    }

    /// The questions of a plan, or of all plans, oldest first.
    ///
    /// # Errors
    /// No such plan, or several.
    pub(super) fn assents(
        &self,
        plan: Option<PlanRef>,
        here: &Path,
    ) -> Result<Vec<Assent>, EngineError> {
        let plan = self.plan_id_of(plan.as_ref(), here)?;
        let all = self.state.assents.values();
        let wanted = all.filter(|a| plan.is_none_or(|p| a.plan_id == p));
        Ok(wanted.cloned().collect())
    }

    /// Those of the questions that nobody has answered yet.
    pub(super) fn still_waiting(&self, mut ids: Vec<AssentId>) -> Vec<AssentId> {
        ids.retain(|id| self.state.assents.get(id).is_some_and(Assent::is_waiting));
        ids
    }

    /// Takes in a person's answer to the question of that id or prefix. A question may be answered
    /// again, and otherwise, until the change was made.
    ///
    /// # Errors
    /// No such question, or several; one whose change was made; a refusal without a reason.
    pub(super) fn answer_assent(
        &mut self,
        id: &str,
        by: String,
        answer: Ruling,
        step: &mut Step<'_>,
    ) -> Result<Assent, EngineError> {
        let ids = self.state.assents.keys();
        let id = unique("question", id, ids, "see `invar assent list`")?;
        let mut assent = self.state.assents[&id].clone();
        if let AssentStatus::Approved { used: true, .. } = assent.status {
            let message = format!("question {id} was answered, and the change was made");
            return Err(EngineError::invalid(message).hint("see `invar assent list`"));
        }
        let answered_at = step.now;
        assent.status = match answer {
            Ruling::Approve { for_plan } => AssentStatus::Approved {
                by,
                answered_at,
                for_plan,
                used: false,
            },
            Ruling::Refuse { reason } if reason.trim().is_empty() => {
                let message = "a refusal needs a reason, which the model reads";
                return Err(EngineError::invalid(message).hint("give --reason"));
            }
            Ruling::Refuse { reason } => AssentStatus::Refused {
                by,
                answered_at,
                reason,
            },
        };
        self.emit(
            step,
            EventKind::AssentChanged {
                assent: assent.clone(),
            },
        );
        Ok(assent)
    }

    /// The agent asks by its own prompt: nobody has to answer here.
    pub(super) fn delegate_assents(&mut self, ids: &[AssentId], step: &mut Step<'_>) {
        for id in ids {
            let Some(mut assent) = self
                .state
                .assents
                .get(id)
                .filter(|a| a.is_waiting())
                .cloned()
            else {
                continue;
            };
            assent.status = AssentStatus::Delegated;
            assent.let_at = Some(step.now);
            self.emit(step, EventKind::AssentChanged { assent });
        }
    }
}

/// What stands for the change of an attempt whose agent does not pass on what its tool was given:
/// the tool and the effects. Its digest is the same for the same attempt.
fn described(attempt: &Attempt) -> Change {
    let shown = format!("{}: {:?}", attempt.tool, attempt.effects);
    let digest = Sha256::digest(shown.as_bytes());
    Change {
        digest: hex(&digest),
        shown,
    }
}
