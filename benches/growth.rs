//! What a store of years costs. `cargo bench --bench growth`
//!
//! A million events, 10,000 sessions that ended, 1,000 invariants of which 20 are in force where
//! the hooks are called. The store is made once and copied for each measurement.
//! `INVAR_BENCH_STORE` names another one; with `INVAR_BENCH_BINARY` it must be one which that
//! build can open.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a bench fails by panicking"
)]

#[path = "support/mod.rs"]
mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use support::{
    history::{YEARS, folder, write},
    process::{Line, World, check, hold, median, memory, other_build, tell, worst},
};

/// How often an engine is started.
const STARTS: usize = 5;

/// Sessions that run from their start to their end in a store that is new, and what is in force.
const SESSIONS: usize = 300;
const IN_FORCE: usize = 200;

/// How many edits are allowed with few invariants in force, and with many.
const EDITS: usize = 2_000;

/// How often a hook is called without an engine, and with one.
const HOOKS: usize = 30;

fn main() {
    // `cargo test --benches` and `cargo bench` both come here; only the latter measures.
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let store = match std::env::var_os("INVAR_BENCH_STORE") {
        Some(path) => PathBuf::from(path),
        None => {
            assert!(
                other_build().is_none(),
                "set INVAR_BENCH_STORE to a store of that build"
            );
            made()
        }
    };
    tell("the store's file, MB", megabytes(&store));
    let mut all = starts(&store);
    all &= hooks(&store);
    verify(&store);
    sessions();
    all &= attempts();
    hold(all);
}

fn megabytes(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len() >> 20
}

/// The store that this build writes; made again when the bench was built again since.
fn made() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("growth.redb");
    let when = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).ok();
    let program = when(&std::env::current_exe().unwrap());
    if when(&path) > program {
        return path;
    }
    let fresh = path.with_extension("new");
    let _ = fs::remove_file(&fresh);
    let start = Instant::now();
    let events = write(&fresh, YEARS);
    fs::rename(&fresh, &path).unwrap();
    tell(&format!("{events} events written"), start.elapsed());
    path
}

/// A world whose store is a copy of that one, and whose project is one of those it knows.
fn world(store: &Path) -> World {
    let world = World::new(&folder(7));
    let own = world.store();
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::copy(store, &own).unwrap();
    // Else whoever commits first waits until the whole copy has reached the disk.
    fs::File::open(&own).unwrap().sync_all().unwrap();
    world
}

/// Engines that start: after a clean end, and after one that was killed.
fn starts(store: &Path) -> bool {
    let world = world(store);
    // A store of an older schema is brought to this one by whoever opens it first.
    let (first, engine) = world.serve();
    tell("the first start on the store", first);
    drop(engine);
    tell("the store's file then, MB", megabytes(&world.store()));
    let (mut times, mut resident) = (Vec::new(), 0);
    for _ in 0..STARTS {
        let (time, engine) = world.serve();
        times.push(time);
        resident = memory(engine.pid()).max(resident);
    }
    world.serve().1.kill();
    let (killed, engine) = world.serve();
    drop(engine);
    tell("a start after a kill", killed);
    tell(&format!("the slowest of {STARTS} starts"), worst(&times));
    let start = median(times);
    let quick = check(
        &format!("engine start until a ping, median of {STARTS}"),
        start,
        start < Duration::from_millis(300),
        "300 ms",
    );
    let small = check(
        "memory after the start, MB",
        resident,
        resident < 80,
        "80 MB",
    );
    quick && small
}

/// Hooks that allow an edit, in a session that is under way.
fn hooks(store: &Path) -> bool {
    let world = world(store);
    let edit = || {
        let (time, output) = world.hook(&world.edit("growth", "src/a.rs"));
        assert!(output.status.success(), "{output:?}");
        assert!(output.stdout.is_empty(), "an allow is silence: {output:?}");
        time
    };
    tell("the first hook of a session, no engine", edit());
    let alone = median((0..HOOKS).map(|_| edit()).collect());
    let (_, engine) = world.serve();
    edit();
    let served = median((0..HOOKS).map(|_| edit()).collect());
    tell("memory after these hooks, MB", memory(engine.pid()));
    drop(engine);
    tell(&format!("hook with an engine, median of {HOOKS}"), served);
    check(
        &format!("hook without an engine, median of {HOOKS}"),
        alone,
        alone < Duration::from_millis(15),
        "15 ms",
    )
}

fn verify(store: &Path) {
    let world = world(store);
    let start = Instant::now();
    world.ok(&["log", "verify"]);
    tell("log verify", start.elapsed());
}

/// What whole sessions leave behind in an engine and its store: one edit each, and the end.
fn sessions() {
    let world = in_force(IN_FORCE);
    let (_, engine) = world.serve();
    let before = memory(engine.pid());
    for number in 0..SESSIONS {
        let session = format!("s{number}");
        let moment = |event: &str| {
            serde_json::json!({
                "session_id": session, "cwd": world.project, "hook_event_name": event,
                "source": "startup", "reason": "exit",
            })
        };
        for payload in [
            moment("SessionStart"),
            world.edit(&session, "src/a.rs"),
            moment("SessionEnd"),
        ] {
            let (_, output) = world.hook(&payload);
            let answer = String::from_utf8_lossy(&output.stdout);
            let refused = !output.status.success() || answer.contains("\"deny\"");
            assert!(!refused, "{payload}: {output:?}");
        }
    }
    let grown = memory(engine.pid()).saturating_sub(before);
    drop(engine);
    println!("{SESSIONS} sessions with {IN_FORCE} invariants in force, from start to end:");
    tell("  memory of the engine grown, MB", grown);
    tell("  the store's file, MB", megabytes(&world.store()));
    let log = world.ok(&["--format", "json", "log", "verify"]);
    let log: serde_json::Value = serde_json::from_slice(&log.stdout).unwrap();
    tell("  events", log["data"]["log"]["verified"].as_u64().unwrap());
}

/// An edit that is allowed, over the socket, with few and with many invariants in force. What the
/// many cost more is less than merging them would take.
fn attempts() -> bool {
    let (few, many) = (allowed(10), allowed(1_000));
    let more = many.saturating_sub(few);
    check(
        "what 1,000 in force cost more",
        more,
        more < Duration::from_micros(100),
        "0.1 ms",
    )
}

/// The median time of an edit that is allowed; tells besides what a hook takes that has to compile
/// what is in force by itself.
fn allowed(invariants: usize) -> Duration {
    let world = in_force(invariants);
    let hook = |_| {
        let (took, output) = world.hook(&world.edit("alone", "src/a.rs"));
        assert!(output.stdout.is_empty(), "{output:?}");
        took
    };
    hook(0);
    let alone = median((0..HOOKS).map(hook).collect());
    println!("{invariants} invariants in force, and nothing else in the store:");
    tell("  hook without an engine, median", alone);
    let (_, engine) = world.serve();
    let mut line = Line::open(&engine.socket).unwrap();
    let mut edit = |number: usize| {
        let (took, answer) = line.ask(&serde_json::json!({
            "op": "hook", "agent": "claude-code", "session": "growth",
            "project_dir": world.project,
            "what": {
                "event": "attempt", "tool": "Edit", "cwd": world.project,
                "effects": [{"effect": "change", "path": format!("src/f{}.rs", number % 100)}],
                "call": format!("toolu_{number}"),
            },
        }));
        assert!(answer.contains(r#""verdict":"allow""#), "{answer}");
        took
    };
    // The first one begins the plan's execution, and compiles what is in force.
    edit(0);
    let edit = median((1..=EDITS).map(edit).collect());
    tell("  an edit allowed over the socket, median", edit);
    edit
}

/// A world in which that many invariants are in force, half of them with a machine check.
fn in_force(count: usize) -> World {
    let mut text = "version = 1\n".to_owned();
    for number in 0..count {
        let (layer, sentence) = match number % 2 {
            0 => (
                "layer = \"plain\"".to_owned(),
                format!("Module {number} keeps its public interface as it is"),
            ),
            _ => {
                let pattern = format!("packages/p{number}/tests/**/*_{number}.py");
                (
                    format!("layer = \"letter\"\nuntouched = \"{pattern}\""),
                    format!("{pattern} is untouched"),
                )
            }
        };
        // As `invar export` writes them.
        text += &format!(
            "\n[[invariants]]\nid = \"01M8XD8DQ4K8VRZ6A181Z{number:05}\"\n\
             text = \"{sentence}\"\nscope = \"global\"\nsource = \"\"\n{layer}\n\
             severity = \"error\"\nnon_overridable = false\nactive = true\n\
             created_at = \"2026-01-05T08:00:00Z\"\nrevision = 1\norigin = \"user\"\n"
        );
    }
    let world = World::new("app");
    let list = world.base().join("invariants.toml");
    fs::write(&list, text).unwrap();
    world.ok(&["import", list.to_str().unwrap()]);
    world
}
