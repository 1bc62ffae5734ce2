//! The budgets: each is measured and must hold. `cargo bench --bench budgets`

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a bench fails by panicking"
)]

#[path = "support/mod.rs"]
mod support;

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    hint::black_box,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use invar::{
    engine::{
        Call,
        disk::places::OwnDisk,
        disk::tree::Snapshot,
        protocol::{ClientLine, PROTOCOL},
        requests::{HookCall, HookEvent},
    },
    model::{Attempt, Effect},
    rules::shell::{Surroundings, read},
};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use support::process::{check, feed, median, memory, tell};

/// The median time of one call, from batches.
fn time(mut call: impl FnMut(), batch: u32, batches: usize) -> Duration {
    for _ in 0..batch {
        call();
    }
    let one = |_| {
        let start = Instant::now();
        for _ in 0..batch {
            call();
        }
        start.elapsed() / batch
    };
    median((0..batches).map(one).collect())
}

fn main() {
    // `cargo test --benches` and `cargo bench` both come here; only the latter measures.
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let mut all = true;
    let set = support::letter_set(100);
    let letter = time(
        || drop(black_box(set.broken_by(black_box(support::place())))),
        1000,
        101,
    );
    all &= check(
        "letter check, 1 path against 100 patterns",
        letter,
        letter < Duration::from_micros(5),
        "5 µs",
    );

    all &= shell();
    all &= tree();

    let mut screen = support::Screen::new(100_000);
    let frame = time(|| screen.frame(), 10, 51);
    all &= check(
        "frame at 160x50 with 100k rows",
        frame,
        frame < Duration::from_millis(2),
        "2 ms",
    );

    let dir = tempfile::tempdir().unwrap();
    all &= hook(dir.path());
    all &= breach_on_screen(dir.path());
    all &= idle(dir.path());
    let quiet = tempfile::tempdir().unwrap();
    all &= flood(quiet.path());
    assert!(all, "a budget is broken");
}

/// A command line of the usual kind, and a heredoc of 100 KB.
fn shell() -> bool {
    let at = Surroundings {
        cwd: Path::new("/w"),
        root: Path::new("/w"),
        home: None,
        scratch: Path::new("/tmp"),
        disk: &OwnDisk,
    };
    let line = "cd src && FOO=1 cargo test --all 2>&1 | tail -20 && sed -i 's/a/b/' lib.rs";
    let usual = time(|| drop(black_box(read(black_box(line), at))), 50, 51);
    let long = format!(
        "cat > src/a.rs <<'EOF'\n{}EOF\n",
        "let x = 1;\n".repeat(9000)
    );
    let long = time(|| drop(black_box(read(black_box(&long), at))), 1, 21);
    let one = check(
        "command line of four commands, read",
        usual,
        usual < Duration::from_millis(1),
        "1 ms",
    );
    let two = check(
        "heredoc of 100 KB, read",
        long,
        long < Duration::from_millis(20),
        "20 ms",
    );
    one && two
}

/// A project of 50,000 files: the first snapshot, and a later look with 10 changed files.
fn tree() -> bool {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("w");
    let text = "fn main() { println!(\"hello\"); }\n".repeat(40);
    for folder in 0..1000 {
        let folder = root.join(format!("src/m{}/n{folder}", folder % 20));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..50 {
            fs::write(folder.join(format!("f{file}.rs")), &text).unwrap();
        }
    }
    fs::create_dir_all(root.join(".git")).unwrap();
    let start = Instant::now();
    let mut snapshot = Snapshot::take(&root, &BTreeSet::new(), 100_000).unwrap();
    let first = start.elapsed();
    // What changed within the tick of the first look is read once more.
    std::thread::sleep(Duration::from_millis(100));
    snapshot.refresh(&root, 100_000).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    snapshot.refresh(&root, 100_000).unwrap();
    let looks = (0..11).map(|round| {
        for file in 0..10 {
            let file = root.join(format!("src/m3/n3/f{file}.rs"));
            fs::write(file, format!("// {round}\n{text}")).unwrap();
        }
        let start = Instant::now();
        let changes = snapshot.refresh(&root, 100_000).unwrap();
        assert_eq!(changes.len(), 10);
        start.elapsed()
    });
    let look = median(looks.collect());
    let one = check(
        "first snapshot of 50,000 files (1.4 KB each)",
        first,
        first < Duration::from_secs(2),
        "2 s",
    );
    let two = check(
        "look at 50,000 files, 10 of them changed",
        look,
        look < Duration::from_millis(150),
        "150 ms",
    );
    one && two
}

fn invar(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_invar"));
    command
        .args(args)
        .env_clear()
        .env("HOME", home)
        .env("TERM", "xterm-256color")
        .current_dir(home)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

fn payload(home: &Path, file: &str) -> String {
    format!(
        r#"{{"session_id":"s","cwd":"{0}","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{{"file_path":"{0}/{file}","old_string":"a","new_string":"b"}}}}"#,
        home.display()
    )
}

/// A Rust program that only reads stdin and prints.
fn baseline(folder: &Path) -> PathBuf {
    let source = folder.join("baseline.rs");
    fs::write(
        &source,
        "fn main() { let s = std::io::read_to_string(std::io::stdin()).unwrap(); print!(\"{}\", s.len()); }",
    )
    .unwrap();
    let program = folder.join("baseline");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let built = Command::new(rustc)
        .args(["-O", "-o"])
        .arg(&program)
        .arg(&source)
        .status()
        .unwrap();
    assert!(built.success());
    program
}

/// The hook as a whole process beside an engine that runs, against the baseline, in turns.
fn hook(home: &Path) -> bool {
    let config = home.join(".config/invar");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[engine]\nautostart = false\n").unwrap();
    fs::create_dir_all(home.join(".git")).unwrap();
    assert!(
        invar(home, &["add", "--no-edits-outside", "src/**"])
            .status()
            .unwrap()
            .success()
    );
    let mut engine = invar(home, &["serve"]).spawn().unwrap();
    while !home.join(".local/share/invar/invar.redb.owner").exists() {
        std::thread::yield_now();
    }
    let program = baseline(home);
    let input = payload(home, "src/a.rs");
    let (mut plain, mut hooks) = (Vec::new(), Vec::new());
    for _ in 0..400 {
        let mut command = Command::new(&program);
        command.env_clear().stdout(Stdio::piped());
        plain.push(feed(command, &input).0);
        let (time, answer) = feed(invar(home, &["hook", "claude-code"]), &input);
        assert!(answer.stdout.is_empty(), "an allow is silence");
        hooks.push(time);
    }
    let (plain, hooks) = (median(plain), median(hooks));
    let ratio = hooks.as_secs_f64() / plain.as_secs_f64();
    tell("a program that reads stdin and prints", plain);
    tell("hook process, allowed, engine running", hooks);
    let held = check(
        "hook process against that program",
        format!("{ratio:.2}x"),
        ratio < 2.0,
        "2x",
    );
    let denied: Vec<Duration> = (0..50)
        .map(|n| {
            feed(
                invar(home, &["hook", "claude-code"]),
                &payload(home, &format!("x{n}")),
            )
            .0
        })
        .collect();
    tell("hook process, denied and durable", median(denied));
    engine.kill().unwrap();
    engine.wait().unwrap();
    held
}

struct Watched {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    written: Arc<AtomicUsize>,
    screen: Arc<Mutex<vt100::Parser>>,
    _master: Box<dyn portable_pty::MasterPty + Send>,
}

fn open_screen(home: &Path) -> Watched {
    let size = PtySize {
        rows: 50,
        cols: 160,
        pixel_width: 0,
        pixel_height: 0,
    };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_invar"));
    command.env_clear();
    command.env("HOME", home);
    command.env("TERM", "xterm-256color");
    command.env("LANG", "C.UTF-8");
    command.cwd(home);
    let child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let writer = pair.master.take_writer().unwrap();
    let written = Arc::new(AtomicUsize::new(0));
    let cells = |n: u16| n.try_into().unwrap();
    let screen = Arc::new(Mutex::new(vt100::Parser::new(cells(50), cells(160), 0)));
    let (count, emulator) = (Arc::clone(&written), Arc::clone(&screen));
    std::thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            emulator.lock().unwrap().process(&buffer[..n]);
            count.fetch_add(n, Ordering::SeqCst);
        }
    });
    let watched = Watched {
        child,
        writer,
        written,
        screen,
        _master: pair.master,
    };
    while !contains(&watched, "in force") {
        std::thread::sleep(Duration::from_millis(1));
    }
    watched
}

fn contains(watched: &Watched, text: &str) -> bool {
    watched
        .screen
        .lock()
        .unwrap()
        .screen()
        .contents()
        .contains(text)
}

/// From the agent's answer to the breach on the screen; nothing when the screen was first.
fn breach_on_screen(home: &Path) -> bool {
    let mut watched = open_screen(home);
    let mut late = Vec::new();
    for n in 0..20 {
        let name = format!("README{n:02}.md");
        feed(invar(home, &["hook", "claude-code"]), &payload(home, &name));
        let answered = Instant::now();
        while !contains(&watched, &name) {
            // The emulator needs its lock too.
            std::thread::sleep(Duration::from_micros(500));
        }
        late.push(answered.elapsed());
    }
    watched.writer.write_all(b"\x03").unwrap();
    watched.child.wait().unwrap();
    let worst = late.iter().max().copied().unwrap_or_default();
    check(
        "breach on the screen after the answer, worst of 20",
        worst,
        worst < Duration::from_millis(100),
        "100 ms",
    )
}

/// 10,000 breaches a second for 10 seconds from a client on the socket, while a person presses
/// keys: how late the screen answers, what memory does, whether the count is exact.
fn flood(home: &Path) -> bool {
    let (rate, seconds) = (10_000_usize, 10_usize);
    let rule = [
        "add",
        "--global",
        "--severity",
        "warning",
        "--no-edits-outside",
        "nowhere/**",
    ];
    assert!(invar(home, &rule).status().unwrap().success());
    let mut watched = open_screen(home);
    let pid = watched.child.process_id().unwrap();
    let store = home.join(".local/share/invar/invar.redb.owner");
    let owner: serde_json::Value = serde_json::from_slice(&fs::read(store).unwrap()).unwrap();
    let socket = PathBuf::from(owner["socket"].as_str().unwrap());
    let (root, sent) = (home.to_owned(), rate * seconds);
    let warm = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&warm);
    // Lines of the engine's own language, sent without waiting for each answer.
    let client = std::thread::spawn(move || {
        let mut stream = UnixStream::connect(socket).unwrap();
        let answers = BufReader::new(stream.try_clone().unwrap());
        let reader = std::thread::spawn(move || answers.lines().take(sent).count());
        let start = Instant::now();
        for round in 0..seconds * 100 {
            let mut lines = Vec::new();
            for n in 0..rate / 100 {
                let attempt = Attempt {
                    tool: "Edit".into(),
                    cwd: root.clone(),
                    effects: vec![Effect::Change {
                        path: format!("f{round}/{n}").into(),
                    }],
                    ..Attempt::default()
                };
                let line = ClientLine {
                    v: PROTOCOL,
                    id: (round * rate + n) as u64 + 1,
                    subscribe: false,
                    call: Call::HookCall(HookCall::new(
                        "claude-code",
                        "flood",
                        &root,
                        HookEvent::Attempt(attempt),
                    )),
                };
                serde_json::to_writer(&mut lines, &line).unwrap();
                lines.push(b'\n');
            }
            stream.write_all(&lines).unwrap();
            seen.store(round, Ordering::SeqCst);
            let due = Duration::from_millis(10) * (round as u32 + 1);
            std::thread::sleep(due.saturating_sub(start.elapsed()));
        }
        assert_eq!(reader.join().unwrap(), sent, "every call is answered");
        start.elapsed()
    });
    // What is kept is full after the first fifth.
    while warm.load(Ordering::SeqCst) < seconds * 20 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let before = memory(pid);
    let mut late = Vec::new();
    while !client.is_finished() {
        for (key, text, there) in [
            (b"?".as_slice(), "Help: type", true),
            (b"?", "Help: type", false),
        ] {
            let pressed = Instant::now();
            watched.writer.write_all(key).unwrap();
            while contains(&watched, text) != there {
                std::thread::sleep(Duration::from_millis(3));
            }
            late.push(pressed.elapsed());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let took = client.join().unwrap();
    let grown = memory(pid).saturating_sub(before);
    let all = format!("{sent} breaches in all");
    // Those of the benches before it are counted too.
    let exact = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        let contents = watched.screen.lock().unwrap().screen().contents();
        let shown = contents.split(" breaches in all").next().and_then(|t| {
            t.rsplit(|c: char| !c.is_ascii_digit())
                .next()?
                .parse::<usize>()
                .ok()
        });
        shown.is_some_and(|n| (sent..sent + 2000).contains(&n))
    });
    watched.writer.write_all(b"\x03").unwrap();
    watched.child.wait().unwrap();
    let log = invar(home, &["--format", "json", "log", "verify"])
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    println!("flood: {all} wanted, log {}", log.trim());
    let middle = median(late.clone());
    let worst = late.iter().max().copied().unwrap_or_default();
    let rate_holds = took < Duration::from_secs(seconds as u64) + Duration::from_millis(500);
    let mut holds = check(
        "flood of 10,000 breaches a second for 10 s, took",
        took,
        rate_holds,
        "10.5 s",
    );
    holds &= check(
        "  a key answered meanwhile, median",
        middle,
        middle < Duration::from_millis(40),
        "40 ms",
    );
    holds &= check(
        "  a key answered meanwhile, worst",
        worst,
        worst < Duration::from_millis(100),
        "100 ms",
    );
    holds &= check(
        "  memory grown after the first 2 s, MB",
        grown,
        // The store's page cache fills to its limit of 32 MiB meanwhile.
        grown < 40,
        "40 MB",
    );
    holds &= check("  the count on the screen is exact", exact, exact, "true");
    holds
}

/// How often each thread of the process went to sleep, by its id.
fn switches(pid: u32) -> HashMap<String, u64> {
    let mut all = HashMap::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let task = task.unwrap();
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let line = status
            .lines()
            .find(|l| l.starts_with("voluntary_ctxt_switches"));
        let count = line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok());
        all.insert(
            task.file_name().to_string_lossy().into_owned(),
            count.unwrap_or(0),
        );
    }
    all
}

/// The terminal program left alone for ten seconds.
fn idle(home: &Path) -> bool {
    let mut watched = open_screen(home);
    let pid = watched.child.process_id().unwrap();
    // The first frames are over when a second goes by without a byte.
    loop {
        let before = watched.written.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_secs(1));
        if watched.written.load(Ordering::SeqCst) == before {
            break;
        }
    }
    let (bytes, woken) = (watched.written.load(Ordering::SeqCst), switches(pid));
    std::thread::sleep(Duration::from_secs(10));
    let bytes = watched.written.load(Ordering::SeqCst) - bytes;
    let now = switches(pid);
    assert!(
        now.keys().all(|task| woken.contains_key(task)),
        "no thread was started meanwhile"
    );
    let woken: u64 = woken
        .iter()
        .map(|(task, n)| now.get(task).map_or(1, |now| now - n))
        .sum();
    watched.writer.write_all(b"q").unwrap();
    watched.child.kill().unwrap();
    watched.child.wait().unwrap();
    check("idle for 10 s: bytes written", bytes, bytes == 0, "0")
        & check(
            "idle for 10 s: wake-ups of all threads",
            woken,
            woken == 0,
            "0",
        )
}
