//! Floor 6: the screen. Draws a model into cells, and runs the terminal; decides nothing.

mod clipboard;
mod draw;
mod external;
mod look;
mod overlays;
mod panes;
pub mod run;
pub mod terminal;
pub mod text;
pub mod theme;
mod watch;

pub use draw::draw;
pub use run::{Options, run};
pub use theme::Theme;

#[cfg(test)]
mod tests;
