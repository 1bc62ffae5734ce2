//! git as a writing tool. The index and the history are no files of the project; the work tree is.

use super::{
    args::Args,
    stream::Stream,
    walk::Walker,
    world::{Field, World},
};

/// Subcommands that leave the work tree alone.
const READS: [&str; 50] = [
    "status",
    "log",
    "diff",
    "show",
    "branch",
    "tag",
    "remote",
    "fetch",
    "rev-parse",
    "rev-list",
    "ls-files",
    "ls-tree",
    "ls-remote",
    "cat-file",
    "blame",
    "annotate",
    "grep",
    "describe",
    "add",
    "stage",
    "push",
    "reflog",
    "shortlog",
    "notes",
    "gc",
    "fsck",
    "count-objects",
    "help",
    "version",
    "check-ignore",
    "check-attr",
    "merge-base",
    "name-rev",
    "show-ref",
    "symbolic-ref",
    "update-ref",
    "var",
    "whatchanged",
    "cherry",
    "range-diff",
    "for-each-ref",
    "hash-object",
    "diff-tree",
    "diff-index",
    "diff-files",
    "prune",
    "repack",
    "update-index",
    "write-tree",
    "--version",
];

/// Subcommands that may rewrite any tracked file.
const REWRITES: [&str; 12] = [
    "am",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "pull",
    "stash",
    "read-tree",
    "filter-branch",
    "sparse-checkout",
    "checkout-index",
    "bisect",
];

impl Walker<'_> {
    /// Reads a call of git; what it prints is returned.
    pub(super) fn git(&mut self, args: &[Field], world: &World) -> Stream {
        let mut world = world.clone();
        let long = [
            "git-dir",
            "work-tree",
            "namespace",
            "exec-path",
            "config-env",
            "super-prefix",
        ];
        let global = Args::parse(args, "Cc", &long, true);
        for dir in global.values(&["C"]) {
            world.enter(dir);
        }
        let tree = global.value(&["work-tree"]).cloned();
        let tree = tree.or_else(|| world.vars.get("GIT_WORK_TREE")?.first().cloned());
        if let Some(tree) = tree {
            world.enter(&tree);
        }
        for setting in global.values(&["c"]).filter_map(Field::known) {
            self.git_setting(&setting, &world);
        }
        let Some((verb, rest)) = global.operands.split_first() else {
            return Stream::default();
        };
        let Some(verb) = verb.known() else {
            self.unresolved("which git command it runs");
            return Stream::unknown();
        };
        match verb.as_str() {
            "checkout" | "switch" => self.git_checkout(&verb, rest, &world),
            "restore" => self.git_restore(rest, &world),
            "reset" => {
                let parsed = Args::parse(rest, "", &[], false);
                if parsed.has(&["hard", "merge", "keep"]) {
                    self.whole_tree(&world, "git reset");
                }
            }
            "clean" => {
                let parsed = Args::parse(rest, "e", &["exclude"], false);
                if !parsed.has(&["n", "dry-run"]) {
                    match parsed.operands.as_slice() {
                        [] => self.below(&Field::text("."), &world, "git clean"),
                        paths => paths
                            .iter()
                            .for_each(|p| self.below(p, &world, "git clean")),
                    }
                }
            }
            "rm" => {
                let parsed = Args::parse(rest, "", &["pathspec-from-file"], false);
                if !parsed.has(&["cached", "n", "dry-run"]) {
                    parsed
                        .operands
                        .iter()
                        .for_each(|p| self.delete(p, &world, "git rm"));
                }
            }
            "mv" => {
                let parsed = Args::parse(rest, "", &[], false);
                if !parsed.has(&["n", "dry-run"])
                    && let Some((to, from)) = parsed.operands.split_last()
                {
                    self.place_into(to, from, &world, "git mv", false);
                    from.iter().for_each(|p| self.delete(p, &world, "git mv"));
                }
            }
            "stash" => self.git_stash(rest, &world),
            "apply" => {
                let parsed = Args::parse(rest, "pC", &["directory", "exclude", "include"], false);
                if !parsed.has(&["check", "stat", "numstat", "summary", "cached"]) {
                    let dir = parsed.value(&["directory"]).cloned();
                    self.below(&dir.unwrap_or(Field::text(".")), &world, "git apply");
                }
            }
            "difftool" | "mergetool" => {
                let parsed = Args::parse(rest, "xt", &["extcmd", "tool"], false);
                for text in parsed.values(&["x", "extcmd"]).filter_map(Field::known) {
                    self.run_apart(&text, &world, &Stream::unknown());
                }
                if verb == "mergetool" {
                    self.whole_tree(&world, "git mergetool");
                }
            }
            "rebase" | "bisect" | "submodule" => {
                // What `bisect run` and `submodule foreach` run has options of its own.
                let parsed = Args::parse(rest, "x", &["exec"], verb != "rebase");
                for text in parsed.values(&["x", "exec"]).filter_map(Field::known) {
                    self.run_apart(&text, &world, &Stream::default());
                }
                let words: Vec<_> = parsed.operands.iter().map(Field::known).collect();
                let first = words.first().cloned().flatten().unwrap_or_default();
                match (verb.as_str(), first.as_str()) {
                    ("bisect", "run") | ("submodule", "foreach") => {
                        let argv = parsed.operands.get(1..).unwrap_or_default();
                        let argv = Args::parse(argv, "", &[], true).operands;
                        match argv.as_slice() {
                            [one] => {
                                if let Some(text) = one.known() {
                                    self.run_apart(&text, &world, &Stream::default());
                                }
                            }
                            _ => {
                                self.invoke_plain(&argv, &[], world.clone(), &Stream::default());
                            }
                        }
                    }
                    ("submodule", "status" | "summary" | "")
                    | ("bisect", "log" | "view" | "terms") => {}
                    _ => self.whole_tree(&world, &format!("git {verb}")),
                }
            }
            "worktree" => {
                let parsed = Args::parse(rest, "bB", &["reason"], false);
                let first = parsed.operands.first().and_then(Field::known);
                match (first.as_deref(), parsed.operands.get(1)) {
                    (Some("add"), Some(path)) => self.below(path, &world, "git worktree add"),
                    (Some("remove"), Some(path)) => {
                        self.delete(path, &world, "git worktree remove")
                    }
                    (Some("move"), Some(path)) => {
                        self.delete(path, &world, "git worktree move");
                        if let Some(to) = parsed.operands.get(2) {
                            self.below(to, &world, "git worktree move");
                        }
                    }
                    _ => {}
                }
            }
            "clone" => {
                let long = [
                    "branch",
                    "origin",
                    "depth",
                    "config",
                    "reference",
                    "template",
                ];
                let parsed = Args::parse(rest, "bocuj", &long, false);
                if let Some(url) = parsed.operands.first() {
                    let name = url.file_name().known().unwrap_or_default();
                    let name = name.strip_suffix(".git").unwrap_or(&name).to_owned();
                    let dir = parsed.operands.get(1).cloned().unwrap_or(Field::text(name));
                    self.below(&dir, &world, "git clone");
                }
            }
            "init" => {}
            "config" => {
                let long = ["file", "get", "get-all", "get-regexp", "type", "default"];
                let parsed = Args::parse(rest, "f", &long, false);
                let asks = parsed.has(&["get", "get-all", "get-regexp", "list", "l"])
                    || matches!(
                        parsed.operands.first().and_then(Field::known).as_deref(),
                        Some("get" | "list")
                    )
                    || parsed.operands.len() < 2;
                if !asks {
                    let file = parsed.value(&["f", "file"]).cloned();
                    let file = file.unwrap_or_else(|| match parsed.has(&["global", "system"]) {
                        true => {
                            let home = world.vars.get("HOME").and_then(|v| v.first()).cloned();
                            home.unwrap_or_else(Field::unknown)
                                .join(Field::text("/.gitconfig"))
                        }
                        false => Field::text(".git/config"),
                    });
                    self.change(&file, &world, "git config");
                    let words = parsed.operands.iter().filter_map(Field::known);
                    let words: Vec<String> = words.filter(|w| w != "set").collect();
                    if let [name, value, ..] = words.as_slice() {
                        self.git_setting(&format!("{name}={value}"), &world);
                    }
                }
            }
            "archive" | "bundle" | "format-patch" => {
                let parsed = Args::parse(rest, "o", &["output", "output-directory"], false);
                let out = parsed.value(&["o", "output", "output-directory"]);
                match (verb.as_str(), out) {
                    ("format-patch", _) if parsed.has(&["stdout"]) => {}
                    ("format-patch", Some(dir)) => self.below(dir, &world, "git format-patch"),
                    ("format-patch", None) => {
                        let patch = Field::text("00")
                            .join(Field::unknown())
                            .join(Field::text(".patch"));
                        self.change(&patch, &world, "git format-patch");
                    }
                    (_, Some(file)) => self.change(file, &world, &format!("git {verb}")),
                    ("bundle", None) => {
                        if let Some(file) = parsed.operands.get(1) {
                            self.change(file, &world, "git bundle");
                        }
                    }
                    _ => {}
                }
            }
            // Hooks of the project run then, and they may do anything.
            "commit" | "push" => {
                let parsed = Args::parse(rest, "mFCct", &["message", "file"], false);
                self.out.applies |= !parsed.has(&["dry-run"]);
                // Without a text the editor opens, and an editor runs commands.
                let texts = ["m", "message", "F", "file", "C", "no-edit", "fixup"];
                if verb == "commit" && !parsed.has(&texts) {
                    self.waits();
                }
            }
            read if READS.contains(&read) => {
                let parsed = Args::parse(rest, "O", &["output", "open-files-in-pager"], false);
                for file in parsed.values(&["output"]) {
                    self.change(file, &world, &format!("git {read} --output"));
                }
                return self.git_printed(read, &parsed, &world);
            }
            rewrites if REWRITES.contains(&rewrites) => {
                let parsed = Args::parse(rest, "", &[], false);
                let only_talks = parsed.has(&["abort", "quit", "show-current-patch", "continue"])
                    && rewrites == "rebase"
                    && parsed.has(&["show-current-patch"]);
                if !only_talks {
                    self.whole_tree(&world, &format!("git {rewrites}"));
                }
            }
            _ => {}
        }
        Stream::unknown()
    }

    /// Other version control that rewrites its work tree; false for another command.
    pub(super) fn other_version_control(
        &mut self,
        name: &str,
        args: &[Field],
        world: &World,
    ) -> bool {
        let verbs: &[&str] = match name {
            "hg" | "sl" | "chg" => &[
                "update", "up", "checkout", "co", "goto", "revert", "merge", "rebase", "import",
                "patch", "shelve", "unshelve", "purge", "clean", "backout", "graft", "histedit",
                "uncommit", "qpush", "qpop", "rename", "mv", "remove", "rm",
            ],
            "svn" => &[
                "update", "up", "switch", "sw", "revert", "merge", "patch", "checkout", "co",
                "export", "move", "mv", "delete", "rm", "copy", "cp",
            ],
            "jj" => &[
                "restore",
                "edit",
                "new",
                "rebase",
                "undo",
                "abandon",
                "squash",
                "split",
                "op",
                "operation",
                "next",
                "prev",
                "backout",
                "revert",
                "sparse",
                "workspace",
            ],
            "fossil" | "bzr" | "brz" | "darcs" | "cvs" => &[
                "update", "checkout", "co", "revert", "merge", "pull", "undo", "clean", "stash",
            ],
            _ => return false,
        };
        let any = |verbs: &[&str]| {
            let word = |f: &Field| f.known().is_some_and(|w| verbs.contains(&w.as_str()));
            args.iter().any(word)
        };
        self.out.applies |= any(&["commit", "ci", "push", "record", "dcommit"]);
        if any(verbs) {
            self.whole_tree(world, name);
        }
        true
    }

    fn git_printed(&mut self, verb: &str, parsed: &Args, world: &World) -> Stream {
        let below = |dir: &Field| dir.clone().join(Field::text("/")).join(Field::unknown());
        match verb {
            "ls-files" => {
                let dirs: Vec<_> = parsed
                    .operands
                    .iter()
                    .map(|dir| match dir.known() {
                        Some(text)
                            if !text.contains('*')
                                && self.at.disk.is_dir(&world.path(dir).unwrap_or_default()) =>
                        {
                            below(dir)
                        }
                        Some(text) if !text.contains('*') => dir.clone(),
                        _ => Field::text("./").join(Field::unknown()),
                    })
                    .collect();
                match dirs.is_empty() {
                    true => Stream::of_items(vec![below(&Field::text("."))]),
                    false => Stream::of_items(dirs),
                }
            }
            "grep" if parsed.has(&["l", "files-with-matches", "name-only"]) => {
                Stream::of_items(vec![below(&Field::text("."))])
            }
            "rev-parse" if parsed.has(&["show-toplevel"]) => {
                Stream::of_text(self.at.root.to_string_lossy().into_owned())
            }
            _ => Stream::unknown(),
        }
    }

    /// `git -c name=value`: some settings are commands.
    fn git_setting(&mut self, setting: &str, world: &World) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let name = name.to_ascii_lowercase();
        let command = match name.strip_prefix("alias.") {
            Some(_) => value.strip_prefix('!'),
            None => {
                let runs = [
                    "pager",
                    "editor",
                    "sshcommand",
                    "fsmonitor",
                    "hookspath",
                    "askpass",
                    "cmd",
                    "textconv",
                    "external",
                    "program",
                    "command",
                ];
                runs.iter().any(|end| name.ends_with(end)).then_some(value)
            }
        };
        if let Some(text) = command {
            self.run_apart(text, world, &Stream::unknown());
        }
    }

    /// The whole work tree that the command stands in may change.
    fn whole_tree(&mut self, world: &World, how: &str) {
        let root = self.at.root;
        let inside = world.cwd.known().is_some_and(|cwd| {
            super::super::path::clean(std::path::Path::new(&cwd)).starts_with(root)
        });
        let dir = match inside {
            true => Field::text(root.to_string_lossy()),
            false => world.cwd.clone(),
        };
        self.below(&dir, world, how);
    }

    fn git_paths(&mut self, paths: &[Field], world: &World, how: &str) {
        for path in paths {
            let known = path.known().unwrap_or_default();
            let is_dir =
                known.ends_with('/') || world.path(path).is_some_and(|p| self.at.disk.is_dir(&p));
            let magic = known.starts_with(':') || known.contains(['*', '?', '[']);
            match (is_dir, magic) {
                (_, true) => self.whole_tree(world, how),
                (true, _) => self.below(path, world, how),
                _ => self.change(path, world, how),
            }
        }
    }

    fn git_checkout(&mut self, verb: &str, rest: &[Field], world: &World) {
        let how = format!("git {verb}");
        let dashes = rest.iter().position(|a| a.known().as_deref() == Some("--"));
        let parsed = Args::parse(
            &rest[..dashes.unwrap_or(rest.len())],
            "bBcC",
            &[
                "orphan",
                "conflict",
                "create",
                "force-create",
                "pathspec-from-file",
            ],
            false,
        );
        if let Some(at) = dashes {
            let paths = rest[at + 1..].to_vec();
            if !paths.is_empty() {
                self.git_paths(&paths, world, &how);
                return;
            }
        }
        let made = parsed.has(&["b", "B", "c", "C", "orphan", "create", "force-create"]);
        match parsed.operands.as_slice() {
            // A new branch from here leaves the files as they are.
            [] if made => {}
            [] if verb == "checkout" && !parsed.has(&["f", "force", "detach"]) => {}
            operands if verb == "checkout" && !made => {
                let paths: Vec<Field> = operands
                    .iter()
                    .filter(|o| {
                        world.path(o).is_some_and(|p| self.at.disk.exists(&p))
                            || o.known().as_deref() == Some(".")
                            || o.start().contains('.') && o.start().contains('/')
                    })
                    .cloned()
                    .collect();
                match paths.is_empty() {
                    false => self.git_paths(&paths, world, &how),
                    true => self.whole_tree(world, &how),
                }
            }
            _ => self.whole_tree(world, &how),
        }
    }

    fn git_restore(&mut self, rest: &[Field], world: &World) {
        let parsed = Args::parse(
            rest,
            "s",
            &["source", "pathspec-from-file", "conflict"],
            false,
        );
        let staged_only = parsed.has(&["S", "staged"]) && !parsed.has(&["W", "worktree"]);
        if staged_only {
            return;
        }
        match parsed.operands.as_slice() {
            [] => self.whole_tree(world, "git restore"),
            paths => {
                let paths = paths.to_vec();
                self.git_paths(&paths, world, "git restore");
            }
        }
    }

    fn git_stash(&mut self, rest: &[Field], world: &World) {
        let parsed = Args::parse(rest, "m", &["message", "pathspec-from-file"], false);
        let words: Vec<String> = parsed.operands.iter().filter_map(Field::known).collect();
        match words.first().map(String::as_str) {
            Some("list" | "show" | "drop" | "clear" | "create" | "store") => {}
            Some("push") if parsed.operands.len() > 1 => {
                let paths = parsed.operands[1..].to_vec();
                self.git_paths(&paths, world, "git stash");
            }
            _ => self.whole_tree(world, "git stash"),
        }
    }
}
