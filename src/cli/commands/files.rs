//! export and import.

use std::{
    fs,
    io::{self, Read},
};

use serde_json::json;

use super::{
    super::{
        Context,
        args::{ExportArgs, Format, ImportArgs},
        output::{self, Done, Failure, Output},
        transfer::{self, FileFormat},
    },
    Outcome,
    invariants::Wanted,
    project,
};
use crate::{
    engine::requests::{Import, Imported, List, PlanShow},
    model::{Scope, visible},
};

pub(super) fn export(context: &mut Context, args: ExportArgs, output: &Output) -> Outcome {
    let form = match output.format {
        Format::Text | Format::Toml => FileFormat::Toml,
        Format::Json => FileFormat::Json,
        Format::Yaml => FileFormat::Yaml,
        Format::Ndjson => {
            let failure = Failure::usage("export writes toml, json or yaml");
            return Err(failure.hint("leave ndjson out"));
        }
    };
    let invariants = context.ask(List {
        scope: None,
        plan: None,
        removed: true,
    })?;
    let count = invariants.len();
    let (text, left_out) = transfer::export(invariants, form)
        .map_err(|e| Failure::failed("the invariants cannot be written").caused_by(e))?;
    let mut done = match args.file {
        None => {
            // The document itself, in every form; an envelope around it could not be imported.
            output::print(&text);
            if left_out > 0 {
                output::complain("note", &plain_left_out(left_out));
            }
            return Err(Failure::Silent);
        }
        Some(path) => {
            let shown = visible(&path.to_string_lossy()).into_owned();
            fs::write(&path, text).map_err(|e| {
                Failure::failed(format!("{shown} cannot be written"))
                    .caused_by(e)
                    .hint("check the folder")
            })?;
            Done::new(
                format!("{count} invariants are in {shown}\n"),
                json!({"file": path}),
            )
        }
    };
    if left_out > 0 {
        done.notes.push(plain_left_out(left_out));
    }
    Ok(done)
}

fn plain_left_out(count: usize) -> String {
    format!(
        "{count} plain invariants have no form in writ's list and are left out; --format toml keeps them"
    )
}

pub(super) fn import(context: &mut Context, args: ImportArgs) -> Outcome {
    let shown = visible(&args.file.to_string_lossy()).into_owned();
    let format = args
        .form
        .or_else(|| FileFormat::of(&args.file))
        .ok_or_else(|| {
            Failure::usage(format!("the form of {shown} is not told by its name"))
                .hint("add --as toml, json or yaml")
        })?;
    let text = if args.file.as_os_str() == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(&args.file)
    };
    let text = text.map_err(|e| Failure::failed(format!("{shown} cannot be read")).caused_by(e))?;
    let scope = match args.scope.wanted()? {
        Some(Wanted::Scope(scope)) => scope,
        Some(Wanted::Plan(plan)) => Scope::Plan(context.ask(PlanShow { plan })?.id),
        // Only writ's list has no scope of its own.
        None if format == FileFormat::Yaml => Scope::Project(project(context, None)?),
        None => Scope::Global,
    };
    let items = transfer::import(&text, format, &scope)
        .map_err(|e| Failure::failed(format!("{shown}, {e}")).hint("nothing was imported"))?;
    let Imported {
        added,
        changed,
        unchanged,
    } = context.ask_saying("importing", Import { items })?;
    let text = format!("{added} added, {changed} changed, {unchanged} as they were\n");
    let data = json!({"added": added, "changed": changed, "unchanged": unchanged});
    Ok(Done::new(text, data))
}
