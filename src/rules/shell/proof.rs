//! What is proven to change nothing: a short allow-list, held against the text itself.
//!
//! The line is split here by the few signs that all shells read alike, not by the grammar's
//! tree, so that no misreading elsewhere makes a line look harmless. Whatever is not listed ends
//! the proof: git runs configured programs, `rg` and `less` take options from the environment,
//! and a program text can always write. All that a missing entry costs is a look at the tree.

use std::path::{Path, PathBuf};

use super::Surroundings;

/// The longest line that is proven.
const MAX_LINE: usize = 4_096;

/// In how many directories a line may come to stand.
const MAX_PLACES: usize = 8;

/// Redirections that reach no file.
const REDIRECTIONS: [&str; 12] = [
    "2>&1",
    "1>&2",
    ">&2",
    "2>/dev/null",
    "2> /dev/null",
    "1>/dev/null",
    ">/dev/null",
    "> /dev/null",
    "&>/dev/null",
    "&> /dev/null",
    "</dev/null",
    "< /dev/null",
];

/// Programs that can neither write nor run anything with these options: the letters, then the
/// long names.
const PROGRAMS: [(&str, &str, &[&str]); 31] = [
    (
        "ls",
        "1aAbBcCdFgGhHiklLmnNopqQrRsStuUvxXZ",
        &["all", "almost-all", "color", "human-readable", "recursive"],
    ),
    ("cat", "AbeEnstTuv", &["number", "show-all"]),
    ("head", "cnqvz0123456789", &["lines", "bytes", "quiet"]),
    ("tail", "cnqvz0123456789", &["lines", "bytes", "quiet"]),
    ("wc", "clLmw", &["lines", "words", "bytes", "chars"]),
    ("stat", "cfLtx", &["format", "terse"]),
    ("grep", GREP, GREP_LONG),
    ("egrep", GREP, GREP_LONG),
    ("fgrep", GREP, GREP_LONG),
    ("cut", "bcdfs", &["delimiter", "fields", "characters"]),
    ("tr", "cCdst", &["delete", "squeeze-repeats", "complement"]),
    ("nl", "abnsvw", &[]),
    ("du", "abchHkLmsSxd0123456789", &["max-depth", "summarize"]),
    ("df", "ahHiklmPT", &["human-readable"]),
    ("basename", "as", &["suffix"]),
    ("dirname", "", &[]),
    ("realpath", "emLPqs", &["relative-to"]),
    ("readlink", "efmnqsv", &["canonicalize"]),
    ("cmp", "bilns", &["silent", "quiet"]),
    ("comm", "123", &[]),
    ("md5sum", "bt", &[]),
    ("sha1sum", "bt", &[]),
    ("sha256sum", "bt", &[]),
    ("sha512sum", "bt", &[]),
    ("whoami", "", &[]),
    ("id", "agGnru", &[]),
    ("uname", "aimnoprsv", &[]),
    ("date", "uIR", &[]),
    ("which", "a", &[]),
    ("find", "", &[]),
    ("sed", "", &[]),
];

const GREP: &str = "abcEeFGHhiLlmnoPqRrsvwxABC0123456789";

const GREP_LONG: &[&str] = &[
    "include",
    "exclude",
    "exclude-dir",
    "color",
    "ignore-case",
    "recursive",
    "line-number",
    "files-with-matches",
    "count",
    "only-matching",
    "fixed-strings",
    "extended-regexp",
];

/// Tests of `find` that look and do nothing more.
const FIND: [&str; 20] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-type",
    "-size",
    "-empty",
    "-newer",
    "-mtime",
    "-mmin",
    "-maxdepth",
    "-mindepth",
    "-not",
    "-a",
    "-o",
    "-prune",
    "-print",
    "-print0",
];

/// Tests of `test` and `[` in which no shell evaluates an operand.
const TESTS: [&str; 15] = [
    "-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L", "-h", "-n", "-z", "-nt", "-ot", "-ef", "-p",
];

/// Folders of a project that people put on the search path of programs.
const SEARCHED: [&str; 8] = [
    "",
    "bin",
    "scripts",
    "tools",
    "node_modules/.bin",
    ".venv/bin",
    "venv/bin",
    ".direnv/bin",
];

/// Where the system's own programs lie.
const SYSTEM: [&str; 4] = ["/bin", "/usr/bin", "/usr/local/bin", "/usr/local/scripts"];

/// Whether the line is proven to run nothing that could change a file.
pub(super) fn only_reads(line: &str, at: Surroundings<'_>) -> bool {
    let Some(commands) = commands(line) else {
        return false;
    };
    let mut places = vec![at.cwd.to_owned(), at.root.to_owned()];
    commands.iter().all(|words| {
        words
            .split_first()
            .is_some_and(|(name, args)| harmless(name, args, at, &mut places))
    })
}

/// One word of the line, its quotes taken away.
#[derive(Default)]
struct Word {
    text: String,
    /// Some of it stood in quotes.
    quoted: bool,
    /// It may become the names of files.
    pattern: bool,
}

/// The commands of a line that is written with words, quotes and separators alone; `None` for
/// any sign that a shell could take for more.
fn commands(line: &str) -> Option<Vec<Vec<Word>>> {
    if line.len() > MAX_LINE {
        return None;
    }
    let mut commands = Vec::new();
    let mut words: Vec<Word> = Vec::new();
    let mut word: Option<Word> = None;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if word.is_none()
            && let Some(more) = redirection(rest)
        {
            rest = more;
            continue;
        }
        let separator = ["&&", "||", ";", "|", "\n"]
            .iter()
            .find(|sign| rest.starts_with(**sign));
        if let Some(sign) = separator {
            words.extend(word.take());
            let ended = std::mem::take(&mut words);
            match (ended.is_empty(), *sign) {
                (false, _) => commands.push(ended),
                (true, "\n") => {}
                (true, _) => return None,
            }
            rest = &rest[sign.len()..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let (inner, more) = rest.split_once('\'')?;
                // One shell lets a backslash hide the quote.
                if inner.ends_with('\\') || inner.contains("\\\\") || inner.contains('\0') {
                    return None;
                }
                let word = word.get_or_insert_default();
                word.quoted = true;
                word.text.push_str(inner);
                rest = more;
            }
            '"' => {
                let word = word.get_or_insert_default();
                word.quoted = true;
                rest = double_quoted(rest, &mut word.text)?;
            }
            '~' if word.is_none() && (rest.is_empty() || rest.starts_with([' ', '/'])) => {
                word.get_or_insert_default().text.push(c);
            }
            '*' | '?' => {
                let word = word.get_or_insert_default();
                word.pattern = true;
                word.text.push(c);
            }
            '[' | ']' if word.is_none() && (rest.is_empty() || rest.starts_with(BLANK_OR_END)) => {
                word.get_or_insert_default().text.push(c);
            }
            c if c.is_ascii_alphanumeric() || "_./,:=@%+-".contains(c) => {
                word.get_or_insert_default().text.push(c);
            }
            _ => return None,
        }
    }
    words.extend(word);
    commands.extend((!words.is_empty()).then_some(words));
    Some(commands)
}

const BLANK_OR_END: [char; 6] = [' ', '\t', '\n', ';', '|', '&'];

/// What follows a redirection that reaches no file.
fn redirection(rest: &str) -> Option<&str> {
    let more = REDIRECTIONS
        .iter()
        .find_map(|text| rest.strip_prefix(text))?;
    (more.is_empty() || more.starts_with(BLANK_OR_END)).then_some(more)
}

/// Takes what stands in double quotes; what follows them is returned.
fn double_quoted<'a>(mut rest: &'a str, out: &mut String) -> Option<&'a str> {
    loop {
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => return Some(rest),
            '$' | '`' | '!' | '\0' => return None,
            '\\' => {
                let next = rest.chars().next()?;
                rest = &rest[next.len_utf8()..];
                out.push('\\');
                out.push(next);
            }
            c => out.push(c),
        }
    }
}

fn harmless(name: &Word, args: &[Word], at: Surroundings<'_>, places: &mut Vec<PathBuf>) -> bool {
    if name.quoted || name.pattern {
        return false;
    }
    let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
    match name.text.as_str() {
        ":" | "true" | "false" | "pwd" | "echo" => true,
        "cd" => enter(args, at, places),
        "printf" => texts.first().is_some_and(|format| prints(format)),
        "test" => tests(&texts),
        "[" => texts
            .split_last()
            .is_some_and(|(end, texts)| *end == "]" && tests(texts)),
        "command" => matches!(texts.as_slice(), ["-v" | "-V", name] if !name.starts_with('-')),
        "type" => texts.iter().all(|text| !text.starts_with('-')),
        program => {
            let name = ["/bin/", "/usr/bin/"]
                .iter()
                .find_map(|folder| program.strip_prefix(folder))
                .filter(|_| !at.root.starts_with("/bin") && !at.root.starts_with("/usr"));
            let plain = name.unwrap_or(program);
            // A pattern may become a file's name that is an option.
            let fixed = args
                .iter()
                .all(|word| !word.pattern || !word.text.starts_with(['*', '?', '-', '+']));
            fixed
                && PROGRAMS
                    .iter()
                    .find(|known| known.0 == plain)
                    .is_some_and(|known| reads(known, args))
                && (name.is_some() || !shadowed(plain, at, places))
        }
    }
}

/// Whether the program only reads when it is called so.
fn reads((name, letters, long): &(&str, &str, &[&str]), args: &[Word]) -> bool {
    let texts = || args.iter().map(|word| word.text.as_str());
    match *name {
        "find" => texts().all(|text| !text.starts_with('-') || FIND.contains(&text)),
        "sed" => prints_lines(args),
        // An operand without a sign sets the clock.
        "date" => texts().all(|text| {
            text.starts_with('+')
                || text
                    .strip_prefix('-')
                    .is_some_and(|t| t.chars().all(|c| letters.contains(c)))
        }),
        _ => texts().all(|text| match text.strip_prefix('-') {
            None | Some("" | "-") => true,
            Some(option) => match option.strip_prefix('-') {
                Some(option) => {
                    let option = option.split('=').next().unwrap_or(option);
                    long.contains(&option)
                }
                // What follows a letter with a value may be anything.
                None => option
                    .chars()
                    .all(|c| letters.contains(c) || c == ',' || c.is_ascii_digit()),
            },
        }),
    }
}

/// `sed -n` with nothing but line numbers and `p`, and files.
fn prints_lines(args: &[Word]) -> bool {
    let [quiet, script, files @ ..] = args else {
        return false;
    };
    let address = |text: &str| text == "$" || text.parse::<u32>().is_ok();
    let prints = |part: &str| {
        part.strip_suffix('p').is_some_and(|lines| {
            lines
                .split_once(',')
                .map_or(address(lines), |(from, to)| address(from) && address(to))
        })
    };
    quiet.text == "-n"
        && script.text.split(';').all(|part| prints(part.trim()))
        && files.iter().all(|file| !file.text.starts_with('-'))
}

/// Whether a format makes words of words: some shells evaluate what is printed as a number, and
/// `%n` sets a variable.
fn prints(format: &str) -> bool {
    let mut parts = format.split('%');
    let first = parts.next().unwrap_or_default();
    let mut percent = false;
    !first.starts_with('-')
        && parts.all(|part| {
            // The second sign of `%%`.
            if std::mem::take(&mut percent) {
                return true;
            }
            percent = part.is_empty();
            let kind =
                part.trim_start_matches(|c: char| c == '-' || c == '.' || c.is_ascii_digit());
            percent || kind.starts_with('s')
        })
        && !percent
}

/// Whether no operand of a test is evaluated.
fn tests(texts: &[&str]) -> bool {
    texts.iter().all(|text| match text.strip_prefix('-') {
        Some(_) => TESTS.contains(text),
        None => !text.contains(['$', '[', '`', '(']),
    })
}

/// Notes where the shell may stand after `cd`.
fn enter(args: &[Word], at: Surroundings<'_>, places: &mut Vec<PathBuf>) -> bool {
    let [dir] = args else { return false };
    if dir.pattern || dir.text.starts_with('-') || dir.text.is_empty() {
        return false;
    }
    let home = dir.text.strip_prefix('~').filter(|_| !dir.quoted);
    let more: Vec<PathBuf> = match (home, at.home) {
        (Some(rest), Some(home)) => vec![home.join(rest.trim_start_matches('/'))],
        (Some(_), None) => return false,
        (None, _) => places.iter().map(|place| place.join(&dir.text)).collect(),
    };
    places.extend(more);
    places.len() <= MAX_PLACES
}

/// Whether a program of the project may hide the system's one of this name.
fn shadowed(name: &str, at: Surroundings<'_>, places: &[PathBuf]) -> bool {
    let folders = places.iter().flat_map(|place| place.ancestors());
    let mut searched = folders
        .flat_map(|folder| SEARCHED.iter().map(move |below| folder.join(below)))
        .filter(|folder| !SYSTEM.iter().any(|system| folder == Path::new(system)));
    searched.any(|folder| at.disk.exists(&folder.join(name)))
}
