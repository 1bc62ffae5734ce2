//! action add, list, show, remove.

use serde_json::json;

use super::{
    super::{
        Context,
        args::ActionCommand,
        output::{Done, Failure, confirm},
    },
    Outcome,
    invariants::invariant_table,
    table,
};
use crate::{
    engine::requests::{ActionAdd, ActionList, ActionRemove, ActionSummary, List},
    model::{ActionName, Scope},
};

pub(super) fn action(context: &mut Context, command: ActionCommand) -> Outcome {
    match command {
        ActionCommand::Add(arg) => {
            let name = ActionName::new(&arg.name)?;
            Ok(told(&context.ask(ActionAdd { name })?, "is known"))
        }
        ActionCommand::List => {
            let actions = context.ask(ActionList {})?;
            let row = |a: &ActionSummary| {
                vec![
                    a.name.to_string(),
                    a.invariants.to_string(),
                    a.plans.to_string(),
                ]
            };
            let rows: Vec<_> = actions.iter().map(row).collect();
            let text = match actions.is_empty() {
                true => "no actions; name one with `invar action add NAME`\n".to_owned(),
                false => table(&["ACTION", "INVARIANTS", "PLANS"], &rows),
            };
            Ok(Done::new(text, json!({"actions": actions})))
        }
        ActionCommand::Show(arg) => {
            let name = ActionName::new(&arg.name)?;
            let scope = Some(Scope::Action(name.clone()));
            let invariants = context.ask(List {
                scope,
                plan: None,
                removed: false,
            })?;
            let text = match invariants.is_empty() {
                true => format!("{name} carries no invariants\n"),
                false => invariant_table(&invariants),
            };
            Ok(Done::new(
                text,
                json!({"action": name, "invariants": invariants}),
            ))
        }
        ActionCommand::Remove(args) => {
            let name = ActionName::new(&args.name)?;
            if !args.yes {
                match confirm(&format!("Remove the action {name} and its invariants?")) {
                    Some(true) => {}
                    Some(false) => return Err(Failure::failed("nothing was removed")),
                    None => {
                        let message = "removing asks first, and there is no terminal to ask on";
                        return Err(Failure::usage(message).hint("add --yes"));
                    }
                }
            }
            Ok(told(&context.ask(ActionRemove { name })?, "was removed"))
        }
    }
}

fn told(action: &ActionSummary, what: &str) -> Done {
    let text = format!(
        "action {} {what}, with {} invariants\n",
        action.name, action.invariants
    );
    Done::new(text, json!({"action": action}))
}
