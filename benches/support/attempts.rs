//! An engine in this process that is asked about edits it allows.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use invar::{
    engine::{
        Call, Locations, Reply,
        protocol::{HookCall, HookEvent},
        writer::Engine,
    },
    model::{Attempt, Effect, LetterCheck, NewInvariant, Scope, VerdictKind},
};

/// An engine with that many global invariants in force, half of them with a machine check, and a
/// session that has begun to edit.
pub struct Asked {
    engine: Engine,
    project: PathBuf,
    asked: usize,
    _folder: tempfile::TempDir,
}

impl Asked {
    pub fn new(invariants: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("app");
        std::fs::create_dir_all(project.join(".git")).unwrap();
        let mut engine = Engine::open(&locations(folder.path()), &Default::default()).unwrap();
        let add = |number: usize| {
            let text = format!("Module {number} keeps its public interface as it is");
            let pattern = format!("packages/p{number}/tests/**/*_{number}.py");
            let invariant = match number % 2 {
                0 => NewInvariant::plain(Scope::Global, &text),
                _ => NewInvariant::letter(Scope::Global, LetterCheck::Untouched(pattern)),
            };
            Call::Add {
                invariant,
                cwd: project.clone(),
                plan: None,
            }
        };
        let (answers, _) = engine.run((0..invariants).map(add).collect());
        assert!(answers.iter().all(Result::is_ok));
        let mut asked = Self {
            engine,
            project,
            asked: 0,
            _folder: folder,
        };
        asked.hook(HookEvent::SessionStart);
        // The first one begins the plan's execution, and compiles what is in force.
        asked.edit();
        asked
    }

    fn hook(&mut self, what: HookEvent) -> Duration {
        let call = HookCall::new("claude-code", "bench", &self.project, what);
        let start = Instant::now();
        let (mut answers, _) = self.engine.run(vec![Call::Hook(call)]);
        let took = start.elapsed();
        match answers.pop() {
            Some(Ok(Reply::Hook(reply))) => {
                assert_eq!(
                    reply.verdict.verdict,
                    VerdictKind::Allow,
                    "{}",
                    reply.verdict.reason
                );
            }
            other => panic!("{other:?}"),
        }
        took
    }

    /// How long the engine took to allow an edit; writing it comes later.
    pub fn edit(&mut self) -> Duration {
        self.asked += 1;
        let attempt = Attempt {
            tool: "Edit".to_owned(),
            cwd: self.project.clone(),
            effects: vec![Effect::Change {
                path: format!("src/f{}.rs", self.asked % 100).into(),
            }],
            call: Some(format!("toolu_{}", self.asked)),
            ..Attempt::default()
        };
        let took = self.hook(HookEvent::Attempt(attempt));
        if self.asked.is_multiple_of(100) {
            self.engine.flush().unwrap();
        }
        took
    }
}

fn locations(folder: &Path) -> Locations {
    Locations {
        // Of its own folders invar lets no agent change anything.
        store: folder.join("data/invar.redb"),
        config: folder.join("config/config.toml"),
        logs: folder.join("logs"),
        socket: folder.join("data/invar.sock"),
        home: folder.join("home"),
    }
}
