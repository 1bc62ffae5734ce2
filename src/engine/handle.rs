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
    host::Msg,
    notices::{self, Notice, Notices, Teller},
    peer,
    prepare::{self, Need},
    protocol::{ClientLine, EngineLine, PROTOCOL},
    requests::{RootsOf, Snapshot, TakeSnapshot, reply_to},
    tree::Trees,
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
    Local(std::sync::mpsc::Sender<Msg>, Arc<Trees>),
    Remote(Arc<Remote>),
}

/// An engine that went away.
fn gone() -> EngineError {
    EngineError::busy("the engine ended before it answered").hint("try again")
}

impl EngineHandle {
    pub(super) fn local(sender: std::sync::mpsc::Sender<Msg>, trees: Arc<Trees>) -> Self {
        Self(Inner::Local(sender, trees))
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

    async fn call(&self, call: Call) -> Answer {
        self.begin(call).await?.answer().await
    }

    /// Hands a call over. Calls that are handed over one after the other are worked on in that
    /// order, though none of them needs to be answered before the next is handed over.
    ///
    /// # Errors
    /// The engine went away, or cannot take the call up.
    pub(super) async fn begin(&self, call: Call) -> Result<Pending, EngineError> {
        match &self.0 {
            Inner::Local(sender, trees) => {
                look_first(sender, trees, &call).await?;
                send(sender, call)
            }
            Inner::Remote(remote) => remote.send(call, None).await,
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
                answer.await.map_err(|_| gone())?
            }
            Inner::Remote(remote) => {
                let mut asked = remote.send(TakeSnapshot {}.into(), Some(teller)).await?;
                Box::new(reply_to::<TakeSnapshot>(asked.answer().await)?)
            }
        };
        Ok(Subscription { snapshot, notices })
    }
}

/// A call that was handed over.
pub(super) struct Pending(oneshot::Receiver<Answer>);

impl Pending {
    /// Waits for the answer. Nothing is lost when the future is dropped before.
    pub(super) async fn answer(&mut self) -> Answer {
        (&mut self.0).await.unwrap_or_else(|_| Err(gone()))
    }
}

fn send(sender: &std::sync::mpsc::Sender<Msg>, call: Call) -> Result<Pending, EngineError> {
    let (reply, answer) = oneshot::channel();
    let msg = Msg::Call {
        call: Box::new(call),
        reply,
    };
    sender.send(msg).map_err(|_| gone())?;
    Ok(Pending(answer))
}

/// Looks at the trees that a call is about, on a thread that may wait for the disk.
async fn look_first(
    sender: &std::sync::mpsc::Sender<Msg>,
    trees: &Arc<Trees>,
    call: &Call,
) -> Result<(), EngineError> {
    let need = prepare::need(call);
    let trees = Arc::clone(trees);
    let looked = match need {
        Need::Nothing => return Ok(()),
        Need::LookAtPlan => {
            let Call::PlanTransition(asked) = call else {
                return Ok(());
            };
            let plan = asked.plan.clone();
            let roots = send(sender, RootsOf { plan }.into())?.answer().await;
            // An unknown plan is told by the call itself.
            let Ok(roots) = reply_to::<RootsOf>(roots) else {
                return Ok(());
            };
            tokio::task::spawn_blocking(move || {
                prepare::look_at(&trees, &roots);
                Ok(())
            })
        }
        need => tokio::task::spawn_blocking(move || prepare::prepare(&trees, &need)),
    };
    match looked.await {
        Ok(done) => Ok(done?),
        Err(error) => Err(EngineError::failed(format!(
            "the project's files could not be looked at ({error})"
        ))
        .hint("please report it")),
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

    async fn send(&self, call: Call, subscriber: Option<Teller>) -> Result<Pending, EngineError> {
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
        Ok(Pending(answer))
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
