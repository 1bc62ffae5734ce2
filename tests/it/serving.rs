//! `serve`, `events --follow`, and commands that go through the socket of another process.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::support::{Running, World, wait_for};

fn serve(w: &World) -> Running {
    let running = Running(w.command(&["serve"]).spawn().unwrap());
    let owner = w.store().with_extension("redb.owner");
    wait_for("the engine", || owner.exists().then_some(()));
    running
}

#[test]
fn commands_go_through_the_engine_that_serves_and_last_beyond_it() {
    let w = World::new();
    let mut engine = serve(&w);
    w.ok(&["add", "--global", "through the socket"]);
    let second = w.run(&["serve"]);
    assert_eq!(second.code, 6);
    let pid = engine.0.id().to_string();
    assert!(
        second.stderr.contains(&pid),
        "the holder is named: {}",
        second.stderr
    );
    let pid = rustix::process::Pid::from_raw(engine.0.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(engine.0.wait().unwrap().code(), Some(0));
    assert!(!w.store().with_extension("redb.owner").exists());
    assert!(w.ok(&["list"]).stdout.contains("through the socket"));
}

#[test]
fn an_engine_that_was_killed_leaves_nothing_that_hinders() {
    let w = World::new();
    let mut engine = serve(&w);
    w.ok(&["add", "--global", "before the kill"]);
    engine.0.kill().unwrap();
    engine.0.wait().unwrap();
    w.ok(&["add", "--global", "after the kill"]);
    assert_eq!(w.ok(&["list"]).stdout.lines().count(), 3);
    let _again = serve(&w);
    assert!(w.ok(&["log", "verify"]).stdout.contains("whole"));
}

#[test]
fn following_prints_what_happens_elsewhere_as_it_happens() {
    let w = World::new();
    w.ok(&["add", "--global", "old"]);
    let _engine = serve(&w);
    let mut follower = Running(
        w.command(&["events", "--follow", "--since", "0", "--format", "ndjson"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut lines = BufReader::new(follower.0.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("old"));
    w.ok(&["add", "--global", "new"]);
    assert!(lines.next().unwrap().unwrap().contains("new"));
}

#[test]
fn many_commands_without_an_engine_wait_their_turn() {
    let w = World::new();
    std::thread::scope(|scope| {
        for n in 0..16 {
            let w = &w;
            scope.spawn(move || w.ok(&["add", "--global", &format!("rule {n}")]));
        }
    });
    assert_eq!(
        w.data(&["list"])["invariants"].as_array().unwrap().len(),
        16
    );
}
