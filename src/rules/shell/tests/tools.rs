//! Tools, programs in other languages, links and containers.

use super::*;

#[test]
fn what_is_mounted_into_a_container_changes_here() {
    check(&[
        (
            "docker run --rm -v $PWD:/app img sh -c 'echo > /app/tests/t.py'",
            &["+tests/t.py"],
        ),
        (
            "docker run -v \"$(pwd)\":/app -w /app img rm -rf tests",
            &["-tests"],
        ),
        (
            "docker run -v $PWD:/app -w /app img sh -c 'rm src/*'",
            &["-src/a.rs", "-src/b.rs"],
        ),
        (
            "podman run -v .:/app:Z img sed -i s/a/b/ /app/README.md",
            &["+README.md"],
        ),
        (
            "docker container run -it --name x --mount type=bind,source=/w/src,target=/s img touch /s/n",
            &["+src/n"],
        ),
        (
            "docker run -v /w:/app --entrypoint /bin/sh img -c '> /app/a'",
            &["+a"],
        ),
        (
            "sudo docker -H unix:///x run -v/w:/app img sh -c '> /app/a'",
            &["+a"],
        ),
        ("docker run -v /w:/app img rm -rf /", &["*"]),
        (
            "docker run -v /w:/app img sh -c '> tests/t.py'",
            &["?…/tests/t.py"],
        ),
        (
            "docker run -v /w:/app img sh -c 'x=$(date); > /app/$x.log'",
            &["?….log"],
        ),
        // What lies only in the container, or cannot be written from it.
        (
            "docker run -v /w:/app img sh -c '> /tmp/a; rm -rf /var'",
            &[],
        ),
        ("docker run -v /w:/app:ro img sh -c '> /app/a'", &[]),
        (
            "docker run --mount type=bind,src=/w,dst=/app,readonly img touch /app/a",
            &[],
        ),
        (
            "docker run -v /w:/app -v cache:/app/target img touch /app/target/a",
            &[],
        ),
        ("docker run -v cache:/cache img touch /cache/a", &[]),
        ("docker run img sh -c '> /w/a'", &[]),
        ("docker run -v /w:/app img cat /app/README.md", &[]),
        (
            "docker cp box:/out/n.txt src",
            &["*src/n.txt", "+src/n.txt"],
        ),
        ("docker cp src box:/in", &[]),
        ("docker cp box:/in -", &[]),
        ("chroot . sh -c '> /tests/t.py'", &["+tests/t.py"]),
        ("chroot --userspec=a:b /w/src touch n", &["+src/n"]),
        ("bwrap --bind / / sh -c '> tests/t.py'", &["+tests/t.py"]),
        (
            "bwrap --ro-bind / / --bind /w/src /w/src --dev /dev --unshare-all -- touch README.md src/n",
            &["+src/n"],
        ),
        ("bwrap --dev-bind /w /x --chdir /x touch n", &["+n"]),
    ]);
    for line in [
        "docker",
        "docker run",
        "docker run -v",
        "docker cp",
        "docker run -v :: img x",
        "docker run -v /w:/app img",
        "chroot",
        "bwrap --bind",
        "bwrap --",
        "docker ps",
    ] {
        assert_eq!(changes(line), [""; 0], "{line}");
    }
    let unresolved =
        reading("docker run -v /w:/app img python -c 'open(p, \"w\"); x(\"/app/tests/t.py\")'");
    assert!(!unresolved.unresolved.is_empty());
    assert!(
        unresolved
            .mentions
            .iter()
            .any(|m| m.path == Path::new("/w/tests/t.py"))
    );
}

#[test]
fn modes_that_look_like_options_are_modes() {
    check(&[
        ("chmod -x a", &["+a"]),
        ("chmod -rwx,g+s a b", &["+a", "+b"]),
        ("chmod -R -w src", &["*src", "+src"]),
        ("chmod -v 644 a", &["+a"]),
        ("chmod --reference=b a", &["+a"]),
        ("chattr -i a", &["+a"]),
        ("chattr +i a", &["+a"]),
        ("chown -R me a", &["*a", "+a"]),
        ("setfacl -m u:x:r a", &["+a"]),
        ("mount --bind src tests", &["*tests"]),
        ("mount -t tmpfs none tests", &["*tests"]),
        ("mount", &[]),
        ("socat - OPEN:a,creat", &["+a"]),
        ("socat TCP:h:1 SYSTEM:'echo > a'", &["+a"]),
        ("sqlite3 x.db 'delete from a'", &["+x.db"]),
        ("sqlite3 x.db 'select 1; drop table a'", &["+x.db"]),
        ("sqlite3 -header -separator , x.db < a", &["+x.db"]),
        (
            "sqlite3 x.db 'select 1'; sqlite3 -json x.db .tables; magick identify a",
            &[],
        ),
    ]);
    for (line, clear) in [
        ("sqlite3 x.db '.output tests/t.py'", false),
        ("sqlite3 x.db <<< '.once tests/t.py'", false),
        ("sqlite3 -readonly x.db '.once tests/t.py'", false),
        ("sqlite3 -cmd '.once tests/t.py' x.db 'select 1'", false),
        ("sqlite3 x.db \"vacuum into 'tests/t.py'\"", false),
        (
            "sqlite3 x.db \"select * from f where p = 'tests/t.py'\"",
            true,
        ),
    ] {
        assert_eq!(reading(line).unresolved.is_empty(), clear, "{line}");
    }
}

#[test]
fn a_link_of_the_same_line_is_followed() {
    check(&[
        (
            "ln -s tests t && rm t/t.py",
            &["*t", "+t", "-t/t.py", "-tests/t.py"],
        ),
        (
            "ln -s tests t; cd t; echo > t.py",
            &["*t", "+t", "+t.py", "+t/t.py", "+tests/t.py"],
        ),
        (
            "ln -s ../tests src/l && > src/l/t.py",
            &["+src/l", "+src/l/t.py", "+tests/t.py"],
        ),
        (
            "ln -s $PWD/tests /tmp/l; rm -r /tmp/l/*",
            &["*/tmp/l", "*tests", "+/tmp/l", "?/tmp/l/…"],
        ),
        ("ln tests/t.py x && echo > x", &["+tests/t.py", "+x"]),
        ("cp -l tests/t.py x && echo > x", &["+tests/t.py", "+x"]),
        (
            "ln -s tests a; ln -s a b; > b/t.py",
            &["*a", "+a", "+a/t.py", "+b", "+b/t.py", "+tests/t.py"],
        ),
        ("install -s a b && echo > b", &["+b"]),
        // The link goes, not what it leads to.
        ("ln -s tests/t.py x; rm x", &["+x", "-x"]),
        ("ln -s tests t; cat t/t.py", &["*t", "+t"]),
    ]);
}

#[test]
fn what_is_found_from_a_dotted_folder_is_placed() {
    check(&[
        ("find . -name t.py -exec rm {} \\;", &["?/w…/t.py"]),
        ("find src/.. -name t.py -delete", &["?/w…/t.py"]),
        ("find . -name t.py | xargs rm", &["?/w…/t.py"]),
        ("rm $(find ./tests -name t.py)", &["?./tests…/t.py"]),
        ("find . -iname T.py -delete", &["?/w…"]),
        ("git grep -l x | xargs sed -i s/a/b/", &["?./…"]),
    ]);
    for (line, there) in [
        ("find . -name t.py -delete", true),
        ("find src -name t.py -delete", false),
    ] {
        let reading = reading(line);
        let Some(Target::Partial { texts, .. }) = reading.found.first().map(|f| &f.target) else {
            panic!("{line}: {:?}", reading.found);
        };
        assert_eq!(
            "/w/tests/t.py".starts_with(texts[0].as_str()),
            there,
            "{line}"
        );
    }
}

#[test]
fn other_tools_that_rewrite_are_known() {
    check(&[
        ("hg revert --all", &["*"]),
        ("hg -R . update", &["*"]),
        ("svn up", &["*"]),
        ("jj restore", &["*"]),
        ("hg status; svn log; jj diff", &[]),
        ("git bisect run sh -c 'rm a'", &["-a"]),
        ("git submodule foreach --recursive 'rm a'", &["-a"]),
        ("git config alias.x '!rm a'", &["+.git/config", "-a"]),
        ("autoflake -i a", &["+a"]),
        ("2to3 -w a; 2to3 b", &["+a"]),
        ("rpl x y a", &["+a"]),
        ("python -m tarfile -e a.tar src", &["*src"]),
        ("python -m zipfile -l a.zip", &[]),
        (
            "python3 -c \"import shutil; shutil.rmtree('tests')\"",
            &["-tests"],
        ),
        ("aria2c -d src -o a http://x/b", &["+src/a"]),
        ("aria2c http://x/b", &["+b"]),
        ("http --output a x.org", &["+a"]),
        ("sftp h:x a", &["+a"]),
        ("sftp h", &[]),
        ("ssh localhost 'rm /w/a'", &["-a"]),
        ("ssh me@host 'rm /w/a'", &[]),
    ]);
    for line in [
        "eval $(echo cm0= | base64 -d)",
        "sh -c \"$(base64 -d x)\"",
        "$(echo cm0= | base64 -d) a",
        "x=$(base64 -d y); eval \"$x\"",
        "echo \"$(base64 -d x)\" | sh",
        "python -c \"$(base64 -d x)\"",
    ] {
        assert!(reading(line).unresolved.iter().any(|u| u.hidden), "{line}");
    }
    for line in [
        "x=$(base64 -d y); curl -H \"$x\" h.org",
        "x=$(base64 -d y); $PYTHON a.py",
        "base64 -d y > /tmp/z",
    ] {
        assert!(!reading(line).unresolved.iter().any(|u| u.hidden), "{line}");
    }
}

#[test]
fn texts_for_editors_and_programs_are_read() {
    check(&[
        ("vim -c 'w! a' -c q README.md", &["+README.md", "+a"]),
        ("vim -es +'e a' +d +wq", &["+a"]),
        ("ex -c '%d|w >> a|q' b", &["+a", "+b"]),
        ("vi -c ':!rm a' b", &["+b", "-a"]),
        ("vi -c 'w !tee a' b", &["+a", "+b"]),
        ("vim +12 b", &["+b"]),
        (
            "zip -qm x.zip a b; zip y.zip c",
            &["+x.zip", "+y.zip", "-a", "-b"],
        ),
        ("npx -y rimraf src; npx shx rm a", &["-a", "-src"]),
        ("strace -o a ls; /usr/bin/time -o b ls", &["+a", "+b"]),
        ("ffmpeg -i a b; strip c", &["+b", "+c"]),
        ("IFS=,; x=rm,a; $x", &["-a"]),
        ("IFS=:; for d in $x; do ls; done", &[]),
    ]);
    for line in [
        "python3 -c \"import glob; [open(f, 'w') for f in glob.glob('tests/t*.py')]\"",
        "python3 -c \"import os; os.chdir('tests'); f = 't.py'; open(f, 'w')\"",
        "tclsh <<< 'file delete \"tests/t.py\"'",
        "groovy -e 'new File(\"tests/t.py\").text = 1'",
        "elixir -e 'File.rm(\"tests/t.py\")'",
        "emacs --batch --eval '(delete-file \"tests/t.py\")'",
    ] {
        let reading = reading(line);
        let named = |path: &Path| crate::path::clean(path) == Path::new("/w/tests/t.py");
        assert!(reading.mentions.iter().any(|m| named(&m.path)), "{line}");
        assert!(!reading.unresolved.is_empty(), "{line}");
    }
}

#[test]
fn powershell_that_writes_names_what_it_may_change() {
    for line in [
        "pwsh -c 'Set-Content tests/t.py x'",
        "pwsh -NoProfile -Command \"'x' > tests/t.py\"",
        "powershell.exe -c 'del tests\\t.py'",
        "powershell -Command \"Get-Date | Out-File ./tests/t.py\"",
        "pwsh -co Set-Content tests/t.py x",
        "powershell 'Remove-Item tests/t.py'",
        "echo 'Remove-Item tests/t.py' | pwsh -Command -",
        "pwsh <<< 'Remove-Item tests/t.py'",
    ] {
        let reading = reading(line);
        assert!(!reading.unresolved.is_empty(), "{line}");
        let named = |m: &Mention| crate::path::clean(&m.path) == Path::new("/w/tests/t.py");
        assert!(reading.mentions.iter().any(named), "{line}");
    }
    for line in [
        "pwsh -c 'Get-Content tests/t.py'",
        "pwsh -File tests/t.py",
        "pwsh -Version",
        "pwsh -c 'Get-Content tests/t.py 2>&1 | Select-String x 2>$null'",
    ] {
        assert!(reading(line).unresolved.is_empty(), "{line}");
    }
    assert!(
        reading("pwsh -enc UgBlAG0A")
            .unresolved
            .iter()
            .any(|u| u.hidden)
    );
}

#[test]
fn what_takes_its_orders_from_later_input_is_seen() {
    for line in [
        "bash",
        "sh -i",
        "/bin/zsh",
        "exec bash",
        "env FOO=1 bash",
        "cd x && bash -l",
        "python3",
        "python3 -i",
        "node",
        "irb",
        "psql db",
        "sqlite3 app.db",
        "ssh host",
        "vim a.py",
        "less a.py",
        "tmux new",
        "sudo -i",
        "xargs rm",
        "cat | sh",
        "nohup bash &",
        "read line; echo $line",
        "git commit",
        "docker run -it -v .:/w alpine sh",
        "su",
        "gdb ./a",
        "(bash)",
        "if true; then bash; fi",
    ] {
        assert!(!reading(line).waits.is_empty(), "{line}");
    }
    for line in [
        "bash -c 'ls'",
        "bash script.sh",
        "echo ls | bash",
        "bash <<< ls",
        "bash < x.sh",
        "python3 x.py",
        "python3 -c 'print(1)'",
        "python3 -m pytest",
        "python3 --version",
        "node -e '1'",
        "cargo test",
        "psql -c 'select 1'",
        "sqlite3 app.db 'select 1'",
        "ssh host ls",
        "ls | xargs rm",
        "git commit -m x",
        "git commit -am x",
        "git log | less",
        "echo y | vim -es a",
        "while read l; do echo $l; done < a",
        "bash --version",
        "vim --version",
    ] {
        let waits = reading(line).waits;
        assert!(waits.is_empty(), "{line}: {waits:?}");
    }
}

#[test]
fn what_records_or_hands_over_the_work_is_seen() {
    for (line, applies) in [
        ("git commit -m x", true),
        ("git add . && git push origin main", true),
        ("hg commit -m x", true),
        ("jj git push", true),
        ("git push --dry-run", false),
        ("git status", false),
        ("git log --grep commit", false),
    ] {
        assert_eq!(reading(line).applies, applies, "{line}");
    }
}
