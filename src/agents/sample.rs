//! Payloads as an agent would send them, made from its own tables: `doctor` sends them through
//! the installed hook to see that it answers.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{
    dialect::{Agent, Moment},
    tools::Tool,
};

/// The payload before an action of `session` in `project`: one that changes `path`, or one that
/// changes nothing. `None` for an agent whose table has no such tool.
pub fn before(agent: &Agent, session: &str, project: &Path, path: Option<&Path>) -> Option<Value> {
    let writes = |tool: &Tool| matches!(tool, Tool::Change(_) | Tool::Patch(_) | Tool::Declared);
    let reads = |tool: &Tool| matches!(tool, Tool::Read(_) | Tool::Declared);
    let (name, tool) = agent.tools.iter().find(|(name, tool)| {
        let wanted = if path.is_some() {
            writes(tool)
        } else {
            reads(tool)
        };
        // A table may hold the names of events, of which only those before an action fit.
        let moment = agent.events.iter().find(|(event, _)| event == name);
        wanted && moment.is_none_or(|(_, m)| *m == Moment::Before)
    })?;
    let by_event = agent.events.iter().any(|(event, _)| event == name);
    let target = path.unwrap_or(project).to_string_lossy().into_owned();
    let input = match tool {
        Tool::Declared if path.is_some() => json!({"changes": [target]}),
        Tool::Declared => json!({"reads": [target]}),
        Tool::Patch(fields) => {
            let patch =
                format!("*** Begin Patch\n*** Update File: {target}\n@@\n-a\n+b\n*** End Patch\n");
            json!({*fields.first()?: patch})
        }
        Tool::Change(fields) | Tool::Read(fields) => match fields.first() {
            Some(field) => json!({*field: target}),
            None => json!({}),
        },
        _ => return None,
    };
    let mut payload = Value::Object(Map::new());
    let mut put = |places: &[&str], value: Value| {
        if let Some(place) = places.first() {
            set(&mut payload, place, value);
        }
    };
    let event = match by_event {
        true => name,
        false => agent.events.iter().find(|(_, m)| *m == Moment::Before)?.0,
    };
    let f = &agent.fields;
    put(f.event, event.into());
    if f.event.is_empty() {
        put(&["/hook"], event.into());
    }
    let folder = project.to_string_lossy().into_owned();
    put(f.session, session.into());
    put(f.input, input);
    put(f.cwd, folder.clone().into());
    put(f.project, folder.into());
    if !by_event || *tool == Tool::Declared {
        put(f.tool, (*name).into());
    }
    put(f.call, "invar-doctor".into());
    Some(payload)
}

/// Puts a value at a JSON pointer, making what is on the way.
fn set(root: &mut Value, place: &str, value: Value) {
    let mut at = root;
    let names: Vec<&str> = place.trim_start_matches('/').split('/').collect();
    for (depth, name) in names.iter().enumerate() {
        let next = names.get(depth + 1);
        let is_list = |n: &&str| n.parse::<usize>().is_ok();
        let empty = match next {
            Some(n) if is_list(n) => json!([]),
            _ => json!({}),
        };
        at = match at {
            Value::Array(items) => {
                if items.is_empty() {
                    items.push(empty);
                }
                &mut items[0]
            }
            other => {
                if !other.is_object() {
                    *other = json!({});
                }
                &mut other[*name]
            }
        };
        if next.is_some() && at.is_null() {
            *at = match next {
                Some(n) if is_list(n) => json!([]),
                _ => json!({}),
            };
        }
    }
    *at = value;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agents::{HookEnv, all},
        engine::requests::HookEvent,
        model::Effect,
    };

    #[test]
    fn each_agent_reads_its_own_samples() {
        let (project, file) = (Path::new("/w"), Path::new("/w/invar.toml"));
        for agent in all() {
            for path in [Some(file), None] {
                let payload = before(agent, "s", project, path);
                let payload = payload.unwrap_or_else(|| panic!("{}: no tool", agent.name));
                let parsed = agent.read(payload.to_string().as_bytes(), &HookEnv::default());
                let parsed = parsed.unwrap_or_else(|e| panic!("{}: {payload} {e}", agent.name));
                let call = parsed.call.unwrap();
                let HookEvent::Attempt(attempt) = call.what else {
                    panic!("{}: {payload}", agent.name)
                };
                assert_eq!(call.project_dir, project, "{}", agent.name);
                let changes = attempt
                    .effects
                    .iter()
                    .flat_map(Effect::changed_paths)
                    .count();
                assert_eq!(
                    changes,
                    usize::from(path.is_some()),
                    "{}: {payload}",
                    agent.name
                );
                assert!(!attempt.may_write, "{}", agent.name);
            }
        }
    }
}
