//! Floor 5: the terminal program's mind. `update(model, msg)` is pure: it changes the model and
//! says what shall be done; [`crate::ui`] draws the model and does it.

pub mod action;
pub mod ask;
pub mod copy;
pub mod editor;
pub mod effective;
pub mod keymap;
pub mod layout;
pub mod list;
pub mod model;
pub mod overlay;
pub mod palette;
pub mod resolver;
pub mod settings;
pub mod stream;
pub mod tree;
mod update;

pub use action::Action;
pub use ask::{Answered, Ask};
pub use model::{Effect, Model, Msg, Pane};
pub use update::update;

#[cfg(test)]
pub(crate) mod tests;
