//! Who asks. Only people change invariants, so a call that changes something is refused when it
//! comes from under an agent: when an agent's variable is in the caller's environment, or an
//! agent's process is among its ancestors.

use std::{ffi::OsString, fs, os::unix::ffi::OsStringExt};

use super::EngineError;

/// Variables that agents set for the commands they run.
const MARKS: [&str; 11] = [
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "QWEN_CODE",
    "OPENCODE",
    "CURSOR_AGENT",
    "CRUSH_SESSION_ID",
    "COPILOT_AGENT_SESSION_ID",
];

/// The most ancestors that are looked at.
const MAX_DEPTH: usize = 64;

/// Why this process counts as an agent's: a variable of its environment. Hooks have it too; they
/// change nothing by themselves.
pub fn own_mark() -> Option<&'static str> {
    MARKS
        .into_iter()
        .find(|mark| std::env::var_os(mark).is_some_and(|v| !v.is_empty()))
}

/// Why process `pid` counts as an agent's, given the process ids of the agents at work: a clause
/// that completes "this comes from under an agent (…)". `None` for a person, and on systems
/// without `/proc`, where nothing is known of other processes.
pub fn agent_above(pid: u32, agents: &[u32]) -> Option<String> {
    if let Some(mark) = marks_of(pid) {
        return Some(format!("{mark} is set"));
    }
    let above = ancestors(pid).find(|p| agents.contains(p))?;
    Some(format!(
        "its process descends from {above}, an agent at work"
    ))
}

/// Who sits here, as the system calls them.
pub fn person() -> String {
    let named = ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok());
    named
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| format!("user {}", rustix::process::getuid().as_raw()))
}

/// The error that refuses a request.
pub fn refusal(why: &str) -> EngineError {
    EngineError::not_for_agents(format!(
        "only people change invariants and plans, and this comes from under an agent ({why})"
    ))
    .hint("do it in a terminal of your own")
}

/// The nearest process above this one whose name is one of `names`.
pub fn ancestor_named(names: &[&str]) -> Option<u32> {
    ancestors(std::process::id()).find(|pid| {
        fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|name| names.contains(&name.trim_end()))
    })
}

fn marks_of(pid: u32) -> Option<&'static str> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let names: Vec<OsString> = bytes
        .split(|b| *b == 0)
        .filter_map(|entry| {
            let at = entry.iter().position(|b| *b == b'=')?;
            (at + 1 < entry.len()).then(|| OsString::from_vec(entry[..at].to_vec()))
        })
        .collect();
    MARKS
        .into_iter()
        .find(|mark| names.iter().any(|name| name == mark))
}

/// The process itself and those above it, nearest first.
fn ancestors(pid: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(pid), |pid| parent(*pid)).take(MAX_DEPTH)
}

fn parent(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, brackets too.
    let after = &text[text.rfind(')')? + 1..];
    let parent = after.split_whitespace().nth(1)?.parse().ok()?;
    (parent > 1).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_descends_from_this_process() {
        let mut child = std::process::Command::new("sleep")
            .arg("30")
            .env_clear()
            .spawn()
            .unwrap();
        let own = std::process::id();
        let found = (
            agent_above(child.id(), &[own]),
            agent_above(child.id(), &[1 << 30]),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        if cfg!(target_os = "linux") {
            assert!(found.0.unwrap().contains(&own.to_string()));
        }
        assert_eq!(found.1, None);
    }

    #[test]
    fn a_marked_environment_is_an_agents() {
        let mut child = std::process::Command::new("sleep")
            .arg("30")
            .env_clear()
            .env("CLAUDECODE", "1")
            .spawn()
            .unwrap();
        let found = (0..1000).find_map(|_| agent_above(child.id(), &[]));
        child.kill().unwrap();
        child.wait().unwrap();
        if cfg!(target_os = "linux") {
            assert_eq!(found.as_deref(), Some("CLAUDECODE is set"));
        }
    }
}
