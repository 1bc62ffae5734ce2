//! What is proven to only read, and what is not.

use super::*;

#[test]
fn plain_reading_is_proven() {
    for line in [
        "",
        "ls",
        "ls -la src && pwd",
        "cd src && ls; echo done",
        "cat tests/t.py | grep -n 'x > y' | head -5",
        "cat README.md 2>/dev/null || echo none",
        "grep -rn \"sed -i\" src --include='*.rs' 2>&1 | wc -l",
        "grep -c 'a\\|b' src/*.rs",
        "tail -20 README.md",
        "sed -n '1,20p;30p' tests/t.py",
        "sed -n '5,$p' tests/t.py",
        "find . -name '*.rs' -type f | wc -l",
        "test -f tests/t.py && echo yes",
        "[ -d src ] && echo yes",
        "printf '%s\\n' \"a b\" x",
        "command -v rm",
        "type rm",
        "which python3",
        "/bin/ls -l\nwc -l README.md\n",
        "stat -c '%s %n' README.md",
        "date +%F; whoami; uname -a",
        "true && false || :",
        "echo 'rm tests/t.py > x'",
        "ls ~/x; cat ~",
    ] {
        assert!(reading(line).only_reads(), "{line}");
    }
}

/// Each was taken for "it only reads" once, or is of a kind with one that was.
#[test]
fn what_could_run_or_write_anything_is_not_proven() {
    for line in [
        // A failure that was thought impossible.
        "shopt -q globstar || rm tests/t.py",
        "declare -F x || rm tests/t.py",
        "set -o x || rm tests/t.py",
        "X=$(false) || rm tests/t.py",
        // Program texts.
        "python3 -c \"import dbm.dumb; dbm.dumb.open('tests/t','n')\"",
        "python3 -c \"from urllib.request import urlretrieve; urlretrieve('file:///a','tests/t.py')\"",
        "python3 -c \"import shutil; shutil.unpack_archive('a.zip')\"",
        "python3 -c \"from pathlib import Path; Path('tests/x').hardlink_to('a')\"",
        "python3 -c 'print(1)'",
        "python3 -c 'from scripts.gen import main; main()'",
        "ruby -e \"IO.binwrite('tests/t.py', '')\"",
        "node -e '1'",
        "node -r ./x.js -e 1",
        "perl -e 'print 1'",
        "awk '{print $1}' tests/t.py",
        "awk 'BEGIN{print \"a;b\" > \"f\"}'",
        "sed 's/x/[/;w f' a",
        "sed -n '1p;w f' a",
        "sed -n '1e rm a' a",
        // Programs that run others, or write where an option says.
        "man -P 'rm tests/t.py' ls",
        "rg --pre ./x.sh a",
        "rg a",
        "diff --output=a b c",
        "git status",
        "git log --oneline -5",
        "git -c core.fsmonitor=./x status",
        "less a",
        "curl -K x",
        "compgen -C ./x",
        "tree -o a",
        "sort -o a b",
        "uniq a b",
        "find . -delete",
        "find . -exec ./x ;",
        "find . -fprint a",
        "grep --save-config=a x",
        "cat *",
        "date -s 12:00",
        "printf -v PATH x",
        "printf '%n' PATH",
        "printf '%d' 'a[$(rm x)]'",
        "test -v 'a[$(rm x)]'",
        "[ 1 -eq 'a[$(rm x)]' ]",
        // The look-up of programs.
        "PATH=/w/src:$PATH ls",
        "PATH=.; ls",
        "export PATH=.; ls",
        "hash -p ./x ls; ls",
        "alias ls='rm x'; ls",
        "ls() { rm x; }; ls",
        "BASH_ENV=x ls",
        "LD_PRELOAD=./x.so ls",
        "./src/ls",
        "src/ls",
        "/w/src/ls",
        "$CMD",
        "'ls'",
        "l*",
        "enable -f ./x.so x",
        "command ls",
        "exec ls",
        "env ls",
        // What a shell expands or runs.
        "echo $(ls)",
        "echo `ls`",
        "echo \"$(ls)\"",
        "echo ${x@P}",
        "echo $x",
        "echo \"$x\"",
        "echo $((x))",
        "echo <(ls)",
        "cat <<E\nx\nE",
        "trap 'ls' EXIT",
        "trap \"$(cat f)\" EXIT",
        "eval ls",
        "source a",
        ". a",
        "bash -c ls",
        "ls &",
        "ls; rm a",
        "ls # rm a",
        "if true; then ls; fi",
        "for f in *.md; do wc -l $f; done",
        "[[ -f x ]]",
        "((x))",
        "! ls",
        "(ls)",
        "{ ls; }",
        "ls *(e:x:)",
        "ls \\\n-l",
        "ls\u{a0}-l",
        "echo 'a\\'",
        "echo \"a",
        "kill 1",
        "sleep 5",
        "wait",
        // Files.
        "ls > a",
        "ls > /dev/null/../a",
        "ls > /dev/nullx",
        "ls 2>&1 > a",
        "echo x >& a",
        "cat < a",
        "ls 2>/dev/null>a",
        "mkdir a",
        "invar list",
        &format!("echo {}", "a ".repeat(5000)),
    ] {
        assert!(!reading(line).only_reads(), "{line}");
    }
}

#[test]
fn a_program_of_the_project_hides_the_systems_one() {
    let proven = |file: &'static str, line: &str| {
        let disk = Files([file].into());
        let at = Surroundings {
            cwd: Path::new("/w/src"),
            root: Path::new("/w"),
            home: None,
            scratch: Path::new("/tmp"),
            disk: &disk,
        };
        read(line, at).only_reads()
    };
    assert!(proven("/w/src/a.rs", "ls"));
    assert!(proven("/bin/ls", "ls"), "the system's own");
    for file in [
        "/w/src/ls",
        "/w/ls",
        "/w/bin/ls",
        "/w/node_modules/.bin/ls",
        "/w/.venv/bin/ls",
    ] {
        assert!(!proven(file, "ls"), "{file}");
        assert!(!proven(file, "cat a; ls"), "{file}");
    }
    assert!(!proven("/w/src/deep/ls", "cd deep && ls"));
    assert!(!proven("/w/src/a.rs", "cd ~ && ls"), "no home is known");
}

#[test]
fn no_program_text_is_proven() {
    let disk = Files(FILES.into_iter().collect());
    let at = Surroundings {
        cwd: Path::new("/w"),
        root: Path::new("/w"),
        home: None,
        scratch: Path::new("/tmp"),
        disk: &disk,
    };
    for language in ["python", "node", "program"] {
        assert!(!read_program(language, "1", at).only_reads(), "{language}");
    }
}
