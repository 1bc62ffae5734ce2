//! What a command prints: text for people, one JSON envelope for programs.

use std::io::{self, IsTerminal, Write};

use serde_json::{Value, json};

use super::{args::Format, exit};
use crate::{
    agents::settings::SettingsError,
    engine::EngineError,
    model::{ModelError, hidden_char_name, is_hidden, visible},
    rules::filter::FilterError,
};

/// What a command has to say when it did what it was asked.
#[derive(Debug, Default)]
pub struct Done {
    /// For people, as it is printed.
    pub text: String,
    /// For programs.
    pub data: Value,
    /// Remarks: shown on stderr, and in the envelope's messages.
    pub notes: Vec<String>,
    /// Not zero for a report of something bad, such as a broken log.
    pub exit: u8,
}

impl Done {
    /// Text and data.
    pub fn new(text: impl Into<String>, data: Value) -> Self {
        Self {
            text: text.into(),
            data,
            ..Self::default()
        }
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{0}")]
    Failed(String),
    /// Not a failure: everything there is to say was printed already.
    #[error("")]
    Silent,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<FilterError> for Failure {
    fn from(error: FilterError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Failure {
    /// The exit code of the interface.
    pub fn exit(&self) -> u8 {
        match self {
            Self::Usage(_) => exit::USAGE,
            Self::Failed(_) => exit::FAILED,
            Self::Silent => exit::DONE,
            Self::Engine(error) => match error {
                EngineError::Invalid(_) | EngineError::Failed(_) => exit::FAILED,
                EngineError::NotForAgents(_) => exit::BLOCKED,
                EngineError::NotFound { .. } | EngineError::NotUnique { .. } => exit::NOT_FOUND,
                EngineError::Blocked { .. } | EngineError::ReconciliationTimeout { .. } => {
                    exit::BLOCKED
                }
                EngineError::Halted { .. } => exit::HALTED,
                EngineError::Store(_)
                | EngineError::Busy(_)
                | EngineError::InvariantLoad { .. } => exit::STORE,
            },
        }
    }

    fn data(&self) -> Value {
        match self {
            Self::Engine(EngineError::Blocked {
                plan_id,
                transition,
                violated_ids,
                reasons,
            }) => {
                json!({
                    "error": "ReconciliationBlocked", "plan_id": plan_id,
                    "transition": transition, "violated_ids": violated_ids, "reasons": reasons,
                })
            }
            Self::Engine(EngineError::NotUnique { candidates, .. }) => {
                json!({"candidates": candidates})
            }
            _ => Value::Null,
        }
    }
}

/// Prints in the form that was asked for.
pub struct Output {
    pub format: Format,
    command: &'static str,
}

impl Output {
    pub(super) fn new(format: Format, command: &'static str) -> Self {
        Self { format, command }
    }

    /// Prints a success; returns its exit code.
    pub(super) fn finish(&self, done: Done) -> u8 {
        match self.format {
            Format::Text | Format::Toml | Format::Yaml => {
                print(&done.text);
                for note in &done.notes {
                    complain("note", note);
                }
            }
            Format::Json | Format::Ndjson => {
                let messages: Vec<Value> = done
                    .notes
                    .iter()
                    .map(|n| json!({"level": "note", "text": n, "hint": null}))
                    .collect();
                let status = if done.exit == exit::DONE {
                    "ok"
                } else {
                    "error"
                };
                self.envelope(status, done.exit, &done.data, &messages);
            }
        }
        done.exit
    }

    /// Prints a failure; returns its exit code.
    pub(super) fn fail(&self, failure: &Failure) -> u8 {
        let code = failure.exit();
        if matches!(failure, Failure::Silent) {
            return code;
        }
        let text = failure.to_string();
        // Our sentences end in what to do next.
        let (what, hint) = match text.split_once("; ") {
            Some((what, hint)) => (what, Some(hint)),
            None => (text.as_str(), None),
        };
        match self.format {
            Format::Text | Format::Toml | Format::Yaml => complain("error", &text),
            Format::Json | Format::Ndjson => {
                let status = if code == exit::BLOCKED || code == exit::HALTED {
                    "blocked"
                } else {
                    "error"
                };
                let message = json!({"level": "error", "text": what, "hint": hint});
                self.envelope(status, code, &failure.data(), &[message]);
            }
        }
        code
    }

    fn envelope(&self, status: &str, code: u8, data: &Value, messages: &[Value]) {
        let envelope = json!({
            "command": self.command, "status": status, "exit_code": code,
            "data": data, "messages": messages,
        });
        let text = match self.format {
            Format::Ndjson => envelope.to_string(),
            _ => serde_json::to_string_pretty(&envelope).unwrap_or_default(),
        };
        print(&(escape_hidden(&text) + "\n"));
    }
}

/// Writes to stdout; a reader that left early is no error.
pub fn print(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// Writes to stderr, with everything that a terminal would obey made visible.
pub fn complain(level: &str, text: &str) {
    let lines: Vec<String> = text.lines().map(|l| visible(l).into_owned()).collect();
    let _ = writeln!(io::stderr().lock(), "{level}: {}", lines.join("\n  "));
}

/// Asks a question on the terminal; `None` when there is nobody to ask.
pub fn confirm(question: &str) -> Option<bool> {
    if !io::stdin().is_terminal() {
        return None;
    }
    let _ = write!(io::stderr().lock(), "{question} [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).ok()?;
    Some(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// JSON whose strings hold no character that a terminal obeys or that hides.
pub fn escape_hidden(json: &str) -> String {
    let is_structure = |c: char| matches!(c, '\n' | '\t');
    if !json.chars().any(|c| is_hidden(c) && !is_structure(c)) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if hidden_char_name(c).is_some() && !is_structure(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_meaning_and_hides_nothing() {
        let value = json!({"path": "a\u{9b}31m\u{202e}b\u{e0041}"});
        let text = escape_hidden(&value.to_string());
        assert!(!text.chars().any(is_hidden), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
