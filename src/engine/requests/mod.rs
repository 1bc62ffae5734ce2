//! What an engine can be asked. Each request is a type of its own that names its reply, who may
//! ask it, whether it may be sent again, and the project it belongs to: [`Request`].
//!
//! The table below is the only place that lists them all. From it come [`Call`], any request on
//! its way to an engine, and [`Reply`], any reply on its way back, which the loop and the socket
//! carry without knowing what they are. Everyone else asks with the types.

mod assents;
mod checks;
mod hooks;
mod invariants;
mod log;
mod plans;
mod projects;
mod records;
mod upkeep;

use std::path::Path;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::EngineError;
use crate::{
    model::{
        Assent, AssentId, Breach, Event, Invariant, Plan, Project, ReconciliationResult, Strike,
        Violation,
    },
    store::{LogReport, StoreSize},
};

pub use assents::{AssentAnswer, Assents, AssentsDelegated, Ruling, StillWaiting};
pub use checks::{
    Asked, Check, CheckPath, Checked, Explain, ExplainWhat, Explained, Findings, FindingsReport,
    Offence, ReadEffect, Replay,
};
pub use hooks::{AgentTraits, HookCall, HookEvent, HookReply, PROBE_SESSION};
pub use invariants::{
    Add, Added, Edit, Effective, EffectiveOf, EffectiveSet, History, Import, ImportItem, Imported,
    List, Redo, Remove, Resolved, Restore, Show, Undo, Unresolved,
};
pub use log::{Events, LogVerify, MeasureStore};
pub use plans::{
    PlanCancel, PlanList, PlanMade, PlanRef, PlanResume, PlanShow, PlanTransition, PlanUse,
};
pub use projects::{
    ActionAdd, ActionList, ActionRemove, ActionSummary, ProjectBind, ProjectList, ProjectOf,
};
pub use records::{DecisionNode, Decisions, Enforce, PutBack, Resolve, Strikes, Violations};
pub use upkeep::{AgentPids, Ping, Pong, Snapshot, TakeSnapshot, TreeState, TreeWatch};

/// Who may ask a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// Any program of the same user.
    Anyone,
    /// A person: not a program that an agent started.
    People,
    /// An agent's hook. It runs under the agent, so that it is trusted with no more than that.
    Hooks,
}

/// Whether a request may be sent again when its answer was lost, and nobody knows whether it
/// was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// Twice is the same as once.
    May,
    /// Twice is another thing than once.
    MustNot,
}

/// The project that a request belongs to, as far as it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belongs<'a> {
    /// To no project, or to one that only a record in the store knows.
    Store,
    /// To the project of a directory.
    Directory(&'a Path),
    /// To the project of a plan.
    Plan(&'a PlanRef),
}

impl<'a> Belongs<'a> {
    /// The directory that a person or an agent asks from; `None` when it is not told.
    pub fn directory(self) -> Option<&'a Path> {
        let dir = match self {
            Self::Store => return None,
            Self::Directory(dir) => dir,
            Self::Plan(plan) => plan.cwd.as_path(),
        };
        Some(dir).filter(|d| d.is_absolute())
    }
}

/// A request to an engine.
///
/// Nothing here has a default: a new request does not compile until the table says all of it.
pub trait Request: Clone + Serialize + DeserializeOwned + Send + 'static {
    /// What it is answered with.
    type Reply: std::fmt::Debug + Serialize + DeserializeOwned + Send + 'static;

    /// Its name on the socket.
    const NAME: &'static str;

    /// Who may ask.
    const ASKER: Asker;

    /// Whether it may be sent again.
    const AGAIN: Again;

    /// The project it belongs to.
    fn belongs_to(&self) -> Belongs<'_>;

    /// The request as one of all.
    fn into_call(self) -> Call;

    /// Its reply as one of all.
    fn into_reply(reply: Self::Reply) -> Reply;

    /// Its reply out of all; `None` when it is one to another request.
    fn from_reply(reply: Reply) -> Option<Self::Reply>;
}

/// The reply to an `R` out of an answer.
///
/// # Errors
/// The answer's own error; [`ErrorKind::Failed`](super::ErrorKind::Failed) for a reply to another request, which only
/// an engine of another build gives.
pub(super) fn reply_to<R: Request>(
    answer: Result<Reply, EngineError>,
) -> Result<R::Reply, EngineError> {
    R::from_reply(answer?).ok_or_else(|| {
        EngineError::failed(format!(
            "the engine answered {:?} with the reply to another request",
            R::NAME
        ))
        .hint("it may be of another version: end its process and try again")
    })
}

/// Makes [`Call`], [`Reply`] and the [`Request`]s out of one table.
macro_rules! requests {
    ($(
        $request:ident = $name:literal -> $reply:ty,
        $asker:ident, $again:ident, |$this:ident| $belongs:expr;
    )*) => {
        /// Any request, on its way to an engine.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "op")]
        pub enum Call {
            $(#[serde(rename = $name)] $request($request),)*
        }

        /// Any reply, on its way back; named like the request that it answers.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "reply", content = "value")]
        pub enum Reply {
            $(#[serde(rename = $name)] $request(Box<$reply>),)*
        }

        impl Call {
            /// The request's [`Request::NAME`].
            pub fn name(&self) -> &'static str {
                match self { $(Self::$request(_) => $request::NAME,)* }
            }

            /// The request's [`Request::ASKER`].
            pub fn asker(&self) -> Asker {
                match self { $(Self::$request(_) => $request::ASKER,)* }
            }

            /// The request's [`Request::AGAIN`].
            pub fn again(&self) -> Again {
                match self { $(Self::$request(_) => $request::AGAIN,)* }
            }

            /// The request's [`Request::belongs_to`].
            pub fn belongs_to(&self) -> Belongs<'_> {
                match self { $(Self::$request(request) => request.belongs_to(),)* }
            }
        }

        $(
            impl From<$request> for Call {
                fn from(request: $request) -> Self {
                    Self::$request(request)
                }
            }

            impl Request for $request {
                type Reply = $reply;
                const NAME: &'static str = $name;
                const ASKER: Asker = Asker::$asker;
                const AGAIN: Again = Again::$again;

                fn belongs_to(&self) -> Belongs<'_> {
                    let $this = self;
                    $belongs
                }

                fn into_call(self) -> Call {
                    Call::$request(self)
                }

                fn into_reply(reply: $reply) -> Reply {
                    Reply::$request(Box::new(reply))
                }

                fn from_reply(reply: Reply) -> Option<$reply> {
                    match reply {
                        Reply::$request(reply) => Some(*reply),
                        _ => None,
                    }
                }
            }
        )*
    };
}

// request = name -> reply, who may ask, whether again, the project it belongs to
requests! {
    Ping = "ping" -> Pong, Anyone, May, |_r| Belongs::Store;
    TakeSnapshot = "snapshot" -> Snapshot, Anyone, May, |_r| Belongs::Store;
    TreeState = "tree_state" -> TreeWatch, Anyone, May, |r| Belongs::Directory(&r.root);
    AgentPids = "agent_pids" -> Vec<u32>, Anyone, May, |_r| Belongs::Store;

    Add = "add" -> Added, People, MustNot, |r| Belongs::Directory(&r.cwd);
    Edit = "edit" -> Invariant, People, MustNot, |_r| Belongs::Store;
    Remove = "remove" -> Invariant, People, May, |_r| Belongs::Store;
    Restore = "restore" -> Invariant, People, May, |_r| Belongs::Store;
    Undo = "undo" -> Vec<Invariant>, People, MustNot, |r| Belongs::Directory(&r.cwd);
    Redo = "redo" -> Vec<Invariant>, People, MustNot, |r| Belongs::Directory(&r.cwd);
    Import = "import" -> Imported, People, MustNot, |_r| Belongs::Store;
    Show = "show" -> Invariant, Anyone, May, |_r| Belongs::Store;
    History = "history" -> Vec<Invariant>, Anyone, May, |_r| Belongs::Store;
    List = "list" -> Vec<Invariant>, Anyone, May, |r| belongs_to_plan(r.plan.as_ref());
    Effective = "effective" -> EffectiveSet, Anyone, May, |r| r.of.belongs_to();

    PlanUse = "plan_use" -> PlanMade, People, MustNot, |r| belongs_to_plan(r.parent.as_ref());
    PlanTransition = "plan_transition" -> ReconciliationResult, People, MustNot, |r| Belongs::Plan(&r.plan);
    PlanResume = "plan_resume" -> Plan, People, MustNot, |r| Belongs::Plan(&r.plan);
    PlanCancel = "plan_cancel" -> Plan, People, May, |r| Belongs::Plan(&r.plan);
    PlanShow = "plan_show" -> Plan, Anyone, May, |r| Belongs::Plan(&r.plan);
    PlanList = "plan_list" -> Vec<Plan>, Anyone, May, |_r| Belongs::Store;

    ProjectBind = "project_bind" -> Project, People, May, |r| Belongs::Directory(&r.root);
    ProjectOf = "project_of" -> Project, Anyone, May, |r| Belongs::Directory(&r.dir);
    ProjectList = "project_list" -> Vec<Project>, Anyone, May, |_r| Belongs::Store;
    ActionAdd = "action_add" -> ActionSummary, People, May, |_r| Belongs::Store;
    ActionRemove = "action_remove" -> ActionSummary, People, May, |_r| Belongs::Store;
    ActionList = "action_list" -> Vec<ActionSummary>, Anyone, May, |_r| Belongs::Store;

    Check = "check" -> Checked, Anyone, May, |r| Belongs::Directory(&r.root);
    Findings = "findings" -> FindingsReport, Anyone, May, |r| Belongs::Directory(&r.root);
    Explain = "explain" -> Explained, Anyone, May, |r| Belongs::Directory(&r.root);
    Replay = "replay" -> Vec<Vec<Breach>>, Anyone, May, |r| Belongs::Directory(&r.root);

    Enforce = "enforce" -> ReconciliationResult, People, MustNot, |r| Belongs::Plan(&r.plan);
    Resolve = "resolve" -> Violation, People, May, |_r| Belongs::Store;
    PutBack = "put_back" -> Violation, People, May, |_r| Belongs::Store;
    Violations = "violations" -> Vec<Violation>, Anyone, May, |r| belongs_to_plan(r.plan.as_ref());
    Strikes = "strikes" -> Vec<Strike>, Anyone, May, |r| belongs_to_plan(r.plan.as_ref());
    Decisions = "decisions" -> Vec<DecisionNode>, Anyone, May, |r| Belongs::Plan(&r.plan);

    Assents = "assents" -> Vec<Assent>, Anyone, May, |r| belongs_to_plan(r.plan.as_ref());
    StillWaiting = "still_waiting" -> Vec<AssentId>, Hooks, May, |_r| Belongs::Store;
    AssentAnswer = "assent_answer" -> Assent, People, May, |_r| Belongs::Store;
    AssentsDelegated = "assents_delegated" -> (), Hooks, May, |_r| Belongs::Store;

    Events = "events" -> Vec<Event>, Anyone, May, |_r| Belongs::Store;
    LogVerify = "log_verify" -> LogReport, Anyone, May, |_r| Belongs::Store;
    MeasureStore = "measure_store" -> StoreSize, Anyone, May, |_r| Belongs::Store;

    HookCall = "hook" -> HookReply, Hooks, May, |r| Belongs::Directory(&r.project_dir);
}

fn belongs_to_plan(plan: Option<&PlanRef>) -> Belongs<'_> {
    plan.map_or(Belongs::Store, Belongs::Plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_flat_on_the_socket_and_its_reply_carries_its_name() {
        let call = Call::from(Show { id: "01AR".into() });
        let line = serde_json::to_string(&call).unwrap();
        assert_eq!(line, r#"{"op":"show","id":"01AR"}"#);
        assert_eq!(serde_json::from_str::<Call>(&line).unwrap(), call);
        let ping = serde_json::to_string(&Call::from(Ping {})).unwrap();
        assert_eq!(ping, r#"{"op":"ping"}"#);
        let reply = serde_json::to_string(&Ping::into_reply(Pong { pid: 7 })).unwrap();
        assert_eq!(reply, r#"{"reply":"ping","value":{"pid":7}}"#);
    }

    #[test]
    fn a_reply_to_another_request_is_an_error_and_not_a_value() {
        let other = Ok(PlanList::into_reply(Vec::new()));
        assert!(reply_to::<PlanList>(other.clone()).unwrap().is_empty());
        let error = reply_to::<Ping>(other).unwrap_err().to_string();
        assert!(error.contains("\"ping\"") && error.contains("another version"));
    }

    #[test]
    fn a_request_belongs_to_the_directory_it_tells() {
        let plan = PlanRef {
            text: "@".into(),
            cwd: "/work/app".into(),
        };
        let of = |call: Call| call.belongs_to().directory().map(Path::to_owned);
        let here = Some("/work/app".into());
        assert_eq!(of(PlanShow { plan: plan.clone() }.into()), here);
        let of_plan = EffectiveOf::Plan(plan);
        assert_eq!(of(Effective { of: of_plan }.into()), here);
        assert_eq!(of(PlanList {}.into()), None);
        let relative = ProjectOf { dir: "app".into() };
        assert_eq!(
            of(relative.into()),
            None,
            "a screen may not tell where it is"
        );
    }
}
