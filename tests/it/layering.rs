//! The floors of `ARCHITECTURE.md`: a file uses what stands below it and nothing above.

use std::{fs, path::Path};

use regex::Regex;

use crate::support::files;

const FLOORS: [(&str, u8); 9] = [
    ("model", 0),
    ("rules", 1),
    ("store", 2),
    ("engine", 3),
    ("agents", 4),
    ("app", 5),
    ("demo", 5),
    ("cli", 6),
    ("ui", 6),
];

fn floor(module: &str) -> Option<u8> {
    FLOORS
        .iter()
        .find(|(name, _)| *name == module)
        .map(|(_, floor)| *floor)
}

/// The modules of the crate that a source text names, by `crate::name` and `crate::{…}`.
fn used(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let direct = Regex::new(r"\bcrate::(\w+)").unwrap();
    let mut found: Vec<String> = direct
        .captures_iter(&code)
        .map(|c| c[1].to_owned())
        .collect();
    for (start, _) in code.match_indices("crate::{") {
        let (mut depth, mut word, mut at_name) = (0, String::new(), true);
        for c in code[start + "crate::".len()..].chars() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => at_name = true,
                c if c.is_alphanumeric() || c == '_' => {
                    if depth == 1 && at_name {
                        word.push(c);
                    }
                    continue;
                }
                _ => {}
            }
            if !word.is_empty() {
                found.push(std::mem::take(&mut word));
                at_name = c == ',';
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

#[test]
fn no_arrow_points_up_or_across() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut arrows = 0;
    for file in files(&source, ".rs") {
        let inside = file.strip_prefix(&source).unwrap();
        let module = inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap();
        let Some(own) = floor(module) else { continue };
        for other in used(&fs::read_to_string(&file).unwrap()) {
            let Some(target) = floor(&other) else {
                continue;
            };
            arrows += 1;
            let down = target < own || other == module;
            assert!(
                down,
                "{}: {module} (floor {own}) uses {other} (floor {target})",
                inside.display()
            );
        }
    }
    assert!(arrows > 50, "the test reads the arrows");
}

#[test]
fn only_the_store_knows_redb_and_only_ui_and_app_know_widgets() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in files(&source, ".rs") {
        let inside = file.strip_prefix(&source).unwrap().display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let uses = |name: &str| {
            Regex::new(&format!(r"(?m)^\s*(pub )?use {name}\b|\b{name}::"))
                .unwrap()
                .is_match(&text)
        };
        assert!(
            !uses("redb") || inside.starts_with("store/"),
            "{inside} uses redb"
        );
        let draws = inside.starts_with("ui/") || inside.starts_with("app/");
        assert!(!uses("ratatui") || draws, "{inside} uses ratatui");
    }
}

#[test]
fn no_file_is_two_files() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in files(&source, ".rs") {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 800, "{} has {lines} lines", file.display());
    }
}

/// What decides may not touch: disks, clocks, threads, processes, the environment.
const IMPURE: &str = r"\bstd::(fs|thread|time|process|env|net|os)\b|\b(fs|thread|process|env)::|Instant|SystemTime|Timestamp::now|Ulid::generate|\b(rustix|tokio|notify|ignore|tempfile)::|\.(is_dir|is_file|exists|canonicalize|metadata|read_dir)\(|\bdisk::";

#[test]
fn what_decides_is_pure() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine");
    let impure = Regex::new(IMPURE).unwrap();
    let own = [
        "strikes.rs",
        "judging.rs",
        "journal.rs",
        "step.rs",
        "facts.rs",
        "located.rs",
    ];
    let pure = |path: &Path| {
        let inside = path.strip_prefix(&engine).unwrap();
        inside.starts_with("core")
            || inside.starts_with("state")
            || own.iter().any(|o| inside == Path::new(o))
    };
    let mut looked_at = 0;
    for file in files(&engine, ".rs").into_iter().filter(|f| pure(f)) {
        looked_at += 1;
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            assert!(
                !impure.is_match(code),
                "{}:{}: {code}",
                file.display(),
                number + 1
            );
        }
    }
    assert!(looked_at > 20, "the test reads the core");
    // And it would find what it looks for.
    assert!(impure.is_match("let now = Timestamp::now();") && impure.is_match("fs::read(path)"));
}
