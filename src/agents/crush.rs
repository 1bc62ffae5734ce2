//! Crush: one event before an action; exit code 49 halts the turn.

use super::{
    answers::{Say, cut, decision, denies_by_decision, refuse_by_exit, say},
    capabilities::{Capabilities, Evidence, Fails, Halts, Known},
    dialect::{Agent, COMMON, Fields, HookAnswer, Moment, Occasion, OwnPlaces},
    settings::{Form, Install},
    tools::{SHELL, Tool},
};
use crate::engine::requests::HookReply;

/// The exit code that halts.
const HALT: u8 = 49;

/// The adapter.
pub static CRUSH: Agent = Agent {
    name: "crush",
    title: "Crush",
    project_dir_variables: &["CRUSH_PROJECT_DIR"],
    pid_variable: None,
    process_names: &["crush"],
    own_places: OwnPlaces::NONE,
    events: &[
        ("PreToolUse", Moment::Before),
        ("PreCompact", Moment::Quiet),
    ],
    event_of: None,
    fields: Fields {
        event: &["/event"],
        call: &[],
        subagent: &[],
        mode: &[],
        ..COMMON
    },
    tools: &[
        ("bash", CRUSH_SHELL),
        ("write", Tool::Change(&["file_path", "path"])),
        ("edit", Tool::Change(&["file_path", "path"])),
        ("multiedit", Tool::Edits(&["file_path", "path"])),
        ("download", Tool::Change(&["file_path", "path"])),
        ("view", Tool::Read(&["file_path", "path"])),
        ("ls", Tool::Read(&["path"])),
        ("glob", Tool::Read(&["path"])),
        ("grep", Tool::Read(&["path"])),
        ("agent", Tool::Spawn),
        ("agentic_fetch", Tool::Spawn),
        ("fetch", Tool::Harmless),
        ("web_fetch", Tool::Harmless),
        ("web_search", Tool::Harmless),
        ("sourcegraph", Tool::Harmless),
        ("diagnostics", Tool::Harmless),
        ("references", Tool::Harmless),
        ("todos", Tool::Harmless),
        ("job_output", Tool::Harmless),
        ("job_kill", Tool::Harmless),
        ("bash_no_tty", SHELL),
    ],
    capabilities: Capabilities {
        can_halt: Halts::Native,
        can_ask: false,
        reason_reaches_model: Known::Yes,
        on_crash: Fails::Open,
        on_timeout: Fails::Open,
        covers_mcp: Known::Yes,
        covers_subagents: Known::No,
        has_call_id: false,
        tells_end: false,
        steers_unseen: false,
        hears_at: &[],
        evidence: Evidence::Documented,
        gaps: &[
            "it tells no start and no end of a session, so that its plan ends by `invar plan cancel`",
        ],
    },
    answer,
    refuse: refuse_by_exit,
    denies: |answer: &HookAnswer| answer.exit == HALT || denies_by_decision(answer),
    install: Some(Install {
        user: ".config/crush/crush.json",
        home_variable: Some(("XDG_CONFIG_HOME", "crush/crush.json")),
        project: ".crush.json",
        template: include_str!("../../assets/agents/crush.json"),
        form: Form::Merged,
        after: "sessions that start from now on ask it",
    }),
};

const CRUSH_SHELL: Tool = Tool::Shell {
    command: &["command"],
    dir: &["working_dir"],
    language: None,
};

fn answer(occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    match say(reply) {
        Say::Halt(reason) => HookAnswer {
            stdout: None,
            stderr: cut(&reason),
            exit: HALT,
        },
        _ => decision("deny", occasion, reply),
    }
}
