//! What an engine is asked and what it answers: the same types in process and on the socket.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    model::{
        Action, ActionName, Assent, AssentId, Attempt, Breach, Decision, Enforcement, Event,
        Invariant, InvariantId, InvariantPatch, JudgeCheck, ModelError, Money, NewInvariant, Plan,
        PlanId, Project, ProjectName, ReconciliationResult, Scope, Session, Severity, Strike,
        Transition, VerdictKind, Violation,
    },
    rules::{findings::Finding, glob::GlobError},
    store::{LogReport, StoreError},
};

pub use super::hook_call::{AgentTraits, HookCall, HookEvent, HookReply, PROBE_SESSION};

/// The version of the socket's language. Both sides must speak the same.
pub const PROTOCOL: u32 = 1;

/// A plan as a person names it: an id, a unique prefix of four characters or more, or `@` for
/// the current plan of the project that `cwd` lies in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRef {
    pub text: String,
    pub cwd: PathBuf,
}

/// Whose effective set is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectiveOf {
    /// Global alone.
    Global,
    /// Global and project.
    Project(ProjectName),
    /// Global and action: a preview of a plan made from it.
    Action(ActionName),
    /// All that is in force in a plan.
    Plan(PlanRef),
}

/// A call. Reads answer at once; writes answer when they are durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Call {
    Ping,
    Snapshot,
    Add {
        invariant: NewInvariant,
        cwd: PathBuf,
        plan: Option<PlanRef>,
    },
    Edit {
        id: String,
        patch: InvariantPatch,
    },
    Remove {
        id: String,
    },
    Restore {
        id: String,
    },
    /// Takes the last change of an invariant back.
    Undo,
    /// Does the change that was undone last again.
    Redo,
    Show {
        id: String,
    },
    History {
        id: String,
    },
    List {
        scope: Option<Scope>,
        plan: Option<PlanRef>,
        removed: bool,
    },
    Effective {
        of: EffectiveOf,
    },
    PlanUse {
        action: ActionName,
        project: ProjectName,
        params: BTreeMap<String, String>,
        parent: Option<PlanRef>,
    },
    PlanTransition {
        plan: PlanRef,
        transition: Transition,
    },
    PlanResume {
        plan: PlanRef,
    },
    PlanCancel {
        plan: PlanRef,
    },
    PlanShow {
        plan: PlanRef,
    },
    PlanList,
    ProjectBind {
        name: ProjectName,
        root: PathBuf,
    },
    ProjectList,
    /// The project that a directory belongs to.
    ProjectOf {
        dir: PathBuf,
    },
    ActionAdd {
        name: ActionName,
    },
    ActionRemove {
        name: ActionName,
    },
    ActionList,
    /// Takes over invariants from a file: all of them or, when one is refused, none.
    Import {
        items: Vec<ImportItem>,
    },
    /// Asks the letter invariants about paths, without an agent and without strikes.
    Check {
        of: EffectiveOf,
        root: PathBuf,
        paths: Vec<CheckPath>,
    },
    /// What a set of invariants says about itself: contradictions, duplicates and the rest.
    Findings {
        of: EffectiveOf,
        root: PathBuf,
    },
    /// Explains what would happen to an attempt.
    Explain {
        of: EffectiveOf,
        root: PathBuf,
        cwd: PathBuf,
        what: ExplainWhat,
    },
    /// Asks about recorded attempts. Nothing is counted.
    Replay {
        of: EffectiveOf,
        root: PathBuf,
        attempts: Vec<Attempt>,
    },
    Enforce {
        plan: PlanRef,
        violated: Vec<String>,
        response: String,
    },
    Resolve {
        violation: String,
        waive: Option<String>,
    },
    /// What persons were asked, and what they answered.
    Assents {
        plan: Option<PlanRef>,
    },
    /// A person answers.
    AssentAnswer {
        id: String,
        by: String,
        answer: Answer,
    },
    /// The agent asks by its own prompt.
    AssentsDelegated {
        ids: Vec<AssentId>,
    },
    /// Puts the file of a found violation back as it was.
    PutBack {
        violation: String,
    },
    Violations {
        plan: Option<PlanRef>,
    },
    Strikes {
        plan: Option<PlanRef>,
    },
    Decisions {
        plan: PlanRef,
    },
    Events {
        since: u64,
        limit: usize,
    },
    LogVerify,
    Hook(HookCall),
    /// How the tree of a project directory is watched.
    TreeState {
        root: PathBuf,
    },
    /// The processes of the agents at work, as far as they are known.
    AgentPids,
    /// The project directories that agents of a plan work in.
    RootsOf {
        plan: PlanRef,
    },
}

impl Call {
    /// The directory that the call comes from, where it tells: its project's file is looked at.
    pub fn directory(&self) -> Option<&Path> {
        let dir = match self {
            Self::Add { cwd, .. } => cwd,
            Self::ProjectOf { dir } => dir,
            Self::ProjectBind { root, .. }
            | Self::Check { root, .. }
            | Self::Explain { root, .. }
            | Self::Findings { root, .. }
            | Self::Replay { root, .. } => root,
            Self::Hook(call) => &call.project_dir,
            Self::Effective {
                of: EffectiveOf::Plan(plan),
            }
            | Self::PlanTransition { plan, .. }
            | Self::PlanShow { plan } => &plan.cwd,
            _ => return None,
        };
        Some(dir.as_path()).filter(|d| d.is_absolute())
    }

    /// Whether the call changes something that only people change.
    pub fn is_for_people(&self) -> bool {
        matches!(
            self,
            Self::Add { .. }
                | Self::Edit { .. }
                | Self::Remove { .. }
                | Self::Restore { .. }
                | Self::Undo
                | Self::Redo
                | Self::PlanUse { .. }
                | Self::PlanTransition { .. }
                | Self::PlanResume { .. }
                | Self::PlanCancel { .. }
                | Self::ProjectBind { .. }
                | Self::ActionAdd { .. }
                | Self::ActionRemove { .. }
                | Self::Import { .. }
                | Self::Enforce { .. }
                | Self::Resolve { .. }
                | Self::PutBack { .. }
                | Self::AssentAnswer { .. }
        )
    }

    /// Whether the call may be sent again after an answer was lost.
    pub fn is_repeatable(&self) -> bool {
        !matches!(
            self,
            Self::Add { .. }
                | Self::Edit { .. }
                | Self::Undo
                | Self::Redo
                | Self::Import { .. }
                | Self::PlanUse { .. }
                | Self::PlanTransition { .. }
                | Self::PlanResume { .. }
                | Self::Enforce { .. }
        )
    }
}

/// An invariant of a file: whole, as invar exported it, or as a person wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportItem {
    Whole(Invariant),
    New(NewInvariant),
}

/// A person's answer to a question for assent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Approve {
        /// As often as the same change comes in this plan, instead of once.
        for_plan: bool,
    },
    Refuse {
        reason: String,
    },
}

/// An attempt to explain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplainWhat {
    /// A change of a path, as an agent would write it.
    Path(PathBuf),
    /// A command line of a shell.
    Command(String),
}

/// A path that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckPath {
    pub path: PathBuf,
    /// It was removed or moved away, with all that lies under it.
    #[serde(default)]
    pub subtree: bool,
}

/// A changed path that an invariant forbids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offence {
    pub path: String,
    pub invariant_id: InvariantId,
    pub text: String,
    #[serde(flatten)]
    pub scope: Scope,
    pub severity: Severity,
    pub allowed: String,
}

/// What was asked of an invariant, and the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub invariant_id: InvariantId,
    pub text: String,
    #[serde(flatten)]
    pub scope: Scope,
    pub holds: bool,
    /// The paths, or parts of the line, that break it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken_by: Vec<String>,
    /// What would be allowed instead.
    pub allowed: String,
}

/// One thing that was read out of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadEffect {
    /// `change`, `delete`, `below` (anything in a folder), `partial` (a name of which only parts
    /// are known), `unresolved` or `rules` (it would change invar's own).
    pub effect: String,
    /// The path, or why it is not known.
    pub target: String,
    /// The command or sign that does it.
    pub how: String,
    /// The bytes of the line, from and to; absent for a path that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<(usize, usize)>,
    /// Every place that the path means, relative to the project where it lies inside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PathBuf>,
}

/// What would happen to an attempt, and why. Nothing is counted or recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// The action signature: the canonical target, or the command.
    pub signature: String,
    /// Every place that the path means, relative to the project where it lies inside.
    pub places: Vec<PathBuf>,
    pub scratch: bool,
    /// What was read out of the attempt.
    pub effects: Vec<ReadEffect>,
    /// It may change more than could be read; the tree is looked at afterwards.
    pub opaque: bool,
    pub asked: Vec<Asked>,
    /// The verdict of a first attempt.
    pub verdict: VerdictKind,
}

/// An action and how many invariants it carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionSummary {
    pub name: ActionName,
    pub invariants: usize,
    pub plans: usize,
}

/// An invariant that another displaced, as `list --effective` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    pub overridden: Invariant,
    pub by: Invariant,
    pub rationale: String,
    /// Why both cannot be in force, for two that are no copies of each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<String>,
}

/// Invariants that cannot all be in force, and that precedence does not settle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unresolved {
    /// The strongest of those that explain it.
    pub stronger: Invariant,
    /// The others that are needed to explain it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Invariant>,
    pub weaker: Invariant,
    pub proof: String,
    /// A path that the weaker one allows, and one that the others do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witnesses: Option<(String, String)>,
}

/// The effective set of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveSet {
    pub plan_id: Option<PlanId>,
    pub invariants: Vec<Invariant>,
    pub conflicts_resolved: Vec<Resolved>,
    /// Contradictions that keep a plan from going on.
    #[serde(default)]
    pub conflicts_unresolved: Vec<Unresolved>,
    /// invar's own, which guard the guard.
    pub built_in: Vec<Invariant>,
}

/// One reconciliation in a plan's decision tree with its enforcement records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionNode {
    pub decision: Decision,
    pub enforcements: Vec<Enforcement>,
}

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
    /// The last events that a person wants to see, oldest first.
    pub recent: Vec<Event>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", content = "value", rename_all = "snake_case")]
pub enum Reply {
    Done,
    Pong {
        pid: u32,
    },
    Snapshot(Box<Snapshot>),
    Invariant(Box<Invariant>),
    /// Added, with what a person should know about it.
    Added {
        invariant: Box<Invariant>,
        notes: Vec<String>,
    },
    Invariants(Vec<Invariant>),
    Effective(Box<EffectiveSet>),
    Plan(Box<Plan>),
    PlanMade {
        plan: Box<Plan>,
        promoted: usize,
    },
    Plans(Vec<Plan>),
    Project(Project),
    Projects(Vec<Project>),
    Action(ActionSummary),
    Actions(Vec<ActionSummary>),
    Imported {
        added: usize,
        changed: usize,
        unchanged: usize,
    },
    Checked {
        checked: usize,
        offences: Vec<Offence>,
    },
    Explained(Box<Explained>),
    Findings {
        plan_id: Option<PlanId>,
        findings: Vec<Finding>,
        /// Those that the findings name.
        invariants: Vec<Invariant>,
    },
    /// What each attempt would break, in their order.
    Replayed(Vec<Vec<Breach>>),
    Reconciled(Box<ReconciliationResult>),
    Violation(Box<Violation>),
    Violations(Vec<Violation>),
    Assents(Vec<Assent>),
    Strikes(Vec<Strike>),
    Decisions(Vec<DecisionNode>),
    Events(Vec<Event>),
    Log(LogReport),
    Hook(Box<HookReply>),
    Roots(Vec<PathBuf>),
    Pids(Vec<u32>),
    /// How many files are compared after a command, or why none are.
    Tree {
        watched: Option<usize>,
        fault: Option<String>,
    },
}

/// Why a call was not done. The kinds map to exit codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", content = "detail", rename_all = "snake_case")]
pub enum EngineError {
    /// What was asked for is not well formed.
    #[error("{0}")]
    Invalid(String),
    #[error("{what} {name:?} was not found; {hint}")]
    NotFound {
        what: String,
        name: String,
        hint: String,
    },
    #[error("{what} {name:?} is not unique: it could be {}; give more characters", candidates.join(", "))]
    NotUnique {
        what: String,
        name: String,
        candidates: Vec<String>,
    },
    /// `ReconciliationBlocked` of the seeds.
    #[error("{} of plan {plan_id} is blocked: {}", transition.verb(), reasons.join("; "))]
    Blocked {
        plan_id: PlanId,
        transition: Transition,
        violated_ids: Vec<InvariantId>,
        reasons: Vec<String>,
    },
    /// `InvariantLoadError` of the seeds.
    #[error(
        "{} of plan {plan_id} is blocked, since not all invariants can be loaded: {}", transition.verb(), faults.join("; ")
    )]
    InvariantLoad {
        plan_id: PlanId,
        transition: Transition,
        faults: Vec<String>,
    },
    /// `ReconciliationTimeout` of the seeds.
    #[error(
        "{} of plan {plan_id} is blocked: reconciliation took longer than {seconds} s; raise `reconcile_seconds` in the configuration, or remove invariants", transition.verb()
    )]
    ReconciliationTimeout {
        plan_id: PlanId,
        transition: Transition,
        seconds: u32,
    },
    #[error(
        "plan {plan_id} is halted ({reason}); resume it with `invar plan resume {plan_id}`, or cancel it"
    )]
    Halted { plan_id: PlanId, reason: String },
    /// The caller is an agent, and the call is for people.
    #[error("{0}")]
    NotForAgents(String),
    #[error("{0}")]
    Store(String),
    #[error("{0}")]
    Busy(String),
    #[error("{0}")]
    Failed(String),
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Locked { .. } => Self::Busy(error.to_string()),
            other => Self::Store(other.to_string()),
        }
    }
}

impl From<ModelError> for EngineError {
    fn from(error: ModelError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl From<GlobError> for EngineError {
    fn from(error: GlobError) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// A line from client to engine.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    pub v: u32,
    pub id: u64,
    /// Events from here on are wanted as well; answered with a snapshot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subscribe: bool,
    pub call: Call,
}

/// A line from engine to client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Response {
    Ok {
        id: u64,
        reply: Reply,
    },
    Err {
        id: u64,
        error: EngineError,
    },
    Event {
        event: Box<Event>,
    },
    /// Some events did not fit; ask for a snapshot.
    Lagged {
        missed: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Transition;

    #[test]
    fn every_kind_of_error_travels() {
        let plan_id: PlanId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let id: InvariantId = "01ARZ3NDEKTSV4RRFFQ69G5FAW".parse().unwrap();
        for error in [
            EngineError::Invalid("x".into()),
            EngineError::NotForAgents("x".into()),
            EngineError::NotFound {
                what: "plan".into(),
                name: "n".into(),
                hint: "h".into(),
            },
            EngineError::NotUnique {
                what: "plan".into(),
                name: "n".into(),
                candidates: vec!["a".into()],
            },
            EngineError::Blocked {
                plan_id,
                transition: Transition::ApplyPlan,
                violated_ids: vec![id],
                reasons: vec!["r".into()],
            },
            EngineError::InvariantLoad {
                plan_id,
                transition: Transition::ExecutePlan,
                faults: vec!["f".into()],
            },
            EngineError::ReconciliationTimeout {
                plan_id,
                transition: Transition::ExecutePlan,
                seconds: 1,
            },
            EngineError::Halted {
                plan_id,
                reason: "r".into(),
            },
            EngineError::Store("x".into()),
            EngineError::Busy("x".into()),
            EngineError::Failed("x".into()),
        ] {
            let line = serde_json::to_string(&Response::Err {
                id: 1,
                error: error.clone(),
            })
            .unwrap();
            let Ok(Response::Err { error: back, .. }) = serde_json::from_str(&line) else {
                panic!("{line}")
            };
            assert_eq!(back, error);
        }
        for reply in [
            Reply::Done,
            Reply::Pong { pid: 1 },
            Reply::Plans(Vec::new()),
        ] {
            let line = serde_json::to_string(&Response::Ok {
                id: 1,
                reply: reply.clone(),
            })
            .unwrap();
            let Ok(Response::Ok { reply: back, .. }) = serde_json::from_str(&line) else {
                panic!("{line}")
            };
            assert_eq!(back, reply);
        }
    }
}
