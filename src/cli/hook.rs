//! The hot path: an agent's hook. Reads stdin, asks the engine once, prints, leaves.
//!
//! Every wait has an end, and whatever fails, a panic too, ends in the agent's blocking answer.
//! With an engine running there is one thread; without one, the store is opened on a second
//! thread, since a disk can hang where no time limit reaches.

use std::{
    ffi::OsString,
    io::{self, Write},
    os::fd::AsFd,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    agents::{self, Agent, HookAnswer, HookEnv, MAX_PAYLOAD, Moment, Parsed, Refusal},
    engine::{
        self, Config, Locations,
        client::Connection,
        requests::{AssentsDelegated, HookCall, HookEvent, HookReply, StillWaiting},
    },
    model::{Verdict, VerdictKind},
};

/// Well inside the time that `install` gives the hook.
const DEADLINE: Duration = Duration::from_secs(10);

/// How much longer the end of a turn may take; `install` gives it a minute in all.
const TURN: Duration = Duration::from_secs(40);

/// How often a person's answer is looked for.
const POLL: Duration = Duration::from_millis(100);

/// What is left of the time when no answer came.
const SPARE: Duration = Duration::from_secs(1);

/// How much longer the store's thread may take than it should by itself.
const GRACE: Duration = Duration::from_secs(1);

/// Answers one call of `agent`; returns the exit code of the agent's protocol.
pub fn run(agent: &str, store: Option<PathBuf>) -> u8 {
    let Some(asked) = agents::agent(agent) else {
        let known: Vec<_> = agents::all().map(|a| a.name).collect();
        let _ = writeln!(
            io::stderr(),
            "invar denied this action: the agent {agent:?} is unknown; the hook settings may name {}",
            known.join(", ")
        );
        return 2;
    };
    // Whatever a panic prints must not mix with the answer.
    std::panic::set_hook(Box::new(|_| {}));
    let deadline = Instant::now() + DEADLINE;
    let decided = catch_unwind(AssertUnwindSafe(|| decide(asked, store, deadline)));
    let (answer, leave_engine) = decided.unwrap_or_else(|_| {
        let reason = "invar failed while it decided; please report it, with what the agent tried";
        ((asked.refuse)(&Refusal::new(None, reason)), None)
    });
    let code = print(&answer);
    if let Some(locations) = leave_engine {
        leave_engine_behind(&locations);
    }
    code
}

/// The answer, and where an engine shall be left behind.
fn decide(
    asked: &'static Agent,
    store: Option<PathBuf>,
    deadline: Instant,
) -> (HookAnswer, Option<Locations>) {
    let parsed = match read_payload(deadline).and_then(|p| asked.read(&p, &environment(asked))) {
        Ok(parsed) => parsed,
        Err(refusal) => return ((asked.refuse)(&refusal), None),
    };
    let Parsed {
        agent,
        occasion,
        call,
    } = parsed;
    let Some(mut call) = call else {
        let nothing = HookReply::of(Verdict::allow());
        return (agent.answered(&occasion, &nothing), None);
    };
    // Looking for the agent's process takes a while; once in a session is enough.
    if call.pid.is_none() && call.what == HookEvent::SessionStart {
        call.pid = engine::caller::ancestor_named(agent.process_names);
    }
    let can_ask = agent.capabilities.can_ask;
    let deadline = match occasion.moment {
        // A judge may read the whole turn.
        Moment::Stop => deadline + TURN,
        _ => deadline,
    };
    match ask(call, can_ask, store, deadline) {
        Ok((reply, leave_engine)) => (agent.answered(&occasion, &reply), leave_engine),
        Err(reason) => ((agent.refuse)(&Refusal::new(Some(occasion), reason)), None),
    }
}

fn environment(agent: &Agent) -> HookEnv {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let project_dirs = agent.project_dir_variables.iter();
    HookEnv {
        project_dir: project_dirs
            .filter_map(|n| variable(n))
            .map(PathBuf::from)
            .next(),
        pid: agent
            .pid_variable
            .and_then(|name| std::env::var(name).ok()?.parse().ok()),
        home: variable("HOME").map(PathBuf::from),
        cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        // No two hook processes share both.
        nonce: format!("{}-{}", std::process::id(), now.as_nanos()),
    }
}

/// The engine's reply, and where an engine shall be left behind; else a reason to refuse.
fn ask(
    call: HookCall,
    can_ask: bool,
    store: Option<PathBuf>,
    deadline: Instant,
) -> Result<(HookReply, Option<Locations>), String> {
    let undecided = |error: engine::EngineError| format!("no decision could be made: {error}");
    let locations = Locations::from_env(store).map_err(undecided)?;
    if let Some(mut engine) = Connection::open(&locations, deadline)
        && let Ok(answer) = engine.ask(call.clone(), deadline)
    {
        let mut reply = answer.map_err(undecided)?;
        if reply.judging {
            reply = await_judge(&mut engine, &call, reply, deadline);
        }
        if !reply.waiting.is_empty() {
            reply = await_person(&mut engine, &call, reply, can_ask, deadline);
        }
        return Ok((reply, None));
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new()
        .name("store".into())
        .spawn(move || {
            let result = engine::open_session(&locations, deadline).and_then(|mut session| {
                let reply = session.ask(&locations, call, deadline)?;
                let own = matches!(session, engine::Session::Local(_));
                // The store is free for the engine that is left behind.
                drop(session);
                Ok((reply, own.then_some(locations)))
            });
            let _ = sender.send(result);
        })
        .map_err(|e| format!("no thread could be started ({e}); end some processes"))?;
    let left = deadline.saturating_duration_since(Instant::now());
    match receiver.recv_timeout(left + GRACE) {
        Ok(result) => result.map_err(undecided),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Err("the store did not answer in time; see whether its disk is well".into())
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Err("invar failed while it decided; please report it, with what the agent tried".into())
        }
    }
}

/// Waits for the judge that reads a turn's work, as long as there is time; what it has not said
/// until then stays due.
fn await_judge(
    engine: &mut Connection,
    call: &HookCall,
    mut reply: HookReply,
    deadline: Instant,
) -> HookReply {
    let again = HookCall {
        again: true,
        ..call.clone()
    };
    let until = deadline.checked_sub(SPARE).unwrap_or(deadline);
    while reply.judging && Instant::now() < until {
        std::thread::sleep(POLL);
        match engine.ask(again.clone(), deadline) {
            Ok(Ok(next)) => reply = next,
            _ => break,
        }
    }
    reply
}

/// Waits for a person who looks at a screen, and asks again when everything is answered. Without
/// one, or when the time is over, the agent asks by its own prompt where it has one.
fn await_person(
    engine: &mut Connection,
    call: &HookCall,
    mut reply: HookReply,
    can_ask: bool,
    deadline: Instant,
) -> HookReply {
    let until = deadline.checked_sub(SPARE).unwrap_or(deadline);
    while reply.attended && Instant::now() < until {
        std::thread::sleep(POLL);
        let ids = reply.waiting.clone();
        let Ok(Ok(waiting)) = engine.ask(StillWaiting { ids }, deadline) else {
            break;
        };
        if !waiting.is_empty() {
            continue;
        }
        let Ok(Ok(again)) = engine.ask(call.clone(), deadline) else {
            break;
        };
        reply = again;
        if reply.waiting.is_empty() {
            return reply;
        }
    }
    if can_ask && reply.verdict.verdict == VerdictKind::Ask {
        let ids = reply.waiting.clone();
        let _ = engine.ask(AssentsDelegated { ids }, deadline);
    }
    reply
}

/// Reads all of stdin. More than the limit is read away, so that the agent can finish writing,
/// and refused; so is an input that does not end in time.
fn read_payload(deadline: Instant) -> Result<Vec<u8>, Refusal> {
    let refuse = |reason: String| Refusal::new(None, reason);
    let stdin = io::stdin();
    let fd = stdin.as_fd();
    let mut payload = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    let mut total = 0;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let time = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        match poll(&mut fds, Some(&time)) {
            Ok(0) => {
                return Err(refuse(
                    "the hook's input did not end in time; see what the agent does with its stdin"
                        .into(),
                ));
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => {
                return Err(refuse(format!(
                    "the hook's input could not be awaited ({e})"
                )));
            }
        }
        match rustix::io::read(fd, &mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                total += n;
                let room = MAX_PAYLOAD.saturating_sub(payload.len());
                payload.extend_from_slice(&buffer[..n.min(room)]);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(refuse(format!("the hook's input could not be read ({e})"))),
        }
    }
    match total <= MAX_PAYLOAD {
        true => Ok(payload),
        false => Err(refuse(format!(
            "the hook's input has {} MB and may have {}; let the agent make a smaller change",
            total >> 20,
            MAX_PAYLOAD >> 20
        ))),
    }
}

fn print(answer: &HookAnswer) -> u8 {
    if !answer.stderr.is_empty() {
        let _ = writeln!(io::stderr(), "{}", answer.stderr);
    }
    if let Some(text) = &answer.stdout {
        let mut out = io::stdout().lock();
        let written = writeln!(out, "{text}").and_then(|()| out.flush());
        if written.is_err() {
            // Nobody can read the refusal, so that only the exit code is left to say it.
            return 2;
        }
    }
    answer.exit
}

/// Starts `invar serve` for the next hooks, unless the configuration says not to. It is on its
/// own: no descriptor and no process group of the agent. That it fails is no reason to deny.
fn leave_engine_behind(locations: &Locations) {
    let Ok(config) = Config::load(&locations.config) else {
        return;
    };
    if !config.engine.autostart {
        return;
    }
    let Ok(binary) = std::env::current_exe() else {
        return;
    };
    let mut store = OsString::from("--store=");
    store.push(&locations.store);
    let mut command = Command::new(binary);
    command
        .arg(store)
        .arg("serve")
        .arg(format!("--idle-exit={}", config.engine.idle_minutes))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/");
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let _ = command.spawn();
}
