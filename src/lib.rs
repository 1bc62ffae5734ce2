//! invar keeps your invariants true while coding agents work.
//!
//! The folders are floors: a file uses what stands below it and nothing above
//! (`ARCHITECTURE.md`). The lower four are crates of their own, so that the compiler keeps them
//! apart; `tests/it/layering.rs` watches the upper ones.

pub mod agents;
pub mod app;
pub mod cli;
pub mod demo;
pub mod ui;

pub use invar_engine as engine;
pub use invar_model as model;
pub use invar_rules as rules;
pub use invar_store as store;
