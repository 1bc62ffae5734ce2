//! When a judge is asked, and what follows from its answer.
//!
//! What a judge has still to read is in the state, as actions that are *due*. Asking takes seconds
//! and happens beside the engine: a job is handed out, the clause counts as running until its
//! answer comes back, and an answer settles the actions up to the last that it read. When the
//! answer is lost the actions are simply due still, so nothing of this module must survive the
//! process.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::{
    super::{
        config::JudgeConfig,
        judge::{self, JudgeJob},
        message,
        step::Step,
    },
    Core,
    attempts::verdict_of,
    reach::Hit,
    sets::clauses,
};
use crate::model::{
    CheckId, CheckOutcome, Checkpoint, Cost, EventKind, Invariant, InvariantId, JudgeCheck, Money,
    Plan, PlanId, Signature, Verdict, VerdictKind, Violation,
};

/// How a violation begins that a judge found.
const JUDGED: &str = "the judge: ";

type Key = (PlanId, InvariantId);

/// What is under way; it may be lost, since it is due again then.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    /// Checks that are to be made and that nobody has taken yet.
    pub jobs: Vec<JudgeJob>,
    /// The clauses that are being asked about, each with what that may cost. One check at a time
    /// for each clause, so that no action is paid for twice.
    running: HashMap<Key, Money>,
    /// Asked for while a check ran: one more afterwards, with all that came meanwhile.
    again: HashSet<Key>,
    /// Turns since the last check.
    turns: HashMap<Key, u32>,
    /// How often the agent was sent back for a clause since it held last.
    sent_back: HashMap<Key, u32>,
}

impl UnderWay {
    /// Forgets the checks that nobody has begun to make; they are due again.
    pub fn drop_jobs(&mut self) {
        for job in self.jobs.drain(..) {
            self.running.remove(&(job.plan_id, job.invariant_id));
        }
    }

    /// Forgets what was counted for a plan that is over. A check that is being made still
    /// comes.
    pub fn drop_plan(&mut self, plan: PlanId) {
        self.again.retain(|key| key.0 != plan);
        self.turns.retain(|key, _| key.0 != plan);
        self.sent_back.retain(|key, _| key.0 != plan);
    }

    /// Its answer could not be taken in: what it was about is due again.
    pub fn give_up(&mut self, check: &JudgeCheck) {
        self.running.remove(&(check.plan_id, check.invariant_id));
    }
}

/// Why no judge can be asked now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unasked {
    NoJudge,
    /// The bound that is reached, and by what.
    Bound(String),
}

impl Core {
    /// The judgment clauses in force in a plan.
    fn clauses(&mut self, plan: &Plan) -> Vec<(Invariant, Checkpoint)> {
        let merged = self.merged(plan);
        let all = clauses(&merged.effective);
        all.map(|(invariant, checkpoint)| (invariant.clone(), checkpoint))
            .collect()
    }

    /// The agent has changed something.
    pub(super) fn judge_after_edit(&mut self, plan: PlanId, step: &mut Step<'_>) {
        self.judge_at(plan, step, |_, checkpoint| {
            checkpoint == Checkpoint::EachEdit
        });
    }

    /// The agent says that it is done with its turn.
    pub(super) fn judge_after_turn(&mut self, plan: PlanId, step: &mut Step<'_>) {
        self.judge_at(plan, step, |turns, checkpoint| {
            *turns += 1;
            match checkpoint {
                Checkpoint::EachNIterations(n) => *turns >= n.get(),
                Checkpoint::AtSatisfaction | Checkpoint::EachEdit => true,
            }
        });
    }

    /// Somebody wants to apply the plan: whatever is due is asked about.
    pub(crate) fn judge_before_apply(&mut self, plan: PlanId, step: &mut Step<'_>) {
        self.judge_at(plan, step, |_, _| true);
    }

    fn judge_at(
        &mut self,
        plan: PlanId,
        step: &mut Step<'_>,
        mut now: impl FnMut(&mut u32, Checkpoint) -> bool,
    ) {
        let Some(record) = self.state.plans.get(&plan).cloned() else {
            return;
        };
        for (invariant, checkpoint) in self.clauses(&record) {
            let key = (plan, invariant.id);
            if now(self.under_way.turns.entry(key).or_default(), checkpoint) {
                self.under_way.turns.insert(key, 0);
                // What cannot be asked stays due, and the gate of apply says why.
                let _ = self.ask_judge(&record, &invariant, step);
            }
        }
    }

    /// Asks about all that is due of a clause: answers from memory when the same question was
    /// asked before, else puts a job into the queue. Does nothing when nothing is due.
    ///
    /// # Errors
    /// There is no judge, or a bound of its cost is reached; what is due stays due.
    pub(super) fn ask_judge(
        &mut self,
        plan: &Plan,
        invariant: &Invariant,
        step: &mut Step<'_>,
    ) -> Result<(), Unasked> {
        let key = (plan.id, invariant.id);
        let actions = self.state.judging.due(plan.id, invariant.id);
        let Some(upto) = actions.last().map(|a| a.seq) else {
            return Ok(());
        };
        if self.judge.kind.is_none() {
            return Err(Unasked::NoJudge);
        }
        if self.under_way.running.contains_key(&key) {
            self.under_way.again.insert(key);
            return Ok(());
        }
        let job = JudgeJob {
            id: CheckId(self.new_id(step.now)),
            plan_id: plan.id,
            invariant_id: invariant.id,
            clause: invariant.text.clone(),
            digest: judge::digest(&self.judge, &invariant.text, &actions),
            actions,
            upto,
        };
        if let Some(known) = self.state.judging.answered(&job.digest).cloned() {
            let check = JudgeCheck {
                id: job.id,
                plan_id: job.plan_id,
                invariant_id: job.invariant_id,
                upto,
                cost: Money::default(),
                cached: true,
                at: step.now,
                ..known
            };
            self.judged(check, step);
            return Ok(());
        }
        if let Some(bound) = self.bound_reached(plan.id, step.now) {
            return Err(Unasked::Bound(bound));
        }
        // The estimate is held before the call, for as many calls as a confirmation may take, and
        // replaced by the cost afterwards: several checks at once cannot pass a bound together.
        let most = u64::from(self.judge.confirm.max(1));
        self.under_way
            .running
            .insert(key, self.judge.estimate().times(most));
        self.under_way.jobs.push(job);
        Ok(())
    }

    /// The bound that one more check would pass, in a sentence; `None` when there is room. What is
    /// spent and what running checks may still cost count together. A bound of 0 is none.
    pub(crate) fn bound_reached(&self, plan: PlanId, now: Timestamp) -> Option<String> {
        let config: &JudgeConfig = &self.judge;
        let estimate = config.estimate();
        let held = |of: Option<PlanId>| {
            let running = self.under_way.running.iter();
            running
                .filter(|((plan, _), _)| of.is_none_or(|of| of == *plan))
                .fold(Cost::default(), |sum, (_, money)| Cost {
                    money: sum.money.plus(*money),
                    checks: sum.checks + 1,
                })
        };
        for (name, spent, held, money, checks) in [
            (
                "plan",
                self.state.judging.spent_by(plan),
                held(Some(plan)),
                config.plan_bound,
                config.plan_checks,
            ),
            (
                "day",
                self.state.judging.spent_on_day(now),
                held(None),
                config.day_bound,
                config.day_checks,
            ),
        ] {
            let money = Money::of(money);
            let next = spent.money.plus(held.money).plus(estimate);
            if money > Money::default() && next > money {
                return Some(format!(
                    "the bound of the {name} is {money}, {} of it is spent; raise `[judge] {name}_bound`",
                    spent.money
                ));
            }
            if checks > 0 && spent.checks + held.checks >= checks {
                return Some(format!(
                    "the bound of the {name} is {checks} checks, and they are made; raise `[judge] {name}_checks`"
                ));
            }
        }
        None
    }

    /// Whether a check of the plan is being made.
    pub(crate) fn is_judging(&self, plan: PlanId) -> bool {
        self.under_way.running.keys().any(|(of, _)| *of == plan)
    }

    /// The judgment clauses of a plan that a judge has still to read, each with a sentence that
    /// says why it has not.
    pub(super) fn unjudged(&mut self, plan: &Plan, now: Timestamp) -> Vec<(InvariantId, String)> {
        let clauses = self.clauses(plan);
        let due = |(invariant, _): (Invariant, Checkpoint)| {
            let count = self.state.judging.due(plan.id, invariant.id).len();
            if count == 0 {
                return None;
            }
            let key = (plan.id, invariant.id);
            let reading = self.state.judging.reading(plan.id, invariant.id);
            let failed = reading.and_then(|r| r.failed.as_deref());
            let why = match (self.bound_reached(plan.id, now), failed) {
                _ if self.under_way.running.contains_key(&key) => {
                    "the judge is being asked; try again when it has answered".to_owned()
                }
                (Some(bound), _) => bound,
                (None, Some(reason)) => format!("the last check failed: {reason}"),
                (None, None) => "the judge has not read it yet".to_owned(),
            };
            let text = format!("\"{}\" is due for {count} actions: {why}", invariant.text);
            Some((invariant.id, text))
        };
        clauses.into_iter().filter_map(due).collect()
    }

    /// Takes in what a judge answered: recorded, charged, and acted upon. The clause or the plan
    /// may be gone by then; the cost counts nevertheless.
    pub(crate) fn judged(&mut self, check: JudgeCheck, step: &mut Step<'_>) {
        let key = (check.plan_id, check.invariant_id);
        self.under_way.running.remove(&key);
        let (outcome, reason) = (check.outcome, check.reason.clone());
        self.emit(step, EventKind::JudgeChecked { check });
        let invariant = self
            .state
            .invariants
            .get(&key.1)
            .map(|k| k.invariant.clone());
        let plan = self.state.plans.get(&key.0).cloned();
        if let (Some(invariant), Some(plan)) = (invariant, plan) {
            match outcome {
                CheckOutcome::Broken => self.judged_broken(&plan, &invariant, &reason, step),
                CheckOutcome::Holds => self.judged_to_hold(&plan, &invariant, step),
                CheckOutcome::Failed => {}
            }
            if self.under_way.again.remove(&key) {
                let _ = self.ask_judge(&plan, &invariant, step);
            }
        }
        self.reconcile_after_correction(key.0, step);
    }

    /// A clause is broken: a strike, an open violation if there is none, and a halt at the limit.
    /// The agent learns of it with the next answer that can carry it.
    fn judged_broken(
        &mut self,
        plan: &Plan,
        invariant: &Invariant,
        reason: &str,
        step: &mut Step<'_>,
    ) {
        let hit = Hit {
            index: 0,
            signature: Signature::of_judgment(invariant.id),
            shown: invariant.text.clone(),
            why: Some(format!("{JUDGED}{reason}")),
        };
        let breach = self.breach(plan.id, None, invariant, hit);
        let breaches = vec![breach];
        let kind = verdict_of(&breaches);
        self.emit(
            step,
            EventKind::ChangeFound {
                plan_id: plan.id,
                agent: plan.agent.clone().unwrap_or_default(),
                session: String::new(),
                command: String::new(),
                verdict: Verdict {
                    verdict: kind,
                    reason: message::judged(kind, plan.id, &breaches),
                    breaches: breaches.clone(),
                },
            },
        );
        if self.judged_violation(plan.id, invariant.id).is_none() {
            self.violated(plan.id, invariant, format!("{JUDGED}{reason}"), None, step);
        }
        if kind == VerdictKind::Halt && !plan.is_halted() {
            self.halt(plan.id, &breaches, step);
        }
        self.unreported.entry(plan.id).or_default().extend(breaches);
    }

    /// The open violation that a judge found, and not one that somebody reported of the same
    /// clause: a judge takes back only what a judge said.
    fn judged_violation(&self, plan: PlanId, invariant: InvariantId) -> Option<Violation> {
        let mut open = self.state.open_violations(plan);
        open.find(|v| v.invariant_id == invariant && v.details.starts_with(JUDGED))
            .cloned()
    }

    /// A clause holds: that corrects what a judge found before.
    fn judged_to_hold(&mut self, plan: &Plan, invariant: &Invariant, step: &mut Step<'_>) {
        self.under_way.sent_back.remove(&(plan.id, invariant.id));
        if let Some(violation) = self.judged_violation(plan.id, invariant.id) {
            self.corrected(violation, "the judge", step);
        }
    }

    /// The verdict at the end of a turn on what judges found: the agent is sent back with the
    /// reason as often as the configuration says. After that its turn may end, or an agent and a
    /// judge that disagree would never stop; the violation stays, and a person decides.
    pub(super) fn sent_back(&mut self, plan: PlanId, found: Verdict) -> Verdict {
        if found.verdict != VerdictKind::Deny {
            return found;
        }
        let limit = self.judge.send_back;
        let judged = found.breaches.iter().all(|b| b.signature.is_judgment());
        if found.breaches.is_empty() || !judged {
            return found;
        }
        let mut goes_on = false;
        for breach in &found.breaches {
            let key = (plan, breach.invariant_id);
            let count = self.under_way.sent_back.entry(key).or_default();
            goes_on |= *count < limit;
            *count += 1;
        }
        match goes_on {
            true => found,
            false => Verdict::allow(),
        }
    }

    /// Takes the checks that are to be made now; whoever takes them has to make them, and hand
    /// their answers to [`Core::judged`] or give them up.
    pub(crate) fn take_jobs(&mut self) -> Vec<JudgeJob> {
        std::mem::take(&mut self.under_way.jobs)
    }
}
