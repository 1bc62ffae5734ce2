use std::{collections::BTreeSet, path::Path};

use super::*;

mod bounds;
mod branches;
mod proof;
mod tools;

/// A disk with these files under `/w`; folders are there when something is in them.
struct Files(BTreeSet<&'static str>);

impl Disk for Files {
    fn is_dir(&self, path: &Path) -> bool {
        let path = crate::path::clean(path);
        self.0
            .iter()
            .any(|f| Path::new(f) != path && Path::new(f).starts_with(&path))
    }

    fn exists(&self, path: &Path) -> bool {
        self.0.iter().any(|f| Path::new(f).starts_with(path))
    }

    fn names(&self, dir: &Path, _limit: usize) -> Option<Vec<String>> {
        let names = self.0.iter().filter_map(|f| {
            let rest = Path::new(f).strip_prefix(dir).ok()?;
            Some(rest.components().next()?.as_os_str().to_str()?.to_owned())
        });
        let names: BTreeSet<String> = names.collect();
        Some(names.into_iter().collect())
    }
}

const FILES: [&str; 7] = [
    "/w/src/a.rs",
    "/w/src/b.rs",
    "/w/tests/t.py",
    "/w/tests/u.py",
    "/w/README.md",
    "/w/docs/x.md",
    "/tmp/fix.py",
];

fn reading(line: &str) -> Reading {
    let disk = Files(FILES.into_iter().collect());
    read(
        line,
        Surroundings {
            cwd: Path::new("/w"),
            root: Path::new("/w"),
            home: Some(Path::new("/home/mira")),
            scratch: Path::new("/tmp"),
            disk: &disk,
        },
    )
}

/// The changes of a line in short: `+` written, `-` gone, `*` below, `?` in part.
fn changes(line: &str) -> Vec<String> {
    let reading = reading(line);
    let short = |path: &Path| {
        let clean = crate::path::clean(path);
        match clean.strip_prefix("/w") {
            Ok(rest) => rest.display().to_string(),
            Err(_) => clean.display().to_string(),
        }
    };
    let mut all: Vec<String> = reading
        .found
        .iter()
        .map(|found| match &found.target {
            Target::Change(path) => format!("+{}", short(path)),
            Target::Delete(path) => format!("-{}", short(path)),
            Target::Below(path) => format!("*{}", short(path)),
            Target::Partial { texts, .. } => format!("?{}", texts.join("…").replace("/w/", "")),
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

fn check(cases: &[(&str, &[&str])]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(line, expected)| {
            let got = changes(line);
            (got != *expected).then(|| format!("{line}\n  got {got:?}\n  not {expected:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn redirections_of_all_forms_write() {
    check(&[
        ("echo x > a", &["+a"]),
        ("echo x >a 2>b", &["+a", "+b"]),
        ("echo x >> a", &["+a"]),
        ("ls 3> a", &["+a"]),
        ("ls {fd}> a", &["+a"]),
        ("ls &> a", &["+a"]),
        ("ls &>> a", &["+a"]),
        ("ls >& a", &["+a"]),
        ("ls >| a", &["+a"]),
        ("exec 3<> a", &["+a"]),
        ("> a", &["+a"]),
        ("ls 2>&1 >/dev/null", &[]),
        ("ls > /dev/stderr 2>&-", &[]),
        ("cat < a", &[]),
        ("cd /w/src && ls > o; cd ..; ls > p", &["+p", "+src/o"]),
        ("{ ls; pwd; } > a", &["+a"]),
        ("(ls) >> a", &["+a"]),
        ("for f in 1 2; do ls; done > a", &["+a"]),
        ("if true; then ls > a; fi", &["+a"]),
        ("f() { ls; } > a; f", &["+a"]),
        ("! ls > a", &["+a"]),
        ("ls > a &", &["+a"]),
        ("true || ls > a", &["+a"]),
        ("[[ -f x ]] > a", &["+a"]),
        ("time ls > a", &["+a"]),
        ("select x in 1; do ls > a; done", &["+a"]),
        ("coproc ls > a", &["+a"]),
    ]);
}

#[test]
fn heredocs_write_where_they_are_sent() {
    check(&[
        ("cat << EOF > a\nx > b\nEOF", &["+a"]),
        ("cat > a <<'EOF'\n$(rm b)\nEOF\n", &["+a"]),
        ("cat > a <<EOF\n$(rm b)\nEOF\n", &["+a", "-b"]),
        ("export X=1 && cat > a <<E\nx\nE", &["+a"]),
        ("X=1 cat > a", &["+a"]),
        ("cat <<EOF > a\nno end", &["+a"]),
        ("cat <<-E | tee a\n\tx\n\tE\n", &["+a"]),
        ("bash <<'E'\nrm a\nE", &["-a"]),
        ("bash -s <<< 'rm a'", &["-a"]),
        ("sh <<E\nls > a\nE\n", &["+a"]),
    ]);
}

#[test]
fn what_stands_inside_is_opened() {
    check(&[
        ("bash -c 'echo x > a'", &["+a"]),
        ("bash -ec \"cd src; rm a\"", &["-src/a"]),
        ("sh -c 'rm \"$1\"' _ a", &["-a"]),
        ("env -i X=1 rm a", &["-a"]),
        ("env -C src rm a", &["-src/a"]),
        ("env -S 'rm a'", &["-a"]),
        ("sudo -u root rm a", &["-a"]),
        ("nohup nice -n 5 timeout 5s rm a", &["-a"]),
        ("timeout -k 1 5 stdbuf -oL rm a", &["-a"]),
        ("setsid ionice -c 3 rm a", &["-a"]),
        ("watch -n 1 'rm a'", &["-a"]),
        (
            "command rm a; builtin echo x > b; exec rm c",
            &["+b", "-a", "-c"],
        ),
        ("echo a b | xargs rm", &["-a", "-b"]),
        ("printf '%s\\n' a b | xargs -I{} cp x {}", &["+a", "+b"]),
        (
            "find src -name '*.rs' -exec sed -i s/a/b/ {} +",
            &["?src/….rs"],
        ),
        ("find tests -name t.py -delete", &["?tests…/t.py"]),
        ("find . -type f | xargs sed -i s/a/b/", &["?./…"]),
        ("bash <(echo 'rm a'); . <(echo rm b)", &["-a", "-b"]),
        ("echo 'rm a' | sh", &["-a"]),
        ("eval 'rm a'", &["-a"]),
        ("eval rm a", &["-a"]),
        ("X=$(rm a)", &["-a"]),
        ("X=<(touch a)", &["+a"]),
        ("diff <(rm a) >(tee b)", &["+b", "-a"]),
        ("echo `rm a`", &["-a"]),
        ("ls \"$(rm a)\"", &["-a"]),
        ("[[ -n $(rm a) ]]", &["-a"]),
        ("case $(rm a) in *) rm b;; esac", &["-a", "-b"]),
        ("a=(1 $(rm a))", &["-a"]),
        ("f() { rm \"$1\"; }; f a", &["-a"]),
        ("alias x='rm'; x a", &["-a"]),
        ("trap 'rm a' EXIT", &["-a"]),
        ("(( x = $(rm a) ))", &["-a"]),
        ("busybox rm a", &["-a"]),
        ("npx prettier --write a.ts", &["+a.ts"]),
        ("uv run black src/a.py", &["+src/a.py"]),
        ("flock /tmp/l rm a", &["-a"]),
        ("PAGER='tee a' git log", &["+a"]),
        ("git -c alias.x='!rm a' x", &["-a"]),
        ("while read f; do rm $f; done <<< a", &["-a"]),
        ("parallel rm ::: a", &["-:::", "-a"]),
    ]);
}

#[test]
fn words_are_expanded_as_bash_does() {
    check(&[
        ("r''m a", &["-a"]),
        ("\\rm a", &["-a"]),
        ("'rm' a", &["-a"]),
        ("/bin/rm a", &["-a"]),
        ("rm$IFS-f$IFS\"a\"", &["-a"]),
        ("x=r; y=m; $x$y a", &["-a"]),
        ("$(echo rm) a", &["-a"]),
        ("$'\\x72m' $'a\\tb'", &["-a\tb"]),
        ("rm a{1,2}.txt", &["-a1.txt", "-a2.txt"]),
        ("rm f{1..3}", &["-f1", "-f2", "-f3"]),
        ("rm tests/*.py", &["-tests/t.py", "-tests/u.py"]),
        ("rm te?ts/t.*", &["-tests/t.py"]),
        ("rm '*'", &["-*"]),
        ("rm ~/x", &["-/home/mira/x"]),
        ("rm \"~/x\"", &["-~/x"]),
        (
            "rm ~+/x ~mira/y ~other/z",
            &["-/home/mira/y", "-/home/other/z", "-x"],
        ),
        (
            "F=src/n; rm $F \"${F}.bak\" ${F%n}m",
            &["-src/m", "-src/n", "-src/n.bak"],
        ),
        ("rm ${X:-dflt}", &["-dflt"]),
        (
            "F=a/b.c; rm ${F##*/} ${F%%.*} ${F/b/d}",
            &["-a/b", "-a/d.c", "-b.c"],
        ),
        (
            "for f in a b; do mv $f $f.bak; done",
            &["+a.bak", "+b.bak", "-a", "-b"],
        ),
        ("if x; then F=a; else F=b; fi; rm $F", &["-a", "-b"]),
        ("cd src || exit 1; rm a", &["-src/a"]),
        ("cd src; rm a", &["-src/a"]),
        ("cd nowhere; rm a", &["-a", "-nowhere/a"]),
        ("cd nowhere && rm a", &["-nowhere/a"]),
        ("mkdir d && cd d && echo > f", &["+d/f"]),
        ("(cd src; rm a); rm b", &["-b", "-src/a"]),
        ("pushd src; rm a; popd; rm b", &["-b", "-src/a"]),
        ("cd src && cd - && rm a", &["-a"]),
        ("rm \"$HOME/x\" $PWD/y", &["-/home/mira/x", "-y"]),
        ("rm tests/$X", &["?tests/…"]),
        ("echo é > ä; rm ö", &["+ä", "-ö"]),
        ("rm a\\\n b", &["-a", "-b"]),
        ("rm a #b", &["-a"]),
        (".ss\\h/x; rm .ss\\h/k", &["-.ssh/k"]),
        ("f=$(mktemp); echo > $f", &["?/tmp/tmp.…"]),
        ("echo > $(git rev-parse --show-toplevel)/a", &["+a"]),
        ("set -- a b; rm $2", &["-b"]),
        ("x=AB; rm ${x,,}", &["-ab"]),
    ]);
}

#[test]
fn writing_commands_are_known() {
    check(&[
        ("tee a b < c", &["+a", "+b"]),
        ("cp a b; cp a src; cp a src/", &["+b", "+src/a"]),
        ("cp -t src a b", &["+src/a", "+src/b"]),
        ("cp -r docs new", &["*new", "+new"]),
        ("mv a src/", &["+src/a", "-a"]),
        ("ln -sf x a", &["+a"]),
        ("install -m 644 x a", &["+a"]),
        ("rm -rf a -- -b", &["--b", "-a"]),
        ("sed -i s/a/b/ a", &["+a"]),
        ("sed -i.bak -e s/a/b/ a", &["+a", "+a.bak"]),
        ("sed -ni p a; sed --in-place=.o p b", &["+a", "+b", "+b.o"]),
        ("sed -i '' s/a/b/ a", &["+a"]),
        ("sed -n 's/a/b/w out' a", &["+out"]),
        ("sed '1,3w out' a", &["+out"]),
        ("sed 's/a/w b/' a", &[]),
        ("perl -pi -e 's/a/b/' a", &["+a"]),
        ("perl -i.bak -ne print a", &["+a"]),
        ("ruby -i -pe 'x' a", &["+a"]),
        ("awk '{print > \"a\"}' b", &["+a"]),
        ("awk '$1 > 3 {print $1}' b", &[]),
        ("gawk -i inplace '{print}' a", &["+a"]),
        ("dd if=x of=a bs=1", &["+a"]),
        ("truncate -s 0 a; touch b", &["+a", "+b"]),
        ("tar xf x.tar -C src", &["*src"]),
        ("tar -xzf x.tgz", &["*"]),
        ("tar czf a.tgz src", &["+a.tgz"]),
        ("tar cf - src | tar xf - -C docs", &["*docs"]),
        ("unzip -o x.zip -d src", &["*src"]),
        ("rsync -a src/ tests/", &["*tests"]),
        ("rsync -a x host:/y", &[]),
        ("patch -p1 < x.patch", &["*"]),
        ("patch a < x", &["+a"]),
        (
            "patch -p1 <<'E'\n--- a/src/x\n+++ b/src/x\n@@\nE",
            &["+src/x"],
        ),
        ("curl -o a http://x/y; curl -O http://x/z", &["+a", "+z"]),
        ("wget http://x/y.txt; wget -O b http://x", &["+b", "+y.txt"]),
        ("gzip a; gunzip b.gz", &["+a.gz", "+b", "-a", "-b.gz"]),
        ("chmod +x a; chown m b", &["+a", "+b"]),
        ("sort -o a b; uniq b c", &["+a", "+c"]),
        ("ed -s a; ex -sc wq b; vim -es c", &["+a", "+b", "+c"]),
        ("prettier --check a; prettier -w b", &["+b"]),
        ("split -l 9 x tests/p", &["?tests/p…"]),
        ("python -c \"open('a','w').write('x')\"", &["+a"]),
        (
            "python3 - <<'E'\nfrom pathlib import Path\nPath('a').write_text('x')\nE",
            &["+a"],
        ),
        ("node -e \"require('fs').writeFileSync('a', '')\"", &["+a"]),
        ("ruby -e \"File.write('a', 1)\"", &["+a"]),
        ("perl -e 'open(F, \">a\")'", &["+a"]),
        (
            "python -c \"import os; os.remove('a'); os.rename('b', 'c')\"",
            &["+a", "+b", "+c"],
        ),
        (
            "python -c \"import shutil; shutil.copy('x', 'a')\"",
            &["+a"],
        ),
        ("mktemp; mktemp ./x.XXXX", &["?./x.…", "?/tmp/tmp.…"]),
        ("rename s/a/b/ a", &["-a"]),
        ("shuf -o a b; sqlite3 a.db 'insert b'", &["+a", "+a.db"]),
        ("git difftool -x 'rm a'", &["-a"]),
    ]);
}

#[test]
fn git_writes_the_work_tree() {
    check(&[
        ("git status; git log -- tests; git diff", &[]),
        ("git add -A; git commit -m 'tests/t.py'", &[]),
        ("git checkout -b new; git switch -c new", &[]),
        ("git checkout main", &["*"]),
        ("git checkout -- tests/t.py", &["+tests/t.py"]),
        ("git checkout HEAD~1 -- src/a.rs", &["+src/a.rs"]),
        ("git checkout HEAD src/a.rs", &["+src/a.rs"]),
        ("git checkout .", &["*"]),
        ("git restore src/a.rs", &["+src/a.rs"]),
        ("git restore --staged tests/t.py", &[]),
        ("git restore src", &["*src"]),
        ("git reset --hard; git stash pop; git apply p", &["*"]),
        ("git stash list; git stash show; git apply --check p", &[]),
        ("git clean -fd; git clean -nd", &["*"]),
        ("git clean -fd src", &["*src"]),
        ("git -C /other checkout -- x", &["+/other/x"]),
        ("git --work-tree=/other checkout -f", &["*/other"]),
        ("GIT_WORK_TREE=/other git checkout -- x", &["+/other/x"]),
        ("git rm tests/t.py", &["-tests/t.py"]),
        ("git rm --cached tests/t.py", &[]),
        ("git mv tests/t.py src/", &["+src/t.py", "-tests/t.py"]),
        ("git rebase -x 'rm a' main", &["*", "-a"]),
        ("git submodule foreach 'rm a'", &["-a"]),
        ("git config core.hooksPath x", &["+.git/config"]),
        ("git config --get x; git config -l", &[]),
        ("git diff --output=a; git archive -o b HEAD", &["+a", "+b"]),
        ("git worktree add ../o", &["*/o"]),
        ("git clone https://x/y.git", &["*y"]),
        ("git pull", &["*"]),
    ]);
}

#[test]
fn reading_lines_change_nothing() {
    for line in [
        "cat tests/t.py | grep -n 'x > y' | head -5",
        "ls -la && pwd; git log --oneline -5",
        "rg 'rm -rf' src || true",
        "echo 'rm tests/t.py > x'",
        "command -v rm",
        "git log --grep='tests/t.py'",
        "grep -rn \"sed -i\" .",
        "test -f tests/t.py && echo yes",
        "find . -name '*.rs' | wc -l",
        "sed -n '1,20p' tests/t.py",
        "awk '{print $1}' tests/t.py",
        "jq . package.json 2>/dev/null",
        "python3 -c \"print(open('tests/t.py').read())\"",
        "python -c 'import json; print(json.load(open(\"a.json\"))[\"v\"])'",
        "node -p \"require('./package.json').version\"",
        "for f in *.md; do wc -l $f; done",
        "cd src && ls",
        "diff <(ls) <(ls -a)",
        "[ -n \"$X\" ] && echo \"> $X\"",
        "invar list --effective && invar explain --path tests/t.py",
    ] {
        let reading = reading(line);
        assert!(
            reading.found.is_empty() && reading.unresolved.is_empty(),
            "{line}: {reading:?}"
        );
        assert!(reading.rule_changes.is_empty(), "{line}");
    }
}

#[test]
fn what_is_not_known_is_said() {
    for line in [
        "rm $X",
        "echo x > $X",
        "$CMD a",
        "bash -c \"$X\"",
        "eval \"$X\"",
        "cat x | sh",
        "find . | sh",
        "cat list | xargs rm",
        "python - < x.py",
        "python -c \"import os; os.system('x')\"",
        "perl -e 'unlink $f'",
        "awk '{print > $1}' x",
        "crontab x",
        "echo 'abc",
        "if true",
        &"(".repeat(5000),
        &"if true; then ".repeat(500),
    ] {
        let reading = reading(line);
        assert!(!reading.unresolved.is_empty(), "{line}: {reading:?}");
        assert!(reading.opaque, "{line}");
        assert!(
            reading.unresolved.iter().all(|u| !u.hidden),
            "{line}: {reading:?}"
        );
    }
    for line in [
        "echo cm0gYQ== | base64 -d | sh",
        "base64 --decode <<< cm0gYQ== | bash",
        "xxd -r -p x | python3",
        "echo x | rev | sh",
        "source <(base64 -d x)",
    ] {
        let reading = reading(line);
        assert!(
            reading.unresolved.iter().any(|u| u.hidden),
            "{line}: {reading:?}"
        );
    }
}

#[test]
fn programs_of_the_project_are_opaque_and_no_more() {
    for line in [
        "cargo test",
        "make",
        "npm run build",
        "./x.sh",
        "bash tests/t.sh",
        "pytest tests/t.py",
    ] {
        let reading = reading(line);
        assert!(
            reading.opaque && reading.unresolved.is_empty(),
            "{line}: {reading:?}"
        );
        assert!(reading.found.is_empty(), "{line}");
    }
}

#[test]
fn mentions_are_paths() {
    let named = |line: &str| -> Vec<String> {
        let mut all: Vec<_> = reading(line)
            .mentions
            .iter()
            .map(|m| m.path.display().to_string())
            .collect();
        all.sort();
        all.dedup();
        all
    };
    assert_eq!(named("cat tests/t.py | xargs rm"), ["/w/tests/t.py"]);
    assert_eq!(
        named("python -c \"import os; os.system('rm tests/t.py'); x = 'text/html'\""),
        ["/w/tests/t.py"]
    );
    assert!(named("git commit -m 'no path here' && curl https://x.org/a/b").is_empty());
    assert_eq!(named("rm $X README.md"), ["/w/README.md"]);
}

#[test]
fn agents_do_not_change_the_rules() {
    for line in [
        "invar remove 01AB",
        "/usr/local/bin/invar add x",
        "invar --store /tmp/s list; invar --format json plan resume @",
        "invar invariant edit 01AB --text x",
        "invar uninstall claude-code",
        "invar hook claude-code",
        "invar",
        "export INVAR_STORE=/tmp/x",
        "INVAR_STORE=/tmp/x make",
        "env INVAR_STORE=x true",
        "pkill -f invar",
        "killall invar",
        "bash -c 'invar undo'",
        "kill $(pgrep -f invar)",
        "pidof invar | xargs kill -9",
        "echo y | xargs invar remove",
    ] {
        assert!(!reading(line).rule_changes.is_empty(), "{line}");
    }
    for line in [
        "invar list",
        "invar plan list",
        "invar --format json status",
        "invar add --help",
        "kill 123",
    ] {
        assert!(reading(line).rule_changes.is_empty(), "{line}");
    }
}

proptest::proptest! {
    /// Whatever the line, it is read to an end, and every range lies in it.
    #[test]
    fn no_line_breaks_the_reader(parts in proptest::collection::vec(
        proptest::sample::select(vec![
            "rm", "a", " ", " ", "$(", ")", "`", "'", "\"", "{", "}", "<", ">", "|", "&", ";", "\n",
            "$x", "${y:-", "*", "[", "]", "(", "((", "if", "then", "fi", "for", "in", "do", "done",
            "case", "esac", "while", "<<E", "E", "\\", "é", "=", "sed -i", "git", "env", "xargs",
            "bash -c", "python -c", "find . -exec", "\u{0}", "~", "#", "!", "function", "[[", "]]",
        ]),
        0..24,
    )) {
        let line: String = parts.concat();
        let reading = reading(&line);
        for found in &reading.found {
            assert!(line.get(found.bytes.clone()).is_some(), "{line:?}");
        }
        for unresolved in &reading.unresolved {
            assert!(line.get(unresolved.bytes.clone()).is_some(), "{line:?}");
        }
    }
}

#[test]
fn bytes_point_into_the_line() {
    let line = "ls; écho; rm a && bash -c 'rm b'";
    let reading = reading(line);
    let parts: Vec<&str> = reading
        .found
        .iter()
        .map(|f| &line[f.bytes.clone()])
        .collect();
    assert_eq!(parts, ["rm a", "bash -c 'rm b'"]);
}
