//! Picks a face: the hook, the terminal program, the demo, or a command.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::Parser;
use invar::{
    cli::{
        self,
        args::{Cli, Command},
        exit, logging,
        output::{self, Failure},
    },
    demo::{self, Player, Report, Stage},
    engine::{EngineHandle, Locations, caller},
    ui::{self, run::UiError},
};
use tokio::sync::mpsc;

fn main() -> ExitCode {
    // The hot path does without the parser of the whole command line.
    if let Some((agent, store)) = hook_arguments(std::env::args_os().skip(1)) {
        return ExitCode::from(cli::hook::run(&agent, store));
    }
    let mut cli = Cli::parse();
    let code = match cli.command.take() {
        Some(Command::Hook(args)) => cli::hook::run(&args.agent, cli.store),
        Some(Command::Demo(args)) => finish(play_demo(args.plain)),
        Some(command) => cli::run(cli, command),
        None => finish(open_screen(cli)),
    };
    ExitCode::from(code)
}

/// The agent and the store of `invar [--store PATH] hook AGENT`, when it is just that.
fn hook_arguments(mut args: impl Iterator<Item = OsString>) -> Option<(String, Option<PathBuf>)> {
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

fn finish(result: Result<(), UiError>) -> u8 {
    let Err(error) = result else {
        return exit::DONE;
    };
    output::complain("error", &error.to_string());
    match error {
        UiError::Engine(error) => Failure::Engine(error).exit(),
        UiError::NoTerminal | UiError::Terminal(_) => exit::FAILED,
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, UiError> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // The store is opened on a helper thread; it shall not linger and wake up to end.
        .thread_keep_alive(std::time::Duration::from_millis(100))
        .build()?)
}

fn open_screen(cli: Cli) -> Result<(), UiError> {
    if let Some(mark) = caller::own_mark() {
        return Err(caller::refusal(&format!("{mark} is set")).into());
    }
    let locations = Locations::from_env(cli.store)?;
    let _log = logging::start(&locations.logs);
    let options = ui::Options {
        locations,
        cwd: std::env::current_dir()?,
        read_only: cli.read_only,
        notices: None,
    };
    runtime()?.block_on(ui::run(options))
}

fn play_demo(plain: bool) -> Result<(), UiError> {
    let stage = Stage::new(std::env::current_exe()?)?;
    if plain {
        output::print("invar demo: a scripted run, really enforced, on a throw-away store\n");
        let print = |report: &Report| {
            output::print(&match report {
                Report::Say(text) => format!("\n{text}\n"),
                Report::Did(text) => format!("  {text}\n"),
            });
        };
        return Ok(runtime()?.block_on(demo::plain(&stage, print))?);
    }
    let (say, notices) = mpsc::channel(16);
    let options = ui::Options {
        locations: stage.locations.clone(),
        cwd: stage.project.clone(),
        read_only: false,
        notices: Some(notices),
    };
    runtime()?.block_on(async {
        tokio::select! {
            result = ui::run(options) => result,
            never = play_on_screen(&stage, say) => match never {},
        }
    })
}

/// Plays the demo beside the screen, over the socket like anyone else; then the screen stays.
async fn play_on_screen(stage: &Stage, say: mpsc::Sender<String>) -> std::convert::Infallible {
    let engine = loop {
        match EngineHandle::connect(&stage.locations.socket).await {
            Ok(engine) => break engine,
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    };
    let mut tell = |report: &Report| {
        if let Report::Say(text) = report {
            // A full channel means that nobody looks; the next sentence will do.
            let _ = say.try_send(text.clone());
        }
    };
    let end = match Player::new(stage, engine).play(demo::PACE, &mut tell).await {
        Ok(()) => "The demo is over. All keys are live; q leaves.".to_owned(),
        Err(error) => format!("The demo stopped: {error}"),
    };
    let _ = say.send(end).await;
    std::future::pending().await
}
