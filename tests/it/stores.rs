//! Stores that older programs wrote: they open, nothing of them is lost, and their log proves
//! what they hold.

use std::{
    fs,
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::World;

fn unpacked(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stores");
    let file = fs::File::open(folder.join(format!("{name}.gz"))).unwrap();
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut out)
        .unwrap();
    out
}

/// A world with a store that an older program wrote, and what that program said about it.
fn with_store(name: &str) -> (World, Value) {
    let w = World::new();
    fs::create_dir_all(w.store().parent().unwrap()).unwrap();
    fs::write(w.store(), unpacked(&format!("{name}.redb"))).unwrap();
    fs::set_permissions(w.store(), fs::Permissions::from_mode(0o600)).unwrap();
    let told = serde_json::from_slice(&unpacked(&format!("{name}.json"))).unwrap();
    (w, told)
}

fn copy_of(w: &World) -> PathBuf {
    w.store().with_file_name("invar.redb.before-schema-2")
}

/// Holds what the program says now against what the older one said.
fn nothing_is_lost(w: &World, told: &Value) {
    assert_eq!(w.data(&["list", "--all"])["invariants"], told["list"]);
    assert_eq!(w.data(&["plan", "list"])["plans"], told["plans"]);
    for (key, args) in [
        ("projects", vec!["project", "list"]),
        ("actions", vec!["action", "list"]),
        ("violations", vec!["violations"]),
        ("strikes", vec!["strikes"]),
        ("assents", vec!["assent", "list", "--all"]),
    ] {
        assert_eq!(w.data(&args), told[key], "{args:?}");
    }
    for (id, history) in told["history"].as_object().unwrap() {
        assert_eq!(w.data(&["history", id]), *history);
    }
    for (id, decisions) in told["decisions"].as_object().unwrap() {
        assert_eq!(w.data(&["decisions", id]), *decisions);
    }
    let events = w.ok(&["--format", "ndjson", "events"]).stdout;
    let events: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let before = told["events"].as_array().unwrap();
    assert_eq!(
        events[..before.len()],
        before[..],
        "events stay as they are"
    );
    let new: Vec<&str> = events[before.len()..]
        .iter()
        .map(|e| e["event"].as_str().unwrap())
        .collect();
    assert_eq!(new, ["STORE_MIGRATED"]);
    w.ok(&["log", "verify"]);
}

#[test]
fn a_store_of_the_first_schema_keeps_everything() {
    let (w, told) = with_store("schema-1");
    nothing_is_lost(&w, &told);
    // The store as it was lies beside it, for its owner alone.
    let copy = copy_of(&w);
    assert_eq!(
        fs::metadata(&copy).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let other = World::new();
    fs::create_dir_all(other.store().parent().unwrap()).unwrap();
    fs::copy(&copy, other.store()).unwrap();
    nothing_is_lost(&other, &told);
    // What could be undone still can, and what was undone can be done again.
    let back = w.data(&["redo"]);
    assert_eq!(back["invariants"][0]["text"], "Undone");
    w.ok(&["log", "verify"]);
    // A session that had ended, and one that is at work, go on.
    for session in ["done", "asks"] {
        w.edit(session, "src/a.rs");
    }
    w.ok(&["log", "verify"]);
}

#[test]
fn a_store_from_before_there_were_questions_and_checks_opens() {
    let (w, told) = with_store("schema-1-plain");
    let later = ["assents", "checks", "judged_actions"];
    invar_store::drop_tables(&w.store(), &later).unwrap();
    nothing_is_lost(&w, &told);
    assert!(copy_of(&w).exists());
}
