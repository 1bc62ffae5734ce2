//! What a command prints: text for people, one JSON envelope for programs.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
};

use serde_json::{Value, json};

use super::{args::Format, exit};
use crate::{
    agents::settings::SettingsError,
    engine::{EngineError, ErrorKind},
    model::{ModelError, Problem, hidden_char_name, is_hidden, visible},
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
    Usage(Problem),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{0}")]
    Failed(Problem),
    /// Not a failure: everything there is to say was printed already.
    #[error("")]
    Silent,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self::Usage(error.problem())
    }
}

impl From<FilterError> for Failure {
    fn from(error: FilterError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Self::Failed(error.problem())
    }
}

impl Failure {
    /// The command was not called in a way that it has.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(Problem::new(message))
    }

    /// The command could not do it.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(Problem::new(message))
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.with(|problem| problem.hint(hint))
    }

    /// Says what caused it.
    #[must_use]
    pub fn caused_by(self, source: impl fmt::Display) -> Self {
        self.with(|problem| problem.caused_by(source))
    }

    fn with(self, more: impl FnOnce(Problem) -> Problem) -> Self {
        match self {
            Self::Usage(problem) => Self::Usage(more(problem)),
            Self::Failed(problem) => Self::Failed(more(problem)),
            Self::Engine(EngineError { kind, problem }) => Self::Engine(EngineError {
                kind,
                problem: more(problem),
            }),
            Self::Silent => Self::Silent,
        }
    }

    fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Usage(problem) | Self::Failed(problem) => Some(problem),
            Self::Engine(error) => Some(&error.problem),
            Self::Silent => None,
        }
    }

    /// The exit code of the interface.
    pub fn exit(&self) -> u8 {
        match self {
            Self::Usage(_) => exit::USAGE,
            Self::Failed(_) => exit::FAILED,
            Self::Silent => exit::DONE,
            Self::Engine(error) => match error.kind {
                ErrorKind::Invalid | ErrorKind::Failed => exit::FAILED,
                ErrorKind::NotFound | ErrorKind::NotUnique { .. } => exit::NOT_FOUND,
                ErrorKind::NotForAgents
                | ErrorKind::Blocked(_)
                | ErrorKind::ReconciliationTimeout { .. } => exit::BLOCKED,
                ErrorKind::Halted => exit::HALTED,
                ErrorKind::Store | ErrorKind::Busy | ErrorKind::InvariantLoad { .. } => exit::STORE,
            },
        }
    }

    fn data(&self) -> Value {
        let Self::Engine(error) = self else {
            return Value::Null;
        };
        match &error.kind {
            ErrorKind::Blocked(block) => json!({
                "error": "ReconciliationBlocked", "plan_id": block.plan_id,
                "transition": block.transition, "violated_ids": block.violated_ids,
                "reasons": block.reasons,
            }),
            ErrorKind::NotUnique { candidates } => json!({"candidates": candidates}),
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
                    .map(|note| message("note", note, &[]))
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
        let Some(problem) = failure.problem() else {
            return code;
        };
        match self.format {
            Format::Text | Format::Toml | Format::Yaml => complain("error", &problem.to_string()),
            Format::Json | Format::Ndjson => {
                let status = if code == exit::BLOCKED || code == exit::HALTED {
                    "blocked"
                } else {
                    "error"
                };
                let message = message("error", &problem.what(), &problem.hints);
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

/// One message of the envelope; `hint` is the first of its hints.
fn message(level: &str, text: &str, hints: &[String]) -> Value {
    json!({"level": level, "text": text, "hint": hints.first(), "hints": hints})
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
    use crate::{engine::Block, model::Transition};

    /// What a failure says in JSON, and the sentence that people read.
    fn said(failure: &Failure) -> (Value, String) {
        let problem = failure.problem().unwrap();
        let message = message("error", &problem.what(), &problem.hints);
        (message, failure.to_string())
    }

    #[test]
    fn a_semicolon_in_a_text_is_no_hint() {
        let failure = Failure::Engine(EngineError::blocked(Block {
            plan_id: "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap(),
            transition: Transition::ApplyPlan,
            violated_ids: Vec::new(),
            reasons: vec!["\"a thing; with semicolon\" is violated".into()],
        }));
        let (json, text) = said(&failure);
        let sentence = "apply of plan 01ARZ3NDEKTSV4RRFFQ69G5FAV is blocked: \"a thing; with semicolon\" is violated";
        assert_eq!(text, sentence);
        assert_eq!(json["text"], sentence);
        assert_eq!((&json["hint"], &json["hints"]), (&Value::Null, &json!([])));
    }

    #[test]
    fn hints_stand_apart_for_programs_and_at_the_end_for_people() {
        let error = EngineError::not_found("plan", "x; y")
            .hint("give at least 4 characters of the id")
            .hint("see `invar plan list`");
        let (json, text) = said(&error.into());
        assert_eq!(json["text"], "plan \"x; y\" was not found");
        assert_eq!(json["hint"], "give at least 4 characters of the id");
        assert_eq!(json["hints"][1], "see `invar plan list`");
        assert_eq!(
            text,
            "plan \"x; y\" was not found; give at least 4 characters of the id; see `invar plan list`"
        );
        let failure = Failure::failed("t.json cannot be read")
            .caused_by("No such file")
            .hint("give another");
        let (json, text) = said(&failure);
        assert_eq!(text, "t.json cannot be read: No such file; give another");
        assert_eq!(json["text"], "t.json cannot be read: No such file");
        let usage: Failure = ModelError::NoPatterns.into();
        let (json, _) = said(&usage);
        assert_eq!(json["hint"], "to forbid every edit write untouched: \"**\"");
    }

    #[test]
    fn json_keeps_its_meaning_and_hides_nothing() {
        let value = json!({"path": "a\u{9b}31m\u{202e}b\u{e0041}"});
        let text = escape_hidden(&value.to_string());
        assert!(!text.chars().any(is_hidden), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
