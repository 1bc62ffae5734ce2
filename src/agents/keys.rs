//! What the name of a field in a foreign tool's input says about its value.

use super::verbs::{is_in, words};

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// A path, whatever it looks like.
    Path,
    /// A path, unless it is prose.
    LikelyPath,
    /// Often a path and often something else: a path when it looks like one.
    MaybePath,
    /// The name of a file, in a folder that another field may name.
    FileName,
    /// A name of something, which may be a file.
    Name,
    /// A folder: where the fields beside it start, or what is meant itself.
    Folder,
    /// Where relative paths and commands start.
    Start,
    /// A command line of a shell.
    Command,
    /// Several command lines.
    Commands,
    /// A program text.
    Code,
    /// Text for people or files: paths and patches in it are no effects.
    Text,
    /// A name of something that is no file: a branch, a label, an address.
    Apart,
    /// Nobody knows.
    Anything,
}

/// Which end of a move or a copy a field names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    From,
    To,
    Neither,
}

/// What is read out of a field's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub holds: Holds,
    pub side: Side,
    /// It says that something is written there, also by a tool that else reads.
    pub written: bool,
}

/// No field: the input itself.
pub(super) const NO_KEY: Key = Key {
    holds: Holds::Anything,
    side: Side::Neither,
    written: false,
};

const PATH: &str = "\
    target_file absolute_path path file_path filepath filename notebook_path target_path \
    dest_path output_path new_path old_path";

const MAYBE_PATH: &str = "file files paths target destination dest dst source src output to from";

const START: &str = "\
    cwd pwd workdir work_dir working_dir working_directory current_dir current_directory \
    root root_dir root_path base_dir base_path project_path project_root project_dir \
    repo_path repo_root repo_dir repository_path workspace workspace_root workspace_path";

const COMMAND: &str = "command cmd command_line cmdline shell_command bash script argv keystrokes";

const COMMANDS: &str = "commands cmds command_lines";

const CODE: &str = "code source_code snippet javascript typescript python ruby";

/// The last words of fields with text.
const TEXT: &str = "\
    content contents text body message description string prompt query title comment \
    comments reason note notes thought instructions summary explanation question \
    observations markdown html sql";

/// The last words of fields with names of other things.
const APART: &str = "\
    branch ref base repo repository owner label labels tag tags channel model mode mime type \
    kind format encoding url urls link links href host hostname endpoint route version email \
    user username author assignee assignees language locale package packages module \
    namespace symbol class method function regex schema table column database date time \
    timestamp timezone color topic thread session milestone status state sha commit hash \
    token domain scope project team org organization name_path";

const PATHS_END: &str = "\
    path paths file files filename filenames filepath filepaths pathname uri uris outfile \
    outpath notebook";

const FOLDERS_END: &str = "dir directory folder";

/// After such a word comes no more than where or what for: `pathInProject` is a path.
const PREPOSITIONS: &str = "in of for from to on with within";

impl Key {
    /// Reads a field's name.
    pub fn named(name: &str) -> Self {
        let words = words(name);
        let any = |list: &str| words.iter().any(|w| is_in(list, w));
        let side = match () {
            () if any("from source src origin old") => Side::From,
            () if any("to dest destination dst target new output out") => Side::To,
            () => Side::Neither,
        };
        Self {
            holds: holds(&words),
            side,
            written: any("output outfile outpath dest destination dst save write writes download"),
        }
    }
}

fn holds(words: &[String]) -> Holds {
    let whole = words.join("_");
    let exact = [
        (PATH, Holds::Path),
        (MAYBE_PATH, Holds::MaybePath),
        (START, Holds::Start),
        (COMMAND, Holds::Command),
        (COMMANDS, Holds::Commands),
        (CODE, Holds::Code),
        (APART, Holds::Apart),
    ];
    if let Some((_, holds)) = exact.iter().find(|(list, _)| is_in(list, &whole)) {
        return *holds;
    }
    let ends = words
        .iter()
        .skip(1)
        .position(|w| is_in(PREPOSITIONS, w))
        .map_or(words.len(), |at| at + 1);
    let Some((last, before)) = words[..ends].split_last() else {
        return Holds::Anything;
    };
    if is_in("name names", last) {
        let of = before.last().map_or("", String::as_str);
        return match (of, last.as_str()) {
            ("file" | "folder" | "dir" | "directory" | "path", "name") => Holds::FileName,
            ("file" | "folder" | "dir" | "directory" | "path", _) => Holds::LikelyPath,
            ("" | "new" | "old", "name") => Holds::Name,
            ("server" | "tool" | "agent" | "service", _) => Holds::Apart,
            (of, _) if is_in(APART, of) => Holds::Apart,
            _ => Holds::Anything,
        };
    }
    let ends = [
        (FOLDERS_END, Holds::Folder),
        (PATHS_END, Holds::LikelyPath),
        (TEXT, Holds::Text),
        (APART, Holds::Apart),
    ];
    let known = ends.iter().find(|(list, _)| is_in(list, last));
    known.map_or(Holds::Anything, |(_, holds)| *holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_before_a_preposition_says_what_it_is() {
        for (holds, names) in [
            (Holds::Path, &["filePath", "path", "target-file"][..]),
            (
                Holds::LikelyPath,
                &[
                    "relative_path",
                    "pathInProject",
                    "destinationPath",
                    "file_paths",
                    "fsPath",
                    "uri",
                    "fileNames",
                ],
            ),
            (
                Holds::FileName,
                &["fileName", "file_name", "new_folder_name"],
            ),
            (Holds::Name, &["name", "new_name"]),
            (
                Holds::Folder,
                &["directory", "dirForAssetWrites", "parent_folder"],
            ),
            (Holds::Start, &["cwd", "repo_path", "workingDirectory"]),
            (
                Holds::Text,
                &["content", "newText", "file_content", "old_string"],
            ),
            (
                Holds::Apart,
                &[
                    "branch",
                    "mime_type",
                    "file_type",
                    "name_path",
                    "userName",
                    "server_name",
                ],
            ),
            (
                Holds::Anything,
                &["entry", "ids", "targets", "resource_name"],
            ),
        ] {
            for name in names {
                assert_eq!(Key::named(name).holds, holds, "{name}");
            }
        }
        assert!(Key::named("dirForAssetWrites").written && Key::named("outputPath").written);
        assert_eq!(Key::named("sourcePath").side, Side::From);
        assert_eq!(Key::named("new_name").side, Side::To);
    }
}
