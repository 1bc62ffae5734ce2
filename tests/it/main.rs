//! What crosses floors: the real binary in a hermetic environment.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod agents;
mod assent;
mod cli;
mod demo;
mod docs;
mod guard;
mod hook;
mod judge;
mod layering;
mod registrar;
mod serving;
mod stores;
mod support;
mod terminal;
