//! What a tool was given, as a person or a judge reads it.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::model::{Change, hex};

/// How much of it is shown; the digest covers all of it.
const MAX_SHOWN: usize = 6_000;

/// Fields with a command line.
const COMMANDS: [&str; 5] = ["command", "cmd", "command_line", "CommandLine", "commands"];

/// Fields with what goes and what comes in its place.
const REPLACED: [(&str, &str); 6] = [
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
    ("before", "after"),
];

/// Fields with the whole of a new content.
const CONTENTS: [&str; 5] = ["content", "contents", "file_text", "text", "new_source"];

/// Fields with a patch or a diff.
const PATCHES: [&str; 5] = [
    "patchText",
    "patch",
    "diff",
    "CodeContent",
    "ReplacementContent",
];

/// The change that a call makes: its text, cut, and the digest of its tool and input.
pub(super) fn of(tool: &str, input: &Value) -> Change {
    let mut hash = Sha256::new();
    hash.update(tool.as_bytes());
    hash.update([0]);
    hash.update(input.to_string().as_bytes());
    let digest = hex(&hash.finalize());
    let mut shown = String::new();
    show(input, &mut shown);
    if let Some((at, _)) = shown.char_indices().nth(MAX_SHOWN) {
        shown.truncate(at);
        shown.push_str("\n… and more");
    }
    Change { shown, digest }
}

fn show(input: &Value, out: &mut String) {
    let mut say = |mark: &str, value: &Value| {
        let texts: Vec<&str> = match value {
            Value::String(text) => vec![text],
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        // What lies far behind is cut anyway.
        for line in texts.iter().flat_map(|t| t.lines()).take(MAX_SHOWN) {
            if out.len() > 4 * MAX_SHOWN {
                return;
            }
            out.push_str(mark);
            out.push_str(line);
            out.push('\n');
        }
    };
    let Value::Object(fields) = input else {
        say("", input);
        return;
    };
    for name in COMMANDS {
        if let Some(value) = fields.get(name) {
            let is_patch = value.as_str().is_some_and(super::patch::is_patch);
            say(if is_patch { "" } else { "$ " }, value);
        }
    }
    for name in PATCHES {
        if let Some(value) = fields.get(name) {
            say("", value);
        }
    }
    for (old, new) in REPLACED {
        if let Some(value) = fields.get(old) {
            say("-", value);
        }
        if let Some(value) = fields.get(new) {
            say("+", value);
        }
    }
    for name in CONTENTS {
        if let Some(value) = fields.get(name) {
            say("+", value);
        }
    }
    if let Some(Value::Array(edits)) = fields.get("edits") {
        edits.iter().for_each(|edit| show(edit, out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_reads_like_a_diff() {
        for (input, expected) in [
            (
                json!({"file_path": "a", "old_string": "x\ny", "new_string": "z"}),
                "-x\n-y\n+z\n",
            ),
            (json!({"path": "a", "content": "1\n2"}), "+1\n+2\n"),
            (json!({"command": "rm a"}), "$ rm a\n"),
            (
                json!({"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c"}]}),
                "-a\n+b\n-c\n",
            ),
            (
                json!({"command": "*** Begin Patch\n*** End Patch"}),
                "*** Begin Patch\n*** End Patch\n",
            ),
        ] {
            assert_eq!(of("t", &input).shown, expected);
        }
    }

    #[test]
    fn the_digest_covers_what_is_not_shown() {
        let long = |end: &str| json!({"content": format!("{}{end}", "x".repeat(100_000))});
        let (one, two) = (of("Write", &long("a")), of("Write", &long("b")));
        assert_eq!(one.shown, two.shown);
        assert!(one.shown.ends_with("… and more") && one.shown.len() < 7_000);
        assert_ne!(one.digest, two.digest);
        assert_ne!(of("Edit", &long("a")).digest, one.digest);
    }
}
