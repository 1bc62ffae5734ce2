//! What can be read out of a tool call that no table knows: paths in fields that name paths.

use std::path::PathBuf;

use serde_json::Value;

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

/// Words in a tool's name that say it only looks.
const READING: [&str; 13] = [
    "read", "get", "list", "search", "find", "view", "glob", "grep", "fetch", "stat", "show",
    "query", "describe",
];

const MAX_DEPTH: usize = 16;

/// The effects of a call to an unknown tool: a change of every path in its input, or a read
/// when the name of the tool says so.
pub fn effects_of_unknown(tool: &str, input: &Value) -> Vec<Effect> {
    let mut paths = Vec::new();
    collect(input, false, 0, &mut paths);
    let reads = only_reads(tool);
    paths
        .into_iter()
        .map(|path| {
            if reads {
                Effect::Read { path }
            } else {
                Effect::Change { path }
            }
        })
        .collect()
}

fn only_reads(tool: &str) -> bool {
    let action = tool.rsplit("__").next().unwrap_or(tool);
    let first = action
        .split(['_', '-', '.'])
        .find(|word| !word.is_empty())
        .unwrap_or_default()
        .to_ascii_lowercase();
    READING.contains(&first.as_str())
}

fn collect(value: &Value, is_path: bool, depth: usize, out: &mut Vec<PathBuf>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::String(text) if is_path && !text.is_empty() => out.push(PathBuf::from(text)),
        Value::Array(items) => items
            .iter()
            .for_each(|i| collect(i, is_path, depth + 1, out)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = snake_case(name);
                let certain = PATH_FIELDS.contains(&name.as_str());
                let maybe = MAYBE_FIELDS.contains(&name.as_str());
                match value {
                    Value::String(text) if maybe => {
                        collect(value, looks_like_path(text), depth + 1, out);
                    }
                    Value::Array(items) if maybe => {
                        for item in items {
                            let is_path = item.as_str().is_some_and(looks_like_path);
                            collect(item, is_path, depth + 1, out);
                        }
                    }
                    _ => collect(value, certain, depth + 1, out),
                }
            }
        }
        _ => {}
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
            "target": "production",
        });
        assert!(changed("mcp__mail__send", input).is_empty());
    }
}
