//! What a judge was asked and what it answered.

use jiff::Timestamp;
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
