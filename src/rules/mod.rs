//! Floor 1: pure decisions. Nothing here reads a disk, a clock or a channel.

pub mod conflict;
pub mod filter;
pub mod glob;
pub mod letter;
pub mod merge;
pub mod normalise;
pub mod path;
pub mod shell;
