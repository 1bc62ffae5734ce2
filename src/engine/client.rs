//! The blocking way to an engine, for hooks and one-shot commands: through the socket of the
//! process that hosts it, else with the store opened for a moment in this one.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    Call, Config, EngineError, Locations, Request,
    error::ErrorKind,
    host::Owner,
    peer,
    protocol::{ClientLine, EngineLine, PROTOCOL},
    requests::{Again, reply_to},
    writer::{Answer, Engine},
};

/// A way to an engine that is open.
pub enum Session {
    /// The engine of another process.
    Remote(Connection),
    /// The engine of this one, while it lasts.
    Local(Box<Engine>),
}

/// How long is waited before something is tried again, at first.
const FIRST_WAIT: Duration = Duration::from_millis(1);

fn longer(wait: Duration) -> Duration {
    (wait * 2).min(Duration::from_millis(20))
}

/// Opens a session within `deadline`: waits its turn while another process has the store and
/// listens on no socket yet.
///
/// # Errors
/// [`ErrorKind::Busy`] when the deadline passes; what configuration or store report.
pub fn open_session(locations: &Locations, deadline: Instant) -> Result<Session, EngineError> {
    let mut wait = FIRST_WAIT;
    loop {
        if let Some(connection) = Connection::open(locations, deadline) {
            return Ok(Session::Remote(connection));
        }
        let config = Config::load(&locations.config)?;
        match Engine::open(locations, &config) {
            Ok(engine) => return Ok(Session::Local(Box::new(engine))),
            Err(error) if error.kind != ErrorKind::Busy => return Err(error),
            Err(_) if Instant::now() + wait < deadline => {
                std::thread::sleep(wait);
                wait = longer(wait);
            }
            Err(error) => {
                return Err(match Owner::read(locations) {
                    Some(Owner { pid, .. }) => error.remark(format!(
                        "process {pid} hosts its engine and does not answer"
                    )),
                    None => error,
                });
            }
        }
    }
}

impl Session {
    /// Asks, and waits for the reply until `deadline`. A request that may be sent again is, to
    /// whoever hosts the engine then, when its answer is lost.
    ///
    /// # Errors
    /// What the engine answers; a deadline that passed; an answer that was lost.
    pub fn ask<R: Request>(
        &mut self,
        locations: &Locations,
        request: R,
        deadline: Instant,
    ) -> Result<R::Reply, EngineError> {
        reply_to::<R>(self.call(locations, request.into_call(), deadline))
    }

    fn call(&mut self, locations: &Locations, call: Call, deadline: Instant) -> Answer {
        let mut wait = FIRST_WAIT;
        loop {
            let lost = match self {
                Self::Local(engine) => return engine.call(call),
                Self::Remote(connection) => match connection.call(&call, deadline) {
                    Ok(answer) => return answer,
                    Err(error) => error,
                },
            };
            if is_timeout(&lost) || Instant::now() >= deadline {
                return Err(EngineError::busy("the engine did not answer in time")
                    .hint("see whether its process is stuck"));
            }
            if call.again() == Again::MustNot {
                return Err(EngineError::busy(format!(
                    "the engine ended while it worked ({lost}), so it is not known whether it was done"
                ))
                .hint("look with `invar list` and `invar plan list`"));
            }
            // Whoever took over may end as well; asking on and on would take a processor.
            std::thread::sleep(wait.min(left(deadline)));
            wait = longer(wait);
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
    /// Connects to the engine of the store, if one of this user listens.
    pub fn open(locations: &Locations, deadline: Instant) -> Option<Self> {
        let told = Owner::read(locations).map(|owner| owner.socket);
        let socket = told.as_deref().unwrap_or(&locations.socket);
        Self::to(socket, deadline)
    }

    fn to(socket: &Path, deadline: Instant) -> Option<Self> {
        let stream = connect(socket, left(deadline)).ok()?;
        peer::check_engine(&stream, socket).ok()?;
        Some(Self {
            stream: BufReader::new(stream),
            next_id: 0,
        })
    }

    /// Asks, and waits for the answer until `deadline`.
    ///
    /// # Errors
    /// A connection that was lost, or a deadline that passed; what the engine answers is in
    /// the answer.
    pub fn ask<R: Request>(
        &mut self,
        request: R,
        deadline: Instant,
    ) -> io::Result<Result<R::Reply, EngineError>> {
        self.call(&request.into_call(), deadline).map(reply_to::<R>)
    }

    fn call(&mut self, call: &Call, deadline: Instant) -> io::Result<Answer> {
        self.next_id += 1;
        let id = self.next_id;
        let line = ClientLine {
            v: PROTOCOL,
            id,
            subscribe: false,
            call: call.clone(),
        };
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        let mut answer = String::new();
        loop {
            answer.clear();
            self.stream
                .get_ref()
                .set_read_timeout(Some(left(deadline)))?;
            if self.stream.read_line(&mut answer)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match EngineLine::read(&answer) {
                Ok(EngineLine::Ok { id: of, reply }) if of == id => return Ok(Ok(reply)),
                Ok(EngineLine::Err { id: of, error, .. }) if of == id => return Ok(Err(error)),
                Ok(_) => {}
                // It is no use to ask this engine again.
                Err(error) => return Ok(Err(error)),
            }
        }
    }
}

/// The time until `deadline`, at least a little: nothing at all would mean for ever.
fn left(deadline: Instant) -> Duration {
    deadline
        .saturating_duration_since(Instant::now())
        .max(Duration::from_millis(1))
}

/// Connects within `time`: a listener that does not accept must not hold us.
fn connect(socket: &Path, time: Duration) -> io::Result<UnixStream> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, sockopt};
    let address = SocketAddrUnix::new(socket)?;
    let fd = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
    sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, Some(time))?;
    rustix::net::connect(&fd, &address)?;
    Ok(UnixStream::from(fd))
}
