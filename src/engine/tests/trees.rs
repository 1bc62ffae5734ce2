//! The tree check, end to end: commands that really change files of a real project.

use std::{collections::BTreeSet, fs, process::Command, time::Duration};

use super::*;
use crate::{
    model::{EventKind, Layer, Violation},
    requests::{PlanResume, Ruling, TreeState},
};

/// `src/**` may be edited, `tests/spec.py` is untouched, `*.log` is ignored by git.
fn guarded(restore: bool) -> World {
    let mut w = World::new();
    w.config.tree.restore = restore;
    w.restart();
    w.only(project(), &["src/**"]);
    w.untouched(project(), "tests/spec.py");
    for (file, text) in [
        (".gitignore", "*.log\n"),
        ("src/a.py", "a = 1\n"),
        ("tests/spec.py", "assert True\n"),
        ("README.md", "# x\n"),
    ] {
        fs::write(w.root.join(file), text).unwrap();
    }
    w
}

fn bash(w: &World, call: &str, command: &str) -> Attempt {
    Attempt {
        tool: "Bash".into(),
        cwd: w.root.clone(),
        effects: vec![Effect::Opaque {
            command: command.into(),
            language: None,
        }],
        call: Some(call.into()),
        may_write: true,
        ..Attempt::default()
    }
}

/// An agent's command, as its hooks tell it: before, then what it really does, then after.
fn run(w: &mut World, session: &str, command: &str, really: &str) -> HookReply {
    let attempt = bash(w, command, command);
    let before = w.hook(session, HookEvent::Attempt(attempt.clone()));
    assert_eq!(before.verdict.verdict, VerdictKind::Allow, "{before:?}");
    person(w, really);
    w.hook(session, HookEvent::Ran(attempt))
}

fn person(w: &World, script: &str) {
    let done = Command::new("sh")
        .arg("-ec")
        .arg(script)
        .current_dir(&w.root)
        .status();
    assert!(done.unwrap().success(), "{script}");
}

fn open(w: &World) -> Vec<Violation> {
    let state = w.engine.as_ref().unwrap().core().state();
    state
        .violations
        .values()
        .filter(|v| v.is_open())
        .cloned()
        .collect()
}

fn recent(w: &World, wanted: impl Fn(&EventKind) -> bool) -> usize {
    let state = w.engine.as_ref().unwrap().core().state();
    state.recent.iter().filter(|e| wanted(&e.kind)).count()
}

#[test]
fn what_a_script_changes_is_found_counted_and_blocks_the_apply() {
    let mut w = guarded(false);
    let plan = w.use_plan("local/work").id;
    w.hook("s", HookEvent::SessionStart);
    let allowed = run(
        &mut w,
        "s",
        "make",
        "echo 2 > src/a.py; echo x > build.log; mkdir out",
    );
    assert_eq!(allowed.verdict.verdict, VerdictKind::Allow, "{allowed:?}");

    let found = run(&mut w, "s", "./fix.sh", "echo 0 > tests/spec.py");
    assert_eq!(found.verdict.verdict, VerdictKind::Deny);
    for part in [
        "tests/spec.py",
        "its content is another",
        "strike 1 of 3",
        "cannot be applied",
    ] {
        assert!(
            found.verdict.reason.contains(part),
            "{}",
            found.verdict.reason
        );
    }
    let violations = open(&w);
    assert!(
        violations.iter().all(|v| v.details.contains("`./fix.sh`")),
        "{violations:?}"
    );
    assert_eq!(violations.len(), 2, "both invariants");
    w.transition(plan, Transition::StartStrategize).unwrap_err();

    // An Edit of the same file is the second strike of the same action.
    let edit = w.edit("s", "tests/spec.py").verdict;
    assert!(edit.breaches.iter().all(|b| b.strike == 2), "{edit:?}");
    // Put back by a person, it no longer stands.
    person(&w, "echo 'assert True' > tests/spec.py");
    w.hook("s", HookEvent::Stopped { turn: true });
    assert!(open(&w).is_empty());
    w.transition(plan, Transition::StartStrategize).unwrap();
}

#[test]
fn three_finds_on_one_file_halt() {
    let mut w = guarded(false);
    w.use_plan("local/work");
    w.hook("s", HookEvent::SessionStart);
    let kinds: Vec<_> = (0..3)
        .map(|n| {
            run(
                &mut w,
                "s",
                &format!("make t{n}"),
                &format!("echo {n} >> tests/spec.py"),
            )
        })
        .map(|reply| reply.verdict.verdict)
        .collect();
    assert_eq!(
        kinds,
        [VerdictKind::Deny, VerdictKind::Deny, VerdictKind::Halt]
    );
    let next = w.hook("s", HookEvent::Attempt(bash(&w, "x", "ls")));
    assert_eq!(next.verdict.verdict, VerdictKind::Halt, "a halt is sticky");
    assert_eq!(
        open(&w).len(),
        2,
        "one violation for each invariant and file"
    );
}

#[test]
fn every_kind_of_change_is_found() {
    for (script, path) in [
        ("rm tests/spec.py", "tests/spec.py"),
        ("mv tests/spec.py tests/spec.bak", "tests/spec.py"),
        ("ln -sf ../src/a.py tests/spec.py", "tests/spec.py"),
        ("chmod +x tests/spec.py", "tests/spec.py"),
        ("echo x > new.txt", "new.txt"),
        ("mkdir -p a/b && echo x > a/b/c", "a/b/c"),
        (
            "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
            ".git/hooks/pre-commit",
        ),
        ("cp README.md src/r && mv src/r README2.md", "README2.md"),
        (
            "touch -d 2001-01-01 README.md; echo y > README.md; touch -d 2001-01-01 README.md",
            "README.md",
        ),
        ("rm -rf tests", "tests/spec.py"),
        ("ln src/a.py hard && echo z > hard", "hard"),
    ] {
        let mut w = guarded(false);
        w.use_plan("local/work");
        w.hook("s", HookEvent::SessionStart);
        let found = run(&mut w, "s", "./x", script);
        assert_eq!(found.verdict.verdict, VerdictKind::Deny, "{script}");
        let paths: Vec<_> = found
            .verdict
            .breaches
            .iter()
            .map(|b| b.path.clone())
            .collect();
        assert!(paths.contains(&path.to_owned()), "{script}: {paths:?}");
    }
}

#[test]
fn people_are_not_blamed() {
    let mut w = guarded(false);
    w.use_plan("local/work");
    w.hook("s", HookEvent::SessionStart);
    run(&mut w, "s", "make", "true");
    person(&w, "echo mine > README.md; touch probe.log");
    // File systems tell time in ticks: the command starts clearly later.
    let changed = |file: &str| fs::metadata(w.root.join(file)).unwrap().modified().unwrap();
    let edited = changed("README.md");
    while changed("probe.log").duration_since(edited).unwrap() < Duration::from_millis(80) {
        fs::write(w.root.join("probe.log"), "x").unwrap();
    }
    let reply = run(&mut w, "s", "make again", "true");
    assert_eq!(reply.verdict.verdict, VerdictKind::Allow, "{reply:?}");
    assert!(open(&w).is_empty());
    let told = |k: &EventKind| matches!(k, EventKind::ChangeNotAttributed { path, .. } if path == "README.md");
    assert_eq!(recent(&w, told), 1);
}

#[test]
fn files_that_git_ignores_count_when_an_invariant_names_them() {
    let mut w = guarded(false);
    w.untouched(project(), "secret.log");
    fs::write(w.root.join("secret.log"), "1").unwrap();
    w.use_plan("local/work");
    w.hook("s", HookEvent::SessionStart);
    let found = run(
        &mut w,
        "s",
        "./x",
        "echo 2 > secret.log; echo 2 > other.log",
    );
    let paths: BTreeSet<_> = found
        .verdict
        .breaches
        .iter()
        .map(|b| b.path.clone())
        .collect();
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["secret.log"]);
}

#[test]
fn an_invariant_added_in_the_middle_counts_from_then_on() {
    let mut w = World::new();
    w.use_plan("local/work");
    fs::write(w.root.join("x.log"), "1").unwrap();
    fs::write(w.root.join(".gitignore"), "*.log\n").unwrap();
    w.hook("s", HookEvent::SessionStart);
    assert!(
        run(&mut w, "s", "./x", "echo 2 > x.log")
            .verdict
            .lets_through()
    );
    w.untouched(project(), "x.log");
    let found = run(&mut w, "s", "./y", "echo 3 > x.log");
    assert_eq!(found.verdict.verdict, VerdictKind::Deny);
}

#[test]
fn a_command_that_goes_on_is_still_its_command() {
    let mut w = guarded(false);
    w.use_plan("local/work");
    w.hook("s", HookEvent::SessionStart);
    let mut attempt = bash(&w, "b", "./server &");
    attempt.background = true;
    w.hook("s", HookEvent::Attempt(attempt.clone()));
    w.hook("s", HookEvent::Ran(attempt));
    person(&w, "echo 0 > tests/spec.py");
    let found = w.hook("s", HookEvent::Stopped { turn: true });
    assert_eq!(found.verdict.verdict, VerdictKind::Deny);
    assert!(open(&w).iter().all(|v| v.details.contains("./server &")));
}

#[test]
fn the_window_of_a_command_outlives_the_engine() {
    let mut w = guarded(false);
    w.use_plan("local/work");
    w.hook("s", HookEvent::SessionStart);
    let attempt = bash(&w, "c", "./slow");
    w.hook("s", HookEvent::Attempt(attempt.clone()));
    w.restart();
    person(&w, "echo 0 > tests/spec.py");
    w.restart();
    let found = w.hook("s", HookEvent::Ran(attempt));
    assert_eq!(found.verdict.verdict, VerdictKind::Deny, "{found:?}");
}

#[test]
fn a_second_agents_edit_is_no_fault_of_the_first() {
    let mut w = World::new();
    // The first agent may write src only; the second one docs as well.
    let first = w.use_plan("local/one").id;
    w.only(Scope::Plan(first), &["src/**"]);
    fs::create_dir(w.root.join("docs")).unwrap();
    w.hook("one", HookEvent::SessionStart);
    let attempt = bash(&w, "long", "./long");
    w.hook("one", HookEvent::Attempt(attempt.clone()));
    let second = w.use_plan("local/two").id;
    w.hook("two", HookEvent::SessionStart);
    let reply = w.edit("two", "docs/x.md");
    assert_eq!(
        (reply.plan_id, reply.verdict.verdict),
        (Some(second), VerdictKind::Allow)
    );
    person(&w, "echo x > docs/x.md");
    let state = w.engine.as_ref().unwrap().core().state();
    let owner = state
        .sessions
        .values()
        .find(|s| s.session == "one")
        .unwrap();
    assert_eq!(owner.plan, first);
    let reply = w.hook("two", HookEvent::Stopped { turn: true });
    assert!(reply.verdict.lets_through());
    assert!(open(&w).is_empty(), "{:?}", open(&w));
}

#[test]
fn a_guarded_file_is_put_back_when_that_is_wanted() {
    let mut w = guarded(true);
    let plan = w.use_plan("local/work").id;
    w.hook("s", HookEvent::SessionStart);
    let found = run(&mut w, "s", "./x", "echo 0 > tests/spec.py");
    assert_eq!(found.verdict.verdict, VerdictKind::Deny);
    assert!(
        found.verdict.reason.contains("put back"),
        "{}",
        found.verdict.reason
    );
    let text = fs::read_to_string(w.root.join("tests/spec.py")).unwrap();
    assert_eq!(text, "assert True\n");
    assert!(open(&w).is_empty());
    let corrected = |k: &EventKind| matches!(k, EventKind::CorrectionApplied { .. });
    assert_eq!(recent(&w, corrected), 2);
    w.transition(plan, Transition::StartStrategize).unwrap();
    // What was put back is no new change.
    assert!(run(&mut w, "s", "make", "true").verdict.lets_through());
}

#[test]
fn a_project_that_is_too_large_is_not_watched_and_nothing_is_blamed() {
    let mut w = guarded(false);
    w.config.tree.max_files = 2;
    w.restart();
    w.use_plan("local/work");
    w.hook("s", HookEvent::SessionStart);
    let reply = run(&mut w, "s", "./x", "echo 0 > tests/spec.py");
    assert!(reply.verdict.lets_through());
}

#[test]
fn the_apply_gate_looks_once_more() {
    let mut w = guarded(false);
    let plan = w.use_plan("local/work").id;
    w.hook("s", HookEvent::SessionStart);
    w.transition(plan, Transition::StartStrategize).unwrap();
    w.transition(plan, Transition::ExecutePlan).unwrap();
    // The agent was killed in the middle of its command.
    w.hook("s", HookEvent::Attempt(bash(&w, "k", "./killed")));
    person(&w, "echo 0 > tests/spec.py");
    let error = w.transition(plan, Transition::ApplyPlan).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Blocked(_)), "{error}");
    assert_eq!(open(&w).len(), 2);
}

#[test]
fn settings_that_no_longer_run_invar_are_refused() {
    let mut w = World::new();
    let mut settings = |hooked: bool, what: HookEvent| {
        let call = HookCall {
            hooked,
            ..HookCall::new("claude-code", "s", &w.root, what)
        };
        w.ask(call).unwrap().verdict.verdict
    };
    let change = || HookEvent::Settings { fault: None };
    assert_eq!(
        settings(false, change()),
        VerdictKind::Allow,
        "they never did"
    );
    settings(true, HookEvent::SessionStart);
    assert_eq!(settings(true, change()), VerdictKind::Allow);
    assert_eq!(settings(false, change()), VerdictKind::Deny);
    let fault = Some("`disableAllHooks` is on".to_owned());
    assert_eq!(
        settings(true, HookEvent::Settings { fault }),
        VerdictKind::Deny
    );
}

/// A command that was interrupted told no end; what a person edits after the turn is theirs.
#[test]
fn the_end_of_a_turn_ends_its_commands() {
    let mut w = guarded(false);
    w.use_plan("local/work");
    w.hook("s", HookEvent::SessionStart);
    w.hook("s", HookEvent::Attempt(bash(&w, "i", "./interrupted")));
    w.hook("s", HookEvent::Prompt);
    person(&w, "echo mine > README.md");
    run(&mut w, "s", "make", "true");
    let state = w.engine.as_ref().unwrap().core().state();
    let blamed = state.recent.iter().any(
        |e| matches!(&e.kind, EventKind::ChangeFound { command, .. } if command == "./interrupted"),
    );
    assert!(!blamed);
}

/// The project with changes of `src/db/**` for a person to approve, and an attempt to write there.
fn assented() -> (World, Attempt) {
    let mut w = guarded(false);
    let layer = Layer::Assent {
        when: vec!["src/db/**".into()],
    };
    w.add(NewInvariant {
        layer,
        ..NewInvariant::plain(project(), "a person approves each schema change")
    });
    w.use_plan("local/work");
    w.hook("s", HookEvent::SessionStart);
    fs::create_dir(w.root.join("src/db")).unwrap();
    let attempt = Attempt {
        tool: "Write".into(),
        call: Some("write".into()),
        ..w.attempt_on("src/db/x.sql")
    };
    (w, attempt)
}

fn delegated(w: &mut World, attempt: &Attempt) {
    let asked = w.hook("s", HookEvent::Attempt(attempt.clone()));
    assert_eq!(asked.verdict.verdict, VerdictKind::Ask, "{asked:?}");
    let ids = asked.waiting;
    w.ask(AssentsDelegated { ids }).unwrap();
}

#[test]
fn an_assent_does_not_cover_what_a_later_command_does_to_the_file() {
    // The agent's own prompt asked, and nobody knows what the person said.
    let (mut w, attempt) = assented();
    delegated(&mut w, &attempt);
    let found = run(&mut w, "s", "./fix.sh", "echo drop > src/db/x.sql");
    assert_eq!(found.verdict.verdict, VerdictKind::Deny, "{found:?}");

    // A person approved one content, which was written.
    let (mut w, attempt) = assented();
    let asked = w.hook("s", HookEvent::Attempt(attempt.clone()));
    let answer = AssentAnswer {
        id: asked.waiting[0].to_string(),
        by: "a person".into(),
        answer: Ruling::Approve { for_plan: false },
    };
    w.ask(answer).unwrap();
    let allowed = w.hook("s", HookEvent::Attempt(attempt));
    assert_eq!(allowed.verdict.verdict, VerdictKind::Allow);
    person(&w, "echo create > src/db/x.sql");
    w.hook("s", HookEvent::Stopped { turn: true });
    let not_attributed = |k: &EventKind| matches!(k, EventKind::ChangeNotAttributed { .. });
    assert_eq!(recent(&w, not_attributed), 0, "it was approved");
    let found = run(&mut w, "s", "./fix.sh", "echo drop > src/db/x.sql");
    assert_eq!(found.verdict.verdict, VerdictKind::Deny, "{found:?}");
    assert_eq!(open(&w).len(), 1);
}

#[test]
fn a_command_that_the_agents_prompt_let_run_is_watched() {
    let (mut w, _) = assented();
    let command = bash(&w, "c1", "echo x > src/db/x.sql && make");
    delegated(&mut w, &command);
    person(&w, "echo x > src/db/x.sql; echo 0 > tests/spec.py");
    let found = w.hook("s", HookEvent::Ran(command));
    let paths: Vec<_> = found.verdict.breaches.iter().map(|b| &b.path).collect();
    assert!(
        paths.iter().all(|p| *p == "tests/spec.py") && !paths.is_empty(),
        "only what the person was not asked about: {paths:?}"
    );
}

#[test]
fn a_session_that_starts_again_launders_nothing() {
    let mut w = guarded(false);
    w.hook("s", HookEvent::SessionStart);
    let server = Attempt {
        background: true,
        ..bash(&w, "1", "./later.sh &")
    };
    w.hook("s", HookEvent::Attempt(server.clone()));
    w.hook("s", HookEvent::Ran(server));
    person(&w, "echo 0 > tests/spec.py");
    // The agent's memory is made shorter, which starts the session once more.
    w.hook("s", HookEvent::SessionStart);
    assert_eq!(open(&w).len(), 2, "what the command did is found");
    let told = w.hook("s", HookEvent::Stopped { turn: true });
    assert_eq!(told.verdict.verdict, VerdictKind::Deny);
    assert!(told.verdict.reason.contains("tests/spec.py"), "{told:?}");
}

#[test]
fn what_changed_between_two_runs_is_told_once_and_strikes_nobody() {
    let mut w = guarded(false);
    w.hook("s", HookEvent::SessionStart);
    w.hook("s", HookEvent::SessionEnd);
    person(&w, "echo 0 > tests/spec.py");
    let told = |w: &World| {
        recent(
            w,
            |kind| matches!(kind, EventKind::ChangeNotAttributed { path, .. } if path == "tests/spec.py"),
        )
    };
    w.hook("t", HookEvent::SessionStart);
    assert_eq!(told(&w), 1);
    assert_eq!(open(&w).len(), 0);
    w.hook("t", HookEvent::SessionStart);
    assert_eq!(told(&w), 1, "it is how things are now");
}

#[test]
fn a_pull_of_many_files_does_not_bury_the_rest() {
    let mut w = guarded(false);
    w.hook("s", HookEvent::SessionStart);
    person(&w, "for n in $(seq 60); do echo x > other$n; done");
    w.hook("s", HookEvent::Stopped { turn: true });
    let state = w.engine.as_ref().unwrap().core().state();
    let told: Vec<&str> = state
        .recent
        .iter()
        .filter_map(|e| match &e.kind {
            EventKind::ChangeNotAttributed { path, .. } => Some(path.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), 20);
    assert!(told[19].ends_with("and 40 more"), "{}", told[19]);
}

#[test]
fn a_tree_that_was_too_large_is_watched_as_soon_as_it_is_not() {
    let mut w = guarded(false);
    w.config.tree.max_files = 40;
    w.restart();
    person(
        &w,
        "mkdir made; for n in $(seq 60); do echo x > made/$n; done",
    );
    let watched = |w: &mut World| {
        let root = w.root.clone();
        w.ask(TreeState { root }).unwrap()
    };
    assert!(
        watched(&mut w)
            .fault
            .unwrap()
            .contains("more than 40 files")
    );
    // What the fault advises: ignore what is made.
    person(&w, "echo made/ >> .gitignore");
    let now = watched(&mut w);
    assert_eq!((now.fault, now.watched.is_some()), (None, true));
    let found = run(&mut w, "s", "./fix.sh", "echo 0 > tests/spec.py");
    assert_eq!(found.verdict.verdict, VerdictKind::Deny);
}

/// An engine that stays watches the trees; what it finds is what a look at every file finds.
#[test]
fn a_watched_tree_finds_what_a_whole_look_finds() {
    let mut w = guarded(false);
    w.engine.as_ref().unwrap().disk().stay();
    w.hook("s", HookEvent::SessionStart);
    // The first look starts the watch; from the second on only what was reported is looked at.
    run(&mut w, "s", "true && make", "true");
    for (what, script, path) in [
        ("changed", "echo 0 > tests/spec.py", "tests/spec.py"),
        ("made", "echo x > other.txt", "other.txt"),
        (
            "in a new folder",
            "mkdir -p new/deep && echo x > new/deep/f",
            "new/deep/f",
        ),
        ("in it again", "echo y > new/deep/g", "new/deep/g"),
        (
            "a folder that came again",
            "rm -r new && mkdir new && echo z > new/h",
            "new/h",
        ),
        ("in that one", "echo z > new/i", "new/i"),
        (
            "moved in",
            "mkdir src/m && echo 1 > src/m/k && mv src/m m",
            "m/k",
        ),
        ("after a move", "echo 2 > m/l", "m/l"),
        (
            "through another name",
            "ln tests/spec.py src/two && echo 3 > src/two",
            "tests/spec.py",
        ),
        ("and again", "echo 4 >> src/two", "tests/spec.py"),
        ("mode", "chmod +x README.md", "README.md"),
        ("removed", "rm README.md", "README.md"),
    ] {
        let found = run(&mut w, "s", &format!("./{what}"), script);
        let reason = &found.verdict.reason;
        assert!(reason.contains(path), "{what}: {found:?}");
        let plan = found.plan_id.unwrap();
        let plan = w.plan_ref(plan);
        // Some are found for the third time.
        let _ = w.ask(PlanResume { plan });
    }
    let quiet = run(
        &mut w,
        "s",
        "./nothing",
        "echo ok > src/b.py; cat README.md || true",
    );
    assert!(quiet.verdict.lets_through(), "{quiet:?}");
}
