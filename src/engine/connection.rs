//! One connection of the engine's socket: reads requests, has them worked on in the order in
//! which they came, and answers in that order.
//!
//! What a connection may hold is bounded in every direction. Who does not read its answers is
//! not read from, so that requests wait in the socket; lines that are long or do not end share
//! one room with those of all other connections.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader},
    net::{UnixStream, unix::OwnedWriteHalf},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    time::{Instant, timeout_at},
};

use super::{
    Call, EngineError, Request, Subscription, caller,
    handle::{EngineHandle, gone},
    lane::Lane,
    notices::{Notice, Notices},
    protocol::{ClientLine, EngineLine, Misread},
    requests::{AgentPids, Asker, TakeSnapshot},
    writer::Answer,
};

/// How many answers may wait for the peer to read them.
const AHEAD: usize = 16;

/// The longest line that is read; a longer one ends the connection.
const LONGEST_LINE: usize = 16 << 20;

/// How long a line may take from its first byte to its last.
const LINE_WITHIN: Duration = Duration::from_secs(30);

/// What every line may have without a share of the room.
const SMALL_LINE: usize = 64 << 10;

/// How many bytes of requests that are longer than [`SMALL_LINE`] all connections hold together,
/// from their first byte until they are answered.
const ROOM: usize = 64 << 20;

/// The room for long requests; it is handed out in pieces of [`SMALL_LINE`].
pub(super) struct Room(Arc<Semaphore>);

impl Room {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(ROOM / SMALL_LINE)))
    }
}

/// What a long request holds of the room; it is given back when it is dropped.
type Share = Option<OwnedSemaphorePermit>;

/// A request whose answer is due, in the order of the connection.
enum Due {
    Answer {
        id: u64,
        answer: oneshot::Receiver<Answer>,
        share: Share,
    },
    Refused {
        id: u64,
        error: EngineError,
    },
    Subscribed {
        id: u64,
        subscription: Subscription,
    },
    /// The last line of the connection.
    Farewell(String),
}

/// Serves a connection of process `peer` until it ends.
pub(super) async fn serve(
    stream: UnixStream,
    handle: EngineHandle,
    peer: Option<u32>,
    room: Arc<Room>,
) {
    let (read, write) = stream.into_split();
    let (due, answers) = mpsc::channel(AHEAD);
    let engine = Orderly::new(handle);
    // Who cannot be answered is not listened to either.
    let writer = answer(write, answers);
    let reader = listen(read, &engine, peer, &room, due);
    tokio::pin!(writer, reader);
    tokio::select! {
        () = &mut writer => {}
        () = &mut reader => writer.await,
    }
}

/// Hands the requests of a connection to the engine, one after the other.
async fn listen(
    read: impl AsyncRead + Unpin,
    engine: &Orderly,
    peer: Option<u32>,
    room: &Room,
    due: mpsc::Sender<Due>,
) {
    let mut lines = Lines {
        read: BufReader::new(read),
        line: Vec::new(),
    };
    loop {
        let share = match lines.next(room).await {
            Ok(Some(share)) => share,
            Ok(None) | Err(Unread::Lost) => return,
            Err(Unread::Refused(error)) => {
                let line = EngineLine::error(0, error).to_line();
                let _ = due.send(Due::Farewell(line)).await;
                return;
            }
        };
        let next = match ClientLine::read(&lines.line) {
            Ok(line) => take_up(line, share, engine, peer).await,
            Err(misread) => {
                if let Misread::Foreign { .. } = misread {
                    // A program of an older build may ask again as fast as it is answered.
                    tokio::time::sleep(FOREIGN_WAIT).await;
                }
                let _ = due.send(Due::Farewell(misread.answer())).await;
                return;
            }
        };
        if due.send(next).await.is_err() {
            return;
        }
    }
}

/// How long a client of another version waits for the line that says so.
const FOREIGN_WAIT: Duration = Duration::from_millis(200);

/// An engine that works on what it is asked in the order in which it is asked.
struct Orderly {
    handle: EngineHandle,
    lane: Lane,
}

impl Orderly {
    fn new(handle: EngineHandle) -> Self {
        let asked = handle.clone();
        Self {
            handle,
            lane: Lane::new(Box::new(move |call| asked.call_and_wait(call))),
        }
    }

    /// Hands a call over; what comes out of it is its answer.
    async fn begin(&self, call: Call) -> oneshot::Receiver<Answer> {
        if !self.lane.is_idle() || !self.handle.is_quick(&call) {
            return self.lane.put(call);
        }
        let (reply, answer) = oneshot::channel();
        // The receiver is right here.
        let _ = reply.send(self.handle.call(call).await);
        answer
    }
}

async fn take_up(line: ClientLine, share: Share, engine: &Orderly, peer: Option<u32>) -> Due {
    let (id, handle) = (line.id, &engine.handle);
    if line.subscribe {
        engine.lane.caught_up().await;
        return match handle.subscribe().await {
            Ok(subscription) => Due::Subscribed { id, subscription },
            Err(error) => Due::Refused { id, error },
        };
    }
    if line.call.asker() == Asker::People {
        // Whether an agent asks may depend on what was asked before.
        engine.lane.caught_up().await;
    }
    match admit(handle, &line.call, peer).await {
        Ok(()) => Due::Answer {
            id,
            answer: engine.begin(line.call).await,
            share,
        },
        Err(error) => Due::Refused { id, error },
    }
}

/// Whether process `peer` may ask for that.
///
/// # Errors
/// Why it may not.
async fn admit(handle: &EngineHandle, call: &Call, peer: Option<u32>) -> Result<(), EngineError> {
    // This process is not asked for leave by itself.
    if peer == Some(std::process::id()) {
        return Ok(());
    }
    match call.asker() {
        // Whatever runs under an agent can speak like its hook; that is why a hook's requests
        // can do no more than an agent may.
        Asker::Anyone | Asker::Hooks => Ok(()),
        Asker::People => {
            let agents = handle.ask(AgentPids {}).await?;
            let why = peer.and_then(|peer| caller::agent_above(peer, &agents));
            why.map_or(Ok(()), |why| Err(caller::refusal(&why)))
        }
    }
}

/// Writes what is due, in order, and between that the events of a subscription. Ends when all is
/// written and nothing more comes, or when the peer is gone.
async fn answer(mut write: OwnedWriteHalf, mut answers: mpsc::Receiver<Due>) {
    let mut next: Option<(u64, oneshot::Receiver<Answer>, Share)> = None;
    let mut notices: Option<Notices> = None;
    loop {
        let written = tokio::select! {
            answer = async {
                match &mut next {
                    Some((_, answer, _)) => answer.await.unwrap_or_else(|_| Err(gone())),
                    None => std::future::pending().await,
                }
            } => {
                let id = next.take().map_or(0, |(id, ..)| id);
                let line = match answer {
                    Ok(reply) => EngineLine::Ok { id, reply },
                    Err(error) => EngineLine::error(id, error),
                };
                send(&mut write, &line).await
            }
            due = answers.recv(), if next.is_none() => match due {
                None => return,
                Some(Due::Answer { id, answer, share }) => {
                    next = Some((id, answer, share));
                    Ok(())
                }
                Some(Due::Refused { id, error }) => {
                    send(&mut write, &EngineLine::error(id, error)).await
                }
                Some(Due::Subscribed { id, subscription }) => {
                    notices = Some(subscription.notices);
                    let reply = TakeSnapshot::into_reply(*subscription.snapshot);
                    send(&mut write, &EngineLine::Ok { id, reply }).await
                }
                Some(Due::Farewell(line)) => write_line(&mut write, line).await,
            },
            notice = async {
                match &mut notices {
                    Some(notices) => notices.recv().await,
                    None => std::future::pending().await,
                }
            } => match notice {
                None => return,
                Some(Notice::Event(event)) => {
                    let event = Box::new((*event).clone());
                    send(&mut write, &EngineLine::Event { event }).await
                }
                Some(Notice::Lagged { missed }) => {
                    send(&mut write, &EngineLine::Lagged { missed }).await
                }
            }
        };
        if written.is_err() {
            return;
        }
    }
}

async fn send(write: &mut OwnedWriteHalf, line: &EngineLine) -> io::Result<()> {
    write_line(write, line.to_line()).await
}

async fn write_line(write: &mut OwnedWriteHalf, mut line: String) -> io::Result<()> {
    line.push('\n');
    write.write_all(line.as_bytes()).await
}

/// The lines of a peer.
struct Lines<R> {
    read: BufReader<R>,
    line: Vec<u8>,
}

/// Why there is no line.
#[derive(Debug)]
enum Unread {
    /// The peer is gone, or left in the middle of a line.
    Lost,
    /// The peer asks for too much.
    Refused(EngineError),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads the next line into `line`; `None` at the end. Waits for its first byte without end.
    async fn next(&mut self, room: &Room) -> Result<Option<Share>, Unread> {
        // What a long line took is not kept for the next ones.
        self.line.clear();
        self.line.shrink_to(SMALL_LINE);
        match self.read.fill_buf().await {
            Ok([]) => return Ok(None),
            Ok(_) => {}
            Err(_) => return Err(Unread::Lost),
        }
        let until = Instant::now() + LINE_WITHIN;
        match timeout_at(until, self.rest(room)).await {
            Ok(share) => share.map(Some),
            Err(_) => Err(Unread::Refused(
                EngineError::invalid(format!(
                    "the request did not end within {} s",
                    LINE_WITHIN.as_secs()
                ))
                .hint("send it again, in smaller parts"),
            )),
        }
    }

    async fn rest(&mut self, room: &Room) -> Result<Share, Unread> {
        let mut share: Share = None;
        loop {
            let part = self.read.fill_buf().await.map_err(|_| Unread::Lost)?;
            if part.is_empty() {
                return Err(Unread::Lost);
            }
            let end = part.iter().position(|b| *b == b'\n');
            let length = end.map_or(part.len(), |end| end + 1);
            let whole = self.line.len() + length;
            if whole > LONGEST_LINE {
                return Err(Unread::Refused(
                    EngineError::invalid(format!("a request may have {} MB", LONGEST_LINE >> 20))
                        .hint("ask for less at once"),
                ));
            }
            self.line.extend_from_slice(&part[..length]);
            self.read.consume(length);
            if end.is_some() {
                return Ok(share);
            }
            let held = share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            if whole > SMALL_LINE * (held + 1) {
                let more = Arc::clone(&room.0).acquire_owned().await;
                let more = more.map_err(|_| Unread::Lost)?;
                match &mut share {
                    Some(share) => share.merge(more),
                    None => share = Some(more),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        error::ErrorKind,
        host::Host,
        requests::{Ping, Remove},
        tests::World,
    };

    fn lines(text: &[u8]) -> Lines<&[u8]> {
        Lines {
            read: BufReader::new(text),
            line: Vec::new(),
        }
    }

    #[tokio::test]
    async fn lines_come_whole_and_a_torn_one_is_none() {
        let room = Room::new();
        let mut all = lines(b"one\ntwo\nthr");
        for expected in ["one\n", "two\n"] {
            assert!(all.next(&room).await.unwrap().unwrap().is_none());
            assert_eq!(all.line, expected.as_bytes());
        }
        assert!(matches!(all.next(&room).await, Err(Unread::Lost)));
        assert!(matches!(lines(b"").next(&room).await, Ok(None)));
    }

    #[tokio::test]
    async fn a_long_line_holds_a_share_of_the_room_and_too_long_a_one_is_refused() {
        let room = Room(Arc::new(Semaphore::new(2)));
        let long = [vec![b'x'; 3 * SMALL_LINE], b"\n".to_vec()].concat();
        let mut all = lines(&long);
        let share = all.next(&room).await.unwrap().unwrap();
        assert_eq!(share.as_ref().map(|s| s.num_permits()), Some(2));
        assert_eq!(room.0.available_permits(), 0);
        assert_eq!(all.line.len(), long.len());
        drop(share);
        assert_eq!(room.0.available_permits(), 2);

        let room = Room::new();
        let too_long = vec![b'x'; LONGEST_LINE + 1];
        let Err(Unread::Refused(why)) = lines(&too_long).next(&room).await else {
            panic!("it was read")
        };
        assert!(why.to_string().contains("16 MB"), "{why}");
        let all = room.0.available_permits();
        assert_eq!(all, ROOM / SMALL_LINE, "what it held is free again");
    }

    #[tokio::test]
    async fn unfinished_lines_wait_for_room_and_short_ones_do_not() {
        let room = Room(Arc::new(Semaphore::new(1)));
        let (mut one, other) = tokio::io::duplex(4 * SMALL_LINE);
        one.write_all(&vec![b'x'; 2 * SMALL_LINE - 1])
            .await
            .unwrap();
        let mut unfinished = Lines {
            read: BufReader::new(other),
            line: Vec::new(),
        };
        let held = unfinished.rest(&room);
        tokio::pin!(held);
        while room.0.available_permits() > 0 {
            tokio::select! {
                _ = &mut held => panic!("it has no end"),
                () = tokio::task::yield_now() => {}
            }
        }
        let long = [vec![b'y'; 2 * SMALL_LINE - 1], b"\n".to_vec()].concat();
        let mut waits = lines(&long);
        let waiting = waits.next(&room);
        tokio::pin!(waiting);
        for _ in 0..100 {
            tokio::select! {
                biased;
                _ = &mut waiting => panic!("there is no room for it"),
                () = tokio::task::yield_now() => {}
            }
        }
        assert!(lines(b"short\n").next(&room).await.unwrap().is_some());
        one.write_all(b"\n").await.unwrap();
        drop(held.await.unwrap());
        assert!(waiting.await.unwrap().is_some());
    }

    #[tokio::test]
    async fn only_who_may_ask_is_answered() {
        let mut w = World::new();
        let host = Host::start(w.engine.take().unwrap()).unwrap();
        let handle = host.handle();
        let mut stranger = std::process::Command::new("sleep")
            .arg("60")
            .env_clear()
            .env("CLAUDECODE", "1")
            .spawn()
            .unwrap();
        let pid = Some(stranger.id());
        let anyone = admit(&handle, &Ping {}.into(), pid).await;
        let mut people = admit(&handle, &Remove { id: "none".into() }.into(), pid).await;
        // The child's environment is its own only once it runs its program.
        while cfg!(target_os = "linux") && people.is_ok() {
            people = admit(&handle, &Remove { id: "none".into() }.into(), pid).await;
        }
        let own = admit(
            &handle,
            &Remove { id: "none".into() }.into(),
            Some(std::process::id()),
        )
        .await;
        stranger.kill().unwrap();
        stranger.wait().unwrap();
        anyone.unwrap();
        own.unwrap();
        if cfg!(target_os = "linux") {
            assert_eq!(people.unwrap_err().kind, ErrorKind::NotForAgents);
        }
    }
}
