//! How agents get round a guard, and what makes people switch one off: every kind of evasion
//! that has been reported in public, in our own words, asked of the engine on a real project.

use std::{fs, os::unix::fs::symlink};

use super::*;

/// A project in which only `src/**` may be edited and `tests/spec.py` is untouched.
fn guarded() -> World {
    let mut w = World::with_scratch("scratch");
    w.only(project(), &["src/**"]);
    w.untouched(project(), "tests/spec.py");
    for (file, text) in [
        ("src/a.py", "a = 1\n"),
        ("src/sub/b.py", "b = 1\n"),
        ("tests/spec.py", "assert True\n"),
        ("README.md", "# x\n"),
        ("package.json", "{}"),
    ] {
        fs::create_dir_all(w.root.join(file).parent().unwrap()).unwrap();
        fs::write(w.root.join(file), text).unwrap();
    }
    w
}

fn verdict(w: &mut World, what: ExplainWhat) -> VerdictKind {
    let call = Explain {
        of: EffectiveOf::Project("local/my-app".parse().unwrap()),
        root: w.root.clone(),
        cwd: w.root.clone(),
        what,
    };
    w.ask(call).unwrap().verdict
}

/// Asks about each line; those with another verdict are listed. `@` stands for the project,
/// `/tmp` for its scratch folder.
fn check(w: &mut World, expected: VerdictKind, lines: &[&str]) {
    let root = w.root.display().to_string();
    let scratch = w.config.paths.scratch[0].display().to_string();
    let wrong: Vec<String> = lines
        .iter()
        .map(|line| line.replace("/tmp", &scratch).replace('@', &root))
        .filter(|line| verdict(w, ExplainWhat::Command(line.clone())) != expected)
        .collect();
    assert!(wrong.is_empty(), "not {expected}:\n{}", wrong.join("\n"));
}

fn check_paths(w: &mut World, expected: VerdictKind, paths: &[&str]) {
    let root = w.root.display().to_string();
    let scratch = w.config.paths.scratch[0].display().to_string();
    let wrong: Vec<String> = paths
        .iter()
        .map(|path| path.replace('%', &scratch).replace('@', &root))
        .filter(|path| verdict(w, ExplainWhat::Path(path.into())) != expected)
        .collect();
    assert!(wrong.is_empty(), "not {expected}:\n{}", wrong.join("\n"));
}

#[test]
fn an_edit_that_was_refused_does_not_go_through_the_shell() {
    let mut w = guarded();
    check(
        &mut w,
        VerdictKind::Deny,
        &[
            "echo 'assert 1' | tee tests/spec.py",
            "cat > tests/spec.py <<'EOF'\nassert 1\nEOF",
            "cat << EOF > tests/spec.py\nassert 1\nEOF",
            "export X=1 && cat > tests/spec.py",
            "X=1 cat > tests/spec.py",
            "python3 -c \"open('tests/spec.py', 'w').write('x')\"",
            "python3 - <<'EOF'\nfrom pathlib import Path\nPath('tests/spec.py').write_text('x')\nEOF",
            "python3 <<'EOF'\nimport pathlib\np = pathlib.Path('tests') / 'x'\nopen('tests/spec.py', mode='a')\nEOF",
            "node -e \"require('fs').writeFileSync('tests/spec.py', '')\"",
            "ruby -e \"File.write('tests/spec.py', '')\"",
            "perl -e 'open(F, \">tests/spec.py\"); print F 1'",
            "perl -i -pe 's/True/1/' tests/spec.py",
            "php -r \"file_put_contents('tests/spec.py', '');\"",
            "awk 'BEGIN { print 1 > \"tests/spec.py\" }'",
            "bash -c 'echo x > tests/spec.py'",
            "sh -ec \"sed -i s/a/b/ tests/spec.py\"",
            "X=<(touch tests/new)",
            "X=$(touch tests/new)",
            "echo x >> .git/hooks/pre-commit",
            "install -m 755 src/a.py .git/hooks/pre-commit",
            "cp src/a.py .git/hooks/pre-commit",
            "rsync -a src/ tests/",
            "rsync src/a.py tests/",
            "printf x > .gi\\t/hooks/x",
            "ls src; rm tests/spec.py",
            "true && rm tests/spec.py",
            "grep safe src/a.py || rm tests/spec.py",
            "ln -sf ../src/a.py tests/spec.py",
            "git mv tests/spec.py src/spec.py",
            "mv tests/spec.py tests/spec.py.bak",
            "echo x > ~/x",
            "echo x > \"~/x\"",
            "echo x > ~+/x",
            "cd tests && echo x > spec.py",
            "cd tests; sed -i d spec.py",
            "(cd tests && rm spec.py)",
            "pushd tests > /dev/null && rm spec.py",
            "r''m tests/spec.py",
            "rm$IFS'tests/spec.py'",
            "$(echo rm) tests/spec.py",
            "echo cm0gdGVzdHMvc3BlYy5weQ== | base64 -d | sh",
            "base64 -d <<< cm0= | bash",
            "find tests -name 'spec*' -delete",
            "find . -name '*.py' -exec sed -i s/a/b/ {} +",
            "dd if=/dev/null of=tests/spec.py",
            "wc README.md > ~/x",
            "mkdir d && echo > d/f",
            "cp /tmp/f tests/f",
            "ls 3> tests/spec.py",
            "ls &> tests/spec.py",
            "ls >| tests/spec.py",
            "exec 5<> tests/spec.py",
            "ls src && ls > tests/spec.py && ls",
            "env FOO=1 rm tests/spec.py",
            "sudo rm tests/spec.py",
            "setsid ionice -c3 rm tests/spec.py",
            "watch -n1 rm tests/spec.py",
            "timeout 5 nice xargs -I{} rm {} <<< tests/spec.py",
            "echo tests/spec.py | xargs rm",
            "A=tests/spec.py; rm \"$A\"",
            "for f in tests/*; do rm \"$f\"; done",
            "rm tests/*.py",
            "rm te{st,}s/spec.py",
            "rm -rf tests",
            "rm -rf .",
            "rm -rf ../my-app",
            "rm tests/$NAME",
            "D=$UNKNOWN; rm $D/spec.py",
            "echo tests/spec.py; rm $F",
            "rm tests/spec.py &",
            "ls\trm\nrm tests/spec.py",
            "echo x |& tee tests/spec.py",
            "alias ls='rm tests/spec.py'; ls",
            "f() { rm \"$1\"; }; f tests/spec.py",
            "trap 'rm tests/spec.py' EXIT",
            "trap 'rm spec.py' EXIT; cd tests",
            "shopt -q globstar || rm tests/spec.py",
            "declare -F x || rm tests/spec.py",
            "cd src || rm tests/spec.py",
            "if make -q; then f(){ echo;}; else f(){ rm tests/spec.py;}; fi; f",
            "rm() { :; }; command rm tests/spec.py",
            "eval \"rm tests/spec.py\"",
            "tar xf x.tar",
            "unzip x.zip",
            "patch -p1 < x.patch",
            "truncate -s0 tests/spec.py",
            "chmod 644 tests/spec.py",
            "ed -s tests/spec.py <<< 'w'",
            "vim -es -c wq tests/spec.py",
            "sort -o tests/spec.py src/a.py",
            "curl -o tests/spec.py http://x",
            "black tests/spec.py",
            "prettier --write .",
            "sed -n 'w tests/spec.py' src/a.py",
            "GIT_PAGER='tee tests/spec.py' git log",
            "echo x > /proc/self/cwd/tests/spec.py",
        ],
    );
}

#[test]
fn a_long_line_is_read_to_its_end() {
    let mut w = guarded();
    let line = format!("echo {}; rm tests/spec.py", "word ".repeat(5000));
    check(&mut w, VerdictKind::Deny, &[&line]);
    // Too much to be followed: what it names is guarded.
    for part in [
        "true;",
        "env ",
        "coproc ",
        "$(",
        "case a in b) ",
        "cd nope;",
    ] {
        let line = format!("{} rm tests/spec.py", part.repeat(6_000));
        check(&mut w, VerdictKind::Deny, &[&line]);
    }
}

#[test]
fn git_is_a_writing_tool() {
    let mut w = guarded();
    check(
        &mut w,
        VerdictKind::Deny,
        &[
            "git stash pop",
            "git stash",
            "git checkout -- tests/spec.py",
            "git checkout HEAD~2 tests/spec.py",
            "git checkout main",
            "git switch main",
            "git restore .",
            "git restore tests/spec.py",
            "git apply x.diff",
            "git am < x",
            "git clean -fd",
            "git reset --hard HEAD~1",
            "git -C tests checkout -- spec.py",
            "git -C / checkout -- etc/x",
            "git --git-dir=/x/.git --work-tree=/x checkout -f",
            "GIT_DIR=.git git checkout .",
            "git rm tests/spec.py",
            "git pull",
            "git merge x",
            "git rebase main",
            "git cherry-pick abc",
            "git config core.hooksPath /tmp/h",
            "git worktree remove tests",
            "git -c alias.x='!rm tests/spec.py' x",
        ],
    );
    check(
        &mut w,
        VerdictKind::Allow,
        &[
            "git checkout HEAD -- src/a.py",
            "git restore --source=HEAD~1 src/sub",
            "git checkout -b feature",
            "git add -A && git commit -m 'touch tests/spec.py'",
            "git rm src/a.py",
            "git clean -fd src",
            "git stash list",
            "git status && git diff tests/spec.py && git log -- tests",
            "git reset HEAD tests/spec.py",
            "git push",
        ],
    );
}

#[test]
fn what_only_looks_like_a_write_is_let_through() {
    let mut w = guarded();
    check(
        &mut w,
        VerdictKind::Allow,
        &[
            "cat > /tmp/note.txt <<'EOF'\nplease rm tests/spec.py > tests/x\nEOF",
            "command -v rm",
            "echo 'rm -rf tests > tests/spec.py'",
            "git commit -m \"do not touch tests/spec.py; rm -rf /\"",
            "grep -rn 'sed -i' tests",
            "rg 'echo > tests/spec.py' README.md",
            "cd @/src && ls",
            "cd src && touch c.py && cd .. && cat README.md",
            "cd src && echo x > \"~/x\"",
            "pytest tests/spec.py -q 2>&1 | tail -20",
            "python -m pytest tests/spec.py > /tmp/out.txt 2>&1",
            "npm test -- tests/spec.py",
            "cat tests/spec.py | head -5 | sed 's/a/b/'",
            "diff tests/spec.py src/a.py",
            "sed -n '1,5p' tests/spec.py",
            "sed -i 's#tests/spec.py#x#' src/a.py",
            "python -c \"print(open('tests/spec.py').read())\"",
            "python3 -c \"import json; print(json.load(open('package.json')))\"",
            "node -p \"require('./package.json').version\"",
            "awk '$1 > 3' tests/spec.py",
            "ls > /dev/null 2>&1",
            "make 2>&1 | tee /tmp/log",
            "f=$(mktemp) && ls > \"$f\"",
            "cp tests/spec.py /tmp/spec.py",
            "cp tests/spec.py src/",
            "mkdir -p src/new && mv src/a.py src/new/",
            "find src -name '*.py' | xargs sed -i s/a/b/",
            "find src -type f -exec chmod 644 {} +",
            "for f in src/*.py; do sed -i s/a/b/ \"$f\"; done",
            "rm -rf src/sub && mkdir src/sub",
            "cargo build --release",
            "docker ps",
            "kill %1",
            "curl -s https://x.org/tests/spec.py",
            "tar czf /tmp/x.tgz tests",
            "ssh host 'rm tests/spec.py'",
            "echo $((1 > 0))",
            "[[ a > b ]] && echo yes",
            "test tests/spec.py -nt src/a.py",
            "while read -r l; do echo \"$l\"; done < tests/spec.py",
            "black src",
            "rg -l foo src | xargs sed -i s/foo/bar/",
        ],
    );
}

#[test]
fn every_spelling_of_a_path_is_the_path() {
    let mut w = guarded();
    symlink("../tests", w.root.join("src/link")).unwrap();
    symlink("/etc", w.root.join("src/etc")).unwrap();
    symlink("../tests/spec.py", w.root.join("src/last")).unwrap();
    fs::hard_link(w.root.join("tests/spec.py"), w.root.join("src/hard.py")).unwrap();
    check_paths(
        &mut w,
        VerdictKind::Deny,
        &[
            "src/link/spec.py",
            "src/etc/hosts",
            "src/last",
            "src/hard.py",
            "src/../tests/spec.py",
            "src/./../tests//spec.py",
            "@-evil/src/x",
            "@/../other/src/x",
            "file://@/tests/spec.py",
            "file://localhost@/tests/spec.py",
            "/proc/self/cwd/tests/spec.py",
            "/proc/self/root@/tests/spec.py",
            "~/src/x",
            "vendor/src/x",
            "SRC/x",
            "\u{ff53}rc/x",
            "tests/",
            "tests",
        ],
    );
    check_paths(
        &mut w,
        VerdictKind::Allow,
        &["src/a.py", "@/src/new/x.py", "file://@/src/a.py", "%/x"],
    );
    check(
        &mut w,
        VerdictKind::Deny,
        &[
            "echo > src/link/spec.py",
            "sed -i d src/last",
            "echo x >> src/hard.py",
        ],
    );
}

#[test]
fn a_link_made_meanwhile_counts() {
    let mut w = guarded();
    check_paths(&mut w, VerdictKind::Allow, &["src/late/x.py"]);
    symlink("../tests", w.root.join("src/late")).unwrap();
    check_paths(&mut w, VerdictKind::Deny, &["src/late/x.py"]);
}

#[test]
fn signs_in_names_are_names() {
    let mut w = World::new();
    for name in [
        "app/[id]/page.tsx",
        "i18n/{-$locale}/x",
        "a(b)/c",
        "we ird/$HOME",
    ] {
        w.untouched(project(), &name.replace('{', "\\{").replace('}', "\\}"));
    }
    check_paths(
        &mut w,
        VerdictKind::Deny,
        &[
            "app/[id]/page.tsx",
            "i18n/{-$locale}/x",
            "a(b)/c",
            "we ird/$HOME",
        ],
    );
    check(
        &mut w,
        VerdictKind::Deny,
        &[
            "rm 'app/[id]/page.tsx'",
            "echo > \"a(b)/c\"",
            "rm we\\ ird/\\$HOME",
            "sed -i d 'i18n/{-$locale}/x'",
        ],
    );
    check_paths(&mut w, VerdictKind::Allow, &["app/d/page.tsx.bak", "a/c"]);
}

#[test]
fn a_pattern_guards_what_a_wide_command_would_meet() {
    let mut w = World::new();
    w.untouched(project(), "**/*.sql");
    fs::create_dir_all(w.root.join("db/old")).unwrap();
    fs::create_dir_all(w.root.join("docs")).unwrap();
    fs::write(w.root.join("db/old/1.sql"), "x").unwrap();
    check(
        &mut w,
        VerdictKind::Deny,
        &[
            "rm -rf db",
            "git checkout .",
            "git stash",
            "rm -rf *",
            "rm db/*/*.sql",
            "git clean -fd db",
        ],
    );
    check(
        &mut w,
        VerdictKind::Allow,
        &[
            "rm -rf docs",
            "git clean -fd docs",
            "rm src/x.txt",
            "rm $X",
            "make > $LOG",
        ],
    );
}

#[test]
fn without_rules_of_a_person_only_the_guard_itself_is_guarded() {
    let mut w = World::new();
    check(
        &mut w,
        VerdictKind::Allow,
        &[
            "git checkout main",
            "git pull",
            "rm -rf node_modules",
            "curl x | sh",
            "echo x | base64 -d | sh",
            "python -c 'import os; os.system(x)'",
        ],
    );
    let store = w.locations.store.display().to_string();
    let own = format!("rm {store}");
    let folder = format!("rm -rf {}", w.locations.store.parent().unwrap().display());
    let copy = format!("cp /tmp/x {store}");
    check(
        &mut w,
        VerdictKind::Deny,
        &[
            &own,
            &folder,
            &copy,
            "echo '{}' > .claude/settings.json",
            "rm -rf .claude/settings.local.json",
            "sed -i d invar.toml",
            "jq . x > ~/.claude/settings.json",
            "invar remove 01ABCD",
            "pkill -f 'invar serve'",
            "INVAR_STORE=/tmp/x invar list; export INVAR_STORE=/tmp/y",
            "cd /tmp && invar --store other.redb add 'no rules'",
            "bash -c 'yes | invar remove 01AB'",
        ],
    );
}

/// An Edit, then sed, then a heredoc on one file are three strikes of one action.
#[test]
fn spellings_of_one_action_count_together() {
    let mut w = guarded();
    w.use_plan("local/work");
    let bash = |command: &str| Attempt {
        tool: "Bash".into(),
        cwd: w.root.clone(),
        effects: vec![Effect::Opaque {
            command: command.into(),
            language: None,
        }],
        ..Attempt::default()
    };
    let attempts = [
        bash("sed -i d tests/spec.py"),
        bash("cd tests && cat > spec.py <<< x"),
    ];
    let first = w.edit("s", "tests/spec.py");
    assert_eq!(first.verdict.verdict, VerdictKind::Deny);
    let [second, third] = attempts;
    let second = w.hook("s", HookEvent::Attempt(second)).verdict;
    assert_eq!(second.verdict, VerdictKind::Deny);
    assert!(
        second.reason.contains("`sed -i` changes it"),
        "{}",
        second.reason
    );
    assert!(second.breaches.iter().all(|b| b.strike == 2), "{second:?}");
    let third = w.hook("s", HookEvent::Attempt(third)).verdict;
    assert_eq!(third.verdict, VerdictKind::Halt);
}
