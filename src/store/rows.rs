//! What goes into the store and what comes out of it.

use invar_model::{
    Action, ActionName, Assent, DayCost, Decision, Enforcement, Event, InForce, Invariant,
    InvariantId, JournalEntry, JudgeCheck, JudgeReading, JudgedAction, Plan, PlanId, Project,
    Session, Signature, Strike, Violation,
};

use super::StoreError;

/// A record that leaves what an engine loads when its plan is over.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    Invariant(Invariant),
    Plan(Plan),
    Session(Session),
    Strike(Strike),
    Violation(Violation),
    Assent(Assent),
    /// How far a judge has read for one clause, and what it cost.
    Reading(JudgeReading),
}

/// A row that a batch writes. Keys follow from the values.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    /// A record of what goes on; engines load it.
    Live(Record),
    /// A record of a plan that is over; it is read when it is asked for.
    Past(Record),
    /// A record of a plan that is over belongs to what goes on again.
    Back(Record),
    /// An invariant belonged to a plan that is over, and does no longer.
    InvariantLeft(PlanId, InvariantId),
    Project(Project),
    Action(Action),
    Journal(JournalEntry),
    JournalDropped(u64),
    /// The count starts again.
    StrikeCleared(PlanId, InvariantId, Signature),
    Check(JudgeCheck),
    /// What all checks of a day cost.
    DayCost(DayCost),
    /// An action that a judge has to read.
    JudgedAction(JudgedAction),
    /// It is read, or too old to matter: its plan and number.
    JudgedActionDropped(PlanId, u64),
    Decision(Decision),
    Enforcement(PlanId, Enforcement),
    /// A set of invariants in force, under its digest.
    Set(String, InForce),
    /// How many plans were made from an action.
    PlansOf(ActionName, u64),
    /// An event that a person who watches wants to see.
    Notable(u64),
}

/// What one transaction writes.
#[derive(Debug, Default)]
pub struct Batch {
    pub events: Vec<Event>,
    pub rows: Vec<Row>,
}

impl Batch {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.rows.is_empty()
    }
}

/// All that an engine keeps in memory, as it stood at the last commit.
#[derive(Debug, Default)]
pub struct Loaded {
    pub invariants: Vec<Invariant>,
    pub plans: Vec<Plan>,
    pub projects: Vec<Project>,
    pub actions: Vec<Action>,
    pub journal: Vec<JournalEntry>,
    pub sessions: Vec<Session>,
    pub strikes: Vec<Strike>,
    pub violations: Vec<Violation>,
    pub assents: Vec<Assent>,
    pub readings: Vec<JudgeReading>,
    pub day_costs: Vec<DayCost>,
    pub judged_actions: Vec<JudgedAction>,
    pub plans_of: Vec<(ActionName, u64)>,
    /// The number of the last event; 0 for an empty log.
    pub seq: u64,
    /// Invariants that cannot be read: named, and never skipped in silence.
    pub unreadable: Vec<StoreError>,
}

/// Records of plans that are over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    pub plans: Vec<Plan>,
    pub invariants: Vec<Invariant>,
    pub sessions: Vec<Session>,
    pub strikes: Vec<Strike>,
    pub violations: Vec<Violation>,
    pub assents: Vec<Assent>,
    pub readings: Vec<JudgeReading>,
}
