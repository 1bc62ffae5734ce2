//! The lines of the engine's socket: JSON, one line each, a number that ties an answer to what
//! was asked. A connection is answered in the order in which it asked.
//!
//! The two ends may be of different builds, since an engine outlives an update. Every line of a
//! client says its version, and so does every error. Who hears another version says so once, in
//! a form that stays the same in all versions ([`foreign_client`]), and asks or answers no more.

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
        /// The engine's version. The first version said none.
        #[serde(default)]
        v: u32,
        /// What was asked; 0 when the engine could not read that.
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

/// Why a client's line is not answered with a reply. The connection ends after it.
#[derive(Debug)]
pub(super) enum Misread {
    /// A client of another version, and the number of its request.
    Foreign { v: u32, id: u64 },
    /// No line of this language.
    Nonsense(String),
}

/// What a line of any version says of itself.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    v: u32,
    #[serde(default)]
    id: u64,
}

impl ClientLine {
    /// Reads a client's line.
    pub(super) fn read(line: &[u8]) -> Result<Self, Misread> {
        let read = match serde_json::from_slice::<Self>(line) {
            Ok(read) if read.v == PROTOCOL => return Ok(read),
            // Another version may have requests that are unknown here, so that only the head
            // of its lines can be relied upon.
            read => read.map(|_| ()),
        };
        // A struct may also be read from a list, which is no head.
        let is_object = line.trim_ascii_start().first() == Some(&b'{');
        let head = serde_json::from_slice::<Head>(line).ok();
        match (head.filter(|_| is_object), read) {
            (Some(Head { v, id }), _) if v != 0 && v != PROTOCOL => Err(Misread::Foreign { v, id }),
            (_, Err(error)) => Err(Misread::Nonsense(error.to_string())),
            (_, Ok(())) => Err(Misread::Nonsense("it says no version".into())),
        }
    }
}

impl Misread {
    /// The last line that the client is sent.
    pub(super) fn answer(&self) -> String {
        match self {
            Self::Foreign { v, id } => foreign_client(*v, *id),
            Self::Nonsense(why) => {
                let error = EngineError::invalid("the request is not understood").caused_by(why);
                EngineLine::error(0, error).to_line()
            }
        }
    }
}

/// Tells a client of another version that it is one. Clients of all versions read this form, the
/// error of the first version, so that it must never change.
fn foreign_client(v: u32, id: u64) -> String {
    let detail = format!(
        "the engine speaks version {PROTOCOL} of its language and the caller version {v}; end the older one of the two (the engine is process {}) and try again",
        std::process::id()
    );
    serde_json::json!({
        "line": "err", "v": PROTOCOL, "id": id, "error": {"error": "failed", "detail": detail},
    })
    .to_string()
}

impl EngineLine {
    /// An error of this version.
    pub(super) fn error(id: u64, error: EngineError) -> Self {
        Self::Err {
            v: PROTOCOL,
            id,
            error,
        }
    }

    /// The line without its end.
    pub(super) fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| {
            tracing::error!(%error, "an answer could not be encoded");
            let message = format!("the engine could not encode its answer ({error})");
            let error = EngineError::failed(message).hint("please report it");
            // An error of one text can be encoded.
            serde_json::to_string(&Self::error(0, error)).unwrap_or_default()
        })
    }

    /// Reads an engine's line.
    ///
    /// # Errors
    /// The engine is of another version, or did not understand a line of ours. It is no use to
    /// ask on.
    pub(super) fn read(line: &str) -> Result<Self, EngineError> {
        match serde_json::from_str(line) {
            Ok(Self::Err { v, .. }) if v != PROTOCOL => Err(foreign_engine(line)),
            Ok(Self::Err { id: 0, error, .. }) => Err(error),
            Ok(read) => Ok(read),
            Err(_) => Err(foreign_engine(line)),
        }
    }
}

/// What to say of an engine whose lines are not of this version, with its own words where it
/// has any.
fn foreign_engine(line: &str) -> EngineError {
    let said = serde_json::from_str::<serde_json::Value>(line)
        .ok()
        .and_then(|line| Some(line["error"]["detail"].as_str()?.to_owned()));
    let said = said.map_or(String::new(), |said| format!(" (it says: {said})"));
    EngineError::failed(format!(
        "the engine that runs is of another version of invar than this program{said}"
    ))
    .hint("end the older one of the two and try again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Block,
        model::{InvariantId, PlanId, Transition},
        requests::{AssentsDelegated, Ping, PlanList, Pong, Request},
    };

    #[test]
    fn every_kind_of_error_travels() {
        let plan_id: PlanId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let id: InvariantId = "01ARZ3NDEKTSV4RRFFQ69G5FAW".parse().unwrap();
        let transition = Transition::ApplyPlan;
        for error in [
            EngineError::invalid("x; y")
                .caused_by("z")
                .hint("a")
                .hint("b"),
            EngineError::not_for_agents("x"),
            EngineError::not_found("plan", "n").hint("h"),
            EngineError::not_unique("plan", "n", vec!["a".into()]),
            EngineError::blocked(Block {
                plan_id,
                transition,
                violated_ids: vec![id],
                reasons: vec!["r".into()],
            }),
            EngineError::invariant_load(plan_id, transition, vec!["f".into()]),
            EngineError::reconciliation_timeout(plan_id, transition, 1),
            EngineError::halted(plan_id, "r"),
            EngineError::store("x"),
            EngineError::busy("x"),
            EngineError::failed("x"),
        ] {
            let line = EngineLine::error(1, error.clone()).to_line();
            let Ok(EngineLine::Err { error: back, .. }) = EngineLine::read(&line) else {
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
    #[test]
    fn a_client_of_another_version_is_told_so_in_words_that_it_reads() {
        // An unknown request too: what another version may ask is not known.
        for call in [r#"{"op":"ping"}"#, r#"{"op":"fly","to":"the moon"}"#] {
            let line = format!(r#"{{"v":1,"id":7,"call":{call}}}"#);
            let misread = ClientLine::read(line.as_bytes()).unwrap_err();
            let answer: serde_json::Value = serde_json::from_str(&misread.answer()).unwrap();
            // The form of the first version, which stays.
            assert_eq!(answer["line"], "err");
            assert_eq!(answer["id"], 7);
            assert_eq!(answer["error"]["error"], "failed");
            let detail = answer["error"]["detail"].as_str().unwrap();
            assert!(detail.contains("version 2") && detail.contains("version 1"));
        }
    }

    #[test]
    fn an_engine_of_another_version_is_told_from_one_that_refuses() {
        let first = r#"{"line":"err","id":1,"error":{"error":"failed","detail":"the engine speaks version 1 and the caller 2; end the older one (process 7) and try again"}}"#;
        let error = EngineLine::read(first).unwrap_err().to_string();
        assert!(error.contains("another version") && error.contains("process 7"));
        let later = r#"{"line":"err","v":3,"id":1,"error":{"kind":"new"}}"#;
        let error = EngineLine::read(later).unwrap_err().to_string();
        assert!(error.contains("another version"), "{error}");
        for not_ours in ["", "{}", "SSH-2.0-OpenSSH", r#"{"line":"greeting"}"#] {
            assert!(EngineLine::read(not_ours).is_err(), "{not_ours}");
        }
        let refused = EngineLine::error(1, EngineError::invalid("x")).to_line();
        assert!(matches!(
            EngineLine::read(&refused),
            Ok(EngineLine::Err { id: 1, .. })
        ));
    }

    #[test]
    fn what_is_no_request_is_said_to_be_none() {
        for line in [
            "hello",
            "{}",
            r#"{"v":2,"id":1,"call":{"op":"fly"}}"#,
            "[1]",
        ] {
            let misread = ClientLine::read(line.as_bytes()).unwrap_err();
            assert!(misread.answer().contains("not understood"), "{line}");
        }
    }
}
