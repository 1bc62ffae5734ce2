//! Requests about the log: every event that was recorded, in order.

use serde::{Deserialize, Serialize};

/// The events after number `since`, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    pub since: u64,
    /// How many at most.
    pub limit: usize,
}

/// Whether the log is as it was written. A broken log is a reply, not an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogVerify {}
