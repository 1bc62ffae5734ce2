//! What a tool call does: by the agent's table of tools, and for a tool that no table knows by
//! the fields that name paths, commands and patches.

use std::path::{Path, PathBuf};

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
            let mut effects: Vec<Effect> = all(fields)?.into_iter().map(change).collect();
            let edits = input.get("edits").and_then(Value::as_array);
            for edit in edits.into_iter().flatten() {
                let named = fields.iter().filter_map(|f| edit.get(f));
                effects.extend(named.flat_map(texts).map(change));
            }
            effects
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

/// Fields whose value is a path whatever it looks like.
const PATH_FIELDS: [&str; 12] = [
    "target_file",
    "absolute_path",
    "path",
    "file_path",
    "filepath",
    "filename",
    "notebook_path",
    "target_path",
    "dest_path",
    "output_path",
    "new_path",
    "old_path",
];

/// Fields that often hold a path and often something else.
const MAYBE_FIELDS: [&str; 12] = [
    "file",
    "files",
    "paths",
    "target",
    "destination",
    "dest",
    "dst",
    "source",
    "src",
    "output",
    "to",
    "from",
];

/// Fields that hold a command line of a shell.
const COMMAND_FIELDS: [&str; 6] = [
    "command",
    "cmd",
    "command_line",
    "shell_command",
    "bash",
    "script",
];

/// Fields that hold a program text. Another field may name its language; often none does.
const CODE_FIELDS: [&str; 3] = ["code", "source_code", "snippet"];

/// Fields whose value is text for people or files; paths and patches in it are no effects.
const TEXT_FIELDS: [&str; 12] = [
    "content",
    "contents",
    "text",
    "body",
    "message",
    "description",
    "new_string",
    "old_string",
    "file_text",
    "prompt",
    "query",
    "title",
];

/// Words in a tool's name that say it only looks.
const READING: [&str; 13] = [
    "read", "get", "list", "search", "find", "view", "glob", "grep", "fetch", "stat", "show",
    "query", "describe",
];

const MAX_DEPTH: usize = 16;

/// The effects of a call to an unknown tool: a change of every path in its input, or a read
/// when the name of the tool says so; the commands, programs and patches in it.
pub fn effects_of_unknown(tool: &str, input: &Value) -> Vec<Effect> {
    let mut effects = Vec::new();
    collect(input, Field::Other, 0, &mut effects);
    if only_reads(tool) {
        return effects
            .into_iter()
            .map(|effect| match effect {
                Effect::Change { path } | Effect::Delete { path } => Effect::Read { path },
                other => other,
            })
            .collect();
    }
    effects
}

/// Words in a tool's name that say it does more than look.
const WRITING: [&str; 29] = [
    "write",
    "edit",
    "create",
    "update",
    "delete",
    "remove",
    "move",
    "rename",
    "set",
    "put",
    "save",
    "append",
    "insert",
    "replace",
    "patch",
    "apply",
    "overwrite",
    "run",
    "exec",
    "execute",
    "add",
    "post",
    "send",
    "push",
    "commit",
    "copy",
    "make",
    "upload",
    "drop",
];

/// Whether the name of a tool says that it only looks. Where a mark separates the server's name
/// from the action's (`server__read_file`), the first word of the action decides. Without one no
/// word may say more: it is not known which of them is the action.
pub(super) fn only_reads(tool: &str) -> bool {
    let marked = tool
        .rsplit_once("__")
        .or_else(|| tool.rsplit_once(':'))
        .or_else(|| tool.rsplit_once('/'));
    let action = marked.map_or(tool, |(_, action)| action);
    let words: Vec<String> = action
        .split(['_', '-', '.'])
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let reads = |word: &String| READING.contains(&word.as_str());
    let writes = |word: &String| WRITING.contains(&word.as_str());
    match marked {
        Some(_) => words.first().is_some_and(reads),
        None => words.iter().any(reads) && !words.iter().any(writes),
    }
}

/// What the name of a field says about its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Path,
    Maybe,
    Command,
    Code,
    Text,
    Other,
}

impl Field {
    fn named(name: &str) -> Self {
        let lists: [(&[&str], Self); 5] = [
            (&PATH_FIELDS, Self::Path),
            (&MAYBE_FIELDS, Self::Maybe),
            (&COMMAND_FIELDS, Self::Command),
            (&CODE_FIELDS, Self::Code),
            (&TEXT_FIELDS, Self::Text),
        ];
        let list = lists.iter().find(|(names, _)| names.contains(&name));
        list.map_or(Self::Other, |(_, kind)| *kind)
    }
}

fn collect(value: &Value, field: Field, depth: usize, out: &mut Vec<Effect>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::String(text) if !text.is_empty() => out.extend(of_text(text, field)),
        // Some agents send a command as a list of its words.
        Value::Array(items) if field == Field::Command && items.iter().all(Value::is_string) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            let line = match words.as_slice() {
                [_, "-c" | "-lc", line, ..] => (*line).to_owned(),
                words => words
                    .iter()
                    .map(|w| format!("'{}'", w.replace('\'', r"'\''")))
                    .collect::<Vec<_>>()
                    .join(" "),
            };
            out.push(Effect::Opaque {
                command: line,
                language: None,
            });
        }
        Value::Array(items) => items.iter().for_each(|i| collect(i, field, depth + 1, out)),
        Value::Object(fields) => {
            let language = fields.get("language").and_then(Value::as_str);
            for (name, value) in fields {
                let before = out.len();
                collect(value, Field::named(&snake_case(name)), depth + 1, out);
                let shell = ["bash", "sh", "shell", "zsh"];
                for effect in &mut out[before..] {
                    if let (Effect::Opaque { language: of, .. }, Some(named)) = (effect, language) {
                        *of = (!shell.contains(&named)).then(|| named.to_owned());
                    }
                }
            }
        }
        _ => {}
    }
}

fn of_text(text: &str, field: Field) -> Vec<Effect> {
    if field != Field::Text && patch::is_patch(text) {
        return patch::effects(text);
    }
    let change = || {
        vec![Effect::Change {
            path: PathBuf::from(text),
        }]
    };
    let opaque = |language: Option<&str>| {
        vec![Effect::Opaque {
            command: text.to_owned(),
            language: language.map(str::to_owned),
        }]
    };
    // An absolute path of a file counts in any field. A route such as /login looks alike and is
    // not one.
    let has_extension = text
        .rsplit('/')
        .next()
        .is_some_and(|name| name.contains('.'));
    let absolute = (text.starts_with('/') && has_extension)
        || text.starts_with("~/")
        || text.starts_with("file://");
    let absolute = absolute && looks_like_path(text);
    match field {
        Field::Path => change(),
        Field::Maybe if looks_like_path(text) => change(),
        Field::Other if absolute => change(),
        Field::Command => opaque(None),
        Field::Code => opaque(Some("program")),
        Field::Maybe | Field::Text | Field::Other => Vec::new(),
    }
}

/// `filePath` and `file_path` are one name.
fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    let mut before = '_';
    for c in name.chars() {
        if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
            out.push('_');
        }
        out.push(if c == '-' {
            '_'
        } else {
            c.to_ascii_lowercase()
        });
        before = c;
    }
    out
}

fn looks_like_path(text: &str) -> bool {
    let is_url = text.contains("://") && !text.starts_with("file://");
    let has_slash = text.contains('/');
    let has_extension = text
        .rsplit_once('.')
        .is_some_and(|(stem, ext)| !stem.is_empty() && (1..=5).contains(&ext.len()));
    !is_url && !text.contains(['@', '\n', ' ']) && (has_slash || has_extension)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn changed(tool: &str, input: Value) -> Vec<String> {
        effects_of_unknown(tool, &input)
            .iter()
            .flat_map(|e| e.changed_paths())
            .map(|p| p.display().to_string())
            .collect()
    }

    #[test]
    fn paths_are_found_in_every_depth() {
        let input = json!({
            "target": "/w/docs/a.md",
            "payload": {"nested": {"path": "/etc/hosts"}},
            "files": ["a.py", "not a path"],
            "filePath": "b",
        });
        assert_eq!(
            changed("FutureTool", input),
            ["/w/docs/a.md", "/etc/hosts", "a.py", "b"]
        );
    }

    #[test]
    fn reading_tools_change_nothing() {
        let input = json!({"path": "tests/t.py"});
        assert!(changed("mcp__fs__read_file", input.clone()).is_empty());
        assert_eq!(
            changed("mcp__fs__write_file", input.clone()),
            ["tests/t.py"]
        );
        assert_eq!(
            changed("mcp__get__overwrite", input.clone()),
            ["tests/t.py"]
        );
        for reads in [
            "mcp_notes_read_note",
            "notes-get_note",
            "MCP:list_notes",
            "@fs/read_file",
        ] {
            assert!(changed(reads, input.clone()).is_empty(), "{reads}");
        }
        for writes in [
            "mcp_read_write_note",
            "notes-write_note",
            "MCP:write_note",
            "get_write",
        ] {
            assert_eq!(changed(writes, input.clone()), ["tests/t.py"], "{writes}");
        }
    }

    #[test]
    fn what_is_no_path_is_left_alone() {
        let input = json!({
            "to": "mira@example.org", "source": "https://example.org/a/b", "text": "edit src/a.rs",
            "target": "production", "route": "/api/v1", "link": "/login",
        });
        assert!(changed("mcp__mail__send", input).is_empty());
    }

    #[test]
    fn commands_programs_and_patches_are_what_they_are() {
        let input = json!({
            "command": "rm a", "cmd": ["bash", "-lc", "rm b"],
            "nested": {"code": "open('c')", "language": "python"},
            "edit": "*** Begin Patch\n*** Update File: d\n*** End Patch", "location": "/w/e.txt", "content": "--- a/f\n+++ b/f\n",
        });
        let opaque = |command: &str, language: Option<&str>| Effect::Opaque {
            command: command.into(),
            language: language.map(str::to_owned),
        };
        let change = |path: &str| Effect::Change { path: path.into() };
        assert_eq!(
            effects_of_unknown("mcp__box__run", &input),
            [
                opaque("rm a", None),
                opaque("rm b", None),
                opaque("open('c')", Some("python")),
                change("d"),
                change("/w/e.txt"),
            ]
        );
        let words = json!({"cmd": ["rm", "it's"]});
        assert_eq!(
            effects_of_unknown("x", &words),
            [opaque(r"'rm' 'it'\''s'", None)]
        );
    }
}
