//! The breaches pane: what happened that a person wants to see, newest last, bounded.

use std::collections::VecDeque;

use crate::model::{
    AssentStatus, CheckOutcome, Event, EventKind, PhaseState, Plan, PlanChange, PlanId, Transition,
    VerdictKind, ViolationId, visible,
};

/// How many rows are kept; older ones are in the log.
pub const CAPACITY: usize = 10_000;

/// How grave a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Warning,
    Bad,
}

/// A row. Foreign text in it is visible already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRow {
    pub seq: u64,
    pub time: String,
    pub tone: Tone,
    /// One word: deny, halt, warn, blocked, …
    pub word: String,
    /// What was tried, or which plan it is about.
    pub what: String,
    /// The clause, or why.
    pub why: String,
    /// Such as `strike 2/3`.
    pub strike: String,
    pub plan: Option<PlanId>,
    /// Set on the row that first told of a violation.
    pub violation: Option<ViolationId>,
}

/// The rows, and where the window stands.
#[derive(Debug, Default)]
pub struct Stream {
    pub rows: VecDeque<StreamRow>,
    /// Rows that no longer fit.
    pub dropped: u64,
    /// The last row of the window while a person reads back; `None` follows the end.
    pub paused_at: Option<u64>,
}

impl Stream {
    /// Takes an event in, when it is one to show.
    pub fn push(&mut self, event: &Event) {
        if !event.kind.is_notable() {
            return;
        }
        if let Some(row) = row(event) {
            // Emitted again at each gate; show once.
            if row.violation.is_some() && self.rows.iter().any(|r| r.violation == row.violation) {
                return;
            }
            if self.rows.len() == CAPACITY {
                self.rows.pop_front();
                self.dropped += 1;
            }
            self.rows.push_back(row);
        }
    }

    /// How many rows came while the window was held.
    pub fn new_below(&self) -> usize {
        match self.paused_at {
            None => 0,
            Some(seq) => self.rows.iter().rev().take_while(|r| r.seq > seq).count(),
        }
    }
}

/// The row of an event, if it has one.
fn row(event: &Event) -> Option<StreamRow> {
    let plan = event.kind.plan_id();
    let short = plan.map(PlanId::short).unwrap_or_default();
    let make = |tone, word: &str, what: String, why: String, strike: String| StreamRow {
        seq: event.seq,
        time: clock(event.at),
        tone,
        word: word.to_owned(),
        what: one_line(&what),
        why: one_line(&why),
        strike,
        plan,
        violation: match &event.kind {
            EventKind::InvariantViolated { violation, .. } => Some(violation.id),
            _ => None,
        },
    };
    Some(match &event.kind {
        EventKind::Attempted {
            attempt, verdict, ..
        } => {
            let tone = match verdict.verdict {
                VerdictKind::Warn | VerdictKind::Ask => Tone::Warning,
                _ => Tone::Bad,
            };
            let breach = verdict.breaches.iter().max_by_key(|b| b.strike);
            let path = breach.map(|b| b.path.clone()).or_else(|| {
                let paths = attempt.effects.iter().flat_map(|e| e.changed_paths());
                let from_cwd = |p: &std::path::PathBuf| {
                    p.strip_prefix(&attempt.cwd)
                        .unwrap_or(p)
                        .display()
                        .to_string()
                };
                paths.map(from_cwd).next()
            });
            let what = format!("{} {}", attempt.tool, path.unwrap_or_default());
            let why = match breach {
                Some(breach) => breach.text.clone(),
                None => verdict.reason.clone(),
            };
            let strike = match breach {
                Some(b) if b.strike > 0 => match b.limit {
                    Some(limit) => format!("strike {}/{limit}", b.strike),
                    None => String::new(),
                },
                _ => String::new(),
            };
            make(tone, verdict.verdict.as_str(), what, why, strike)
        }
        EventKind::ChangeFound {
            command, verdict, ..
        } => {
            let breach = verdict.breaches.iter().max_by_key(|b| b.strike);
            let paths: Vec<&str> = verdict.breaches.iter().map(|b| b.path.as_str()).collect();
            let strike = match breach {
                Some(b) if b.strike > 0 => match b.limit {
                    Some(limit) => format!("strike {}/{limit}", b.strike),
                    None => String::new(),
                },
                _ => String::new(),
            };
            let why = breach.map(|b| b.text.clone()).unwrap_or_default();
            // What a judge found follows no command.
            let what = match command.is_empty() {
                true => paths.join(" "),
                false => format!("{} after `{command}`", paths.join(" ")),
            };
            make(Tone::Bad, "found", what, why, strike)
        }
        EventKind::ChangeNotAttributed { path, text, .. } => make(
            Tone::Warning,
            "changed",
            format!("{path} by nobody's command"),
            text.clone(),
            String::new(),
        ),
        EventKind::ConfigurationRead { fault } => {
            let (tone, why) = match fault {
                None => (Tone::Good, "in force from now on".to_owned()),
                Some(fault) => (Tone::Bad, format!("not used: {fault}")),
            };
            make(
                tone,
                "config",
                "the configuration was changed".into(),
                why,
                String::new(),
            )
        }
        EventKind::PlanChanged { plan, change } => {
            let subject = format!("plan {short}");
            match change {
                PlanChange::Entered { phase } => make(
                    Tone::Good,
                    "phase",
                    subject,
                    format!("{phase} {}", plan.state),
                    String::new(),
                ),
                PlanChange::Blocked { transition } if plan.state == PhaseState::Blocked => {
                    let why = blocked_by(*transition, plan);
                    make(Tone::Bad, "blocked", subject, why, String::new())
                }
                // Logs of the first schema have one name for both, and the plan tells them apart.
                PlanChange::Blocked { transition } | PlanChange::Unblocked { transition } => {
                    let why = format!("{} can be retried", transition.verb());
                    make(Tone::Good, "unblocked", subject, why, String::new())
                }
                PlanChange::Halted { reason } => {
                    make(Tone::Bad, "halted", subject, reason.clone(), String::new())
                }
                PlanChange::Resumed { .. } => make(
                    Tone::Good,
                    "resumed",
                    subject,
                    "a person let it go on".into(),
                    String::new(),
                ),
                PlanChange::Cancelled => make(
                    Tone::Warning,
                    "cancelled",
                    subject,
                    String::new(),
                    String::new(),
                ),
                PlanChange::Completed => make(
                    Tone::Good,
                    "complete",
                    subject,
                    String::new(),
                    String::new(),
                ),
                PlanChange::Session => return None,
            }
        }
        EventKind::JudgeChecked { check } => {
            let (tone, word) = match check.outcome {
                CheckOutcome::Holds => (Tone::Good, "holds"),
                CheckOutcome::Broken => (Tone::Bad, "broken"),
                CheckOutcome::Failed => (Tone::Warning, "unjudged"),
            };
            let cost = match check.cached {
                true => "cached".to_owned(),
                false => check.cost.to_string(),
            };
            make(tone, word, check.clause.clone(), check.reason.clone(), cost)
        }
        EventKind::AssentChanged { assent } => {
            let subject = format!("{} {}", assent.tool, assent.path);
            let (tone, word) = match &assent.status {
                AssentStatus::Waiting => (Tone::Warning, "asks"),
                AssentStatus::Delegated => (Tone::Warning, "asked"),
                // It was used, which the attempt says.
                AssentStatus::Approved { .. } if assent.let_at.is_some() => return None,
                AssentStatus::Approved { .. } => (Tone::Good, "approved"),
                AssentStatus::Refused { .. } => (Tone::Bad, "refused"),
            };
            make(tone, word, subject, assent.text.clone(), String::new())
        }
        EventKind::InvariantViolated { violation, .. } => make(
            Tone::Bad,
            "violated",
            violation.violated_text.clone(),
            violation.details.clone(),
            String::new(),
        ),
        EventKind::CorrectionApplied { violation, .. } => make(
            Tone::Good,
            "corrected",
            violation.violated_text.clone(),
            violation.details.clone(),
            String::new(),
        ),
        _ => return None,
    })
}

/// What keeps a blocked plan from a transition: `execute is blocked by 2 invariants`.
pub fn blocked_by(transition: Transition, plan: &Plan) -> String {
    let verb = transition.verb();
    match &plan.fault {
        Some(fault) => format!("{verb} is blocked: {fault}"),
        None => format!(
            "{verb} is blocked by {}",
            invariants(plan.violated_ids.len())
        ),
    }
}

/// `1 invariant`, `2 invariants`.
fn invariants(count: usize) -> String {
    match count {
        1 => "1 invariant".to_owned(),
        n => format!("{n} invariants"),
    }
}

fn one_line(text: &str) -> String {
    visible(&text.replace('\n', " ")).into_owned()
}

/// The local time of day.
pub fn clock(at: jiff::Timestamp) -> String {
    at.to_zoned_datetime(jiff::tz::TimeZone::system())
        .strftime("%H:%M:%S")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::plan;

    fn shown(plan: Plan, change: PlanChange) -> (Tone, String, String) {
        let mut stream = Stream::default();
        stream.push(&Event {
            seq: 1,
            at: jiff::Timestamp::UNIX_EPOCH,
            kind: EventKind::PlanChanged { plan, change },
        });
        let row = stream.rows.pop_back().unwrap();
        (row.tone, row.word, row.why)
    }

    #[test]
    fn a_plan_that_cannot_be_reconciled_is_blocked_and_not_unblocked() {
        let transition = Transition::StartStrategize;
        let blocked = Plan {
            state: PhaseState::Blocked,
            blocked: Some(transition),
            fault: Some("not all invariants can be loaded: invar.toml, line 9".into()),
            ..plan(9)
        };
        let (tone, word, why) = shown(blocked, PlanChange::Blocked { transition });
        assert_eq!((tone, word.as_str()), (Tone::Bad, "blocked"));
        assert_eq!(
            why,
            "strategize is blocked: not all invariants can be loaded: invar.toml, line 9"
        );
    }

    #[test]
    fn a_plan_that_may_go_on_is_unblocked_in_new_logs_and_in_old_ones() {
        let transition = Transition::ExecutePlan;
        let queued = Plan {
            state: PhaseState::Queued,
            blocked: Some(transition),
            ..plan(9)
        };
        for change in [
            PlanChange::Unblocked { transition },
            PlanChange::Blocked { transition },
        ] {
            let (tone, word, why) = shown(queued.clone(), change);
            assert_eq!((tone, word.as_str()), (Tone::Good, "unblocked"));
            assert_eq!(why, "execute can be retried");
        }
    }
}
