//! The scenario and the stage it is played on.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde::Deserialize;

use crate::{
    engine::{EngineError, Locations},
    model::{NewInvariant, ProjectName},
};

/// What `assets/demo.toml` holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub project: ProjectName,
    pub files: BTreeMap<String, String>,
    pub steps: Vec<Step>,
}

/// A sentence and what happens under it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub say: String,
    #[serde(rename = "do")]
    pub deeds: Vec<Deed>,
}

/// One thing that someone does.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// A person adds an invariant.
    Add(NewInvariant),
    /// A person makes a plan from an action.
    Use(String),
    /// Someone moves the plan: strategize, execute or apply.
    Phase(String),
    /// The agent's session begins.
    Start,
    /// The agent wants to change a file, by the name of a tool.
    Attempt { tool: String, path: String },
    /// An outside check reports a violation of the invariant with this text.
    Report { text: String, response: String },
    /// A person resolves the open violation as corrected.
    Correct,
    /// A person resumes the halted plan.
    Resume,
}

impl Scenario {
    /// The built-in scenario.
    ///
    /// # Errors
    /// Never for the one that is built in; a test holds it to that.
    pub fn built_in() -> Result<Self, EngineError> {
        toml::from_str(include_str!("../../assets/demo.toml"))
            .map_err(|e| EngineError::failed(format!("the demo's scenario cannot be read: {e}")))
    }
}

/// Where the demo plays: a folder that goes away with it.
pub struct Stage {
    _dir: tempfile::TempDir,
    pub scenario: Scenario,
    pub locations: Locations,
    /// The project's directory.
    pub project: PathBuf,
    /// The program whose `hook` is called.
    pub binary: PathBuf,
}

impl Stage {
    /// Sets the stage: store, home and a project with its files.
    ///
    /// # Errors
    /// What the disk reports.
    pub fn new(binary: PathBuf) -> Result<Self, EngineError> {
        let fail = |e: std::io::Error| {
            EngineError::failed("the demo needs a temporary folder")
                .caused_by(e)
                .hint("check TMPDIR")
        };
        let scenario = Scenario::built_in()?;
        let dir = tempfile::Builder::new()
            .prefix("invar-demo-")
            .tempdir()
            .map_err(fail)?;
        let base = dir.path().canonicalize().map_err(fail)?;
        let folder = scenario
            .project
            .as_str()
            .rsplit('/')
            .next()
            .unwrap_or("project")
            .to_owned();
        let project = base.join(folder);
        fs::create_dir_all(project.join(".git")).map_err(fail)?;
        for (name, text) in &scenario.files {
            let path = project.join(name);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(fail)?;
            }
            fs::write(path, text).map_err(fail)?;
        }
        let locations = Locations {
            store: base.join("data/invar.redb"),
            config: base.join("home/.config/invar/config.toml"),
            logs: base.join("home/.local/state/invar"),
            socket: base.join("data/invar.sock"),
            home: base.join("home"),
        };
        Ok(Self {
            _dir: dir,
            scenario,
            locations,
            project,
            binary,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_scenario_reads() {
        let scenario = Scenario::built_in().unwrap();
        assert!(scenario.steps.len() > 10);
        assert!(scenario.files.contains_key("tests/test_sync.py"));
    }
}
