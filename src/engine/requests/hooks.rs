//! What an agent's hook reports to an engine, and the answer.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::{AssentId, Attempt, PlanId, Verdict};

/// What an agent's hook reports, in the words of no agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookCall {
    /// The adapter's name, such as `claude-code`.
    pub agent: String,
    /// The agent's name of its root session.
    pub session: String,
    /// The directory the agent was started in, as far as it says so.
    pub project_dir: PathBuf,
    /// The agent's process, where it says so.
    #[serde(default)]
    pub pid: Option<u32>,
    /// The agent's settings files run invar now; looked at when a session starts and when its
    /// settings change.
    #[serde(default)]
    pub hooked: bool,
    /// The session that started this one, for an agent whose sub-agents have sessions.
    #[serde(default)]
    pub parent: Option<String>,
    /// The agent is in its own planning mode.
    #[serde(default)]
    pub planning: bool,
    /// Which of the agent's events carried this, for an action that comes by two.
    #[serde(default)]
    pub via: String,
    /// The same moment again, after a judge was waited for.
    #[serde(default)]
    pub again: bool,
    #[serde(default)]
    pub traits: AgentTraits,
    pub what: HookEvent,
}

impl HookCall {
    /// A call of a session that tells nothing besides, from a directory.
    pub fn new(agent: &str, session: &str, project_dir: &Path, what: HookEvent) -> Self {
        Self {
            agent: agent.to_owned(),
            session: session.to_owned(),
            project_dir: project_dir.to_owned(),
            pid: None,
            hooked: false,
            parent: None,
            planning: false,
            via: String::new(),
            again: false,
            traits: AgentTraits::default(),
            what,
        }
    }
}

/// What an agent can do at this moment, as far as an answer depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTraits {
    /// What the reply's context says reaches the model.
    pub hears: bool,
    /// It tells when an action has ended.
    pub tells_end: bool,
    /// What is typed into a running command comes by no hook.
    pub steers_unseen: bool,
}

impl Default for AgentTraits {
    fn default() -> Self {
        Self {
            hears: true,
            tells_end: true,
            steers_unseen: false,
        }
    }
}

/// The session name of `doctor`'s attempts: they are decided, and neither counted nor recorded.
pub const PROBE_SESSION: &str = "invar-doctor";

/// The moments of a session that matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum HookEvent {
    SessionStart,
    SessionEnd,
    /// A person sent a prompt; a halted run must not begin a turn.
    Prompt,
    /// Before an action.
    Attempt(Attempt),
    /// After an action that may have changed more than it said.
    Ran(Attempt),
    /// The agent ends its turn, or one of its sub-agents does.
    Stopped {
        turn: bool,
    },
    /// The agent's settings changed; the sentence says what switches invar off in them.
    Settings {
        fault: Option<String>,
    },
    /// All actions of a turn are answered; a halted run ends here.
    Settled,
}

/// The answer to a [`HookCall`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookReply {
    pub plan_id: Option<PlanId>,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What the model is told besides, such as the effective set at the start.
    #[serde(default)]
    pub context: Option<String>,
    /// What a person has to answer first, for a verdict that asks.
    #[serde(default)]
    pub waiting: Vec<AssentId>,
    /// Somebody looks at a screen and may answer soon.
    #[serde(default)]
    pub attended: bool,
    /// A judge is reading what the turn did; its answer may be soon.
    #[serde(default)]
    pub judging: bool,
}

impl HookReply {
    /// A verdict and nothing besides.
    pub fn of(verdict: Verdict) -> Self {
        Self {
            plan_id: None,
            verdict,
            context: None,
            waiting: Vec::new(),
            attended: false,
            judging: false,
        }
    }
}
