//! How everyone asks an engine: the same requests whether it runs in this process or in another.

use std::{
    collections::HashMap,
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
    project_file::FileReading,
    protocol::{ClientLine, EngineLine, PROTOCOL},
    requests::{Snapshot, TakeSnapshot, reply_to},
    writer::Answer,
};
use crate::model::Event;

/// How many notices wait for a subscriber before the next ones are counted instead of kept.
pub const NOTICES: usize = 4096;

/// What a subscriber is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    Event(Arc<Event>),
    /// So many events did not fit; ask for a snapshot.
    Lagged {
        missed: u64,
    },
}

/// A subscription: the state at its start and everything after. It ends with its engine.
#[derive(Debug)]
pub struct Subscription {
    pub snapshot: Box<Snapshot>,
    pub notices: mpsc::Receiver<Notice>,
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
fn gone() -> EngineError {
    EngineError::Busy("the engine ended before it answered; try again".into())
}

impl EngineHandle {
    pub(super) fn local(sender: std::sync::mpsc::Sender<Msg>, disk: Arc<Disk>) -> Self {
        Self(Inner::Local(sender, disk))
    }

    /// Connects to the engine that listens at `socket`.
    ///
    /// # Errors
    /// Nobody listens there.
    pub async fn connect(socket: &Path) -> Result<Self, EngineError> {
        let stream = UnixStream::connect(socket).await.map_err(|e| {
            EngineError::Busy(format!("no engine answers at {}: {e}", socket.display()))
        })?;
        Ok(Self(Inner::Remote(Arc::new(Remote::start(stream)))))
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

    /// Passes a call on that came from another process.
    pub(super) async fn call(&self, call: Call) -> Answer {
        match &self.0 {
            Inner::Local(sender, disk) => {
                let (mut way, disk) = (Way(sender.clone()), Arc::clone(disk));
                if !disk.is_asked_by(&call) {
                    return way.ask_at_once(call).await;
                }
                // Whoever waits for the disk waits on a thread of its own.
                let asked = tokio::task::spawn_blocking(move || ask::ask(&disk, call, &mut way));
                asked.await.unwrap_or_else(|error| {
                    let text =
                        format!("the call was not asked to its end ({error}); please report it");
                    Err(EngineError::Failed(text))
                })
            }
            Inner::Remote(remote) => remote.call(call, None).await,
        }
    }

    /// Asks for the state and for all events from there on.
    ///
    /// # Errors
    /// The engine went away.
    pub async fn subscribe(&self) -> Result<Subscription, EngineError> {
        let (sender, notices) = mpsc::channel(NOTICES);
        let snapshot = match &self.0 {
            Inner::Local(engine, _) => {
                let (reply, answer) = oneshot::channel();
                engine
                    .send(Msg::Subscribe { sender, reply })
                    .map_err(|_| gone())?;
                answer.await.map_err(|_| gone())??
            }
            Inner::Remote(remote) => {
                let answer = remote.call(TakeSnapshot {}.into(), Some(sender)).await;
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
            Outcome::Needs(_) => Err(EngineError::Failed(
                "a call that is not about the disk asked for a fact of it; please report it".into(),
            )),
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
    subscriber: Option<mpsc::Sender<Notice>>,
    closed: bool,
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
            while let Ok(Some(line)) = read.next_line().await {
                let Ok(response) = serde_json::from_str::<EngineLine>(&line) else {
                    break;
                };
                let notice = match response {
                    EngineLine::Ok { id, reply } => {
                        settle(&shared, id, Ok(reply));
                        continue;
                    }
                    // The engine did not understand a line, and cannot say which.
                    EngineLine::Err { id: 0, .. } => break,
                    EngineLine::Err { id, error } => {
                        settle(&shared, id, Err(error));
                        continue;
                    }
                    EngineLine::Event { event } => Notice::Event(Arc::from(event)),
                    EngineLine::Lagged { missed } => Notice::Lagged { missed },
                };
                let subscriber = lock(&shared).subscriber.clone();
                if let Some(subscriber) = subscriber
                    && subscriber.send(notice).await.is_err()
                {
                    lock(&shared).subscriber = None;
                }
            }
            // Dropping the senders tells everyone who waits that the engine is gone.
            let mut waiting = lock(&shared);
            waiting.closed = true;
            waiting.answers.clear();
            waiting.subscriber = None;
        });
        Self { lines, waiting }
    }

    async fn call(&self, call: Call, subscriber: Option<mpsc::Sender<Notice>>) -> Answer {
        let (sender, answer) = oneshot::channel();
        let subscribe = subscriber.is_some();
        let id = {
            let mut waiting = lock(&self.waiting);
            if waiting.closed {
                return Err(gone());
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
            .map_err(|e| EngineError::Failed(format!("a call could not be encoded: {e}")))?;
        line.push('\n');
        self.lines.send(line).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

fn lock(waiting: &Mutex<Waiting>) -> std::sync::MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

fn settle(waiting: &Mutex<Waiting>, id: u64, answer: Answer) {
    if let Some(sender) = lock(waiting).answers.remove(&id) {
        // A caller that gave up waiting is no fault.
        let _ = sender.send(answer);
    }
}
