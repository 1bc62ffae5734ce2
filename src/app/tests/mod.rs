//! What the terminal program does with keys and events, without a terminal.

mod views;

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;

use super::{
    ask::{Answered, Ask},
    keymap::Key,
    model::{Effect, EngineLink, Model, Msg, Pane},
    overlay::Overlay,
    tree::Node,
    update,
};
use crate::{
    engine::{
        Call, EngineError,
        requests::{Added, Decisions, PlanTransition, Remove, Snapshot},
    },
    model::{
        Event, EventKind, Invariant, InvariantId, JournalStep, Layer, LetterCheck, Phase,
        PhaseState, Plan, PlanChange, PlanId, Scope, Transition,
    },
};

fn id(n: u64) -> ulid::Ulid {
    ulid::Ulid::from_parts(n, 1)
}

pub(crate) fn invariant(n: u64, scope: Scope, text: &str) -> Invariant {
    Invariant::new(
        InvariantId(id(n)),
        scope,
        Layer::Plain,
        text,
        Timestamp::UNIX_EPOCH,
    )
}

pub(crate) fn plan(n: u64) -> Plan {
    Plan {
        id: PlanId(id(n)),
        project: "local/my-app".parse().unwrap(),
        action: Some("local/work".parse().unwrap()),
        parent: None,
        params: Default::default(),
        phase: Phase::Strategize,
        state: PhaseState::Processing,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        entered: [(Phase::Strategize, Timestamp::UNIX_EPOCH)].into(),
        automatic: false,
        agent: Some("claude-code".into()),
        blocked: None,
        violated_ids: Vec::new(),
        fault: None,
        halt_reason: None,
        halted_by: Vec::new(),
        resume_to: None,
    }
}

fn snapshot(invariants: Vec<Invariant>, plans: Vec<Plan>) -> Snapshot {
    Snapshot {
        seq: 10,
        invariants,
        plans,
        ..Snapshot::default()
    }
}

fn model(invariants: Vec<Invariant>, plans: Vec<Plan>) -> Model {
    let mut model = Model::new(Some("local/my-app".parse().unwrap()), None);
    // The size comes first, before there is anything to show.
    update(&mut model, Msg::Resize(100, 30));
    let snapshot = Box::new(snapshot(invariants, plans));
    update(
        &mut model,
        Msg::Up {
            snapshot,
            hosting: true,
        },
    );
    model
}

/// Presses keys given by their names; a word of one letter is that letter.
fn answer(model: &mut Model, answered: Answered) {
    update(model, Msg::Answer(Box::new(answered)));
}

fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for name in keys.split(' ') {
        let key = Key::parse(name).unwrap_or_else(|| panic!("{name}"));
        let mut modifiers = KeyModifiers::NONE;
        modifiers.set(KeyModifiers::CONTROL, key.ctrl);
        effects.extend(update(model, Msg::Key(KeyEvent::new(key.code, modifiers))));
    }
    effects
}

fn type_text(model: &mut Model, text: &str) {
    for c in text.chars() {
        update(
            model,
            Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)),
        );
    }
}

fn event(seq: u64, kind: EventKind) -> Msg {
    Msg::Event(Arc::new(Event {
        seq,
        at: Timestamp::UNIX_EPOCH,
        kind,
    }))
}

fn added(seq: u64, text: &str) -> Msg {
    event(
        seq,
        EventKind::InvariantAdded {
            invariant: invariant(seq, Scope::Global, text),
            journal: None,
        },
    )
}

fn shown(model: &mut Model) -> Vec<String> {
    model.prepare();
    model
        .effective
        .shown
        .iter()
        .map(|i| model.rows[*i].invariant().text.clone())
        .collect()
}

fn example() -> Model {
    let project = Scope::Project("local/my-app".parse().unwrap());
    model(
        vec![
            invariant(1, Scope::Global, "Never delete production data"),
            invariant(2, Scope::Global, "Log all changes"),
            invariant(3, project.clone(), "All API changes need tests"),
            invariant(4, project, "Log all changes"),
            invariant(5, Scope::Plan(plan(9).id), "Use Python 3.13 only"),
        ],
        vec![plan(9)],
    )
}

#[test]
fn the_plan_of_the_directory_is_selected_and_its_merge_is_shown() {
    let mut m = example();
    assert_eq!(m.scopes.selected, Some(Node::Plan(plan(9).id)));
    assert_eq!(
        shown(&mut m),
        [
            "Use Python 3.13 only",
            "All API changes need tests",
            "Log all changes",
            "Never delete production data",
            "Log all changes",
        ]
    );
    let last = m.rows.last().unwrap().shadowed_by.as_ref().unwrap();
    assert_eq!(
        (last.scope, last.rationale.as_str()),
        ("project", "project scope > global scope")
    );
}

#[test]
fn what_another_process_adds_shows_at_once() {
    let mut m = example();
    update(&mut m, added(11, "from elsewhere"));
    assert!(shown(&mut m).contains(&"from elsewhere".to_owned()));
}

#[test]
fn a_gap_in_the_events_asks_for_the_state_and_loses_nothing() {
    let mut m = example();
    let effects = update(&mut m, added(13, "late"));
    assert_eq!(effects, [Effect::Ask(Ask::Resync)]);
    assert!(update(&mut m, added(14, "later")).is_empty(), "asked once");
    let mut whole = snapshot(vec![invariant(13, Scope::Global, "late")], Vec::new());
    whole.seq = 13;
    answer(&mut m, Answered::Resync(Ok(Box::new(whole))));
    m.scopes.selected = Some(Node::Global);
    assert_eq!(shown(&mut m), ["late", "later"]);
}

#[test]
fn adding_goes_through_the_editor_to_the_engine() {
    let mut m = example();
    press(&mut m, "a");
    type_text(&mut m, "q?/ are letters here");
    let effects = press(&mut m, "ctrl-s");
    let [Effect::Ask(Ask::Add(asked))] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let invariant = &asked.invariant;
    assert_eq!(invariant.text.as_deref(), Some("q?/ are letters here"));
    assert_eq!(
        invariant.scope,
        Scope::Plan(plan(9).id),
        "the selected scope comes first"
    );
    assert!(press(&mut m, "ctrl-s").is_empty(), "not sent twice");
    let refused = EngineError::invalid("no");
    answer(&mut m, Answered::Add(Err(refused)));
    let Some(Overlay::Editor(editor)) = m.overlays.last() else {
        panic!()
    };
    assert_eq!(
        editor.refused.as_deref(),
        Some("no"),
        "a refusal keeps what was typed"
    );
}

#[test]
fn what_was_added_here_is_brought_into_view() {
    let mut m = example();
    press(&mut m, "1 g 2 a x ctrl-s");
    let new = invariant(11, Scope::Project("local/my-app".parse().unwrap()), "x");
    let added = Added {
        invariant: new.clone(),
        notes: Vec::new(),
    };
    // The answer may come before the event.
    answer(&mut m, Answered::Add(Ok(added)));
    m.prepare();
    update(
        &mut m,
        event(
            11,
            EventKind::InvariantAdded {
                invariant: new.clone(),
                journal: None,
            },
        ),
    );
    m.prepare();
    assert_eq!(
        m.scopes.selected,
        Some(Node::Project("local/my-app".parse().unwrap()))
    );
    assert_eq!(m.selected_invariant().unwrap().id, new.id);
}

#[test]
fn a_save_that_is_answered_under_a_question_closes_both_and_a_refused_one_stays() {
    let mut m = example();
    press(&mut m, "1 g 2 a x ctrl-s esc");
    assert!(matches!(m.overlays.as_slice(), [_, Overlay::Confirm(_)]));
    let refused = EngineError::invalid("no");
    answer(&mut m, Answered::Add(Err(refused)));
    press(&mut m, "n");
    let [Overlay::Editor(editor)] = m.overlays.as_slice() else {
        panic!("the text is lost")
    };
    assert_eq!(
        (editor.saving, editor.refused.as_deref()),
        (false, Some("no"))
    );
    press(&mut m, "ctrl-s esc");
    let added = Added {
        invariant: invariant(11, Scope::Global, "x"),
        notes: Vec::new(),
    };
    answer(&mut m, Answered::Add(Ok(added)));
    assert!(m.overlays.is_empty(), "nothing is left to throw away");
}

#[test]
fn the_editor_checks_patterns_while_they_are_typed() {
    let mut m = example();
    press(&mut m, "a tab right right tab");
    type_text(&mut m, "src/[x");
    let Some(Overlay::Editor(editor)) = m.overlays.last() else {
        panic!()
    };
    assert!(editor.problem().unwrap().contains("column 5"));
    assert!(press(&mut m, "ctrl-s").is_empty());
    type_text(&mut m, "]");
    let effects = press(&mut m, "ctrl-s");
    let [Effect::Ask(Ask::Add(asked))] = effects.as_slice() else {
        panic!()
    };
    let invariant = &asked.invariant;
    assert_eq!(
        invariant.layer,
        Layer::Letter(LetterCheck::Untouched("src/[x]".into()))
    );
    assert_eq!(invariant.text, None, "the check writes the text");
}

#[test]
fn leaving_a_changed_editor_asks_and_an_unchanged_one_does_not() {
    let mut m = example();
    press(&mut m, "a esc");
    assert!(m.overlays.is_empty());
    press(&mut m, "a x esc");
    assert!(matches!(m.overlays.last(), Some(Overlay::Confirm(_))));
    press(&mut m, "enter");
    assert!(
        matches!(m.overlays.last(), Some(Overlay::Editor(_))),
        "the safe answer is focused"
    );
    press(&mut m, "esc y");
    assert!(m.overlays.is_empty());
}

#[test]
fn removing_asks_with_the_safe_answer_focused() {
    let mut m = example();
    assert!(press(&mut m, "d enter").is_empty());
    assert!(m.overlays.is_empty());
    let effects = press(&mut m, "d left enter");
    let [Effect::Ask(Ask::Do { call, .. })] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let id = InvariantId(id(5)).to_string();
    assert_eq!(**call, Call::from(Remove { id }));
}

#[test]
fn editing_sends_the_revision_it_started_from() {
    let mut m = example();
    press(&mut m, "e");
    type_text(&mut m, "!");
    let effects = press(&mut m, "ctrl-s");
    let [Effect::Ask(Ask::Edit(asked))] = effects.as_slice() else {
        panic!()
    };
    let patch = &asked.patch;
    assert_eq!(patch.text.as_deref(), Some("Use Python 3.13 only!"));
    assert_eq!(patch.expected_revision, Some(1));
}

#[test]
fn the_filter_takes_letters_keeps_the_selection_and_leaves_by_esc() {
    let mut m = example();
    press(&mut m, "j j /");
    type_text(&mut m, "log");
    assert_eq!(shown(&mut m), ["Log all changes", "Log all changes"]);
    assert_eq!(m.selected_invariant().unwrap().id, InvariantId(id(4)));
    press(&mut m, "enter");
    assert!(!m.effective.filter.typing);
    press(&mut m, "esc");
    assert_eq!(shown(&mut m).len(), 5);
    assert_eq!(m.selected_invariant().unwrap().id, InvariantId(id(4)));
    press(&mut m, "/ ctrl-t");
    type_text(&mut m, "pthn");
    assert_eq!(shown(&mut m), ["Use Python 3.13 only"]);
    press(&mut m, "esc / !");
    type_text(&mut m, "log");
    assert_eq!(shown(&mut m).len(), 2, "fuzzy stays on, and ! inverts");
}

#[test]
fn a_wrong_filter_keeps_the_rows_and_says_where() {
    let mut m = example();
    press(&mut m, "/");
    type_text(&mut m, "log(");
    assert_eq!(shown(&mut m).len(), 2);
    assert!(
        m.effective
            .filter
            .error
            .as_ref()
            .unwrap()
            .contains("column 4")
    );
}

#[test]
fn pasted_text_is_text_and_never_a_command() {
    let mut m = example();
    update(&mut m, Msg::Paste("q\ndy".into()));
    assert!(m.overlays.is_empty());
    press(&mut m, "a");
    update(&mut m, Msg::Paste("one\r\ntwo\u{1b}[31m".into()));
    let Some(Overlay::Editor(editor)) = m.overlays.last() else {
        panic!()
    };
    assert_eq!(editor.text.lines(), ["one", "two[31m"]);
    press(&mut m, "ctrl-u");
    let Some(Overlay::Editor(editor)) = m.overlays.last() else {
        panic!()
    };
    assert_eq!(editor.text.lines(), [""], "one undo takes it back");
}

#[test]
fn released_keys_do_nothing() {
    let mut m = example();
    let mut key = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::NONE);
    key.kind = crossterm::event::KeyEventKind::Release;
    update(&mut m, Msg::Key(key));
    assert!(m.overlays.is_empty());
}

#[test]
fn panes_are_reached_by_tab_and_digits_and_zoomed() {
    let mut m = example();
    assert_eq!(m.focus, Pane::Effective);
    press(&mut m, "tab");
    assert_eq!(m.focus, Pane::Plan);
    press(&mut m, "1 backtab");
    assert_eq!(m.focus, Pane::Breaches);
    press(&mut m, "2 z");
    assert!(m.zoom);
    press(&mut m, "esc");
    assert!(!m.zoom);
}

#[test]
fn a_disabled_action_says_why() {
    let mut m = example();
    press(&mut m, "R");
    let toast = m.toast.clone().unwrap().1;
    assert!(toast.contains("not halted"), "{toast}");
    press(&mut m, "1 e");
    assert!(
        m.toast
            .clone()
            .unwrap()
            .1
            .contains("focus the effective set")
    );
}

#[test]
fn the_next_phase_is_asked_of_the_engine_and_a_block_shows() {
    let mut m = example();
    let effects = press(&mut m, "n");
    let [Effect::Ask(Ask::Do { call, .. })] = effects.as_slice() else {
        panic!()
    };
    let Call::PlanTransition(PlanTransition { transition, .. }) = **call else {
        panic!()
    };
    assert_eq!(transition, Transition::ExecutePlan);
    let mut blocked = plan(9);
    blocked.state = PhaseState::Blocked;
    blocked.blocked = Some(Transition::ExecutePlan);
    blocked.violated_ids = vec![InvariantId(id(3))];
    let change = PlanChange::Blocked {
        transition: Transition::ExecutePlan,
    };
    update(
        &mut m,
        event(
            11,
            EventKind::PlanChanged {
                plan: blocked,
                change,
            },
        ),
    );
    assert_eq!(m.banner().unwrap().1, "execute is blocked by 1 invariant");
    assert_eq!(m.stuck(), (1, 0));
    let effects = press(&mut m, "n");
    assert!(
        matches!(effects.as_slice(), [Effect::Ask(Ask::Do { .. })]),
        "a retry is offered"
    );
}

#[test]
fn undo_names_the_project_in_view_and_the_change_that_was_seen() {
    let mut m = example();
    let noted = |n: u64, project: &str| EventKind::InvariantAdded {
        invariant: invariant(n, Scope::Project(project.parse().unwrap()), "new"),
        journal: Some(JournalStep::Noted {
            group: n,
            projects: vec![project.parse().unwrap()],
        }),
    };
    update(&mut m, event(11, noted(20, "local/my-app")));
    update(&mut m, event(12, noted(21, "local/other")));
    let effects = press(&mut m, "u");
    let [Effect::Ask(Ask::Do { call, .. })] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let Call::Undo(asked) = &**call else { panic!() };
    assert_eq!(asked.project, Some("local/my-app".parse().unwrap()));
    assert_eq!(asked.expect, Some(1), "not the change in the other project");
}

#[test]
fn a_plan_opens_and_its_decisions_are_asked_for() {
    let mut m = example();
    let effects = press(&mut m, "3 enter");
    let [Effect::Ask(Ask::Decisions(Decisions { .. }))] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    answer(&mut m, Answered::Decisions(Ok(Vec::new())));
    let Some(Overlay::Plan { decisions, .. }) = m.overlays.last() else {
        panic!()
    };
    assert_eq!(decisions.as_ref().map(Vec::len), Some(0));
    press(&mut m, "esc");
    assert!(m.overlays.is_empty());
}

#[test]
fn the_stream_follows_its_end_and_stands_still_while_read() {
    let mut m = example();
    let halted = |seq| {
        let change = PlanChange::Halted {
            reason: format!("reason {seq}"),
        };
        event(
            seq,
            EventKind::PlanChanged {
                plan: plan(9),
                change,
            },
        )
    };
    for seq in 11..40 {
        update(&mut m, halted(seq));
    }
    m.prepare();
    assert_eq!(m.breaches.selected, Some(39));
    press(&mut m, "4 k");
    let (selected, offset) = (m.breaches.selected, m.breaches.offset);
    for seq in 40..50 {
        update(&mut m, halted(seq));
    }
    m.prepare();
    assert_eq!((m.breaches.selected, m.breaches.offset), (selected, offset));
    assert_eq!(m.stream.new_below(), 10);
    press(&mut m, "G");
    assert_eq!((m.breaches.selected, m.stream.new_below()), (Some(49), 0));
}

#[test]
fn a_new_plan_is_followed_until_a_person_selects() {
    let mut m = example();
    update(&mut m, event(11, EventKind::PlanCreated { plan: plan(12) }));
    m.prepare();
    assert_eq!(m.scopes.selected, Some(Node::Plan(plan(12).id)));
    press(&mut m, "1 g");
    update(&mut m, event(12, EventKind::PlanCreated { plan: plan(13) }));
    m.prepare();
    assert_eq!(m.scopes.selected, Some(Node::Global));
}

#[test]
fn headings_fold_and_the_selection_stays_visible() {
    let mut m = example();
    let rows = m.tree.len();
    press(&mut m, "1 h");
    assert_eq!(
        m.scopes.selected,
        Some(Node::Heading(crate::model::ScopeKind::Plan))
    );
    assert_eq!(m.tree.len(), rows - 1);
    press(&mut m, "enter");
    assert_eq!(m.tree.len(), rows);
}

#[test]
fn quitting_asks_only_while_agents_run_through_this_process() {
    let mut m = example();
    assert_eq!(press(&mut m, "q"), [Effect::Quit]);
    let session = crate::model::Session {
        agent: "claude-code".into(),
        session: "s".into(),
        plan: plan(9).id,
        project: "local/my-app".parse().unwrap(),
        root: "/w".into(),
        started_at: Timestamp::UNIX_EPOCH,
        pid: None,
        ended_at: None,
        hooked: false,
        running: Vec::new(),
        parent: None,
        told: None,
    };
    update(&mut m, event(11, EventKind::SessionStarted { session }));
    assert_eq!(m.running(), 1);
    assert!(press(&mut m, "q").is_empty());
    assert_eq!(press(&mut m, "y"), [Effect::Quit]);
    m.link = EngineLink::Live { hosting: false };
    m.overlays.clear();
    assert_eq!(press(&mut m, "q"), [Effect::Quit]);
    assert_eq!(
        press(&mut m, "a ctrl-c"),
        [Effect::Quit],
        "ctrl-c leaves from everywhere"
    );
}
