//! plan, project and status.

use serde_json::json;

use super::{
    super::{
        Context,
        args::{PlanCommand, PlanUseArgs, ProjectCommand},
        exit,
        output::{Done, Failure},
    },
    Outcome, cwd, plan_ref, project as project_named, table,
};
use crate::{
    agents::Support,
    engine::{
        Config,
        config::JudgeConfig,
        disk::project_root,
        requests::{
            Effective, EffectiveOf, List, PlanCancel, PlanList, PlanMade, PlanResume, PlanShow,
            PlanTransition, PlanUse, ProjectBind, ProjectList, TreeState, TreeWatch,
        },
    },
    model::{ActionName, Invariant, Layer, Money, Plan, ProjectName, Scope, Transition, visible},
};

pub(super) fn plan(context: &mut Context, command: PlanCommand) -> Outcome {
    match command {
        PlanCommand::Use(args) => plan_use(context, args),
        PlanCommand::List => {
            let plans = context.ask(PlanList {})?;
            let rows: Vec<Vec<String>> = plans.iter().map(plan_row).collect();
            let text = match plans.is_empty() {
                true => "no plans; make one with `invar plan use ACTION --project NAME`\n".into(),
                false => table(&["ID", "PROJECT", "ACTION", "PHASE", "STATE"], &rows),
            };
            Ok(Done::new(text, json!({"plans": plans})))
        }
        PlanCommand::Show(arg) => {
            let plan = plan_ref(arg.plan)?;
            let plan = context.ask(PlanShow { plan })?;
            Ok(Done::new(plan_text(&plan), json!({"plan": plan})))
        }
        PlanCommand::Strategize(arg) => transition(context, arg.plan, Transition::StartStrategize),
        PlanCommand::Execute(arg) => transition(context, arg.plan, Transition::ExecutePlan),
        PlanCommand::Apply(arg) => transition(context, arg.plan, Transition::ApplyPlan),
        PlanCommand::Resume(arg) => {
            let request = PlanResume {
                plan: plan_ref(arg.plan)?,
            };
            Ok(plan_changed(&context.ask(request)?, "resumed"))
        }
        PlanCommand::Check(args) => plan_check(context, args.plan, args.agent),
        PlanCommand::Cancel(arg) => {
            let request = PlanCancel {
                plan: plan_ref(arg.plan)?,
            };
            Ok(plan_changed(&context.ask(request)?, "cancelled"))
        }
    }
}

/// What of the effective set holds with an agent.
fn plan_check(context: &mut Context, plan: String, agent: Option<String>) -> Outcome {
    let agent = match agent {
        Some(agent) => agent,
        None => {
            let plan = plan_ref(plan.clone())?;
            let plan = context.ask(PlanShow { plan })?;
            plan.agent.unwrap_or_else(|| "claude-code".to_owned())
        }
    };
    let agent = agent.as_str();
    let found = crate::agents::agent(agent).ok_or_else(|| {
        let known: Vec<_> = crate::agents::all().map(|a| a.name).collect();
        Failure::usage(format!("the agent {agent:?} is not known"))
            .hint(format!("use {}", known.join(", ")))
    })?;
    let config = Config::load(&context.locations.config)?;
    let of = EffectiveOf::Plan(plan_ref(plan)?);
    let set = context.ask(Effective { of })?;
    let root = project_root(&cwd()?);
    let TreeWatch { watched, fault } = context.ask(TreeState { root })?;
    let mut rows = Vec::new();
    let mut data = Vec::new();
    let mut unsupported = false;
    for invariant in &set.invariants {
        let coverage = found
            .capabilities
            .coverage(&invariant.layer, config.judge.kind.is_some());
        unsupported |= coverage.support == Support::Unsupported;
        let word = coverage.support.as_str().to_owned();
        let why = match (&fault, &invariant.layer) {
            (Some(fault), Layer::Letter(_)) => {
                format!(
                    "{}; but the files here are not compared: {fault}",
                    coverage.why
                )
            }
            _ => coverage.why,
        };
        rows.push(vec![word, invariant.text.clone(), why.clone()]);
        data.push(json!({
            "id": invariant.id, "text": invariant.text, "layer": invariant.layer.kind(),
            "support": coverage.support, "why": why,
        }));
    }
    let mut text = match rows.is_empty() {
        true => "no invariants in force\n".to_owned(),
        false => table(&["SUPPORT", "INVARIANT", "WHY"], &rows),
    };
    text.push_str(&match (watched, &fault) {
        (Some(count), _) => format!("{count} files are compared after each command\n"),
        (None, Some(fault)) => format!("files are not compared: {fault}\n"),
        (None, None) => String::new(),
    });
    let costs = estimates(&set.invariants, &config.judge);
    for (name, cost) in &costs {
        text.push_str(&format!("judging a run with {name}: about {cost}\n"));
    }
    let caps = &found.capabilities;
    text.push_str(&format!("with {}:\n", found.title));
    for limit in caps.limits() {
        text.push_str(&format!("  {limit}\n"));
    }
    let mut done = Done::new(
        text,
        json!({
            "plan_id": set.plan_id, "agent": agent, "invariants": data,
            "judging": costs.iter().map(|(n, c)| json!({"checkpoint": n, "about": c.to_string()})).collect::<Vec<_>>(),
            "capabilities": caps, "limits": caps.limits(),
            "tree": {"watched": watched, "fault": fault},
        }),
    );
    if unsupported {
        done.exit = exit::BLOCKED;
    }
    Ok(done)
}

/// How many changes and turns a run is taken to have.
const CHANGES: u64 = 50;
const TURNS: u64 = 10;

/// What the judgment clauses in force would cost in a run, by the choice of checkpoint.
fn estimates(invariants: &[Invariant], judge: &JudgeConfig) -> Vec<(String, Money)> {
    let judged = |i: &&Invariant| matches!(i.layer, Layer::Judgment { .. });
    let clauses = invariants.iter().filter(judged).count() as u64;
    if clauses == 0 || judge.kind.is_none() {
        return Vec::new();
    }
    let one = judge.estimate().times(clauses);
    [
        (format!("each_edit ({CHANGES} changes)"), CHANGES),
        ("each_n_iterations=5".to_owned(), TURNS / 5),
        (format!("at_satisfaction ({TURNS} turns)"), TURNS),
    ]
    .map(|(name, count)| (name, one.times(count)))
    .to_vec()
}

fn project_show(context: &mut Context, name: Option<String>) -> Outcome {
    let name = project_named(context, name)?;
    let projects = context.ask(ProjectList {})?;
    let record = projects.into_iter().find(|p| p.name == name);
    let scope = Some(Scope::Project(name.clone()));
    let invariants = context.ask(List {
        scope,
        plan: None,
        removed: false,
    })?;
    let mut plans = context.ask(PlanList {})?;
    plans.retain(|p| p.project == name);
    let mut text = format!("{name}\n");
    for root in record.iter().flat_map(|r| &r.roots) {
        text.push_str(&format!("  in {}\n", visible(&root.to_string_lossy())));
    }
    text.push_str(&format!(
        "  {} plans, {} invariants of its own\n",
        plans.len(),
        invariants.len()
    ));
    if !invariants.is_empty() {
        text.push_str(&super::invariants::invariant_table(&invariants));
    }
    let data = json!({"project": name, "record": record, "plans": plans, "invariants": invariants});
    Ok(Done::new(text, data))
}

fn plan_use(context: &mut Context, args: PlanUseArgs) -> Outcome {
    let request = PlanUse {
        action: ActionName::new(&args.action)?,
        project: project_named(context, args.project)?,
        params: args.set.into_iter().collect(),
        parent: args.parent.map(plan_ref).transpose()?,
    };
    let PlanMade { plan, promoted } = context.ask(request)?;
    let text = format!(
        "plan {} of {} in project {} is current; {promoted} invariants promoted from the action\n",
        plan.id,
        visible(&args.action),
        plan.project
    );
    let data = json!({"plan_id": plan.id, "promoted": promoted, "plan": plan});
    Ok(Done::new(text, data))
}

fn transition(context: &mut Context, plan: String, transition: Transition) -> Outcome {
    let plan = plan_ref(plan)?;
    let result = context.ask(PlanTransition { plan, transition })?;
    let mut text = format!(
        "plan {}: {} started; {} invariants in force, {} conflicts resolved\n",
        result.plan_id,
        transition.verb(),
        result.resolved_invariants.len(),
        result.conflicts_resolved
    );
    for decision in &result.decisions {
        text.push_str(&format!(
            "  {}: \"{}\" of {}\n",
            decision.rationale,
            visible(&decision.loser.text),
            decision.loser.scope
        ));
    }
    Ok(Done::new(
        text,
        json!({"plan_id": result.plan_id, "reconciliation": result}),
    ))
}

fn plan_changed(plan: &Plan, verb: &str) -> Done {
    let text = format!("{verb} plan {}; it is {}\n", plan.id, plan.state);
    Done::new(text, json!({"plan_id": plan.id, "plan": plan}))
}

fn action_name(plan: &Plan) -> String {
    plan.action
        .as_ref()
        .map_or_else(|| "(automatic)".to_owned(), ToString::to_string)
}

fn plan_row(plan: &Plan) -> Vec<String> {
    vec![
        plan.id.to_string(),
        plan.project.to_string(),
        action_name(plan),
        plan.phase.to_string(),
        plan.state.to_string(),
    ]
}

fn plan_text(plan: &Plan) -> String {
    let mut rows = vec![
        ("id", plan.id.to_string()),
        ("project", plan.project.to_string()),
        ("action", action_name(plan)),
        ("phase", plan.phase.to_string()),
        ("state", plan.state.to_string()),
        ("created", plan.created_at.to_string()),
    ];
    if let Some(agent) = &plan.agent {
        rows.push(("agent", agent.clone()));
    }
    if let Some(parent) = plan.parent {
        rows.push(("parent", parent.to_string()));
    }
    for (name, value) in &plan.params {
        rows.push(("set", format!("{name}={value}")));
    }
    if let Some(transition) = plan.blocked {
        rows.push(("blocked at", transition.verb().to_owned()));
    }
    if let Some(reason) = &plan.halt_reason {
        rows.push(("halted", reason.clone()));
    }
    rows.iter()
        .map(|(name, value)| format!("{name:<11} {}\n", visible(value)))
        .collect()
}

pub(super) fn project(context: &mut Context, command: ProjectCommand) -> Outcome {
    match command {
        ProjectCommand::List => {
            let projects = context.ask(ProjectList {})?;
            let rows: Vec<Vec<String>> = projects
                .iter()
                .map(|p| {
                    let roots: Vec<_> = p.roots.iter().map(|r| r.display().to_string()).collect();
                    let plan = p.current_plan.map(|id| id.to_string()).unwrap_or_default();
                    vec![p.name.to_string(), plan, roots.join(", ")]
                })
                .collect();
            let text = match projects.is_empty() {
                true => {
                    "no projects yet; `invar plan use` or `invar project bind` names one\n".into()
                }
                false => table(&["PROJECT", "CURRENT PLAN", "DIRECTORIES"], &rows),
            };
            Ok(Done::new(text, json!({"projects": projects})))
        }
        ProjectCommand::Show(args) => project_show(context, args.name),
        ProjectCommand::Bind(args) => {
            let name = ProjectName::new(&args.name)?;
            let here = cwd()?;
            let dir = args.dir.map_or_else(|| here.clone(), |dir| here.join(dir));
            let root = dir.canonicalize().map_err(|e| {
                let shown = visible(&dir.to_string_lossy()).into_owned();
                Failure::failed(format!("the directory {shown} cannot be bound"))
                    .caused_by(e)
                    .hint("give one that exists")
            })?;
            let project = context.ask(ProjectBind { name, root })?;
            let last = project.roots.last().map(|r| r.display().to_string());
            let text = format!(
                "{} is project {}\n",
                visible(&last.unwrap_or_default()),
                project.name
            );
            Ok(Done::new(text, json!({"project": project})))
        }
    }
}
