//! status and statusline: how the plan of a directory stands, in one line.

use std::{
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    super::{
        Context,
        args::StatuslineArgs,
        output::{Done, Failure},
    },
    Outcome, cwd,
};
use crate::{
    engine::{
        ErrorKind,
        disk::project_root,
        requests::{Effective, EffectiveOf, PlanRef, PlanShow, Strikes, Violations},
    },
    model::{Plan, visible},
};

/// The most that is read of an agent's JSON.
const MAX_INPUT: u64 = 1 << 20;

/// How a plan stands.
struct Standing {
    plan: Plan,
    in_force: usize,
    /// Targets with strikes, and the count that is nearest to its limit.
    strikes: usize,
    worst: Option<(u32, u32)>,
    open: usize,
}

/// The standing of the plan of a directory; `None` when it has none.
fn standing(context: &mut Context, dir: &Path) -> Result<Option<Standing>, Failure> {
    let reference = |text: &str| PlanRef {
        text: text.to_owned(),
        cwd: dir.to_owned(),
    };
    let plan = match context.ask(PlanShow {
        plan: reference("@"),
    }) {
        Ok(plan) => plan,
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let own = reference(&plan.id.to_string());
    let strikes = context.ask(Strikes {
        plan: Some(own.clone()),
    })?;
    let violations = context.ask(Violations {
        plan: Some(own.clone()),
    })?;
    let open = violations.iter().filter(|v| v.is_open()).count();
    let of = EffectiveOf::Plan(own);
    let in_force = context.ask(Effective { of })?.invariants.len();
    let counted = strikes.iter().filter_map(|s| Some((s.count, s.limit?)));
    Ok(Some(Standing {
        in_force,
        worst: counted.min_by_key(|(count, limit)| limit.saturating_sub(*count)),
        strikes: strikes.len(),
        open,
        plan,
    }))
}

pub(super) fn status(context: &mut Context) -> Outcome {
    let project = super::project(context, None)?;
    let Some(s) = standing(context, &cwd()?)? else {
        let data = json!({"project": project, "plan": Value::Null});
        return Ok(Done::new(format!("{project}: no plan\n"), data));
    };
    let text = format!(
        "{project}: plan {} {} {}, strikes: {}, open violations: {}\n",
        s.plan.id.short(),
        s.plan.phase,
        s.plan.state,
        s.strikes,
        s.open
    );
    let data = json!({
        "project": project, "plan_id": s.plan.id, "phase": s.plan.phase, "state": s.plan.state,
        "in_force": s.in_force, "strikes": s.strikes, "open_violations": s.open,
    });
    Ok(Done::new(text, data))
}

/// The directory that an agent's status line is for, from the JSON that it sends.
fn told_directory(input: &Value) -> Option<PathBuf> {
    ["/workspace/project_dir", "/workspace/current_dir", "/cwd"]
        .iter()
        .find_map(|place| input.pointer(place)?.as_str())
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute())
}

/// Never fails: an agent shows whatever comes, and nothing is worse than a stale line.
pub(super) fn statusline(context: &mut Context, args: &StatuslineArgs) -> Outcome {
    if crate::agents::agent(&args.agent).is_none() {
        let known: Vec<_> = crate::agents::all().map(|a| a.name).collect();
        let message = format!("the agent {:?} is not known", args.agent);
        return Err(Failure::usage(message).hint(format!("use {}", known.join(", "))));
    }
    let mut input = Vec::new();
    if !io::stdin().is_terminal() {
        let _ = io::stdin().take(MAX_INPUT).read_to_end(&mut input);
    }
    let told = serde_json::from_slice(&input)
        .ok()
        .and_then(|v| told_directory(&v));
    let dir = match told {
        Some(dir) => dir,
        None => cwd()?,
    };
    let dir = project_root(&dir);
    let (text, data) = match standing(context, &dir) {
        Ok(standing) => (line(standing.as_ref()), data(standing.as_ref())),
        Err(error) => {
            let error = error.to_string();
            let first = error.lines().next().unwrap_or_default();
            let text = format!("invar ? {}", visible(first));
            (text, json!({"error": error}))
        }
    };
    Ok(Done::new(format!("{text}\n"), data))
}

fn line(standing: Option<&Standing>) -> String {
    let Some(s) = standing else {
        return "invar · no plan".to_owned();
    };
    let mut parts = vec![format!("invar {} {}", s.plan.phase, s.plan.state)];
    parts.push(format!("{} in force", s.in_force));
    if let Some((count, limit)) = s.worst {
        parts.push(format!("strike {count}/{limit}"));
    }
    if s.open > 0 {
        parts.push(format!("{} open", s.open));
    }
    if s.plan.is_halted() {
        parts.push("a person must resume it".to_owned());
    }
    parts.join(" · ")
}

fn data(standing: Option<&Standing>) -> Value {
    standing.map_or(json!({"plan_id": Value::Null}), |s| {
        json!({
            "plan_id": s.plan.id, "phase": s.plan.phase, "state": s.plan.state,
            "in_force": s.in_force, "strikes": s.strikes, "open_violations": s.open,
        })
    })
}
