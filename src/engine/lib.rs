//! Floor 3: the engine. Owns the store, decides and records; asked through [`EngineHandle`].
//!
//! [`core`] decides on what [`state`] holds; [`writer`] makes it durable; [`host`] runs it as a
//! background task with subscribers and the socket; [`client`] and [`handle`] reach it.

mod ask;
pub mod builtin;
pub mod caller;
pub mod child;
pub mod client;
pub mod config;
mod connection;
pub mod core;
pub mod disk;
mod error;
pub mod facts;
pub mod handle;
pub mod host;
pub mod journal;
pub mod judge;
pub mod judging;
mod lane;
pub mod link;
pub mod located;
pub mod locations;
pub mod message;
mod notices;
mod peer;
pub mod project_file;
pub mod protocol;
mod reads;
pub mod requests;
mod socket;
pub mod state;
pub mod step;
pub mod strikes;
mod visit;
pub mod writer;

pub use client::{Session, open_session};
pub use config::Config;
pub use error::{Block, EngineError, ErrorKind};
pub use handle::{EngineHandle, Subscription};
pub use locations::Locations;
pub use notices::{Notice, Notices};
pub use requests::{Call, Reply, Request};
pub use state::State;

use invar_model as model;
use invar_rules as rules;
use invar_store as store;

#[cfg(test)]
mod tests;
