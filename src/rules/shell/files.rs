//! What commands print that write no file, and where files are put.

use super::{
    args::Args,
    stream::Stream,
    walk::Walker,
    world::{Field, World},
};

impl Walker<'_> {
    /// Reads a call of a command by its name; what it prints is returned.
    pub(super) fn files_of(
        &mut self,
        name: &str,
        args: &[Field],
        world: &World,
        stdin: &Stream,
    ) -> Stream {
        match name {
            "echo" => return self.echo(args),
            "printf" => return self.printf(args, world),
            "cat" | "tac" if args.is_empty() => return stdin.clone(),
            "cat" | "tac" if args.iter().all(|a| a.known().as_deref() == Some("-")) => {
                return stdin.clone();
            }
            "head" | "tail" | "sort" | "uniq" | "grep" | "egrep" | "rg" | "tee"
                if self.filters(name, args, world) =>
            {
                let items = stdin.items.clone();
                return Stream {
                    items,
                    decoded: stdin.decoded,
                    ..Stream::unknown()
                };
            }
            "pwd" => return Stream::of_items(vec![world.cwd.clone()]),
            "docker" | "podman" | "nerdctl" => {
                self.container(name, args, world, stdin);
                return Stream::unknown();
            }
            "chroot" => {
                self.new_root(args, world, stdin);
                return Stream::unknown();
            }
            "bwrap" => {
                self.bubble(args, world, stdin);
                return Stream::unknown();
            }
            "basename" | "dirname" => {
                let parsed = Args::parse(args, "s", &["suffix"], false);
                if let Some(path) = parsed.operands.first() {
                    return Stream::of_items(vec![match name {
                        "basename" => path.file_name(),
                        _ => path.folder(),
                    }]);
                }
            }
            "realpath" | "readlink" => {
                let parsed = Args::parse(args, "", &["relative-to"], false);
                if let Some(path) = parsed.operands.first() {
                    return Stream::of_items(vec![world.absolute(path)]);
                }
            }
            "mktemp" => return self.mktemp(args, world),
            "ls" => {
                let parsed = Args::parse(args, "ITw", &[], false);
                let dirs = match parsed.operands.is_empty() {
                    true => vec![Field::text(".")],
                    false => parsed.operands,
                };
                let below = |d: Field| d.join(Field::text("/")).join(Field::unknown());
                return Stream::of_items(dirs.into_iter().map(below).collect());
            }
            "mkdir" => {
                let parsed = Args::parse(args, "mZ", &["mode", "context"], false);
                for path in parsed.operands.iter().filter_map(|f| world.path(f)) {
                    let ancestors: Vec<_> =
                        path.ancestors().map(std::path::Path::to_owned).collect();
                    self.made.extend(ancestors);
                }
            }
            "tree" => {
                let parsed = Args::parse(args, "oLPIH", &[], false);
                parsed
                    .values(&["o"])
                    .for_each(|f| self.change(f, world, "tree -o"));
            }
            _ => {}
        }
        if matches!(name, "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack") {
            return self.printed_by(args, world);
        }
        if !self.writer(name, args, world, stdin) && super::writers::WITH_OUTPUT.contains(&name) {
            let parsed = Args::parse(args, "o", &["output", "outfile"], false);
            let names = ["o", "output", "outfile"];
            parsed
                .values(&names)
                .for_each(|f| self.change(f, world, &format!("{name} -o")));
        }
        Stream::unknown()
    }

    /// `tee` and filters pass on what they read, perhaps less of it.
    fn filters(&mut self, name: &str, args: &[Field], world: &World) -> bool {
        let parsed = Args::parse(
            args,
            "nckotSTABCmefdD",
            &["lines", "bytes", "output", "key"],
            false,
        );
        match name {
            "tee" => {
                parsed
                    .operands
                    .iter()
                    .for_each(|f| self.change(f, world, "tee"));
                true
            }
            "sort" => {
                parsed
                    .values(&["o", "output"])
                    .for_each(|f| self.change(f, world, "sort -o"));
                parsed.operands.is_empty()
            }
            "uniq" => {
                if let Some(out) = parsed.operands.get(1) {
                    self.change(out, world, "uniq");
                }
                parsed.operands.is_empty()
            }
            "grep" | "egrep" | "rg" => {
                let pattern = usize::from(!parsed.has(&["e", "f"]));
                parsed.operands.len() <= pattern
                    && !parsed.has(&["r", "R", "recursive", "l", "files"])
                    && name != "rg"
            }
            _ => parsed.operands.is_empty(),
        }
    }

    /// The files that a search names.
    fn printed_by(&mut self, args: &[Field], world: &World) -> Stream {
        let parsed = Args::parse(
            args,
            "efgtTABCmM",
            &["regexp", "file", "glob", "type", "include", "exclude"],
            false,
        );
        if !parsed.has(&["l", "files-with-matches", "L", "files", "c"]) {
            return Stream::unknown();
        }
        let skip = usize::from(!parsed.has(&["e", "regexp", "f", "files"]));
        let roots = parsed.operands.get(skip..).unwrap_or_default();
        let is_file =
            |path: std::path::PathBuf| self.at.disk.exists(&path) && !self.at.disk.is_dir(&path);
        let hit = |root: &Field| match world.path(root).is_some_and(is_file) {
            true => root.clone(),
            false => root.clone().join(Field::text("/")).join(Field::unknown()),
        };
        match roots.is_empty() {
            true => Stream::of_items(vec![Field::text("./").join(Field::unknown())]),
            false => Stream::of_items(roots.iter().map(hit).collect()),
        }
    }

    fn echo(&mut self, args: &[Field]) -> Stream {
        let flag = |a: &&Field| {
            let text = a.known().unwrap_or_default();
            text.len() > 1 && text.starts_with('-') && text[1..].chars().all(|c| "neE".contains(c))
        };
        let flags = args.iter().take_while(flag).count();
        let escapes = args[..flags].iter().any(|f| f.start().contains('e'));
        let words = &args[flags..];
        let known: Option<Vec<String>> = words.iter().map(Field::known).collect();
        match known {
            Some(words) => {
                let text = words.join(" ");
                Stream::of_text(if escapes {
                    super::words::ansi_c(&text)
                } else {
                    text
                })
            }
            None => Stream::of_items(words.to_vec()),
        }
    }

    fn printf(&mut self, args: &[Field], world: &World) -> Stream {
        let _ = world;
        let Some((format, rest)) = args.split_first() else {
            return Stream::default();
        };
        let known: Option<Vec<String>> = rest.iter().map(Field::known).collect();
        let (Some(format), Some(words)) = (format.known(), known) else {
            return Stream::of_items(rest.to_vec());
        };
        if format.starts_with("-v") {
            return Stream::default();
        }
        let format = super::words::ansi_c(&format);
        let once = |words: &mut std::slice::Iter<'_, String>| {
            let mut out = String::new();
            let mut chars = format.chars().peekable();
            while let Some(c) = chars.next() {
                if c != '%' {
                    out.push(c);
                    continue;
                }
                let mut kind = chars.next();
                while kind.is_some_and(|k| "-+ 0#.123456789*".contains(k)) {
                    kind = chars.next();
                }
                match kind {
                    Some('%') => out.push('%'),
                    Some('b') => {
                        out.push_str(&super::words::ansi_c(words.next().map_or("", |w| w)))
                    }
                    Some(_) => out.push_str(words.next().map_or("", |w| w)),
                    None => {}
                }
            }
            out
        };
        let mut left = words.iter();
        let mut text = once(&mut left);
        for _ in 0..64 {
            let before = left.len();
            if before == 0 {
                break;
            }
            text.push_str(&once(&mut left));
            if left.len() == before {
                break;
            }
        }
        Stream::of_text(text)
    }

    fn mktemp(&mut self, args: &[Field], world: &World) -> Stream {
        let parsed = Args::parse(args, "p", &["tmpdir", "suffix"], false);
        let scratch = Field::text(self.at.scratch.to_string_lossy());
        let dir = parsed.value(&["p", "tmpdir"]).cloned();
        let path = match (parsed.operands.first(), dir) {
            (Some(template), Some(dir)) => dir.join(Field::text("/")).join(template.clone()),
            (Some(template), None) if parsed.has(&["t"]) => {
                scratch.join(Field::text("/")).join(template.clone())
            }
            (Some(template), None) => template.clone(),
            (None, dir) => dir
                .unwrap_or(scratch)
                .join(Field::text("/tmp."))
                .join(Field::unknown()),
        };
        // The last letters are made up.
        let path = match path.known() {
            Some(text) if text.contains("XXX") => {
                let start = text.split("XXX").next().unwrap_or_default();
                Field::text(start).join(Field::unknown())
            }
            _ => path,
        };
        if !parsed.has(&["u", "dry-run", "d", "directory"]) {
            self.change(&path, world, "mktemp");
        }
        Stream::of_items(vec![path])
    }

    /// Where the files `from` come to lie when they are put to `to`.
    pub(super) fn place_into(
        &mut self,
        to: &Field,
        from: &[Field],
        world: &World,
        how: &str,
        with_content: bool,
    ) {
        let path = world.path(to);
        let is_dir = from.len() > 1
            || to
                .known()
                .is_some_and(|t| t.ends_with('/') || t == "." || t == "..")
            || path.is_some_and(|p| self.at.disk.is_dir(&p) || self.made.contains(&p));
        for source in from {
            let whole = with_content || world.path(source).is_some_and(|p| self.at.disk.is_dir(&p));
            let target = match is_dir {
                true => {
                    let name = source.file_name();
                    if matches!(name.known().as_deref(), Some("." | ".." | "")) {
                        self.below(to, world, how);
                        continue;
                    }
                    to.clone().join(Field::text("/")).join(name)
                }
                false => to.clone(),
            };
            self.change(&target, world, how);
            if whole {
                self.below(&target, world, how);
            }
        }
    }
}
