//! The engine's part of `config.toml`.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::EngineError;
use crate::model::Remedy;

/// The configuration; every field has a default, so that no file is needed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub engine: EngineConfig,
    pub paths: PathsConfig,
    pub remedy: RemedyConfig,
    pub tree: TreeConfig,
}

/// `[tree]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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
#[serde(default, deny_unknown_fields)]
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
#[serde(default, deny_unknown_fields)]
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
#[serde(default, deny_unknown_fields)]
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
                return Err(EngineError::Failed(format!(
                    "the configuration {} cannot be read: {e}; check its permissions",
                    path.display()
                )));
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
            EngineError::Failed(format!(
                "{}, {}; mend the line, or remove it to use the default",
                path.display(),
                toml_fault(text, &error)
            ))
        })
    }
}

/// What TOML found wrong, as `line 2, column 13: …`.
pub fn toml_fault(text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |s| s.start).min(text.len());
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
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
    fn a_wrong_key_is_told_with_line_and_column() {
        let error = Config::parse("[engine]\nautosart = true\n", Path::new("c.toml"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("c.toml, line 2, column 1"), "{error}");
        assert!(error.contains("autosart"), "{error}");
    }
}
