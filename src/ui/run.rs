//! The loop of the terminal program: signals, keys, the engine's events and the next frame, in
//! this order. Nothing ticks while nothing happens.
//!
//! One task owns the model and the terminal; everything that takes time (asking the engine,
//! counting files) runs beside it and comes back as a message. So the model needs no lock, and a
//! slow engine never holds a key up.

use std::{
    io::{self, IsTerminal},
    os::fd::AsFd,
    path::PathBuf,
    time::{Duration, Instant},
};

use crossterm::{
    event::{Event as TerminalEvent, EventStream},
    execute,
    terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate},
};
use futures::StreamExt;
use rustix::event::{PollFd, PollFlags, poll};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    task::JoinHandle,
};

use super::{
    clipboard, draw, external, look,
    terminal::{self, Guard},
    theme::Theme,
    watch::Watch,
};
use crate::{
    app::{
        Answered, Ask, Effect, Model, Msg, model::Counted, settings::Settings, stream::Tone, update,
    },
    engine::{
        Config, EngineError, EngineHandle, Locations, Notice, Request,
        disk::project_root,
        link::{Link, LinkEvent},
        requests::{ProjectOf, TakeSnapshot},
    },
    model::fault,
};

/// At most one frame in this time.
const FRAME: Duration = Duration::from_millis(16);

/// The same with reduced motion, unless a key was pressed: a person's own keys show at once.
const CALM_FRAME: Duration = Duration::from_millis(500);

/// How many waiting events are taken before the next frame, so that a flood of events cannot keep
/// the screen from being drawn.
const DRAIN: usize = 4096;

/// How long the loop may take to end after the terminal has vanished.
const GRACE: Duration = Duration::from_secs(2);

/// What the terminal program is started with.
pub struct Options {
    pub locations: Locations,
    /// The directory whose project comes first.
    pub cwd: PathBuf,
    /// Nothing may be changed from here.
    pub read_only: bool,
    /// Sentences of the demo, shown over all panes.
    pub notices: Option<mpsc::Receiver<String>>,
}

/// Why the terminal program could not run.
#[derive(Debug, thiserror::Error)]
pub enum UiError {
    #[error(
        "invar needs a terminal to draw on; use `invar list`, `invar events` or `invar demo --plain` without one"
    )]
    NoTerminal,
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Runs until a person leaves.
///
/// # Errors
/// No terminal, or no engine.
pub async fn run(mut options: Options) -> Result<(), UiError> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(UiError::NoTerminal);
    }
    let config = Config::load(&options.locations.config)?;
    let look = look::load(&options.locations.config)
        .map_err(|fault| EngineError::failed(fault).hint("mend it, or remove the line"))?;
    let mut link = Link::start(options.locations.clone(), config);
    // Before the screen is entered: what is wrong with the store must stay readable on the plain
    // terminal.
    let first = match link.events.recv().await {
        Some(LinkEvent::Failed(error)) => return Err(error.into()),
        Some(event) => event,
        None => return Err(EngineError::failed("the engine ended at once").into()),
    };
    let result = on_terminal(&mut options, &mut link, first, look).await;
    // The terminal is given back before the last writes are waited for.
    terminal::restore();
    link.close().await;
    result
}

struct Screen {
    model: Model,
    theme: Theme,
    guard: Guard,
    engine: Option<EngineHandle>,
    cwd: PathBuf,
    answers: mpsc::UnboundedSender<Msg>,
    dirty: bool,
    last_frame: Option<Instant>,
    quit: bool,
    suspend: bool,
    /// A text that waits for the person's own editor.
    external: Option<String>,
    /// A key was pressed since the last frame.
    pressed: bool,
    /// What the terminal's title says.
    title: Option<String>,
    root: PathBuf,
}

async fn on_terminal(
    options: &mut Options,
    link: &mut Link,
    first: LinkEvent,
    (settings, theme): (Settings, Theme),
) -> Result<(), UiError> {
    terminal::install_panic_hook(&options.locations.logs);
    let guard = Guard::enter(settings.ui.mouse)?;
    // Unbounded, and still small: each message answers something that this loop asked.
    let (answers, mut answered) = mpsc::unbounded_channel();
    let home = Some(options.locations.home.clone());
    let root = project_root(&options.cwd);
    let mut screen = Screen {
        model: Model::new(None, home),
        theme,
        guard,
        engine: None,
        cwd: options.cwd.clone(),
        answers,
        dirty: true,
        last_frame: None,
        quit: false,
        suspend: false,
        external: None,
        pressed: true,
        title: None,
        root: root.clone(),
    };
    screen.model.read_only = options.read_only;
    if let Some(warning) = settings.warnings.first() {
        screen.model.toast = Some((Tone::Warning, warning.clone()));
    }
    screen.model.settings = settings;
    let size = crossterm::terminal::size()?;
    screen.take(Msg::Resize(size.0, size.1));
    if let LinkEvent::Up { snapshot, .. } = &first {
        let state = crate::engine::State::from_snapshot((**snapshot).clone());
        screen.model.home_project = Some(state.project_of(&root));
    }
    screen.link(first)?;

    let mut hangup = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut vanished = watch_terminal();
    let mut input = Input::start();
    let mut notices = options.notices.take();
    let config = options.locations.config.clone();
    let mut watch = Watch::new(&config);
    while !screen.quit {
        let until_frame = screen.until_frame();
        tokio::select! {
            // In order: an end first, then the person's keys, then events, however many come.
            biased;
            _ = vanished.recv() => break,
            _ = hangup.recv() => break,
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            event = input.events.recv() => match event {
                Some(Ok(event)) => screen.input(event),
                // The terminal's end is noticed by the thread that watches it.
                Some(Err(error)) => return Err(error.into()),
                None => break,
            },
            event = link.events.recv() => match event {
                Some(event) => screen.link(event)?,
                None => break,
            },
            Some(msg) = answered.recv() => screen.take(msg),
            Some(()) = watch.changed.recv() => {
                watch.follow();
                screen.reload(&config);
            }
            notice = next_notice(&mut notices) => {
                screen.model.notice = Some(notice);
                screen.dirty = true;
            },
            // Without something to draw there is no timer, and the process sleeps.
            () = tokio::time::sleep(until_frame), if screen.dirty => {}
        }
        // What waits is taken before the next frame, so that a flood costs few frames.
        for _ in 0..DRAIN {
            if let Ok(event) = input.events.try_recv() {
                screen.input(event?);
            } else if let Ok(event) = link.events.try_recv() {
                screen.link(event)?;
            } else if let Ok(msg) = answered.try_recv() {
                screen.take(msg);
            } else {
                break;
            }
        }
        if std::mem::take(&mut screen.suspend) {
            // An event stream that is alive would read keys that are meant for the shell.
            input.stop().await;
            screen.suspend_until_continued()?;
            input = Input::start();
        }
        if let Some(text) = screen.external.take() {
            input.stop().await;
            screen.hand_over(&text)?;
            input = Input::start();
        }
        if screen.dirty && screen.until_frame().is_zero() {
            screen.frame()?;
        }
    }
    Ok(())
}

/// The terminal's events through a channel. The loop also takes events without waiting, and an
/// event stream that is polled that way forgets whom to wake; a channel does not.
struct Input {
    events: mpsc::Receiver<io::Result<TerminalEvent>>,
    task: JoinHandle<()>,
}

impl Input {
    fn start() -> Self {
        let (sender, events) = mpsc::channel(DRAIN);
        let task = tokio::spawn(async move {
            let mut stream = EventStream::new();
            while let Some(event) = stream.next().await {
                if sender.send(event).await.is_err() {
                    break;
                }
            }
        });
        Self { events, task }
    }

    /// Lets go of the terminal's input.
    async fn stop(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

async fn next_notice(notices: &mut Option<mpsc::Receiver<String>>) -> String {
    loop {
        match notices {
            Some(receiver) => match receiver.recv().await {
                Some(notice) => return notice,
                None => *notices = None,
            },
            None => std::future::pending::<()>().await,
        }
    }
}

/// Asks, and gives back the answer of the same kind.
async fn answered(engine: Option<&EngineHandle>, ask: Ask) -> Answered {
    match ask {
        Ask::Add(request) => Answered::Add(to(engine, *request).await),
        Ask::Edit(request) => Answered::Edit(to(engine, *request).await),
        Ask::Do { word, call } => Answered::Do {
            word,
            done: match engine {
                Some(engine) => engine.perform(*call).await,
                None => Err(no_engine()),
            },
        },
        Ask::Resync => Answered::Resync(to(engine, TakeSnapshot {}).await.map(Box::new)),
        Ask::Decisions(request) => Answered::Decisions(to(engine, request).await),
        Ask::Meet(request) => Answered::Meet(to(engine, request).await),
    }
}

async fn to<R: Request>(
    engine: Option<&EngineHandle>,
    request: R,
) -> Result<R::Reply, EngineError> {
    match engine {
        Some(engine) => engine.ask(request).await,
        None => Err(no_engine()),
    }
}

fn no_engine() -> EngineError {
    EngineError::busy("there is no engine just now").hint("try again in a moment")
}

impl Screen {
    fn input(&mut self, event: TerminalEvent) {
        match event {
            TerminalEvent::Key(key) => {
                self.pressed = true;
                self.take(Msg::Key(key));
            }
            TerminalEvent::Paste(text) => self.take(Msg::Paste(text)),
            TerminalEvent::Mouse(event) => {
                use crossterm::event::MouseEventKind;
                if event.kind != MouseEventKind::Moved {
                    self.take(Msg::Mouse(event));
                }
            }
            TerminalEvent::Resize(width, height) => self.take(Msg::Resize(width, height)),
            TerminalEvent::FocusGained | TerminalEvent::FocusLost => {}
        }
    }

    fn link(&mut self, event: LinkEvent) -> Result<(), UiError> {
        match event {
            LinkEvent::Up {
                handle,
                snapshot,
                hosting,
            } => {
                self.engine = Some(handle);
                self.take(Msg::Up { snapshot, hosting });
                self.ask(Ask::Meet(ProjectOf {
                    dir: self.cwd.clone(),
                }));
            }
            LinkEvent::Notice(Notice::Event(event)) => self.take(Msg::Event(event)),
            LinkEvent::Notice(Notice::Lagged { missed }) => self.take(Msg::Lagged { missed }),
            LinkEvent::Down => {
                self.engine = None;
                self.take(Msg::Down);
            }
            LinkEvent::Failed(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn take(&mut self, msg: Msg) {
        if matches!(msg, Msg::Key(_)) {
            fault::point("update");
        }
        self.dirty = true;
        for effect in update(&mut self.model, msg) {
            match effect {
                Effect::Quit => self.quit = true,
                Effect::Suspend => self.suspend = true,
                Effect::External(text) => self.external = Some(text),
                Effect::Copy(text) => {
                    let how = clipboard::copy(&text);
                    // It has no effects of its own.
                    update(&mut self.model, Msg::Copied(how));
                }
                Effect::Count(patterns) => self.count(patterns),
                Effect::Bell => {
                    let mut out = io::stdout();
                    let _ = io::Write::write_all(&mut out, b"\x07");
                    let _ = io::Write::flush(&mut out);
                }
                Effect::Ask(ask) => self.ask(ask),
            }
        }
    }

    /// Takes a changed configuration over; a broken one changes nothing.
    fn reload(&mut self, config: &std::path::Path) {
        // An editor empties a file before it writes it; what was read last stays until it has.
        if std::fs::metadata(config).is_ok_and(|file| file.len() == 0) {
            return;
        }
        match look::load(config) {
            Ok((settings, theme)) => {
                if settings.ui.mouse != self.model.settings.ui.mouse {
                    let _ = terminal::set_mouse(settings.ui.mouse);
                }
                self.theme = theme;
                self.take(Msg::Settings(Ok(Box::new(settings))));
            }
            Err(fault) => self.take(Msg::Settings(Err(fault))),
        }
    }

    /// Counts files beside the loop.
    fn count(&self, patterns: Vec<String>) {
        let (root, answers) = (self.root.clone(), self.answers.clone());
        let home = self.model.home.clone();
        tokio::task::spawn_blocking(move || {
            let (hits, total) =
                crate::engine::disk::places::count(&root, &patterns, home.as_deref());
            let _ = answers.send(Msg::Counted(Counted {
                patterns,
                hits,
                total,
            }));
        });
    }

    /// The person's own editor has the terminal until it ends. The loop stands still meanwhile; an
    /// engine hosted here goes on, since it has its own thread.
    fn hand_over(&mut self, text: &str) -> io::Result<()> {
        self.guard.leave();
        let edited = external::edit(text);
        self.guard.reenter(self.model.settings.ui.mouse)?;
        match edited {
            Ok(text) => self.take(Msg::Edited(text)),
            Err(error) => {
                self.model.toast = Some((
                    Tone::Bad,
                    format!("the editor could not be used ({error}); set VISUAL or EDITOR"),
                ));
            }
        }
        // It may have been resized meanwhile, and the event went to the editor.
        let size = crossterm::terminal::size()?;
        self.take(Msg::Resize(size.0, size.1));
        Ok(())
    }

    /// Shows in the terminal's own title how many things need a person.
    fn set_title(&mut self) -> io::Result<()> {
        if !self.model.settings.ui.title {
            return Ok(());
        }
        let text = match self.model.needing() {
            0 => "invar".to_owned(),
            count => format!("invar: {count} need you"),
        };
        if self.title.as_ref() != Some(&text) {
            execute!(io::stdout(), crossterm::terminal::SetTitle(&text))?;
            self.title = Some(text);
        }
        Ok(())
    }

    /// Asks the engine beside the loop; the answer comes back as a message.
    fn ask(&self, ask: Ask) {
        let (engine, answers) = (self.engine.clone(), self.answers.clone());
        tokio::spawn(async move {
            let answered = answered(engine.as_ref(), ask).await;
            let _ = answers.send(Msg::Answer(Box::new(answered)));
        });
    }

    /// How long until the next frame may be drawn: not at all after a pause.
    fn until_frame(&self) -> Duration {
        let calm = self.model.settings.ui.reduced_motion && !self.pressed;
        let every = if calm { CALM_FRAME } else { FRAME };
        self.last_frame
            .map_or(Duration::ZERO, |last| every.saturating_sub(last.elapsed()))
    }

    fn frame(&mut self) -> io::Result<()> {
        fault::point("draw");
        self.model.prepare();
        let (model, theme) = (&self.model, &self.theme);
        // Terminals that know it show the frame as a whole, and never half of it.
        execute!(io::stdout(), BeginSynchronizedUpdate)?;
        // Not `Terminal::draw`: it hides the cursor anew with every frame, and terminals flicker.
        let terminal = &mut self.guard.terminal;
        terminal.autoresize()?;
        draw(model, theme, terminal.get_frame().buffer_mut());
        terminal.flush()?;
        terminal.swap_buffers();
        io::Write::flush(terminal.backend_mut())?;
        execute!(io::stdout(), EndSynchronizedUpdate)?;
        self.set_title()?;
        self.dirty = false;
        self.pressed = false;
        self.last_frame = Some(Instant::now());
        Ok(())
    }

    /// Ctrl-Z: the shell has the terminal until it continues this process. The engine goes on.
    fn suspend_until_continued(&mut self) -> io::Result<()> {
        self.guard.leave();
        // The call returns when the shell continues this process.
        let stopped = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
        // The terminal is ours again, whether or not the process could be stopped.
        self.guard.reenter(self.model.settings.ui.mouse)?;
        stopped.map_err(io::Error::from)?;
        let size = crossterm::terminal::size()?;
        self.take(Msg::Resize(size.0, size.1));
        Ok(())
    }
}

/// Receives one message when the terminal vanishes. A thread of its own waits for the hang-up and
/// for nothing else, since the event reader would spin on a dead terminal for ever. When the loop
/// does not end within [`GRACE`] the thread ends the process itself.
fn watch_terminal() -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(1);
    let _ = std::thread::Builder::new()
        .name("hang-up".into())
        .spawn(move || {
            loop {
                let stdin = io::stdin();
                let fd = stdin.as_fd();
                let mut fds = [PollFd::new(&fd, PollFlags::empty())];
                match poll(&mut fds, None) {
                    Ok(_)
                        if fds[0]
                            .revents()
                            .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) =>
                    {
                        break;
                    }
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(_) => break,
                }
            }
            let _ = sender.blocking_send(());
            std::thread::sleep(GRACE);
            std::process::exit(129);
        });
    receiver
}
