//! Floor 4: adapters. One file per agent turns its hook JSON into an attempt and a verdict
//! into its answer; nothing else knows any dialect.

mod claude_code;
pub mod install;
mod patch;
mod tools;

use std::path::PathBuf;

use crate::{
    engine::protocol::{HookCall, HookReply},
    model::Layer,
};

/// The longest payload that is read; more is refused.
pub const MAX_PAYLOAD: usize = 64 << 20;

/// What a hook process knows besides its payload.
#[derive(Debug, Clone, Default)]
pub struct HookEnv {
    /// The project directory, where the agent tells it in the environment.
    pub project_dir: Option<PathBuf>,
    /// The agent's process, where it tells it in the environment.
    pub pid: Option<u32>,
    /// The person's home folder, where the agent's own settings lie.
    pub home: Option<PathBuf>,
    /// Made once per process, to tell a repeated call from a new one.
    pub nonce: String,
}

/// What a payload asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The agent's name of the event, which its answer has to repeat.
    pub event: String,
    /// What the engine is asked; `None` for an event that needs no decision.
    pub call: Option<HookCall>,
}

/// Why a payload cannot be decided; answered by a denial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invar denied this action: {reason}")]
pub struct Refusal {
    /// The event, when it could be read.
    pub event: Option<String>,
    pub reason: String,
}

/// What the hook process prints and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    pub stdout: Option<String>,
    pub stderr: String,
    pub exit: u8,
}

impl HookAnswer {
    /// Nothing to say: the agent's own rules go on.
    pub fn silent() -> Self {
        Self {
            stdout: None,
            stderr: String::new(),
            exit: 0,
        }
    }
}

/// How far an invariant holds with an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    pub support: Support,
    pub why: &'static str,
}

/// One agent's dialect.
pub trait Adapter: Sync {
    /// The name on the command line, such as `claude-code`.
    fn name(&self) -> &'static str;

    /// The environment variable that holds the agent's project directory.
    fn project_dir_variable(&self) -> Option<&'static str>;

    /// The environment variable that holds the agent's process id.
    fn pid_variable(&self) -> Option<&'static str>;

    /// What the agent's process is called, for one that does not tell its id.
    fn process_names(&self) -> &'static [&'static str];

    /// How far an invariant of that layer holds with this agent.
    fn coverage(&self, layer: &Layer) -> Coverage;

    /// Reads a payload.
    ///
    /// # Errors
    /// What is missing or unknown, for a denial.
    fn read(&self, payload: &[u8], env: &HookEnv) -> Result<Parsed, Refusal>;

    /// The agent's form of the engine's answer.
    fn answer(&self, event: &str, reply: &HookReply) -> HookAnswer;

    /// The agent's blocking answer when no decision could be made. Works for every event.
    fn refuse(&self, refusal: &Refusal) -> HookAnswer;
}

const ADAPTERS: [&dyn Adapter; 1] = [&claude_code::ClaudeCode];

/// The adapter of that name.
pub fn adapter(name: &str) -> Option<&'static dyn Adapter> {
    ADAPTERS.into_iter().find(|a| a.name() == name)
}

/// The names of all adapters.
pub fn names() -> impl Iterator<Item = &'static str> {
    ADAPTERS.into_iter().map(Adapter::name)
}
