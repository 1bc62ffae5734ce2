//! The hot path: an agent's hook. Reads stdin, asks the engine once, prints, leaves.
//!
//! All work happens on a second thread, so that a hang, a panic or a passed deadline anywhere
//! ends in the agent's blocking answer.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    path::PathBuf,
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use crate::{
    agents::{self, Adapter, HookAnswer, HookEnv, MAX_PAYLOAD, Refusal},
    engine::{self, Call, Config, Locations, Reply, Session},
};

/// Well inside the time that `install` gives the hook.
const DEADLINE: Duration = Duration::from_secs(10);

/// Answers one call of `agent`; returns the exit code of the agent's protocol.
pub fn run(agent: &str, store: Option<PathBuf>) -> u8 {
    let Some(adapter) = agents::adapter(agent) else {
        let known: Vec<_> = agents::names().collect();
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
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::Builder::new()
        .name("hook".into())
        .spawn(move || {
            let (answer, leave_engine) = decide(adapter, store, deadline);
            let _ = sender.send((answer, leave_engine));
        });
    let refuse = |reason: &str| {
        (
            adapter.refuse(&Refusal {
                event: None,
                reason: reason.to_owned(),
            }),
            None,
        )
    };
    let (answer, leave_engine) = match worker {
        Err(error) => refuse(&format!(
            "no thread could be started ({error}); end some processes"
        )),
        // A little more than the worker's own deadline, which knows better what it waits for.
        Ok(_) => match receiver.recv_timeout(DEADLINE + Duration::from_secs(1)) {
            Ok(done) => done,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                refuse("no decision was made in time; see whether the engine is stuck")
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                refuse("invar failed while it decided; please report it, with what the agent tried")
            }
        },
    };
    let code = print(&answer);
    if let Some(locations) = leave_engine {
        leave_engine_behind(&locations);
    }
    code
}

/// The answer, and where an engine shall be left behind.
fn decide(
    adapter: &dyn Adapter,
    store: Option<PathBuf>,
    deadline: Instant,
) -> (HookAnswer, Option<Locations>) {
    let mut leave_engine = None;
    let mut event = None;
    let result = (|| {
        let payload = read_payload(deadline)?;
        let env = HookEnv {
            project_dir: adapter
                .project_dir_variable()
                .and_then(std::env::var_os)
                .filter(|dir| !dir.is_empty())
                .map(PathBuf::from),
            nonce: ulid::Ulid::generate().to_string(),
        };
        let parsed = adapter.read(&payload, &env)?;
        event = Some(parsed.event.clone());
        let Some(call) = parsed.call else {
            return Ok(HookAnswer::silent());
        };
        let refuse = |error: engine::EngineError| Refusal {
            event: Some(parsed.event.clone()),
            reason: format!("no decision could be made: {error}"),
        };
        let locations = Locations::from_env(store).map_err(refuse)?;
        let mut session = engine::open_session(&locations, deadline).map_err(refuse)?;
        let reply = session
            .call(&locations, Call::Hook(call), deadline)
            .map_err(refuse)?;
        let Reply::Hook(reply) = reply else {
            return Err(Refusal {
                event: Some(parsed.event.clone()),
                reason: "the engine gave an answer of another kind; end it, it may be of another version".into(),
            });
        };
        if matches!(session, Session::Local(_)) {
            drop(session);
            leave_engine = Some(locations);
        }
        Ok(adapter.answer(&parsed.event, &reply))
    })();
    let answer = result.unwrap_or_else(|mut refusal: Refusal| {
        refusal.event = refusal.event.or(event);
        adapter.refuse(&refusal)
    });
    (answer, leave_engine)
}

/// Reads all of stdin. More than the limit is read away, so that the agent can finish writing,
/// and refused.
fn read_payload(deadline: Instant) -> Result<Vec<u8>, Refusal> {
    let refuse = |reason: String| Refusal {
        event: None,
        reason,
    };
    let mut stdin = io::stdin().lock();
    let mut payload = Vec::new();
    stdin
        .by_ref()
        .take(MAX_PAYLOAD as u64 + 1)
        .read_to_end(&mut payload)
        .map_err(|e| refuse(format!("the hook's input could not be read ({e})")))?;
    if payload.len() <= MAX_PAYLOAD {
        return Ok(payload);
    }
    let mut total = payload.len() as u64;
    let mut buffer = std::mem::take(&mut payload);
    buffer.resize(1 << 20, 0);
    while Instant::now() < deadline {
        match stdin.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(n) => total += n as u64,
        }
    }
    Err(refuse(format!(
        "the hook's input has {} MB and may have {}; let the agent make a smaller change",
        total >> 20,
        MAX_PAYLOAD >> 20
    )))
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
