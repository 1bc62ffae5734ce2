//! What a call to one of the agent's own tools does, by the agent's table of tools.

use std::path::Path;

use serde_json::Value;

use super::patch;
use crate::model::Effect;

/// What a tool does, and the fields of its input that say to what. Of several fields all that
/// are there count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Writes or makes the files named.
    Change(&'static [&'static str]),
    /// Writes the files named, also those in the list `edits`.
    Edits(&'static [&'static str]),
    Delete(&'static [&'static str]),
    /// Reads the file or folder named; the current one when none is.
    Read(&'static [&'static str]),
    /// Runs a command line, or each of a list, in the folder that a field of `dir` names.
    Shell {
        command: &'static [&'static str],
        dir: &'static [&'static str],
        /// `None` for a shell.
        language: Option<&'static str>,
    },
    /// The whole input is a command line.
    Line,
    /// Applies a patch: the text in a field, or the whole input when it is a text.
    Patch(&'static [&'static str]),
    /// Says itself what it does: `changes`, `deletes`, `reads`, `command`; without any of them it
    /// is read like an unknown tool.
    Declared,
    /// Starts a sub-agent.
    Spawn,
    /// Touches no file of the project.
    Harmless,
}

/// Where an edit of a list may name its file.
const EDIT_PATHS: [&str; 3] = ["file_path", "path", "filePath"];

/// A command line in `command`.
pub const SHELL: Tool = Tool::Shell {
    command: &["command"],
    dir: &[],
    language: None,
};

/// The effects of a call to a known tool.
///
/// # Errors
/// The field that is missing.
pub(super) fn effects_of(
    tool: &Tool,
    input: &Value,
    cwd: &Path,
) -> Result<Vec<Effect>, &'static str> {
    let all = |fields: &'static [&'static str]| -> Result<Vec<String>, &'static str> {
        let values = fields.iter().filter_map(|f| input.get(f));
        let texts: Vec<String> = values.flat_map(texts).collect();
        match texts.is_empty() {
            true => Err(fields.first().copied().unwrap_or("input")),
            false => Ok(texts),
        }
    };
    let change = |path: String| Effect::Change { path: path.into() };
    Ok(match tool {
        Tool::Change(fields) => all(fields)?.into_iter().map(change).collect(),
        Tool::Edits(fields) => {
            let edits = input.get("edits").and_then(Value::as_array);
            // A path may stand in the edits alone, whatever the tool's own field is called.
            let in_edits = edits.into_iter().flatten().flat_map(|edit| {
                let names = fields.iter().chain(&EDIT_PATHS);
                names.filter_map(|f| edit.get(f)).flat_map(texts)
            });
            let mut paths: Vec<String> = in_edits.collect();
            match all(fields) {
                Ok(named) => paths.splice(0..0, named).for_each(drop),
                Err(lacks) if paths.is_empty() => return Err(lacks),
                Err(_) => {}
            }
            let mut seen = std::collections::HashSet::new();
            paths.retain(|path| seen.insert(path.clone()));
            paths.into_iter().map(change).collect()
        }
        Tool::Delete(fields) => all(fields)?
            .into_iter()
            .map(|path| Effect::Delete { path: path.into() })
            .collect(),
        Tool::Read(fields) => {
            let named = fields.iter().filter_map(|f| input.get(f)).flat_map(texts);
            let mut effects: Vec<Effect> = named
                .map(|path| Effect::Read { path: path.into() })
                .collect();
            if effects.is_empty() {
                effects.push(Effect::Read { path: cwd.into() });
            }
            effects
        }
        Tool::Shell {
            command, language, ..
        } => all(command)?
            .into_iter()
            .map(|command| Effect::Opaque {
                command,
                language: language.map(str::to_owned),
            })
            .collect(),
        Tool::Patch(fields) => {
            let text = match input {
                Value::String(text) => text.clone(),
                _ => all(fields)?.join("\n"),
            };
            let effects = patch::effects(&text);
            // A patch that names no file is none that anybody can judge.
            if effects.is_empty() {
                return Err(fields.first().copied().unwrap_or("input"));
            }
            effects
        }
        Tool::Line => match input.as_str().filter(|line| !line.is_empty()) {
            Some(line) => vec![Effect::Opaque {
                command: line.to_owned(),
                language: None,
            }],
            None => return Err("command"),
        },
        Tool::Declared => declared(input).unwrap_or_default(),
        Tool::Spawn | Tool::Harmless => Vec::new(),
    })
}

/// The effects that a call says itself; `None` when it says none.
pub(super) fn declared(input: &Value) -> Option<Vec<Effect>> {
    let named = |field: &str| input.get(field).map(texts);
    let all = ["changes", "deletes", "reads", "command"].map(named);
    if all.iter().all(Option::is_none) {
        return None;
    }
    let [changes, deletes, reads, commands] = all.map(Option::unwrap_or_default);
    let mut effects: Vec<Effect> = Vec::new();
    effects.extend(
        changes
            .into_iter()
            .map(|p| Effect::Change { path: p.into() }),
    );
    effects.extend(
        deletes
            .into_iter()
            .map(|p| Effect::Delete { path: p.into() }),
    );
    effects.extend(reads.into_iter().map(|p| Effect::Read { path: p.into() }));
    effects.extend(commands.into_iter().map(|command| Effect::Opaque {
        command,
        language: None,
    }));
    Some(effects)
}

/// The texts in a value: itself, or those of its list.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if !text.is_empty() => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.get("path").map(texts).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// A command line out of its words, each of them quoted; the line itself, where a shell is to run
/// it.
pub(super) fn as_line(words: &[&str]) -> String {
    match words {
        [_, "-c" | "-lc", line, ..] => (*line).to_owned(),
        words => words
            .iter()
            .map(|w| format!("'{}'", w.replace('\'', r"'\''")))
            .collect::<Vec<_>>()
            .join(" "),
    }
}
#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_in_each_edit_counts() {
        let changed = |input: Value| {
            let effects = effects_of(&Tool::Edits(&["file_path"]), &input, Path::new("/w"));
            effects.map(|all| {
                let paths = all.iter().flat_map(|e| e.changed_paths());
                paths.cloned().collect::<Vec<PathBuf>>()
            })
        };
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        let edits =
            json!([{"file_path": "b"}, {"path": "c"}, {"filePath": "b"}, {"old_string": "d"}]);
        let both = json!({"file_path": "a", "edits": edits});
        assert_eq!(changed(both), Ok(paths(&["a", "b", "c"])));
        assert_eq!(changed(json!({"edits": edits})), Ok(paths(&["b", "c"])));
        let none = json!({"edits": [{"old_string": "d"}]});
        assert_eq!(changed(none), Err("file_path"));
    }

    #[test]
    fn words_become_a_line() {
        assert_eq!(as_line(&["bash", "-lc", "rm b"]), "rm b");
        assert_eq!(as_line(&["rm", "it's"]), r"'rm' 'it'\''s'");
    }
}
