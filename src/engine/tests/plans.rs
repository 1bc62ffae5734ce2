use super::*;
use crate::model::{DecisionKind, EventKind, Phase, PhaseState, PlanChange, ViolationStatus};

fn enforce(w: &mut World, plan: PlanId, violated: &Invariant, response: &str) {
    let call = Enforce {
        plan: w.plan_ref(plan),
        violated: vec![violated.id.to_string()],
        response: response.into(),
    };
    w.ask(call).unwrap();
}

fn open_violation(w: &World, plan: PlanId) -> String {
    let state = w.engine.as_ref().unwrap().core().state();
    state.open_violations(plan).next().unwrap().id.to_string()
}

fn event_names(w: &mut World) -> Vec<&'static str> {
    let events = w
        .ask(Events {
            since: 0,
            limit: 10_000,
        })
        .unwrap();
    events.iter().map(|e| e.kind.name()).collect()
}

fn plan_changes(w: &mut World) -> Vec<PlanChange> {
    let all = Events {
        since: 0,
        limit: 10_000,
    };
    let events = w.ask(all).unwrap().into_iter();
    let changes = events.filter_map(|event| match event.kind {
        EventKind::PlanChanged { change, .. } => Some(change),
        _ => None,
    });
    changes.collect()
}

#[test]
fn what_cannot_be_reconciled_blocks_by_a_fault_until_it_can() {
    let mut w = World::new();
    let plan = w.use_plan("local/work").id;
    let transition = Transition::StartStrategize;
    fs::write(w.root.join("invar.toml"), "[[invariants]]\nno = 1\n").unwrap();
    w.transition(plan, transition).unwrap_err();
    let blocked = w.plan(plan);
    assert_eq!(blocked.state, PhaseState::Blocked);
    let fault = blocked.fault.unwrap();
    assert!(
        fault.starts_with("not all invariants can be loaded: ") && fault.contains("unknown field"),
        "{fault}"
    );
    assert_eq!(
        plan_changes(&mut w),
        [PlanChange::Blocked { transition }],
        "and not as one that may go on"
    );
    fs::write(w.root.join("invar.toml"), "").unwrap();
    w.transition(plan, transition).unwrap();
    assert_eq!(w.plan(plan).fault, None);
}

#[test]
fn a_plan_walks_through_its_phases_and_each_step_is_reconciled() {
    let mut w = World::new();
    w.add_plain(Scope::Global, "Log all changes");
    w.add_plain(project(), "log all changes");
    let plan = w.use_plan("local/work").id;
    assert_eq!(w.plan(plan).phase, Phase::Action);
    for (transition, phase, state) in [
        (
            Transition::StartStrategize,
            Phase::Strategize,
            PhaseState::Processing,
        ),
        (
            Transition::ExecutePlan,
            Phase::Execute,
            PhaseState::Processing,
        ),
        (Transition::ApplyPlan, Phase::Apply, PhaseState::Applied),
    ] {
        let result = w.transition(plan, transition).unwrap();
        assert!(result.success);
        assert_eq!(
            (result.conflicts_detected, result.conflicts_resolved),
            (1, 1)
        );
        assert_eq!(
            result.decisions[0].rationale,
            "project scope > global scope"
        );
        let now = w.plan(plan);
        assert_eq!((now.phase, now.state), (phase, state));
    }
    let names = event_names(&mut w);
    let count = |name: &str| names.iter().filter(|n| **n == name).count();
    assert_eq!(count("INVARIANT_RECONCILED"), 3);
    assert_eq!(
        count("INVARIANT_ENFORCED"),
        0,
        "the records follow from the set"
    );
    let tree = w
        .ask(Decisions {
            plan: w.plan_ref(plan),
        })
        .unwrap();
    let roots: Vec<_> = tree
        .iter()
        .filter(|n| n.decision.kind == DecisionKind::InvariantEnforced)
        .collect();
    assert_eq!(roots.len(), 3);
    assert_eq!(roots[0].enforcements.len(), 1);
    assert!(roots[0].enforcements[0].enforced);
    assert_eq!(
        tree.len(),
        6,
        "each root has the resolved conflict as its child"
    );
}

#[test]
fn phases_are_not_skipped_and_not_walked_back() {
    let mut w = World::new();
    let plan = w.use_plan("local/work").id;
    let error = w
        .transition(plan, Transition::ApplyPlan)
        .unwrap_err()
        .to_string();
    assert!(error.contains("invar plan strategize"), "{error}");
    w.transition(plan, Transition::StartStrategize).unwrap();
    w.transition(plan, Transition::ExecutePlan).unwrap();
    let error = w
        .transition(plan, Transition::StartStrategize)
        .unwrap_err()
        .to_string();
    assert!(error.contains("does not go back"), "{error}");
    w.transition(plan, Transition::ApplyPlan).unwrap();
    let error = w
        .transition(plan, Transition::ApplyPlan)
        .unwrap_err()
        .to_string();
    assert!(error.contains("is over"), "{error}");
}

#[test]
fn an_open_violation_blocks_until_it_is_corrected() {
    let mut w = World::new();
    let rule = w.add_plain(Scope::Global, "All API changes need tests");
    let plan = w.use_plan("local/work").id;
    w.transition(plan, Transition::StartStrategize).unwrap();
    enforce(&mut w, plan, &rule, "no test for /login");
    w.restart();
    let error = w.transition(plan, Transition::ExecutePlan).unwrap_err();
    let ErrorKind::Blocked(block) = &error.kind else {
        panic!("{error}")
    };
    assert_eq!(block.violated_ids, [rule.id]);
    assert!(block.reasons[0].contains("no test for /login"), "{error}");
    let blocked = w.plan(plan);
    assert_eq!(
        (blocked.phase, blocked.state),
        (Phase::Strategize, PhaseState::Blocked)
    );
    assert_eq!(blocked.blocked, Some(Transition::ExecutePlan));

    let violation = open_violation(&w, plan);
    let waive = Some("the endpoint is internal".to_owned());
    w.ask(Resolve { violation, waive }).unwrap();
    assert_eq!(
        w.plan(plan).state,
        PhaseState::Queued,
        "reconciled again by itself"
    );
    assert!(event_names(&mut w).contains(&"CORRECTION_APPLIED"));
    let changes = plan_changes(&mut w);
    assert_eq!(
        changes.last(),
        Some(&PlanChange::Unblocked {
            transition: Transition::ExecutePlan
        })
    );
    w.transition(plan, Transition::ExecutePlan).unwrap();
    assert_eq!(w.plan(plan).phase, Phase::Execute);
    assert_eq!(w.plan(plan).blocked, None);
}

#[test]
fn removing_the_violated_invariant_is_a_correction() {
    let mut w = World::new();
    let rule = w.add_plain(Scope::Global, "All API changes need tests");
    let plan = w.use_plan("local/work").id;
    enforce(&mut w, plan, &rule, "none");
    w.transition(plan, Transition::StartStrategize).unwrap_err();
    w.ask(Remove {
        id: rule.id.to_string(),
    })
    .unwrap();
    let state = w.engine.as_ref().unwrap().core().state();
    let violation = state.violations.values().next().unwrap();
    assert!(matches!(
        violation.status,
        ViolationStatus::Corrected { .. }
    ));
    w.transition(plan, Transition::StartStrategize).unwrap();
}

#[test]
fn a_non_overridable_invariant_is_never_waived() {
    let mut w = World::new();
    let mut new = NewInvariant::plain(Scope::Global, "Never delete production data");
    new.non_overridable = true;
    let rule = w.add(new);
    let plan = w.use_plan("local/work").id;
    enforce(&mut w, plan, &rule, "dropped a table");
    let violation = open_violation(&w, plan);
    let waive = Some("please".to_owned());
    let error = w
        .ask(Resolve {
            violation: violation.clone(),
            waive,
        })
        .unwrap_err()
        .to_string();
    assert!(error.contains("nobody may waive"), "{error}");
    w.ask(Resolve {
        violation,
        waive: None,
    })
    .unwrap();
}

#[test]
fn an_invariant_that_cannot_be_read_blocks_and_is_named() {
    let mut w = World::new();
    let rule = w.add_plain(Scope::Global, "All API changes need tests");
    let plan = w.use_plan("local/work").id;
    w.engine = None;
    crate::store::testing::damage_invariant(&w.locations.store, rule.id).unwrap();
    w.restart();
    let error = w.transition(plan, Transition::StartStrategize).unwrap_err();
    let ErrorKind::InvariantLoad { faults } = &error.kind else {
        panic!("{error}")
    };
    let key: String = rule
        .id
        .to_bytes()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert!(faults[0].contains(&key), "{error}");
    assert_eq!(w.plan(plan).state, PhaseState::Blocked);
    let reply = w.edit("s", "src/a.rs");
    assert_eq!(reply.verdict.verdict, VerdictKind::Deny);
    assert!(
        reply.verdict.reason.contains(&key),
        "{}",
        reply.verdict.reason
    );
}

#[test]
fn a_reconciliation_that_takes_too_long_blocks() {
    let mut w = World::new();
    w.add_plain(Scope::Global, "All API changes need tests");
    let plan = w.use_plan("local/work").id;
    w.config.engine.reconcile_seconds = 0;
    w.restart();
    let error = w.transition(plan, Transition::StartStrategize).unwrap_err();
    assert!(
        matches!(error.kind, ErrorKind::ReconciliationTimeout { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("reconcile_seconds"), "{error}");
    w.config.engine.reconcile_seconds = 30;
    w.restart();
    w.transition(plan, Transition::StartStrategize).unwrap();
}

#[test]
fn a_warning_does_not_block() {
    let mut w = World::new();
    let mut new = NewInvariant::plain(Scope::Global, "Prefer small commits");
    new.severity = crate::model::Severity::Warning;
    let rule = w.add(new);
    let plan = w.use_plan("local/work").id;
    enforce(&mut w, plan, &rule, "a big one");
    w.transition(plan, Transition::StartStrategize).unwrap();
}

#[test]
fn a_layer_that_nobody_answers_for_keeps_the_plan_from_starting() {
    let mut w = World::new();
    let plan = w.use_plan("local/work").id;
    let mut new = NewInvariant::plain(Scope::Plan(plan), "Changes stay minimal.");
    new.layer = crate::model::Layer::Judgment {
        checkpoint: crate::model::Checkpoint::EachEdit,
    };
    let rule = w.add(new);
    let error = w.transition(plan, Transition::StartStrategize).unwrap_err();
    assert!(matches!(&error.kind, ErrorKind::Blocked(block) if block.violated_ids == [rule.id]));
    assert!(
        error.to_string().contains("no judge is configured"),
        "{error}"
    );
}

#[test]
fn an_actions_invariants_are_promoted_with_their_parameters_bound() {
    let mut w = World::new();
    let action = Scope::Action("local/fix".parse().unwrap());
    w.untouched(action.clone(), "{failing_test}");
    w.add_plain(action.clone(), "Minimum 80% coverage");
    let error = w
        .use_plan_with("local/fix", &[], None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("--set failing_test="), "{error}");
    let plan = w
        .use_plan_with("local/fix", &[("failing_test", "tests/t.py")], None)
        .unwrap();
    let set = w.effective(plan.id);
    let origins: Vec<_> = set
        .invariants
        .iter()
        .map(|i| i.origin.to_string())
        .collect();
    assert_eq!(origins, ["promoted from action local/fix"; 2]);
    assert_eq!(set.invariants[0].text, "tests/t.py is untouched");
    assert_eq!(
        set.conflicts_resolved.len(),
        2,
        "the templates are shadowed by their copies"
    );
    w.add_plain(action, "added later");
    let set = w.effective(plan.id);
    let last = set.invariants.last().unwrap();
    assert_eq!(
        (last.text.as_str(), last.scope.kind().as_str()),
        ("added later", "action")
    );
}

#[test]
fn a_child_plan_inherits_what_is_in_force_in_its_parent() {
    let mut w = World::new();
    let parent = w.use_plan("local/work").id;
    w.add_plain(Scope::Plan(parent), "Use Python 3.13 only");
    w.add_plain(Scope::Global, "Log all changes");
    let child = w.use_plan_with("local/other", &[], Some(parent)).unwrap();
    assert_eq!(child.parent, Some(parent));
    let set = w.effective(child.id);
    let texts: Vec<_> = set.invariants.iter().map(|i| i.text.as_str()).collect();
    assert_eq!(texts, ["Use Python 3.13 only", "Log all changes"]);
}

#[test]
fn the_at_sign_is_the_current_plan_of_the_directory() {
    let mut w = World::new();
    let at = PlanRef {
        text: "@".into(),
        cwd: w.root.join("src"),
    };
    let error = w
        .ask(PlanShow { plan: at.clone() })
        .unwrap_err()
        .to_string();
    assert!(error.contains("invar plan use"), "{error}");
    w.use_plan("local/one");
    let two = w.use_plan("local/two");
    let plan = w.ask(PlanShow { plan: at }).unwrap();
    assert_eq!(plan.id, two.id);
}

#[test]
fn the_log_tells_the_whole_story_and_verifies() {
    let mut w = World::new();
    let plan = w.use_plan("local/work").id;
    w.transition(plan, Transition::StartStrategize).unwrap();
    let report = w.ask(LogVerify { against: None }).unwrap();
    assert_eq!(report.first_fault, None);
    let events = w
        .ask(Events {
            since: 0,
            limit: 100,
        })
        .unwrap();
    assert_eq!(report.verified, events.len() as u64);
    assert!(matches!(events[0].kind, EventKind::PlanCreated { .. }));
    assert!(events.iter().zip(1..).all(|(e, n)| e.seq == n));
}

#[test]
fn a_set_in_force_is_written_out_once_however_often_it_is_met() {
    let mut w = World::new();
    w.add_plain(Scope::Global, "Log all changes");
    let rule = w.untouched(Scope::Global, "tests/**");
    let plan = w.use_plan("local/work").id;
    w.transition(plan, Transition::StartStrategize).unwrap();
    w.restart();
    w.transition(plan, Transition::ExecutePlan).unwrap();
    enforce(&mut w, plan, &rule, "a test was changed");
    w.ask(Remove {
        id: rule.id.to_string(),
    })
    .unwrap();
    w.transition(plan, Transition::ApplyPlan).unwrap();
    let all = Events {
        since: 0,
        limit: 10_000,
    };
    let sets: Vec<(String, Option<usize>)> = w
        .ask(all)
        .unwrap()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::InvariantReconciled { set, in_force, .. } => {
                Some((set.unwrap(), in_force.map(|set| set.each().len())))
            }
            _ => None,
        })
        .collect();
    let written: Vec<Option<usize>> = sets.iter().map(|(_, written)| *written).collect();
    assert_eq!(written, [Some(2), None, None, Some(1)]);
    assert_eq!(sets[0].0, sets[2].0);
    assert_ne!(sets[0].0, sets[3].0);
    // Which of it is violated is said by each reconciliation.
    let plan = w.plan_ref(plan);
    let nodes = w.ask(Decisions { plan }).unwrap();
    let records = |at: usize| {
        let records = nodes[at].enforcements.iter();
        let told = records.map(|r| (r.invariant_id == rule.id, r.enforced));
        told.collect::<Vec<_>>()
    };
    assert_eq!(records(1), [(false, true), (true, true)]);
    assert_eq!(records(2), [(false, true), (true, false)]);
    assert_eq!(records(3), [(false, true)]);
}

#[test]
fn looking_around_does_not_make_a_plan_execute() {
    let mut w = World::new();
    w.untouched(project(), "tests/t.py");
    w.hook("s", HookEvent::SessionStart);
    let bash = |w: &mut World, command: &str| {
        let attempt = Attempt {
            tool: "Bash".into(),
            cwd: w.root.clone(),
            effects: vec![Effect::Opaque {
                command: command.into(),
                language: None,
            }],
            may_write: true,
            ..Attempt::default()
        };
        let reply = w.hook("s", HookEvent::Attempt(attempt));
        assert!(reply.verdict.lets_through(), "{reply:?}");
        w.plan(reply.plan_id.unwrap()).phase
    };
    assert_eq!(
        bash(&mut w, "git status && rg -n x src | head"),
        Phase::Strategize
    );
    assert_eq!(bash(&mut w, "make"), Phase::Execute);
}
