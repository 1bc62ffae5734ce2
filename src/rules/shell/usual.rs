//! Lines that usually only look: they say nothing about what a line may do, and are no reason to
//! look after it less. They keep a plan from counting as executing because its agent has run `git
//! status`.

/// Commands that look, and those of their arguments that make them do more.
const LOOKS: &[(&str, &[&str])] = &[
    ("ag", &[]),
    ("awk", &["-i"]),
    ("basename", &[]),
    ("cal", &[]),
    ("cat", &[]),
    ("cd", &[]),
    ("cloc", &[]),
    ("cmp", &[]),
    ("column", &[]),
    ("command", &[]),
    ("comm", &[]),
    ("cut", &[]),
    ("date", &["-s"]),
    ("df", &[]),
    ("diff", &[]),
    ("dirname", &[]),
    ("du", &[]),
    ("echo", &[]),
    ("egrep", &[]),
    ("env", &[]),
    ("false", &[]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("fgrep", &[]),
    ("file", &[]),
    (
        "find",
        &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fls",
        ],
    ),
    ("free", &[]),
    ("gh", &[]),
    ("grep", &[]),
    ("head", &[]),
    ("hexdump", &[]),
    ("id", &[]),
    ("jq", &[]),
    ("less", &[]),
    ("ls", &[]),
    ("man", &[]),
    ("nl", &[]),
    ("od", &[]),
    ("pgrep", &[]),
    ("printenv", &[]),
    ("printf", &[]),
    ("ps", &[]),
    ("pwd", &[]),
    ("readlink", &[]),
    ("realpath", &[]),
    ("rg", &[]),
    ("sed", &["-i", "--in-place"]),
    ("sleep", &[]),
    ("sort", &["-o"]),
    ("stat", &[]),
    ("tail", &[]),
    ("test", &[]),
    ("tokei", &[]),
    ("tr", &[]),
    ("tree", &["-o"]),
    ("true", &[]),
    ("type", &[]),
    ("uname", &[]),
    ("uniq", &[]),
    ("wc", &[]),
    ("which", &[]),
    ("whoami", &[]),
    ("xxd", &["-r"]),
    ("yq", &["-i"]),
    ("[", &[]),
];

/// Parts of git that look.
const GIT: &[&str] = &[
    "blame",
    "cat-file",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "reflog",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "whatchanged",
];

/// Whether each command of a line is one that people run to look at something. Told by its words
/// alone; a line that was read to change something is not asked about.
pub(super) fn looks(line: &str) -> bool {
    let mut parts = line.split(['|', ';', '&', '\n']).map(str::trim);
    parts.all(|part| part.is_empty() || part_looks(part)) && !line.contains('>')
}

fn part_looks(part: &str) -> bool {
    let mut words = part.split_whitespace();
    let Some(command) = words.next() else {
        return true;
    };
    if command == "git" {
        // `git -C dir`, `git --no-pager`: options before the part of git.
        let mut words = words.skip_while(|w| w.starts_with('-')).peekable();
        return words.peek().is_some_and(|part| GIT.contains(part));
    }
    let known = LOOKS.iter().find(|(name, _)| *name == command);
    known.is_some_and(|(_, more)| !words.any(|w| more.iter().any(|m| w.starts_with(m))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_run_to_look_around_looks_and_the_rest_does_not() {
        for line in [
            "git status",
            "git --no-pager log --oneline | head -5",
            "rg -n 'fn main' src && wc -l src/main.rs",
            "cd src && ls; cat a.rs",
            "find . -name '*.rs' | sort | uniq -c",
        ] {
            assert!(looks(line), "{line}");
        }
        for line in [
            "git commit -m x",
            "git status > a",
            "sed -i s/a/b/ f",
            "find . -delete",
            "make",
            "ls && ./run.sh",
            "python3 -c 'print(1)'",
        ] {
            assert!(!looks(line), "{line}");
        }
    }
}
