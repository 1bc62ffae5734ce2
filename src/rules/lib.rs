//! Floor 1: pure decisions. Nothing here reads a disk, a clock or a channel; what a decision asks
//! of a disk it asks through a trait that the caller implements. Two things are kept for the whole
//! process, since they follow from their keys alone: automata that were built, and their tables.

pub mod automaton;
pub mod conflict;
pub mod filter;
pub mod findings;
pub mod glob;
pub mod hint;
pub mod letter;
pub mod merge;
pub mod normalise;
pub mod path;
pub mod polarity;
pub mod shell;
#[cfg(test)]
mod tests;

use invar_model as model;
