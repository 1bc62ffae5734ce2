//! invar keeps invariants true while coding agents work.
//!
//! The folders are floors: a file uses what stands below it and nothing above
//! (`ARCHITECTURE.md`; `tests/layering.rs` enforces it).

pub mod agents;
pub mod app;
pub mod cli;
pub mod demo;
pub mod engine;
pub mod model;
pub mod rules;
pub mod store;
pub mod ui;
