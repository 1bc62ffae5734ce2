//! What a call to a foreign tool does: a tool of an MCP server, and any that the agent's table does
//! not know. Its schema is not known either, so that every text of its input is looked at, under
//! whatever name and however deep it lies.

use serde_json::{Map, Value};

use super::{
    gathered::Gathered,
    keys::{Holds, Key, NO_KEY, Side},
    patch,
    spelled::{is_address, is_known_file, is_no_path, is_path, looks_like_path, spellings},
    tools::as_line,
    verbs::{ToolName, Verb, words},
};
use crate::model::Effect;

/// How often an input may be packed as a text into another one.
const MAX_PACKED: usize = 4;

/// In how many folders relative paths may start.
const MAX_STARTS: usize = 16;

/// Tools that call another tool, which the input names.
const CALLERS: [&str; 4] = [
    "use_mcp_tool",
    "call_mcp_tool",
    "mcp_call_tool",
    "call_tool",
];

/// What was read out of a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ForeignCall {
    pub effects: Vec<Effect>,
    /// Why the effects are not all that the call does.
    pub fault: Option<String>,
}

/// Reads a call to a foreign tool. A verb in the tool's name says what it does with the paths that
/// it is given; without one it writes them.
pub(super) fn read(tool: &str, input: &Value) -> ForeignCall {
    let called = CALLERS.contains(&tool).then(|| {
        let names = ["tool_name", "toolName", "tool", "name"];
        names.iter().find_map(|n| input.get(n)?.as_str())
    });
    // The mark says that the whole name is the action's.
    let tool = match called.flatten() {
        Some(called) => ToolName::of(&format!("{tool}__{called}")),
        None => ToolName::of(tool),
    };
    let mut walk = Walk {
        out: Gathered::new(tool.verb),
        tool,
    };
    walk.value(input, NO_KEY, &Scope::default());
    walk.out.finish()
}

/// What the fields around a value say.
#[derive(Clone, Default)]
struct Scope {
    /// Folders in which relative paths may start, besides the agent's own.
    starts: Vec<String>,
    /// One of them is given for the names of files.
    in_folder: bool,
    /// Where the file lies that a new name is given to.
    beside: Option<String>,
    /// How many inputs it is packed into.
    packed: usize,
}

struct Walk {
    tool: ToolName,
    out: Gathered,
}

impl Walk {
    fn value(&mut self, value: &Value, key: Key, scope: &Scope) {
        match value {
            Value::String(text) if !text.is_empty() => self.text(text, key, scope),
            Value::Array(items) => self.list(items, key, scope),
            Value::Object(fields) => self.object(fields, key, scope),
            _ => {}
        }
    }

    fn list(&mut self, items: &[Value], key: Key, scope: &Scope) {
        let all: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
        match (key.holds, all) {
            // Some agents send a command as a list of its words.
            (Holds::Command, Some(words)) if !words.is_empty() => {
                self.command(&as_line(&words), scope);
            }
            (_, all) => {
                items.iter().for_each(|item| self.value(item, key, scope));
                // Some servers take a path as a list of its parts.
                if let Some(parts) = all
                    && matches!(key.holds, Holds::Path | Holds::LikelyPath)
                    && (2..=32).contains(&parts.len())
                    && parts.iter().all(|part| !part.contains('/'))
                {
                    self.path(&parts.join("/"), key, scope);
                }
            }
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, parent: Key, scope: &Scope) {
        let before = self.out.len();
        let keys: Vec<Key> = fields.keys().map(|name| Key::named(name)).collect();
        let named = || fields.iter().zip(&keys);
        let inner = inner_scope(named(), scope);
        if inner.starts.len() > MAX_STARTS {
            self.out.fault(format!(
                "it names more than {MAX_STARTS} folders to start from"
            ));
            return;
        }
        let run = self.program(fields, &inner);
        // A folder beside a path or a command is where that starts, and not itself meant.
        let starts_something = run.is_some()
            || named().any(|((_, value), key)| {
                let about = matches!(
                    key.holds,
                    Holds::Path
                        | Holds::LikelyPath
                        | Holds::MaybePath
                        | Holds::FileName
                        | Holds::Name
                        | Holds::Command
                        | Holds::Commands
                );
                about && (value.is_string() || value.is_array())
            });
        let alone = !starts_something && self.tool.verb >= Verb::Move;
        for ((name, value), key) in named() {
            if run.as_ref().is_some_and(|run| run.contains(&name.as_str())) {
                continue;
            }
            let meant = match key.holds {
                // What has the ending of a file is none to start in.
                Holds::Folder | Holds::Start if value.as_str().is_some_and(is_known_file) => true,
                Holds::Folder => !starts_something || key.written,
                Holds::Start => alone,
                _ => true,
            };
            if self.is_path_as_name(name, parent) {
                self.path(name, parent, &inner);
                // Below the path lies what is written there.
                let below = if value.is_string() { TEXT } else { NO_KEY };
                self.value(value, below, &inner);
            } else if self.tool.types && is_typed(name) {
                self.value(value, COMMAND, &inner);
            } else if meant || !value.is_string() {
                // A folder does not start in itself.
                let is_start = matches!(key.holds, Holds::Folder | Holds::Start);
                let scope = if is_start { scope } else { &inner };
                self.value(value, *key, scope);
            }
        }
        if let Some(language) = fields.get("language").and_then(Value::as_str) {
            let language = Some(language).filter(|l| !is_shell(l));
            self.out.speak(before, language);
        }
    }

    /// A program and its arguments in fields of their own: the names of both fields.
    fn program<'a>(
        &mut self,
        fields: &'a Map<String, Value>,
        scope: &Scope,
    ) -> Option<[&'a str; 2]> {
        let one_of = |names: &[&str]| {
            let mut all = fields.iter();
            all.find(|(name, _)| names.contains(&words(name).join("_").as_str()))
        };
        let (program, line) =
            one_of(&["command", "cmd", "program", "executable", "binary", "bin"])?;
        let (args, values) = one_of(&["args", "arguments", "argv", "params", "parameters"])?;
        let mut line = line.as_str().filter(|line| !line.is_empty())?.to_owned();
        // What is a line already may be run as it is.
        if line.contains(char::is_whitespace) {
            self.command(&line, scope);
        }
        let values: Vec<&str> = match values {
            Value::String(text) => {
                line = format!("{line} {text}");
                Vec::new()
            }
            Value::Array(items) => items.iter().map(Value::as_str).collect::<Option<_>>()?,
            _ => return None,
        };
        for value in values {
            line = format!("{line} {}", as_line(&[value]));
        }
        self.command(&line, scope);
        Some([program, args])
    }

    fn text(&mut self, text: &str, key: Key, scope: &Scope) {
        if key.holds != Holds::Text {
            if key.holds != Holds::Code && self.packed(text, key, scope) {
                return;
            }
            if patch::is_patch(text) {
                for effect in patch::effects(text) {
                    self.out.push(match (self.tool.verb, effect) {
                        (Verb::Read, Effect::Change { path } | Effect::Delete { path }) => {
                            Effect::Read { path }
                        }
                        (_, effect) => effect,
                    });
                }
                return;
            }
        }
        let certain = is_path(text);
        let absolute = certain && !is_relative(text);
        let names_files = self.tool.of_files && !text.contains(char::is_whitespace);
        let is_meant = match key.holds {
            Holds::Text => false,
            Holds::Command | Holds::Commands => {
                self.command(text, scope);
                false
            }
            Holds::Code => {
                self.out.opaque(text, Some("program"));
                false
            }
            Holds::Path => !is_address(text),
            Holds::LikelyPath | Holds::Folder | Holds::Start => !is_no_path(text),
            Holds::FileName if scope.in_folder && !text.contains('/') => {
                return self.in_folders(text, key, scope);
            }
            Holds::FileName => !is_no_path(text),
            Holds::MaybePath => {
                if self.tool.runs_code && text.contains(['(', '\n']) {
                    self.out.opaque(text, Some("program"));
                }
                // What is moved or deleted is often a folder, which looks like any word.
                let folders = matches!(self.tool.verb, Verb::Copy | Verb::Move | Verb::Delete)
                    && (names_files || self.tool.is_bare);
                certain || looks_like_path(text) || folders && !is_no_path(text)
            }
            Holds::Apart => absolute,
            Holds::Name | Holds::Anything if self.tool.of_records => absolute,
            Holds::Name if !text.contains('/') && !is_no_path(text) => {
                if scope.in_folder {
                    return self.in_folders(text, key, scope);
                }
                let new = self.tool.verb == Verb::Move && key.side == Side::To;
                if let (true, Some(beside)) = (new, &scope.beside) {
                    return self.out.end(format!("{beside}/{text}"), key);
                }
                certain || names_files || new
            }
            Holds::Name => certain || names_files,
            Holds::Anything => {
                let bare = self.tool.verb >= Verb::Move;
                certain || names_files && (bare || text.contains('/')) && !is_no_path(text)
            }
        };
        if is_meant {
            self.path(text, key, scope);
        }
    }

    /// An input that is packed as a text into another one.
    fn packed(&mut self, text: &str, key: Key, scope: &Scope) -> bool {
        let trimmed = text.trim();
        let packs = trimmed.starts_with('{') && trimmed.ends_with('}')
            || trimmed.starts_with('[') && trimmed.ends_with(']');
        let value = match packs {
            true => serde_json::from_str::<Value>(trimmed).ok(),
            false => None,
        };
        let Some(value) = value else { return false };
        if scope.packed == MAX_PACKED {
            self.out.fault(format!(
                "its input is packed more than {MAX_PACKED} times into a text"
            ));
            return true;
        }
        let packed = scope.packed + 1;
        self.value(
            &value,
            key,
            &Scope {
                packed,
                ..scope.clone()
            },
        );
        true
    }

    /// Whether the name of a field is itself a path: `{"changes": {"file:///w/a.py": …}}`.
    fn is_path_as_name(&self, name: &str, parent: Key) -> bool {
        let of_paths = matches!(
            parent.holds,
            Holds::Path | Holds::LikelyPath | Holds::MaybePath
        );
        match is_path(name) {
            true => !self.tool.of_records || !is_relative(name),
            false => of_paths && name.contains('/') && !is_no_path(name),
        }
    }

    /// A path in all its spellings, from all places where it may start.
    fn path(&mut self, text: &str, key: Key, scope: &Scope) {
        // What is deleted by a pattern may be anything in the folder where the pattern begins.
        if self.tool.verb >= Verb::Move
            && let Some(wild) = text.find(['*', '?'])
        {
            let folder = text[..wild]
                .rsplit_once('/')
                .map_or(".", |(folder, _)| folder);
            self.out
                .end(if folder.is_empty() { "/" } else { folder }.to_owned(), key);
        }
        for spelled in spellings(text) {
            if is_relative(&spelled) {
                for start in &scope.starts {
                    self.out
                        .end(format!("{}/{spelled}", start.trim_end_matches('/')), key);
                }
            }
            self.out.end(spelled, key);
        }
    }

    /// The name of a file that lies in a folder beside it.
    fn in_folders(&mut self, name: &str, key: Key, scope: &Scope) {
        for spelled in spellings(name) {
            for start in &scope.starts {
                self.out
                    .end(format!("{}/{spelled}", start.trim_end_matches('/')), key);
            }
        }
    }

    fn command(&mut self, line: &str, scope: &Scope) {
        if line.trim().is_empty() {
            return;
        }
        self.out.opaque(line, None);
        // Nobody knows whether the tool heeds the folder, so that the line is read in both places.
        for start in &scope.starts {
            self.out
                .opaque(&format!("cd {} && {line}", as_line(&[start])), None);
        }
    }
}

const TEXT: Key = Key {
    holds: Holds::Text,
    ..NO_KEY
};

const COMMAND: Key = Key {
    holds: Holds::Command,
    ..NO_KEY
};

/// What the fields of an object say about each other.
fn inner_scope<'a>(
    fields: impl Iterator<Item = ((&'a String, &'a Value), &'a Key)>,
    outer: &Scope,
) -> Scope {
    let mut scope = Scope {
        beside: None,
        ..outer.clone()
    };
    for ((_, value), key) in fields {
        let Some(text) = value.as_str().filter(|text| !is_no_path(text)) else {
            continue;
        };
        match key.holds {
            Holds::Folder | Holds::Start => {
                scope.in_folder |= key.holds == Holds::Folder;
                let Some(folder) = spellings(text).pop() else {
                    continue;
                };
                let mut starts = vec![folder.clone()];
                if is_relative(&folder) {
                    let outer = scope.starts.iter();
                    starts.extend(outer.map(|s| format!("{}/{folder}", s.trim_end_matches('/'))));
                }
                starts.retain(|start| !scope.starts.contains(start));
                scope.starts.extend(starts);
            }
            Holds::Path | Holds::LikelyPath | Holds::MaybePath | Holds::FileName | Holds::Name
                if key.side != Side::To && scope.beside.is_none() =>
            {
                let folder = text.trim().rsplit_once('/').map(|(folder, _)| folder);
                scope.beside = folder.map(str::to_owned);
            }
            _ => {}
        }
    }
    scope
}

/// Fields of a terminal's tool that hold what is typed.
fn is_typed(name: &str) -> bool {
    ["text", "input", "keys", "data", "line", "chars"].contains(&name)
}

fn is_shell(language: &str) -> bool {
    ["bash", "sh", "shell", "zsh"].contains(&language)
}

fn is_relative(text: &str) -> bool {
    let text = text.trim();
    let schemed = text
        .split_once(':')
        .is_some_and(|(scheme, rest)| scheme.len() > 1 && rest.starts_with('/'));
    !text.starts_with(['/', '~']) && !schemed
}
