//! install and uninstall: an agent's settings, and how they were before.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::json;
use similar::TextDiff;

use super::{
    super::{
        Context,
        args::InstallArgs,
        output::{Done, Failure},
    },
    Outcome, cwd,
};
use crate::{
    agents::{self, Agent, settings, settings::Install},
    engine::{Locations, disk::project_root},
    model::visible,
};

/// How a file was before invar wrote to it, so that `uninstall` can put it back byte for byte.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Written {
    /// `None` when there was no file.
    before: Option<String>,
    after: String,
    /// Folders that were made for it, the innermost first.
    made: Vec<PathBuf>,
}

type Record = BTreeMap<PathBuf, Written>;

/// The agent of that name, and how its hooks are installed.
fn installable(name: &str) -> Result<(&'static Agent, Install), Failure> {
    let can = || {
        let names: Vec<_> = agents::all()
            .filter(|a| a.install.is_some())
            .map(|a| a.name)
            .collect();
        names.join(", ")
    };
    let agent = agents::agent(name).ok_or_else(|| {
        Failure::usage(format!("the agent {name:?} is not known")).hint(format!("use {}", can()))
    })?;
    let install = agent.install.ok_or_else(|| {
        Failure::usage(format!(
            "the settings of {} cannot be written for you: let it run `invar hook {name}` before each action (docs/agents.md)",
            agent.title
        ))
        .hint(format!("install knows {}", can()))
    })?;
    Ok((agent, install))
}

/// The settings file of a level.
pub(super) fn settings_path(install: &Install, project: bool) -> Result<PathBuf, Failure> {
    if project {
        return Ok(install.project_path(&project_root(&cwd()?)));
    }
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = variable("HOME")
        .filter(|h| !h.as_os_str().is_empty())
        .ok_or_else(|| {
            Failure::failed("no home folder is known").hint("set HOME, or use --project")
        })?;
    Ok(install.user_path(&home, variable))
}

pub(super) fn run(context: &mut Context, args: &InstallArgs, add: bool) -> Outcome {
    let (agent, install) = installable(&args.agent)?;
    if !args.dry_run {
        context.check_caller()?;
    }
    let path = settings_path(&install, args.project)?;
    let before = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(unwritable(&path, &e)),
    };
    let record_path = record_path(&context.locations);
    let mut record = read_record(&record_path)?;
    let written = record
        .get(&path)
        .filter(|w| Some(&w.after) == before.as_ref())
        .cloned();
    let text = before.clone().unwrap_or_default();
    let after = if add {
        let binary = std::env::current_exe().map_err(|e| unwritable(&path, &e))?;
        Some(settings::with_hooks(agent, &text, &path, &binary)?)
    } else {
        match written.clone() {
            Some(written) => written.before,
            // It was changed since: only ours goes.
            None => {
                let rest = settings::without_hooks(agent, &text, &path)?;
                before
                    .as_ref()
                    .map(|_| rest)
                    .filter(|rest| !rest.is_empty() || text.is_empty())
            }
        }
    };
    let changed = before != after;
    if changed && !args.dry_run {
        match (&after, add) {
            (Some(after), true) => {
                let made = write(&path, after, None)?;
                let written = written.unwrap_or_else(|| Written {
                    before: before.as_ref().map(|text| {
                        // Ours from another time is not what was there.
                        settings::without_hooks(agent, text, &path).unwrap_or(text.clone())
                    }),
                    after: String::new(),
                    made,
                });
                let after = after.clone();
                record.insert(path.clone(), Written { after, ..written });
            }
            (Some(after), false) => {
                write(&path, after, None)?;
                record.remove(&path);
            }
            (None, _) => {
                fs::remove_file(&path).map_err(|e| unwritable(&path, &e))?;
                // A folder that somebody else uses by now stays.
                for folder in record.remove(&path).into_iter().flat_map(|w| w.made) {
                    let _ = fs::remove_dir(folder);
                }
            }
        }
        // Settings may hold secrets.
        let text = serde_json::to_string_pretty(&record).unwrap_or_default();
        write(&record_path, &text, Some(0o600))?;
    }
    let diff = diff(&path, &text, after.as_deref().unwrap_or_default());
    let shown = visible(&path.to_string_lossy()).into_owned();
    let text = match (changed, args.dry_run, add) {
        (false, _, true) => format!("{shown} has invar's hooks already\n"),
        (false, _, false) => format!("{shown} has no hooks of invar\n"),
        (true, true, _) => diff.clone(),
        (true, false, true) => format!(
            "{shown} now asks invar before every action; {}\nSee with `invar doctor` that it works.\n",
            install.after
        ),
        (true, false, false) => format!("{shown} no longer asks invar\n"),
    };
    let diff = args.dry_run.then_some(diff);
    Ok(Done::new(
        text,
        json!({"agent": agent.name, "path": path, "changed": changed, "dry_run": args.dry_run, "diff": diff}),
    ))
}

/// What would change, as a unified diff.
fn diff(path: &Path, before: &str, after: &str) -> String {
    let name = visible(&path.to_string_lossy()).into_owned();
    let diff = TextDiff::from_lines(before, after);
    let text = diff
        .unified_diff()
        .context_radius(3)
        .header(&name, &name)
        .to_string();
    // Lines of the file may hold anything.
    text.lines()
        .map(|line| format!("{}\n", visible(line)))
        .collect()
}

/// Writes whole or not at all: a torn settings file would switch every hook off. A link stays
/// one. Returns the folders that had to be made, the innermost first.
fn write(path: &Path, text: &str, mode: Option<u32>) -> Result<Vec<PathBuf>, Failure> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("/"));
    let made: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|f| !f.exists())
        .map(Path::to_owned)
        .collect();
    let kept = fs::metadata(&target).map(|m| m.permissions()).ok();
    let mode = mode.map(fs::Permissions::from_mode).or(kept);
    let fresh = target.with_extension("invar-new");
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&fresh, text))
        .and_then(|()| match mode {
            Some(mode) => fs::set_permissions(&fresh, mode),
            None => Ok(()),
        })
        .and_then(|()| fs::rename(&fresh, &target));
    written.map_err(|e| unwritable(path, &e))?;
    Ok(made)
}

/// The file beside the store that remembers.
fn record_path(locations: &Locations) -> PathBuf {
    let mut name = locations.store.clone().into_os_string();
    name.push(".installs.json");
    name.into()
}

fn read_record(path: &Path) -> Result<Record, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|e| {
            Failure::failed(format!("{} cannot be read ({e})", path.display()))
                .hint("remove it, and invar takes out only its own lines")
        }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Record::new()),
        Err(e) => Err(unwritable(path, &e)),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("{} cannot be changed", path.display()))
        .caused_by(error)
        .hint("check its permissions")
}
