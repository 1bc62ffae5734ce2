//! What the name of a tool says about what it does. A name proves nothing: it decides only what is
//! denied beforehand, and every foreign tool is looked after whatever it is called.

/// What a foreign tool does with the paths that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verb {
    Read,
    Copy,
    /// Also where no word of the name is a verb that is known.
    Write,
    Move,
    Delete,
}

/// What is read out of a tool's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolName {
    pub verb: Verb,
    /// The name says outright that files or folders are changed (`delete_folder`), so that a
    /// plain word can be the name of one.
    pub of_files: bool,
    /// It is a verb and nothing else: `move`.
    pub is_bare: bool,
    /// It is about records of some service (`create_issue`), whose names are no paths.
    pub of_records: bool,
    /// Text that it gets is typed into a shell.
    pub types: bool,
    /// It runs program texts.
    pub runs_code: bool,
}

/// Verbs that change something wherever they stand in a name.
const WRITING: &str = "\
    write edit create update replace insert append prepend save overwrite modify apply \
    generate convert transform refactor install mkdir touch truncate store persist restore \
    revert rewrite upload unzip extract inject fix change make add download export";

/// Words that are verbs of writing at the beginning of an action or after an `and`, and else as
/// often nouns: `get_commit` reads, `get_and_set` does not.
const WRITING_AS_VERB: &str = "\
    set put post send push commit patch run exec execute format build sync merge checkout \
    reset dump record undo import";

const DELETING: &str = "delete remove drop erase wipe unlink trash rm rmdir purge clean destroy";

const MOVING: &str = "move rename mv relocate";

const COPYING: &str = "copy cp duplicate";

const READING: &str = "\
    read get list ls search find view glob grep fetch stat show query describe hover \
    validate verify explain check diagnose diagnostics lint diff compare status tree head \
    tail cat open load preview count info inspect analyze analyse lookup definition \
    definitions references symbols outline overview summarize summarise exists blame browse \
    review test tests typecheck";

/// What `run` before it does not change: `run_tests` is given what it looks at.
const LOOKED_AT: &str = "test tests check checks lint diagnostics";

const OF_FILES: &str = "file files folder folders dir directory path paths";

const OF_RECORDS: &str = "\
    entity entities relation relations observation observations issue issues comment \
    comments message messages ticket tickets event events email label labels branch release \
    reaction pull review memory memories";

const TYPES: &str = "terminal shell bash zsh console tmux pty tty stdin";

const RUNS_CODE: &str =
    "code cell execute exec eval evaluate python jupyter javascript typescript node repl";

impl ToolName {
    /// Reads a tool's full name. Where a mark separates the server's name from the action's
    /// (`server__read_file`), only the action counts. Without one it is not known which words are
    /// the action, and each verb of writing counts.
    pub fn of(tool: &str) -> Self {
        let marked = tool
            .rsplit_once("__")
            .or_else(|| tool.rsplit_once(':'))
            .or_else(|| tool.rsplit_once('/'));
        let action = words(marked.map_or(tool, |(_, action)| action));
        let whole = words(tool);
        let has = |words: &[String], list: &str| words.iter().any(|w| is_in(list, w));
        let known = verb(&action, marked.is_some());
        let of_files = has(&action, OF_FILES);
        Self {
            verb: known.unwrap_or(Verb::Write),
            of_files: of_files && known.is_some_and(|verb| verb > Verb::Read),
            is_bare: action.len() == 1 && known.is_some(),
            of_records: has(&action, OF_RECORDS) && !of_files,
            types: has(&whole, TYPES),
            runs_code: has(&whole, RUNS_CODE),
        }
    }
}

/// The gravest verb among the words; `None` when none of them is known.
fn verb(words: &[String], action: bool) -> Option<Verb> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let in_list = |list: &str, at: usize| is_in(list, word(at));
    let mut reads = false;
    let mut gravest = None;
    for at in 0..words.len() {
        let looks = in_list("run exec execute", at) && in_list(LOOKED_AT, at + 1);
        // After a verb of reading such a word is its object, unless something joins them.
        let joined = at > 0 && in_list("and or then", at - 1);
        let as_verb = !looks && (!action || !reads || joined);
        let to_file =
            word(at) == "to" && (in_list(OF_FILES, at + 1) || in_list("disk local", at + 1));
        let here = match () {
            () if in_list(DELETING, at) => Some(Verb::Delete),
            () if in_list(MOVING, at) => Some(Verb::Move),
            () if in_list(WRITING, at) || to_file => Some(Verb::Write),
            () if in_list(WRITING_AS_VERB, at) && as_verb => Some(Verb::Write),
            () if in_list(COPYING, at) => Some(Verb::Copy),
            // One logs a message, and looks at a log.
            () if in_list(READING, at) || word(at) == "log" && at > 0 => {
                reads = true;
                Some(Verb::Read)
            }
            () => None,
        };
        gravest = gravest.max(here);
    }
    gravest
}

/// Whether a word is in a list of words.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// The words of a name in camel, snake or kebab case, in lower case.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let humps = c.is_uppercase()
            && (before.is_lowercase()
                || before.is_ascii_digit()
                // The last capital of an abbreviation begins a word: `LSPHover`.
                || before.is_uppercase() && chars.peek().is_some_and(|next| next.is_lowercase()));
        if humps || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_however_they_are_spelled() {
        for (name, expected) in [
            ("getDiagnostics", vec!["get", "diagnostics"]),
            ("LSPHover", vec!["lsp", "hover"]),
            ("output_stream_read", vec!["output", "stream", "read"]),
            (
                "download-bytes-to-file",
                vec!["download", "bytes", "to", "file"],
            ),
            ("pathInProject", vec!["path", "in", "project"]),
        ] {
            assert_eq!(words(name), expected, "{name}");
        }
    }

    #[test]
    fn the_gravest_verb_counts() {
        for (verb, names) in [
            (
                Verb::Read,
                &[
                    "mcp__x__read_file",
                    "mcp__x__fs_read",
                    "mcp__x__file_read",
                    "mcp__x__readFile",
                    "mcp__x__directory_tree",
                    "mcp__x__output_stream_read",
                    "mcp__lf__listObservations",
                    "mcp__ide__getDiagnostics",
                    "mcp__x__hover",
                    "mcp__git__get_commit",
                    "mcp__git__git_log",
                    "mcp__x__run_tests",
                    "mcp__x__diff_files",
                    "mcp__x__open_file",
                    "ReadMcpResourceTool",
                    "@fs/read_file",
                    "MCP:list_notes",
                    "notes-get_note",
                    "mcp_notes_read_note",
                ][..],
            ),
            (
                Verb::Write,
                &[
                    "mcp__x__search_and_replace",
                    "mcp__x__get_or_create_file",
                    "mcp__x__fetch_to_file",
                    "mcp__x__get_and_set",
                    "mcp__x__read_write_file",
                    "mcp__x__run",
                    "mcp__x__log_message",
                    "mcp__get__overwrite",
                    "mcp__x__sequentialthinking",
                    "mcp_read_write_note",
                    "set_get_note",
                    "notes-write_note",
                    "MCP:write_note",
                    "get_write",
                    "mcp__x__",
                    "mcp__x__check_and_fix",
                ],
            ),
            (
                Verb::Delete,
                &[
                    "mcp__x__list_and_delete",
                    "mcp__x__removeFolder",
                    "mcp__x__rm",
                ],
            ),
            (
                Verb::Move,
                &["mcp__x__rename", "mcp__x__moveFile", "mcp__x__copy_or_move"],
            ),
            (Verb::Copy, &["mcp__x__copy_file"]),
        ] {
            for name in names {
                assert_eq!(ToolName::of(name).verb, verb, "{name}");
            }
        }
    }

    #[test]
    fn a_name_says_what_it_is_about() {
        assert!(ToolName::of("mcp__x__delete_folder").of_files);
        assert!(!ToolName::of("mcp__x__read_file").of_files);
        assert!(ToolName::of("mcp__memory__create_entities").of_records);
        assert!(!ToolName::of("mcp__x__create_message_file").of_records);
    }
}
