//! What is over leaves memory, and is found all the same.

use super::*;
use crate::{
    model::{EventKind, InvariantPatch, PhaseState, ViolationStatus},
    state::{MIRRORED, State},
};

/// How much of plans is at hand.
fn at_hand(w: &World) -> (usize, usize, usize, usize) {
    let state = w.engine.as_ref().unwrap().core().state();
    (
        state.plans.len(),
        state.sessions.len(),
        state.violations.len(),
        state.strikes.values().count(),
    )
}

/// A plan that a person made, with an invariant of its own, a strike, a violation and a session
/// that has ended, and that is then cancelled.
fn ended(w: &mut World) -> (Plan, Invariant) {
    w.untouched(Scope::Global, "tests/**");
    let plan = w.use_plan("local/work");
    let own = w.add_plain(Scope::Plan(plan.id), "of this plan alone");
    assert!(!w.edit("s", "tests/t.py").verdict.lets_through());
    w.ask(Enforce {
        plan: w.plan_ref(plan.id),
        violated: vec![own.id.to_string()],
        response: "found by hand".into(),
    })
    .unwrap();
    w.hook("s", HookEvent::SessionEnd);
    w.ask(PlanCancel {
        plan: w.plan_ref(plan.id),
    })
    .unwrap();
    (plan, own)
}

#[test]
fn what_is_over_leaves_memory_and_is_read_when_it_is_asked_for() {
    let mut w = World::new();
    let (plan, own) = ended(&mut w);
    for _ in 0..2 {
        assert_eq!(at_hand(&w), (0, 0, 0, 0));
        let of = Some(w.plan_ref(plan.id));
        let shown = w
            .ask(PlanShow {
                plan: w.plan_ref(plan.id),
            })
            .unwrap();
        assert_eq!(shown.state, PhaseState::Cancelled);
        assert_eq!(w.ask(PlanList {}).unwrap(), [shown]);
        for plan in [of.clone(), None] {
            let violations = w.ask(Violations { plan: plan.clone() }).unwrap();
            assert_eq!(violations.len(), 1);
            let strikes = w.ask(Strikes { plan: plan.clone() }).unwrap();
            assert_eq!(strikes.len(), 1);
            assert!(w.ask(Assents { plan }).unwrap().is_empty());
        }
        let nodes = w.ask(Decisions {
            plan: w.plan_ref(plan.id),
        });
        assert_eq!(nodes.unwrap()[0].enforcements.len(), 2);
        let effective = w.effective(plan.id);
        assert!(effective.invariants.iter().any(|i| i.id == own.id));
        let all = List {
            scope: None,
            plan: None,
            removed: false,
        };
        assert!(w.ask(all).unwrap().iter().any(|i| i.id == own.id));
        let of_plan = List {
            scope: None,
            plan: of,
            removed: false,
        };
        assert_eq!(w.ask(of_plan).unwrap().len(), 1);
        let id = own.id.to_string()[..20].to_owned();
        assert_eq!(w.ask(Show { id: id.clone() }).unwrap().id, own.id);
        assert_eq!(w.ask(History { id }).unwrap().len(), 1);
        // Nothing of it stays.
        assert_eq!(at_hand(&w), (0, 0, 0, 0));
        w.restart();
    }
    let error = w.transition(plan.id, Transition::StartStrategize);
    assert!(error.unwrap_err().to_string().contains("is over"));
}

#[test]
fn a_session_that_is_resumed_is_known_and_gets_a_plan_that_goes_on() {
    let mut w = World::new();
    w.edit("s", "src/a.rs");
    let state = w.engine.as_ref().unwrap().core().state();
    let before = state.sessions.values().next().unwrap().clone();
    w.hook("s", HookEvent::SessionEnd);
    assert_eq!(at_hand(&w), (0, 0, 0, 0));
    w.restart();
    // From elsewhere: the session keeps its own directory.
    let call = HookCall::new(
        "claude-code",
        "s",
        w.root.parent().unwrap(),
        HookEvent::SessionStart,
    );
    w.ask(call).unwrap();
    let engine = w.engine.as_ref().unwrap();
    let after = engine.core().state().sessions.values().next().unwrap();
    assert_eq!(after.started_at, before.started_at);
    assert_eq!(after.root, before.root);
    assert_ne!(after.plan, before.plan);
    assert!(after.is_live());
    let past = engine.store().past_session("claude-code", "s").unwrap();
    assert_eq!(past, None, "it is in one place");
}

#[test]
fn a_plan_stays_while_somebody_works_in_it() {
    let mut w = World::new();
    let plan = w.use_plan("local/work");
    w.edit("s", "src/a.rs");
    w.ask(PlanCancel {
        plan: w.plan_ref(plan.id),
    })
    .unwrap();
    let state = |w: &World| w.engine.as_ref().unwrap().core().state().plans.len();
    assert_eq!(state(&w), 1);
    w.restart();
    assert_eq!(state(&w), 1);
    w.hook("s", HookEvent::SessionEnd);
    assert_eq!(at_hand(&w), (0, 0, 0, 0));
}

#[test]
fn a_violation_of_a_plan_that_is_over_can_be_resolved() {
    let mut w = World::new();
    let (plan, _) = ended(&mut w);
    let of = Some(w.plan_ref(plan.id));
    let open = w.ask(Violations { plan: of.clone() }).unwrap();
    let violation = open[0].id.to_string();
    let waive = Some("accepted".to_owned());
    w.ask(Resolve { violation, waive }).unwrap();
    w.restart();
    let resolved = w.ask(Violations { plan: of }).unwrap();
    assert!(matches!(resolved[0].status, ViolationStatus::Waived { .. }));
    assert_eq!(at_hand(&w), (0, 0, 0, 0));
}

#[test]
fn an_invariant_of_a_plan_that_is_over_can_be_taken_over_and_back() {
    let mut w = World::new();
    let (plan, own) = ended(&mut w);
    let id = own.id.to_string();
    let patch = InvariantPatch {
        scope: Some(Scope::Global),
        ..InvariantPatch::default()
    };
    w.ask(Edit {
        id: id.clone(),
        patch,
    })
    .unwrap();
    w.restart();
    let state = w.engine.as_ref().unwrap().core().state();
    assert_eq!(state.invariants[&own.id].invariant.scope, Scope::Global);
    let store = w.engine.as_ref().unwrap().store();
    assert_eq!(store.past_invariants().unwrap(), []);
    w.undo().unwrap();
    let store = w.engine.as_ref().unwrap().store();
    let past = store.past_invariants().unwrap();
    assert_eq!(past[0].scope, Scope::Plan(plan.id));
    let state = w.engine.as_ref().unwrap().core().state();
    assert!(!state.invariants.contains_key(&own.id));
    w.redo().unwrap();
    assert_eq!(w.ask(Show { id }).unwrap().scope, Scope::Global);
}

#[test]
fn an_ended_plans_name_is_told_from_others() {
    let mut w = World::new();
    let first = w.use_plan("local/work");
    w.ask(PlanCancel {
        plan: w.plan_ref(first.id),
    })
    .unwrap();
    let second = w.use_plan("local/work");
    let shared: String = first
        .id
        .to_string()
        .chars()
        .zip(second.id.to_string().chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a)
        .collect();
    let plan = PlanRef {
        text: shared,
        cwd: w.root.clone(),
    };
    let error = w.ask(PlanShow { plan }).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::NotUnique { .. }), "{error}");
    let summary = w.ask(ActionAdd {
        name: "local/work".parse().unwrap(),
    });
    assert_eq!(summary.unwrap().plans, 2, "ended ones count");
}

#[test]
fn a_screen_still_shows_the_plans_that_ended_last() {
    let mut w = World::new();
    let mut mirror = State::from_snapshot(*w.engine.as_mut().unwrap().snapshot().unwrap());
    for _ in 0..3 {
        let plan = w.use_plan("local/work");
        w.ask(PlanCancel {
            plan: w.plan_ref(plan.id),
        })
        .unwrap();
    }
    let all = Events {
        since: 0,
        limit: 1000,
    };
    for event in w.ask(all).unwrap() {
        mirror.apply(&event);
    }
    assert_eq!(mirror.plans.len(), 3, "a mirror keeps them");
    let late = State::from_snapshot(*w.engine.as_mut().unwrap().snapshot().unwrap());
    assert_eq!(late.plans, mirror.plans, "and a new one is told of them");
    assert_eq!(at_hand(&w).0, 0);
}

#[test]
fn a_mirror_keeps_no_more_than_it_shows() {
    let mut mirror = State::from_snapshot(Snapshot::default());
    let mut w = World::new();
    let plan = w.use_plan("local/work");
    for n in 0..MIRRORED as u64 + 5 {
        let mut plan = plan.clone();
        plan.id = PlanId(ulid::Ulid::from_parts(n + 1, 1));
        let created = EventKind::PlanCreated { plan: plan.clone() };
        plan.state = PhaseState::Cancelled;
        let change = crate::model::PlanChange::Cancelled;
        let cancelled = EventKind::PlanChanged { plan, change };
        for kind in [created, cancelled] {
            mirror.apply(&crate::model::Event {
                seq: mirror.seq + 1,
                at: jiff::Timestamp::UNIX_EPOCH,
                kind,
            });
        }
    }
    assert_eq!(mirror.plans.len(), MIRRORED);
    assert!(mirror.plans.keys().all(|id| id.0.timestamp_ms() > 5));
}
