//! The engine's part of `config.toml`.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::EngineError;
use crate::model::{Money, Remedy};

/// The configuration; every field has a default, so that no file is needed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    pub engine: EngineConfig,
    pub paths: PathsConfig,
    pub remedy: RemedyConfig,
    pub tree: TreeConfig,
    pub judge: JudgeConfig,
    /// The screen's own; a fault there must not stop a hook.
    #[serde(skip_serializing)]
    pub ui: Elsewhere,
    #[serde(skip_serializing)]
    pub keys: Elsewhere,
}

/// A part of the file that others read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Elsewhere;

impl<'de> Deserialize<'de> for Elsewhere {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// The kinds of judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JudgeKind {
    /// A program of the person's own: the question on stdin, the answer on stdout.
    Command,
    /// Any endpoint that speaks OpenAI's chat completions.
    OpenAi,
    Anthropic,
}

impl JudgeKind {
    /// The word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// `[judge]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JudgeConfig {
    /// Without a kind there is no judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<JudgeKind>,
    /// The program and its arguments, for the kind `command`.
    pub command: Vec<String>,
    /// Where the endpoint is, such as `http://127.0.0.1:11434/v1`.
    pub base_url: String,
    pub model: String,
    /// The environment variable that holds the key; local servers need none.
    pub key_variable: String,
    pub max_tokens: u32,
    pub timeout_seconds: u32,
    /// How often a call is tried again after the connection failed.
    pub retries: u32,
    /// How often it is asked in all when it says "broken"; the majority counts.
    pub confirm: u32,
    /// What a call costs when nobody says it.
    pub estimate: f64,
    /// Per million tokens.
    pub price_in: f64,
    pub price_out: f64,
    /// The most that the checks of one plan, and of one day, may cost; 0 means no bound.
    pub plan_bound: f64,
    pub day_bound: f64,
    /// The most checks of one plan, and of one day; 0 means no bound.
    pub plan_checks: u32,
    pub day_checks: u32,
    /// How often an agent that says that it is done is sent back before a person decides.
    pub send_back: u32,
}

impl Default for JudgeConfig {
    fn default() -> Self {
        Self {
            kind: None,
            command: Vec::new(),
            base_url: String::new(),
            model: String::new(),
            key_variable: String::new(),
            max_tokens: 1_000,
            timeout_seconds: 60,
            retries: 2,
            confirm: 1,
            estimate: 0.01,
            price_in: 0.0,
            price_out: 0.0,
            plan_bound: 1.0,
            day_bound: 5.0,
            plan_checks: 0,
            day_checks: 0,
            send_back: 3,
        }
    }
}

// Amounts are read from a file, and a file holds no NaN that is equal to nothing.
impl Eq for JudgeConfig {}

impl JudgeConfig {
    /// The kind and the model, or the program.
    pub fn name(&self) -> String {
        match self.kind {
            None => "none".to_owned(),
            Some(JudgeKind::Command) => format!("command {}", self.command.join(" ")),
            Some(kind) => format!("{} {}", kind.as_str(), self.model),
        }
    }

    /// What a call is charged when nobody says what it cost.
    pub fn estimate(&self) -> Money {
        Money::of(self.estimate)
    }

    /// What tokens cost, where prices are configured.
    pub fn price(&self, input: u64, output: u64) -> Option<Money> {
        let priced = self.price_in > 0.0 || self.price_out > 0.0;
        let amount = (input as f64 * self.price_in + output as f64 * self.price_out) / 1_000_000.0;
        priced.then(|| Money::of(amount))
    }
}

/// `[tree]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeConfig {
    /// Whether the project's files are compared after each command that may have written.
    pub check: bool,
    /// Whether a guarded file that was changed is put back.
    pub restore: bool,
    /// Larger projects are not compared; `plan check` says so.
    pub max_files: usize,
}

impl Default for TreeConfig {
    fn default() -> Self {
        Self {
            check: true,
            restore: false,
            max_files: 200_000,
        }
    }
}

/// `[engine]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineConfig {
    /// Whether a hook that finds no engine leaves one behind for the next ones.
    pub autostart: bool,
    /// How long one reconciliation may take before its transition is blocked.
    pub reconcile_seconds: u32,
    /// After how many minutes without a call such an engine ends.
    pub idle_minutes: u32,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            autostart: true,
            reconcile_seconds: 30,
            idle_minutes: 10,
        }
    }
}

/// `[paths]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathsConfig {
    /// Folders whose content is nobody's business.
    pub scratch: Vec<PathBuf>,
}

impl Default for PathsConfig {
    fn default() -> Self {
        Self {
            scratch: vec![std::env::temp_dir()],
        }
    }
}

/// `[remedy]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemedyConfig {
    pub on_invariant_breach: Remedy,
}

impl Default for RemedyConfig {
    fn default() -> Self {
        Self {
            on_invariant_breach: Remedy::Inform,
        }
    }
}

impl Config {
    /// Reads the file at `path`; no file means the defaults.
    ///
    /// # Errors
    /// A file that cannot be read or holds something unknown, with line and column.
    pub fn load(path: &Path) -> Result<Self, EngineError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Self::default());
            }
            Err(e) => {
                let message = format!("the configuration {} cannot be read", path.display());
                return Err(EngineError::failed(message)
                    .caused_by(e)
                    .hint("check its permissions"));
            }
        };
        Self::parse(&text, path)
    }

    /// Parses the text of a configuration file; `path` is only named in the error.
    ///
    /// # Errors
    /// What TOML or a field does not allow, with line and column.
    pub fn parse(text: &str, path: &Path) -> Result<Self, EngineError> {
        toml::from_str(text).map_err(|error| {
            let fault = toml_fault(text, &error);
            EngineError::failed(format!("{}, {fault}", path.display()))
                .hint("mend the line, or remove it to use the default")
        })
    }

    /// The names in a file that mean nothing, as sentences with the nearest known name. `also`
    /// are names that others read, such as `keys.add`.
    pub fn unknown(text: &str, path: &Path, also: &[String]) -> Vec<String> {
        let Ok(table) = text.parse::<toml::Table>() else {
            return Vec::new();
        };
        let mut all = Self::default();
        // Left out of what is written while there is no judge.
        all.judge.kind = Some(JudgeKind::Command);
        let own = toml::Table::try_from(all).unwrap_or_default();
        let mut known: Vec<String> = also.to_vec();
        names(&own, "", &mut known);
        let mut used = Vec::new();
        names(&table, "", &mut used);
        let sections: Vec<String> = known
            .iter()
            .filter_map(|name| Some(name.split_once('.')?.0.to_owned()))
            .collect();
        used.into_iter()
            .filter(|name| !known.contains(name) && !sections.contains(name))
            .map(|name| {
                let near = known
                    .iter()
                    .map(|k| (strsim::damerau_levenshtein(k, &name), k))
                    .min()
                    .filter(|(distance, _)| *distance <= 3);
                let hint = match near {
                    Some((_, near)) => format!("; did you mean `{near}`?"),
                    None => "; see `invar config` for what there is".to_owned(),
                };
                let last = name.rsplit('.').next().unwrap_or(&name);
                let line = text
                    .lines()
                    .position(|l| l.trim_start().trim_start_matches('[').starts_with(last))
                    .map_or(1, |at| at + 1);
                format!(
                    "{}, line {line}: `{name}` means nothing{hint}",
                    path.display()
                )
            })
            .collect()
    }
}

/// All names of a table, dotted.
fn names(table: &toml::Table, before: &str, out: &mut Vec<String>) {
    for (name, value) in table {
        let name = match before {
            "" => name.clone(),
            before => format!("{before}.{name}"),
        };
        match value {
            toml::Value::Table(inner) => names(inner, &name, out),
            _ => out.push(name),
        }
    }
}

/// Line and column, from 1, of a byte of a text.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at.min(text.len())).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// What TOML found wrong, as `line 2, column 13: …`.
pub fn toml_fault(text: &str, error: &toml::de::Error) -> String {
    let (line, column) = line_and_column(text, error.span().map_or(0, |s| s.start));
    let message = error.message().trim_end();
    format!("line {line}, column {column}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_hold_where_nothing_is_said() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            Config::load(&dir.path().join("none.toml")).unwrap(),
            Config::default()
        );
        let config = Config::parse("[engine]\nautostart = false\n", Path::new("c.toml")).unwrap();
        assert!(!config.engine.autostart);
        assert_eq!(config.engine.idle_minutes, 10);
    }

    #[test]
    fn a_wrong_value_is_told_with_line_and_column() {
        let error = Config::parse("[engine]\nautostart = 3\n", Path::new("c.toml"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("c.toml, line 2, column 13"), "{error}");
    }

    #[test]
    fn an_unknown_name_is_told_with_the_one_that_was_meant() {
        let unknown = |text: &str| Config::unknown(text, Path::new("c.toml"), &["keys.add".into()]);
        let told = unknown("[engine]\nautosart = true\n[keys]\nadd = []\n");
        assert_eq!(
            told,
            ["c.toml, line 2: `engine.autosart` means nothing; did you mean `engine.autostart`?"]
        );
        assert!(unknown("[nonsense]\nx = 1\n")[0].contains("`nonsense.x` means nothing"));
        assert!(unknown("[ui]\n[engine]\nautostart = false\n").is_empty());
        assert!(unknown("[judge]\nkind = \"openai\"\nkey_variable = \"KEY\"\n").is_empty());
        // What the screen reads is no fault here, whatever it holds.
        assert!(Config::parse("[ui]\nmouse = 3\n", Path::new("c.toml")).is_ok());
    }
}
