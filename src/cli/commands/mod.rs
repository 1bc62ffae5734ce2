//! One file per group of commands.

mod actions;
mod assent;
mod check;
mod conflicts;
mod doctor;
mod files;
mod install;
mod invariants;
mod pairs;
mod plans;
mod records;
mod replay;
mod serve;
mod status;
mod store;

use clap::CommandFactory;
use serde_json::json;

use super::{
    Context,
    args::{Cli, Command, LogCommand},
    output::{Done, Failure, Output},
};
use crate::{
    app::{action::TABLE, settings::Settings},
    engine::{
        Config,
        requests::{PlanRef, ProjectOf, Redo, Undo},
    },
    model::ProjectName,
};

type Outcome = Result<Done, Failure>;

/// Runs one command.
pub(super) fn dispatch(context: &mut Context, command: Command, output: &Output) -> Outcome {
    match command {
        Command::Short(command) | Command::Invariant(command) => {
            invariants::invariant(context, command)
        }
        Command::Undo => {
            let request = Undo {
                cwd: cwd()?,
                project: None,
                expect: None,
            };
            invariants::journal(context, request, "undone")
        }
        Command::Redo => {
            let request = Redo {
                cwd: cwd()?,
                project: None,
                expect: None,
            };
            invariants::journal(context, request, "done again")
        }
        Command::Plan(command) => plans::plan(context, command),
        Command::Project(command) => plans::project(context, command),
        Command::Action(command) => actions::action(context, command),
        Command::Explain(args) => check::explain(context, args),
        Command::Check(args) => check::check(context, args),
        Command::Export(args) => files::export(context, args, output),
        Command::Import(args) => files::import(context, args),
        Command::Config => config(context),
        Command::Keys => keys(context),
        Command::Completions(args) => Ok(completions(args.shell)),
        Command::Man => man(),
        Command::Status => status::status(context),
        Command::Statusline(args) => status::statusline(context, &args),
        Command::Assent(command) => assent::assent(context, command),
        Command::Doctor(args) => doctor::doctor(context, args.agent.as_deref()),
        Command::Replay(args) => replay::replay(context, args),
        Command::Enforce(args) => records::enforce(context, args),
        Command::Resolve(args) => records::resolve(context, args),
        Command::Violations(filter) => records::violations(context, filter.plan),
        Command::Strikes(filter) => records::strikes(context, filter.plan),
        Command::Conflicts(args) => conflicts::conflicts(context, args),
        Command::Decisions(arg) => records::decisions(context, arg.plan),
        Command::Log(LogCommand::Verify(args)) => store::verify(context, args),
        Command::Store(command) => store::store(context, command),
        Command::Events(args) => serve::events(context, args, output),
        Command::Serve(args) => serve::serve(context, args),
        Command::Install(args) => install::run(context, &args, true),
        Command::Uninstall(args) => install::run(context, &args, false),
        Command::Paths => Ok(paths(context)),
        // The program's face picks these before it comes here.
        Command::Demo(_) | Command::Hook(_) => {
            Err(Failure::failed("this command has its own way to run").hint("please report it"))
        }
    }
}

fn paths(context: &Context) -> Done {
    let places = &context.locations;
    let rows = [
        ("store", &places.store),
        ("config", &places.config),
        ("logs", &places.logs),
        ("socket", &places.socket),
    ];
    let text = rows
        .map(|(name, path)| format!("{name:<7} {}\n", path.display()))
        .concat();
    let data = json!({
        "store": places.store, "config": places.config, "logs": places.logs,
        "socket": places.socket,
    });
    Done::new(text, data)
}

/// The configuration in force.
/// The screen's part of the configuration, or what is wrong with it.
fn settings(context: &Context) -> Result<Settings, Failure> {
    let path = &context.locations.config;
    let text = std::fs::read_to_string(path).unwrap_or_default();
    Settings::parse(&text, path).map_err(Failure::Failed)
}

fn config(context: &Context) -> Outcome {
    let config = Config::load(&context.locations.config)?;
    let settings = settings(context)?;
    let keys: toml::Table = TABLE
        .iter()
        .map(|d| {
            let keys = settings.keymap.keys(d.action).iter().cloned();
            (
                d.id.to_owned(),
                keys.map(toml::Value::String).collect::<Vec<_>>().into(),
            )
        })
        .collect();
    let fail =
        |e: toml::ser::Error| Failure::failed("the configuration cannot be printed").caused_by(e);
    let mut all = toml::Table::try_from(&config).map_err(fail)?;
    all.insert(
        "ui".into(),
        toml::Value::try_from(&settings.ui).map_err(fail)?,
    );
    all.insert("keys".into(), keys.into());
    let text = toml::to_string_pretty(&all).map_err(fail)?;
    let head = format!("# {}\n", context.locations.config.display());
    Ok(Done::new(
        head + &text,
        json!({"path": context.locations.config, "config": all}),
    ))
}

fn keys(context: &Context) -> Outcome {
    let settings = settings(context)?;
    let keys = |d: &crate::app::action::Description| settings.keymap.keys(d.action);
    let rows: Vec<Vec<String>> = TABLE
        .iter()
        .map(|d| vec![keys(d).join(", "), d.id.to_owned(), d.help.to_owned()])
        .collect();
    let list: Vec<_> = TABLE
        .iter()
        .map(|d| json!({"id": d.id, "keys": keys(d), "help": d.help}))
        .collect();
    Ok(Done::new(
        table(&["KEYS", "ACTION", "WHAT IT DOES"], &rows),
        json!({"keys": list}),
    ))
}

fn completions(shell: clap_complete::Shell) -> Done {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "invar", &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    Done::new(text.clone(), json!({"completions": text}))
}

fn man() -> Outcome {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut text)
        .map_err(|e| Failure::failed("the manual page cannot be written").caused_by(e))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(Done::new(text.clone(), json!({"man": text})))
}

/// The directory that the command was started in.
fn cwd() -> Result<std::path::PathBuf, Failure> {
    std::env::current_dir().map_err(|e| {
        Failure::failed("the current directory is not known")
            .caused_by(e)
            .hint("go to one that exists")
    })
}

fn plan_ref(text: String) -> Result<PlanRef, Failure> {
    Ok(PlanRef { text, cwd: cwd()? })
}

/// The project of a name, or of the current directory.
fn project(context: &mut Context, name: Option<String>) -> Result<ProjectName, Failure> {
    match name {
        Some(name) => Ok(ProjectName::new(&name)?),
        None => Ok(context.ask(ProjectOf { dir: cwd()? })?.name),
    }
}

/// A table with as wide columns as its cells need; the last column is not padded.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    use unicode_width::UnicodeWidthStr;
    let shown: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            row.iter()
                .map(|c| crate::model::visible(c).replace("<U+000A>", " "))
                .collect()
        })
        .collect();
    let width = |column: usize| {
        let cells = shown
            .iter()
            .filter_map(|r| r.get(column))
            .map(|c| c.width());
        cells.chain([head[column].width()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut out = String::new();
        for (column, cell) in cells.enumerate() {
            out.push_str(cell);
            if column + 1 < head.len() {
                out.push_str(&" ".repeat(widths[column] - cell.width() + 2));
            }
        }
        out.trim_end().to_owned() + "\n"
    };
    let mut out = line(&mut head.iter().copied());
    for row in &shown {
        out.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    out
}
