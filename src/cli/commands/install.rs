//! install and uninstall.

use std::{fs, io};

use serde_json::json;

use super::{
    super::{
        Context,
        args::InstallArgs,
        output::{Done, Failure},
    },
    Outcome, cwd,
};
use crate::{agents::install, engine::state::project_root};

pub(super) fn run(context: &mut Context, args: &InstallArgs, add: bool) -> Outcome {
    if args.agent != "claude-code" {
        let known: Vec<_> = crate::agents::names().collect();
        return Err(Failure::Usage(format!(
            "the agent {:?} is not known; use {}",
            args.agent,
            known.join(", ")
        )));
    }
    if !args.dry_run {
        context.check_caller()?;
    }
    let folder = if args.project {
        project_root(&cwd()?)
    } else {
        std::env::var_os("HOME")
            .filter(|h| !h.is_empty())
            .map(Into::into)
            .ok_or_else(|| {
                Failure::Failed("no home folder is known; set HOME, or use --project".into())
            })?
    };
    let path = install::claude_settings(&folder);
    let before = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(unwritable(&path, &e)),
    };
    let after = if add {
        let binary = std::env::current_exe().map_err(|e| unwritable(&path, &e))?;
        install::with_hooks(&before, &path, &binary)?
    } else {
        install::without_hooks(&before, &path)?
    };
    let changed = before != after;
    if changed && !args.dry_run {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| unwritable(&path, &e))?;
        }
        // Whole or not at all: a torn settings file would switch every hook off.
        let fresh = path.with_extension("json.invar-new");
        fs::write(&fresh, &after)
            .and_then(|()| fs::rename(&fresh, &path))
            .map_err(|e| unwritable(&path, &e))?;
    }
    let shown = path.display();
    let text = match (changed, args.dry_run, add) {
        (false, _, true) => format!("{shown} has invar's hooks already\n"),
        (false, _, false) => format!("{shown} has no hooks of invar\n"),
        (true, true, _) => format!("{shown} would be\n{after}"),
        (true, false, true) => {
            format!(
                "{shown} now asks invar before every action; running sessions follow within a second or two\n"
            )
        }
        (true, false, false) => format!("{shown} no longer asks invar\n"),
    };
    Ok(Done::new(
        text,
        json!({"path": path, "changed": changed, "dry_run": args.dry_run}),
    ))
}

fn unwritable(path: &std::path::Path, error: &io::Error) -> Failure {
    Failure::Failed(format!(
        "the settings {} cannot be changed: {error}; check their permissions",
        path.display()
    ))
}
