//! The places that agents keep for themselves: they are there, and hold nothing that guards.

use std::path::Path;

use super::{agent, all};
use crate::{
    model::LetterCheck,
    rules::letter::{LetterSet, PatternEnv, Place},
};

const HOME: &str = "/home/mira";

/// Whether a path is outside all of the patterns. `~/` is home, everything else in the project.
fn outside(patterns: &[&str], path: &str) -> bool {
    let check = LetterCheck::NoEditsOutside(patterns.iter().map(|p| (*p).to_owned()).collect());
    let env = PatternEnv {
        home: Some(Path::new(HOME)),
        fold_case: false,
    };
    let set = LetterSet::compile([&check], env).unwrap();
    let (relative, absolute) = match path.strip_prefix("~/") {
        Some(rest) => (None, format!("{HOME}/{rest}")),
        None => (Some(path.as_bytes()), format!("/w/{path}")),
    };
    let place = Place {
        relative,
        absolute: absolute.as_bytes(),
        scratch: false,
        subtree: false,
        holds_root: false,
    };
    !set.broken_by(place).is_empty()
}

#[test]
fn plans_and_memory_are_known() {
    for (name, path) in [
        ("claude-code", "~/.claude/plans/quiet-river.md"),
        ("claude-code", "~/.claude/projects/-w/memory/MEMORY.md"),
        ("codex", "~/.codex/memories/MEMORY.md"),
        ("gemini", "~/.gemini/tmp/w/s/plans/a.md"),
        ("opencode", ".opencode/plans/a.md"),
        ("copilot", "~/.copilot/session-state/s/plan.md"),
        ("cursor", "~/.cursor/plans/a.plan.md"),
    ] {
        let notes = agent(name).unwrap().own_places.notes;
        assert!(!outside(notes, path), "{name}: {path}");
        assert!(
            outside(notes, "docs/x.md") && outside(notes, "~/.bashrc"),
            "{name}"
        );
    }
    let worktrees = agent("claude-code").unwrap().own_places.worktrees;
    assert!(!outside(worktrees, ".claude/worktrees/f"));
}

#[test]
fn no_own_place_holds_settings() {
    for own in all() {
        let places = [own.own_places.notes, own.own_places.worktrees].concat();
        if places.is_empty() {
            continue;
        }
        for file in all()
            .filter_map(|a| a.install)
            .flat_map(|i| [format!("~/{}", i.user), i.project.to_owned()])
        {
            assert!(outside(&places, &file), "{}: {file}", own.name);
        }
        for file in [
            ".claude/settings.local.json",
            "~/.claude/settings.json",
            "~/.claude/CLAUDE.md",
            ".claude/commands/a.md",
            "~/.claude/projects/-w/s.jsonl",
            "~/.codex/config.toml",
            "~/.gemini/GEMINI.md",
            ".opencode/plugins/invar.js",
        ] {
            assert!(outside(&places, file), "{}: {file}", own.name);
        }
    }
}
