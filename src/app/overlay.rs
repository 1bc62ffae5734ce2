//! What can lie over the panes.

use super::{editor::Editor, palette::Palette, resolver::Resolver};
use crate::engine::requests::DecisionNode;
use crate::model::{InvariantId, PlanId};

/// A view on top of the panes; the topmost gets the keys.
pub enum Overlay {
    Help {
        scroll: usize,
        /// Only lines with this text show.
        filter: String,
    },
    Palette(Palette),
    Resolver(Resolver),
    /// What needs a person; the selected row.
    Inbox {
        selected: usize,
    },
    Editor(Box<Editor>),
    Confirm(Confirm),
    /// An invariant in full.
    Invariant {
        id: InvariantId,
        scroll: usize,
    },
    /// A plan in full, with its decision tree once the engine has sent it.
    Plan {
        id: PlanId,
        scroll: usize,
        decisions: Option<Vec<DecisionNode>>,
    },
    /// A row of the breaches in full, by its event number.
    Breach {
        seq: u64,
        scroll: usize,
    },
}

/// What a confirmed question leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmed {
    Remove(InvariantId),
    Resume(PlanId),
    Cancel(PlanId),
    DiscardEdit,
    Quit,
}

/// A question with two buttons; the safe one is focused at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirm {
    pub question: String,
    /// What it is about, in full.
    pub subject: Vec<String>,
    pub yes: &'static str,
    pub no: &'static str,
    pub yes_focused: bool,
    pub then: Confirmed,
}

impl Confirm {
    /// A question whose safe answer is `no`.
    pub fn new(
        question: impl Into<String>,
        subject: Vec<String>,
        yes: &'static str,
        no: &'static str,
        then: Confirmed,
    ) -> Self {
        Self {
            question: question.into(),
            subject,
            yes,
            no,
            yes_focused: false,
            then,
        }
    }
}
