//! A lasting link to the engine of a store, for programs that stay: the terminal program,
//! `serve` and `events --follow`. Connects to whoever hosts the engine, or hosts it; when the
//! host goes away, takes over.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use super::{
    Config, EngineError, EngineHandle, Locations, Notice, Subscription,
    error::ErrorKind,
    host::{Host, Owner},
    requests::Snapshot,
    writer::Engine,
};

/// What happens on a link.
pub enum LinkEvent {
    /// There is an engine. Comes first, and again after each takeover.
    Up {
        handle: EngineHandle,
        snapshot: Box<Snapshot>,
        hosting: bool,
    },
    Notice(Notice),
    /// The host went away; another `Up` follows.
    Down,
    /// There can be no engine; the link is over.
    Failed(EngineError),
}

/// A link; dropping it lets go of the engine, and ends it when this process hosts it.
pub struct Link {
    /// What happens, in order.
    pub events: mpsc::Receiver<LinkEvent>,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

impl Link {
    /// Starts to look for an engine.
    pub fn start(locations: Locations, config: Config) -> Self {
        let (sender, events) = mpsc::channel(super::handle::NOTICES);
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(keep(locations, config, sender, stopped));
        Self {
            events,
            stop,
            task: Some(task),
        }
    }

    /// Lets go, and waits until everything pending is written.
    pub async fn close(mut self) {
        let _ = self.stop.send(true);
        self.events.close();
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

/// How long to wait before looking again while another process has the store and listens on
/// no socket: a one-shot command that is just about to end.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
const GIVE_UP_AFTER: usize = 500;

async fn keep(
    locations: Locations,
    config: Config,
    sender: mpsc::Sender<LinkEvent>,
    mut stopped: watch::Receiver<bool>,
) {
    let locations = Arc::new(locations);
    loop {
        let Found {
            handle,
            host,
            subscription,
        } = match find(&locations, &config).await {
            Ok(found) => found,
            Err(error) => {
                let _ = sender.send(LinkEvent::Failed(error)).await;
                return;
            }
        };
        let hosting = host.is_some();
        let Subscription {
            snapshot,
            mut notices,
        } = subscription;
        if sender
            .send(LinkEvent::Up {
                handle,
                snapshot,
                hosting,
            })
            .await
            .is_err()
        {
            return close_host(host).await;
        }
        loop {
            let event = tokio::select! {
                biased;
                _ = stopped.changed() => return close_host(host).await,
                notice = notices.recv() => match notice {
                    Some(notice) => LinkEvent::Notice(notice),
                    None => break,
                },
            };
            if sender.send(event).await.is_err() {
                return close_host(host).await;
            }
        }
        close_host(host).await;
        if sender.send(LinkEvent::Down).await.is_err() {
            return;
        }
        // An engine that ends as soon as it was found must not be asked in a row.
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Stops the host off the async threads: it waits for its last write.
async fn close_host(host: Option<Host>) {
    if let Some(host) = host {
        let _ = tokio::task::spawn_blocking(move || drop(host)).await;
    }
}

/// An engine that answers.
struct Found {
    handle: EngineHandle,
    /// The engine, when this process hosts it.
    host: Option<Host>,
    subscription: Subscription,
}

/// Looks for an engine, or hosts one, until one answers.
///
/// # Errors
/// There can be none, as with an engine of another version: the link must not ask it again and
/// again. An engine that ends before it answers is looked for again, but not for ever.
async fn find(locations: &Arc<Locations>, config: &Config) -> Result<Found, EngineError> {
    let mut last = None;
    for _ in 0..GIVE_UP_AFTER {
        match try_once(locations, config).await {
            Err(error) if error.kind == ErrorKind::Busy => last = Some(error),
            found => return found,
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Err(last.unwrap_or_else(|| EngineError::busy("no engine could be reached")))
}

async fn try_once(locations: &Arc<Locations>, config: &Config) -> Result<Found, EngineError> {
    let told = Owner::read(locations).map(|owner| owner.socket);
    let socket = told.as_deref().unwrap_or(&locations.socket);
    let (handle, host) = match EngineHandle::connect(socket).await {
        Ok(handle) => (handle, None),
        Err(_) => {
            let host = start_host(locations, config).await?;
            (host.handle(), Some(host))
        }
    };
    match handle.subscribe().await {
        Ok(subscription) => Ok(Found {
            handle,
            host,
            subscription,
        }),
        Err(error) => {
            close_host(host).await;
            Err(error)
        }
    }
}

async fn start_host(locations: &Arc<Locations>, config: &Config) -> Result<Host, EngineError> {
    let (places, config) = (Arc::clone(locations), config.clone());
    let opened =
        tokio::task::spawn_blocking(move || Engine::open(&places, &config).and_then(Host::start));
    let panicked = |panic| EngineError::failed("the engine panicked").caused_by(panic);
    opened.await.map_err(panicked)?
}
