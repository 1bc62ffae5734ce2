//! What makes up an adapter: an agent's events, where its payloads hold what, what its tools do.
//! Reading a payload is the same for all of them.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::{
    capabilities::{Capabilities, Known},
    foreign,
    payload::{self, find},
    settings::{Install, claude_guard},
    tools::{Tool, declared, effects_of},
};
use crate::{
    engine::requests::{AgentTraits, HookCall, HookEvent, HookReply},
    model::{Attempt, Effect, VerdictKind, visible},
};

/// What a hook process knows besides its payload.
#[derive(Debug, Clone, Default)]
pub struct HookEnv {
    /// The project directory, where the agent puts it into the environment.
    pub project_dir: Option<PathBuf>,
    /// The agent's process id, where the agent puts it into the environment.
    pub pid: Option<u32>,
    /// The person's home folder, where the agent's own settings lie.
    pub home: Option<PathBuf>,
    /// The directory that the process was started in.
    pub cwd: PathBuf,
    /// Made once per process, so that a repeated call is known from a new one.
    pub nonce: String,
}

/// What one of an agent's events means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Before an action; it can be denied.
    Before,
    /// The agent would ask a person for leave; an action can be denied here as well.
    Leave,
    /// After an action, well ended or not.
    After,
    /// All actions of a turn are answered.
    Settled,
    /// A person sent a prompt.
    Prompt,
    SessionStart,
    SessionEnd,
    /// The agent ends its turn.
    Stop,
    /// A sub-agent ends.
    SubagentStop,
    /// The agent's settings changed.
    Settings,
    /// Nothing to decide.
    Quiet,
}

/// Where a payload holds what: JSON pointers, the first that holds something counts.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    pub event: &'static [&'static str],
    pub session: &'static [&'static str],
    pub cwd: &'static [&'static str],
    /// The project directory, where the payload names it.
    pub project: &'static [&'static str],
    pub tool: &'static [&'static str],
    pub input: &'static [&'static str],
    pub call: &'static [&'static str],
    pub subagent: &'static [&'static str],
    /// The session that started this one.
    pub parent: &'static [&'static str],
    /// A mode, of which `plan` is one.
    pub mode: &'static [&'static str],
    /// When it happened, for agents that name no calls.
    pub stamp: &'static [&'static str],
    pub prompt: &'static [&'static str],
    /// Some payloads name no directory; the hook's own counts then.
    pub cwd_may_lack: bool,
}

/// The places that most agents took over from Claude Code.
pub const COMMON: Fields = Fields {
    event: &["/hook_event_name"],
    session: &["/session_id"],
    cwd: &["/cwd"],
    project: &[],
    tool: &["/tool_name"],
    input: &["/tool_input"],
    call: &["/tool_use_id"],
    subagent: &["/agent_id"],
    parent: &[],
    mode: &["/permission_mode"],
    stamp: &[],
    prompt: &["/prompt"],
    cwd_may_lack: false,
};

/// Finds out which event a payload belongs to, where the payload does not name it.
pub type EventOf = fn(&Map<String, Value>) -> Option<String>;

/// The places that an agent keeps for itself, as patterns of an invariant: below `~/`, or relative to
/// the project. Only what its documentation or its makers' issues say is here, and nothing of it holds
/// settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnPlaces {
    /// Its plans, its memory, its scratch files: no work on the project.
    pub notes: &'static [&'static str],
    /// Folders that are work trees of the project's repository.
    pub worktrees: &'static [&'static str],
}

impl OwnPlaces {
    /// None that is known.
    pub const NONE: Self = Self {
        notes: &[],
        worktrees: &[],
    };
}

/// One agent.
pub struct Agent {
    /// The name on the command line, such as `claude-code`.
    pub name: &'static str,
    /// The name that its makers give it.
    pub title: &'static str,
    /// The environment variables that may hold the project directory.
    pub project_dir_variables: &'static [&'static str],
    /// The environment variable that holds the agent's process id.
    pub pid_variable: Option<&'static str>,
    /// What the agent's process is called, for an agent that does not give its id.
    pub process_names: &'static [&'static str],
    pub own_places: OwnPlaces,
    pub events: &'static [(&'static str, Moment)],
    /// For payloads that do not name their event.
    pub event_of: Option<EventOf>,
    pub fields: Fields,
    pub tools: &'static [(&'static str, Tool)],
    pub capabilities: Capabilities,
    /// The agent's form of the engine's answer.
    pub answer: fn(&Occasion, &HookReply) -> HookAnswer,
    /// The agent's blocking answer when no decision could be made. Works for every event.
    pub refuse: fn(&Refusal) -> HookAnswer,
    /// Whether an answer before an action keeps the action from running, by the agent's rules.
    pub denies: fn(&HookAnswer) -> bool,
    pub install: Option<Install>,
}

/// Why a call of a tool is not decided.
enum Fault {
    /// The field that is missing.
    Lacks(&'static str),
    /// Not all of a foreign tool's input could be read, in a part of a sentence.
    Foreign(String),
}

/// The event that an answer is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occasion {
    /// The agent's name of the event, which its answer may have to repeat.
    pub event: String,
    pub moment: Moment,
    /// It was sent by our own plugin, which understands more than the agent.
    pub shim: bool,
}

/// What a payload asks for.
pub struct Parsed {
    /// Whose payload it is: another agent's than the hook is named for, when that one runs
    /// foreign hook files.
    pub agent: &'static Agent,
    pub occasion: Occasion,
    /// What the engine is asked; `None` for an event that needs no decision.
    pub call: Option<HookCall>,
}

/// Why a payload cannot be decided; answered by a denial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// The event, when it could be read.
    pub occasion: Option<Occasion>,
    pub reason: String,
}

impl Refusal {
    /// A refusal with its whole sentence.
    pub fn new(occasion: Option<Occasion>, why: impl std::fmt::Display) -> Self {
        Self {
            occasion,
            reason: format!("invar denied this action: {why}"),
        }
    }

    /// Whether it answers an action, or nobody knows what.
    pub fn moment(&self) -> Option<Moment> {
        self.occasion.as_ref().map(|o| o.moment)
    }
}

/// What the hook process prints and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    pub stdout: Option<String>,
    pub stderr: String,
    pub exit: u8,
}

impl HookAnswer {
    /// Nothing to say: the agent's own rules go on.
    pub fn silent() -> Self {
        Self {
            stdout: None,
            stderr: String::new(),
            exit: 0,
        }
    }
}

impl Agent {
    /// Reads a payload.
    ///
    /// # Errors
    /// What is missing or unknown, for a denial.
    pub fn read(&'static self, bytes: &[u8], env: &HookEnv) -> Result<Parsed, Refusal> {
        let fields = payload::object(bytes, self.name).map_err(|e| Refusal::new(None, e))?;
        super::sender(self, &fields).read_fields(&fields, env)
    }

    /// The agent's form of the engine's answer; a question is a denial where it cannot ask.
    pub fn answered(&self, occasion: &Occasion, reply: &HookReply) -> HookAnswer {
        if reply.verdict.verdict == VerdictKind::Ask && !self.capabilities.can_ask {
            let mut denied = reply.clone();
            denied.verdict.verdict = VerdictKind::Deny;
            return (self.answer)(occasion, &denied);
        }
        (self.answer)(occasion, reply)
    }

    fn read_fields(
        &'static self,
        fields: &Map<String, Value>,
        env: &HookEnv,
    ) -> Result<Parsed, Refusal> {
        let f = &self.fields;
        let named = payload::text(fields, f.event).map(str::to_owned);
        let event = match (named, self.event_of) {
            (Some(event), _) => event,
            (None, Some(event_of)) => event_of(fields).ok_or_else(|| {
                Refusal::new(None, "nothing in the hook's input says which event it is")
            })?,
            (None, None) => {
                let place = f.event.first().map_or("", |p| p.trim_start_matches('/'));
                return Err(Refusal::new(
                    None,
                    format!("the hook's input has no {place}"),
                ));
            }
        };
        let known = self.events.iter().find(|(name, _)| *name == event);
        let Some((_, moment)) = known else {
            return Err(Refusal::new(
                None,
                format!(
                    "the event {} is unknown to this invar; update invar, or take the event out of the agent's hook settings",
                    visible(&event)
                ),
            ));
        };
        // A prompt without a text is the next request of the same turn.
        let continues =
            *moment == Moment::Prompt && find(fields, f.prompt).and_then(Value::as_str) == Some("");
        let moment = if continues { Moment::Settled } else { *moment };
        let occasion = Occasion {
            event,
            moment,
            shim: fields.contains_key("shim"),
        };
        if moment == Moment::Quiet {
            return Ok(Parsed {
                agent: self,
                occasion,
                call: None,
            });
        }
        let lacks = |field: &str| {
            Refusal::new(
                Some(occasion.clone()),
                format!(
                    "the hook's input for {} has no usable field `{field}`; this invar may be older than the agent",
                    visible(&occasion.event)
                ),
            )
        };
        let needs = |places: &'static [&'static str]| {
            payload::text(fields, places).ok_or_else(|| lacks(field_name(places)))
        };
        let told_cwd = match find(fields, f.cwd) {
            Some(Value::String(cwd)) if !cwd.is_empty() => Some(PathBuf::from(cwd)),
            // It says nothing: the process was started where the agent stands.
            Some(Value::String(_)) | None if f.cwd_may_lack => None,
            _ => return Err(lacks(field_name(f.cwd))),
        };
        let project = payload::text(fields, f.project).map(PathBuf::from);
        let cwd = told_cwd.or(project.clone()).unwrap_or_default();
        let cwd = env.cwd.join(cwd);
        let project_dir = env
            .project_dir
            .clone()
            .or(project)
            .unwrap_or_else(|| cwd.clone());
        let session = match f.session.is_empty() {
            // One session per directory, for an agent that names none.
            true => format!("dir:{}", project_dir.display()),
            false => needs(f.session)?.to_owned(),
        };
        let (mut hooked, mut what) = (false, None);
        match moment {
            Moment::Before | Moment::Leave | Moment::After => {
                let attempt = self.attempt(fields, &occasion, &cwd, env);
                let attempt = attempt.map_err(|fault| match fault {
                    Fault::Lacks(field) => lacks(field),
                    Fault::Foreign(why) => Refusal::new(Some(occasion.clone()), why),
                })?;
                what = match moment {
                    Moment::After if attempt.may_write => Some(HookEvent::Ran(attempt)),
                    Moment::After => None,
                    _ => Some(HookEvent::Attempt(attempt)),
                };
            }
            Moment::Settled => what = Some(HookEvent::Settled),
            Moment::Prompt => what = Some(HookEvent::Prompt),
            Moment::SessionStart => {
                hooked = claude_guard(env.home.as_deref(), &project_dir).0;
                what = Some(HookEvent::SessionStart);
            }
            Moment::SessionEnd => what = Some(HookEvent::SessionEnd),
            Moment::Stop => what = Some(HookEvent::Stopped { turn: true }),
            Moment::SubagentStop => what = Some(HookEvent::Stopped { turn: false }),
            Moment::Settings => {
                let (runs, fault) = claude_guard(env.home.as_deref(), &project_dir);
                hooked = runs;
                what = Some(HookEvent::Settings { fault });
            }
            Moment::Quiet => {}
        }
        let call = what.map(|what| HookCall {
            agent: self.name.to_owned(),
            session,
            project_dir,
            pid: env.pid,
            hooked,
            parent: payload::text(fields, f.parent).map(str::to_owned),
            planning: payload::text(fields, f.mode) == Some("plan"),
            via: occasion.event.clone(),
            again: false,
            traits: AgentTraits {
                hears: self.capabilities.hears_at.contains(&moment),
                tells_end: self.capabilities.tells_end,
                steers_unseen: self.capabilities.steers_unseen,
            },
            what,
        });
        Ok(Parsed {
            agent: self,
            occasion,
            call,
        })
    }

    /// Reduces a tool call to its effects.
    fn attempt(
        &self,
        fields: &Map<String, Value>,
        occasion: &Occasion,
        cwd: &Path,
        env: &HookEnv,
    ) -> Result<Attempt, Fault> {
        let f = &self.fields;
        // Where the event itself says what is done.
        let by_event = self.tools.iter().find(|(name, _)| *name == occasion.event);
        let tool = match (payload::text(fields, f.tool), by_event) {
            (Some(tool), _) => tool,
            (None, Some((name, _))) => name,
            (None, None) => return Err(Fault::Lacks(field_name(f.tool))),
        };
        let known = self.tools.iter().find(|(name, _)| *name == tool);
        let known = known.or(by_event).map(|(_, tool)| *tool);
        let input = match find(fields, f.input) {
            // Older versions send the arguments as a text.
            Some(Value::String(text)) if known != Some(Tool::Line) => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
            }
            Some(value) => value.clone(),
            None => return Err(Fault::Lacks(field_name(f.input))),
        };
        let is_text_tool = matches!(known, Some(Tool::Patch(_) | Tool::Line));
        if !(input.is_object() || input.is_string() && is_text_tool) {
            return Err(Fault::Lacks(field_name(f.input)));
        }
        let mut at = cwd.to_owned();
        let known = known.filter(|k| *k != Tool::Declared || declared(&input).is_some());
        let effects = match known {
            Some(known) => {
                if let Tool::Shell { dir, .. } = known
                    && let Some(dir) = dir.iter().find_map(|d| input.get(d)?.as_str())
                    && !dir.is_empty()
                {
                    at = cwd.join(dir);
                }
                effects_of(&known, &input, &at).map_err(Fault::Lacks)?
            }
            None => {
                let call = foreign::read(tool, &input);
                match call.fault {
                    // What has happened can't be refused: it is looked at.
                    Some(why) if occasion.moment != Moment::After => {
                        return Err(Fault::Foreign(format!(
                            "not all that {} would do could be read, since {why}",
                            visible(tool)
                        )));
                    }
                    // What it is given is not all that a foreign program does: a call that names
                    // nothing but a command that only reads must not pass for that command.
                    _ => {
                        let mut effects = call.effects;
                        let runs = |e: &Effect| matches!(e, Effect::Opaque { .. });
                        if effects.iter().all(runs) && !effects.is_empty() {
                            effects.push(Effect::Read { path: at.clone() });
                        }
                        effects
                    }
                }
            }
        };
        let may_write = match known {
            Some(Tool::Shell { .. } | Tool::Line) => true,
            Some(Tool::Declared) => effects.iter().any(|e| matches!(e, Effect::Opaque { .. })),
            // Sub-agents act through hooks of their own, if there are any.
            Some(Tool::Spawn) => self.capabilities.covers_subagents != Known::Yes,
            Some(_) => false,
            // A foreign program runs, whatever it is called.
            None => true,
        };
        let background = ["run_in_background", "is_background"]
            .iter()
            .any(|name| input.get(name) == Some(&Value::Bool(true)))
            || tool == "Monitor";
        let stamp = find(fields, f.stamp);
        let nonce = match stamp {
            Some(stamp) => Some(format!(
                "{:016x}",
                digest(&(
                    occasion.event.as_str(),
                    tool,
                    stamp.to_string(),
                    input.to_string()
                ))
            )),
            None => Some(env.nonce.clone()).filter(|n| !n.is_empty()),
        };
        Ok(Attempt {
            tool: tool.to_owned(),
            cwd: at,
            effects,
            call: payload::text(fields, f.call).map(str::to_owned),
            may_write,
            background,
            subagent: payload::text(fields, f.subagent).map(str::to_owned),
            nonce,
            change: Some(super::change::of(tool, &input)),
        })
    }
}

fn digest(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A place as a person reads it.
fn field_name(places: &[&'static str]) -> &'static str {
    places
        .first()
        .map_or("session", |p| p.trim_start_matches('/'))
}
