//! `update`: the one place where the model changes.
//!
//! Rows of the lists are built from the state only when they are needed. A message marks them
//! stale; [`Model::settle`] builds them. Whatever moves by rows (a key, the mouse) must see rows
//! of the present state, so these settle before and after; an event only marks, so that a flood
//! of events costs one rebuild in each frame.

mod acts;
mod events;
mod keys;
mod mouse;
mod moves;
mod views;

use crossterm::event::KeyEventKind;

use super::{
    layout,
    model::{Effect, EngineLink, Model, Msg},
    stream::Tone,
};
use acts::act;
use events::{on_answer, on_edited, on_event, on_settings, resync, take_snapshot};
use keys::{on_key, on_paste};
use mouse::on_mouse;
use moves::keep_in_window;

/// Takes a message in; returns what shall be done.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Key(event) if event.kind == KeyEventKind::Release => Vec::new(),
        Msg::Key(event) => {
            model.settle();
            let effects = on_key(model, event);
            model.settle();
            keep_in_window(model);
            effects
        }
        Msg::Action(action) => {
            model.settle();
            let effects = act(model, action);
            model.settle();
            keep_in_window(model);
            effects
        }
        // Text and never keys: a pasted `q` must not quit.
        Msg::Paste(text) => {
            on_paste(model, &text);
            Vec::new()
        }
        Msg::Mouse(event) => {
            model.settle();
            on_mouse(model, event);
            model.settle();
            keep_in_window(model);
            Vec::new()
        }
        Msg::Resize(width, height) => {
            model.size = (width, height);
            model.settle();
            keep_in_window(model);
            Vec::new()
        }
        Msg::Up { snapshot, hosting } => {
            model.link = EngineLink::Live { hosting };
            take_snapshot(model, *snapshot);
            Vec::new()
        }
        Msg::Down => {
            model.link = EngineLink::Lost;
            Vec::new()
        }
        Msg::Event(event) => on_event(model, event),
        Msg::Lagged { missed } => {
            model.missed += missed;
            resync(model)
        }
        Msg::Settings(read) => {
            on_settings(model, read);
            Vec::new()
        }
        Msg::Counted(counted) => {
            model.counted = Some(counted);
            Vec::new()
        }
        Msg::Edited(text) => {
            on_edited(model, text);
            Vec::new()
        }
        Msg::Copied(how) => {
            model.toast = Some(match how {
                Ok(how) => (Tone::Good, how),
                Err(why) => (Tone::Bad, format!("not copied: {why}")),
            });
            Vec::new()
        }
        Msg::Answer(answer) => {
            on_answer(model, *answer);
            Vec::new()
        }
    }
}

impl Model {
    /// Rebuilds stale rows and keeps every selected row in its window; the last step before
    /// drawing.
    pub fn prepare(&mut self) {
        self.settle();
        keep_in_window(self);
    }
}
