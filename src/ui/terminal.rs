//! The terminal: entered once, and left in order whatever happens.

use std::{
    io::{self, Stdout, Write},
    mem::ManuallyDrop,
    panic,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use crossterm::{
    cursor::{Hide, Show},
    event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture},
    execute,
    terminal::{
        Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
        enable_raw_mode,
    },
};
use ratatui::{Terminal, backend::CrosstermBackend};

/// Whether the screen is ours. One process has one terminal.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours; dropping it gives it back.
pub struct Guard {
    /// Never dropped: its own drop writes to a terminal that may be gone, and complains.
    pub terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
}

impl Guard {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// What the terminal refuses; it is then given back as it was.
    pub fn enter(mouse: bool) -> io::Result<Self> {
        enter_modes(mouse)?;
        match Terminal::new(CrosstermBackend::new(io::stdout())) {
            Ok(terminal) => Ok(Self {
                terminal: ManuallyDrop::new(terminal),
            }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Gives the terminal back for a while: for the shell, or for an editor.
    pub fn leave(&mut self) {
        restore();
    }

    /// Takes it over again and draws everything anew.
    ///
    /// # Errors
    /// What the terminal refuses.
    pub fn reenter(&mut self, mouse: bool) -> io::Result<()> {
        enter_modes(mouse)?;
        // A new one has drawn nothing yet; clearing the old one would ask the terminal for its
        // cursor, which may not answer.
        let fresh = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        self.terminal = ManuallyDrop::new(fresh);
        execute!(io::stdout(), Clear(ClearType::All))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// Takes clicks and the wheel, or leaves them to the terminal.
///
/// # Errors
/// What the terminal refuses.
pub fn set_mouse(on: bool) -> io::Result<()> {
    match on {
        true => execute!(io::stdout(), EnableMouseCapture),
        false => execute!(io::stdout(), DisableMouseCapture),
    }
}

fn enter_modes(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    let entered = execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        Hide
    )
    .and_then(|()| if mouse { set_mouse(true) } else { Ok(()) });
    if entered.is_err() {
        restore();
    }
    entered
}

/// Undoes everything, each step tried even when another failed. A second call does nothing.
pub fn restore() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = execute!(out, DisableBracketedPaste);
    let _ = execute!(out, DisableMouseCapture);
    let _ = execute!(out, LeaveAlternateScreen);
    let _ = execute!(out, Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}

/// A panic of the thread that draws gives the terminal back before it is reported; one of
/// another thread is only logged, and ends in its own way.
pub fn install_panic_hook(logs: &Path) {
    let logs = logs.to_owned();
    let drawing = std::thread::current().id();
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        tracing::error!(panic = %info, "a thread panicked");
        if std::thread::current().id() == drawing {
            restore();
            report(info);
            eprintln!(
                "invar failed; please report it. More is in {}",
                logs.display()
            );
        }
    }));
}
