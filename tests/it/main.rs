//! What crosses floors: the real binary in a hermetic environment.

mod cli;
mod demo;
mod docs;
mod hook;
mod layering;
mod serving;
mod support;
mod terminal;
