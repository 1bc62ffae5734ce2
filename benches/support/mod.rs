//! What the benches measure on.

#![allow(dead_code, reason = "each bench uses its part")]

pub mod history;
pub mod process;

use std::{path::Path, sync::Arc};

use invar::{
    app::{Model, Msg, update},
    engine::requests::Snapshot,
    model::{Invariant, InvariantId, Layer, LetterCheck, PlanId, Scope},
    rules::{
        letter::{LetterSet, PatternEnv, Place},
        normalise::KeyedInvariant,
    },
    ui::{Theme, draw},
};
use ratatui::{Terminal, backend::TestBackend};

pub fn invariant(number: usize, scope: Scope, text: String) -> Invariant {
    let id = InvariantId(ulid::Ulid::from_parts(number as u64 + 1, 1));
    Invariant::new(id, scope, Layer::Plain, &text, jiff::Timestamp::UNIX_EPOCH)
}

/// Invariants over the four scopes; every fourth text stands in two of them.
pub fn collected(count: usize) -> Vec<Arc<KeyedInvariant>> {
    let scopes = [
        Scope::Global,
        Scope::Project("local/my-app".parse().unwrap()),
        Scope::Action("local/work".parse().unwrap()),
        Scope::Plan(PlanId(ulid::Ulid::from_parts(1, 1))),
    ];
    (0..count)
        .map(|n| {
            let subject = if n % 4 == 3 { n - 1 } else { n };
            let text = format!("Module {subject} keeps its public interface as it is");
            KeyedInvariant::new(invariant(n, scopes[n % 4].clone(), text))
        })
        .collect()
}

pub fn letter_set(patterns: usize) -> LetterSet {
    let checks: Vec<LetterCheck> = (0..patterns / 2)
        .map(|n| LetterCheck::Untouched(format!("packages/p{n}/tests/**/*_{n}.py")))
        .chain([LetterCheck::NoEditsOutside(
            (0..patterns - patterns / 2)
                .map(|n| format!("packages/p{n}/src/**"))
                .collect(),
        )])
        .collect();
    LetterSet::compile(
        &checks,
        PatternEnv {
            home: Some(Path::new("/home/x")),
            fold_case: false,
        },
    )
    .unwrap()
}

pub fn place() -> Place<'static> {
    Place {
        relative: Some(b"packages/p42/src/sync/loader.py"),
        absolute: b"/home/x/app/packages/p42/src/sync/loader.py",
        scratch: false,
        subtree: false,
        holds_root: false,
    }
}

/// A screen of 160x50 over many rows; each frame moves the selection by one.
pub struct Screen {
    model: Model,
    terminal: Terminal<TestBackend>,
    theme: Theme,
}

impl Screen {
    pub fn new(rows: usize) -> Self {
        let mut model = Model::new(None, None);
        update(&mut model, Msg::Resize(160, 50));
        let invariants = (0..rows)
            .map(|n| {
                invariant(
                    n,
                    Scope::Global,
                    format!("rule {n} keeps module {n} as it is"),
                )
            })
            .collect();
        let snapshot = Box::new(Snapshot {
            seq: 1,
            invariants,
            ..Snapshot::default()
        });
        update(
            &mut model,
            Msg::Up {
                snapshot,
                hosting: true,
            },
        );
        let terminal = Terminal::new(TestBackend::new(160, 50)).unwrap();
        Self {
            model,
            terminal,
            theme: Theme::colours(),
        }
    }

    pub fn frame(&mut self) {
        update(&mut self.model, Msg::Action(invar::app::Action::Down));
        self.model.prepare();
        let (model, theme) = (&self.model, &self.theme);
        self.terminal
            .draw(|frame| draw(model, theme, frame.buffer_mut()))
            .unwrap();
    }
}
