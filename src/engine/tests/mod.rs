//! The engine's promises, on a real store in a temporary folder and a real project beside it.

mod attempts;
mod durability;
mod evasions;
mod files;
mod invariants;
mod parts;
mod past;
mod plans;
mod proof;
mod serving;
mod socket;
mod trees;

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Config, EngineError, ErrorKind, Locations, Request, requests::*, writer::Engine};
use crate::model::{
    Attempt, Effect, Invariant, LetterCheck, NewInvariant, Plan, PlanId, ReconciliationResult,
    Scope, Transition, VerdictKind,
};

pub struct World {
    _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub locations: Locations,
    pub config: Config,
    pub engine: Option<Engine>,
}

impl World {
    pub fn new() -> Self {
        // The project lies in the temporary folder, which is scratch by default; the project
        // itself never is.
        Self::with_config(|_| Config::default())
    }

    /// A world whose only scratch folder is this one, beside the project.
    pub fn with_scratch(name: &str) -> Self {
        Self::with_config(|base| {
            let mut config = Config::default();
            config.paths.scratch = vec![base.join(name)];
            config
        })
    }

    fn with_config(config: impl FnOnce(&Path) -> Config) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let root = base.join("my-app");
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir_all(root.join("tests")).unwrap();
        let locations = Locations {
            store: base.join("data/invar.redb"),
            config: base.join("config/config.toml"),
            logs: base.join("logs"),
            socket: base.join("data/invar.sock"),
            home: base.join("home"),
        };
        let config = config(&base);
        let mut world = Self {
            _dir: dir,
            root,
            locations,
            config,
            engine: None,
        };
        world.restart();
        world
    }

    /// Ends the engine and starts another one on the same store.
    pub fn restart(&mut self) {
        self.engine = None;
        self.engine = Some(Engine::open(&self.locations, &self.config).unwrap());
    }

    pub fn ask<R: Request>(&mut self, request: R) -> Result<R::Reply, EngineError> {
        let call = request.into_call();
        reply_to::<R>(self.engine.as_mut().unwrap().call(call))
    }

    pub fn add(&mut self, new: NewInvariant) -> Invariant {
        let request = Add {
            invariant: new,
            cwd: self.root.clone(),
            plan: None,
        };
        self.ask(request).unwrap().invariant
    }

    /// Takes the last change back, in the project of this world.
    pub fn undo(&mut self) -> Result<Vec<Invariant>, EngineError> {
        let cwd = self.root.clone();
        self.ask(Undo {
            cwd,
            project: None,
            expect: None,
        })
    }

    /// Does it again.
    pub fn redo(&mut self) -> Result<Vec<Invariant>, EngineError> {
        let cwd = self.root.clone();
        self.ask(Redo {
            cwd,
            project: None,
            expect: None,
        })
    }

    pub fn add_plain(&mut self, scope: Scope, text: &str) -> Invariant {
        self.add(NewInvariant::plain(scope, text))
    }

    pub fn untouched(&mut self, scope: Scope, path: &str) -> Invariant {
        self.add(NewInvariant::letter(
            scope,
            LetterCheck::Untouched(path.into()),
        ))
    }

    pub fn only(&mut self, scope: Scope, patterns: &[&str]) -> Invariant {
        let patterns = patterns.iter().map(|p| (*p).to_owned()).collect();
        self.add(NewInvariant::letter(
            scope,
            LetterCheck::NoEditsOutside(patterns),
        ))
    }

    pub fn use_plan(&mut self, action: &str) -> Plan {
        self.use_plan_with(action, &[], None).unwrap()
    }

    pub fn use_plan_with(
        &mut self,
        action: &str,
        params: &[(&str, &str)],
        parent: Option<PlanId>,
    ) -> Result<Plan, EngineError> {
        let request = PlanUse {
            action: action.parse().unwrap(),
            project: "local/my-app".parse().unwrap(),
            params: params
                .iter()
                .map(|(k, v)| ((*k).into(), (*v).into()))
                .collect(),
            parent: parent.map(|p| self.plan_ref(p)),
        };
        Ok(self.ask(request)?.plan)
    }

    pub fn plan_ref(&self, plan: PlanId) -> PlanRef {
        PlanRef {
            text: plan.to_string(),
            cwd: self.root.clone(),
        }
    }

    pub fn plan(&self, id: PlanId) -> Plan {
        let engine = self.engine.as_ref().unwrap();
        match engine.core().state().plans.get(&id) {
            Some(plan) => plan.clone(),
            None => engine.store().past_of(id).unwrap().plans.remove(0),
        }
    }

    pub fn transition(
        &mut self,
        plan: PlanId,
        transition: Transition,
    ) -> Result<ReconciliationResult, EngineError> {
        let plan = self.plan_ref(plan);
        self.ask(PlanTransition { plan, transition })
    }

    pub fn effective(&mut self, plan: PlanId) -> EffectiveSet {
        let of = EffectiveOf::Plan(self.plan_ref(plan));
        self.ask(Effective { of }).unwrap()
    }

    pub fn hook(&mut self, session: &str, what: HookEvent) -> HookReply {
        let call = HookCall::new("claude-code", session, &self.root, what);
        self.ask(call).unwrap()
    }

    pub fn edit(&mut self, session: &str, path: &str) -> HookReply {
        let attempt = self.attempt_on(path);
        self.hook(session, HookEvent::Attempt(attempt))
    }

    pub fn attempt_on(&self, path: &str) -> Attempt {
        Attempt {
            tool: "Edit".into(),
            cwd: self.root.clone(),
            effects: vec![Effect::Change { path: path.into() }],
            ..Attempt::default()
        }
    }
}

pub fn project() -> Scope {
    Scope::Project("local/my-app".parse().unwrap())
}

pub fn verdicts(world: &mut World, session: &str, path: &str, times: usize) -> Vec<VerdictKind> {
    (0..times)
        .map(|_| world.edit(session, path).verdict.verdict)
        .collect()
}
