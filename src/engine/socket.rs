//! The engine's Unix socket: newline-delimited JSON, one request id per call, events as a
//! subscription. Only processes of the same user are answered.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    sync::{Semaphore, mpsc, oneshot},
};

use super::{
    Call, EngineError, Request, caller,
    handle::{EngineHandle, Notice},
    protocol::{ClientLine, EngineLine, PROTOCOL},
    requests::{AgentPids, Asker, TakeSnapshot},
};

/// How many calls of one connection are worked on at once.
const IN_FLIGHT: usize = 512;

/// The longest line that is read; a longer one ends the connection.
const MAX_LINE: u64 = 16 << 20;

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
            EngineError::Failed(format!(
                "the engine's socket {} {what}: {e}; check the folder, or set XDG_RUNTIME_DIR",
                path.display()
            ))
        };
        prepare_folder(path).map_err(|e| fail("has no safe folder", &e))?;
        let _ = fs::remove_file(path);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
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
    if owner != rustix::process::getuid().as_raw() {
        return Err(io::Error::other(format!(
            "its folder belongs to user {owner}"
        )));
    }
    Ok(())
}

async fn accept(listener: UnixListener, handle: EngineHandle, mut stopped: oneshot::Receiver<()>) {
    let us = rustix::process::getuid().as_raw();
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    match stream.peer_cred() {
                        Ok(peer) if peer.uid() == us => {
                            let pid = peer.pid().and_then(|p| u32::try_from(p).ok());
                            tokio::spawn(serve(stream, handle.clone(), pid));
                        }
                        _ => {}
                    }
                }
                Err(error) => {
                    // Out of descriptors, most likely: those that are open must end first.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::task::yield_now().await;
                }
            }
        }
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
            why.map_or(Ok(()), |why| {
                Err(EngineError::NotForAgents(caller::refusal(&why)))
            })
        }
    }
}

async fn serve(stream: UnixStream, handle: EngineHandle, peer: Option<u32>) {
    let (read, mut write) = stream.into_split();
    let (lines, mut outgoing) = mpsc::channel::<EngineLine>(256);
    let mut writer = tokio::spawn(async move {
        while let Some(response) = outgoing.recv().await {
            let mut line = serde_json::to_vec(&response).unwrap_or_else(|error| {
                tracing::error!(%error, "an answer could not be encoded");
                Vec::new()
            });
            if line.is_empty() {
                break;
            }
            line.push(b'\n');
            if write.write_all(&line).await.is_err() {
                break;
            }
        }
    });
    let in_flight = Arc::new(Semaphore::new(IN_FLIGHT));
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = (&mut read).take(MAX_LINE);
        tokio::select! {
            // Who cannot be answered is not listened to either.
            _ = &mut writer => return,
            read = limited.read_until(b'\n', &mut line) => match read {
                Ok(n) if n > 0 && line.ends_with(b"\n") => {}
                _ => return,
            },
        }
        let line: ClientLine = match serde_json::from_slice(&line) {
            Ok(line) => line,
            Err(error) => {
                let error = EngineError::Invalid(format!("the request is not understood: {error}"));
                let _ = lines.send(EngineLine::Err { id: 0, error }).await;
                return;
            }
        };
        let id = line.id;
        if line.v != PROTOCOL {
            let error = EngineError::Failed(format!(
                "the engine speaks version {PROTOCOL} and the caller {}; end the older one (process {}) and try again",
                line.v,
                std::process::id()
            ));
            let _ = lines.send(EngineLine::Err { id, error }).await;
            continue;
        }
        // Who asks faster than is answered waits here, and not in memory.
        let Ok(permit) = Arc::clone(&in_flight).acquire_owned().await else {
            return;
        };
        let (handle, lines) = (handle.clone(), lines.clone());
        tokio::spawn(async move {
            let _permit = permit;
            if line.subscribe {
                subscribe(&handle, id, &lines).await;
                return;
            }
            let answer = match admit(&handle, &line.call, peer).await {
                Ok(()) => handle.call(line.call).await,
                Err(error) => Err(error),
            };
            let answer = match answer {
                Ok(reply) => EngineLine::Ok { id, reply },
                Err(error) => EngineLine::Err { id, error },
            };
            let _ = lines.send(answer).await;
        });
    }
}

async fn subscribe(handle: &EngineHandle, id: u64, lines: &mpsc::Sender<EngineLine>) {
    let mut subscription = match handle.subscribe().await {
        Ok(subscription) => subscription,
        Err(error) => {
            let _ = lines.send(EngineLine::Err { id, error }).await;
            return;
        }
    };
    let reply = TakeSnapshot::into_reply(*subscription.snapshot);
    if lines.send(EngineLine::Ok { id, reply }).await.is_err() {
        return;
    }
    while let Some(notice) = subscription.notices.recv().await {
        let response = match notice {
            Notice::Event(event) => EngineLine::Event {
                event: Box::new((*event).clone()),
            },
            Notice::Lagged { missed } => EngineLine::Lagged { missed },
        };
        if lines.send(response).await.is_err() {
            return;
        }
    }
}
