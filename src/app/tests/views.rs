//! Palette, help, configuration, read-only mode; what must hold whatever happens.

use crossterm::event::{KeyCode, KeyEvent};

use super::*;
use crate::{
    app::{action::Action, stream::Tone},
    engine::requests::Edit,
};

#[test]
fn the_palette_finds_shows_keys_and_does() {
    let mut m = example();
    press(&mut m, ":");
    type_text(&mut m, "zoo");
    let Some(Overlay::Palette(palette)) = m.overlays.last() else {
        panic!("no palette");
    };
    let rows = palette.rows(&m);
    assert_eq!((rows[0].action, rows[0].keys.as_str()), (Action::Zoom, "z"));
    assert!(!m.zoom);
    update(&mut m, Msg::Key(KeyEvent::from(KeyCode::Enter)));
    assert!(m.zoom && m.overlays.is_empty());

    // Every action is there, with the reason when it cannot be done.
    press(&mut m, ":");
    let Some(Overlay::Palette(palette)) = m.overlays.last() else {
        panic!("no palette");
    };
    let rows = palette.rows(&m);
    assert_eq!(rows.len(), crate::app::action::TABLE.len() - 1);
    let resume = rows.iter().find(|r| r.action == Action::Resume).unwrap();
    assert!(resume.disabled.is_some());
    // q is text here.
    press(&mut m, "q");
    assert!(matches!(m.overlays.last(), Some(Overlay::Palette(p)) if p.text == "q"));
    update(&mut m, Msg::Key(KeyEvent::from(KeyCode::Esc)));
    assert!(m.overlays.is_empty());
}

#[test]
fn the_help_is_filtered_by_typing_and_left_by_esc() {
    let mut m = example();
    press(&mut m, "?");
    type_text(&mut m, "quit");
    assert!(matches!(m.overlays.last(), Some(Overlay::Help { filter, .. }) if filter == "quit"));
    update(&mut m, Msg::Key(KeyEvent::from(KeyCode::Esc)));
    assert!(matches!(m.overlays.last(), Some(Overlay::Help { filter, .. }) if filter.is_empty()));
    press(&mut m, "?");
    assert!(m.overlays.is_empty());
}

fn settings(text: &str) -> Msg {
    let settings = crate::app::settings::Settings::parse(text, std::path::Path::new("c.toml"));
    Msg::Settings(settings.map(Box::new).map_err(|e| e.to_string()))
}

#[test]
fn a_changed_keymap_counts_at_once_and_a_broken_one_changes_nothing() {
    let mut m = example();
    update(&mut m, settings("[keys]\nzoom = [\"x\"]\n"));
    press(&mut m, "z");
    assert!(!m.zoom, "the old key is free");
    press(&mut m, "x");
    assert!(m.zoom);
    update(&mut m, settings("[keys]\nzoom = [\"a\"]\n"));
    let (tone, text) = m.toast.clone().unwrap();
    assert_eq!(tone, Tone::Bad);
    assert!(
        text.contains("last good one stays") && text.contains("`add`"),
        "{text}"
    );
    press(&mut m, "x");
    assert!(!m.zoom, "the last good one holds");
    update(&mut m, settings("[ui]\nthme = \"dark\"\n"));
    assert!(
        m.toast
            .clone()
            .unwrap()
            .1
            .contains("did you mean `ui.theme`")
    );
}

#[test]
fn nothing_changes_in_read_only_mode_whatever_is_pressed() {
    let mut m = example();
    m.read_only = true;
    for description in crate::app::action::TABLE {
        let effects = update(&mut m, Msg::Action(description.action));
        let changes = |effect: &&Effect| {
            matches!(
                effect,
                Effect::Ask(Ask::Add(_) | Ask::Edit(_) | Ask::Do { .. })
            )
        };
        let change = effects.iter().find(changes);
        assert_eq!(change, None, "{}", description.id);
        let opens_editor = matches!(
            m.overlays.last(),
            Some(Overlay::Editor(_) | Overlay::Confirm(_))
        );
        assert!(
            !opens_editor || description.action == Action::Quit,
            "{}",
            description.id
        );
        m.overlays.clear();
    }
}

#[test]
fn a_draft_tells_what_it_would_be_in_conflict_with() {
    let scope = Scope::Project("local/my-app".parse().unwrap());
    let layer = |p: &str| {
        crate::model::Layer::Letter(crate::model::LetterCheck::NoEditsOutside(vec![p.into()]))
    };
    let at = Timestamp::UNIX_EPOCH;
    let mut old = Invariant::new(
        InvariantId(id(1)),
        scope.clone(),
        layer("src/**"),
        "src only",
        at,
    );
    let m = model(vec![old.clone()], Vec::new());
    let draft = |p: &str| Invariant::new(InvariantId(id(9)), scope.clone(), layer(p), "draft", at);
    let told = m.draft_conflicts(&draft("docs/**"));
    assert!(
        told[0].contains("contradicts") && told[0].contains("would block"),
        "{told:?}"
    );
    let told = m.draft_conflicts(&draft("src/**"));
    assert!(told[0].contains("says the same as"), "{told:?}");
    let told = m.draft_conflicts(&draft("src/a/**"));
    assert!(told[0].contains("may no longer be edited"), "{told:?}");
    assert!(told[1].starts_with("redundant: "), "{told:?}");
    // The one that is edited is no conflict of itself.
    old.layer = layer("docs/**");
    let told = m.draft_conflicts(&old);
    let expected = "src/a may no longer be edited, and docs/a may";
    assert_eq!(told, [expected]);
}

/// Whatever comes and goes, the selected row is the one that was selected, or its neighbour, and
/// lies in the window.
#[test]
fn the_selection_survives_everything() {
    use proptest::prelude::*;
    let steps = proptest::collection::vec((0_u8..6, any::<u16>()), 1..60);
    let mut runner = proptest::test_runner::TestRunner::default();
    runner
        .run(&steps, |steps| {
            let mut m = example();
            let mut seq = m.state.seq;
            for (kind, n) in steps {
                let before = m.selected_invariant().map(|i| i.id);
                match kind {
                    0 => {
                        seq += 1;
                        update(&mut m, added(seq, &format!("rule {n}")));
                    }
                    1 => {
                        let all: Vec<_> = m.state.invariants.values().cloned().collect();
                        if let Some(keyed) = all.get(usize::from(n) % all.len().max(1)) {
                            let mut invariant = keyed.invariant.clone();
                            if !invariant.active {
                                continue;
                            }
                            invariant.active = false;
                            seq += 1;
                            let kind = EventKind::InvariantRemoved {
                                invariant: invariant.clone(),
                                journal: None,
                            };
                            update(&mut m, event(seq, kind));
                            m.prepare();
                            if before != Some(invariant.id) {
                                prop_assert_eq!(m.selected_invariant().map(|i| i.id), before);
                            }
                        }
                    }
                    2 => {
                        update(&mut m, Msg::Resize(40 + n % 120, 10 + n % 40));
                        m.prepare();
                        prop_assert_eq!(m.selected_invariant().map(|i| i.id), before);
                    }
                    3 => drop(update(&mut m, Msg::Action(Action::Down))),
                    4 => drop(update(&mut m, Msg::Action(Action::Up))),
                    _ => drop(update(&mut m, Msg::Action(Action::HalfPageDown))),
                }
                m.prepare();
                let at = m
                    .effective
                    .selected_index(&m.rows, crate::app::model::effective_key);
                let height = crate::app::layout::parts(&m).rows(Pane::Effective);
                if let Some(at) = at
                    && height > 0
                {
                    let offset = m.effective.offset;
                    prop_assert!(
                        (offset..offset + height).contains(&at),
                        "{at} {offset} {height}"
                    );
                }
            }
            Ok(())
        })
        .unwrap();
}

/// A million events: what is kept is bounded, what is not is counted, and the row that a person
/// reads does not move.
#[test]
fn a_flood_is_bounded_and_counted() {
    let mut m = example();
    let plan = m.state.plans.keys().next().copied().unwrap();
    let denied = |seq: u64| {
        let verdict = crate::model::Verdict::deny(format!("no {seq}"));
        event(
            seq,
            EventKind::Attempted {
                plan_id: plan,
                agent: "a".into(),
                session: "s".into(),
                attempt: crate::model::Attempt {
                    tool: "Edit".into(),
                    ..Default::default()
                },
                verdict,
            },
        )
    };
    let first = m.state.seq + 1;
    let total = 50_000_u64;
    for seq in first..first + total {
        update(&mut m, denied(seq));
    }
    m.prepare();
    let capacity = crate::app::stream::CAPACITY as u64;
    assert_eq!(m.stream.rows.len() as u64, capacity);
    assert_eq!(m.stream.dropped, total - capacity);
    assert_eq!(m.state.breaches, total);
    // Reading back: the window stands still while more comes.
    m.focus = Pane::Breaches;
    update(&mut m, Msg::Action(Action::PageUp));
    let read = m.breaches.selected;
    for seq in first + total..first + total + 1000 {
        update(&mut m, denied(seq));
    }
    m.prepare();
    assert_eq!(m.breaches.selected, read);
    assert_eq!(m.stream.new_below(), 1000);
    assert_eq!(m.state.recent.len(), crate::engine::state::RECENT);
}

#[test]
fn removing_shows_how_far_it_reaches() {
    let mut m = example();
    m.focus = Pane::Effective;
    press(&mut m, "d");
    let Some(Overlay::Confirm(confirm)) = m.overlays.last() else {
        panic!("no question");
    };
    assert!(
        confirm
            .subject
            .iter()
            .any(|l| l.contains("reaches 1 open plans")),
        "{confirm:?}"
    );
}

#[test]
fn the_bell_rings_once_when_something_begins_to_need_a_person() {
    let mut m = example();
    update(&mut m, settings("[ui]\nbell = true\n"));
    let mut halted = m.state.plans.values().next().cloned().unwrap();
    halted.state = PhaseState::Halted;
    let seq = m.state.seq;
    let change = |plan: &Plan| EventKind::PlanChanged {
        plan: plan.clone(),
        change: PlanChange::Halted { reason: "x".into() },
    };
    assert_eq!(
        update(&mut m, event(seq + 1, change(&halted))),
        [Effect::Bell]
    );
    assert_eq!(update(&mut m, event(seq + 2, change(&halted))), []);
    update(&mut m, settings(""));
    let other = plan(77);
    update(
        &mut m,
        event(
            seq + 3,
            EventKind::PlanCreated {
                plan: other.clone(),
            },
        ),
    );
    assert_eq!(
        update(&mut m, event(seq + 4, change(&other))),
        [],
        "it is off"
    );
}

#[test]
fn a_contradiction_is_settled_by_one_key_that_was_tried_before_it_is_offered() {
    let scope = Scope::Project("local/my-app".parse().unwrap());
    let letter = |n: u64, patterns: &[&str]| {
        let patterns = patterns.iter().map(|p| (*p).to_owned()).collect();
        let layer =
            crate::model::Layer::Letter(crate::model::LetterCheck::NoEditsOutside(patterns));
        let mut i = invariant(n, scope.clone(), "x");
        i.text = format!("only {n}");
        i.layer = layer;
        i
    };
    let mut m = model(
        vec![letter(1, &["src/**"]), letter(2, &["docs/*.md"])],
        vec![plan(9)],
    );
    let items = crate::app::resolver::items(&m, plan(9).id);
    let item = &items[0];
    assert!(
        item.lines
            .iter()
            .any(|l| l.contains("docs/.md") && l.contains("src/a")),
        "{item:?}"
    );
    let labels: Vec<&str> = item.offers.iter().map(|o| o.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "allow src/** as well in: only 2",
            "remove: only 2",
            "allow docs/*.md as well in: only 1",
            "remove: only 1",
            "edit: only 2",
            "edit: only 1",
        ]
    );
    press(&mut m, "b");
    let effects = press(&mut m, "1");
    let [Effect::Ask(Ask::Do { call, .. })] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let Call::Edit(Edit { id, patch }) = &**call else {
        panic!("{call:?}")
    };
    assert_eq!(*id, letter(2, &[]).id.to_string());
    let allowed = patch.layer.as_ref().unwrap().letter().unwrap().patterns();
    assert_eq!(allowed, ["docs/*.md", "src/**"]);

    // With a third one that excludes both, removing one of two settles nothing, and is not offered.
    let all = vec![
        letter(1, &["a/**"]),
        letter(2, &["b/**"]),
        letter(3, &["c/**"]),
    ];
    let m = model(all, vec![plan(9)]);
    let items = crate::app::resolver::items(&m, plan(9).id);
    assert_eq!(items.len(), 2);
    let offers: Vec<Vec<&str>> = items
        .iter()
        .map(|i| {
            i.offers
                .iter()
                .map(|o| o.label.as_str())
                .filter(|l| !l.starts_with("edit"))
                .collect()
        })
        .collect();
    assert_eq!(
        offers[0],
        [
            "allow a/** as well in: only 2",
            "remove: only 2",
            "allow b/** as well in: only 1",
            "remove: only 1"
        ]
    );
    assert_eq!(
        offers[1],
        [
            "allow a/** as well in: only 3",
            "remove: only 3",
            "allow c/** as well in: only 1"
        ],
        "without the first one the second would still exclude the third"
    );
}

#[test]
fn prose_that_a_check_can_say_becomes_one_with_a_key() {
    let mut m = example();
    press(&mut m, "a");
    type_text(&mut m, "Never modify files outside src/");
    press(&mut m, "ctrl-l");
    let Some(Overlay::Editor(editor)) = m.overlays.last() else {
        panic!("no editor");
    };
    let draft = editor.draft().unwrap();
    assert_eq!(
        draft.layer.letter().unwrap().sentence(),
        "no edits outside src/**"
    );
    assert_eq!(editor.letter_form(), None, "it is one now");
}
