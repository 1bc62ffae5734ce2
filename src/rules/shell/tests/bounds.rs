//! Lines that are too much: read to an end, on a small stack, and never as if they did nothing.

use std::time::{Duration, Instant};

use super::*;

/// Whether a change of `tests/t.py` was found, or the line names it and something is not known.
fn is_guarded(reading: &Reading) -> bool {
    let guarded = Path::new("/w/tests/t.py");
    let is = |path: &Path| crate::path::clean(path) == guarded;
    let found = reading.found.iter().any(|found| match &found.target {
        Target::Change(path) | Target::Delete(path) => is(path),
        Target::Below(path) => guarded.starts_with(path),
        Target::Partial { texts, .. } => {
            guarded.starts_with(texts[0].trim_end_matches('/')) && texts.len() > 1
        }
    });
    found || !reading.unresolved.is_empty() && reading.mentions.iter().any(|m| is(&m.path))
}

/// Reads each line with a stack as small as the engine's threads have.
fn check_guarded(lines: Vec<String>) {
    let check = move || {
        for line in lines {
            let start = Instant::now();
            let reading = reading(&line);
            let shown: String = line.chars().take(60).collect();
            assert!(!reading.only_reads(), "{shown}");
            assert!(is_guarded(&reading), "{shown}: {:?}", reading.unresolved);
            // Unbounded, most of them take minutes.
            assert!(start.elapsed() < Duration::from_secs(5), "{shown}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread.spawn(check).unwrap().join().unwrap();
}

fn before_rm(part: &str, times: usize) -> String {
    format!("{} rm tests/t.py", part.repeat(times))
}

fn around_rm(open: &str, close: &str, times: usize) -> String {
    format!("{}rm tests/t.py{}", open.repeat(times), close.repeat(times))
}

#[test]
fn what_is_nested_too_deeply_is_not_followed_on_the_stack() {
    let mut lines = vec![
        before_rm("case a in b) ", 354),
        before_rm("case a in b) ", 2_500),
        around_rm("case a in b) ", ";; esac", 200),
        before_rm("coproc ", 2_500),
        before_rm("coproc x ", 500),
        before_rm("! ", 2_600),
        format!("[[ {} a ]]; rm tests/t.py", "! ".repeat(2_600)),
        format!("[[ {} a ]]; rm tests/t.py", "! ( ".repeat(600)),
        around_rm("( echo ')'; ", ")", 700),
        around_rm("{ echo '}'; ", "; }", 700),
        around_rm("{ echo }; ", "; }", 700),
        around_rm("if a; then echo fi; ", "; fi", 300),
        around_rm("f() ( ", " )", 300),
        around_rm("echo $(echo ')'; ", ")", 1_000),
        around_rm("echo \"$(", ")\"", 300),
        around_rm("echo ${x:-'}'$(", ")}", 300),
        around_rm("cat <(", ")", 300),
        around_rm("echo $((", "))", 300),
        around_rm("if a; then ", "; fi", 200),
        around_rm("while a; do ", "; done", 200),
    ];
    // Each of them runs the rest of its words.
    for wrapper in [
        "env ",
        "nohup ",
        "sudo -u x ",
        "timeout 5 ",
        "command ",
        "xargs ",
        "find . -exec ",
        "flock a ",
        "busybox ",
        "npx ",
        "uv run ",
        "git bisect run ",
        "docker run -v /w:/w i ",
        "watch ",
        "parallel ",
        "env -S ",
        "time ",
    ] {
        lines.extend([300, 2_500].map(|times| before_rm(wrapper, times)));
    }
    check_guarded(lines);
}

#[test]
fn texts_within_texts_are_bounded() {
    let chain = |first: &str, next: &dyn Fn(usize) -> String, times: usize| {
        let more: String = (1..times).map(next).collect();
        format!("{first}{more}f{}", times - 1)
    };
    let first = "f0() { rm tests/t.py; }; ";
    let heredocs = (0..26).fold("rm tests/t.py\n".to_owned(), |text, i| {
        format!("sh <<'E{i}'\n{text}E{i}\n")
    });
    check_guarded(vec![
        around_rm("echo $(", ")", 24),
        around_rm("echo $(", ")", 59),
        chain(first, &|i| format!("f{i}() {{ f{}; }}; ", i - 1), 23),
        chain(first, &|i| format!("f{i}() {{ f{}; }}; ", i - 1), 100),
        // Twice as much work with each.
        chain(first, &|i| format!("f{i}() {{ f{0}; f{0}; }}; ", i - 1), 23),
        chain(
            "alias f0='rm tests/t.py'; ",
            &|i| format!("alias f{i}=f{}; ", i - 1),
            30,
        ),
        heredocs,
        before_rm("eval ", 200),
        format!("x=tests/t.py;{} rm $x tests/t.py", "x=$x$x;".repeat(40)),
        format!(
            "x=(a a);{} rm ${{x[@]}} tests/t.py",
            "x=(${x[@]} ${x[@]});".repeat(30)
        ),
    ]);
}

#[test]
fn long_lines_are_read_or_refused() {
    let many = |of: &dyn Fn(usize) -> String| -> String {
        let line: String = (0..10_000).map(of).collect();
        format!("{line} rm tests/t.py")
    };
    check_guarded(vec![
        before_rm("true;", 5_000),
        before_rm("true;", 20_000),
        before_rm("true && ", 10_000),
        before_rm("true || ", 10_000),
        before_rm("true | ", 10_000),
        before_rm("true\n", 20_000),
        before_rm("é;", 20_000),
        before_rm("a=b ", 300),
        before_rm("a=b ", 20_000),
        before_rm("cd nope;", 8),
        before_rm("cd nope;", 9_000),
        many(&|i| format!("a{i}=x;")),
        many(&|i| format!("a{i}=x ")),
        many(&|i| format!("f{i}() {{ :; }};")),
        many(&|i| format!("ln -s a b{i};")),
        many(&|i| format!("echo > a{i};")),
        many(&|i| format!("trap 'rm {i}' EXIT; cd {i};")),
        format!("rm {} tests/t.py", "* ".repeat(20_000)),
        format!("rm {} tests/t.py", "a/b.py ".repeat(20_000)),
        format!("echo {}; rm tests/t.py", "$(ls) ".repeat(10_000)),
        format!("echo {}; rm tests/t.py", "`ls` ".repeat(10_000)),
        format!("echo {}; rm tests/t.py", "{a,b}".repeat(10_000)),
        format!(
            "x={}; {} rm tests/t.py",
            "a".repeat(9_000),
            "echo ${x%%b*b*};".repeat(900)
        ),
        format!("{} ) rm tests/t.py", "echo a;".repeat(9_000)),
        // What is named otherwise in a line that is not followed to its end.
        format!("{} cd tests; rm t.py", "true;".repeat(9_000)),
        format!("{} rm tests/*.py", "true;".repeat(9_000)),
    ]);
    // A long file that is written is no long line.
    let file = format!(
        "cat > src/a.rs <<'EOF'\n{}EOF\n",
        "fn f(a: A) { if a {} }\n".repeat(4_500)
    );
    check(&[(&file, &["+src/a.rs"])]);
    assert!(reading(&file).unresolved.is_empty());
    let script = format!(
        "cd src\n{}rm a\n",
        "if [ -f \"$X\" ]; then echo \"${X}\"; fi\n".repeat(150)
    );
    check(&[(&script, &["-src/a"])]);
    assert!(reading(&script).unresolved.is_empty());
}

#[test]
fn a_state_that_was_joined_keeps_its_places() {
    check(&[(
        "case $X in 1) cd 1;; 2) cd 2;; 3) cd 3;; 4) cd 4;; 5) cd 5;; 6) cd 6;; 7) cd 7;; 8) cd 8;; esac; rm a; cd x && rm b; cd /y && rm c",
        &[
            "-/y/c", "-1/a", "-1/x/b", "-2/a", "-2/x/b", "-3/a", "-3/x/b", "-4/a", "-4/x/b",
            "-5/a", "-5/x/b", "-6/a", "-6/x/b", "-7/a", "-7/x/b", "-8/a", "-8/x/b", "-a", "-x/b",
            "?…/a", "?…/x/b",
        ],
    )]);
}
