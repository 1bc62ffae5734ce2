//! Does what the scenario says: calls to the engine, and hook processes with real payloads.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use super::scenario::{Deed, Stage};
use crate::{
    engine::{
        EngineError, EngineHandle, ErrorKind,
        requests::{
            Add, Enforce, List, PlanRef, PlanResume, PlanTransition, PlanUse, Resolve, Violations,
        },
    },
    model::{PlanId, Transition},
};

/// What the demo says while it plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// What is about to be shown.
    Say(String),
    /// What was done, and what came of it.
    Did(String),
}

/// Plays a scenario.
pub struct Player<'a> {
    stage: &'a Stage,
    engine: EngineHandle,
    plan: Option<PlanId>,
    calls: usize,
}

impl<'a> Player<'a> {
    /// A player on a stage, asking `engine` for what people do.
    pub fn new(stage: &'a Stage, engine: EngineHandle) -> Self {
        Self {
            stage,
            engine,
            plan: None,
            calls: 0,
        }
    }

    /// Plays all steps with a pause after each.
    ///
    /// # Errors
    /// The engine or a hook process failed; a refusal is no failure but what the demo shows.
    pub async fn play(
        &mut self,
        pace: Duration,
        report: &mut impl FnMut(&Report),
    ) -> Result<(), EngineError> {
        for step in &self.stage.scenario.steps {
            report(&Report::Say(step.say.clone()));
            for deed in &step.deeds {
                let did = self.perform(deed).await?;
                report(&Report::Did(did));
            }
            if !pace.is_zero() {
                tokio::time::sleep(pace).await;
            }
        }
        Ok(())
    }

    fn plan(&self) -> PlanRef {
        let text = self
            .plan
            .map_or_else(|| "@".to_owned(), |id| id.to_string());
        PlanRef {
            text,
            cwd: self.stage.project.clone(),
        }
    }

    async fn perform(&mut self, deed: &Deed) -> Result<String, EngineError> {
        match deed {
            Deed::Add(new) => {
                let cwd = self.stage.project.clone();
                let request = Add {
                    invariant: new.clone(),
                    cwd,
                    plan: None,
                };
                let invariant = self.engine.ask(request).await?.invariant;
                Ok(format!("add to {}: {}", invariant.scope, invariant.text))
            }
            Deed::Use(action) => {
                let request = PlanUse {
                    action: action.parse()?,
                    project: self.stage.scenario.project.clone(),
                    params: Default::default(),
                    parent: None,
                };
                let id = self.engine.ask(request).await?.plan.id;
                self.plan = Some(id);
                Ok(format!("plan use {action}: plan {}", id.short()))
            }
            Deed::Phase(verb) => self.transition(verb).await,
            Deed::Start => {
                let answer = self
                    .hook("SessionStart", json!({"source": "startup"}))
                    .await?;
                let told = answer["hookSpecificOutput"]["additionalContext"]
                    .as_str()
                    .unwrap_or("");
                let count = told.lines().filter(|l| l.starts_with("- ")).count();
                Ok(format!(
                    "session start: the model is told {count} invariants"
                ))
            }
            Deed::Attempt { tool, path } => self.attempt(tool, path).await,
            Deed::Report { text, response } => {
                let list = List {
                    scope: None,
                    plan: None,
                    removed: false,
                };
                let all = self.engine.ask(list).await?;
                // The copy in force is the one that was added last.
                let id = all
                    .iter()
                    .rev()
                    .find(|i| i.text == *text)
                    .map(|i| i.id.to_string());
                let violated = id.into_iter().collect();
                let request = Enforce {
                    plan: self.plan(),
                    violated,
                    response: response.clone(),
                };
                self.engine.ask(request).await?;
                Ok(format!("enforce: \"{text}\" is violated, {response}"))
            }
            Deed::Correct => {
                let all = self
                    .engine
                    .ask(Violations {
                        plan: Some(self.plan()),
                    })
                    .await?;
                let open = all.iter().filter(|v| v.is_open()).map(|v| v.id.to_string());
                for violation in open {
                    self.engine
                        .ask(Resolve {
                            violation,
                            waive: None,
                        })
                        .await?;
                }
                Ok("resolve: corrected".to_owned())
            }
            Deed::Resume => {
                self.engine.ask(PlanResume { plan: self.plan() }).await?;
                Ok("plan resume".to_owned())
            }
        }
    }

    async fn transition(&mut self, verb: &str) -> Result<String, EngineError> {
        let all = [
            Transition::StartStrategize,
            Transition::ExecutePlan,
            Transition::ApplyPlan,
        ];
        let transition = all.into_iter().find(|t| t.verb() == verb).ok_or_else(|| {
            EngineError::failed(format!("the demo's scenario has an unknown phase {verb:?}"))
        })?;
        let request = PlanTransition {
            plan: self.plan(),
            transition,
        };
        match self.engine.ask(request).await {
            Ok(result) => Ok(format!(
                "plan {verb}: {} in force, {} shadowed",
                result.resolved_invariants.len(),
                result.conflicts_resolved
            )),
            Err(error) => match &error.kind {
                ErrorKind::Blocked(block) => Ok(format!(
                    "plan {verb}: blocked by {} invariant",
                    block.violated_ids.len()
                )),
                _ => Err(error),
            },
        }
    }

    /// Lets the agent try, and makes the change when the hook allowed it.
    async fn attempt(&mut self, tool: &str, path: &str) -> Result<String, EngineError> {
        let target = self.stage.project.join(path);
        let input = match tool {
            "Edit" => json!({"file_path": target, "old_string": "n + 1", "new_string": "n"}),
            _ => json!({"file_path": target, "content": "load() takes n rows\n"}),
        };
        let answer = self
            .hook(
                "PreToolUse",
                json!({"tool_name": tool, "tool_input": input}),
            )
            .await?;
        let decision = &answer["hookSpecificOutput"];
        if decision["permissionDecision"] != "deny" {
            change_file(&target)?;
            return Ok(format!("{tool} {path}: allowed"));
        }
        let reason = decision["permissionDecisionReason"]
            .as_str()
            .unwrap_or_default();
        let strike = reason
            .lines()
            .find_map(|l| l.trim().strip_prefix("strike "));
        let word = if answer["continue"] == false {
            "halted"
        } else {
            "denied"
        };
        Ok(match strike {
            Some(strike) => format!("{tool} {path}: {word}, strike {strike}"),
            None => format!("{tool} {path}: {word}"),
        })
    }

    /// Calls the hook as the agent would, in a process of its own.
    async fn hook(&mut self, event: &str, more: Value) -> Result<Value, EngineError> {
        self.calls += 1;
        let mut payload = json!({
            "session_id": "5b0c7a16-93de-4f0a-8a64-2f1d7c3be901",
            "cwd": self.stage.project,
            "hook_event_name": event,
            "tool_use_id": format!("toolu_{:02}", self.calls),
        });
        if let (Some(all), Value::Object(more)) = (payload.as_object_mut(), more) {
            all.extend(more);
        }
        let mut command = Command::new(&self.stage.binary);
        command
            .args(["hook", "claude-code"])
            .env("HOME", &self.stage.locations.home)
            .env("INVAR_STORE", &self.stage.locations.store)
            .env("CLAUDE_PROJECT_DIR", &self.stage.project)
            .current_dir(&self.stage.project)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let text = payload.to_string();
        let run = tokio::task::spawn_blocking(move || {
            let mut child = command.spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(text.as_bytes())?;
            }
            child.wait_with_output()
        });
        let fail = |what: String| EngineError::failed(format!("the demo's hook failed: {what}"));
        let output = run
            .await
            .map_err(|e| fail(e.to_string()))?
            .map_err(|e| fail(e.to_string()))?;
        if !output.status.success() {
            return Err(fail(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        match output.stdout.as_slice() {
            [] => Ok(Value::Null),
            json => serde_json::from_slice(json).map_err(|e| fail(e.to_string())),
        }
    }
}

/// What the agent's tool does once it may.
fn change_file(path: &Path) -> Result<(), EngineError> {
    let before = fs::read_to_string(path).unwrap_or_default();
    let after = match before.contains("n + 1") {
        true => before.replace("n + 1", "n"),
        false => before + "load() takes n rows\n",
    };
    fs::write(path, after).map_err(|e| {
        EngineError::failed(format!("the demo could not write {}: {e}", path.display()))
    })
}
