//! Nothing is answered or shown before it is durable, whatever the disk does; and the events of
//! the store say all that the store holds.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;

use super::*;
use crate::{
    ask::{Ask, Outcome},
    journal::Journal,
    model::{
        Action, ActionName, Assent, AssentId, DayCost, Event, EventKind, InvariantId,
        InvariantPatch, JudgeReading, JudgedAction, Project, ProjectName, Session, Strike,
        Violation, ViolationId,
    },
    requests::{
        ActionAdd, ActionRemove, AssentAnswer, Edit, Enforce, Events, Ping, PlanCancel, PlanList,
        PlanResume, ProjectBind, Redo, Remove, Resolve, Restore, Ruling, TakeSnapshot, Undo,
    },
    state::State,
};
use invar_store::{Faults, Store};

impl World {
    /// A world whose disk fails when the test says so.
    fn on(faults: &Faults) -> Self {
        let mut world = Self::new();
        world.engine = None;
        let store = Store::open_on(&world.locations.store, faults).unwrap();
        world.engine = Some(Engine::over(store, &world.locations, &world.config).unwrap());
        world
    }

    fn run(&mut self, calls: Vec<Call>) -> (Vec<Result<Reply, EngineError>>, Vec<Event>) {
        let engine = self.engine.as_mut().unwrap();
        let disk = Arc::clone(engine.disk());
        // As if so many asked at the same time, each with what it had found out.
        let mut asked: Vec<Ask> = calls
            .into_iter()
            .map(|call| Ask {
                facts: Arc::new(disk.facts(&call).unwrap()),
                call: Arc::new(call),
            })
            .collect();
        let (outcomes, mut events) = engine.run(asked.clone());
        let mut answers = Vec::new();
        for (mut outcome, ask) in outcomes.into_iter().zip(&mut asked) {
            let answer = loop {
                match outcome {
                    Outcome::Done(answer, _) => break answer,
                    Outcome::Aside(read) => break (read.0)(),
                    Outcome::Needs(need) => {
                        disk.supply(need, &ask.call, Arc::make_mut(&mut ask.facts))
                            .unwrap();
                        let (mut again, more) = engine.run(vec![ask.clone()]);
                        events.extend(more);
                        outcome = again.remove(0);
                    }
                }
            };
            answers.push(answer);
        }
        (answers, events)
    }

    fn stored(&self) -> Vec<Event> {
        let store = self.engine.as_ref().unwrap().store();
        store.events(0, usize::MAX).unwrap()
    }
}

fn add(text: &str, world: &World) -> Call {
    Call::from(Add {
        invariant: NewInvariant::plain(Scope::Global, text),
        cwd: world.root.clone(),
        plan: None,
    })
}

fn events() -> Call {
    Call::from(Events {
        since: 0,
        limit: 1000,
    })
}

#[test]
fn a_failed_write_before_a_read_fails_all_that_stood_on_it() {
    let faults = Faults::default();
    let mut w = World::on(&faults);
    w.add_plain(Scope::Global, "before");
    faults.refuse_writes_after(0);
    let calls = vec![
        add("first", &w),
        Call::from(PlanList {}),
        events(),
        add("second", &w),
    ];
    let (answers, events) = w.run(calls);
    assert!(
        answers
            .iter()
            .all(|a| matches!(a, Err(error) if error.kind == ErrorKind::Store)),
        "{answers:?}"
    );
    assert_eq!(events, []);
    faults.mend();
    w.add_plain(Scope::Global, "after");
    let state = w.engine.as_ref().unwrap().core().state();
    let texts: Vec<_> = state
        .invariants
        .values()
        .map(|k| &k.invariant.text)
        .collect();
    assert_eq!(texts, ["before", "after"]);
    assert_eq!(w.stored().len(), 2);
}

#[test]
fn what_was_written_before_the_failure_keeps_its_answer() {
    let faults = Faults::default();
    let mut w = World::on(&faults);
    let (answers, _) = w.run(vec![add("first", &w), events()]);
    assert!(answers.iter().all(Result::is_ok));
    faults.refuse_writes_after(0);
    let (answers, shown) = w.run(vec![events(), Call::from(Ping {}), add("second", &w)]);
    assert!(answers[0].is_ok() && answers[1].is_ok());
    assert!(answers[2].is_err());
    assert_eq!(shown, []);
}

#[test]
fn an_allowed_attempt_that_waits_takes_no_durable_call_down_in_silence() {
    let faults = Faults::default();
    let mut w = World::on(&faults);
    w.hook("s", HookEvent::SessionStart);
    w.edit("s", "src/a.rs");
    let attempt = |w: &World| {
        let attempt = w.attempt_on("src/a.rs");
        let what = HookEvent::Attempt(attempt);
        Call::from(HookCall::new("claude-code", "s", &w.root, what))
    };
    let (answers, events) = w.run(vec![attempt(&w)]);
    assert!(answers[0].is_ok() && events.is_empty(), "it waits");
    faults.refuse_writes_after(0);
    let (answers, events) = w.run(vec![attempt(&w), add("durable", &w)]);
    assert!(answers.iter().all(Result::is_err), "{answers:?}");
    assert_eq!(events, []);
}

#[test]
fn a_snapshot_holds_durable_events_only() {
    let faults = Faults::default();
    let mut w = World::on(&faults);
    w.hook("s", HookEvent::SessionStart);
    w.edit("s", "src/a.rs");
    let durable = w.stored().last().unwrap().seq;
    let attempt = HookEvent::Attempt(w.attempt_on("src/a.rs"));
    let call = Call::from(HookCall::new("claude-code", "s", &w.root, attempt));
    w.run(vec![call]);
    let engine = w.engine.as_mut().unwrap();
    assert!(engine.has_pending());
    faults.refuse_everything();
    assert!(engine.snapshot().is_err());
    let (answers, _) = w.run(vec![Call::from(TakeSnapshot {})]);
    assert!(answers[0].is_err());
    faults.mend();
    let snapshot = w.engine.as_mut().unwrap().snapshot().unwrap();
    assert_eq!(snapshot.seq, durable, "what was lost has no number");
    // A mirror of that snapshot follows.
    let mut mirror = State::from_snapshot(*snapshot);
    let (answers, events) = w.run(vec![add("next", &w)]);
    assert!(answers[0].is_ok());
    events.iter().for_each(|e| drop(mirror.apply(e)));
    assert_eq!(mirror.seq, durable + 1);
    assert_eq!(mirror.invariants.len(), 1);
}

#[test]
fn an_engine_heals_as_soon_as_the_disk_works_again() {
    let faults = Faults::default();
    let mut w = World::on(&faults);
    w.engine.as_mut().unwrap().recall().unwrap();
    w.untouched(Scope::Global, "tests/**");
    assert!(!w.edit("s", "tests/t.py").verdict.lets_through());
    let breaches = w.engine.as_ref().unwrap().core().state().breaches;
    faults.refuse_everything();
    for _ in 0..3 {
        let (answers, _) = w.run(vec![add("lost", &w), Call::from(PlanList {})]);
        assert!(answers.iter().all(Result::is_err), "{answers:?}");
    }
    faults.mend();
    w.add_plain(Scope::Global, "kept");
    let state = w.engine.as_ref().unwrap().core().state();
    assert_eq!(state.invariants.len(), 2);
    assert_eq!(state.breaches, breaches, "the count goes on");
    assert!(!state.recent.is_empty(), "what happened is still shown");
}

#[test]
fn an_attempt_whose_record_was_lost_is_counted_when_it_comes_again() {
    let faults = Faults::default();
    let mut w = World::on(&faults);
    w.untouched(Scope::Global, "tests/**");
    w.hook("s", HookEvent::SessionStart);
    let mut attempt = w.attempt_on("tests/t.py");
    attempt.nonce = Some("one".into());
    let what = HookEvent::Attempt(attempt);
    let call = Call::from(HookCall::new("claude-code", "s", &w.root, what));
    faults.refuse_writes_after(0);
    assert!(w.run(vec![call.clone()]).0[0].is_err());
    faults.mend();
    assert!(w.run(vec![call]).0[0].is_ok());
    let strikes: Vec<u32> = w
        .engine
        .as_ref()
        .unwrap()
        .core()
        .state()
        .strikes
        .values()
        .map(|s| s.count)
        .collect();
    assert_eq!(strikes, [1]);
}

/// What an engine keeps, in a form that can be compared.
#[derive(Debug, PartialEq)]
struct Form {
    seq: u64,
    invariants: BTreeMap<InvariantId, Invariant>,
    plans: BTreeMap<PlanId, Plan>,
    projects: BTreeMap<ProjectName, Project>,
    actions: BTreeMap<ActionName, Action>,
    sessions: BTreeMap<(String, String), Session>,
    strikes: Vec<Strike>,
    violations: BTreeMap<ViolationId, Violation>,
    assents: BTreeMap<AssentId, Assent>,
    judged_actions: Vec<JudgedAction>,
    journal: Journal,
    readings: Vec<JudgeReading>,
    day_costs: Vec<DayCost>,
    plans_of: BTreeMap<ActionName, u64>,
}

impl Form {
    fn of(state: &State) -> Self {
        let invariants = state.invariants.values().map(|k| k.invariant.clone());
        let sessions = state.sessions.clone();
        Self {
            seq: state.seq,
            invariants: invariants.map(|i| (i.id, i)).collect(),
            plans: state.plans.clone(),
            projects: state.projects.clone(),
            actions: state.actions.clone(),
            sessions: sessions.into_iter().collect(),
            strikes: state.strikes.values().cloned().collect(),
            violations: state.violations.clone(),
            assents: state.assents.clone(),
            judged_actions: state.judging.actions().cloned().collect(),
            journal: state.journal.clone(),
            readings: state.judging.readings().cloned().collect(),
            day_costs: state.judging.day_costs().collect(),
            plans_of: state.plans_of.clone(),
        }
    }
}

/// A call of a random history. Numbers pick among what is there.
#[derive(Debug, Clone)]
enum Op {
    Add(u8),
    Edit(u8, u8),
    Remove(u8),
    Restore(u8),
    Undo,
    Redo,
    ActionAdd(u8),
    ActionRemove(u8),
    PlanUse,
    Forward(u8),
    Cancel(u8),
    Resume(u8),
    Bind(u8),
    Start(u8),
    Attempt(u8, u8),
    Ran(u8, u8),
    End(u8),
    Enforce(u8),
    Resolve(u8, bool),
    Answer(u8, bool),
    Look,
}

fn op() -> impl Strategy<Value = Op> {
    let n = any::<u8>;
    prop_oneof![
        4 => n().prop_map(Op::Add),
        2 => (n(), n()).prop_map(|(a, b)| Op::Edit(a, b)),
        1 => n().prop_map(Op::Remove),
        1 => n().prop_map(Op::Restore),
        1 => Just(Op::Undo),
        1 => Just(Op::Redo),
        1 => n().prop_map(Op::ActionAdd),
        1 => n().prop_map(Op::ActionRemove),
        2 => Just(Op::PlanUse),
        3 => n().prop_map(Op::Forward),
        1 => n().prop_map(Op::Cancel),
        2 => n().prop_map(Op::Resume),
        1 => n().prop_map(Op::Bind),
        2 => n().prop_map(Op::Start),
        8 => (n(), n()).prop_map(|(a, b)| Op::Attempt(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| Op::Ran(a, b)),
        2 => n().prop_map(Op::End),
        2 => n().prop_map(Op::Enforce),
        2 => (n(), any::<bool>()).prop_map(|(a, b)| Op::Resolve(a, b)),
        2 => (n(), any::<bool>()).prop_map(|(a, b)| Op::Answer(a, b)),
        1 => Just(Op::Look),
    ]
}

/// What the disk does during one batch.
#[derive(Debug, Clone)]
enum Disk {
    Works,
    RefusesAfter(u32),
    IsGone,
}

fn disk() -> impl Strategy<Value = Disk> {
    prop_oneof![
        5 => Just(Disk::Works),
        3 => (0..14u32).prop_map(Disk::RefusesAfter),
        1 => Just(Disk::IsGone),
    ]
}

const PATHS: [&str; 4] = ["src/a.rs", "tests/t.py", "tests/u.py", "docs/x.md"];

impl Op {
    /// The call that it stands for in the state as it is; `nonce` tells its attempt from others.
    fn call(&self, w: &World, nonce: &str) -> Call {
        let state = w.engine.as_ref().unwrap().core().state();
        let pick = |len: usize, n: u8| usize::from(n) % len.max(1);
        let invariant = |n: u8| {
            let id = state.invariants.keys().nth(pick(state.invariants.len(), n));
            id.map_or("none".to_owned(), ToString::to_string)
        };
        let plan = |n: u8| {
            let id = state.plans.keys().nth(pick(state.plans.len(), n));
            PlanRef {
                text: id.map_or("none".to_owned(), ToString::to_string),
                cwd: w.root.clone(),
            }
        };
        let violation = |n: u8| {
            let id = state.violations.keys().nth(pick(state.violations.len(), n));
            id.map_or("none".to_owned(), ToString::to_string)
        };
        let action: fn(u8) -> ActionName = |n| {
            ["local/work", "local/other"][usize::from(n % 2)]
                .parse()
                .unwrap()
        };
        let session = |n: u8| format!("s{}", n % 3);
        let hook =
            |n: u8, what| Call::from(HookCall::new("claude-code", &session(n), &w.root, what));
        let attempt = |path: u8| Attempt {
            nonce: Some(nonce.to_owned()),
            call: Some(nonce.to_owned()),
            ..w.attempt_on(PATHS[pick(PATHS.len(), path)])
        };
        match self {
            Self::Add(n) => {
                let scope = match n % 4 {
                    0 => Scope::Global,
                    1 | 2 => project(),
                    _ => Scope::Action(action(*n)),
                };
                let invariant = match (n / 4) % 4 {
                    0 => NewInvariant::plain(scope, &format!("text {n}")),
                    1 => NewInvariant::letter(scope, LetterCheck::Untouched("tests/**".into())),
                    2 => NewInvariant {
                        layer: crate::model::Layer::Assent {
                            when: vec!["docs/**".into()],
                        },
                        ..NewInvariant::plain(scope, "docs are asked about")
                    },
                    _ => NewInvariant::letter(
                        scope,
                        LetterCheck::NoEditsOutside(vec!["src/**".into(), "docs/**".into()]),
                    ),
                };
                Call::from(Add {
                    invariant,
                    cwd: w.root.clone(),
                    plan: None,
                })
            }
            Self::Edit(n, text) => Call::from(Edit {
                id: invariant(*n),
                patch: InvariantPatch {
                    text: Some(format!("edited to {text}")),
                    ..InvariantPatch::default()
                },
            }),
            Self::Remove(n) => Call::from(Remove { id: invariant(*n) }),
            Self::Restore(n) => Call::from(Restore { id: invariant(*n) }),
            Self::Undo => Call::from(Undo {
                cwd: w.root.clone(),
                project: None,
                expect: None,
            }),
            Self::Redo => Call::from(Redo {
                cwd: w.root.clone(),
                project: None,
                expect: None,
            }),
            Self::ActionAdd(n) => Call::from(ActionAdd { name: action(*n) }),
            Self::ActionRemove(n) => Call::from(ActionRemove { name: action(*n) }),
            Self::PlanUse => Call::from(PlanUse {
                action: action(0),
                project: "local/my-app".parse().unwrap(),
                params: BTreeMap::new(),
                parent: None,
            }),
            Self::Forward(n) => {
                let plan = plan(*n);
                let phase = state
                    .plans
                    .values()
                    .nth(pick(state.plans.len(), *n))
                    .map(|p| p.phase);
                let next = phase.and_then(Transition::after);
                Call::from(PlanTransition {
                    plan,
                    transition: next.unwrap_or(Transition::ApplyPlan),
                })
            }
            Self::Cancel(n) => Call::from(PlanCancel { plan: plan(*n) }),
            Self::Resume(n) => Call::from(PlanResume { plan: plan(*n) }),
            Self::Bind(n) => Call::from(ProjectBind {
                name: ["local/my-app", "local/second"][usize::from(n % 2)]
                    .parse()
                    .unwrap(),
                root: w.root.clone(),
            }),
            Self::Start(n) => hook(*n, HookEvent::SessionStart),
            Self::Attempt(n, path) => hook(*n, HookEvent::Attempt(attempt(*path))),
            Self::Ran(n, path) => hook(*n, HookEvent::Ran(attempt(*path))),
            Self::End(n) => hook(*n, HookEvent::SessionEnd),
            Self::Enforce(n) => Call::from(Enforce {
                plan: plan(*n),
                violated: vec![invariant(*n)],
                response: format!("found by {n}"),
            }),
            Self::Resolve(n, waive) => Call::from(Resolve {
                violation: violation(*n),
                waive: waive.then(|| "accepted".to_owned()),
            }),
            Self::Answer(n, yes) => {
                let id = state.assents.keys().nth(pick(state.assents.len(), *n));
                Call::from(AssentAnswer {
                    id: id.map_or("none".to_owned(), ToString::to_string),
                    by: "me".into(),
                    answer: match yes {
                        true => Ruling::Approve { for_plan: false },
                        false => Ruling::Refuse {
                            reason: "no".into(),
                        },
                    },
                })
            }
            Self::Look => events(),
        }
    }
}

/// Whether the log has what an answer says was done.
fn is_in_log(call: &Call, reply: &Reply, log: &[Event]) -> bool {
    let has = |found: &dyn Fn(&EventKind) -> bool| log.iter().any(|e| found(&e.kind));
    let invariant_is = |kind: &EventKind, wanted: &Invariant| {
        matches!(
            kind,
            EventKind::InvariantAdded { invariant, .. }
            | EventKind::InvariantEdited { invariant, .. }
            | EventKind::InvariantRemoved { invariant, .. }
            | EventKind::InvariantRestored { invariant, .. } if invariant == wanted
        )
    };
    let plan_is = |wanted: &Plan| {
        has(&|kind| match kind {
            EventKind::PlanCreated { plan } => plan == wanted,
            // The time of the change is the engine's.
            EventKind::PlanChanged { plan, .. } => {
                let same = Plan {
                    updated_at: plan.updated_at,
                    ..wanted.clone()
                };
                *plan == same
            }
            _ => false,
        })
    };
    match (call, reply) {
        (_, Reply::Add(added)) => has(&|kind| invariant_is(kind, &added.invariant)),
        (_, Reply::Edit(i) | Reply::Remove(i) | Reply::Restore(i)) => {
            has(&|kind| invariant_is(kind, i))
        }
        (_, Reply::Undo(changed) | Reply::Redo(changed)) => {
            changed.iter().all(|i| has(&|kind| invariant_is(kind, i)))
        }
        (_, Reply::PlanUse(made)) => plan_is(&made.plan),
        (_, Reply::PlanResume(plan) | Reply::PlanCancel(plan)) => plan_is(plan),
        (_, Reply::ProjectBind(wanted)) => {
            has(&|kind| matches!(kind, EventKind::ProjectBound { project } if *project == **wanted))
        }
        (_, Reply::Resolve(wanted)) => has(
            &|kind| matches!(kind, EventKind::CorrectionApplied { violation, .. } if *violation == **wanted),
        ),
        (_, Reply::AssentAnswer(wanted)) => {
            has(&|kind| matches!(kind, EventKind::AssentChanged { assent } if *assent == **wanted))
        }
        (_, Reply::PlanTransition(result) | Reply::Enforce(result)) => has(&|kind| {
            matches!(kind, EventKind::InvariantReconciled { plan_id, transition, .. }
                if *plan_id == result.plan_id && *transition == result.transition)
        }),
        (Call::HookCall(call), Reply::HookCall(answer)) => match &call.what {
            HookEvent::Attempt(attempt) if !answer.verdict.lets_through() => has(
                &|kind| matches!(kind, EventKind::Attempted { attempt: known, .. } if known.nonce == attempt.nonce),
            ),
            _ => true,
        },
        (_, Reply::ActionAdd(summary) | Reply::ActionRemove(summary)) => has(&|kind| {
            matches!(kind, EventKind::ActionAdded { action } | EventKind::ActionRemoved { action }
                if action.name == summary.name)
        }),
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_log_the_store_and_the_engine_agree_whatever_the_disk_does(
        history in prop::collection::vec((disk(), prop::collection::vec(op(), 1..6)), 1..25),
    ) {
        let faults = Faults::default();
        let mut w = World::on(&faults);
        let mut shown: Vec<Event> = Vec::new();
        for (round, (disk, ops)) in history.iter().enumerate() {
            let nonce = |at: usize| format!("{round}.{at}");
            let calls = ops.iter().enumerate().map(|(at, op)| op.call(&w, &nonce(at)));
            let calls: Vec<Call> = calls.collect();
            match disk {
                Disk::Works => {}
                Disk::RefusesAfter(count) => faults.refuse_writes_after(*count),
                Disk::IsGone => faults.refuse_everything(),
            }
            let (answers, events) = w.run(calls.clone());
            shown.extend(events);
            faults.mend();
            // Whatever the failure left is healed by the next call.
            let (_, events) = w.run(vec![Call::from(Ping {})]);
            shown.extend(events);
            let engine = w.engine.as_mut().unwrap();
            shown.extend(engine.flush().unwrap());
            let log = w.stored();
            for (call, answer) in calls.iter().zip(&answers) {
                let Ok(reply) = answer else { continue };
                prop_assert!(is_in_log(call, reply, &log), "{call:?} was answered {reply:?}");
            }
            prop_assert_eq!(&shown, &log, "what was shown is what is stored");
            let engine = w.engine.as_ref().unwrap();
            let mut folded = State::default();
            log.iter().for_each(|event| drop(folded.apply(event)));
            let loaded = State::from_loaded(engine.store().load().unwrap());
            let own = Form::of(engine.core().state());
            prop_assert_eq!(&Form::of(&folded), &own, "the events say what the engine has");
            prop_assert_eq!(&Form::of(&loaded), &own, "the store has what the engine has");
            let mut whole = State::whole();
            let view = engine.store().view().unwrap();
            let report = view.verify(|event| whole.apply(event), None).unwrap();
            prop_assert!(report.is_whole(), "the events say every row: {report:?}");
        }
    }
}
