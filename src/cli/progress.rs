//! A sign of life while a command waits long, on a terminal and nowhere else.

use std::{
    io::{self, IsTerminal, Write},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Shorter waits say nothing.
const QUIET: Duration = Duration::from_millis(500);

/// Says how long a command has been at work until it is dropped, and then takes it back.
pub struct Progress {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts to wait with whoever reads the terminal; `what` is told, such as `verifying`.
    pub fn start(what: &'static str) -> Self {
        if !io::stderr().is_terminal() {
            return Self {
                done: None,
                thread: None,
            };
        }
        let (done, over) = channel();
        let thread = std::thread::Builder::new()
            .name("progress".into())
            .spawn(move || {
                let start = Instant::now();
                let mut wait = QUIET;
                let mut told = false;
                while over.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    let seconds = start.elapsed().as_secs();
                    let _ = write!(io::stderr(), "\r{what}, {seconds} s");
                    told = true;
                    wait = Duration::from_secs(1);
                }
                if told {
                    let _ = write!(io::stderr(), "\r\u{1b}[K");
                }
            });
        Self {
            done: Some(done),
            thread: thread.ok(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
