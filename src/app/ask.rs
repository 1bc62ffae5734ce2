//! What the screen asks the engine, and what comes back: each question with the answer of its
//! kind.

use crate::{
    engine::{
        Call, EngineError,
        requests::{Add, Added, DecisionNode, Decisions, Edit, ProjectOf, Snapshot},
    },
    model::{Invariant, Project},
};

/// A question to the engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// The editor saves a new invariant.
    Add(Box<Add>),
    /// The editor saves a changed one.
    Edit(Box<Edit>),
    /// Something a person wants done; the word says so when it is.
    Do { word: &'static str, call: Box<Call> },
    /// The state, after events were missed.
    Resync,
    /// The decision tree of the plan that is open.
    Decisions(Decisions),
    /// That the engine looks at the project file of this directory.
    Meet(ProjectOf),
}

/// An answer to an [`Ask`] of the same name.
#[derive(Debug)]
pub enum Answered {
    Add(Result<Added, EngineError>),
    Edit(Result<Invariant, EngineError>),
    Do {
        word: &'static str,
        done: Result<(), EngineError>,
    },
    Resync(Result<Box<Snapshot>, EngineError>),
    Decisions(Result<Vec<DecisionNode>, EngineError>),
    Meet(Result<Project, EngineError>),
}
