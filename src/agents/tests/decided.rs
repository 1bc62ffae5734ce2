//! Calls of foreign tools decided by an engine, on a real project: what the adapter reads is enough to
//! deny, and not more.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{super::HookEnv, agent};
use crate::{
    engine::{
        Config, Locations, Reply, Request,
        requests::{Add, HookCall, HookEvent},
        writer::Engine,
    },
    model::{LetterCheck, NewInvariant, Scope, VerdictKind},
};

/// A project with two files and its engine.
struct World {
    root: PathBuf,
    engine: Engine,
    _dir: tempfile::TempDir,
}

impl World {
    fn new(checks: &[LetterCheck]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let root = base.join("my-app");
        for file in [".git/HEAD", "src/a.py", "tests/spec_test.py", "docs/x.md"] {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "x\n").unwrap();
        }
        let locations = Locations {
            store: base.join("data/invar.redb"),
            config: base.join("config/config.toml"),
            logs: base.join("logs"),
            socket: base.join("data/invar.sock"),
            home: base.join("home"),
        };
        let mut engine = Engine::open(&locations, &Config::default()).unwrap();
        for check in checks {
            let add = Add {
                invariant: NewInvariant::letter(Scope::Global, check.clone()),
                cwd: root.clone(),
                plan: None,
            };
            engine.call(add.into_call()).unwrap();
        }
        let start = HookCall::new("claude-code", "s", &root, HookEvent::SessionStart);
        engine.call(start.into_call()).unwrap();
        Self {
            root,
            engine,
            _dir: dir,
        }
    }

    fn decides(&mut self, tool: &str, input: &Value) -> VerdictKind {
        self.hook("PreToolUse", tool, input)
    }

    fn hook(&mut self, event: &str, tool: &str, input: &Value) -> VerdictKind {
        let payload = json!({
            "session_id": "s", "cwd": self.root, "hook_event_name": event,
            "tool_name": tool, "tool_input": input, "tool_use_id": "t",
        });
        let env = HookEnv {
            project_dir: Some(self.root.clone()),
            cwd: self.root.clone(),
            nonce: "n".into(),
            ..HookEnv::default()
        };
        let claude = agent("claude-code").unwrap();
        let parsed = claude.read(payload.to_string().as_bytes(), &env);
        let call = parsed.ok().unwrap().call.unwrap();
        match self.engine.call(call.into_call()).unwrap() {
            Reply::HookCall(reply) => reply.verdict.verdict,
            other => panic!("{other:?}"),
        }
    }
}

/// The input with the project's root for `@R@`.
fn placed(value: &Value, root: &Path) -> Value {
    let text = value.to_string().replace("@R@", root.to_str().unwrap());
    serde_json::from_str(&text).unwrap()
}

fn untouched() -> LetterCheck {
    LetterCheck::Untouched("tests/spec_test.py".into())
}

fn verdict(checks: &[LetterCheck], tool: &str, input: &Value) -> VerdictKind {
    let mut world = World::new(checks);
    let input = placed(input, &world.root.clone());
    world.decides(tool, &input)
}

#[test]
fn an_untouched_file_is_denied_by_whatever_name_it_comes() {
    for (tool, input) in [
        ("search_and_replace", json!({"path": "tests/spec_test.py"})),
        ("edit", json!({"relative_path": "tests/spec_test.py"})),
        ("edit", json!({"path": "tests%2Fspec_test.py"})),
        ("edit", json!({"path": "FILE://@R@/tests/spec_test.py"})),
        (
            "edit",
            json!({"path": "vscode-remote://ssh@R@/tests/spec_test.py"}),
        ),
        ("edit", json!({"path": "@R@/tests/spec_test.py:12"})),
        (
            "edit",
            json!({"changes": {"file://@R@/tests/spec_test.py": [{"newText": "z"}]}}),
        ),
        (
            "run",
            json!({"command": "cp", "args": ["src/a.py", "tests/spec_test.py"]}),
        ),
        (
            "run",
            json!({"command": "echo z > spec_test.py", "cwd": "@R@/tests"}),
        ),
        ("delete_folder", json!({"path": "tests"})),
        ("delete_files", json!({"pattern": "tests/*.py"})),
        (
            "move_file",
            json!({"source": "tests", "destination": "old"}),
        ),
        (
            "move_file",
            json!({"source": "src", "destination": "tests"}),
        ),
        (
            "rename",
            json!({"old_name": "src/a.py", "new_name": "tests/spec_test.py"}),
        ),
    ] {
        let verdict = verdict(&[untouched()], &format!("mcp__x__{tool}"), &input);
        assert_eq!(verdict, VerdictKind::Deny, "{tool} {input}");
    }
}

#[test]
fn what_only_reads_or_stays_inside_is_allowed() {
    let checks = [
        LetterCheck::NoEditsOutside(vec!["src/**".into()]),
        untouched(),
    ];
    for (tool, input) in [
        (
            "LSP",
            json!({"operation": "hover", "filePath": "@R@/tests/spec_test.py"}),
        ),
        ("NotebookRead", json!({"notebook_path": "@R@/docs/n.ipynb"})),
        (
            "ReadMcpResourceTool",
            json!({"server": "fs", "uri": "file://@R@/tests/spec_test.py"}),
        ),
        (
            "mcp__ide__getDiagnostics",
            json!({"uri": "file://@R@/tests/spec_test.py"}),
        ),
        ("mcp__x__fs_read", json!({"path": "tests/spec_test.py"})),
        ("mcp__git__git_log", json!({"repo_path": "@R@"})),
        (
            "mcp__git__git_commit",
            json!({"repo_path": "@R@", "message": "mend docs/x.md"}),
        ),
        (
            "mcp__x__write_file",
            json!({"path": "src/a.py", "content": "docs/x.md"}),
        ),
        (
            "mcp__x__write_file",
            json!({"directory": "src", "file_name": "b.py"}),
        ),
        (
            "mcp__x__copy_file",
            json!({"sourcePath": "tests/spec_test.py", "destinationPath": "src/t.py"}),
        ),
        (
            "mcp__x__rename",
            json!({"path": "src/a.py", "new_name": "b.py"}),
        ),
        (
            "mcp__github__create_pull_request",
            json!({"title": "t", "head": "feature/x", "repo": "a/b"}),
        ),
    ] {
        assert_eq!(
            verdict(&checks, tool, &input),
            VerdictKind::Allow,
            "{tool} {input}"
        );
    }
}

#[test]
fn what_a_tool_of_any_name_changed_is_found_right_after_it() {
    for (tool, input) in [
        ("mcp__x__read_file", json!({"path": "tests/spec_test.py"})),
        (
            "mcp__x__query_file",
            json!({"path": "tests/spec_test.py", "sql": "update"}),
        ),
        (
            "mcp__git__git_apply",
            json!({"repo_path": "@R@", "patch_file": "src/p.diff"}),
        ),
        ("mcp__x__hover", json!({})),
        ("mcp__x__run", json!({"command": "ls"})),
        ("FutureTool", json!({"text": "tests/spec_test.py"})),
    ] {
        let mut world = World::new(&[untouched()]);
        let input = placed(&input, &world.root.clone());
        assert_eq!(world.decides(tool, &input), VerdictKind::Allow, "{tool}");
        fs::write(world.root.join("tests/spec_test.py"), "changed\n").unwrap();
        let after = world.hook("PostToolUse", tool, &input);
        assert_eq!(after, VerdictKind::Deny, "{tool}");
    }
}
