//! Recorded sessions: the attempts in transcripts of Claude Code and Codex, and in JSON lines of the
//! generic form.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{HookEnv, agent, tools::as_line};
use crate::{engine::requests::HookEvent, model::Attempt};

/// One recorded attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub agent: &'static str,
    /// The agent's own name of the session.
    pub session: String,
    /// The directory that the session worked in.
    pub project_dir: PathBuf,
    /// The line of the transcript, from 1.
    pub line: usize,
    pub attempt: Attempt,
}

/// What a transcript holds.
#[derive(Debug, Default)]
pub struct Transcript {
    pub attempts: Vec<Recorded>,
    /// Lines that are not JSON, and actions that could not be read: line number and reason.
    pub unread: Vec<(usize, String)>,
    /// What the lines before said of the session: its directory, its name.
    session: String,
    cwd: Option<PathBuf>,
    project: Option<PathBuf>,
}

impl Transcript {
    /// Takes in one line.
    pub fn line(&mut self, number: usize, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(e) => {
                self.unread.push((number, format!("it is not JSON ({e})")));
                return;
            }
        };
        let kind = value["type"].as_str().unwrap_or_default();
        match kind {
            _ if value["event"].is_string() => self.payload(number, "generic", &value),
            _ if value["hook_event_name"].is_string() => {
                self.payload(number, "claude-code", &value)
            }
            "session_meta" => {
                let meta = &value["payload"];
                self.session = meta["id"].as_str().unwrap_or_default().to_owned();
                self.stand(meta["cwd"].as_str());
                self.project = self.cwd.clone();
            }
            "turn_context" => self.stand(value["payload"]["cwd"].as_str()),
            "response_item" => self.codex(number, &value["payload"]),
            "assistant" => self.claude(number, &value),
            _ => {}
        }
    }

    fn stand(&mut self, cwd: Option<&str>) {
        if let Some(cwd) = cwd {
            self.cwd = Some(cwd.into());
        }
    }

    /// A message of the model with its calls of tools.
    fn claude(&mut self, number: usize, value: &Value) {
        self.stand(value["cwd"].as_str());
        if self.project.is_none() {
            self.project = self.cwd.clone();
        }
        if let Some(session) = value["sessionId"].as_str() {
            self.session = session.to_owned();
        }
        let content = value["message"]["content"].as_array();
        for item in content.into_iter().flatten() {
            if item["type"] == "tool_use" {
                let sub = value["agentId"].clone();
                let payload = json!({
                    "hook_event_name": "PreToolUse", "tool_name": item["name"],
                    "tool_input": item["input"], "tool_use_id": item["id"], "agent_id": sub,
                });
                self.call(number, "claude-code", payload);
            }
        }
    }

    /// An item of a rollout: a call of a tool, in one of its forms.
    fn codex(&mut self, number: usize, item: &Value) {
        let call = |tool: &str, input: Value| {
            json!({
                "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
                "tool_use_id": item["call_id"],
            })
        };
        let name = item["name"].as_str().unwrap_or_default();
        let payload = match item["type"].as_str() {
            Some("function_call") => {
                let arguments = item["arguments"].as_str().unwrap_or_default();
                let mut input: Value = serde_json::from_str(arguments).unwrap_or_default();
                for field in ["command", "cmd"] {
                    if let Some(words) = input[field].as_array() {
                        input[field] = line_of(words).into();
                    }
                }
                call(name, input)
            }
            Some("custom_tool_call") => match name {
                "apply_patch" => call(name, json!({"command": item["input"]})),
                _ => call(name, json!({"code": item["input"]})),
            },
            Some("local_shell_call") => {
                let action = &item["action"];
                let words = action["command"].as_array().cloned().unwrap_or_default();
                let input =
                    json!({"command": line_of(&words), "workdir": action["working_directory"]});
                call("shell", input)
            }
            _ => return,
        };
        self.call(number, "codex", payload);
    }

    fn call(&mut self, number: usize, agent: &str, mut payload: Value) {
        payload["session_id"] = match self.session.is_empty() {
            true => "transcript".into(),
            false => self.session.clone().into(),
        };
        let cwd = self.cwd.clone().unwrap_or_default();
        payload["cwd"] = cwd.to_string_lossy().into_owned().into();
        self.payload(number, agent, &payload);
    }

    /// A payload as the agent's hook gets it.
    fn payload(&mut self, number: usize, name: &str, payload: &Value) {
        let Some(agent) = agent(name) else { return };
        let env = HookEnv {
            cwd: self
                .cwd
                .clone()
                .unwrap_or_else(|| Path::new("/").to_owned()),
            ..HookEnv::default()
        };
        match agent.read(payload.to_string().as_bytes(), &env) {
            Ok(parsed) => {
                let Some(call) = parsed.call else { return };
                if let HookEvent::Attempt(attempt) = call.what {
                    self.attempts.push(Recorded {
                        agent: parsed.agent.name,
                        session: call.session,
                        project_dir: self.project.clone().unwrap_or(call.project_dir),
                        line: number,
                        attempt,
                    });
                }
            }
            Err(refusal) => self.unread.push((number, refusal.to_string())),
        }
    }
}

/// A command line out of its words.
fn line_of(words: &[Value]) -> String {
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    as_line(&words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Effect;

    fn read(lines: &[&str]) -> Transcript {
        let mut transcript = Transcript::default();
        for (number, line) in lines.iter().enumerate() {
            transcript.line(number + 1, line);
        }
        transcript
    }

    fn shown(transcript: &Transcript) -> Vec<String> {
        let one = |r: &Recorded| {
            let effects = r.attempt.effects.iter().map(|e| match e {
                Effect::Change { path } => format!("change {}", path.display()),
                Effect::Delete { path } => format!("delete {}", path.display()),
                Effect::Opaque { command, .. } => format!("run {command}"),
                other => format!("{other:?}"),
            });
            format!(
                "{} {}",
                r.attempt.cwd.display(),
                effects.collect::<Vec<_>>().join(", ")
            )
        };
        transcript.attempts.iter().map(one).collect()
    }

    #[test]
    fn a_transcript_of_claude_code_is_read() {
        let t = read(&[
            r#"{"type":"summary","summary":"x"}"#,
            r#"{"type":"user","message":{"content":"go"},"cwd":"/w","sessionId":"s"}"#,
            r#"{"type":"assistant","cwd":"/w","sessionId":"s","message":{"content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"1","name":"Edit","input":{"file_path":"/w/a","old_string":"x"}},{"type":"tool_use","id":"2","name":"Bash","input":{"command":"rm b"}}]}}"#,
            "no json",
        ]);
        assert_eq!(shown(&t), ["/w change /w/a", "/w run rm b"]);
        assert_eq!(
            (t.attempts[0].session.as_str(), t.attempts[0].line),
            ("s", 3)
        );
        assert_eq!(t.unread[0].0, 4);
    }

    #[test]
    fn a_rollout_of_codex_is_read() {
        let t = read(&[
            r#"{"timestamp":"t","type":"session_meta","payload":{"id":"s","cwd":"/w"}}"#,
            r#"{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"rm x\"],\"workdir\":\"src\"}","call_id":"1"}}"#,
            r#"{"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch\n*** Delete File: t\n*** End Patch","call_id":"2"}}"#,
            r#"{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"3"}}"#,
            r#"{"type":"response_item","payload":{"type":"local_shell_call","call_id":"4","action":{"type":"exec","command":["rm","it's"],"working_directory":"/w/d"}}}"#,
            r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[]}}"#,
        ]);
        assert_eq!(
            shown(&t),
            [
                "/w/src run rm x",
                "/w delete t",
                "/w run ls",
                r"/w/d run 'rm' 'it'\''s'"
            ]
        );
        assert!(t.unread.is_empty(), "{:?}", t.unread);
    }

    #[test]
    fn generic_lines_and_payloads_are_read() {
        let t = read(&[
            r#"{"event":"before","session":"s","cwd":"/w","tool":"edit","input":{"changes":["a"]}}"#,
            r#"{"event":"after","session":"s","cwd":"/w","tool":"edit","input":{"changes":["a"]}}"#,
            r#"{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"b"}}"#,
            r#"{"event":"before","session":"s","cwd":"/w","tool":"edit"}"#,
        ]);
        assert_eq!(shown(&t), ["/w change a", "/w change b"]);
        assert!(t.unread[0].1.contains("`input`"));
    }
}
