//! Picks a face: the hook, the terminal program, or a command.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::Parser;
use invar::cli::{self, args::Cli};

fn main() -> ExitCode {
    // The hot path does without the parser of the whole command line.
    if let Some((agent, store)) = hook_arguments(std::env::args_os().skip(1)) {
        return ExitCode::from(cli::hook::run(&agent, store));
    }
    let mut cli = Cli::parse();
    let code = match cli.command.take() {
        Some(cli::args::Command::Hook(args)) => cli::hook::run(&args.agent, cli.store),
        Some(command) => cli::run(cli, command),
        None => 0,
    };
    ExitCode::from(code)
}

/// The agent and the store of `invar [--store PATH] hook AGENT`, when it is just that.
fn hook_arguments(
    mut args: impl Iterator<Item = OsString>,
) -> Option<(String, Option<PathBuf>)> {
    let mut store = None;
    let mut word = args.next()?;
    if word == "--store" {
        store = Some(PathBuf::from(args.next()?));
        word = args.next()?;
    }
    if word != "hook" {
        return None;
    }
    let agent = args.next()?.into_string().ok()?;
    let plain = args.next().is_none() && !agent.starts_with('-');
    plain.then_some((agent, store))
}
