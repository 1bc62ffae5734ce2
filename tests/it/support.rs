//! A world of its own for each test: home, store and project in a temporary folder, and an
//! environment that holds nothing else. Waits are for conditions.

use std::{
    fs,
    io::{Read, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::{Value, json};

/// How long a condition may take to come true before the test fails. Reached only by failures.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct World {
    _dir: tempfile::TempDir,
    pub base: PathBuf,
    pub home: PathBuf,
    pub project: PathBuf,
}

/// What a command did.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn new(output: Output) -> Self {
        let signal = output.status.signal().map(|s| 128 + s);
        Self {
            code: output.status.code().or(signal).unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}\n{}\n{}", self.stdout, self.stderr))
    }
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let home = base.join("home");
        let project = base.join("my-app");
        for folder in ["src", "tests", "docs", ".git"] {
            fs::create_dir_all(project.join(folder)).unwrap();
        }
        let world = Self {
            _dir: dir,
            base,
            home,
            project,
        };
        // No engine is left behind by a test.
        world.configure("[engine]\nautostart = false\n");
        world
    }

    pub fn configure(&self, text: &str) {
        let folder = self.home.join(".config/invar");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    pub fn store(&self) -> PathBuf {
        self.home.join(".local/share/invar/invar.redb")
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let path = std::env::var("PATH").unwrap_or_default();
        vec![
            ("HOME", self.home.display().to_string()),
            ("PATH", path),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
        ]
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_invar"));
        command
            .args(args)
            .env_clear()
            .envs(self.environment())
            .current_dir(&self.project)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::new(self.command(args).output().unwrap())
    }

    /// Runs a command that must succeed.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran
    }

    /// Runs a command that must succeed, and gives its data.
    #[track_caller]
    pub fn data(&self, args: &[&str]) -> Value {
        let mut all = vec!["--format", "json"];
        all.extend(args);
        let mut envelope = self.ok(&all).json();
        assert_eq!(envelope["status"], "ok");
        envelope["data"].take()
    }

    /// Calls Claude Code's hook with bytes on stdin.
    pub fn hook_bytes(&self, payload: &[u8]) -> Ran {
        self.hook_of("claude-code", payload)
    }

    /// Calls an agent's hook with bytes on stdin.
    pub fn hook_of(&self, agent: &str, payload: &[u8]) -> Ran {
        let mut child = self
            .command(&["hook", agent])
            .env("CLAUDE_PROJECT_DIR", &self.project)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        // A hook that answers before it has read all is no failure of the test.
        let _ = child.stdin.take().unwrap().write_all(payload);
        Ran::new(child.wait_with_output().unwrap())
    }

    /// Calls the hook before a tool of a session.
    pub fn tool(&self, session: &str, tool: &str, input: Value) -> Ran {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let call = format!("toolu_{}", CALLS.fetch_add(1, Ordering::Relaxed));
        let payload = json!({
            "session_id": session, "cwd": self.project, "hook_event_name": "PreToolUse",
            "tool_name": tool, "tool_input": input, "tool_use_id": call,
        });
        self.hook_bytes(payload.to_string().as_bytes())
    }

    /// Calls the hook before an Edit of a file of the project; gives the decision and the reason.
    pub fn edit(&self, session: &str, path: &str) -> (Decision, String) {
        let file = self.project.join(path);
        let input = json!({"file_path": file, "old_string": "a", "new_string": "b"});
        decision(&self.tool(session, "Edit", input))
    }
}

/// A project in which `src/**` and `docs/*.md` may be edited, and one test file is untouched.
pub fn guarded() -> World {
    let w = World::new();
    w.ok(&[
        "add",
        "--no-edits-outside",
        "src/**",
        "--no-edits-outside",
        "docs/*.md",
    ]);
    w.ok(&["add", "--untouched", "tests/test_sync.py"]);
    w.ok(&["plan", "use", "local/work"]);
    w
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Deny,
    Halt,
}

/// Reads a hook's answer as Claude Code does.
#[track_caller]
pub fn decision(ran: &Ran) -> (Decision, String) {
    if ran.code == 2 {
        return (Decision::Deny, ran.stderr.clone());
    }
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    if ran.stdout.is_empty() {
        return (Decision::Allow, String::new());
    }
    let answer = ran.json();
    let decision = &answer["hookSpecificOutput"];
    let reason = decision["permissionDecisionReason"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    match (
        decision["permissionDecision"].as_str(),
        answer["continue"].as_bool(),
    ) {
        (Some("deny"), Some(false)) => (Decision::Halt, reason),
        (Some("deny"), _) => (Decision::Deny, reason),
        (None, _) => (Decision::Allow, reason),
        other => panic!("{other:?}"),
    }
}

/// Waits until `ready` gives something.
#[track_caller]
pub fn wait_for<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what} did not come");
        std::thread::yield_now();
    }
}

/// A process that ends with its test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program in a pseudo-terminal, and a terminal emulator that reads it.
pub struct Screen {
    pub child: Box<dyn portable_pty::Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    output: mpsc::Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// Everything the program wrote.
    pub bytes: Vec<u8>,
    pub termios_before: String,
}

impl Screen {
    pub fn open(world: &World, args: &[&str], size: (u16, u16)) -> Self {
        Self::start(world, env!("CARGO_BIN_EXE_invar"), args, size)
    }

    pub fn start(world: &World, program: &str, args: &[&str], (cols, rows): (u16, u16)) -> Self {
        let pair = native_pty_system()
            .openpty(PtySize {
                rows,
                cols,
                pixel_width: 0,
                pixel_height: 0,
            })
            .unwrap();
        let termios_before = termios(&*pair.master);
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.env_clear();
        for (name, value) in world.environment() {
            command.env(name, value);
        }
        command.cwd(&world.project);
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        let size = |n: u16| n.try_into().unwrap();
        Self {
            child,
            master: pair.master,
            writer,
            output,
            parser: vt100::Parser::new(size(rows), size(cols), 0),
            bytes: Vec::new(),
            termios_before,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.parser.process(bytes);
    }

    pub fn contents(&self) -> String {
        self.parser.screen().contents()
    }

    /// Waits until the screen shows `text`.
    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        self.wait(text, |screen| screen.contains(text));
    }

    /// Waits until the screen does not show `text` any more.
    #[track_caller]
    pub fn hides(&mut self, text: &str) {
        self.wait(&format!("the end of {text}"), |screen| {
            !screen.contains(text)
        });
    }

    #[track_caller]
    fn wait(&mut self, what: &str, ready: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !ready(&self.contents()) {
            let left = PATIENCE.saturating_sub(start.elapsed());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.take(&bytes),
                Err(_) => panic!("{what} did not come:\n{}", self.contents()),
            }
        }
    }

    /// Types text or keys.
    pub fn send(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    pub fn resize(&mut self, cols: u16, rows: u16) {
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        self.master.resize(size).unwrap();
        self.parser
            .set_size(rows.try_into().unwrap(), cols.try_into().unwrap());
    }

    pub fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid() as i32).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the end of the process; gives its exit code.
    #[track_caller]
    pub fn end(&mut self) -> u32 {
        let code = wait_for("the end of the process", || self.child.try_wait().unwrap());
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(200)) {
            self.take(&bytes);
        }
        code.exit_code()
    }

    /// The process has ended and given the terminal back.
    #[track_caller]
    pub fn restored(&mut self) {
        let tail = String::from_utf8_lossy(&self.bytes).into_owned();
        for undo in [
            "\u{1b}[?1049l",
            "\u{1b}[?2004l",
            "\u{1b}[?1006l",
            "\u{1b}[?25h",
        ] {
            let (on, off) = (
                undo.replace(['l', 'h'], if undo.ends_with('l') { "h" } else { "l" }),
                undo,
            );
            let last_off = tail
                .rfind(off)
                .unwrap_or_else(|| panic!("{off:?} is missing"));
            assert!(
                tail.rfind(&on).is_none_or(|on| on < last_off),
                "{off:?} is not the last"
            );
        }
        assert_eq!(termios(&*self.master), self.termios_before);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn termios(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios())
}

/// The files under `folder` with that ending.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}
