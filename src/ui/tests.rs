//! What the screen looks like, pane by pane, and that nothing makes it panic.

use std::sync::Arc;

use jiff::Timestamp;
use proptest::prelude::*;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{draw, theme::Theme};
use crate::{
    app::{
        Model, Msg, Pane,
        keymap::Key,
        tests::{invariant, plan},
        update,
    },
    engine::requests::Snapshot,
    model::{
        Attempt, Breach, Effect, Event, EventKind, InvariantId, Layer, LetterCheck, PhaseState,
        PlanChange, Remedy, Scope, Severity, Signature, Transition, Verdict, VerdictKind,
    },
};

fn model(size: (u16, u16)) -> Model {
    let project = Scope::Project("local/my-app".parse().unwrap());
    let mut locked = invariant(1, Scope::Global, "Never delete production data");
    locked.non_overridable = true;
    let mut only = invariant(4, project.clone(), "no edits outside src/**, docs/*.md");
    only.layer = Layer::Letter(LetterCheck::NoEditsOutside(vec![
        "src/**".into(),
        "docs/*.md".into(),
    ]));
    let mut untouched = invariant(
        6,
        Scope::Plan(plan(9).id),
        "tests/test_sync.py is untouched",
    );
    untouched.layer = Layer::Letter(LetterCheck::Untouched("tests/test_sync.py".into()));
    let mut warning = invariant(5, project.clone(), "Prefer small commits");
    warning.severity = Severity::Warning;
    let snapshot = Snapshot {
        seq: 10,
        invariants: vec![
            locked,
            invariant(2, Scope::Global, "Log all changes"),
            invariant(3, project, "Log all changes"),
            only,
            warning,
            untouched,
        ],
        plans: vec![plan(9)],
        ..Snapshot::default()
    };
    let mut model = Model::new(Some("local/my-app".parse().unwrap()), None);
    update(&mut model, Msg::Resize(size.0, size.1));
    update(
        &mut model,
        Msg::Up {
            snapshot: Box::new(snapshot),
            hosting: true,
        },
    );
    model
}

fn denied(seq: u64, path: &str, strike: u32) -> Msg {
    let breach = Breach {
        invariant_id: InvariantId(ulid::Ulid::from_parts(6, 1)),
        text: "tests/test_sync.py is untouched".into(),
        scope: Scope::Plan(plan(9).id),
        severity: Severity::Error,
        remedy: Remedy::Inform,
        signature: Signature::of_path(path),
        path: path.into(),
        allowed: "changes to other files".into(),
        why: None,
        strike,
        limit: Some(3),
    };
    let verdict = if strike == 3 {
        VerdictKind::Halt
    } else {
        VerdictKind::Deny
    };
    Msg::Event(Arc::new(Event {
        seq,
        at: Timestamp::UNIX_EPOCH,
        kind: EventKind::Attempted {
            plan_id: plan(9).id,
            agent: "claude-code".into(),
            session: "s".into(),
            attempt: Attempt {
                tool: "Edit".into(),
                cwd: "/w".into(),
                effects: vec![Effect::Change { path: path.into() }],
                ..Attempt::default()
            },
            verdict: Verdict {
                verdict,
                reason: "invar denied this Edit".into(),
                breaches: vec![breach],
            },
        },
    }))
}

fn halted(seq: u64) -> Msg {
    let mut plan = plan(9);
    plan.state = PhaseState::Halted;
    plan.halt_reason = Some("strike 3 of 3 on tests/test_sync.py".into());
    let change = PlanChange::Halted {
        reason: plan.halt_reason.clone().unwrap(),
    };
    let kind = EventKind::PlanChanged { plan, change };
    Msg::Event(Arc::new(Event {
        seq,
        at: Timestamp::UNIX_EPOCH,
        kind,
    }))
}

/// The run of the demo in small: two strikes and the halt.
fn breached(size: (u16, u16)) -> Model {
    let mut model = model(size);
    for (seq, strike) in [(11, 1), (12, 2), (13, 3)] {
        update(&mut model, denied(seq, "tests/test_sync.py", strike));
    }
    update(&mut model, halted(14));
    model
}

fn press(model: &mut Model, keys: &str) {
    for name in keys.split(' ') {
        let key = Key::parse(name).unwrap();
        let mut modifiers = crossterm::event::KeyModifiers::NONE;
        modifiers.set(crossterm::event::KeyModifiers::CONTROL, key.ctrl);
        update(
            model,
            Msg::Key(crossterm::event::KeyEvent::new(key.code, modifiers)),
        );
    }
}

fn buffer(model: &mut Model, theme: &Theme) -> Buffer {
    model.prepare();
    let mut buf = Buffer::empty(Rect::new(0, 0, model.size.0, model.size.1));
    draw(model, theme, &mut buf);
    buf
}

/// The cells of a pane or of the whole screen as text. Times depend on the zone and are masked.
fn text(buf: &Buffer, area: Rect) -> String {
    let time = regex::Regex::new(r"\d\d:\d\d:\d\d").unwrap();
    let mut out = String::new();
    for y in area.y..area.bottom() {
        let mut line = String::new();
        let mut skip = 0;
        for x in area.x..area.right() {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let symbol = buf[(x, y)].symbol();
            skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        out.push_str(time.replace_all(line.trim_end(), "HH:MM:SS").as_ref());
        out.push('\n');
    }
    out
}

fn screen(model: &mut Model) -> String {
    let buf = buffer(model, &Theme::colours());
    text(&buf, buf.area)
}

fn pane(model: &mut Model, pane: Pane) -> String {
    let buf = buffer(model, &Theme::colours());
    text(&buf, crate::app::layout::parts(model).pane(pane))
}

#[test]
fn each_pane_at_both_sizes() {
    for (width, height) in [(80, 24), (160, 50)] {
        let mut model = breached((width, height));
        for (name, which) in [
            ("scopes", Pane::Scopes),
            ("effective", Pane::Effective),
            ("plan", Pane::Plan),
            ("breaches", Pane::Breaches),
        ] {
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), pane(&mut model, which));
        }
    }
}

#[test]
fn the_whole_screen() {
    insta::assert_snapshot!("screen_80x24", screen(&mut breached((80, 24))));
    insta::assert_snapshot!("screen_160x50", screen(&mut breached((160, 50))));
    insta::assert_snapshot!("narrow_60x20", screen(&mut breached((60, 20))));
    insta::assert_snapshot!("too_small_30x8", screen(&mut breached((30, 8))));
}

#[test]
fn an_empty_store_shows_the_welcome() {
    let mut model = Model::new(None, None);
    update(&mut model, Msg::Resize(80, 24));
    let snapshot = Box::new(Snapshot::default());
    update(
        &mut model,
        Msg::Up {
            snapshot,
            hosting: true,
        },
    );
    insta::assert_snapshot!("welcome_80x24", screen(&mut model));
}

#[test]
fn overlays() {
    let mut model = breached((80, 24));
    press(&mut model, "?");
    insta::assert_snapshot!("help_80x24", screen(&mut model));
    press(&mut model, "esc a x tab right tab");
    insta::assert_snapshot!("editor_80x24", screen(&mut model));
    press(&mut model, "esc");
    insta::assert_snapshot!("discard_80x24", screen(&mut model));
    press(&mut model, "y enter");
    insta::assert_snapshot!("invariant_80x24", screen(&mut model));
    press(&mut model, "esc d");
    insta::assert_snapshot!("remove_80x24", screen(&mut model));
    press(&mut model, "esc 3 enter");
    insta::assert_snapshot!("plan_detail_80x24", screen(&mut model));
    press(&mut model, "esc 4 k enter");
    insta::assert_snapshot!("breach_80x24", screen(&mut model));
}

#[test]
fn a_blocked_transition_is_unmistakable() {
    let mut model = model((80, 24));
    let mut blocked = plan(9);
    blocked.state = PhaseState::Blocked;
    blocked.blocked = Some(Transition::ExecutePlan);
    blocked.violated_ids = vec![InvariantId(ulid::Ulid::from_parts(3, 1))];
    let change = PlanChange::Blocked {
        transition: Transition::ExecutePlan,
    };
    let kind = EventKind::PlanChanged {
        plan: blocked,
        change,
    };
    let event = Event {
        seq: 11,
        at: Timestamp::UNIX_EPOCH,
        kind,
    };
    update(&mut model, Msg::Event(Arc::new(event)));
    let shown = screen(&mut model);
    assert!(
        shown
            .lines()
            .nth(1)
            .unwrap()
            .contains("execute is blocked by 1 invariant")
    );
    assert!(shown.lines().next().unwrap().contains("1 blocked"));
}

#[test]
fn a_filter_shows_its_text_its_hits_and_its_error() {
    let mut model = breached((80, 24));
    press(&mut model, "/ l o g");
    assert!(screen(&mut model).contains("/log_ 2 of 6"));
    press(&mut model, "(");
    assert!(screen(&mut model).contains("/log(_ column 4: unclosed group"));
}

#[test]
fn without_colour_nothing_is_lost_and_nothing_is_coloured() {
    let mut model = breached((100, 30));
    let colour = buffer(&mut model, &Theme::colours());
    let plain = buffer(&mut model, &Theme::monochrome());
    assert_eq!(text(&colour, colour.area), text(&plain, plain.area));
    for cell in plain.content() {
        assert_eq!(
            (cell.fg, cell.bg),
            (ratatui::style::Color::Reset, ratatui::style::Color::Reset)
        );
    }
}

#[test]
fn the_ascii_theme_draws_ascii() {
    let mut model = breached((100, 30));
    let buf = buffer(&mut model, &Theme::colours().ascii());
    let shown = text(&buf, buf.area);
    let strange: Vec<char> = shown
        .chars()
        .filter(|c| !c.is_ascii() && *c != '…')
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
fn hostile_text_is_shown_as_marks_and_borders_stay_straight() {
    let mut model = model((100, 30));
    let hostile =
        "a\u{1b}]52;c;eA==\u{7}\u{9b}31m\u{202e}evil\u{200b}\tb👨\u{200d}👩\u{200d}👧日本e\u{301}";
    let added = EventKind::InvariantAdded {
        invariant: invariant(11, Scope::Global, hostile),
        journal: None,
    };
    let event = Event {
        seq: 11,
        at: Timestamp::UNIX_EPOCH,
        kind: added,
    };
    update(&mut model, Msg::Event(Arc::new(event)));
    update(&mut model, denied(12, hostile, 1));
    let buf = buffer(&mut model, &Theme::colours());
    for cell in buf.content() {
        // A joiner within an emoji is the only unseen character that may reach a cell.
        let unseen = cell
            .symbol()
            .chars()
            .any(|c| crate::model::is_hidden(c) && c != '\u{200d}');
        assert!(!unseen, "{:?}", cell.symbol());
    }
    assert!(text(&buf, buf.area).contains("<U+001B>"));
    let parts = crate::app::layout::parts(&model);
    for y in parts.effective.y + 1..parts.effective.bottom() - 1 {
        assert_eq!(buf[(parts.effective.x, y)].symbol(), "│");
        assert_eq!(buf[(parts.effective.right() - 1, y)].symbol(), "│");
    }
}

/// The help names every action with the keys that it has now.
#[test]
fn the_help_is_what_the_keys_do() {
    let mut model = breached((120, 80));
    let text = "[keys]\nzoom = [\"x\"]\nquit = []\n";
    let settings = crate::app::settings::Settings::parse(text, std::path::Path::new("c.toml"));
    update(
        &mut model,
        Msg::Settings(settings.map(Box::new).map_err(|e| e.to_string())),
    );
    press(&mut model, "?");
    let shown = screen(&mut model);
    for description in crate::app::action::TABLE {
        let keys = crate::app::palette::keys(&model.settings.keymap, description.action);
        let keys = if keys.is_empty() {
            "(no key)".to_owned()
        } else {
            keys
        };
        let line = format!("{keys:<12} {}", description.help);
        assert!(shown.contains(&line), "{line}\n{shown}");
    }
}

/// A text of 70,000 lines on a very large screen.
#[test]
fn nothing_is_too_long_to_be_drawn() {
    let mut model = breached((500, 150));
    update(&mut model, denied(15, &"long line\n".repeat(70_000), 1));
    press(&mut model, "4");
    press(&mut model, "G");
    press(&mut model, "enter");
    for key in ["pagedown", "ctrl-d", "j", "g"] {
        press(&mut model, key);
        buffer(&mut model, &Theme::colours());
    }
    let shown = screen(&mut model);
    assert!(shown.contains("j and k scroll"));
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,60}",
        proptest::collection::vec(any::<char>(), 0..60).prop_map(|c| c.into_iter().collect()),
        Just("👨\u{200d}👩\u{200d}👧".repeat(20)),
        Just("日本語".repeat(30)),
        Just("\u{1b}[2J\u{9b}1m".repeat(10)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_size_and_no_text_panics(
        width in 0u16..=60,
        height in 0u16..=20,
        then in prop_oneof![4 => (0u16..=60, 0u16..=20), 1 => (300u16..=500, 100u16..=150)],
        words in any_text(),
        keys in proptest::collection::vec(
            prop::sample::select(vec![
                "a", "e", "d", "/", "?", "enter", "esc", "tab", "j", "k", "G", "g", "z", "1", "2",
                "3", "4", "n", "R", "h", "l", "ctrl-d", "ctrl-u", "right", "y", "x", "(", "ctrl-s",
                "b", "i", ":", "backspace", "E", "down", "pagedown",
            ]),
            0..12,
        ),
    ) {
        let mut model = breached((width, height));
        let added = EventKind::InvariantAdded { invariant: invariant(20, Scope::Global, &words), journal: None };
        let event = Event { seq: 15, at: Timestamp::UNIX_EPOCH, kind: added };
        update(&mut model, Msg::Event(Arc::new(event)));
        update(&mut model, denied(16, &words, 1));
        for key in keys {
            press(&mut model, key);
            update(&mut model, Msg::Paste(words.clone()));
            buffer(&mut model, &Theme::colours());
        }
        update(&mut model, Msg::Resize(then.0, then.1));
        buffer(&mut model, &Theme::monochrome());
        // The terminal may be smaller than the last size that it reported.
        let mut small = Buffer::empty(Rect::new(0, 0, then.0 / 2, then.1 / 2));
        draw(&model, &Theme::colours(), &mut small);
    }
}
