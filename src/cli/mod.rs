//! Floor 6: the command line. Prints; decides nothing.

pub mod args;
mod commands;
pub mod hook;
pub mod logging;
pub mod output;
mod progress;
pub mod transfer;

use std::time::{Duration, Instant};

use args::{Cli, Command, Format};
use output::{Failure, Output};

use crate::app::settings::Settings;
use crate::engine::{
    self, EngineError, Locations, Request, caller,
    requests::{AgentPids, Asker, ProjectOf},
};

/// Exit codes of all commands but `hook`, which follows its agent's protocol.
pub mod exit {
    pub const DONE: u8 = 0;
    pub const FAILED: u8 = 1;
    pub const USAGE: u8 = 2;
    pub const BLOCKED: u8 = 3;
    pub const HALTED: u8 = 4;
    pub const NOT_FOUND: u8 = 5;
    pub const STORE: u8 = 6;
}

/// How long a one-shot command waits for its turn and its answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A one-shot command's way to the engine, opened at its first call.
pub struct Context {
    pub locations: Locations,
    session: Option<engine::Session>,
    deadline: Instant,
    read_only: bool,
}

impl Context {
    /// Finds the store of the command.
    ///
    /// # Errors
    /// No home folder.
    pub fn new(cli: &Cli) -> Result<Self, EngineError> {
        let locations = Locations::from_env(cli.store.clone())?;
        Ok(Self {
            locations,
            session: None,
            deadline: Instant::now() + PATIENCE,
            read_only: cli.read_only,
        })
    }

    /// Asks the engine: the one that runs, else the store itself.
    ///
    /// # Errors
    /// As [`engine::Session::ask`], and as [`Context::check_caller`] for what only people ask.
    pub fn ask<R: Request>(&mut self, request: R) -> Result<R::Reply, EngineError> {
        self.ask_saying("waiting for the engine", request)
    }

    /// As [`Context::ask`]; `what` is shown when it takes long.
    ///
    /// # Errors
    /// As [`Context::ask`].
    pub fn ask_saying<R: Request>(
        &mut self,
        what: &'static str,
        request: R,
    ) -> Result<R::Reply, EngineError> {
        let _progress = progress::Progress::start(what);
        match R::ASKER {
            Asker::People => self.check_caller()?,
            Asker::Anyone | Asker::Hooks => {}
        }
        self.pass_on(request)
    }

    /// Refuses what only people do when an agent runs this process.
    ///
    /// # Errors
    /// [`ErrorKind::NotForAgents`](engine::ErrorKind).
    pub fn check_caller(&mut self) -> Result<(), EngineError> {
        if self.read_only {
            return Err(EngineError::invalid(
                "this would change something, and --read-only says not to",
            ));
        }
        let refuse = |why: String| Err(caller::refusal(&why));
        if let Some(mark) = caller::own_mark() {
            return refuse(format!("{mark} is set"));
        }
        let agents = self.pass_on(AgentPids {})?;
        match caller::agent_above(std::process::id(), &agents) {
            Some(why) => refuse(why),
            None => Ok(()),
        }
    }

    /// Waits longer than usual for what comes: all of the store has to be read.
    pub fn be_patient(&mut self, by: Duration) {
        self.deadline = Instant::now() + by;
    }

    /// Lets go of the store, for another process that needs it meanwhile.
    pub fn release(&mut self) {
        self.session = None;
    }

    fn pass_on<R: Request>(&mut self, request: R) -> Result<R::Reply, EngineError> {
        let session = match &mut self.session {
            Some(session) => session,
            empty => {
                let session = engine::open_session(&self.locations, self.deadline)?;
                empty.insert(meet_project(session, &self.locations, self.deadline)?)
            }
        };
        session.ask(&self.locations, request, self.deadline)
    }
}

/// Lets the engine see the project file of the current directory, if there is one: it may never
/// have been here.
fn meet_project(
    mut session: engine::Session,
    locations: &Locations,
    deadline: Instant,
) -> Result<engine::Session, EngineError> {
    if let Ok(dir) = std::env::current_dir()
        && engine::disk::has_project_file(&engine::disk::project_root(&dir))
    {
        session.ask(locations, ProjectOf { dir }, deadline)?;
    }
    Ok(session)
}

/// Names in the configuration that mean nothing are told, and nothing more.
fn warn_of_config(path: &std::path::Path) {
    let Ok(text) = std::fs::read_to_string(path) else {
        return;
    };
    for warning in engine::Config::unknown(&text, path, &Settings::names()) {
        output::complain("warning", &warning);
    }
}

/// Runs a command that is neither `hook` nor a screen; returns its exit code.
pub fn run(cli: Cli, command: Command) -> u8 {
    let name = command.name();
    let output = Output::new(cli.format, name);
    let is_export = matches!(command, Command::Export(_));
    if matches!(cli.format, Format::Toml | Format::Yaml) && !is_export {
        let failure = Failure::usage("--format toml and yaml are for `export`");
        return output.fail(&failure.hint("use text, json or ndjson"));
    }
    let result = Context::new(&cli)
        .map_err(Failure::from)
        .inspect(|context| warn_of_config(&context.locations.config))
        .and_then(|mut context| commands::dispatch(&mut context, command, &output));
    match result {
        Ok(done) => output.finish(done),
        Err(failure) => output.fail(&failure),
    }
}
