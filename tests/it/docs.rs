//! The documents stay true: the picture in the README is what the program draws, and the
//! commands it names exist.

use std::{fs, path::Path};

use crossterm::event::{KeyCode, KeyEvent};
use invar::{
    app::{Model, Msg, action::TABLE, update},
    demo::{Player, Stage},
    engine::{Config, Notice, host::Host, writer::Engine},
    model::{EventKind, PlanChange},
    ui::{Theme, draw},
};
use ratatui::{buffer::Buffer, layout::Rect};
use regex::Regex;
use unicode_width::UnicodeWidthStr;

fn document(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The demo's run up to the halt, and then these keys, drawn. What differs from run to run is
/// replaced.
fn picture(keys: &str) -> String {
    let stage = Stage::new(env!("CARGO_BIN_EXE_invar").into()).unwrap();
    let engine = Engine::open(&stage.locations, &Config::default()).unwrap();
    let host = Host::start(engine).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut model = Model::new(Some(stage.scenario.project.clone()), None);
    update(&mut model, Msg::Resize(100, 27));
    runtime.block_on(async {
        let mut subscription = host.handle().subscribe().await.unwrap();
        let snapshot = subscription.snapshot.clone();
        update(
            &mut model,
            Msg::Up {
                snapshot,
                hosting: true,
            },
        );
        let mut player = Player::new(&stage, host.handle());
        player
            .play(std::time::Duration::ZERO, &mut |_| {})
            .await
            .unwrap();
        while let Some(Notice::Event(event)) = subscription.notices.recv().await {
            let halted = matches!(
                &event.kind,
                EventKind::PlanChanged {
                    change: PlanChange::Halted { .. },
                    ..
                }
            );
            update(&mut model, Msg::Event(event));
            if halted {
                break;
            }
        }
    });
    drop(host);
    for c in keys.chars() {
        update(&mut model, Msg::Key(KeyEvent::from(KeyCode::Char(c))));
    }
    model.prepare();
    let mut buf = Buffer::empty(Rect::new(0, 0, 100, 27));
    draw(&model, &Theme::colours(), &mut buf);
    let mut lines = Vec::new();
    for y in 0..buf.area.height {
        let (mut line, mut x) = (String::new(), 0);
        while x < buf.area.width {
            let symbol = buf[(x, y)].symbol();
            line.push_str(symbol);
            x += symbol.width().max(1) as u16;
        }
        lines.push(line.trim_end().to_owned());
    }
    let text = lines.join("\n");
    let text = Regex::new(r"\d\d:\d\d:\d\d")
        .unwrap()
        .replace_all(&text, "14:02:11");
    Regex::new("01[0-9A-Z]{3}…[0-9A-Z]{3}")
        .unwrap()
        .replace_all(&text, "01JX7…K2Q")
        .into_owned()
}

/// What stands between two marks of a document is what it should be, or is written there.
fn holds(name: &str, start: &str, end: &str, wanted: &str) {
    let text = document(name);
    let from = text.find(start).unwrap() + start.len();
    let to = text[from..].find(end).unwrap() + from;
    if std::env::var_os("INVAR_WRITE_DOCS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        fs::write(path, format!("{}{wanted}{}", &text[..from], &text[to..])).unwrap();
        return;
    }
    assert!(
        text[from..to] == *wanted,
        "{name} is not up to date; run INVAR_WRITE_DOCS=1 cargo test --test it docs\n{wanted}"
    );
}

#[test]
fn the_pictures_are_what_the_program_draws() {
    let end = "```\n<!-- /screen -->";
    for (name, mark, keys) in [
        ("README.md", "<!-- screen -->", ""),
        ("docs/screen.md", "<!-- screen: resolver -->", "b"),
        ("docs/screen.md", "<!-- screen: palette -->", "2z:phase"),
    ] {
        let drawn = format!("{}\n", picture(keys));
        holds(name, &format!("{mark}\n```text\n"), end, &drawn);
    }
    let rows = TABLE.iter().map(|d| {
        let keys: Vec<String> = d.keys.iter().map(|k| format!("`{k}`")).collect();
        format!("| {} | `{}` | {} |\n", keys.join(" "), d.id, d.help)
    });
    let table = format!(
        "| keys | action | |\n|---|---|---|\n{}",
        rows.collect::<String>()
    );
    holds(
        "docs/screen.md",
        "<!-- keys -->\n",
        "<!-- /keys -->",
        &table,
    );
}

#[test]
fn every_command_that_a_document_names_exists() {
    let world = crate::support::World::new();
    let command = Regex::new(r"(?m)^    invar ([a-z][a-z-]*)(?: ([a-z]+)\b)?").unwrap();
    let groups = ["plan", "project", "log", "invariant", "action"];
    let mut seen = 0;
    for name in ["README.md", "docs/agents.md", "docs/commands.md"] {
        let text = document(name);
        for found in command.captures_iter(&text) {
            let mut args = vec![&found[1]];
            if groups.contains(&&found[1]) {
                args.push(found.get(2).unwrap().as_str());
            }
            args.push("--help");
            let ran = world.run(&args);
            assert_eq!(ran.code, 0, "{name}: invar {args:?}: {}", ran.stderr);
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn the_two_commands_of_the_readme() {
    let readme = document("README.md");
    for command in [
        "    cargo run --release\n",
        "    cargo test\n",
        "    invar install claude-code\n",
    ] {
        assert!(readme.contains(command), "{command}");
    }
    assert!(
        document(".ci/run").contains("cargo test"),
        "CI calls the README's test command"
    );
}

/// The words of a line, as a shell splits them: quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut open) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => (quote, open) = (Some(c), true),
            (None, ' ') => {
                if open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            (_, c) => word.push(c),
        }
    }
    if open || !word.is_empty() {
        words.push(word);
    }
    words
}

/// Every `$ invar …` line of the pages runs, in its order and with the exit code that stands
/// below it. `$INVARIANT` is the one added last, `$VIOLATION` the open one.
#[test]
fn every_example_of_the_pages_runs() {
    for page in [
        "docs/invariants.md",
        "docs/scopes.md",
        "docs/conflicts.md",
        "docs/judges.md",
        "docs/plans.md",
        "docs/records.md",
        "docs/guard.md",
    ] {
        let world = crate::support::World::new();
        let text = document(page);
        let lines: Vec<&str> = text.lines().collect();
        let mut count = 0;
        for (number, line) in lines.iter().enumerate() {
            let Some(command) = line.strip_prefix("$ invar ") else {
                continue;
            };
            let wanted = lines[number + 1]
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']')?.parse::<i32>().ok())
                .unwrap_or(0);
            let newest = |list: &str, field: &str| {
                let data = world.data(&[list]);
                data[field].as_array().unwrap().last().unwrap()["id"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            };
            let mut command = command.to_owned();
            if command.contains("$INVARIANT") {
                let all = world.data(&["list", "--all"]);
                let last = all["invariants"].as_array().unwrap().last().unwrap()["id"].clone();
                command = command.replace("$INVARIANT", last.as_str().unwrap());
            }
            if command.contains("$VIOLATION") {
                command = command.replace("$VIOLATION", &newest("violations", "violations"));
            }
            let args = words(&command);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let ran = world.run(&args);
            assert_eq!(
                ran.code, wanted,
                "{page}: invar {command}\n{}{}",
                ran.stdout, ran.stderr
            );
            count += 1;
        }
        assert!(count > 2, "{page} has examples");
    }
}
