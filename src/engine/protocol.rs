//! The lines of the engine's socket: JSON, one line each, a number that ties an answer to what
//! was asked.

use serde::{Deserialize, Serialize};

use super::{
    EngineError,
    requests::{Call, Reply},
};
use crate::model::Event;

/// The version of the socket's language. Both sides must speak the same.
pub const PROTOCOL: u32 = 2;

/// A line from a client to the engine.
#[derive(Debug, Serialize, Deserialize)]
pub struct ClientLine {
    pub v: u32,
    pub id: u64,
    /// Events from here on are wanted as well; answered with a snapshot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subscribe: bool,
    pub call: Call,
}

/// A line from the engine to a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum EngineLine {
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
    use crate::{
        model::{InvariantId, PlanId, Transition},
        requests::{AssentsDelegated, Ping, PlanList, Pong, Request},
    };

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
            let line = serde_json::to_string(&EngineLine::Err {
                id: 1,
                error: error.clone(),
            })
            .unwrap();
            let Ok(EngineLine::Err { error: back, .. }) = serde_json::from_str(&line) else {
                panic!("{line}")
            };
            assert_eq!(back, error);
        }
        for reply in [
            AssentsDelegated::into_reply(()),
            Ping::into_reply(Pong { pid: 1 }),
            PlanList::into_reply(Vec::new()),
        ] {
            let line = serde_json::to_string(&EngineLine::Ok {
                id: 1,
                reply: reply.clone(),
            })
            .unwrap();
            let Ok(EngineLine::Ok { reply: back, .. }) = serde_json::from_str(&line) else {
                panic!("{line}")
            };
            assert_eq!(back, reply);
        }
    }
}
