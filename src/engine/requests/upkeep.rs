//! Requests about the engine itself.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::{
    Action, Assent, DayCost, Event, Invariant, JournalEntry, JudgeCheck, JudgeReading, Money, Plan,
    Project, Session, Strike, Violation,
};

/// Whether an engine is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ping {}

/// It is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pong {
    /// The process that it runs in.
    pub pid: u32,
}

/// Asks for everything a screen shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeSnapshot {}

/// Everything a screen shows, as of event `seq`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub seq: u64,
    pub invariants: Vec<Invariant>,
    pub plans: Vec<Plan>,
    pub projects: Vec<Project>,
    #[serde(default)]
    pub actions: Vec<Action>,
    pub sessions: Vec<Session>,
    pub strikes: Vec<Strike>,
    pub violations: Vec<Violation>,
    #[serde(default)]
    pub assents: Vec<Assent>,
    #[serde(default)]
    pub checks: Vec<JudgeCheck>,
    #[serde(default)]
    pub readings: Vec<JudgeReading>,
    #[serde(default)]
    pub day_costs: Vec<DayCost>,
    /// The changes that can be undone, or done again.
    #[serde(default)]
    pub journal: Vec<JournalEntry>,
    /// What the checks of a plan and of a day may cost, where a judge is configured; nothing
    /// means no bound.
    #[serde(default)]
    pub judge_bounds: Option<(Money, Money)>,
    pub built_in: Vec<Invariant>,
    /// How many breaches there were, counted by the engine.
    #[serde(default)]
    pub breaches: u64,
    /// Copies of guarded files are kept, so that they can be put back.
    #[serde(default)]
    pub restores: bool,
    /// Why the configuration as it stands now cannot be used; what was read before is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_fault: Option<String>,
    /// The last events that a person wants to see, oldest first.
    pub recent: Vec<Event>,
}

/// How the tree of a project directory is watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeState {
    pub root: PathBuf,
}

/// How many files are compared after a command, or why none are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeWatch {
    pub watched: Option<usize>,
    pub fault: Option<String>,
}

/// The processes of the agents at work, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPids {}
