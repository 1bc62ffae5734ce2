//! Stores that older programs wrote: they open, nothing of them is lost, and their log proves
//! what they hold.

use std::{
    fs,
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::{Running, World, wait_for};

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
    invar_store::testing::drop_tables(&w.store(), &later).unwrap();
    nothing_is_lost(&w, &told);
    assert!(copy_of(&w).exists());
}

#[test]
fn a_changed_row_is_named_in_words_by_log_verify() {
    let (w, told) = with_store("schema-1");
    w.ok(&["log", "verify"]);
    let rows = invar_store::testing::rows(&w.store()).unwrap();
    let (table, key, value) = rows
        .iter()
        .find(|(table, _, value)| {
            *table == "past_strikes" && String::from_utf8_lossy(value).contains("tests/u.py")
        })
        .unwrap();
    let fewer = String::from_utf8(value.clone())
        .unwrap()
        .replace("\"count\":2", "\"count\":1");
    invar_store::testing::set_row(&w.store(), table, key, Some(fewer.as_bytes())).unwrap();
    let ran = w.run(&["log", "verify"]);
    assert_eq!(ran.code, 1);
    let cancelled = told["plans"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["state"] == "cancelled")
        .unwrap();
    let named = format!(
        "in plan {} that is over is not as the log says (table past_strikes)",
        cancelled["id"].as_str().unwrap()
    );
    assert!(ran.stdout.contains(&named), "{}", ran.stdout);
    // A record that the first schema kept is proven by the events of that time.
    let enforcement = rows.iter().find(|r| r.0 == "enforcements").unwrap();
    invar_store::testing::set_row(&w.store(), enforcement.0, &enforcement.1, None).unwrap();
    let ran = w.run(&["log", "verify"]);
    assert!(
        ran.stdout.contains("the enforcement record of invariant")
            && ran.stdout.contains("is missing"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_head_that_was_kept_finds_an_older_copy_that_was_put_back() {
    let w = World::new();
    w.ok(&["add", "--global", "one"]);
    let older = fs::read(w.store()).unwrap();
    w.ok(&["add", "--global", "two"]);
    let head = w.ok(&["log", "verify", "--head"]).stdout;
    let head = head.trim();
    assert!(head.starts_with("2:") && head.len() == 66, "{head}");
    w.ok(&["add", "--global", "three"]);
    w.ok(&["log", "verify", "--against", head]);
    fs::write(w.store(), older).unwrap();
    w.ok(&["log", "verify"]);
    let ran = w.run(&["log", "verify", "--against", head]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.contains("an older copy was put back"),
        "{}",
        ran.stdout
    );
    // One that goes on from the older copy is found as well.
    w.ok(&["add", "--global", "another"]);
    let ran = w.run(&["log", "verify", "--against", head]);
    assert!(ran.stdout.contains("written anew"), "{}", ran.stdout);
    assert_eq!(w.run(&["log", "verify", "--against", "2:x"]).code, 2);
}

#[test]
fn a_store_is_measured_archived_and_compacted() {
    let w = World::new();
    w.ok(&["add", "--global", "Log all changes"]);
    w.edit("s", "src/a.rs");
    let payload =
        serde_json::json!({"session_id": "s", "cwd": w.project, "hook_event_name": "SessionEnd"});
    w.hook_bytes(payload.to_string().as_bytes());
    let events = w.data(&["store", "stats"])["store"]["events"]
        .as_u64()
        .unwrap();
    let text = w.ok(&["store", "stats"]).stdout;
    assert!(
        text.contains("past_plans") && text.contains("events"),
        "{text}"
    );
    assert!(
        text.contains(&format!("can be archived  {}", events - 1)),
        "{text}"
    );

    let nothing = w.ok(&["store", "archive", "--before", "2020-01-01"]).stdout;
    assert!(nothing.contains("nothing to archive"), "{nothing}");
    let before = ["store", "archive", "--before", "2999-12-31"];
    w.ok(&[&before[..], &["--dry-run"]].concat());
    let archived = w.data(&before);
    let file = archived["archived"]["file"].as_str().unwrap();
    let file = w.store().with_file_name(file);
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    w.ok(&["store", "compact"]);
    let whole = w.ok(&["log", "verify"]).stdout;
    assert!(whole.contains("follows from it"), "{whole}");
    // What happened goes on, and an old plan is still shown.
    w.edit("s", "src/b.rs");
    assert_eq!(
        w.data(&["plan", "list"])["plans"].as_array().unwrap().len(),
        2
    );
    fs::rename(&file, w.base.join("elsewhere")).unwrap();
    let part = w.ok(&["log", "verify"]).stdout;
    assert!(part.contains("not proven: entries 1 to"), "{part}");
    assert!(w.ok(&["events"]).stdout.contains("LOG_ARCHIVED"));
}

#[test]
fn a_store_that_somebody_has_is_left_to_them() {
    let w = World::new();
    w.ok(&["add", "--global", "one"]);
    let _engine = Running(w.command(&["serve"]).spawn().unwrap());
    wait_for("the engine", || {
        w.store()
            .with_extension("redb.owner")
            .exists()
            .then_some(())
    });
    let ran = w.run(&["store", "compact"]);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("in use by another process"),
        "{}",
        ran.stderr
    );
    w.ok(&["store", "stats"]);
    w.ok(&["log", "verify"]);
}
