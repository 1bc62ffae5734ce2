//! A store as it is after years of work: many sessions that ended, each with a plan that is over,
//! and a log of everything.
//!
//! Nothing is written by hand but the events: which rows a store keeps of an event is what
//! [`State::apply`] says, as in an engine.

use std::path::Path;

use invar::{
    engine::State,
    model::{
        Attempt, Breach, Decision, DecisionId, DecisionKind, Effect, Event, EventKind, InForce,
        Invariant, InvariantId, Layer, LetterCheck, Phase, PhaseState, Plan, PlanChange, PlanId,
        ProjectName, Remedy, Running, Scope, Session, Severity, Signature, Transition, Verdict,
        VerdictKind, Violation, ViolationId, ViolationStatus,
    },
    store::{Batch, Store},
};
use jiff::{SignedDuration, Timestamp};
use ulid::Ulid;

/// How much has happened.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub sessions: usize,
    /// Events of one session, all told.
    pub events: usize,
    pub invariants: usize,
}

/// What docs/performance.md measures on: a million events.
pub const YEARS: Size = Size {
    sessions: 10_000,
    events: 100,
    invariants: 1_000,
};

/// Events of one transaction; a commit is an fsync.
const BATCH: usize = 10_000;

/// Invariants of one scope: the global ones, and those of each project.
const EACH: usize = 10;

/// The name of a project's folder, from which its name follows.
pub fn folder(project: usize) -> String {
    format!("app-{project}")
}

/// Writes the store of that size at `path`; returns how many events it has.
pub fn write(path: &Path, size: Size) -> u64 {
    let mut history = History {
        store: Store::open(path).unwrap(),
        state: State::default(),
        batch: Batch::default(),
        now: "2026-01-05T08:00:00Z".parse().unwrap(),
        ids: 0,
        invariants: Vec::new(),
    };
    for number in 0..size.invariants {
        history.invariant(number);
    }
    let projects = (size.invariants / EACH).saturating_sub(1).max(1);
    for number in 0..size.sessions {
        history.session(number, number % projects, size.events);
    }
    history.commit();
    history.state.seq
}

struct History {
    store: Store,
    state: State,
    batch: Batch,
    now: Timestamp,
    ids: u128,
    invariants: Vec<Invariant>,
}

/// Where a session stands.
struct At {
    project: usize,
    session: Session,
    plan: Plan,
    in_force: Vec<Invariant>,
}

impl History {
    fn id(&mut self) -> Ulid {
        self.ids += 1;
        let milliseconds = u64::try_from(self.now.as_millisecond()).unwrap();
        Ulid::from_parts(milliseconds, self.ids)
    }

    fn emit(&mut self, kind: EventKind) {
        self.now += SignedDuration::from_millis(700);
        let event = Event {
            seq: self.state.seq + 1,
            at: self.now,
            kind,
        };
        self.batch.rows.extend(self.state.apply(&event));
        self.batch.events.push(event);
        if self.batch.events.len() == BATCH {
            self.commit();
        }
    }

    fn commit(&mut self) {
        self.store.commit(&std::mem::take(&mut self.batch)).unwrap();
    }

    /// Ten are global and ten belong to each project; half of them have a machine check.
    fn invariant(&mut self, number: usize) {
        let scope = match number / EACH {
            0 => Scope::Global,
            project => Scope::Project(name(project - 1)),
        };
        let (layer, text) = match number % 2 {
            0 => (
                Layer::Plain,
                format!("Module {number} keeps its public interface as it is"),
            ),
            _ => {
                let check = LetterCheck::Untouched(format!("packages/p{number}/tests/**/*.py"));
                let text = check.sentence();
                (Layer::Letter(check), text)
            }
        };
        let id = InvariantId(self.id());
        let invariant = Invariant::new(id, scope, layer, &text, self.now);
        self.invariants.push(invariant.clone());
        self.emit(EventKind::InvariantAdded {
            invariant,
            journal: None,
        });
    }

    /// A session from its start to its end, with a plan of its own.
    fn session(&mut self, number: usize, project: usize, events: usize) {
        let first = self.state.seq;
        let mut at = self.begin(number, project);
        self.gate(&mut at, Transition::StartStrategize);
        self.emit(EventKind::SessionStarted {
            session: at.session.clone(),
        });
        at.session.told = Some("5d1f0c9a7be34c21".to_owned());
        self.emit(EventKind::SessionChanged {
            session: at.session.clone(),
        });
        self.gate(&mut at, Transition::ExecutePlan);
        self.breaches(&at);
        self.violations(&at);
        // The end takes two.
        let last = first + events as u64 - 2;
        let mut n = 0;
        while self.state.seq < last {
            n += 1;
            match n % 5 {
                0 if self.state.seq + 1 < last => self.command(&at, n),
                _ => self.edit(&at, n, Verdict::allow()),
            }
        }
        at.session.ended_at = Some(self.now);
        self.emit(EventKind::SessionEnded {
            session: at.session,
        });
        at.plan.state = PhaseState::Complete;
        self.plan(at.plan, PlanChange::Completed);
    }

    fn begin(&mut self, number: usize, project: usize) -> At {
        let plan = Plan {
            id: PlanId(self.id()),
            project: name(project),
            action: None,
            parent: None,
            params: Default::default(),
            phase: Phase::Action,
            state: PhaseState::Queued,
            created_at: self.now,
            updated_at: self.now,
            entered: Default::default(),
            automatic: true,
            agent: Some("claude-code".to_owned()),
            blocked: None,
            violated_ids: Vec::new(),
            fault: None,
            halt_reason: None,
            halted_by: Vec::new(),
            resume_to: None,
        };
        let session = Session {
            agent: "claude-code".to_owned(),
            session: format!("5b0c7a16-93de-4f0a-8a64-{number:012}"),
            plan: plan.id,
            project: name(project),
            root: Path::new("/home/mira").join(folder(project)),
            started_at: self.now,
            pid: Some(4_000_000),
            ended_at: None,
            hooked: true,
            running: Vec::<Running>::new(),
            parent: None,
            told: None,
        };
        let of_project = EACH * (project + 1);
        let in_force = [0..EACH, of_project..of_project + EACH]
            .into_iter()
            .flat_map(|range| self.invariants.get(range).unwrap_or_default())
            .cloned()
            .collect();
        self.emit(EventKind::PlanCreated { plan: plan.clone() });
        At {
            project,
            session,
            plan,
            in_force,
        }
    }

    fn plan(&mut self, mut plan: Plan, change: PlanChange) {
        plan.updated_at = self.now;
        self.emit(EventKind::PlanChanged { plan, change });
    }

    /// A reconciliation that succeeds, and the phase behind it.
    fn gate(&mut self, at: &mut At, transition: Transition) {
        // As in an engine, a set is written out the first time that the store meets it.
        let set = format!("{:032x}", at.project);
        let is_new = !self.state.sets.contains(&set);
        let in_force = is_new.then(|| InForce::of(at.in_force.iter()));
        let decision = Decision {
            id: DecisionId(self.id()),
            plan_id: at.plan.id,
            parent: None,
            kind: DecisionKind::InvariantEnforced,
            at: self.now,
            summary: format!(
                "{}: {} in force, all hold",
                transition.verb(),
                at.in_force.len()
            ),
            invariant_ids: Vec::new(),
            set: None,
        };
        self.emit(EventKind::InvariantReconciled {
            plan_id: at.plan.id,
            transition: Some(transition),
            success: true,
            effective: at.in_force.len(),
            conflicts_detected: 0,
            conflicts_resolved: 0,
            decisions: vec![decision],
            violated_ids: Vec::new(),
            set: Some(set),
            in_force,
        });
        let phase = transition.target();
        at.plan.phase = phase;
        at.plan.state = PhaseState::Processing;
        at.plan.entered.insert(phase, self.now);
        self.plan(at.plan.clone(), PlanChange::Entered { phase });
    }

    fn edit(&mut self, at: &At, n: usize, verdict: Verdict) {
        let path = at.session.root.join(format!("src/part{}/f{n}.rs", n % 7));
        let attempt = Attempt {
            tool: "Edit".to_owned(),
            cwd: at.session.root.clone(),
            effects: vec![Effect::Change { path }],
            call: Some(format!("toolu_{:020}", self.state.seq)),
            nonce: Some(format!("{}-{}", 4_000_000 + n, self.now.as_nanosecond())),
            ..Attempt::default()
        };
        self.attempted(at, attempt, verdict);
    }

    /// A command that may write, and its end.
    fn command(&mut self, at: &At, n: usize) {
        let call = Some(format!("toolu_{:020}", self.state.seq));
        let command = format!("sed -i 's/<= n/< n/' src/part{}/f.rs && pytest -q", n % 7);
        let attempt = Attempt {
            tool: "Bash".to_owned(),
            cwd: at.session.root.clone(),
            effects: vec![Effect::Opaque {
                command,
                language: None,
            }],
            call: call.clone(),
            may_write: true,
            nonce: Some(format!("{}-{}", 4_000_000 + n, self.now.as_nanosecond())),
            ..Attempt::default()
        };
        self.attempted(at, attempt, Verdict::allow());
        self.emit(EventKind::CommandEnded {
            plan_id: at.plan.id,
            agent: at.session.agent.clone(),
            session: at.session.session.clone(),
            call,
        });
    }

    fn attempted(&mut self, at: &At, attempt: Attempt, verdict: Verdict) {
        self.emit(EventKind::Attempted {
            plan_id: at.plan.id,
            agent: at.session.agent.clone(),
            session: at.session.session.clone(),
            attempt,
            verdict,
        });
    }

    /// Three attempts that are refused; each is a strike of its own.
    fn breaches(&mut self, at: &At) {
        for n in 0..3 {
            let path = format!("packages/p1/tests/test_{n}.py");
            let verdict = refused(breach(at, &path));
            self.edit(at, n, verdict);
        }
    }

    /// Two changes found after a command: violations that were corrected.
    fn violations(&mut self, at: &At) {
        let paths = ["packages/p3/tests/a.py", "packages/p3/tests/b.py"];
        let mut verdict = refused(breach(at, paths[0]));
        verdict.breaches.push(breach(at, paths[1]));
        self.emit(EventKind::ChangeFound {
            plan_id: at.plan.id,
            agent: at.session.agent.clone(),
            session: at.session.session.clone(),
            command: "pytest -q".to_owned(),
            verdict,
        });
        for path in paths {
            let invariant = guarded(at);
            let mut violation = Violation {
                id: ViolationId(self.id()),
                plan_id: at.plan.id,
                invariant_id: invariant.id,
                violated_text: invariant.text.clone(),
                severity: Severity::Error,
                details: format!("{path} was changed by `pytest -q`"),
                at: self.now,
                status: ViolationStatus::Open,
                found: None,
            };
            self.emit(EventKind::InvariantViolated {
                plan_id: at.plan.id,
                violation: violation.clone(),
            });
            violation.status = ViolationStatus::Corrected {
                resolved_at: self.now,
                by: "the file was put back".to_owned(),
            };
            self.emit(EventKind::CorrectionApplied {
                plan_id: at.plan.id,
                violation,
            });
        }
    }
}

fn name(project: usize) -> ProjectName {
    format!("local/{}", folder(project)).parse().unwrap()
}

/// An invariant with a machine check that is in force.
fn guarded(at: &At) -> &Invariant {
    let mut all = at.in_force.iter();
    all.find(|i| i.layer.letter().is_some()).unwrap()
}

fn breach(at: &At, path: &str) -> Breach {
    let invariant = guarded(at);
    Breach {
        invariant_id: invariant.id,
        text: invariant.text.clone(),
        scope: invariant.scope.clone(),
        severity: Severity::Error,
        remedy: Remedy::Inform,
        signature: Signature::of_path(path),
        path: path.to_owned(),
        allowed: "any file but those".to_owned(),
        why: None,
        strike: 1,
        limit: Some(3),
    }
}

fn refused(breach: Breach) -> Verdict {
    Verdict {
        verdict: VerdictKind::Deny,
        reason: format!(
            "invar denied this Edit: {} is guarded by \"{}\"; you may change {} instead. This is strike 1 of 3.",
            breach.path, breach.text, breach.allowed
        ),
        breaches: vec![breach],
    }
}
