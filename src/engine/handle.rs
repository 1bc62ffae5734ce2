//! How everyone asks an engine: the same requests whether it runs in this process or in another.

use std::{
    collections::HashMap,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
    sync::{mpsc, oneshot},
};

use super::{
    Call, EngineError, Request,
    ask::{self, Ask, Decider, Outcome},
    disk::Disk,
    host::Msg,
    notices::{self, Notice, Notices, Teller},
    peer,
    project_file::FileReading,
    protocol::{ClientLine, EngineLine, PROTOCOL},
    requests::{Snapshot, TakeSnapshot, reply_to},
    writer::Answer,
};

/// How many notices wait for a subscriber before the next ones are counted instead of kept.
pub const NOTICES: usize = 4096;

/// A subscription: the state at its start and everything after. It ends with its engine.
#[derive(Debug)]
pub struct Subscription {
    pub snapshot: Box<Snapshot>,
    pub notices: Notices,
}

/// A reference to an engine; cheap to clone.
#[derive(Clone)]
pub struct EngineHandle(Inner);

#[derive(Clone)]
enum Inner {
    Local(std::sync::mpsc::Sender<Msg>, Arc<Disk>),
    Remote(Arc<Remote>),
}

/// An engine that went away.
pub(super) fn gone() -> EngineError {
    EngineError::busy("the engine ended before it answered").hint("try again")
}

/// A call whose asking broke off by a fault of invar.
pub(super) fn unfinished() -> EngineError {
    EngineError::failed("the call was not asked to its end").hint("please report it")
}

impl EngineHandle {
    pub(super) fn local(sender: std::sync::mpsc::Sender<Msg>, disk: Arc<Disk>) -> Self {
        Self(Inner::Local(sender, disk))
    }

    /// Connects to the engine that listens at `socket`.
    ///
    /// # Errors
    /// Nobody listens there, or another user does.
    pub async fn connect(socket: &Path) -> Result<Self, EngineError> {
        let fail = |e: io::Error| {
            EngineError::busy(format!("no engine answers at {}", socket.display())).caused_by(e)
        };
        let stream = UnixStream::connect(socket).await.map_err(fail)?;
        let uid = stream.peer_cred().map_err(fail)?.uid();
        match peer::is_ours(uid) {
            true => Ok(Self::over(stream)),
            false => Err(fail(peer::not_ours(uid))),
        }
    }

    /// Speaks with the engine at the other end of `stream`.
    pub(super) fn over(stream: UnixStream) -> Self {
        Self(Inner::Remote(Arc::new(Remote::start(stream))))
    }

    /// Asks, and waits for the reply.
    ///
    /// # Errors
    /// What the engine answers, or that it went away.
    pub async fn ask<R: Request>(&self, request: R) -> Result<R::Reply, EngineError> {
        reply_to::<R>(self.call(request.into_call()).await)
    }

    /// Asks any request, and waits until it is done; what it is answered with is not wanted.
    ///
    /// # Errors
    /// As [`EngineHandle::ask`].
    pub async fn perform(&self, call: Call) -> Result<(), EngineError> {
        self.call(call).await.map(drop)
    }

    pub(super) async fn call(&self, call: Call) -> Answer {
        match &self.0 {
            Inner::Local(sender, disk) => {
                let (mut way, disk) = (Way(sender.clone()), Arc::clone(disk));
                if !disk.is_asked_by(&call) {
                    return way.ask_at_once(call).await;
                }
                // Whoever waits for the disk waits on a thread of its own.
                let asked = tokio::task::spawn_blocking(move || ask::ask(&disk, call, &mut way));
                asked.await.unwrap_or_else(|_| Err(unfinished()))
            }
            Inner::Remote(remote) => remote.call(call, None).await,
        }
    }

    /// Asks from a thread that may wait.
    pub(super) fn call_and_wait(&self, call: Call) -> Answer {
        match &self.0 {
            Inner::Local(sender, disk) => ask::ask(disk, call, &mut Way(sender.clone())),
            Inner::Remote(remote) => {
                tokio::runtime::Handle::current().block_on(remote.call(call, None))
            }
        }
    }

    /// Whether a call is decided without waiting for the disk.
    pub(super) fn is_quick(&self, call: &Call) -> bool {
        match &self.0 {
            Inner::Local(_, disk) => !disk.is_asked_by(call),
            Inner::Remote(_) => true,
        }
    }

    /// Asks for the state and for all events from there on.
    ///
    /// # Errors
    /// The engine went away.
    pub async fn subscribe(&self) -> Result<Subscription, EngineError> {
        let (teller, notices) = notices::queue(NOTICES);
        let snapshot = match &self.0 {
            Inner::Local(engine, _) => {
                let (reply, answer) = oneshot::channel();
                engine
                    .send(Msg::Subscribe { teller, reply })
                    .map_err(|_| gone())?;
                answer.await.map_err(|_| gone())??
            }
            Inner::Remote(remote) => {
                let answer = remote.call(TakeSnapshot {}.into(), Some(teller)).await;
                Box::new(reply_to::<TakeSnapshot>(answer)?)
            }
        };
        Ok(Subscription { snapshot, notices })
    }
}

/// The way to an engine's thread.
struct Way(std::sync::mpsc::Sender<Msg>);

impl Way {
    /// Asks a call that is about nothing on the disk.
    async fn ask_at_once(&self, call: Call) -> Answer {
        let (reply, outcome) = oneshot::channel();
        let ask = Ask {
            call: Arc::new(call),
            facts: Arc::default(),
        };
        self.0.send(Msg::Ask { ask, reply }).map_err(|_| gone())?;
        match outcome.await.map_err(|_| gone())? {
            Outcome::Done(answer, _) => answer,
            Outcome::Aside(read) => (read.0)(),
            Outcome::Needs(_) => {
                let message = "a call that is not about the disk asked for a fact of it";
                Err(EngineError::failed(message).hint("please report it"))
            }
        }
    }
}

impl Decider for Way {
    fn files_read(&mut self, readings: Vec<FileReading>) {
        // An engine that is gone is met by the call itself.
        let _ = self.0.send(Msg::Files(readings));
    }

    fn decide(&mut self, ask: Ask) -> Result<Outcome, EngineError> {
        let (reply, outcome) = oneshot::channel();
        self.0.send(Msg::Ask { ask, reply }).map_err(|_| gone())?;
        outcome.blocking_recv().map_err(|_| gone())
    }
}

/// The client's end of a socket.
struct Remote {
    lines: mpsc::Sender<String>,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    next_id: u64,
    answers: HashMap<u64, oneshot::Sender<Answer>>,
    subscriber: Option<Teller>,
    /// Why nothing can be asked any more.
    closed: Option<EngineError>,
}

impl Remote {
    fn start(stream: UnixStream) -> Self {
        let (read, mut write) = stream.into_split();
        let (lines, mut outgoing) = mpsc::channel::<String>(64);
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        tokio::spawn(async move {
            while let Some(line) = outgoing.recv().await {
                if write.write_all(line.as_bytes()).await.is_err() {
                    break;
                }
            }
        });
        let shared = Arc::clone(&waiting);
        tokio::spawn(async move {
            let mut read = BufReader::new(read).lines();
            let mut ended = gone();
            while let Ok(Some(line)) = read.next_line().await {
                match EngineLine::read(&line) {
                    Ok(line) => lock(&shared).take(line),
                    // Whoever waits is told why, and nobody asks this engine again.
                    Err(error) => {
                        ended = error;
                        break;
                    }
                }
            }
            lock(&shared).close(ended);
        });
        Self { lines, waiting }
    }

    async fn call(&self, call: Call, subscriber: Option<Teller>) -> Answer {
        let (sender, answer) = oneshot::channel();
        let subscribe = subscriber.is_some();
        let id = {
            let mut waiting = lock(&self.waiting);
            if let Some(why) = &waiting.closed {
                return Err(why.clone());
            }
            waiting.next_id += 1;
            let id = waiting.next_id;
            waiting.answers.insert(id, sender);
            if subscribe {
                waiting.subscriber = subscriber;
            }
            id
        };
        let line = ClientLine {
            v: PROTOCOL,
            id,
            subscribe,
            call,
        };
        let mut line = serde_json::to_string(&line)
            .map_err(|e| EngineError::failed("a call could not be encoded").caused_by(e))?;
        line.push('\n');
        if self.lines.send(line).await.is_err() {
            let why = lock(&self.waiting).closed.clone();
            return Err(why.unwrap_or_else(gone));
        }
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn lock(waiting: &Mutex<Waiting>) -> std::sync::MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waiting {
    /// Gives a line to whom it is for. Never waits: whoever waits for an answer may be the
    /// subscriber, and both come over the same connection.
    fn take(&mut self, line: EngineLine) {
        match line {
            EngineLine::Ok { id, reply } => self.settle(id, Ok(reply)),
            EngineLine::Err { id, error, .. } => self.settle(id, Err(error)),
            EngineLine::Event { event } => self.tell(Notice::Event(Arc::from(event))),
            EngineLine::Lagged { missed } => self.tell(Notice::Lagged { missed }),
        }
    }

    fn settle(&mut self, id: u64, answer: Answer) {
        if let Some(sender) = self.answers.remove(&id) {
            // A caller that gave up waiting is no fault.
            let _ = sender.send(answer);
        }
    }

    fn tell(&mut self, notice: Notice) {
        if let Some(teller) = &self.subscriber
            && teller.tell(notice).is_err()
        {
            self.subscriber = None;
        }
    }

    /// Tells everyone who waits that nothing more will come, and why.
    fn close(&mut self, why: EngineError) {
        for (_, sender) in self.answers.drain() {
            let _ = sender.send(Err(why.clone()));
        }
        self.subscriber = None;
        self.closed = Some(why);
    }
}
