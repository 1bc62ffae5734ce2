//! The event log: what happened, in order, each entry chained to the one before.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Action, Assent, Attempt, Decision, Enforcement, InForce, Invariant, InvariantId, JournalEntry,
    JournalStep, JudgeCheck, Phase, Plan, PlanId, Project, ProjectName, Session, Signature,
    Transition, Verdict, VerdictKind, Violation,
};

/// The hash that the first event is chained to.
pub const GENESIS_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Why a plan record changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum PlanChange {
    Entered {
        phase: Phase,
    },
    /// Its invariants keep it from the transition. Emitted again when they are others.
    Blocked {
        transition: Transition,
    },
    /// Nothing keeps it from the transition any more.
    Unblocked {
        transition: Transition,
    },
    Halted {
        reason: String,
    },
    /// A person resumed it; these counts start again.
    Resumed {
        cleared: Vec<(InvariantId, Signature)>,
    },
    Cancelled,
    Completed,
    /// An agent's session began or ended in it.
    Session,
}

/// What happened. Those named `INVARIANT_…` and `CORRECTION_APPLIED` are what an outside actor follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EventKind {
    InvariantAdded {
        invariant: Invariant,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        journal: Option<JournalStep>,
    },
    InvariantEdited {
        invariant: Invariant,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        journal: Option<JournalStep>,
    },
    InvariantRemoved {
        invariant: Invariant,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        journal: Option<JournalStep>,
    },
    InvariantRestored {
        invariant: Invariant,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        journal: Option<JournalStep>,
    },
    ProjectBound {
        project: Project,
    },
    ActionAdded {
        action: Action,
    },
    ActionRemoved {
        action: Action,
    },
    PlanCreated {
        plan: Plan,
    },
    PlanChanged {
        plan: Plan,
        #[serde(flatten)]
        change: PlanChange,
    },
    /// An agent's session began, or goes on after it had ended.
    SessionStarted {
        session: Session,
    },
    /// Something about a session at work is new: its plan, its process, whether its agent runs
    /// the hooks, or what the model was told.
    SessionChanged {
        session: Session,
    },
    SessionEnded {
        session: Session,
    },
    /// An attempt and its answer; with breaches, they are counted as strikes.
    Attempted {
        plan_id: PlanId,
        agent: String,
        session: String,
        attempt: Attempt,
        #[serde(flatten)]
        verdict: Verdict,
    },
    /// Changes that were found after a command, and what they break; counted as strikes.
    ChangeFound {
        plan_id: PlanId,
        agent: String,
        session: String,
        /// The command that just ran.
        command: String,
        #[serde(flatten)]
        verdict: Verdict,
    },
    /// The end of a command was told.
    CommandEnded {
        plan_id: PlanId,
        agent: String,
        session: String,
        #[serde(default)]
        call: Option<String>,
    },
    /// A guarded file was changed while no agent's command ran; nobody is blamed.
    ChangeNotAttributed {
        project: ProjectName,
        path: String,
        text: String,
        invariant_id: InvariantId,
    },
    /// The configuration was read again while the engine ran.
    ConfigurationRead {
        /// Why it cannot be used, with line and column; what was read before stays in force.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<String>,
    },
    /// One per invariant whose violation stands at a reconciliation or is reported.
    InvariantViolated {
        plan_id: PlanId,
        violation: Violation,
    },
    /// A person is asked for assent, or has answered, or the answer was used.
    AssentChanged {
        assent: Assent,
    },
    /// A judge has read what an agent did, or could not.
    JudgeChecked {
        check: JudgeCheck,
    },
    /// One per enforcement record, in logs of the first schema. Newer ones name the set in force
    /// in `INVARIANT_RECONCILED`, from which the records follow.
    InvariantEnforced {
        plan_id: PlanId,
        record: Enforcement,
    },
    /// Once per reconciliation.
    InvariantReconciled {
        plan_id: PlanId,
        #[serde(default)]
        transition: Option<Transition>,
        success: bool,
        effective: usize,
        conflicts_detected: usize,
        conflicts_resolved: usize,
        decisions: Vec<Decision>,
        violated_ids: Vec<InvariantId>,
        /// The digest of the set that is in force; absent in logs of the first schema.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        set: Option<String>,
        /// That set, written out the first time that the store meets it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        in_force: Option<InForce>,
    },
    /// The oldest events went to a file of their own, beside the store.
    LogArchived {
        first: u64,
        last: u64,
        file: String,
    },
    /// The store took another schema. What follows from the log from here on rests on what this
    /// says.
    StoreMigrated {
        from: u32,
        to: u32,
        /// The changes that could be undone then; earlier events do not say them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        journal: Vec<JournalEntry>,
    },
    /// A violation no longer stands: corrected or waived.
    CorrectionApplied {
        plan_id: PlanId,
        violation: Violation,
    },
}

impl EventKind {
    /// The event's name as it stands in the log, such as `INVARIANT_ADDED`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::InvariantAdded { .. } => "INVARIANT_ADDED",
            Self::InvariantEdited { .. } => "INVARIANT_EDITED",
            Self::InvariantRemoved { .. } => "INVARIANT_REMOVED",
            Self::InvariantRestored { .. } => "INVARIANT_RESTORED",
            Self::ProjectBound { .. } => "PROJECT_BOUND",
            Self::ActionAdded { .. } => "ACTION_ADDED",
            Self::ActionRemoved { .. } => "ACTION_REMOVED",
            Self::PlanCreated { .. } => "PLAN_CREATED",
            Self::PlanChanged { .. } => "PLAN_CHANGED",
            Self::SessionStarted { .. } => "SESSION_STARTED",
            Self::SessionChanged { .. } => "SESSION_CHANGED",
            Self::SessionEnded { .. } => "SESSION_ENDED",
            Self::Attempted { .. } => "ATTEMPTED",
            Self::AssentChanged { .. } => "ASSENT_CHANGED",
            Self::JudgeChecked { .. } => "JUDGE_CHECKED",
            Self::ChangeFound { .. } => "CHANGE_FOUND",
            Self::CommandEnded { .. } => "COMMAND_ENDED",
            Self::ChangeNotAttributed { .. } => "CHANGE_NOT_ATTRIBUTED",
            Self::ConfigurationRead { .. } => "CONFIGURATION_READ",
            Self::InvariantViolated { .. } => "INVARIANT_VIOLATED",
            Self::InvariantEnforced { .. } => "INVARIANT_ENFORCED",
            Self::InvariantReconciled { .. } => "INVARIANT_RECONCILED",
            Self::LogArchived { .. } => "LOG_ARCHIVED",
            Self::StoreMigrated { .. } => "STORE_MIGRATED",
            Self::CorrectionApplied { .. } => "CORRECTION_APPLIED",
        }
    }

    /// Whether a person who watches wants to see it: refusals, violations, and what moves or
    /// stops a plan.
    pub fn is_notable(&self) -> bool {
        match self {
            Self::Attempted { verdict, .. } => verdict.verdict != VerdictKind::Allow,
            Self::PlanChanged { change, .. } => !matches!(change, PlanChange::Session),
            Self::InvariantViolated { .. }
            | Self::CorrectionApplied { .. }
            | Self::ChangeFound { .. }
            | Self::ChangeNotAttributed { .. }
            | Self::ConfigurationRead { .. }
            | Self::AssentChanged { .. }
            | Self::JudgeChecked { .. } => true,
            _ => false,
        }
    }

    /// The plan it is about, when it is about one.
    pub fn plan_id(&self) -> Option<PlanId> {
        match self {
            Self::PlanCreated { plan } | Self::PlanChanged { plan, .. } => Some(plan.id),
            Self::SessionStarted { session }
            | Self::SessionChanged { session }
            | Self::SessionEnded { session } => Some(session.plan),
            Self::Attempted { plan_id, .. }
            | Self::ChangeFound { plan_id, .. }
            | Self::CommandEnded { plan_id, .. }
            | Self::InvariantViolated { plan_id, .. }
            | Self::InvariantEnforced { plan_id, .. }
            | Self::InvariantReconciled { plan_id, .. }
            | Self::CorrectionApplied { plan_id, .. } => Some(*plan_id),
            Self::AssentChanged { assent } => Some(assent.plan_id),
            Self::JudgeChecked { check } => Some(check.plan_id),
            _ => None,
        }
    }
}

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// 1 for the first entry of a store; no number is left out.
    pub seq: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub kind: EventKind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_what_json_says() {
        let plan_id: PlanId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let kind = EventKind::InvariantReconciled {
            plan_id,
            transition: Some(Transition::ExecutePlan),
            success: true,
            effective: 4,
            conflicts_detected: 1,
            conflicts_resolved: 1,
            decisions: Vec::new(),
            violated_ids: Vec::new(),
            set: None,
            in_force: None,
        };
        let event = Event {
            seq: 7,
            at: Timestamp::UNIX_EPOCH,
            kind,
        };
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!(json["event"], event.kind.name());
        assert_eq!(json["seq"], 7);
        assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event);
    }
}
