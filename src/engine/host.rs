//! The engine as a background task: one thread that owns store and state, and a socket beside
//! it. What has queued up is written in one transaction.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::{
    Call, Config, EngineError, Locations,
    ask::{Ask, Decider, Outcome},
    config::JudgeConfig,
    disk::{Changed, Disk, Watch},
    handle::EngineHandle,
    judge::{self, JudgeJob},
    notices::{Notice, Teller},
    project_file::FileReading,
    requests::Snapshot,
    socket,
    writer::Engine,
};
use crate::model::{Event, EventKind, JudgeCheck};

/// How long an allowed attempt may wait for its write.
const WRITE_WITHIN: Duration = Duration::from_millis(100);

/// How many calls share one transaction at most.
const BATCH: usize = 256;

/// What the engine's thread is told.
pub(super) enum Msg {
    Ask {
        ask: Ask,
        reply: oneshot::Sender<Outcome>,
    },
    /// Project files have changed.
    Files(Vec<FileReading>),
    /// Something happened to the configuration or to a folder above it.
    ConfigurationTouched,
    /// The configuration was read again; or why it cannot be used.
    Configured(Result<Box<Config>, String>),
    Subscribe {
        teller: Teller,
        reply: oneshot::Sender<Result<Box<Snapshot>, EngineError>>,
    },
    /// A judge has answered.
    Judged(Box<JudgeCheck>),
    Stop,
}

/// The longest owner file that is read.
const LONGEST_OWNER: u64 = 4096;

/// Who hosts the engine of a store; written beside it for others to find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub pid: u32,
    pub socket: std::path::PathBuf,
}

impl Owner {
    /// Reads who hosts the engine, if anyone says so. What lies there but is no small file is
    /// not read: a pipe would hold its reader for ever, and a device has no end.
    pub fn read(locations: &Locations) -> Option<Self> {
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32)
            .open(locations.owner_file())
            .ok()?;
        let found = file.metadata().ok()?;
        if !found.is_file() || found.len() > LONGEST_OWNER {
            return None;
        }
        let mut text = Vec::new();
        file.take(LONGEST_OWNER).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn write(&self, locations: &Locations) -> io::Result<()> {
        let path = locations.owner_file();
        let fresh = path.with_extension("owner.new");
        fs::write(&fresh, serde_json::to_vec(self)?)?;
        fs::rename(fresh, path)
    }
}

/// A running engine. Dropping it stops it: what is pending is written first.
pub struct Host {
    sender: Sender<Msg>,
    thread: Option<JoinHandle<()>>,
    server: Option<socket::Server>,
    locations: Locations,
    calls: Arc<AtomicU64>,
    disk: Arc<Disk>,
}

impl Host {
    /// Starts the thread and opens the socket.
    ///
    /// # Errors
    /// The socket cannot be opened.
    pub fn start(mut engine: Engine) -> Result<Self, EngineError> {
        engine.recall()?;
        let locations = engine.locations().clone();
        let disk = Arc::clone(engine.disk());
        disk.stay();
        let (sender, receiver) = channel();
        let calls = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&calls);
        let wake = sender.clone();
        let thread = std::thread::Builder::new()
            .name("engine".into())
            .spawn(move || run(engine, &receiver, &wake, &counter))
            .map_err(|e| EngineError::failed("the engine's thread did not start").caused_by(e))?;
        let mut host = Self {
            sender,
            thread: Some(thread),
            server: None,
            locations,
            calls,
            disk,
        };
        let server = socket::Server::start(&host.locations.socket, host.handle())?;
        host.server = Some(server);
        let owner = Owner {
            pid: std::process::id(),
            socket: host.locations.socket.clone(),
        };
        owner.write(&host.locations).map_err(|e| {
            let path = host.locations.owner_file();
            EngineError::failed(format!("could not write {}", path.display()))
                .caused_by(e)
                .hint("check the permissions of its folder")
        })?;
        Ok(host)
    }

    /// A handle to ask it.
    pub fn handle(&self) -> EngineHandle {
        EngineHandle::local(self.sender.clone(), Arc::clone(&self.disk))
    }

    /// How many calls it has answered; a number that stands still means that it is idle.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether its store is still where it was.
    pub fn store_exists(&self) -> bool {
        self.locations.store.exists()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // New clients first fall back to opening the store, and find it free a moment later.
        if Owner::read(&self.locations).is_some_and(|o| o.pid == std::process::id()) {
            let _ = fs::remove_file(self.locations.owner_file());
        }
        drop(self.server.take());
        let _ = self.sender.send(Msg::Stop);
        if let Some(thread) = self.thread.take() {
            // A panic of the engine was told to everyone who waited for it.
            let _ = thread.join();
        }
    }
}

fn run(mut engine: Engine, receiver: &Receiver<Msg>, wake: &Sender<Msg>, counter: &AtomicU64) {
    let mut subscribers: Vec<Teller> = Vec::new();
    let permits = Arc::new(Semaphore::new(JUDGES));
    let mut watch = Watched::start(
        Arc::clone(engine.disk()),
        &engine.locations().config,
        wake.clone(),
    );
    for project in engine.core().state().projects.values() {
        watch.add(&project.roots);
    }
    let mut write_by: Option<Instant> = None;
    loop {
        let first = match write_by {
            None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(by) => receiver.recv_timeout(by.saturating_duration_since(Instant::now())),
        };
        let mut stop = false;
        match first {
            Ok(msg) => {
                let more = std::iter::from_fn(|| receiver.try_recv().ok());
                let batch: Vec<Msg> = std::iter::once(msg).chain(more.take(BATCH - 1)).collect();
                counter.fetch_add(batch.len() as u64, Ordering::Relaxed);
                stop = work(&mut engine, batch, &mut subscribers, &mut watch);
                for job in engine.take_jobs() {
                    make_check(job, engine.judge().clone(), wake.clone(), &permits);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                publish_flushed(&mut engine, &mut subscribers, &mut watch)
            }
            Err(RecvTimeoutError::Disconnected) => stop = true,
        }
        if stop {
            publish_flushed(&mut engine, &mut subscribers, &mut watch);
            return;
        }
        write_by = match (engine.has_pending(), write_by) {
            (false, _) => None,
            (true, Some(by)) if by > Instant::now() => Some(by),
            (true, _) => Some(Instant::now() + WRITE_WITHIN),
        };
    }
}

/// The project directories whose files are looked at whenever one changes.
struct Watched {
    watch: Watch,
    disk: Arc<Disk>,
    reread: Arc<Reread>,
}

/// The configuration as it was read last.
struct Reread {
    file: PathBuf,
    before: Mutex<Vec<u8>>,
    engine: Sender<Msg>,
}

impl Reread {
    /// Reads the file, and hands it to the engine when it is another one.
    fn look(&self) {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let now = fs::read(&self.file);
        // An editor empties a file before it writes it.
        let being_written = now.as_ref().is_ok_and(Vec::is_empty);
        let now = now.unwrap_or_default();
        if *before == now || being_written {
            return;
        }
        *before = now;
        let config = Config::load(&self.file).map(Box::new);
        let config = config.map_err(|error| error.to_string());
        let _ = self.engine.send(Msg::Configured(config));
    }
}

impl Watched {
    fn start(disk: Arc<Disk>, config: &Path, engine: Sender<Msg>) -> Self {
        let reread = Arc::new(Reread {
            file: config.to_owned(),
            before: Mutex::new(fs::read(config).unwrap_or_default()),
            engine: engine.clone(),
        });
        let (looks, own) = (Arc::clone(&disk), Arc::clone(&reread));
        let watch = Watch::new(config, move |changed| match changed {
            Changed::ProjectFile => looks.look_at_files(None, |readings| {
                if !readings.is_empty() {
                    let _ = engine.send(Msg::Files(readings));
                }
            }),
            Changed::Configuration => {
                own.look();
                let _ = engine.send(Msg::ConfigurationTouched);
            }
        });
        Self {
            watch,
            disk,
            reread,
        }
    }

    /// Watches the configuration's own folder as soon as it is there.
    fn follow(&mut self) {
        if self.watch.follow() {
            // The file may have come before its folder was watched.
            let reread = Arc::clone(&self.reread);
            let look = std::thread::Builder::new().name("configuration".into());
            if let Err(error) = look.spawn(move || reread.look()) {
                tracing::warn!(%error, "the configuration was not read again");
            }
        }
    }

    fn add(&mut self, roots: &[PathBuf]) {
        self.disk.know(roots.iter());
        for root in roots {
            self.watch.add(root);
        }
        self.disk.is_watched(self.watch.is_complete());
    }
}

/// How many judges are asked at the same time.
const JUDGES: usize = 4;

/// Semaphore of which a few are free.
struct Semaphore {
    free: Mutex<usize>,
    left: Condvar,
}

impl Semaphore {
    fn new(free: usize) -> Self {
        Self {
            free: Mutex::new(free),
            left: Condvar::new(),
        }
    }

    fn enter(&self) {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self
            .left
            .wait_while(free, |free| *free == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
    }

    fn leave(&self) {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.left.notify_one();
    }
}

/// Asks a judge on a thread of its own; the answer comes back as a message.
fn make_check(job: JudgeJob, config: JudgeConfig, answer: Sender<Msg>, permits: &Arc<Semaphore>) {
    let permits = Arc::clone(permits);
    let failed = job.clone();
    let name = config.clone();
    let sender = answer.clone();
    let started = std::thread::Builder::new()
        .name("judge".into())
        .spawn(move || {
            permits.enter();
            let check = judge::run(&job, &config);
            permits.leave();
            let _ = answer.send(Msg::Judged(Box::new(check)));
        });
    if started.is_err() {
        let check = judge::check_of(&failed, &name, Vec::new());
        let _ = sender.send(Msg::Judged(Box::new(check)));
    }
}

/// Works off one batch; true when the engine shall stop.
fn work(
    engine: &mut Engine,
    batch: Vec<Msg>,
    subscribers: &mut Vec<Teller>,
    watch: &mut Watched,
) -> bool {
    let mut asked = Vec::new();
    let mut replies = Vec::new();
    let mut stop = false;
    let mut newcomers = Vec::new();
    let mut judged = Vec::new();
    for msg in batch {
        match msg {
            Msg::Ask { ask, reply } => {
                asked.push(ask);
                replies.push(reply);
            }
            Msg::Files(readings) => engine.files_read(readings),
            Msg::ConfigurationTouched => watch.follow(),
            Msg::Configured(config) => engine.configure(config),
            Msg::Subscribe { teller, reply } => newcomers.push((teller, reply)),
            Msg::Judged(check) => judged.push(*check),
            Msg::Stop => stop = true,
        }
    }
    if asked.iter().any(|a| matches!(*a.call, Call::Undo(_))) {
        crate::model::fault::point("engine");
    }
    for check in judged {
        let events = engine.judged(check);
        publish(events, subscribers, watch);
    }
    engine.attend(!subscribers.is_empty());
    let (outcomes, events) = engine.run(asked);
    // The screen is told before the agent has its answer.
    publish(events, subscribers, watch);
    for (reply, outcome) in replies.into_iter().zip(outcomes) {
        let _ = reply.send(outcome);
    }
    if !newcomers.is_empty() {
        let snapshot = engine.snapshot();
        // Those who are there already are told what the snapshot made durable.
        publish_flushed(engine, subscribers, watch);
        for (teller, reply) in newcomers {
            let welcome = snapshot.is_ok();
            if reply.send(snapshot.clone()).is_ok() && welcome {
                subscribers.push(teller);
            }
        }
    }
    stop
}

fn publish_flushed(engine: &mut Engine, subscribers: &mut Vec<Teller>, watch: &mut Watched) {
    match engine.flush() {
        Ok(events) => publish(events, subscribers, watch),
        Err(error) => tracing::error!(%error, "allowed attempts could not be recorded"),
    }
}

fn publish(events: Vec<Event>, subscribers: &mut Vec<Teller>, watch: &mut Watched) {
    for event in events {
        if let EventKind::ProjectBound { project } = &event.kind {
            watch.add(&project.roots);
        }
        let event = Arc::new(event);
        subscribers.retain(|s| s.tell(Notice::Event(Arc::clone(&event))).is_ok());
    }
}
