//! The command line as scripts use it.

use serde_json::{Value, json};

use crate::support::World;

fn texts(data: &Value) -> Vec<(String, String)> {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    data["invariants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| (text(&i["text"]), text(&i["scope"])))
        .collect()
}

fn pair(text: &str, scope: &str) -> (String, String) {
    (text.to_owned(), scope.to_owned())
}

#[test]
fn the_worked_example_of_the_reference_seed() {
    let w = World::new();
    w.ok(&[
        "invariant",
        "add",
        "--global",
        "Never delete production data",
    ]);
    w.ok(&["invariant", "add", "--global", "Log all changes"]);
    w.ok(&[
        "invariant",
        "add",
        "--project",
        "myapp",
        "All API changes need tests",
    ]);
    w.ok(&["invariant", "add", "--project", "myapp", "Log all changes"]);
    let plan = w.data(&["plan", "use", "local/work", "--project", "myapp"]);
    let plan = plan["plan_id"].as_str().unwrap();
    w.ok(&["invariant", "add", "--plan", plan, "Use Python 3.13 only"]);
    let data = w.data(&["invariant", "list", "--effective", "--plan", plan]);
    assert_eq!(
        texts(&data),
        [
            pair("Use Python 3.13 only", "plan"),
            pair("All API changes need tests", "project"),
            pair("Log all changes", "project"),
            pair("Never delete production data", "global"),
        ]
    );
    let conflicts = data["conflicts_resolved"].as_array().unwrap();
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0]["overridden"]["text"], "Log all changes");
    assert_eq!(conflicts[0]["overridden"]["scope"], "global");
    assert_eq!(conflicts[0]["by"]["source"], "myapp");
    assert_eq!(conflicts[0]["rationale"], "project scope > global scope");
    assert_eq!(data["plan_id"], plan);
    assert_eq!(data["effective"], true);
    let preview = w.data(&["list", "--effective", "--project", "myapp"]);
    assert_eq!(
        texts(&preview)[2],
        pair("Never delete production data", "global")
    );
}

#[test]
fn both_spellings_of_a_scope_and_of_a_command_do_the_same() {
    let w = World::new();
    for args in [
        vec![
            "add",
            "--scope",
            "project",
            "--project",
            "local/my-app",
            "one",
        ],
        vec!["invariant", "add", "--project", "local/my-app", "two"],
        vec!["add", "three"],
    ] {
        w.ok(&args);
    }
    let data = w.data(&["list", "--project", "local/my-app"]);
    assert_eq!(
        texts(&data).len(),
        3,
        "the directory's project is the default"
    );
    assert_eq!(data["invariants"][0]["source"], "local/my-app");
    let filtered = w.data(&["invariant", "list", "t[wh]"]);
    assert_eq!(
        texts(&filtered),
        [pair("two", "project"), pair("three", "project")]
    );
}

#[test]
fn json_is_one_envelope_and_nothing_else() {
    let w = World::new();
    w.ok(&["add", "--global", "Log all changes"]);
    let envelope = w.ok(&["list", "--format", "json"]).json();
    assert_eq!(envelope["command"], "list");
    assert_eq!(envelope["exit_code"], 0);
    assert_eq!(envelope["messages"], json!([]));
    let names: Vec<&String> = envelope["data"]["invariants"][0]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(
        names,
        [
            "id",
            "text",
            "scope",
            "source",
            "layer",
            "severity",
            "non_overridable",
            "active",
            "created_at",
            "revision",
            "origin",
        ]
    );
    let failed = w.run(&["--format", "json", "show", "nothing"]);
    let envelope = failed.json();
    assert_eq!(
        (failed.code, &envelope["exit_code"], &envelope["status"]),
        (5, &json!(5), &json!("error"))
    );
    assert_eq!(failed.stderr, "");
    assert!(
        envelope["messages"][0]["hint"]
            .as_str()
            .unwrap()
            .contains("invar list")
    );
}

#[test]
fn removing_asks_where_it_can_and_is_refused_where_it_cannot() {
    let w = World::new();
    let id = w.data(&["add", "--global", "x"])["invariant"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let refused = w.run(&["remove", &id]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    w.ok(&["invariant", "remove", "--yes", &id]);
    assert!(texts(&w.data(&["list"])).is_empty());
    assert_eq!(w.data(&["list", "--all"])["invariants"][0]["active"], false);
    w.ok(&["restore", &id]);
    let history = w.ok(&["history", &id]).stdout;
    assert_eq!(history.lines().count(), 4, "{history}");
}

#[test]
fn exit_codes_tell_what_kind_of_failure_it_was() {
    let w = World::new();
    let rule = w.data(&["add", "--global", "All API changes need tests"]);
    let rule = rule["invariant"]["id"].as_str().unwrap();
    w.ok(&["plan", "use", "local/work"]);
    for (args, code, part) in [
        (vec!["add", "--untouched", "src/[x"], 1, "column 5"),
        (vec!["add", "--scope", "planet", "x"], 2, "planet"),
        (vec!["add", "--scope", "plan", "x"], 2, "--plan NAME"),
        (
            vec!["add", "--global", "--project", "p", "x"],
            2,
            "one scope",
        ),
        (
            vec!["add", "--untouched", "a", "--no-edits-outside", "b"],
            2,
            "two invariants",
        ),
        (vec!["list", "a(b"], 2, "column 2"),
        (vec!["plan", "execute"], 1, "plan strategize"),
        (vec!["plan", "show", "01ZZZZ"], 5, "plan list"),
        (vec!["nonsense"], 2, "nonsense"),
    ] {
        let ran = w.run(&args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(part), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
    w.ok(&[
        "enforce",
        "@",
        "--violated",
        rule,
        "--response",
        "no test for /login",
    ]);
    let blocked = w.run(&["--format", "json", "plan", "strategize", "@"]);
    assert_eq!(blocked.code, 3);
    let envelope = blocked.json();
    assert_eq!(envelope["status"], "blocked");
    assert_eq!(envelope["data"]["error"], "ReconciliationBlocked");
    assert_eq!(envelope["data"]["violated_ids"], json!([rule]));
    let violation = w.data(&["violations", "@"])["violations"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    w.ok(&[
        "resolve",
        &violation,
        "--waive",
        "--reason",
        "internal only",
    ]);
    for phase in ["strategize", "execute", "apply"] {
        w.ok(&["plan", phase]);
    }
    let plan = &w.data(&["plan", "list"])["plans"][0];
    assert_eq!(
        (&plan["phase"], &plan["state"]),
        (&json!("apply"), &json!("applied"))
    );
}

#[test]
fn a_broken_configuration_is_told_with_line_and_column() {
    let w = World::new();
    w.configure("[engine]\nautostart = yes\n");
    let ran = w.run(&["list"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("config.toml, line 2, column 13"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_file_that_is_no_store_is_left_alone() {
    let w = World::new();
    std::fs::create_dir_all(w.store().parent().unwrap()).unwrap();
    std::fs::write(w.store(), "my diary").unwrap();
    let ran = w.run(&["list"]);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(w.store()).unwrap(), "my diary");
}

#[test]
fn without_a_home_nothing_is_guessed() {
    let w = World::new();
    let output = w.command(&["list"]).env_remove("HOME").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("set HOME"));
}

#[test]
fn installing_keeps_what_is_there_and_comes_off_again() {
    let w = World::new();
    let settings = w.home.join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, "{\n  \"model\": \"x\"\n}\n").unwrap();
    let dry = w.ok(&["install", "claude-code", "--dry-run"]);
    assert!(dry.stdout.contains("PreToolUse"));
    assert!(
        !std::fs::read_to_string(&settings)
            .unwrap()
            .contains("hooks")
    );
    w.ok(&["install", "claude-code"]);
    let once = std::fs::read_to_string(&settings).unwrap();
    assert!(once.contains("hook claude-code") && once.contains("\"model\""));
    w.ok(&["install", "claude-code"]);
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), once);
    w.ok(&["uninstall", "claude-code"]);
    assert_eq!(
        std::fs::read_to_string(&settings).unwrap(),
        "{\n  \"model\": \"x\"\n}\n"
    );
    assert_eq!(w.run(&["install", "nobody"]).code, 2);
}

#[test]
fn text_output_never_carries_what_a_terminal_obeys() {
    let w = World::new();
    w.ok(&["add", "--no-edits-outside", "src/**"]);
    w.edit("s", "evil\u{1b}]0;x\u{7}\u{9b}31m\u{202e}.md");
    for args in [
        vec!["strikes"],
        vec!["events"],
        vec!["events", "--format", "json"],
    ] {
        let out = w.ok(&args).stdout;
        let unseen = out
            .chars()
            .find(|c| invar::model::is_hidden(*c) && *c != '\n');
        assert_eq!(unseen, None, "{args:?}");
        assert!(out.contains("evil"), "{args:?}: {out}");
    }
}

#[test]
fn the_log_is_read_and_verified() {
    let w = World::new();
    w.ok(&["add", "--global", "a"]);
    w.ok(&["plan", "use", "local/work"]);
    assert!(w.ok(&["log", "verify"]).stdout.contains("the log is whole"));
    let lines = w.ok(&["events", "--format", "ndjson"]).stdout;
    let events: Vec<Value> = lines
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(events[0]["event"], "INVARIANT_ADDED");
    assert!(events.iter().zip(1..).all(|(e, n)| e["seq"] == n));
    let rest = w.ok(&["events", "--since", "1"]).stdout;
    assert!(
        rest.starts_with("2 ") && rest.contains("PLAN_CREATED"),
        "{rest}"
    );
}

#[test]
fn keys_and_config_print_what_is_in_force() {
    let w = World::new();
    w.configure("[keys]\nadd = [\"n\"]\nnext_phase = []\n[ui]\nthme = \"dark\"\nmouse = false\n");
    let ran = w.ok(&["keys"]);
    assert!(
        ran.stdout
            .lines()
            .any(|l| l.starts_with("n ") && l.contains("Add an invariant"))
    );
    assert!(
        ran.stderr.contains("did you mean `ui.theme`?"),
        "{}",
        ran.stderr
    );
    let config = w.data(&["config"]);
    assert_eq!(config["config"]["ui"]["mouse"], false);
    assert_eq!(config["config"]["keys"]["add"][0], "n");
    assert_eq!(config["config"]["tree"]["check"], true);
    // What is printed can be read again.
    let text = w.ok(&["config"]).stdout;
    w.configure(&text);
    assert_eq!(w.ok(&["config"]).stdout, text);

    w.configure("[keys]\nadd = [\"d\"]\n");
    let ran = w.run(&["keys"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("config.toml, line 2, column 7"),
        "{}",
        ran.stderr
    );
    // The rest goes on.
    w.ok(&["list"]);
}
