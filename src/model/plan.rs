//! Plans, the projects they work in and the agent sessions bound to them.

use std::{collections::BTreeMap, path::PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    ActionName, Attempt, Effect, InvariantId, PlanId, ProjectName, Signature, words::words,
};

/// Where a plan stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Action,
    Strategize,
    Execute,
    Apply,
}

impl Phase {
    /// The phases a person sees move, in order.
    pub const SHOWN: [Phase; 3] = [Self::Strategize, Self::Execute, Self::Apply];
}

words!(Phase { Action = "action", Strategize = "strategize", Execute = "execute", Apply = "apply" });

/// How a plan stands within its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseState {
    Queued,
    Processing,
    Complete,
    Blocked,
    Halted,
    Errored,
    Cancelled,
    Applied,
}

words!(PhaseState { Queued = "queued", Processing = "processing", Complete = "complete", Blocked = "blocked", Halted = "halted", Errored = "errored", Cancelled = "cancelled", Applied = "applied" });

/// A step from one phase to the next. Each runs reconciliation first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transition {
    StartStrategize,
    ExecutePlan,
    ApplyPlan,
}

impl Transition {
    /// The phase that the transition leads to.
    pub fn target(self) -> Phase {
        match self {
            Self::StartStrategize => Phase::Strategize,
            Self::ExecutePlan => Phase::Execute,
            Self::ApplyPlan => Phase::Apply,
        }
    }

    /// The command that asks for it, as `plan VERB`.
    pub fn verb(self) -> &'static str {
        self.target().as_str()
    }

    /// The transition that leads out of `phase`, if any.
    pub fn after(phase: Phase) -> Option<Self> {
        match phase {
            Phase::Action => Some(Self::StartStrategize),
            Phase::Strategize => Some(Self::ExecutePlan),
            Phase::Execute => Some(Self::ApplyPlan),
            Phase::Apply => None,
        }
    }
}

/// One piece of work in one project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub id: PlanId,
    pub project: ProjectName,
    /// The template it was made from; `None` for the automatic plan of a session.
    #[serde(default)]
    pub action: Option<ActionName>,
    #[serde(default)]
    pub parent: Option<PlanId>,
    /// The parameters bound by `plan use --set`.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    pub phase: Phase,
    pub state: PhaseState,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When each phase was entered.
    #[serde(default)]
    pub entered: BTreeMap<Phase, Timestamp>,
    /// Made for a session because no person had chosen a plan.
    #[serde(default)]
    pub automatic: bool,
    /// The agent at work in it, as its adapter names it.
    #[serde(default)]
    pub agent: Option<String>,
    /// The transition that reconciliation refused, while the state is `blocked`.
    #[serde(default)]
    pub blocked: Option<Transition>,
    /// What blocks, while the state is `blocked`.
    #[serde(default)]
    pub violated_ids: Vec<InvariantId>,
    /// Why its invariants could not be reconciled at all, while the state is `blocked`; nothing
    /// when they could and are violated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Why the run was halted, while the state is `halted`.
    #[serde(default)]
    pub halt_reason: Option<String>,
    /// The counts that halted it; resuming clears them.
    #[serde(default)]
    pub halted_by: Vec<(InvariantId, Signature)>,
    /// The state to return to when a person resumes a halted plan.
    #[serde(default)]
    pub resume_to: Option<PhaseState>,
}

impl Plan {
    /// Whether its work is over: applied, cancelled, or an automatic one that completed.
    pub fn is_over(&self) -> bool {
        matches!(self.state, PhaseState::Applied | PhaseState::Cancelled)
            || (self.automatic && self.state == PhaseState::Complete)
    }

    /// Whether agents are denied everything until a person resumes it.
    pub fn is_halted(&self) -> bool {
        self.state == PhaseState::Halted
    }
}

/// A named template; its invariants are those of its scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    pub name: ActionName,
    pub created_at: Timestamp,
    /// False after removal.
    pub active: bool,
}

/// A named place where plans work. Several directories may carry one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    pub name: ProjectName,
    #[serde(default)]
    pub roots: Vec<PathBuf>,
    /// The plan a person chose last with `plan use`.
    #[serde(default)]
    pub current_plan: Option<PlanId>,
}

/// One run of one agent, bound to a plan for as long as it lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub agent: String,
    /// The agent's own name of its root session; sub-agents share it.
    pub session: String,
    pub plan: PlanId,
    pub project: ProjectName,
    /// The project directory as the agent sees it; patterns are anchored here.
    pub root: PathBuf,
    pub started_at: Timestamp,
    /// The agent's process, where it says so.
    #[serde(default)]
    pub pid: Option<u32>,
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// The agent's settings files ran invar when it started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hooked: bool,
    /// Commands that were let through and whose end has not been told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<Running>,
    /// The session that started this one, for a sub-agent with a session of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Which effective set the model was told last, as a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
}

/// A command that may be changing files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// The agent's name of the call, where it gives one.
    #[serde(default)]
    pub call: Option<String>,
    /// The agent's own name of the tool.
    pub tool: String,
    /// The command, or the tool's name again.
    pub command: String,
    pub since: Timestamp,
    /// It goes on after its call has been answered.
    #[serde(default)]
    pub background: bool,
}

impl Running {
    /// The command of an attempt that was let through at `since`.
    pub fn of(attempt: &Attempt, since: Timestamp) -> Self {
        let command = attempt.effects.iter().find_map(|effect| match effect {
            Effect::Opaque { command, .. } => Some(command.clone()),
            _ => None,
        });
        Self {
            call: attempt.call.clone(),
            tool: attempt.tool.clone(),
            command: command.unwrap_or_else(|| attempt.tool.clone()),
            since,
            background: attempt.background,
        }
    }
}

impl Session {
    /// Whether the agent has not said that it left.
    pub fn is_live(&self) -> bool {
        self.ended_at.is_none()
    }
}
