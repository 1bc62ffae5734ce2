//! What a judge was asked and what it answered.

use jiff::{Timestamp, civil::Date, tz::Offset};
use serde::{Deserialize, Serialize};

use super::{CheckId, InvariantId, PlanId};

/// Money, in millionths of the unit that the configuration uses.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Money(pub u64);

impl Money {
    /// From the unit itself; what is no amount counts as nothing.
    pub fn of(amount: f64) -> Self {
        match amount.is_finite() && amount > 0.0 {
            true => Self((amount * 1_000_000.0).ceil() as u64),
            false => Self(0),
        }
    }

    /// The sum, which never wraps.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// That many times the amount.
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000);
        let short = text.trim_end_matches('0');
        let decimals = short.len().saturating_sub(short.find('.').unwrap_or(0) + 1);
        match decimals {
            0 | 1 => write!(
                f,
                "{}.{:02}",
                self.0 / 1_000_000,
                self.0 % 1_000_000 / 10_000
            ),
            _ => f.write_str(short),
        }
    }
}

/// One action of an agent that a judge has to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedAction {
    pub plan_id: PlanId,
    /// The event that recorded it.
    pub seq: u64,
    pub tool: String,
    pub paths: Vec<String>,
    /// The change as a person reads it, cut where it is long.
    pub change: String,
}

/// What one call of a judge gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeAnswer {
    /// Whether the clause holds, for an answer that could be read.
    #[serde(default)]
    pub holds: Option<bool>,
    /// The judge's reason, or why there is no answer.
    pub reason: String,
    /// What it said it cost; many judges do not say.
    #[serde(default)]
    pub cost: Option<Money>,
    pub millis: u64,
}

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    Holds,
    Broken,
    /// No readable answer: the check stays due.
    Failed,
}

/// One check of one clause: the question, all answers, what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeCheck {
    pub id: CheckId,
    pub plan_id: PlanId,
    pub invariant_id: InvariantId,
    /// The clause as it was asked.
    pub clause: String,
    /// The kind of judge and its model.
    pub judge: String,
    pub prompt_version: u32,
    /// SHA-256 in hex over clause, actions, judge and prompt: the same question.
    pub digest: String,
    /// The last action that was read.
    pub upto: u64,
    pub actions: usize,
    pub answers: Vec<JudgeAnswer>,
    pub outcome: CheckOutcome,
    /// The reason of the outcome.
    pub reason: String,
    /// What is charged: what the answers said, and the estimate for those that said nothing.
    pub cost: Money,
    /// It was answered before; nobody was asked.
    #[serde(default)]
    pub cached: bool,
    pub at: Timestamp,
}

impl JudgeCheck {
    /// The day (UTC) that it is charged to.
    pub fn day(&self) -> Date {
        day_of(self.at)
    }
}

/// The day of a moment, in UTC: what a bound of a day is counted by.
pub fn day_of(at: Timestamp) -> Date {
    Offset::UTC.to_datetime(at).date()
}

/// What some checks cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    pub money: Money,
    /// How often a judge was called.
    pub checks: u32,
}

impl Cost {
    /// Adds what one check cost.
    pub fn add(&mut self, check: &JudgeCheck) {
        let calls = if check.cached {
            0
        } else {
            check.answers.len() as u32
        };
        self.money = self.money.plus(check.cost);
        self.checks = self.checks.saturating_add(calls);
    }

    /// The sum of both.
    pub fn plus(self, other: Self) -> Self {
        Self {
            money: self.money.plus(other.money),
            checks: self.checks.saturating_add(other.checks),
        }
    }
}

/// What the checks of one day (UTC) cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayCost {
    pub day: Date,
    #[serde(flatten)]
    pub cost: Cost,
}

/// How far a judge has read what was done in a plan, for one clause, and what that cost. The
/// order in which checks come makes no difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeReading {
    pub plan_id: PlanId,
    pub invariant_id: InvariantId,
    /// The last action that was read.
    #[serde(default)]
    pub upto: u64,
    #[serde(flatten)]
    pub cost: Cost,
    /// The youngest check.
    #[serde(default)]
    pub last: Option<CheckId>,
    /// Why the youngest check failed, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl JudgeReading {
    /// Nothing is read yet.
    pub fn new(plan_id: PlanId, invariant_id: InvariantId) -> Self {
        Self {
            plan_id,
            invariant_id,
            upto: 0,
            cost: Cost::default(),
            last: None,
            failed: None,
        }
    }

    /// Takes a check of the clause in.
    pub fn take(&mut self, check: &JudgeCheck) {
        let failed = check.outcome == CheckOutcome::Failed;
        if !failed {
            self.upto = self.upto.max(check.upto);
        }
        self.cost.add(check);
        if self.last.is_none_or(|last| last < check.id) {
            self.last = Some(check.id);
            self.failed = failed.then(|| check.reason.clone());
        }
    }
}

/// How `invar-judge` reaches an HTTP judge; the engine writes it into the question as `http`.
/// `kind` is `openai` or `anthropic`; times are in seconds.
#[derive(Debug, Serialize, Deserialize)]
pub struct HttpSettings {
    pub kind: String,
    pub base_url: String,
    pub model: String,
    pub key_variable: String,
    pub max_tokens: u32,
    pub timeout_seconds: u32,
    pub retries: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_reads_like_money() {
        for (amount, text) in [
            (0.0, "0.00"),
            (1.0, "1.00"),
            (0.5, "0.50"),
            (0.01, "0.01"),
            (0.0042, "0.0042"),
            (12.345_678, "12.345678"),
            (f64::NAN, "0.00"),
            (-3.0, "0.00"),
        ] {
            assert_eq!(Money::of(amount).to_string(), text);
        }
    }
}
