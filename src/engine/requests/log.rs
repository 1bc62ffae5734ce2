//! Requests about the log: every event that was recorded, in order.

use serde::{Deserialize, Serialize};

use crate::store::LogHead;

/// The events after number `since`, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    pub since: u64,
    /// How many at most.
    pub limit: usize,
}

/// Whether the log is as it was written, and the tables hold what follows from it. A broken log
/// is a reply, not an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogVerify {
    /// A head of the log that was kept elsewhere: the log has to go back to it.
    #[serde(default)]
    pub against: Option<LogHead>,
}

/// What lies in the store, and how much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureStore {}
