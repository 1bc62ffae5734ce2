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
        let (handle, host) = match find(&locations, &config).await {
            Ok(found) => found,
            Err(error) => {
                let _ = sender.send(LinkEvent::Failed(error)).await;
                return;
            }
        };
        let hosting = host.is_some();
        let Ok(Subscription {
            snapshot,
            mut notices,
        }) = handle.subscribe().await
        else {
            // It went away, or its disk fails; neither is mended by asking at once.
            tokio::time::sleep(LOOK_AGAIN).await;
            continue;
        };
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
    }
}

/// Stops the host off the async threads: it waits for its last write.
async fn close_host(host: Option<Host>) {
    if let Some(host) = host {
        let _ = tokio::task::spawn_blocking(move || drop(host)).await;
    }
}

async fn find(
    locations: &Arc<Locations>,
    config: &Config,
) -> Result<(EngineHandle, Option<Host>), EngineError> {
    let mut last = None;
    for _ in 0..GIVE_UP_AFTER {
        let told = Owner::read(locations).map(|owner| owner.socket);
        let socket = told.as_deref().unwrap_or(&locations.socket);
        if let Ok(handle) = EngineHandle::connect(socket).await {
            return Ok((handle, None));
        }
        let (places, config) = (Arc::clone(locations), config.clone());
        let opened = tokio::task::spawn_blocking(move || {
            Engine::open(&places, &config).and_then(Host::start)
        });
        match opened.await {
            Ok(Ok(host)) => return Ok((host.handle(), Some(host))),
            Ok(Err(error @ EngineError::Busy(_))) => last = Some(error),
            Ok(Err(error)) => return Err(error),
            Err(panic) => return Err(EngineError::Failed(format!("the engine panicked: {panic}"))),
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Err(last.unwrap_or_else(|| EngineError::Busy("no engine could be reached".into())))
}
