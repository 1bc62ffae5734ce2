//! doctor: whether the guard is live, found out by trying it.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    super::{
        Context, exit,
        output::{Done, Failure},
    },
    Outcome,
    conflicts::current,
    cwd,
    install::settings_path,
};
use crate::{
    agents::{self, Agent, HookAnswer, Support, sample, settings},
    engine::{
        Config,
        child::{self, Fault},
        disk::project_root,
        project_file,
        requests::{
            Effective, EffectiveSet, Findings, FindingsReport, PROBE_SESSION, Ping, TreeState,
        },
    },
    model::{Invariant, InvariantId, visible},
    rules::findings::{Finding, Kind},
};

/// Longer than the hook's own deadline.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
struct Line {
    level: Level,
    what: String,
    /// What to do about it.
    fix: Option<String>,
}

fn ok(what: impl Into<String>) -> Line {
    Line {
        level: Level::Ok,
        what: what.into(),
        fix: None,
    }
}

fn bad(level: Level, what: impl Into<String>, fix: impl Into<String>) -> Line {
    Line {
        level,
        what: what.into(),
        fix: Some(fix.into()),
    }
}

/// A part of the report.
struct Part {
    title: String,
    findings: Vec<Line>,
    /// What holds by the agent's nature, and no command mends.
    limits: Vec<String>,
    data: Value,
}

pub(super) fn doctor(context: &mut Context, name: Option<&str>) -> Outcome {
    let named = match name {
        Some(name) => Some(agents::agent(name).ok_or_else(|| {
            let known: Vec<_> = agents::all().map(|a| a.name).collect();
            Failure::usage(format!("the agent {name:?} is not known"))
                .hint(format!("use {}", known.join(", ")))
        })?),
        None => None,
    };
    let root = project_root(&cwd()?);
    let of = current(context)?;
    let set = context.ask(Effective { of: of.clone() })?;
    let request = Findings {
        of,
        root: root.clone(),
    };
    let FindingsReport {
        findings: found,
        invariants: told,
        ..
    } = context.ask(request)?;
    let judge = Config::load(&context.locations.config)?
        .judge
        .kind
        .is_some();
    let mut parts = vec![engine_part(context, &root)?];
    // The hooks that are tried need the store.
    context.release();
    let connected = |agent: &&'static Agent| !installs(agent).is_empty();
    let looked_at: Vec<&'static Agent> = match named {
        Some(agent) => vec![agent],
        None => agents::all().filter(connected).collect(),
    };
    if looked_at.is_empty() {
        parts.push(Part {
            title: "agents".into(),
            findings: vec![bad(
                Level::Fail,
                "no agent asks invar",
                "invar install claude-code, or another agent",
            )],
            limits: Vec::new(),
            data: json!({}),
        });
    }
    for agent in looked_at {
        parts.push(agent_part(agent, &root, &set, judge));
    }
    parts.push(invariants_part(set.invariants.len(), &found, &told));
    let failed = parts
        .iter()
        .flat_map(|p| &p.findings)
        .filter(|f| f.level == Level::Fail)
        .count();
    let mut text: String = parts.iter().map(shown).collect();
    text.push_str(&match failed {
        0 => "the guard is live\n".to_owned(),
        n => format!("{n} {} to mend\n", if n == 1 { "thing" } else { "things" }),
    });
    let data: Vec<Value> = parts.iter().map(as_json).collect();
    let mut done = Done::new(text, json!({"live": failed == 0, "parts": data}));
    if failed > 0 {
        done.exit = exit::FAILED;
    }
    Ok(done)
}

fn shown(part: &Part) -> String {
    let mut out = format!("{}\n", part.title);
    for finding in &part.findings {
        let mark = match finding.level {
            Level::Ok => "ok  ",
            Level::Warn => "warn",
            Level::Fail => "FAIL",
        };
        out.push_str(&format!("  {mark}  {}\n", finding.what));
        if let Some(fix) = &finding.fix {
            out.push_str(&format!("        fix: {fix}\n"));
        }
    }
    for limit in &part.limits {
        out.push_str(&format!("  note  {limit}\n"));
    }
    out
}

fn as_json(part: &Part) -> Value {
    let findings: Vec<Value> = part
        .findings
        .iter()
        .map(|f| {
            let level = match f.level {
                Level::Ok => "ok",
                Level::Warn => "warn",
                Level::Fail => "fail",
            };
            json!({"level": level, "what": f.what, "fix": f.fix})
        })
        .collect();
    let mut out = json!({"title": part.title, "findings": findings, "limits": part.limits});
    if let (Some(out), Some(more)) = (out.as_object_mut(), part.data.as_object()) {
        out.extend(more.clone());
    }
    out
}

fn engine_part(context: &mut Context, root: &Path) -> Result<Part, Failure> {
    let mut findings = Vec::new();
    let pid = context.ask(Ping {})?.pid;
    let engine = match pid == std::process::id() {
        true => {
            "no engine runs; each hook opens the store by itself and leaves one behind".to_owned()
        }
        false => format!("an engine runs, process {pid}"),
    };
    findings.push(ok(engine));
    let tree = context.ask(TreeState {
        root: root.to_owned(),
    })?;
    findings.push(match tree.watched {
        Some(count) => ok(format!("{count} files are compared after each command")),
        None => bad(
            Level::Warn,
            format!("files are not compared: {}", tree.fault.unwrap_or_default()),
            "work in a project folder, or raise `[tree] max_files` in the configuration",
        ),
    });
    Ok(Part {
        title: "engine".into(),
        findings,
        limits: Vec::new(),
        data: json!({}),
    })
}

/// A settings file that runs invar for an agent.
struct Found {
    path: PathBuf,
    project: bool,
    commands: Vec<(String, String)>,
}

/// Where an agent's settings run invar, the person's first.
fn installs(agent: &Agent) -> Vec<Found> {
    let Some(install) = agent.install else {
        return Vec::new();
    };
    let mut found: Vec<Found> = Vec::new();
    for project in [false, true] {
        let Ok(path) = settings_path(&install, project) else {
            continue;
        };
        if found.iter().any(|f| f.path == path) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let commands = settings::commands(agent, &text);
        if !commands.is_empty() {
            found.push(Found {
                path,
                project,
                commands,
            });
        }
    }
    found
}

fn agent_part(agent: &'static Agent, root: &Path, set: &EffectiveSet, judge: bool) -> Part {
    let mut findings = Vec::new();
    let found = installs(agent);
    let again = |project: bool| {
        let level = if project { " --project" } else { "" };
        format!("invar install {}{level}", agent.name)
    };
    if found.is_empty() {
        let fix = match agent.install {
            Some(_) => again(false),
            None => format!(
                "let it run `invar hook {}` before each action (docs/agents.md)",
                agent.name
            ),
        };
        findings.push(bad(Level::Fail, "its settings do not run invar", fix));
    }
    if found.len() > 1 {
        findings.push(bad(
            Level::Warn,
            "both your settings and the project's run it, so that each action is asked twice",
            format!("invar uninstall {} --project", agent.name),
        ));
    }
    for one in &found {
        let path = visible(&one.path.to_string_lossy()).into_owned();
        let told: Vec<&str> = one
            .commands
            .iter()
            .map(|(event, _)| event.as_str())
            .collect();
        let missing: Vec<String> = settings::events(agent)
            .into_iter()
            .filter(|event| !told.contains(&event.as_str()))
            .collect();
        findings.push(match missing.is_empty() {
            true if told == ["plugin"] => ok(format!("{path} runs invar")),
            true => ok(format!("{path} runs invar for {} events", told.len())),
            false => bad(
                Level::Fail,
                format!("{path} does not run invar for {}", missing.join(", ")),
                again(one.project),
            ),
        });
        let mut lines: Vec<&str> = one.commands.iter().map(|(_, line)| line.as_str()).collect();
        lines.dedup();
        for line in lines {
            findings.extend(tried(agent, line, root, &again(one.project)));
        }
        findings.extend(trust(agent, &one.path));
    }
    if agent.name == "claude-code" {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        if let (_, Some(fault)) = settings::claude_guard(home.as_deref(), root) {
            findings.push(bad(
                Level::Fail,
                format!("all its hooks are switched off: {fault}"),
                "take `disableAllHooks` out of that file",
            ));
        }
    }
    let caps = &agent.capabilities;
    let mut counts = [0; 3];
    for invariant in &set.invariants {
        let coverage = caps.coverage(&invariant.layer, judge);
        counts[coverage.support as usize] += 1;
        if coverage.support == Support::Unsupported {
            findings.push(bad(
                Level::Warn,
                format!("\"{}\" does not hold: {}", invariant.text, coverage.why),
                format!(
                    "invar edit {} to another layer, or invar plan check",
                    invariant.id
                ),
            ));
        }
    }
    findings.push(ok(format!(
        "of the invariants in force {} are enforced, {} partly, {} not",
        counts[0], counts[1], counts[2]
    )));
    Part {
        title: format!("{} ({})", agent.name, agent.title),
        findings,
        limits: caps.limits(),
        data: json!({
            "agent": agent.name, "capabilities": caps,
            "enforced": counts[0], "partly": counts[1], "unsupported": counts[2],
            "settings": found.iter().map(|f| &f.path).collect::<Vec<_>>(),
        }),
    }
}

/// Runs the installed command with a forbidden and an allowed attempt, and judges by what the
/// agent would see.
fn tried(agent: &'static Agent, line: &str, root: &Path, fix: &str) -> Vec<Line> {
    let forbidden = root.join(project_file::NAME);
    let mut findings = Vec::new();
    let mut slowest = Duration::ZERO;
    for (path, wanted) in [(Some(forbidden.as_path()), true), (None, false)] {
        let Some(payload) = sample::before(agent, PROBE_SESSION, root, path) else {
            continue;
        };
        let start = Instant::now();
        let answer = run_hook(line, root, &payload);
        slowest = slowest.max(start.elapsed());
        let shown = visible(line).into_owned();
        match answer {
            Err(fault) => findings.push(bad(Level::Fail, format!("`{shown}` {fault}"), fix)),
            Ok(answer) if (agent.denies)(&answer) != wanted => {
                let said = match (&answer.stdout, answer.stderr.trim()) {
                    (_, text) if !text.is_empty() => text.to_owned(),
                    (Some(text), _) => text.clone(),
                    _ => "nothing".to_owned(),
                };
                let what = match wanted {
                    true => "let a forbidden attempt through",
                    false => "denied an attempt that changes nothing",
                };
                findings.push(bad(
                    Level::Fail,
                    format!(
                        "`{shown}` {what}; it ended with {} and said: {}",
                        answer.exit,
                        visible(&said)
                    ),
                    fix,
                ));
            }
            Ok(_) => {}
        }
    }
    if findings.is_empty() {
        findings.push(ok(format!(
            "a forbidden attempt was denied and an allowed one let through, in {} ms",
            slowest.as_millis().max(1)
        )));
    }
    findings
}

/// Runs a hook's command line as agents do: by a shell, with the payload on stdin.
fn run_hook(line: &str, root: &Path, payload: &Value) -> Result<HookAnswer, String> {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(root)
        .stderr(Stdio::piped());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match child::run(&mut command, payload.to_string(), PATIENCE) {
        Ok(ran) => match ran.status.code() {
            Some(126 | 127) => {
                Err("cannot be run: there is no such program, or it may not be executed".into())
            }
            code => Ok(HookAnswer {
                stdout: Some(text(&ran.stdout)).filter(|t| !t.is_empty()),
                stderr: text(&ran.stderr),
                exit: code.and_then(|c| u8::try_from(c).ok()).unwrap_or(1),
            }),
        },
        Err(Fault::Start(e) | Fault::Wait(e)) => Err(format!("cannot be run: {e}")),
        Err(Fault::Late) => Err(format!(
            "did not answer within {} seconds",
            PATIENCE.as_secs()
        )),
    }
}

/// Whether the agent has been told to run hooks that it does not trust by itself.
fn trust(agent: &Agent, path: &Path) -> Option<Line> {
    let told = agents::trust(agent, path)?;
    Some(match told {
        true => ok("its hooks are trusted"),
        false => bad(
            Level::Fail,
            "its hooks are not trusted yet, so that it skips them without a word",
            "start codex and choose to trust the hooks; or type /hooks in a session",
        ),
    })
}

/// Dead, shadowed and contradictory invariants.
fn invariants_part(in_force: usize, found: &[Finding], named: &[Invariant]) -> Part {
    let mut findings: Vec<Line> = Vec::new();
    let text = |id: &InvariantId| {
        let invariant = named.iter().find(|i| i.id == *id);
        invariant.map_or(String::new(), |i| format!("\"{}\" of {}", i.text, i.scope))
    };
    for finding in found {
        let all: Vec<String> = finding.invariants.iter().map(text).collect();
        let last = finding.invariants.last();
        let what = format!(
            "{}: {}: {}",
            finding.kind.as_str(),
            all.join(" and "),
            visible(&finding.proof)
        );
        let blocks =
            finding.kind == Kind::Contradiction && finding.proof.contains("blocks the plan");
        let level = if blocks { Level::Fail } else { Level::Warn };
        let fix = last.map(|id| format!("see `invar show {id}`, and edit or remove it"));
        findings.push(Line { level, what, fix });
    }
    if findings.is_empty() {
        findings.push(ok(format!(
            "{in_force} in force, none dead, shadowed or contradictory"
        )));
    }
    Part {
        title: "invariants".into(),
        findings,
        limits: Vec::new(),
        data: json!({"in_force": in_force}),
    }
}
