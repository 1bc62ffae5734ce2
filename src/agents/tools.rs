//! What can be read out of a tool call that no table knows: paths in fields that name paths.

use std::path::PathBuf;

use serde_json::Value;

use super::patch;
use crate::model::Effect;

/// Fields whose value is a path whatever it looks like.
const PATH_FIELDS: [&str; 10] = [
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

/// Fields that hold a program text; its language is told by another field, or not at all.
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

/// Whether the name of a tool says that it only looks.
pub(super) fn only_reads(tool: &str) -> bool {
    let action = tool.rsplit("__").next().unwrap_or(tool);
    let first = action
        .split(['_', '-', '.'])
        .find(|word| !word.is_empty())
        .unwrap_or_default()
        .to_ascii_lowercase();
    READING.contains(&first.as_str())
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
        // A command may come as its words.
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
                    if let (Effect::Opaque { language: of, .. }, Some(told)) = (effect, language) {
                        *of = (!shell.contains(&told)).then(|| told.to_owned());
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
    // A file's absolute path is one in any field; a route such as /login is none.
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
        assert_eq!(changed("mcp__get__overwrite", input), ["tests/t.py"]);
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
