//! The blocking way to an engine, for hooks and one-shot commands: through the socket of the
//! process that hosts it, else with the store opened for a moment in this one.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    Call, Config, EngineError, Locations, Reply,
    host::Owner,
    protocol::{PROTOCOL, Request, Response},
    writer::{Answer, Engine},
};

/// A way to an engine that is open.
pub enum Session {
    /// The engine of another process.
    Remote(Connection),
    /// The engine of this one, while it lasts.
    Local(Box<Engine>),
}

/// Opens a session within `deadline`: waits its turn while another process has the store and
/// listens on no socket yet.
///
/// # Errors
/// [`EngineError::Busy`] when the deadline passes; what configuration or store report.
pub fn open_session(locations: &Locations, deadline: Instant) -> Result<Session, EngineError> {
    let mut wait = Duration::from_millis(1);
    loop {
        if let Some(connection) = Connection::open(locations, deadline) {
            return Ok(Session::Remote(connection));
        }
        let config = Config::load(&locations.config)?;
        match Engine::open(locations, &config) {
            Ok(engine) => return Ok(Session::Local(Box::new(engine))),
            Err(EngineError::Busy(_)) if Instant::now() + wait < deadline => {
                std::thread::sleep(wait);
                wait = (wait * 2).min(Duration::from_millis(20));
            }
            Err(EngineError::Busy(message)) => {
                let holder = Owner::read(locations)
                    .map(|o| format!(" (process {} hosts its engine and does not answer)", o.pid))
                    .unwrap_or_default();
                return Err(EngineError::Busy(format!("{message}{holder}")));
            }
            Err(error) => return Err(error),
        }
    }
}

impl Session {
    /// Asks, and waits for the answer until `deadline`. A call that may be repeated is sent
    /// again, to whoever hosts the engine then, when its answer is lost.
    ///
    /// # Errors
    /// What the engine answers; a deadline that passed; an answer that was lost.
    pub fn call(&mut self, locations: &Locations, call: Call, deadline: Instant) -> Answer {
        loop {
            let lost = match self {
                Self::Local(engine) => return engine.call(call),
                Self::Remote(connection) => match connection.call(&call, deadline) {
                    Ok(answer) => return answer,
                    Err(error) => error,
                },
            };
            if is_timeout(&lost) || Instant::now() >= deadline {
                return Err(EngineError::Busy(
                    "the engine did not answer in time; see whether its process is stuck".into(),
                ));
            }
            if !call.is_repeatable() {
                return Err(EngineError::Busy(format!(
                    "the engine ended while it worked ({lost}), so it is not known whether it was done; look with `invar list` and `invar plan list`"
                )));
            }
            *self = open_session(locations, deadline)?;
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// A blocking connection to an engine's socket.
pub struct Connection {
    stream: BufReader<UnixStream>,
    next_id: u64,
}

impl Connection {
    /// Connects to the engine of the store, if one listens.
    pub fn open(locations: &Locations, deadline: Instant) -> Option<Self> {
        let told = Owner::read(locations).map(|owner| owner.socket);
        let socket = told.as_deref().unwrap_or(&locations.socket);
        Self::to(socket, deadline)
    }

    fn to(socket: &Path, deadline: Instant) -> Option<Self> {
        let stream = UnixStream::connect(socket).ok()?;
        let left = deadline.saturating_duration_since(Instant::now());
        let left = left.max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).ok()?;
        stream.set_write_timeout(Some(left)).ok()?;
        Some(Self {
            stream: BufReader::new(stream),
            next_id: 0,
        })
    }

    fn call(&mut self, call: &Call, deadline: Instant) -> io::Result<Answer> {
        self.next_id += 1;
        let id = self.next_id;
        let request = Request {
            v: PROTOCOL,
            id,
            subscribe: false,
            call: call.clone(),
        };
        let mut line = serde_json::to_vec(&request)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        let mut answer = String::new();
        loop {
            answer.clear();
            let left = deadline.saturating_duration_since(Instant::now());
            self.stream
                .get_ref()
                .set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            if self.stream.read_line(&mut answer)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match serde_json::from_str(&answer)? {
                Response::Ok { id: of, reply } if of == id => return Ok(Ok(reply)),
                Response::Err { id: of, error } if of == id || of == 0 => return Ok(Err(error)),
                _ => {}
            }
        }
    }
}

/// The answer, when it has the shape that the call asks for.
///
/// # Errors
/// An engine that answers something else.
pub fn expect<T>(
    reply: Reply,
    pick: impl FnOnce(Reply) -> Result<T, Box<Reply>>,
) -> Result<T, EngineError> {
    pick(reply).map_err(|other| {
        EngineError::Failed(format!(
            "the engine gave an answer of another kind ({other:?})"
        ))
    })
}
