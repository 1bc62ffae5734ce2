//! What an engine does with each kind of call.

mod attempts;
mod invariants;
mod plans;
mod reconcile;
mod sessions;
mod violations;
