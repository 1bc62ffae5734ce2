//! OpenAI Codex CLI: Claude Code's names, read strictly. One key too many, an empty reason or an
//! exit code 2 without stderr lets the action run, and no answer halts a run.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    answers::{Say, denies_like_claude, json_answer, like_claude, parsed, refuse_by_exit, say},
    capabilities::{Capabilities, Evidence, Fails, Halts, Known},
    dialect::{Agent, COMMON, HookAnswer, Moment, Occasion, OwnPlaces},
    settings::{Form, Install},
    tools::{SHELL, Tool},
};
use crate::engine::requests::HookReply;

/// The adapter.
pub static CODEX: Agent = Agent {
    name: "codex",
    title: "OpenAI Codex CLI",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["codex"],
    own_places: OwnPlaces {
        notes: &["~/.codex/memories/**"],
        worktrees: &["~/.codex/worktrees/*/*"],
    },
    events: &[
        ("PreToolUse", Moment::Before),
        ("PermissionRequest", Moment::Leave),
        ("PostToolUse", Moment::After),
        ("UserPromptSubmit", Moment::Prompt),
        ("SessionStart", Moment::SessionStart),
        ("SessionEnd", Moment::SessionEnd),
        ("Stop", Moment::Stop),
        ("SubagentStop", Moment::SubagentStop),
        ("SubagentStart", Moment::Quiet),
        ("PreCompact", Moment::Quiet),
        ("PostCompact", Moment::Quiet),
        ("Interrupt", Moment::Quiet),
    ],
    event_of: None,
    fields: COMMON,
    tools: &TOOLS,
    capabilities: Capabilities {
        can_halt: Halts::ByDenial,
        can_ask: false,
        reason_reaches_model: Known::Yes,
        on_crash: Fails::Open,
        on_timeout: Fails::Open,
        covers_mcp: Known::Yes,
        covers_subagents: Known::Yes,
        has_call_id: true,
        tells_end: true,
        steers_unseen: true,
        hears_at: &[Moment::SessionStart, Moment::Prompt],
        evidence: Evidence::Run("0.171.0"),
        gaps: &[
            "hooks run only once they are trusted; `codex exec` skips others without a word",
            "what is typed into a running command comes by no hook, so that interactive shells are denied",
            "a session keeps the hooks that it started with",
        ],
    },
    answer,
    refuse: refuse_by_exit,
    denies,
    install: Some(Install {
        user: ".codex/hooks.json",
        home_variable: Some(("CODEX_HOME", "hooks.json")),
        project: ".codex/hooks.json",
        template: include_str!("../../assets/agents/codex.json"),
        form: Form::Merged,
        after: "start codex and choose \"Trust\" when it shows the new hooks; until then it skips them without a word",
    }),
};

static TOOLS: [(&str, Tool); 17] = [
    ("Bash", SHELL),
    ("apply_patch", Tool::Patch(&["command", "input", "patch"])),
    ("view_image", Tool::Read(&["path"])),
    ("update_plan", Tool::Harmless),
    ("spawn_agent", Tool::Spawn),
    ("collaborationspawn_agent", Tool::Spawn),
    ("multi_agent_v1spawn_agent", Tool::Spawn),
    ("wait_agent", Tool::Harmless),
    ("multi_agent_v1wait_agent", Tool::Harmless),
    ("collaborationwait_agent", Tool::Harmless),
    ("close_agent", Tool::Harmless),
    ("collaborationclose_agent", Tool::Harmless),
    ("send_input", Tool::Harmless),
    ("web_search", Tool::Harmless),
    // The names in its transcripts.
    (
        "exec_command",
        Tool::Shell {
            command: &["cmd", "command"],
            dir: &["workdir"],
            language: None,
        },
    ),
    (
        "shell",
        Tool::Shell {
            command: &["command"],
            dir: &["workdir"],
            language: None,
        },
    ),
    ("write_stdin", Tool::Harmless),
];

fn answer(occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    match (say(reply), occasion.moment) {
        (Say::Deny(reason) | Say::Halt(reason), Moment::Leave) => {
            json_answer(&json!({"hookSpecificOutput": {
                "hookEventName": occasion.event,
                "decision": {"behavior": "deny", "message": reason},
            }}))
        }
        // Before an action a context without a decision has not been tried.
        (Say::Context(_), Moment::Before | Moment::Leave | Moment::After) => HookAnswer::silent(),
        _ => like_claude(occasion, reply),
    }
}

/// Whether Codex trusts the hook before actions in that file. Codex keeps a digest of each trusted
/// entry that only Codex can make, so an entry that was changed since cannot be recognised here.
pub fn trusts(hooks: &Path) -> bool {
    let home = std::env::var_os("CODEX_HOME").map(PathBuf::from);
    let own = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".codex"));
    let config = home.or_else(own).map(|folder| folder.join("config.toml"));
    let text = config.and_then(|path| std::fs::read_to_string(path).ok());
    text.is_some_and(|text| has_trust(&text, hooks))
}

fn has_trust(config: &str, hooks: &Path) -> bool {
    let table: toml::Table = config.parse().unwrap_or_default();
    let state = table.get("hooks").and_then(|h| h.get("state"));
    let key = format!("{}:pre_tool_use:", hooks.display());
    state.and_then(toml::Value::as_table).is_some_and(|state| {
        state
            .iter()
            .any(|(name, entry)| name.starts_with(&key) && entry.get("trusted_hash").is_some())
    })
}

/// By the agent's strict rules: no other key than those it knows, and a reason.
fn denies(answer: &HookAnswer) -> bool {
    if answer.exit == 2 {
        return !answer.stderr.is_empty();
    }
    let out = parsed(answer);
    let known = out
        .as_object()
        .is_some_and(|o| o.keys().all(|k| k == "hookSpecificOutput"));
    let inner = &out["hookSpecificOutput"];
    let reason = inner["permissionDecisionReason"].as_str();
    answer.exit == 0
        && known
        && denies_like_claude(answer)
        && inner["hookEventName"] == "PreToolUse"
        && reason.is_some_and(|r| !r.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_looked_up_by_file_and_event() {
        let config = "[hooks.state.\"/h/.codex/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:1\"\n";
        assert!(has_trust(config, Path::new("/h/.codex/hooks.json")));
        assert!(!has_trust(config, Path::new("/w/.codex/hooks.json")));
        assert!(!has_trust(
            &config.replace("pre_", "post_"),
            Path::new("/h/.codex/hooks.json")
        ));
        assert!(!has_trust("no toml [", Path::new("/h/.codex/hooks.json")));
    }
}
