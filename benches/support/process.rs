//! The program as whole processes: a home of its own, hooks, an engine, a connection to it.
//!
//! `INVAR_BENCH_BINARY` names another build of the program, so that the same code measures an
//! older one. Budgets are then told and not held.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use invar::engine::protocol::PROTOCOL;
use rustix::process::{Pid, Signal, kill_process};

/// What the first build speaks.
const FIRST_PROTOCOL: u32 = 1;

/// How long an engine may take to answer for the first time before the bench gives up.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// The other build that is measured, where there is one.
pub fn other_build() -> Option<PathBuf> {
    std::env::var_os("INVAR_BENCH_BINARY").map(PathBuf::from)
}

/// The program that is measured.
pub fn binary() -> PathBuf {
    other_build().unwrap_or_else(|| env!("CARGO_BIN_EXE_invar").into())
}

/// The version of the socket's language that the measured program speaks;
/// `INVAR_BENCH_PROTOCOL` says it for a build that is neither the first nor this one.
pub fn protocol() -> u32 {
    let told = std::env::var("INVAR_BENCH_PROTOCOL").ok();
    let own = other_build().map_or(PROTOCOL, |_| FIRST_PROTOCOL);
    told.map_or(own, |told| told.parse().unwrap())
}

/// The middle of some times.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The time that this share of all stays below, such as 0.99.
pub fn percentile(times: &mut [Duration], share: f64) -> Duration {
    times.sort();
    let at = (times.len() as f64 * share) as usize;
    times[at.min(times.len() - 1)]
}

/// The longest of some times.
pub fn worst(times: &[Duration]) -> Duration {
    times.iter().max().copied().unwrap_or_default()
}

/// One line of the report; whether the budget holds.
pub fn check(what: &str, measured: impl std::fmt::Debug, holds: bool, budget: &str) -> bool {
    let verdict = if holds { "holds" } else { "BROKEN" };
    println!(
        "{what:<52} {:>14}   budget {budget:<22} {verdict}",
        format!("{measured:?}")
    );
    holds
}

/// One line of the report for what has no budget.
pub fn tell(what: &str, measured: impl std::fmt::Debug) {
    println!("{what:<52} {:>14}", format!("{measured:?}"));
}

/// Fails the bench when a budget of this build is broken.
pub fn hold(all: bool) {
    match other_build() {
        Some(path) => println!("measured: {}; no budget is held", path.display()),
        None => assert!(all, "a budget is broken"),
    }
}

/// Memory of a process in MB.
pub fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes / 1024
}

/// Writes to a process and waits for its end; the whole time of it.
pub fn feed(mut command: Command, input: &str) -> (Duration, Output) {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    (start.elapsed(), output)
}

/// A home and a project that nobody else uses. No engine is started but by the bench.
pub struct World {
    base: tempfile::TempDir,
    pub home: PathBuf,
    pub project: PathBuf,
}

impl World {
    /// The project is an empty folder of that name.
    pub fn new(project: &str) -> Self {
        let base = tempfile::tempdir().unwrap();
        let home = base.path().join("home");
        let project = base.path().join(project);
        let config = home.join(".config/invar");
        fs::create_dir_all(&config).unwrap();
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::write(config.join("config.toml"), "[engine]\nautostart = false\n").unwrap();
        Self {
            base,
            home,
            project,
        }
    }

    /// A folder for whatever else.
    pub fn base(&self) -> &Path {
        self.base.path()
    }

    pub fn store(&self) -> PathBuf {
        self.home.join(".local/share/invar/invar.redb")
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(args)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .env("CLAUDE_PROJECT_DIR", &self.project)
            .current_dir(&self.project)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command that must succeed.
    pub fn ok(&self, args: &[&str]) -> Output {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        output
    }

    /// Calls Claude Code's hook.
    pub fn hook(&self, payload: &serde_json::Value) -> (Duration, Output) {
        feed(self.command(&["hook", "claude-code"]), &payload.to_string())
    }

    /// The payload before an edit of a file of the project.
    pub fn edit(&self, session: &str, file: &str) -> serde_json::Value {
        serde_json::json!({
            "session_id": session, "cwd": self.project, "hook_event_name": "PreToolUse",
            "tool_name": "Edit",
            "tool_input": {"file_path": self.project.join(file), "old_string": "a", "new_string": "b"},
        })
    }

    /// Starts an engine; answers when it has answered a ping. The time is from the start of the
    /// process.
    pub fn serve(&self) -> (Duration, Serving) {
        let start = Instant::now();
        let mut child = self
            .command(&["serve"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut owner = self.store().into_os_string();
        owner.push(".owner");
        let pid = child.id();
        loop {
            if let Some(socket) = socket_of(Path::new(&owner), pid)
                && let Some(mut line) = Line::open(&socket)
            {
                line.ping();
                return (start.elapsed(), Serving { child, socket });
            }
            assert!(child.try_wait().unwrap().is_none(), "the engine ended");
            assert!(start.elapsed() < PATIENCE, "the engine did not answer");
            // A thread that spins would take a processor from the engine.
            std::thread::sleep(Duration::from_micros(500));
        }
    }
}

/// Where that process listens, once it has said so.
fn socket_of(owner: &Path, pid: u32) -> Option<PathBuf> {
    let text = fs::read(owner).ok()?;
    let told: serde_json::Value = serde_json::from_slice(&text).ok()?;
    (told["pid"].as_u64() == Some(pid.into())).then(|| told["socket"].as_str().unwrap().into())
}

/// An engine in a process of its own, until it is dropped.
pub struct Serving {
    child: Child,
    pub socket: PathBuf,
}

impl Serving {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a power cut would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It writes what is pending and closes its store.
        if self.child.try_wait().unwrap().is_none() {
            let pid = i32::try_from(self.child.id()).unwrap();
            kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
            self.child.wait().unwrap();
        }
    }
}

/// A connection to an engine's socket: a line of JSON for each request and answer.
pub struct Line {
    stream: BufReader<UnixStream>,
    answer: Vec<u8>,
}

impl Line {
    pub fn open(socket: &Path) -> Option<Self> {
        let stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Some(Self {
            stream: BufReader::new(stream),
            answer: Vec::new(),
        })
    }

    /// How long the engine took to answer a request, which is JSON with its name as `op`, and
    /// the answer.
    pub fn ask(&mut self, request: &serde_json::Value) -> (Duration, String) {
        let line = format!("{{\"v\":{},\"id\":1,\"call\":{request}}}\n", protocol());
        self.answer.clear();
        let start = Instant::now();
        self.stream.get_mut().write_all(line.as_bytes()).unwrap();
        self.stream.read_until(b'\n', &mut self.answer).unwrap();
        let took = start.elapsed();
        let answer = String::from_utf8_lossy(&self.answer).into_owned();
        let good = answer.starts_with(r#"{"line":"ok""#);
        assert!(good, "the engine answered {answer:?}");
        (took, answer)
    }

    /// How long the engine took to say that it is there.
    pub fn ping(&mut self) -> Duration {
        self.ask(&serde_json::json!({"op": "ping"})).0
    }
}
