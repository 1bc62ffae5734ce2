//! States of the shell after branches, failures and traps.

use super::*;

#[test]
fn what_follows_a_failure_is_read_where_the_shell_is_then() {
    check(&[
        ("shopt -q globstar || rm a", &["-a"]),
        ("declare -F x || rm a", &["-a"]),
        ("set -o x || rm a", &["-a"]),
        ("export X=1 || rm a", &["-a"]),
        ("X=$(false) || rm a", &["-a"]),
        ("F=a$(false) || rm $F", &["?a…"]),
        ("cd src & rm a", &["-a"]),
        ("true || rm a", &["-a"]),
        (": || rm a", &["-a"]),
        ("cd src || rm a", &["-a"]),
        ("! cd src && rm a", &["-a"]),
        ("cd src && rm b || rm a", &["-a", "-src/a", "-src/b"]),
        ("if cd src; then rm a; else rm b; fi", &["-b", "-src/a"]),
        ("until cd src; do rm a; done", &["-a"]),
        ("cd src || cd tests; rm a", &["-src/a", "-tests/a"]),
        // What is done about an unlikely failure does not count for what comes later.
        ("cd src || exit 1; rm a", &["-src/a"]),
        ("cd src || { echo no; exit 1; }; rm a", &["-src/a"]),
        ("cd src || true; rm a", &["-src/a"]),
        // These do fail.
        ("cd src x; rm a", &["-a", "-src/a"]),
        ("cd src > /nope/x; rm a", &["+/nope/x", "-a", "-src/a"]),
        ("enable -n cd; cd src; rm a", &["-a", "-src/a"]),
        ("cd() { :; }; cd src; rm a", &["-a"]),
        ("f() { rm a; }; readonly -f f; f() { :; }; f", &["-a"]),
        ("f() { cd src; false; }; f || rm a", &["-a", "-src/a"]),
    ]);
}

#[test]
fn a_read_only_variable_may_keep_its_value() {
    for line in [
        "readonly F=tests/t.py; export F=a; rm \"$F\"",
        "declare -r F=tests/t.py; read F <<< a; rm \"$F\"",
        "F=tests/t.py; readonly F; for F in a; do :; done; rm \"$F\"",
    ] {
        let reading = reading(line);
        assert!(!reading.unresolved.is_empty(), "{line}");
        let named = |m: &Mention| m.path == Path::new("/w/tests/t.py");
        assert!(reading.mentions.iter().any(named), "{line}: {reading:?}");
    }
    check(&[("readonly F=a; rm $F", &["-a"])]);
}

#[test]
fn branches_with_other_bodies_are_other_states() {
    check(&[
        (
            "if make -q; then f(){ echo;}; else f(){ rm tests/t.py;}; fi; f",
            &["-tests/t.py"],
        ),
        (
            "if make -q; then f(){ rm tests/t.py;}; else f(){ echo;}; fi; f",
            &["-tests/t.py"],
        ),
        (
            "if make -q; then alias f=echo; else alias f='rm a'; fi\nf",
            &["-a"],
        ),
        (
            "make -q && f() { rm a; } || f() { rm b; }; f",
            &["-a", "-b"],
        ),
        (
            "case $X in a) f() { rm a; };; b) f() { rm b; };; esac; f",
            &["-a", "-b"],
        ),
        // Too many states to follow one by one: any of the bodies may run, or the program.
        (
            "for x in 1 2 3 4 5 6 7 8 9; do make -q && cd d$x; done; make -q && f() { rm /a; }; make -q && f() { rm /b; }; f",
            &["-/a", "-/b"],
        ),
        (
            "touch() { :; }; case $X in 1) a=1;; 2) a=2;; 3) a=3;; 4) a=4;; 5) a=5;; 6) a=6;; 7) a=7;; 8) a=8;; 9) unset -f touch;; esac; touch a",
            &["+a"],
        ),
        (
            "a=x; case $X in 1) a=1;; 2) a=2;; 3) a=3;; 4) a=4;; 5) a=5;; 6) a=6;; 7) a=7;; 8) a=8;; 9) F=y;; esac; rm t$F",
            &["-ty", "?t…"],
        ),
    ]);
}

#[test]
fn a_function_does_not_hide_a_program() {
    check(&[
        ("rm() { :; }; command rm a", &["-a"]),
        ("rm() { :; }; env rm a", &["-a"]),
        ("rm() { :; }; /bin/rm a", &["-a"]),
        ("rm() { :; }; echo a | xargs rm", &["-a"]),
        ("rm() { :; }; find src -exec rm {} +", &["?src/…"]),
        ("rm() { :; }; rm a", &[]),
        ("rm() { command rm \"$1\"; }; rm a", &["-a"]),
    ]);
}

#[test]
fn traps_run_where_the_shell_is_then() {
    check(&[
        ("trap 'rm a' EXIT; cd tests", &["-a", "-tests/a"]),
        (
            "trap 'rm a' EXIT; cd tests; cd ../src",
            &["-a", "-src/a", "-tests/a"],
        ),
        ("trap 'rm a' ERR; (cd tests; false)", &["-a", "-tests/a"]),
        ("trap 'rm \"$f\"' EXIT; f=a", &["-a"]),
        ("trap end EXIT; end() { rm a; }", &["-a"]),
        ("trap -- 'rm a' 0", &["-a"]),
        ("f() { trap 'rm a' EXIT; }; f; cd src", &["-a", "-src/a"]),
        (
            "make -q && trap 'rm a' EXIT || trap 'rm b' EXIT; cd src",
            &["-a", "-b", "-src/a", "-src/b"],
        ),
        ("for f in a b; do trap 'rm $f' DEBUG; done", &["-a", "-b"]),
        ("bash -c \"trap 'rm a' EXIT; cd src\"", &["-a", "-src/a"]),
        ("trap \"rm $X/a\" EXIT", &["?…/a"]),
        // Gone again, or not taken over by the inner shell.
        ("trap 'rm a' EXIT; trap - EXIT; cd src", &["-a"]),
        ("trap 'rm a' EXIT; (cd src && ls)", &["-a"]),
        ("trap 'rm -rf \"$d\"' EXIT; d=/tmp/x; cd src", &["-/tmp/x"]),
        ("trap -p; trap -l; trap '' INT; trap EXIT", &[]),
    ]);
    let hidden = reading("trap \"$(echo cm0= | base64 -d)\" EXIT");
    assert!(hidden.unresolved.iter().any(|u| u.hidden), "{hidden:?}");
    let unknown = reading("trap \"$(cat tests/t.py)\" EXIT");
    assert!(!unknown.unresolved.is_empty(), "{unknown:?}");
}
