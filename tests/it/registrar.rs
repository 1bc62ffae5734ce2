//! Every command line in its long and its short spelling, files both ways, checks for CI, actions.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::support::{Screen, World};

fn id(data: &Value) -> String {
    data["invariant"]["id"].as_str().unwrap().to_owned()
}

/// The command lines that the product was first written down with, with `invar` as the program and real ids
/// in place of the shortened ones.
#[test]
fn every_command_line_of_the_seeds_does_what_it_says() {
    let w = World::new();
    let plan = w.data(&[
        "plan",
        "use",
        "local/code-coverage",
        "--project",
        "local/my-app",
    ]);
    let plan = plan["plan_id"].as_str().unwrap();
    let add = |args: &[&str]| {
        let mut all = vec!["invariant", "add"];
        all.extend(args);
        w.data(&all)["invariant"].clone()
    };

    // The module document.
    let global = add(&[
        "--scope",
        "global",
        "All output files must be UTF-8 encoded",
    ]);
    assert_eq!(
        (&global["scope"], &global["source"]),
        (&json!("global"), &json!(""))
    );
    let project = add(&[
        "--scope",
        "project",
        "--project",
        "local/my-app",
        "Never modify files outside src/",
    ]);
    assert_eq!(
        (&project["scope"], &project["source"]),
        (&json!("project"), &json!("local/my-app"))
    );
    let of_plan = add(&[
        "--scope",
        "plan",
        "--plan",
        plan,
        "--non-overridable",
        "Do not delete any existing tests",
    ]);
    assert_eq!(
        (&of_plan["scope"], &of_plan["source"]),
        (&json!("plan"), &json!(plan))
    );
    assert_eq!(of_plan["non_overridable"], true);
    let effective = w.data(&["invariant", "list", "--plan", plan, "--effective"]);
    assert_eq!(effective["invariants"].as_array().unwrap().len(), 3);

    // The reference document.
    add(&["--global", "Never delete production data"]);
    add(&["--project", "myapp", "All API changes need tests"]);
    add(&["--plan", plan, "Use Python 3.13 only"]);
    let of_action = add(&["--action", "local/code-coverage", "Minimum 80% coverage"]);
    assert_eq!(of_action["source"], "local/code-coverage");
    let count = |args: &[&str]| {
        let mut all = vec!["invariant", "list"];
        all.extend(args);
        w.data(&all)["invariants"].as_array().unwrap().len()
    };
    assert_eq!(count(&[]), 7);
    assert_eq!(count(&["--global"]), 2);
    assert_eq!(count(&["--project", "myapp"]), 1);
    assert_eq!(count(&["--effective", "--project", "myapp"]), 3);
    assert_eq!(
        count(&["--effective", "--action", "local/code-coverage"]),
        3
    );
    add(&["--global", "All data must stay safe"]);
    assert_eq!(count(&["data.*safe"]), 1);
    let listed = w.ok(&["invariant", "list", "--format", "json"]).json();
    assert_eq!(listed["data"]["invariants"].as_array().unwrap().len(), 8);

    // Removal: soft, with a question, and without one.
    let first = global["id"].as_str().unwrap();
    let mut s = Screen::open(&w, &["invariant", "remove", first], (100, 20));
    s.shows("[y/N]");
    s.send("y\r");
    assert_eq!(s.end(), 0);
    assert_eq!(w.data(&["show", first])["invariant"]["active"], false);
    w.ok(&[
        "invariant",
        "remove",
        "--yes",
        project["id"].as_str().unwrap(),
    ]);
    assert_eq!(count(&[]), 6);
}

#[test]
fn an_export_comes_back_byte_for_byte() {
    let w = World::new();
    let plan = w.data(&["plan", "use", "local/work"])["plan_id"]
        .as_str()
        .unwrap()
        .to_owned();
    w.ok(&[
        "add",
        "--global",
        "--non-overridable",
        "Never delete \"production\" data\nnor its copies",
    ]);
    w.ok(&[
        "add",
        "--no-edits-outside",
        "src/**",
        "--no-edits-outside",
        "docs/*.{md,txt}",
        "--severity",
        "warning",
    ]);
    w.ok(&[
        "add",
        "--untouched",
        "app/[id]/page.tsx",
        "--on-invariant-breach",
        "halt",
    ]);
    w.ok(&[
        "add",
        "--plan",
        &plan,
        "--judgment",
        "--checkpoint",
        "each_n_iterations=5",
        "Changes stay minimal.",
    ]);
    w.ok(&[
        "add",
        "--action",
        "local/fix",
        "--assent",
        "--when",
        "db/**",
        "A person approves.",
    ]);
    let gone = id(&w.data(&["add", "--global", "ünïcode 日本 🦀"]));
    w.ok(&["edit", &gone, "ünïcode 日本 🦀 changed"]);
    w.ok(&["remove", "--yes", &gone]);
    for format in ["toml", "json"] {
        let first = w.ok(&["export", "--format", format]).stdout;
        let other = World::new();
        let file = other.base.join(format!("all.{format}"));
        fs::write(&file, &first).unwrap();
        let told = other.ok(&["import", file.to_str().unwrap()]).stdout;
        assert_eq!(told, "6 added, 0 changed, 0 as they were\n");
        assert_eq!(
            other.ok(&["export", "--format", format]).stdout,
            first,
            "{format}"
        );
        let again = other.ok(&["import", file.to_str().unwrap()]).stdout;
        assert_eq!(again, "0 added, 0 changed, 6 as they were\n");
    }
}

#[test]
fn a_file_with_one_fault_imports_nothing() {
    let w = World::new();
    for (name, text, parts) in [
        (
            "a.yaml",
            "invariants:\n  - { layer: letter, untouched: a }\n  - { layer: letter, untuched: b }\n",
            vec!["a.yaml, line 3", "untuched", "nothing was imported"],
        ),
        (
            "b.yaml",
            "invariants:\n  - { layer: letter, untouched: a }\n  - { layer: letter, untouched: \"src/[x\" }\n",
            vec![
                "invariant 2 of the file",
                "column 5",
                "nothing was imported",
            ],
        ),
        (
            "c.toml",
            "version = 1\n[[invariants]]\nid = 3\n",
            vec!["c.toml, line 3", "nothing was imported"],
        ),
        ("d.json", "{\"version\": 9}", vec!["version 9"]),
        (
            "e.json",
            "{\"version\": 1,\n \"invariants\": [}",
            vec!["e.json, line 2"],
        ),
    ] {
        let file = w.base.join(name);
        fs::write(&file, text).unwrap();
        let ran = w.run(&["import", file.to_str().unwrap()]);
        assert_eq!(ran.code, 1, "{name}: {}", ran.stderr);
        for part in parts {
            assert!(
                ran.stderr.contains(part),
                "{name}: {part:?} in {}",
                ran.stderr
            );
        }
    }
    assert_eq!(w.data(&["list", "--all"])["invariants"], json!([]));
    assert_eq!(w.run(&["import", "nothing.toml"]).code, 1);
    assert_eq!(w.run(&["import", "nothing"]).code, 2);
}

#[test]
fn writs_list_becomes_the_projects_invariants() {
    let w = World::new();
    let file = w.base.join("run.yaml");
    fs::write(&file, "invariants:\n  - { layer: letter, no_edits_outside: [\"src/**\"] }\n  - { layer: letter, untouched: \"tests/test_sync.py\" }\n").unwrap();
    w.ok(&["import", file.to_str().unwrap()]);
    let all = w.data(&["list"]);
    assert_eq!(all["invariants"][0]["source"], "local/my-app");
    assert_eq!(all["invariants"][1]["untouched"], "tests/test_sync.py");
    assert_eq!(
        w.edit("s", "tests/test_sync.py").0,
        crate::support::Decision::Deny
    );
    let out = w.ok(&["export", "--format", "yaml"]).stdout;
    assert!(out.starts_with("invariants:\n  - {"), "{out}");
}

#[test]
fn the_projects_file_works_from_the_command_line_and_from_the_hook() {
    let w = World::new();
    let file = w.project.join("invar.toml");
    // The example of the documentation is the test's.
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/project-file.md"))
            .unwrap();
    let example = page
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    fs::write(&file, example).unwrap();
    let listed = w.data(&["list"]);
    let all = listed["invariants"].as_array().unwrap();
    assert_eq!(all.len(), 4);
    assert!(
        all.iter()
            .all(|i| i["origin"] == "file" && i["source"] == "local/tidewater")
    );
    assert_eq!(
        w.edit("s", "tests/test_sync.py").0,
        crate::support::Decision::Deny
    );
    w.ok(&["add", "--untouched", "db/**"]);
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.starts_with(example.trim_end()), "{written}");
    assert!(written.contains("untouched = \"db/**\""), "{written}");
    w.ok(&["undo"]);
    assert_eq!(
        fs::read_to_string(&file).unwrap().trim_end(),
        example.trim_end()
    );
    fs::write(&file, "[[invariants]]\nuntuched = 1\n").unwrap();
    let (decision, reason) = w.edit("s", "src/a.rs");
    assert_eq!(decision, crate::support::Decision::Deny);
    assert!(reason.contains("invar.toml, line 2, column 1"), "{reason}");
}

#[test]
fn explaining_asks_every_rule_and_counts_nothing() {
    let w = World::new();
    std::os::unix::fs::symlink("../tests", w.project.join("src/link")).unwrap();
    w.ok(&["add", "--no-edits-outside", "src/**"]);
    w.ok(&[
        "add",
        "--untouched",
        "tests/t.py",
        "--on-invariant-breach",
        "halt",
    ]);
    w.ok(&["add", "--severity", "warning", "--untouched", "src/old.rs"]);
    for (path, verdict, broken) in [
        ("src/a.rs", "allow", 0),
        ("src/old.rs", "warn", 1),
        ("README.md", "deny", 1),
        ("src/link/t.py", "halt", 2),
    ] {
        let data = w.data(&["explain", "--path", path]);
        let explained = &data["explained"];
        assert_eq!(explained["verdict"], verdict, "{path}");
        let asked = explained["asked"].as_array().unwrap();
        assert_eq!(
            asked.iter().filter(|a| a["holds"] == false).count(),
            broken,
            "{path}"
        );
        assert!(asked.len() > 3, "invar's own are asked too");
    }
    let data = w.data(&["explain", "--path", "src/link/t.py"]);
    assert_eq!(data["explained"]["signature"], "path:tests/t.py");
    assert_eq!(
        data["explained"]["places"],
        json!(["tests/t.py", "src/link/t.py"])
    );
    assert_eq!(w.data(&["strikes"])["strikes"], json!([]));
}

fn git(folder: &Path, args: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args([
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@example.org",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(args)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn changed_paths_are_held_against_the_letter_invariants() {
    let w = World::new();
    fs::remove_dir(w.project.join(".git")).unwrap();
    git(&w.project, &["init", "-q", "-b", "main"]);
    fs::write(
        w.project.join("tests/test_sync.py"),
        "assert True\n# one\n# two\n# three\n",
    )
    .unwrap();
    fs::write(w.project.join("src/a.py"), "a\n").unwrap();
    git(&w.project, &["add", "-A"]);
    git(&w.project, &["commit", "-q", "-m", "start"]);
    w.ok(&["add", "--no-edits-outside", "src/**"]);
    w.ok(&["add", "--untouched", "tests/test_sync.py"]);
    let clean = w.ok(&["check", "--base", "HEAD"]);
    assert!(clean.stdout.contains("0 changed paths"), "{}", clean.stdout);

    // A rename is a change on both sides.
    git(
        &w.project,
        &["mv", "tests/test_sync.py", "src/test_sync.py"],
    );
    let staged = w.run(&["--format", "json", "check", "--staged"]);
    assert_eq!(staged.code, 3);
    let offences = staged.json()["data"]["offences"].clone();
    let paths: Vec<&str> = offences
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        ["tests/test_sync.py", "tests/test_sync.py"],
        "outside, and untouched"
    );
    git(&w.project, &["reset", "-q", "--hard"]);

    // An untracked file counts against a base.
    fs::write(w.project.join("notes.txt"), "x").unwrap();
    let base = w.run(&["check", "--base", "main"]);
    assert_eq!(base.code, 3);
    assert!(base.stdout.contains("notes.txt"), "{}", base.stdout);
    assert_eq!(w.run(&["check", "--staged"]).code, 0);

    // Paths by name, from a folder inside; nobody gets a strike.
    assert_eq!(w.run(&["check", "--path", "src/new.py"]).code, 0);
    assert_eq!(
        w.run(&["check", "--path", "src/../tests/test_sync.py"])
            .code,
        3
    );
    assert_eq!(w.data(&["strikes"])["strikes"], json!([]));
    assert_eq!(w.run(&["check"]).code, 2);
    let wrong = w.run(&["check", "--base", "no-such-branch"]);
    assert_eq!(wrong.code, 1, "{}", wrong.stderr);
    assert_eq!(w.run(&["check", "--base=--output=x"]).code, 2);
}

#[test]
fn actions_are_named_listed_and_removed_with_what_they_carry() {
    let w = World::new();
    w.ok(&["action", "add", "local/empty"]);
    w.ok(&[
        "add",
        "--action",
        "local/fix",
        "--untouched",
        "{failing_test}",
    ]);
    let list = w.data(&["action", "list"]);
    let names: Vec<&str> = list["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["local/empty", "local/fix"]);
    let unbound = w.run(&["plan", "use", "local/fix"]);
    assert_eq!(unbound.code, 1);
    assert!(
        unbound.stderr.contains("failing_test"),
        "{}",
        unbound.stderr
    );
    let plan = w.data(&[
        "plan",
        "use",
        "local/fix",
        "--set",
        "failing_test=tests/t.py",
    ]);
    assert_eq!(plan["promoted"], 1);
    assert_eq!(w.edit("s", "tests/t.py").0, crate::support::Decision::Deny);
    assert_eq!(
        w.run(&["action", "remove", "local/fix"]).code,
        2,
        "asks first"
    );
    w.ok(&["action", "remove", "--yes", "local/fix"]);
    assert_eq!(
        w.data(&["action", "list"])["actions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let effective = w.data(&["list", "--effective"]);
    assert_eq!(
        effective["invariants"][0]["origin"],
        "promoted from action local/fix"
    );
    assert_eq!(w.run(&["action", "remove", "--yes", "local/none"]).code, 5);
}

#[test]
fn plan_check_says_what_holds_with_the_agent() {
    let w = World::new();
    w.ok(&["plan", "use", "local/work"]);
    w.ok(&["add", "--untouched", "tests/t.py"]);
    let checked = w.data(&["plan", "check"]);
    assert_eq!(checked["invariants"][0]["support"], "partly");
    w.ok(&["add", "--judgment", "Changes stay minimal."]);
    let ran = w.run(&[
        "--format",
        "json",
        "plan",
        "check",
        "@",
        "--agent",
        "claude-code",
    ]);
    assert_eq!(ran.code, 3);
    assert_eq!(
        ran.json()["data"]["invariants"][1]["support"],
        "unsupported"
    );
    assert_eq!(
        w.run(&["plan", "strategize"]).code,
        3,
        "and the plan does not start"
    );
    assert_eq!(w.run(&["plan", "check", "--agent", "nobody"]).code, 2);
}

#[test]
fn what_describes_the_program_is_made_from_the_program() {
    let w = World::new();
    assert!(w.ok(&["man"]).stdout.contains(".TH invar"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            w.ok(&["completions", shell]).stdout.contains("invar"),
            "{shell}"
        );
    }
    assert!(w.ok(&["keys"]).stdout.contains("ctrl-t"));
    let config = w.ok(&["config"]).stdout;
    assert!(
        config.contains("autostart = false") && config.contains("idle_minutes = 10"),
        "{config}"
    );
    let text = config.split_once('\n').unwrap().1.to_owned();
    w.configure(&text);
    assert!(
        w.ok(&["config"]).stdout.ends_with(&text),
        "what is printed can be read"
    );
    assert_eq!(w.run(&["--format", "yaml", "list"]).code, 2);
    assert!(
        w.ok(&["project", "show"])
            .stdout
            .starts_with("local/my-app")
    );
}

#[test]
fn sixty_four_processes_at_once_end_with_exact_counts() {
    let w = World::new();
    w.ok(&["add", "--untouched", "tests"]);
    w.ok(&["plan", "use", "local/work"]);
    let mut engine = w.command(&["serve"]).spawn().unwrap();
    let owner = w.store().with_extension("redb.owner");
    crate::support::wait_for("the engine", || owner.exists().then_some(()));
    std::thread::scope(|scope| {
        for n in 0..64 {
            let w = &w;
            scope.spawn(move || {
                w.ok(&["add", "--global", &format!("rule {n}")]);
                w.edit(&format!("s{n}"), &format!("tests/t{}.py", n % 32));
                assert_eq!(w.run(&["check", "--path", "src/a"]).code, 0);
            });
        }
    });
    let pid = rustix::process::Pid::from_raw(engine.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    engine.wait().unwrap();
    assert_eq!(
        w.data(&["list"])["invariants"].as_array().unwrap().len(),
        65
    );
    let strikes = w.data(&["strikes", "@"]);
    let counts: Vec<u64> = strikes["strikes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [2; 32]);
    assert!(w.ok(&["log", "verify"]).stdout.contains("whole"));
}

#[test]
fn conflicts_are_told_with_a_file_of_the_project() {
    let w = World::new();
    for file in ["src/main.rs", "docs/guide.md"] {
        fs::write(w.project.join(file), "x").unwrap();
    }
    w.ok(&[
        "add",
        "--global",
        "--non-overridable",
        "--no-edits-outside",
        "docs/**",
    ]);
    w.ok(&[
        "add",
        "--no-edits-outside",
        "docs/**",
        "--no-edits-outside",
        "src/**",
    ]);
    w.ok(&["add", "--untouched", "docs/gone.md"]);
    w.ok(&["add", "--untouched", "lib/x"]);
    w.ok(&["add", "All changes need a test"]);
    w.ok(&["add", "Need a test: all the change."]);
    let data = w.data(&["conflicts"]);
    let conflicts = data["conflicts"].as_array().unwrap();
    let kinds: Vec<&str> = conflicts
        .iter()
        .map(|c| c["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["redundant", "widens", "dead", "dead", "similar"],
        "{data}"
    );
    let widens = &conflicts[1];
    assert_eq!(widens["witnesses"][0]["path"], "src/main.rs");
    assert_eq!(widens["invariants"][0]["scope"], "global");
    assert!(
        conflicts[0]["proof"]
            .as_str()
            .unwrap()
            .contains("allows no edit there at all")
    );

    // Equal strength blocks, with a path on each side; precedence settles the other one.
    w.ok(&["add", "--no-edits-outside", "lib/**"]);
    w.ok(&["add", "Never log secrets"]);
    w.ok(&["add", "Always log secrets"]);
    let data = w.data(&["conflicts"]);
    let conflicts = data["conflicts"].as_array().unwrap();
    assert_eq!(
        (&conflicts[0]["kind"], &conflicts[0]["resolved"]),
        (&json!("contradiction"), &json!(true))
    );
    assert_eq!(conflicts[1]["resolved"], false);
    assert!(
        conflicts[1]["proof"]
            .as_str()
            .unwrap()
            .contains("the opposite of each other")
    );
    w.ok(&["plan", "use", "local/work"]);
    let blocked = w.run(&["plan", "strategize"]);
    assert_eq!(blocked.code, 3);
    assert!(
        blocked.stderr.contains("Never log secrets"),
        "{}",
        blocked.stderr
    );
    let doctor = w.run(&["doctor"]);
    assert!(
        doctor.stdout.contains("FAIL  contradiction: "),
        "{}",
        doctor.stdout
    );
    assert!(doctor.stdout.contains("dead: "), "{}", doctor.stdout);
}
