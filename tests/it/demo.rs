//! The demo, without a screen and on one.

use crate::support::{Screen, World};

#[test]
fn the_plain_demo_tells_the_whole_run_and_ends() {
    let w = World::new();
    let out = w.ok(&["demo", "--plain"]).stdout;
    for line in [
        "plan strategize: 4 in force, 1 shadowed",
        "Edit src/loader.py: allowed",
        "Edit tests/test_sync.py: denied, strike 1 of 3",
        "Write README.md: denied, strike 1 of 3",
        "plan apply: blocked by 1 invariant",
        "Write src/../tests/test_sync.py: denied, strike 2 of 3",
        "Edit tests/test_sync.py: halted, strike 3 of 3",
        "Edit src/loader.py: halted",
        "plan resume",
    ] {
        assert!(out.contains(line), "{line} is missing in\n{out}");
    }
    assert!(!w.store().exists(), "the demo has a store of its own");
}

#[test]
fn the_demo_on_the_screen_moves_by_itself_with_its_keys_live() {
    let w = World::new();
    let mut s = Screen::open(&w, &["demo"], (110, 32));
    s.shows("in force");
    s.send("?");
    s.shows("Filter the focused list");
    s.send("?");
    s.shows("strike 1/3");
    s.shows("apply is blocked by 1 invariant");
    s.shows("halted: strike 3 of 3");
    s.send("q");
    s.shows("Leave while agents run?");
    s.send("y");
    assert_eq!(s.end(), 0);
    s.restored();
}
