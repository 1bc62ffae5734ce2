//! Commands that write files, by name.

use super::{
    args::Args,
    stream::Stream,
    walk::Walker,
    world::{Field, Part, World},
};

/// Commands that rewrite the files they are given: name, options without which they only look,
/// and the letters of options that take a value.
const REWRITERS: [(&str, &[&str], &str); 39] = [
    ("black", &[], "lC"),
    ("isort", &[], "lps"),
    ("autopep8", &["i", "in-place"], ""),
    ("yapf", &["i", "in-place"], ""),
    ("prettier", &["w", "write"], ""),
    ("eslint", &["fix"], "c"),
    ("stylelint", &["fix"], ""),
    ("biome", &["write", "fix"], ""),
    ("gofmt", &["w"], "r"),
    ("gofumpt", &["w"], ""),
    ("goimports", &["w"], ""),
    ("rustfmt", &[], ""),
    ("clang-format", &["i"], ""),
    ("shfmt", &["w", "write"], "i"),
    ("stylua", &[], ""),
    ("ktlint", &["F", "format"], ""),
    ("dos2unix", &[], ""),
    ("unix2dos", &[], ""),
    ("yq", &["i", "inplace", "in-place"], "po"),
    ("sd", &[], "fn"),
    ("rpl", &[], "x"),
    ("autoflake", &["i", "in-place"], "j"),
    ("2to3", &["w", "write"], "fjox"),
    ("pyupgrade", &[], ""),
    ("vi", &[], "cST"),
    ("vim", &[], "cST"),
    ("nvim", &[], "cST"),
    ("ex", &[], "cST"),
    ("view", &[], "c"),
    ("ed", &[], "p"),
    ("red", &[], "p"),
    ("nano", &[], "rTsoY"),
    ("pico", &[], ""),
    ("emacs", &[], ""),
    ("micro", &[], ""),
    ("hx", &[], "c"),
    ("joe", &[], ""),
    ("mcedit", &[], ""),
    ("jupytext", &[], ""),
];

/// Compilers and converters that write what `-o` names.
pub(super) const WITH_OUTPUT: [&str; 27] = [
    "gcc",
    "g++",
    "cc",
    "c++",
    "clang",
    "clang++",
    "ld",
    "as",
    "rustc",
    "go",
    "ghc",
    "javac",
    "nasm",
    "pandoc",
    "dot",
    "protoc",
    "esbuild",
    "swc",
    "tsc",
    "objcopy",
    "wasm-pack",
    "zig",
    "gpg",
    "iconv",
    "http",
    "https",
    "xh",
];

impl Walker<'_> {
    /// Commands whose writing is known; false for a command that is not known at all.
    pub(super) fn writer(
        &mut self,
        name: &str,
        args: &[Field],
        world: &World,
        stdin: &Stream,
    ) -> bool {
        let change_all = |walker: &mut Self, fields: &[Field]| {
            fields.iter().for_each(|f| walker.change(f, world, name));
        };
        match name {
            "rm" | "rimraf" | "del-cli" | "unlink" | "shred" | "trash" | "trash-put"
            | "rmtrash" | "srm" => {
                let parsed = Args::parse(args, "ns", &["iterations", "size"], false);
                parsed
                    .operands
                    .iter()
                    .for_each(|f| self.delete(f, world, name));
            }
            "touch" | "tee" | "sponge" | "truncate" | "fallocate" | "mkfifo" | "mknod"
            | "setfattr" | "ctags" | "tee64" => {
                let long = [
                    "date",
                    "reference",
                    "size",
                    "length",
                    "offset",
                    "mode",
                    "time",
                    "name",
                    "value",
                ];
                let parsed = Args::parse(args, "drstlomnvxf", &long, false);
                let count = if name == "mknod" {
                    1
                } else {
                    parsed.operands.len()
                };
                change_all(self, &parsed.operands[..count.min(parsed.operands.len())]);
                if name == "ctags" {
                    change_all(
                        self,
                        &[parsed
                            .value(&["f", "o"])
                            .cloned()
                            .unwrap_or(Field::text("tags"))],
                    );
                }
            }
            "cp" | "gcp" | "install" | "ln" | "link" | "mv" | "gmv" => {
                self.copy(name, args, world);
            }
            "rsync" | "scp" | "sftp" => self.sync(name, args, world),
            "dd" => {
                for arg in args {
                    if arg.start().starts_with("of=") {
                        self.change(&arg.skip(3), world, "dd of=");
                    }
                }
            }
            "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "xattr" | "chflags" => {
                // `chmod -x` and `chattr -i`: these modes look like options.
                let is_mode = |field: &Field| {
                    let start = field.start();
                    let letters = match name {
                        "chmod" => "rwxXstugo",
                        "chattr" => "aAcCdDeFijmPsStTux",
                        _ => return false,
                    };
                    name == "chattr" && start.starts_with(['+', '='])
                        || start.strip_prefix('-').is_some_and(|rest| {
                            rest.starts_with(|c| letters.contains(c))
                                && rest
                                    .chars()
                                    .all(|c| letters.contains(c) || "+-=,".contains(c))
                        })
                };
                let moded = args.iter().any(is_mode);
                let args: Vec<Field> = args.iter().filter(|f| !is_mode(f)).cloned().collect();
                let parsed = Args::parse(&args, "mxpMX", &["reference"], false);
                let without = match name {
                    "setfacl" => parsed.has(&["m", "x", "M", "X", "b", "k"]),
                    _ => moded || parsed.has(&["reference"]),
                };
                let files = parsed.operands.get(usize::from(!without)..);
                for file in files.unwrap_or_default() {
                    self.change(file, world, name);
                    if parsed.has(&["R", "recursive"]) {
                        self.below(file, world, name);
                    }
                }
            }
            "mount" => {
                let parsed = Args::parse(args, "toLU", &["types", "options"], false);
                if let [_, .., at] = parsed.operands.as_slice() {
                    self.below(at, world, name);
                }
            }
            "socat" => {
                for text in args.iter().filter_map(Field::known) {
                    let (kind, rest) = text.split_once(':').unwrap_or((&text, ""));
                    match kind.to_lowercase().as_str() {
                        "open" | "file" | "create" | "creat" | "gopen" | "pipe" | "fifo" => {
                            let path = rest.split(',').next().unwrap_or(rest);
                            self.change(&Field::text(path), world, name);
                        }
                        "exec" | "system" | "shell" => {
                            self.run_apart(rest, world, &Stream::unknown());
                        }
                        _ => {}
                    }
                }
            }
            "split" | "csplit" => {
                let parsed = Args::parse(args, "abClnftk", &["prefix", "lines", "bytes"], false);
                let start = match name {
                    "split" => parsed.operands.get(1).cloned().unwrap_or(Field::text("x")),
                    _ => parsed
                        .value(&["f", "prefix"])
                        .cloned()
                        .unwrap_or(Field::text("xx")),
                };
                self.change(&start.join(Field::unknown()), world, name);
            }
            "patch" => {
                let long = ["directory", "input", "output", "strip", "reject-file"];
                let parsed = Args::parse(args, "dioprBDFVYz", &long, false);
                let mut world = world.clone();
                if let Some(dir) = parsed.value(&["d", "directory"]) {
                    world.enter(dir);
                }
                if parsed.has(&["dry-run"]) {
                    return true;
                }
                match (parsed.value(&["o", "output"]), parsed.operands.first()) {
                    (Some(out), _) => self.change(out, &world, name),
                    (None, Some(file)) => self.change(file, &world, name),
                    (None, None) => {
                        let named = patched(stdin.text.as_deref().unwrap_or_default());
                        match named.is_empty() {
                            true => self.below(&Field::text("."), &world, name),
                            false => named
                                .iter()
                                .for_each(|f| self.change(&Field::text(f), &world, name)),
                        }
                    }
                }
            }
            "tar" | "gtar" | "bsdtar" => self.tar(args, world),
            "unzip" | "7z" | "7za" | "cpio" | "zip" | "ar" | "unrar" | "jar" => {
                self.archive(name, args, world);
            }
            "gzip" | "bzip2" | "xz" | "zstd" | "lz4" | "gunzip" | "bunzip2" | "unxz" | "unzstd"
            | "compress" | "uncompress" | "lzma" => {
                let parsed = Args::parse(args, "So", &["suffix"], false);
                if let Some(out) = parsed.value(&["o"]) {
                    self.change(out, world, name);
                } else if !parsed.has(&["c", "stdout", "l", "t", "list", "test", "to-stdout"]) {
                    let opens = name.starts_with("un")
                        || name.starts_with("gun")
                        || name.starts_with("bun")
                        || parsed.has(&["d", "decompress", "uncompress"]);
                    let end = match name {
                        "bzip2" => ".bz2",
                        "xz" => ".xz",
                        "zstd" => ".zst",
                        "lz4" => ".lz4",
                        _ => ".gz",
                    };
                    for file in &parsed.operands {
                        if !parsed.has(&["k", "keep"]) {
                            self.delete(file, world, name);
                        }
                        let text = file.known().unwrap_or_default();
                        match (opens, text.rsplit_once('.')) {
                            (true, Some((stem, _))) => self.change(&Field::text(stem), world, name),
                            _ => self.change(&file.clone().join(Field::text(end)), world, name),
                        }
                    }
                }
            }
            "curl" => {
                let long = [
                    "output",
                    "output-dir",
                    "cookie-jar",
                    "dump-header",
                    "data",
                    "header",
                    "request",
                    "trace",
                    "trace-ascii",
                    "stderr",
                    "etag-save",
                    "form",
                    "user",
                    "upload-file",
                    "url",
                    "data-binary",
                    "data-raw",
                    "max-time",
                    "write-out",
                ];
                let parsed = Args::parse(args, "ocDdHXFuTAebEmwKxyYzC", &long, false);
                let mut world = world.clone();
                let here = world.clone();
                if let Some(dir) = parsed.value(&["output-dir"]) {
                    world.enter(dir);
                }
                for file in parsed.values(&["o", "output"]) {
                    self.change(file, &world, "curl -o");
                }
                for file in parsed.values(&[
                    "c",
                    "cookie-jar",
                    "D",
                    "dump-header",
                    "trace",
                    "trace-ascii",
                    "stderr",
                    "etag-save",
                ]) {
                    if file.known().as_deref() != Some("-") {
                        self.change(file, &here, name);
                    }
                }
                if parsed.has(&["O", "remote-name", "remote-name-all"]) {
                    for url in parsed.operands.iter().chain(parsed.values(&["url"])) {
                        self.change(&url_name(url), &world, "curl -O");
                    }
                }
            }
            "wget" => {
                let long = [
                    "output-document",
                    "directory-prefix",
                    "output-file",
                    "append-output",
                    "input-file",
                    "header",
                    "user-agent",
                    "post-data",
                ];
                let parsed = Args::parse(args, "OPoaiUtTwQRAD", &long, false);
                for log in parsed.values(&["o", "a", "output-file", "append-output"]) {
                    self.change(log, world, "wget -o");
                }
                if parsed.has(&["spider"]) {
                    return true;
                }
                let mut inner = world.clone();
                if let Some(dir) = parsed.value(&["P", "directory-prefix"]) {
                    inner.enter(dir);
                }
                match parsed.value(&["O", "output-document"]) {
                    Some(file) if file.known().as_deref() == Some("-") => {}
                    Some(file) => self.change(file, world, "wget -O"),
                    None if parsed.has(&["r", "m", "recursive", "mirror"]) => {
                        self.below(&Field::text("."), &inner, name)
                    }
                    None => parsed
                        .operands
                        .iter()
                        .for_each(|url| self.change(&url_name(url), &inner, name)),
                }
            }
            "sort" | "uniq" => {}
            "shuf" => {
                let parsed =
                    Args::parse(args, "ino", &["output", "head-count", "input-range"], false);
                let names = ["o", "output"];
                parsed
                    .values(&names)
                    .for_each(|f| self.change(f, world, "shuf -o"));
            }
            "xxd" => {
                let parsed = Args::parse(args, "cglosn", &[], false);
                if let Some(out) = parsed.operands.get(1) {
                    self.change(out, world, name);
                }
            }
            "openssl" | "ssh-keygen" | "htpasswd" => {
                for pair in args.windows(2) {
                    if matches!(
                        pair[0].known().as_deref(),
                        Some("-out" | "-f" | "-keyout" | "-writerand")
                    ) {
                        self.change(&pair[1], world, name);
                    }
                }
                if name == "htpasswd" {
                    let parsed = Args::parse(args, "C", &[], false);
                    change_all(self, &parsed.operands[..1.min(parsed.operands.len())]);
                }
            }
            "rename" | "prename" | "mmv" | "vidir" | "qmv" => {
                let parsed = Args::parse(args, "e", &[], false);
                parsed
                    .operands
                    .iter()
                    .skip(1)
                    .for_each(|f| self.delete(f, world, name));
            }
            "ruff" => {
                let parsed = Args::parse(args, "", &["config", "select", "ignore"], false);
                let verb = parsed.operands.first().and_then(Field::known);
                let writes = match verb.as_deref() {
                    Some("format") => !parsed.has(&["check", "diff"]),
                    _ => parsed.has(&["fix", "fix-only", "unsafe-fixes", "add-noqa"]),
                };
                if writes {
                    self.rewrite(parsed.operands.get(1..).unwrap_or_default(), world, name);
                }
            }
            "sqlite3" => self.sqlite(args, world, stdin),
            "magick" if args.first().is_some_and(|f| f.start() == "identify") => {}
            "strip" | "objcopy" | "convert" | "magick" | "ffmpeg" => {
                if let Some(out) = args.last().filter(|f| !f.start().starts_with('-')) {
                    self.change(out, world, name);
                }
            }
            "aria2c" => {
                let parsed = Args::parse(args, "dolijsx", &["dir", "out"], false);
                let dir = parsed.value(&["d", "dir"]).cloned();
                let dir = dir.unwrap_or(Field::text(".")).join(Field::text("/"));
                match parsed.value(&["o", "out"]) {
                    Some(out) => self.change(&dir.join(out.clone()), world, name),
                    None => parsed
                        .operands
                        .iter()
                        .for_each(|url| self.change(&dir.clone().join(url_name(url)), world, name)),
                }
            }
            _ => match REWRITERS.iter().find(|r| r.0 == name) {
                Some((_, unless, short)) => {
                    let parsed =
                        Args::parse(args, short, &["config", "line-length", "edition"], false);
                    let looks = parsed.has(&[
                        "check",
                        "diff",
                        "dry-run",
                        "list-different",
                        "help",
                        "version",
                        "readonly",
                        "R",
                    ]);
                    let writes = (unless.is_empty() || parsed.has(unless)) && !looks;
                    if writes {
                        let skip = match name {
                            "sd" | "rpl" => 2,
                            "yq" | "biome" => usize::from(parsed.operands.len() > 1),
                            _ => 0,
                        };
                        let files = parsed.operands.get(skip..).unwrap_or_default();
                        self.rewrite(files, world, name);
                        self.editor_texts(&parsed, world);
                    }
                }
                None => return false,
            },
        }
        true
    }

    /// The files are rewritten; of a folder, anything in it.
    fn rewrite(&mut self, files: &[Field], world: &World, how: &str) {
        for file in files.iter().filter(|f| !f.start().starts_with('+')) {
            let dir = world.path(file).is_some_and(|p| self.at.disk.is_dir(&p));
            match dir {
                true => self.below(file, world, how),
                false => self.change(file, world, how),
            }
        }
    }

    fn copy(&mut self, name: &str, args: &[Field], world: &World) {
        let long = [
            "target-directory",
            "suffix",
            "mode",
            "owner",
            "group",
            "context",
        ];
        let short = if name == "install" { "tSmog" } else { "tS" };
        let parsed = Args::parse(args, short, &long, false);
        let moves = matches!(name, "mv" | "gmv");
        if name == "install" && parsed.has(&["d", "directory"]) {
            return;
        }
        let content = parsed.has(&["r", "R", "a", "recursive", "archive"]);
        let (to, from) = match parsed.value(&["t", "target-directory"]) {
            Some(dir) => (
                dir.clone().join(Field::text("/")),
                parsed.operands.as_slice(),
            ),
            None => match parsed.operands.split_last() {
                // `ln target` makes a link of the same name here.
                Some((only, [])) if name == "ln" => {
                    self.change(&only.file_name(), world, name);
                    return;
                }
                Some((to, from)) => (to.clone(), from),
                None => return,
            },
        };
        let content = content
            && from.iter().any(|f| {
                world
                    .path(f)
                    .is_none_or(|p| self.at.disk.is_dir(&p) || !self.at.disk.exists(&p))
            });
        if parsed.has(&["T", "no-target-directory"]) {
            self.change(&to, world, name);
        } else {
            self.place_into(&to, from, world, name, content);
        }
        let copies_as_link = parsed.has(&["s", "symbolic-link", "l", "link"]);
        if matches!(name, "ln" | "link") || (matches!(name, "cp" | "gcp") && copies_as_link) {
            let symbolic = parsed.has(&["s", "symbolic", "symbolic-link"]);
            self.link(&to, from, world, symbolic);
        }
        if moves {
            from.iter().for_each(|f| self.delete(f, world, name));
        }
    }

    fn sync(&mut self, name: &str, args: &[Field], world: &World) {
        let long = [
            "rsh",
            "exclude",
            "include",
            "filter",
            "files-from",
            "log-file",
            "backup-dir",
            "rsync-path",
            "port",
            "chmod",
            "chown",
            "partial-dir",
            "temp-dir",
            "suffix",
        ];
        let short = if name == "rsync" {
            "eTfBM"
        } else {
            "bcDFiJloPSX"
        };
        let parsed = Args::parse(args, short, &long, false);
        if parsed.has(&["n", "dry-run", "list-only"]) {
            return;
        }
        for text in parsed.values(&["e", "rsh"]).filter_map(Field::known) {
            self.run_apart(&text, world, &Stream::unknown());
        }
        parsed
            .values(&["log-file"])
            .for_each(|f| self.change(f, world, name));
        let Some((to, from)) = parsed.operands.split_last() else {
            return;
        };
        let remote = |f: &Field| {
            let text = f.start();
            let colon = text.find(':');
            colon.is_some_and(|at| !text[..at].contains('/'))
        };
        if parsed.has(&["remove-source-files"]) {
            from.iter()
                .filter(|f| !remote(f))
                .for_each(|f| self.delete(f, world, name));
        }
        if remote(to) {
            return;
        }
        let content = |f: &Field| {
            f.known()
                .is_none_or(|t| t.ends_with('/') || t.ends_with("/.") || t == ".")
        };
        if from.iter().any(content)
            || parsed.has(&["delete", "R", "relative", "del", "delete-after"])
        {
            self.below(to, world, name);
        }
        let plain: Vec<Field> = from.iter().filter(|f| !content(f)).cloned().collect();
        let recursive = parsed.has(&["a", "r", "archive", "recursive"]);
        let whole = recursive
            && plain.iter().any(|f| {
                world
                    .path(f)
                    .is_none_or(|p| !self.at.disk.exists(&p) || self.at.disk.is_dir(&p))
            });
        self.place_into(to, &plain, world, name, whole);
    }

    fn tar(&mut self, args: &[Field], world: &World) {
        // `tar xf a.tar` and `tar -xf a.tar` are the same.
        let mut all = args.to_vec();
        if let Some(first) = all.first().map(Field::start)
            && !first.starts_with('-')
            && !first.is_empty()
        {
            all[0] = Field::text("-").join(all[0].clone());
        }
        let long = [
            "file",
            "directory",
            "exclude",
            "transform",
            "to-command",
            "checkpoint-action",
            "use-compress-program",
            "files-from",
            "strip-components",
            "one-top-level",
            "rsh-command",
            "info-script",
        ];
        // In a cluster `f` takes the next argument wherever it stands.
        let parsed = Args::parse(&spread_cluster(&all), "fCTXIbgKFLNV", &long, false);
        for text in parsed
            .values(&[
                "to-command",
                "checkpoint-action",
                "use-compress-program",
                "I",
                "F",
                "info-script",
                "rsh-command",
            ])
            .filter_map(Field::known)
        {
            let text = text.trim_start_matches("exec=").to_owned();
            self.run_apart(&text, world, &Stream::unknown());
        }
        let mut inner = world.clone();
        if let Some(dir) = parsed.value(&["C", "directory"]) {
            inner.enter(dir);
        }
        if parsed.has(&["x", "extract", "get"]) {
            if !parsed.has(&["O", "to-stdout"]) {
                let dir = parsed.value(&["one-top-level"]).cloned();
                self.below(&dir.unwrap_or(Field::text(".")), &inner, "tar -x");
            }
        } else if parsed.has(&[
            "c", "r", "u", "A", "create", "append", "update", "delete", "catenate",
        ]) {
            for file in parsed.values(&["f", "file"]) {
                if file.known().as_deref() != Some("-") {
                    self.change(file, world, "tar -c");
                }
            }
            if parsed.has(&["remove-files"]) {
                parsed
                    .operands
                    .iter()
                    .for_each(|f| self.delete(f, &inner, "tar --remove-files"));
            }
        }
    }

    fn archive(&mut self, name: &str, args: &[Field], world: &World) {
        let parsed = Args::parse(args, "dxPoOFDpR", &["directory"], false);
        let first = parsed
            .operands
            .first()
            .and_then(Field::known)
            .unwrap_or_default();
        match name {
            "unzip" if parsed.has(&["l", "t", "p", "Z", "v", "c"]) => {}
            "unzip" => {
                let dir = parsed.value(&["d"]).cloned().unwrap_or(Field::text("."));
                self.below(&dir, world, name);
            }
            "zip" => parsed
                .operands
                .iter()
                .enumerate()
                .for_each(|(at, file)| match at {
                    0 => self.change(file, world, name),
                    _ if parsed.has(&["m", "move"]) => self.delete(file, world, "zip -m"),
                    _ => {}
                }),
            "cpio" if parsed.has(&["i", "p", "extract", "pass-through"]) => {
                let dir = parsed.operands.first().cloned().unwrap_or(Field::text("."));
                self.below(&dir, world, name);
            }
            "cpio" => parsed
                .values(&["O", "F"])
                .for_each(|f| self.change(f, world, name)),
            "jar" | "ar" => {
                let extracts = first.contains('x') || parsed.has(&["x"]);
                match extracts {
                    true => self.below(&Field::text("."), world, name),
                    false => parsed
                        .operands
                        .iter()
                        .skip(1)
                        .take(1)
                        .for_each(|f| self.change(f, world, name)),
                }
            }
            _ => match first.as_str() {
                "x" | "e" => {
                    let dir = args
                        .iter()
                        .find(|a| a.start().starts_with("-o"))
                        .map(|a| a.skip(2));
                    self.below(&dir.unwrap_or(Field::text(".")), world, name);
                }
                "a" | "u" | "d" => parsed
                    .operands
                    .iter()
                    .skip(1)
                    .take(1)
                    .for_each(|f| self.change(f, world, name)),
                _ => {}
            },
        }
    }
}

/// The files that a patch says it changes.
fn patched(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in text.lines() {
        let Some(rest) = line
            .strip_prefix("+++ ")
            .or_else(|| line.strip_prefix("--- "))
        else {
            continue;
        };
        let name = rest.split('\t').next().unwrap_or(rest).trim();
        if name == "/dev/null" {
            continue;
        }
        for name in [
            name,
            name.strip_prefix("a/")
                .or(name.strip_prefix("b/"))
                .unwrap_or(name),
        ] {
            let name = name.to_owned();
            let prefixed = name.starts_with("a/") || name.starts_with("b/");
            if !prefixed && !files.contains(&name) {
                files.push(name);
            }
        }
    }
    files
}

/// What a download is called.
fn url_name(url: &Field) -> Field {
    match url.known() {
        Some(text) => {
            let text = text.split(['?', '#']).next().unwrap_or_default();
            let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
            match rest.rsplit_once('/') {
                Some((_, name)) if !name.is_empty() => Field::text(name),
                _ => Field::text("index.html"),
            }
        }
        None => Field(vec![Part::Text("./".into()), Part::Unknown]),
    }
}

/// tar's letters each take their value from what follows the cluster, in order.
fn spread_cluster(args: &[Field]) -> Vec<Field> {
    let Some(first) = args.first().and_then(Field::known) else {
        return args.to_vec();
    };
    if first.starts_with("--") || !first.starts_with('-') || first.ends_with('f') || first.len() < 3
    {
        return args.to_vec();
    }
    let mut out = Vec::new();
    let mut rest = args[1..].iter().cloned();
    for letter in first.chars().skip(1) {
        out.push(Field::text(format!("-{letter}")));
        if "fCTXbgKFLNV".contains(letter) {
            out.extend(rest.next());
        }
    }
    out.extend(rest);
    out
}
