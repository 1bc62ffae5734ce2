//! How long others wait while hooks work on a large project. `cargo bench --bench waits`
//!
//! Four agents whose commands may write make the engine look at a tree of 40,000 files; meanwhile
//! one connection pings. A ping decides nothing, so that all of its time is waiting.
//!
//! The budget is held while each command takes a moment, as commands do. When the four do nothing
//! but call hooks, a machine of two processors is full, and an echo between two threads of the
//! bench waits as well: that is reported beside, to tell the engine's part from the machine's.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a bench fails by panicking"
)]

#[path = "support/mod.rs"]
mod support;

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use serde_json::json;
use support::process::{Line, World, check, hold, median, percentile, protocol, tell, worst};

const FILES: usize = 40_000;
const FOLDERS: usize = 800;
const HOOKS: usize = 4;

/// How long one scenario is measured.
const SPAN: Duration = Duration::from_secs(6);

/// How long a command runs, between its two hooks.
const TAKES: Duration = Duration::from_millis(50);

/// The time between two pings.
const PAUSE: Duration = Duration::from_millis(1);

const BUDGET: Duration = Duration::from_millis(1);

fn main() {
    // `cargo test --benches` and `cargo bench` both come here; only the latter measures.
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let world = World::new("big");
    project(&world.project);
    println!(
        "{FILES} files, {HOOKS} hook processes in a loop, protocol {}",
        protocol()
    );
    // Only warned of, so that no strike halts the plan and each round costs the same.
    let guard = |pattern| world.ok(&["add", "--untouched", pattern, "--severity", "warning"]);
    guard("tests/keep.py");
    let edits = "sed -i 's/<= n/< n/' src/loader.rs && pytest -q";
    let mut all = scenario(&world, "commands that may write", edits, TAKES);
    // The machine is full: reported, and not held.
    scenario(&world, "hooks and nothing else", edits, Duration::ZERO);
    guard("**/*.snap");
    let cleans = "rm -rf build && git clean -fdx";
    all &= scenario(&world, "searches for what a pattern guards", cleans, TAKES);
    hold(all);
}

/// A git repository with all files tracked.
fn project(root: &Path) {
    let text = "fn main() { println!(\"hello\"); }\n".repeat(20);
    for folder in 0..FOLDERS {
        let folder = root.join(format!("src/m{}/n{folder}", folder % 20));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..FILES / FOLDERS {
            fs::write(folder.join(format!("f{file}.rs")), &text).unwrap();
        }
    }
    let _ = fs::remove_dir(root.join(".git"));
    for args in [["init", "-q"].as_slice(), &["add", "-A"]] {
        let git = Command::new("git").args(args).current_dir(root).status();
        assert!(git.unwrap().success(), "git {args:?}");
    }
}

/// One command that all agents run, each for that long, between its two hooks; whether the budget
/// holds.
fn scenario(world: &World, what: &str, command: &str, takes: Duration) -> bool {
    println!("\n{what}: {command} ({takes:?} each)");
    let (_, engine) = world.serve();
    let mut alone = Waits::default();
    ping_until(&engine.socket, &mut alone, |passed| {
        passed > Duration::from_secs(1)
    });
    let (stop, ready) = (&AtomicBool::new(false), &AtomicUsize::new(0));
    let (mut waits, mut looks) = (Waits::default(), Vec::new());
    std::thread::scope(|scope| {
        let hooks: Vec<_> = (0..HOOKS)
            .map(|n| scope.spawn(move || agent(world, n, (command, takes), ready, stop)))
            .collect();
        let stopping = Stop(stop);
        // The first look at the tree is another matter.
        while ready.load(Ordering::SeqCst) < HOOKS {
            assert!(!hooks.iter().any(|h| h.is_finished()), "a hook failed");
            std::thread::sleep(PAUSE);
        }
        ping_until(&engine.socket, &mut waits, |passed| passed > SPAN);
        drop(stopping);
        looks.extend(hooks.into_iter().flat_map(|h| h.join().unwrap()));
    });
    tell("  hooks answered", looks.len());
    tell("  a hook as a whole process, median", median(looks));
    let quiet = percentile(&mut alone.echoes, 0.99);
    tell("  echo with nothing else at work, p99", quiet);
    let quiet = percentile(&mut alone.pings, 0.99);
    tell("  ping with nothing else at work, p99", quiet);
    let echo = percentile(&mut waits.echoes, 0.99);
    tell("  echo, p99", echo);
    tell("  echo, worst", worst(&waits.echoes));
    tell("  pings", waits.pings.len());
    let mut all = with_those_who_came_meanwhile(&waits.pings);
    tell("  ping, median", median(all.clone()));
    tell("  ping, worst", worst(&all));
    let late = percentile(&mut all, 0.99);
    check("  ping, p99", late, late < BUDGET, "1 ms")
}

/// Stops the agents, also when the bench fails: else it would wait for them for ever.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// What the pings took, and a round trip between two threads of the bench in turns with them: what
/// the machine alone makes one wait, with its processors taken.
#[derive(Default)]
struct Waits {
    pings: Vec<Duration>,
    echoes: Vec<Duration>,
}

fn ping_until(socket: &Path, waits: &mut Waits, over: impl Fn(Duration) -> bool) {
    let mut line = Line::open(socket).unwrap();
    let (mut near, mut far) = UnixStream::pair().unwrap();
    let echo = std::thread::spawn(move || {
        let mut byte = [0];
        while far.read_exact(&mut byte).is_ok() {
            far.write_all(&byte).unwrap();
        }
    });
    let start = Instant::now();
    while !over(start.elapsed()) {
        waits.pings.push(line.ping());
        std::thread::sleep(PAUSE);
        let sent = Instant::now();
        near.write_all(&[0]).unwrap();
        near.read_exact(&mut [0]).unwrap();
        waits.echoes.push(sent.elapsed());
        std::thread::sleep(PAUSE);
    }
    drop(near);
    echo.join().unwrap();
}

/// Pings come one after the other, so that a long one stands for all that would have come while
/// it lasted, each of which waits a little less.
fn with_those_who_came_meanwhile(pings: &[Duration]) -> Vec<Duration> {
    let mut all = Vec::new();
    for ping in pings {
        let mut left = *ping;
        all.push(left);
        while left > 2 * PAUSE {
            left -= 2 * PAUSE;
            all.push(left);
        }
    }
    all
}

/// One agent: its command, and what the command did to one file, again and again. The times of
/// its hooks.
fn agent(
    world: &World,
    number: usize,
    (command, takes): (&str, Duration),
    ready: &AtomicUsize,
    stop: &AtomicBool,
) -> Vec<Duration> {
    let session = format!("waits-{number}");
    let file = world.project.join(format!("src/own{number}.rs"));
    let hook = |event: &str, round: usize| {
        let (time, output) = world.hook(&json!({
            "session_id": session, "cwd": world.project, "hook_event_name": event,
            "tool_name": "Bash", "tool_input": {"command": command},
            "tool_use_id": format!("toolu_{number}_{round}"),
            "tool_response": {"stdout": "", "stderr": ""},
        }));
        let answer = String::from_utf8_lossy(&output.stdout);
        let refused = !output.status.success() || answer.contains("\"deny\"");
        assert!(!refused, "{event}: {output:?}");
        time
    };
    let mut times = Vec::new();
    for round in 0.. {
        let before = hook("PreToolUse", round);
        std::thread::sleep(takes);
        fs::write(&file, format!("// {round}\n")).unwrap();
        let after = hook("PostToolUse", round);
        match round {
            0 => drop(ready.fetch_add(1, Ordering::SeqCst)),
            _ => times.extend([before, after]),
        }
        if stop.load(Ordering::SeqCst) {
            break;
        }
    }
    times
}
