//! assent: the questions that wait for a person, and the answers.

use serde_json::json;

use super::{
    super::{Context, args::AssentCommand, output::Done},
    Outcome, plan_ref, table,
};
use crate::{
    engine::requests::{AssentAnswer, Assents, Ruling},
    model::{Assent, AssentStatus, visible},
};

pub(super) fn assent(context: &mut Context, command: AssentCommand) -> Outcome {
    match command {
        AssentCommand::List { plan, all } => list(context, plan, all),
        AssentCommand::Approve { id, plan } => {
            answer(context, id, Ruling::Approve { for_plan: plan })
        }
        AssentCommand::Refuse { id, reason } => answer(context, id, Ruling::Refuse { reason }),
    }
}

fn list(context: &mut Context, plan: Option<String>, all: bool) -> Outcome {
    let plan = plan.map(plan_ref).transpose()?;
    let mut assents = context.ask(Assents { plan })?;
    assents.retain(|a| all || a.is_waiting());
    let mut text = String::new();
    if assents.is_empty() {
        text.push_str("nothing waits for a person\n");
    }
    for assent in &assents {
        text.push_str(&card(assent));
    }
    Ok(Done::new(text, json!({"assents": assents})))
}

/// A question as it is read over SSH on a small screen.
fn card(assent: &Assent) -> String {
    let rows = vec![
        vec!["id".to_owned(), assent.id.to_string()],
        vec!["status".to_owned(), status(assent)],
        vec!["invariant".to_owned(), assent.text.clone()],
        vec!["plan".to_owned(), assent.plan_id.to_string()],
        vec![
            "agent".to_owned(),
            format!("{}, {}", assent.agent, assent.tool),
        ],
        vec!["path".to_owned(), assent.path.clone()],
    ];
    let mut out = table(&["", ""], &rows);
    for line in assent.change.lines() {
        out.push_str(&format!("  {}\n", visible(line)));
    }
    out.push('\n');
    out
}

fn status(assent: &Assent) -> String {
    match &assent.status {
        AssentStatus::Waiting => "waiting".to_owned(),
        AssentStatus::Delegated => "asked by the agent's own prompt".to_owned(),
        AssentStatus::Approved {
            by, for_plan, used, ..
        } => {
            let how = match (for_plan, used) {
                (true, _) => "for this plan",
                (false, true) => "once, and made",
                (false, false) => "once",
            };
            format!("approved {how} by {by}")
        }
        AssentStatus::Refused { by, reason, .. } => format!("refused by {by}: {reason}"),
    }
}

fn answer(context: &mut Context, id: String, answer: Ruling) -> Outcome {
    let request = AssentAnswer {
        id,
        by: crate::engine::caller::person(),
        answer,
    };
    let assent = context.ask(request)?;
    let text = format!(
        "{}: {} {}\n",
        status(&assent),
        visible(&assent.tool),
        visible(&assent.path)
    );
    Ok(Done::new(text, json!({"assents": [assent]})))
}
