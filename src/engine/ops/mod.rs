//! What an engine does with each kind of call.

mod actions;
mod assent;
mod attempts;
mod check;
pub(super) mod decided;
mod explain;
pub(super) mod files;
mod findings;
pub(super) mod found;
mod invariants;
mod journal;
pub(super) mod judging;
mod plans;
mod reconcile;
mod sessions;
mod transfer;
mod violations;
