//! What holds with an agent and what does not: data that `plan check`, `doctor` and the screen
//! show.

use serde::Serialize;

use super::dialect::Moment;
use crate::model::Layer;

/// How a halt reaches an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Halts {
    /// An answer ends the run.
    Native,
    /// Every later action is denied until the model gives up.
    ByDenial,
}

/// What becomes of an action whose hook fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fails {
    /// The action runs.
    Open,
    /// The action is refused.
    Closed,
    /// Nobody has tried.
    Unknown,
}

/// Whether something holds, as far as anybody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    Yes,
    No,
    Unknown,
}

/// What the data rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// That version was run.
    Run(&'static str),
    /// The agent's documentation.
    Documented,
    /// What others report.
    Reported,
}

/// What an agent's hooks can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    pub can_halt: Halts,
    pub can_ask: bool,
    pub reason_reaches_model: Known,
    /// When the hook crashes.
    pub on_crash: Fails,
    /// When the hook does not answer in time.
    pub on_timeout: Fails,
    pub covers_mcp: Known,
    pub covers_subagents: Known,
    pub has_call_id: bool,
    /// The agent reports when an action has ended, so files can be looked at then.
    pub tells_end: bool,
    /// Input to a running command comes by no hook.
    pub steers_unseen: bool,
    /// The moments at which a text reaches the model besides a reason.
    pub hears_at: &'static [Moment],
    pub evidence: Evidence,
    /// What a person should know besides, each a sentence without its full stop.
    pub gaps: &'static [&'static str],
}

/// How far an invariant holds with an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Support {
    Enforced,
    Partly,
    Unsupported,
}

impl Support {
    /// The word of the command line and the JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Partly => "partly",
            Self::Unsupported => "unsupported",
        }
    }
}

/// How far, and why not further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    pub support: Support,
    pub why: String,
}

impl Capabilities {
    /// How far an invariant of that layer holds with the agent.
    pub fn coverage(&self, layer: &Layer, judge: bool) -> Coverage {
        let (support, why) = match layer {
            Layer::Letter(_) => {
                let mut why = match self.tells_end {
                    true => "file tools and commands are checked before they act; what a script or program changes is found right after it",
                    false => "file tools and commands are checked before they act; what a script or program changes is found at the next action",
                }
                .to_owned();
                match self.covers_subagents {
                    Known::Yes => {}
                    Known::No => why.push_str("; sub-agents act unseen"),
                    Known::Unknown => why.push_str("; whether sub-agents are seen is not known"),
                }
                (Support::Partly, why)
            }
            Layer::Plain => (
                Support::Partly,
                match self.hears_at.is_empty() {
                    false => {
                        "told to the model at the start; nobody judges it, others can report it"
                    }
                    true => {
                        "this agent's model cannot be told; nobody judges it, others can report it"
                    }
                }
                .to_owned(),
            ),
            Layer::Judgment { .. } if judge => (
                Support::Partly,
                match self.tells_end {
                    true => "a judge reads it at its checkpoint; what is broken is told to the model, and keeps the plan from being applied",
                    false => "a judge reads it; this agent tells no end of a turn, so that only each_edit and the gate of apply count",
                }
                .to_owned(),
            ),
            Layer::Judgment { .. } => (
                Support::Unsupported,
                "no judge is configured to read it".to_owned(),
            ),
            Layer::Assent { .. } => (
                Support::Partly,
                match self.can_ask {
                    true => "a change waits for a person: on invar's screen, else in the agent's own prompt; what a script changes is found after it",
                    false => "a change waits for a person on invar's screen, else it is denied until `invar assent approve`; what a script changes is found after it",
                }
                .to_owned(),
            ),
        };
        Coverage { support, why }
    }

    /// What does not hold, in sentences without their full stops, the gravest first.
    pub fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        let mut say = |applies: bool, text: &str| {
            if applies {
                limits.push(text.to_owned());
            }
        };
        say(
            self.covers_subagents == Known::No,
            "its sub-agents act unseen",
        );
        say(
            self.covers_subagents == Known::Unknown,
            "whether its sub-agents are seen is not known",
        );
        say(
            self.covers_mcp == Known::No,
            "tools of MCP servers act unseen",
        );
        say(
            self.on_crash == Fails::Open,
            "an action runs when the hook process cannot be started",
        );
        say(
            self.on_timeout == Fails::Open,
            "an action runs when the hook does not answer in time; invar answers long before",
        );
        say(
            self.can_halt == Halts::ByDenial,
            "a halt denies every later action, and the run ends when the model gives up",
        );
        say(
            !self.tells_end,
            "nothing tells when a command has ended, so its changes are found at the next action",
        );
        say(
            self.hears_at.is_empty(),
            "the model cannot be told the invariants; it learns them from denials",
        );
        say(
            self.reason_reaches_model != Known::Yes,
            "it is not known whether the reason of a denial reaches the model",
        );
        limits.extend(self.gaps.iter().map(|g| (*g).to_owned()));
        limits
    }
}
