//! The matcher and the automaton must answer the same for every pattern and path, and a witness
//! must be one for both.

#![no_main]

use invar::{
    model::LetterCheck,
    rules::{
        automaton::{Answer, PathSet, Surface, Witness, find},
        letter::{LetterSet, PatternEnv, Place},
    },
};
use libfuzzer_sys::fuzz_target;

fn allows(set: &LetterSet, path: &str) -> bool {
    let place = Place {
        relative: Some(path.as_bytes()),
        absolute: b"/elsewhere/x",
        scratch: false,
        subtree: false,
        holds_root: false,
    };
    set.broken_by(place).is_empty()
}

fuzz_target!(|input: (bool, String, String, String)| {
    let (untouched, one, two, path) = input;
    let check = match untouched {
        true => LetterCheck::Untouched(one),
        false => LetterCheck::NoEditsOutside(vec![one, two]),
    };
    let Ok(letters) = LetterSet::compile([&check], PatternEnv::default()) else {
        return;
    };
    let set = PathSet::of(&check, &Surface::default());
    let parts = |p: &str| p.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if parts(&path) && !path.contains('\0') && !set.is_unknown() {
        assert_eq!(set.allows(&path), allows(&letters, &path), "{check:?} {path:?}");
    }
    match find(&[(&set, true)]) {
        Answer::Found(Witness(path)) if !path.starts_with('/') => {
            assert!(allows(&letters, &path), "{check:?} {path:?}");
        }
        Answer::None => assert!(!allows(&letters, &path) || !parts(&path)),
        _ => {}
    }
});
