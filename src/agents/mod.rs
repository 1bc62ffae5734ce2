//! Floor 4: adapters. One file or table per agent turns its hook JSON into an attempt and a
//! verdict into its answer; nothing else knows any dialect.

mod answers;
pub mod capabilities;
mod change;
mod claude_code;
mod codex;
mod copilot;
mod crush;
mod cursor;
mod dialect;
mod foreign;
mod gathered;
mod gemini;
mod generic;
mod keys;
mod others;
mod patch;
mod payload;
mod plugins;
pub mod sample;
pub mod settings;
mod spelled;
#[cfg(test)]
mod tests;
mod tools;
pub mod transcript;
mod verbs;

use std::path::Path;

use serde_json::{Map, Value};

pub use capabilities::{Capabilities, Coverage, Support};
pub use dialect::{Agent, HookAnswer, HookEnv, Moment, Occasion, OwnPlaces, Parsed, Refusal};

/// The longest payload that is read; more is refused.
pub const MAX_PAYLOAD: usize = 64 << 20;

static AGENTS: [&Agent; 19] = [
    &claude_code::CLAUDE_CODE,
    &codex::CODEX,
    &gemini::GEMINI,
    &gemini::QWEN,
    &plugins::OPENCODE,
    &copilot::COPILOT,
    &cursor::CURSOR,
    &plugins::PI,
    &crush::CRUSH,
    &others::FACTORY_DROID,
    &others::GOOSE,
    &others::WINDSURF,
    &others::KIRO,
    &others::CLINE,
    &others::GROK,
    &others::ANTIGRAVITY,
    &others::AMP,
    &others::KIMI_CODE,
    &others::VSCODE_COPILOT,
];

/// All agents that invar speaks with, the best known first; `generic` is the last.
pub fn all() -> impl Iterator<Item = &'static Agent> {
    AGENTS.into_iter().chain([&generic::GENERIC])
}

/// The agent of that name.
pub fn agent(name: &str) -> Option<&'static Agent> {
    all().find(|a| a.name == name)
}

/// Whether an agent that runs only trusted hooks trusts those of a settings file; `None` for an
/// agent that needs no trust.
pub fn trust(agent: &Agent, settings: &Path) -> Option<bool> {
    (agent.name == codex::CODEX.name).then(|| codex::trusts(settings))
}

/// Who sent a payload to the hook of `asked`: Cursor and Grok run other agents' hook files.
fn sender(asked: &'static Agent, fields: &Map<String, Value>) -> &'static Agent {
    let runs_foreign = ["claude-code", "cursor"].contains(&asked.name);
    let has = |name: &str| fields.contains_key(name);
    if !runs_foreign {
        asked
    } else if has("cursor_version") {
        &cursor::CURSOR
    } else if has("hookEventName") && (has("toolName") || has("workspaceRoot")) {
        &others::GROK
    } else {
        asked
    }
}
