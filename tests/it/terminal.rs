//! The terminal program in a pseudo-terminal: keys typed, screen read.

use std::fs;

use crate::support::{Decision, Running, Screen, World, wait_for};

#[test]
fn from_an_empty_store_to_a_strike_and_back_to_the_shell() {
    let w = World::new();
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("Welcome to invar.");
    // Add a letter invariant with the keys of the editor.
    s.send("a");
    s.shows("Add an invariant");
    s.send("\t  \t");
    s.shows("letter: untouched");
    s.send("tests/test_sync.py");
    s.send("\t");
    s.shows("scope");
    // From global to the project of this directory.
    s.send(" \u{13}");
    s.shows("added: tests/test_sync.py is untouched");
    s.shows("1 in force");

    // Another process: the hook, on a real payload. The breach is on the screen.
    let (decision, reason) = w.edit("s", "tests/test_sync.py");
    assert_eq!(decision, Decision::Deny, "{reason}");
    s.shows("strike 1/3");
    s.shows("1 run");

    // Another process adds, and it shows at once.
    w.ok(&["add", "--global", "from the other pane"]);
    s.shows("from the other pane");

    // And what is typed here shows there.
    s.send("d");
    s.shows("Remove this invariant?");
    s.send("\u{1b}");
    s.hides("Remove this invariant?");
    s.send("q");
    s.shows("Leave while agents run?");
    s.send("y");
    assert_eq!(s.end(), 0);
    s.restored();
    assert!(
        w.ok(&["list"])
            .stdout
            .contains("tests/test_sync.py is untouched")
    );
    assert!(
        w.edit("s", "tests/test_sync.py")
            .1
            .contains("strike 2 of 3")
    );
}

#[test]
fn editing_removing_filtering_and_help() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    w.ok(&["add", "--global", "beta rule"]);
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("alpha rule");
    s.send("/bet");
    s.hides("alpha rule");
    s.shows("/bet_ 1 of");
    s.send("\r");
    s.send("e");
    s.shows("Edit an invariant");
    s.send("!\u{13}");
    s.shows("saved: beta rule!");
    s.send("\u{1b}");
    s.shows("alpha rule");
    s.send("?");
    s.shows("Filter the focused list");
    s.send("?");
    s.hides("Filter the focused list");
    s.send("d");
    s.shows("Remove this invariant?");
    s.send("y");
    s.shows("removed");
    s.shows("1 in force");
    s.send("u");
    s.shows("2 in force");
    s.send("\u{12}");
    s.shows("1 in force");
    assert_eq!(w.ok(&["list"]).stdout.lines().count(), 2);
    s.send("q");
    assert_eq!(s.end(), 0);
    s.restored();
}

#[test]
fn a_blocked_plan_is_seen_and_retried_with_keys() {
    let w = World::new();
    let rule = w.data(&["add", "--global", "All API changes need tests"]);
    w.ok(&["plan", "use", "local/work"]);
    let id = rule["invariant"]["id"].as_str().unwrap();
    w.ok(&[
        "enforce",
        "@",
        "--violated",
        id,
        "--response",
        "no test for /login",
    ]);
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("no test for /login");
    s.send("n");
    s.shows("strategize is blocked by 1 invariant");
    let violation = w.data(&["violations"])["violations"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    w.ok(&["resolve", &violation]);
    s.shows("nothing blocks strategize any more");
    s.send("n");
    s.shows("strategize started");
    s.send("3\r");
    s.shows("strategize: 1 in force, all hold");
    s.send("\u{1b}");
    s.hides("strategize: 1 in force, all hold");
    s.send("q");
    s.end();
}

#[test]
fn resizing_is_followed_down_to_nothing_and_back() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("alpha rule");
    s.resize(30, 8);
    s.shows("too small");
    s.resize(60, 20);
    s.shows("2 Effective set");
    s.resize(120, 40);
    s.shows("1 Scopes");
    s.send("q");
    assert_eq!(s.end(), 0);
    s.restored();
}

#[test]
fn every_signal_gives_the_terminal_back() {
    use rustix::process::Signal;
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let w = World::new();
        w.ok(&["add", "--global", "alpha rule"]);
        let mut s = Screen::open(&w, &[], (80, 24));
        s.shows("alpha rule");
        s.signal(signal);
        s.end();
        s.restored();
    }
}

#[test]
fn the_process_ends_when_its_terminal_vanishes() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    // Not its controlling terminal, so that no signal tells: only the hang-up of the file does.
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = rustix::termios::Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&master, size).unwrap();
    let slave = ptsname(&master, Vec::new()).unwrap();
    let slave = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(slave.to_str().unwrap())
        .unwrap();
    let mut command = w.command(&[]);
    command
        .stdin(slave.try_clone().unwrap())
        .stdout(slave.try_clone().unwrap())
        .stderr(slave);
    let mut program = Running(command.spawn().unwrap());
    drop(command);
    let mut master = fs::File::from(master);
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("alpha rule") {
        let mut buffer = [0; 4096];
        let n = std::io::Read::read(&mut master, &mut buffer).unwrap();
        seen.extend_from_slice(&buffer[..n]);
    }
    drop(master);
    wait_for("the end of the process", || program.0.try_wait().unwrap());
}

#[test]
fn it_is_put_into_the_background_and_comes_back_whole() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    let script = format!(
        "set -m; {} ; echo suspended; read x; fg",
        env!("CARGO_BIN_EXE_invar")
    );
    let mut s = Screen::start(&w, "/bin/bash", &["-c", &script], (80, 24));
    s.shows("alpha rule");
    s.send("\u{1a}");
    s.shows("suspended");
    s.send("x\r");
    s.shows("alpha rule");
    s.send("q");
    s.end();
    s.restored();
}

#[test]
fn a_host_that_leaves_is_followed_by_one_that_stays() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    let mut first = Screen::open(&w, &[], (100, 30));
    first.shows("alpha rule");
    let mut second = Screen::open(&w, &[], (100, 30));
    second.shows("live (shared)");
    first.send("q");
    first.end();
    second.hides("live (shared)");
    second.shows("live");
    w.ok(&["add", "--global", "after the takeover"]);
    second.shows("after the takeover");
    second.send("q");
    assert_eq!(second.end(), 0);
}

#[test]
fn the_projects_file_shows_from_the_start_and_follows_its_changes() {
    let w = World::new();
    let file = w.project.join("invar.toml");
    fs::write(&file, "[[invariants]]\nuntouched = \"tests/t.py\"\n").unwrap();
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("tests/t.py is untouched");
    fs::write(&file, "[[invariants]]\nuntouched = \"tests/other.py\"\n").unwrap();
    s.shows("tests/other.py is untouched");
    s.send("d");
    s.shows("Remove this invariant?");
    s.send("y");
    s.shows("0 in force");
    assert!(!fs::read_to_string(&file).unwrap().contains("other.py"));
    s.send("q");
    assert_eq!(s.end(), 0);
}

#[test]
fn pasted_text_with_line_ends_is_no_command() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("alpha rule");
    s.send("\u{1b}[200~dy\rq\u{1b}[201~");
    s.send("a");
    s.shows("Add an invariant");
    s.send("\u{1b}[200~one\rtwo\u{1b}[201~");
    s.shows("two");
    s.send("\u{13}");
    s.shows("added: one two");
    assert_eq!(w.data(&["list"])["invariants"].as_array().unwrap().len(), 2);
    s.send("q");
    s.end();
}

#[test]
fn without_a_terminal_it_says_what_to_use_instead() {
    let w = World::new();
    let ran = w.run(&[]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("invar list"), "{}", ran.stderr);
}

#[test]
fn a_store_that_cannot_be_opened_is_told_on_the_plain_terminal() {
    let w = World::new();
    fs::create_dir_all(w.store().parent().unwrap()).unwrap();
    fs::write(w.store(), "my diary").unwrap();
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("invar.redb");
    assert_eq!(s.end(), 6);
    assert!(
        !s.bytes.windows(8).any(|b| b == b"\x1b[?1049h"),
        "the screen was never taken"
    );
}

/// A plan that is blocked by a report and by two invariants that contradict each other, from the
/// banner to the next phase with keys only.
#[test]
fn the_resolver_leads_from_the_banner_to_a_plan_that_goes_on() {
    let w = World::new();
    w.ok(&["add", "--no-edits-outside", "src/**"]);
    w.ok(&["add", "--no-edits-outside", "lib/**"]);
    let rule = w.data(&["add", "every change has a test"]);
    w.ok(&["plan", "use", "local/work"]);
    let id = rule["invariant"]["id"].as_str().unwrap();
    w.ok(&[
        "enforce",
        "@",
        "--violated",
        id,
        "--response",
        "no test for /login",
    ]);
    let mut s = Screen::open(&w, &[], (110, 34));
    s.shows("(contradiction)");
    s.send("n");
    s.shows("strategize is blocked by 3 invariants");
    s.send("b");
    s.shows("1 of 2");
    s.shows("no test for /login");
    // Waive it; a reason is asked for.
    s.send("j\r");
    s.shows("why? (enter");
    s.send("\r");
    s.shows("that needs a reason");
    s.send("a test comes with the next plan\r");
    s.shows("two invariants contradict each other");
    s.shows("no path is allowed by");
    s.shows("allow src/** as well in");
    s.send("2");
    s.shows("Remove this invariant?");
    s.send("y");
    s.shows("retry strategize");
    s.send("\r");
    s.shows("strategize started");
    let violations = w.data(&["violations"]);
    assert_eq!(violations["violations"][0]["status"], "waived");
    assert_eq!(
        violations["violations"][0]["reason"],
        "a test comes with the next plan"
    );
    s.send("q");
    assert_eq!(s.end(), 0);
}

/// A file that a command changed: put back with a key, since copies are kept.
#[test]
fn the_resolver_puts_a_changed_file_back() {
    let w = World::new();
    w.configure("[engine]\nautostart = false\n[tree]\nrestore = false\n");
    w.ok(&["add", "--untouched", "tests/spec.py"]);
    let plan = w.data(&["plan", "use", "local/work"]);
    fs::create_dir_all(w.project.join("tests")).unwrap();
    let file = w.project.join("tests/spec.py");
    fs::write(&file, "assert True\n").unwrap();
    let event = |event: &str| {
        let payload = serde_json::json!({
            "session_id": "s", "cwd": w.project, "hook_event_name": event,
            "tool_name": "Bash", "tool_input": {"command": "./x.sh"}, "tool_use_id": "t1",
        });
        w.hook_bytes(payload.to_string().as_bytes())
    };
    event("SessionStart");
    event("PreToolUse");
    fs::write(&file, "pass\n").unwrap();
    event("PostToolUse");
    let mut s = Screen::open(&w, &[], (110, 34));
    s.shows("1 open violation");
    s.send("b");
    s.shows("tests/spec.py was changed by `./x.sh`");
    s.shows("not possible: no copy was kept");
    // A way that is greyed says why, and does nothing.
    s.send("\r");
    s.shows("not possible");
    fs::write(&file, "assert True\n").unwrap();
    s.send("j\r");
    s.shows("corrected");
    s.send("\u{1b}");
    s.hides("Resolve plan");
    s.send("n");
    s.shows("strategize started");
    s.send("q");
    s.shows("Leave while agents run?");
    s.send("y");
    assert_eq!(s.end(), 0);
    let id = plan["plan_id"].as_str().unwrap();
    let shown = w.data(&["plan", "show", id]);
    assert_eq!(shown["plan"]["phase"], "strategize");
}

#[test]
fn what_needs_a_person_is_in_the_inbox_and_opens_the_resolver() {
    let w = World::new();
    w.ok(&["add", "--untouched", "tests/spec.py"]);
    w.ok(&["plan", "use", "local/work"]);
    for _ in 0..3 {
        w.edit("s", "tests/spec.py");
    }
    let mut s = Screen::open(&w, &[], (110, 34));
    s.shows("1 needs you");
    s.send("i");
    s.shows("halted: strike 3 of 3");
    s.send("\r");
    s.shows("resume: the count starts again");
    s.send("\r");
    s.shows("resumed");
    s.shows("Nothing stands in the way.");
    s.send("\u{1b}");
    s.hides("Nothing stands in the way.");
    s.send("i");
    s.shows("Nothing needs you.");
    s.send("\u{1b}");
    s.hides("Nothing needs you.");
    s.send("q");
    s.shows("Leave while agents run?");
    s.send("y");
    assert_eq!(s.end(), 0);
}

#[test]
fn the_configuration_is_taken_over_live_and_a_broken_one_is_told() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("a add");
    w.configure("[engine]\nautostart = false\n[keys]\nadd = [\"n\"]\nnext_phase = [\"N\"]\n");
    s.shows("configuration taken over");
    s.send("j");
    s.shows("n add");
    s.send("?add");
    s.shows("n            Add an invariant");
    s.send("\u{1b}");
    s.shows("Help: type to filter");
    s.send("?");
    s.hides("Help: type to filter");
    // A file that is just being written says nothing.
    w.configure("");
    w.configure("[keys]\nadd = [\"d\"]\n");
    s.shows("asks for");
    s.send("n");
    s.shows("what must stay true");
    s.send("\u{1b}");
    s.hides("what must stay true");
    w.configure("[ui]\nmouse = false\ntheme = \"high-contrast\"\n");
    s.shows("configuration taken over");
    s.send("q");
    assert_eq!(s.end(), 0);
    s.restored();
}

#[test]
fn a_broken_configuration_is_told_before_the_screen_is_taken() {
    let w = World::new();
    w.configure("[keys]\nadd = [\"d\"]\n");
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("config.toml, line 2, column 7");
    assert_ne!(s.end(), 0);
}

#[test]
fn the_mouse_can_be_left_to_the_terminal() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    w.configure("[ui]\nmouse = false\n");
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("alpha rule");
    s.send("q");
    s.end();
    let bytes = String::from_utf8_lossy(&s.bytes).into_owned();
    assert!(!bytes.contains("\u{1b}[?1000h") && !bytes.contains("\u{1b}[?1006h"));
}

#[test]
fn the_persons_own_editor_has_the_terminal_and_its_text_comes_back() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    let script = w.base.join("editor.sh");
    // It reads a key, as an editor does, and leaves modes and a title behind.
    let text = "#!/bin/sh\nprintf 'in the editor'\nread x\nprintf 'beta rule\\nwith two lines\\n' > \"$2\"\n[ \"$1\" = -w ]\n";
    fs::write(&script, text).unwrap();
    let run = format!(
        "EDITOR='sh {} -w' exec {}",
        script.display(),
        env!("CARGO_BIN_EXE_invar")
    );
    let mut s = Screen::start(&w, "/bin/sh", &["-c", &run], (100, 30));
    s.shows("alpha rule");
    s.send("E");
    s.shows("in the editor");
    s.send("x\rdy");
    s.shows("Edit an invariant");
    s.shows("with two lines");
    s.send("\u{13}");
    s.shows("saved: beta rule");
    s.send("q");
    assert_eq!(s.end(), 0);
    s.restored();
    assert!(w.ok(&["list"]).stdout.contains("beta rule"));
}

#[test]
fn a_copy_goes_the_way_that_the_message_names() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("alpha rule");
    s.send("2gy");
    s.shows("OSC 52");
    let bytes = String::from_utf8_lossy(&s.bytes).into_owned();
    let at = bytes.find("\u{1b}]52;c;").unwrap();
    let end = bytes[at..].find("\u{1b}\\").unwrap();
    assert!(
        bytes[at + 7..at + end]
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+/=".contains(c))
    );
    s.send("q");
    s.end();
}

#[test]
fn read_only_shows_and_changes_nothing() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    let mut s = Screen::open(&w, &["--read-only"], (100, 30));
    s.shows("read-only");
    s.send("d");
    s.shows("--read-only");
    s.send("a");
    s.shows("cannot add");
    s.send("q");
    assert_eq!(s.end(), 0);
    let ran = w.run(&["--read-only", "add", "beta rule"]);
    assert_eq!(ran.code, 1);
    assert_eq!(w.data(&["list"])["invariants"].as_array().unwrap().len(), 1);
}

/// What an agent writes reaches the terminal only as visible marks: in tools, paths, commands,
/// session names, and in what others report.
#[test]
fn hostile_text_never_reaches_the_terminal() {
    let w = World::new();
    let rule = w.data(&["add", "--no-edits-outside", "src/**"]);
    w.ok(&["plan", "use", "local/work"]);
    let evil = "x\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[2J\u{9b}31m\u{202e}txt\u{200b}\u{1b}]0;owned\u{1b}\\\r\n\u{85}y";
    let session = format!("s{evil}");
    w.tool(
        &session,
        &format!("Edit{evil}"),
        serde_json::json!({"file_path": format!("docs/{evil}"), "path": evil}),
    );
    w.tool(
        &session,
        "Bash",
        serde_json::json!({"command": format!("rm 'docs/{evil}'")}),
    );
    let id = rule["invariant"]["id"].as_str().unwrap();
    w.ok(&[
        "enforce",
        "@",
        "--violated",
        id,
        "--response",
        "plain words",
    ]);
    let mut s = Screen::open(&w, &[], (120, 36));
    s.shows("strike 1/3");
    s.send("4g\r");
    s.shows("Editx<U+001B>");
    s.send("\u{1b}[6~\u{1b}[6~");
    s.shows("what the model was told");
    s.send("q");
    s.hides("what the model was told");
    s.send("j\r");
    s.shows("command");
    s.send("q");
    s.send("b");
    s.shows("Resolve plan");
    s.send("q");
    s.hides("Resolve plan");
    s.send("i");
    s.shows("Needs you");
    s.send("q");
    s.hides("Needs you");
    s.send("q");
    s.shows("Leave while agents run?");
    s.send("y");
    s.end();
    let bytes = String::from_utf8_lossy(&s.bytes).into_owned();
    for part in [
        "\u{1b}]52;",
        "\u{1b}[2J\u{9b}",
        "\u{9b}",
        "\u{202e}",
        "\u{200b}",
        "\u{1b}]0;owned",
        "\u{85}",
    ] {
        assert!(!bytes.contains(part), "{part:?} reached the terminal");
    }
}

/// A panic while drawing or deciding gives the terminal back and says where to look.
#[test]
#[cfg(debug_assertions)]
fn a_panic_gives_the_terminal_back() {
    for fault in ["draw", "update"] {
        let w = World::new();
        w.ok(&["add", "--global", "alpha rule"]);
        let run = format!(
            "INVAR_TEST_FAULT={fault} exec {}",
            env!("CARGO_BIN_EXE_invar")
        );
        let mut s = Screen::start(&w, "/bin/sh", &["-c", &run], (80, 24));
        if fault == "update" {
            s.shows("alpha rule");
            s.send("j");
        }
        assert_ne!(s.end(), 0, "{fault}");
        s.restored();
        let text = String::from_utf8_lossy(&s.bytes).into_owned();
        assert!(text.contains("please report it"), "{text}");
        assert!(text.contains("state/invar"), "the log is named: {text}");
    }
}

/// The engine's thread panics in the middle of a call: the screen says so, takes the engine up
/// again, and nothing that was written is lost.
#[test]
#[cfg(debug_assertions)]
fn a_panic_of_the_engine_is_survived() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    let run = format!(
        "INVAR_TEST_FAULT=engine exec {}",
        env!("CARGO_BIN_EXE_invar")
    );
    let mut s = Screen::start(&w, "/bin/sh", &["-c", &run], (100, 30));
    s.shows("alpha rule");
    s.send("2u");
    s.shows("the engine ended before it answered");
    s.shows("● live");
    s.send("a");
    s.shows("Add an invariant");
    s.send("beta rule\u{13}");
    s.shows("added: beta rule");
    s.send("q");
    assert_eq!(s.end(), 0);
    s.restored();
    assert!(w.ok(&["list"]).stdout.contains("alpha rule"));
}

/// The cursor is hidden once, and not with every frame.
#[test]
fn frames_leave_the_cursor_alone() {
    let w = World::new();
    w.ok(&["add", "--global", "alpha rule"]);
    w.ok(&["add", "--global", "beta rule"]);
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("alpha rule");
    for _ in 0..5 {
        s.send("?");
        s.shows("Help: type");
        s.send("?");
        s.hides("Help: type");
    }
    let bytes = String::from_utf8_lossy(&s.bytes).into_owned();
    assert_eq!(bytes.matches("\u{1b}[?25l").count(), 1);
    assert_eq!(bytes.matches("\u{1b}[?25h").count(), 0);
    // No keyboard protocol is switched on that would have to be taken back.
    assert!(!bytes.contains("\u{1b}[>") && !bytes.contains("\u{1b}[="));
    s.send("q");
    s.end();
    s.restored();
}

/// Thousands of keys that wait are worked off at once, and what comes after them is not late.
#[test]
fn a_flood_of_keys_is_worked_off() {
    let w = World::new();
    for n in 0..30 {
        w.ok(&["add", "--global", &format!("rule {n}")]);
    }
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("rule 3");
    s.send(&"jk".repeat(2500));
    s.send("?");
    s.shows("Help: type");
    // A frame shows many keys: far fewer of them are drawn than keys were pressed.
    assert!(s.bytes.len() < 2_000_000, "{} bytes", s.bytes.len());
    s.send("?");
    s.hides("Help: type");
    s.send("q");
    assert_eq!(s.end(), 0);
}

/// A paste that does not fit in one read of the terminal is one change, and nothing hangs.
#[test]
fn a_large_paste_is_taken_whole() {
    let w = World::new();
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("Welcome");
    s.send("a");
    s.shows("Add an invariant");
    let text = "many words\r".repeat(20_000);
    s.send(&format!("\u{1b}[200~{text}the end\u{1b}[201~"));
    s.shows("the end");
    s.shows("2000");
    // One step takes it back.
    s.send("\u{15}");
    s.hides("the end");
    s.send("short\u{13}");
    s.shows("added: short");
    s.send("q");
    assert_eq!(s.end(), 0);
}

#[test]
fn the_terminals_title_tells_what_needs_a_person_when_that_is_wanted() {
    let w = World::new();
    w.configure("[engine]\nautostart = false\n[ui]\ntitle = true\nbell = true\n");
    w.ok(&["add", "--untouched", "tests/spec.py"]);
    w.ok(&["plan", "use", "local/work"]);
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("tests/spec.py is untouched");
    for _ in 0..3 {
        w.edit("s", "tests/spec.py");
    }
    s.shows("1 needs you");
    s.send("q");
    s.shows("Leave while agents run?");
    s.send("y");
    s.end();
    let bytes = String::from_utf8_lossy(&s.bytes).into_owned();
    assert!(bytes.contains("\u{1b}]0;invar\u{7}"));
    assert!(bytes.contains("\u{1b}]0;invar: 1 need you\u{7}"));
    assert_eq!(
        bytes
            .replace("invar\u{7}", "")
            .replace("you\u{7}", "")
            .matches('\u{7}')
            .count(),
        1
    );
}

/// With reduced motion the screen is drawn at most twice a second while nobody presses a key.
#[test]
fn reduced_motion_draws_less_often() {
    let w = World::new();
    w.configure("[engine]\nautostart = false\n[ui]\nreduced_motion = true\n");
    w.ok(&["add", "--untouched", "tests/spec.py"]);
    w.ok(&["plan", "use", "local/work"]);
    let mut s = Screen::open(&w, &[], (100, 30));
    s.shows("tests/spec.py is untouched");
    let start = std::time::Instant::now();
    let before = String::from_utf8_lossy(&s.bytes)
        .matches("\u{1b}[?2026h")
        .count();
    for n in 0..25 {
        w.edit("s", &format!("tests/spec.py/{n}"));
    }
    s.shows("spec.py/24");
    let frames = String::from_utf8_lossy(&s.bytes)
        .matches("\u{1b}[?2026h")
        .count()
        - before;
    let most = start.elapsed().as_millis() / 500 + 2;
    assert!(frames as u128 <= most, "{frames} frames, at most {most}");
    s.send("q");
    s.shows("Leave while agents run?");
    s.send("y");
    s.end();
}
