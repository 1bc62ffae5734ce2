//! The engine's Unix socket: newline-delimited JSON, one request id per call, events as a
//! subscription. Only processes of the same user are answered.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

use tokio::{
    net::{UnixListener, UnixStream},
    sync::{Notify, oneshot},
};

use super::{
    EngineError,
    connection::{self, Room},
    handle::EngineHandle,
    peer,
};

/// The listening socket and its thread. Dropping it closes both.
pub(super) struct Server {
    path: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at `path`. The caller holds the store, so that a file that lies there is stale.
    pub(super) fn start(path: &Path, handle: EngineHandle) -> Result<Self, EngineError> {
        let fail = |what: &str, e: &io::Error| {
            EngineError::failed(format!("the engine's socket {} {what}", path.display()))
                .caused_by(e)
                .hint("check the folder, or set XDG_RUNTIME_DIR")
        };
        prepare_folder(path).map_err(|e| fail("has no safe folder", &e))?;
        let _ = fs::remove_file(path);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|e| fail("has no runtime", &e))?;
        let listener = {
            let _guard = runtime.enter();
            UnixListener::bind(path).map_err(|e| fail("could not be opened", &e))?
        };
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
            .map_err(|e| fail("could not be closed to others", &e))?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("socket".into())
            .spawn(move || runtime.block_on(accept(listener, handle, stopped)))
            .map_err(|e| fail("has no thread", &e))?;
        Ok(Self {
            path: path.to_owned(),
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The socket's folder belongs to this user alone.
fn prepare_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let owner = fs::metadata(folder)?.uid();
    if !peer::is_ours(owner) {
        return Err(io::Error::other(format!(
            "its folder belongs to user {owner}"
        )));
    }
    Ok(())
}

/// Where connections come from.
trait Listen {
    async fn next(&mut self) -> io::Result<UnixStream>;
}

impl Listen for UnixListener {
    async fn next(&mut self) -> io::Result<UnixStream> {
        self.accept().await.map(|(stream, _)| stream)
    }
}

/// How long nobody is let in after so many failures in a row. Out of descriptors, the next try
/// fails as soon as it is made, and trying on and on would take a processor for itself.
fn pause_after(failures: u32) -> Duration {
    const FIRST: Duration = Duration::from_millis(10);
    const LONGEST: Duration = Duration::from_secs(1);
    FIRST.saturating_mul(1 << failures.min(10)).min(LONGEST)
}

async fn accept(
    mut listener: impl Listen,
    handle: EngineHandle,
    mut stopped: oneshot::Receiver<()>,
) {
    let room = Arc::new(Room::new());
    let closed = Arc::new(Notify::new());
    let mut failures = 0;
    loop {
        let accepted = tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.next() => accepted,
        };
        match accepted {
            Ok(stream) => {
                failures = 0;
                let Some(pid) = admitted(&stream) else {
                    continue;
                };
                let (handle, room) = (handle.clone(), Arc::clone(&room));
                let closed = Arc::clone(&closed);
                tokio::spawn(async move {
                    connection::serve(stream, handle, pid, room).await;
                    closed.notify_one();
                });
            }
            Err(error) => {
                if failures == 0 {
                    tracing::warn!(%error, "a connection could not be accepted");
                }
                tokio::select! {
                    _ = &mut stopped => return,
                    // One that closes gives its descriptor back.
                    () = closed.notified() => {}
                    () = tokio::time::sleep(pause_after(failures)) => {}
                }
                failures += 1;
            }
        }
    }
}

/// The process that connected, as far as the system tells; `None` when it is of another user.
fn admitted(stream: &UnixStream) -> Option<Option<u32>> {
    let peer = stream.peer_cred().ok()?;
    peer::is_ours(peer.uid()).then(|| peer.pid().and_then(|pid| u32::try_from(pid).ok()))
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, time::Instant};

    use super::*;
    use crate::tests::World;

    /// Fails as often as it is told to, then gives its streams, then waits for ever.
    struct Failing {
        failures: u32,
        streams: VecDeque<UnixStream>,
    }

    impl Listen for Failing {
        async fn next(&mut self) -> io::Result<UnixStream> {
            if self.failures > 0 {
                self.failures -= 1;
                return Err(rustix::io::Errno::MFILE.into());
            }
            match self.streams.pop_front() {
                Some(stream) => Ok(stream),
                None => std::future::pending().await,
            }
        }
    }

    #[tokio::test]
    async fn out_of_descriptors_it_waits_longer_and_longer_and_then_goes_on() {
        let mut w = World::new();
        let host = crate::host::Host::start(w.engine.take().unwrap()).unwrap();
        let (theirs, ours) = UnixStream::pair().unwrap();
        let failures = 5;
        let listener = Failing {
            failures,
            streams: [ours].into(),
        };
        let (_stop, stopped) = oneshot::channel();
        let start = Instant::now();
        let task = tokio::spawn(accept(listener, host.handle(), stopped));
        let client = EngineHandle::over(theirs);
        let pong = client.ask(crate::requests::Ping {}).await.unwrap();
        assert_eq!(pong.pid, std::process::id());
        let pauses: Duration = (0..failures).map(pause_after).sum();
        assert!(start.elapsed() >= pauses, "it did not pause");
        task.abort();
    }

    #[test]
    fn the_pauses_grow_to_a_second() {
        let pauses: Vec<u128> = (0..9).map(|n| pause_after(n).as_millis()).collect();
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        assert_eq!(pause_after(u32::MAX), Duration::from_secs(1));
    }
}
