//! Programs in other languages on a command line: sed and awk are read, the texts of general
//! interpreters are searched for what writes and for the paths they name.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    args::{Args, as_line},
    notes::looks_like_path,
    stream::Stream,
    walk::Walker,
    world::{Field, World},
};

/// How an interpreter takes its program.
struct Interpreter {
    /// What its name begins with; digits and dots may follow.
    name: &'static str,
    /// Options whose value is program text.
    code: &'static [&'static str],
    /// Letters of options that take a value, those of `code` too.
    values: &'static str,
}

const INTERPRETERS: [Interpreter; 26] = [
    Interpreter {
        name: "python",
        code: &["c"],
        values: "cmWX",
    },
    Interpreter {
        name: "pypy",
        code: &["c"],
        values: "cmWX",
    },
    Interpreter {
        name: "node",
        code: &["e", "p", "eval", "print"],
        values: "eprC",
    },
    Interpreter {
        name: "nodejs",
        code: &["e", "p", "eval", "print"],
        values: "epr",
    },
    Interpreter {
        name: "bun",
        code: &["e", "p", "eval", "print"],
        values: "ep",
    },
    Interpreter {
        name: "deno",
        code: &["eval"],
        values: "",
    },
    Interpreter {
        name: "tsx",
        code: &["e", "eval"],
        values: "e",
    },
    Interpreter {
        name: "perl",
        code: &["e", "E"],
        values: "eEIMm",
    },
    Interpreter {
        name: "ruby",
        code: &["e"],
        values: "eIrCEF",
    },
    Interpreter {
        name: "php",
        code: &["r", "B", "R", "E"],
        values: "rBREdcf",
    },
    Interpreter {
        name: "lua",
        code: &["e"],
        values: "el",
    },
    Interpreter {
        name: "luajit",
        code: &["e"],
        values: "el",
    },
    Interpreter {
        name: "Rscript",
        code: &["e"],
        values: "e",
    },
    Interpreter {
        name: "julia",
        code: &["e", "E", "eval"],
        values: "eE",
    },
    Interpreter {
        name: "tclsh",
        code: &[],
        values: "",
    },
    Interpreter {
        name: "groovy",
        code: &["e"],
        values: "e",
    },
    Interpreter {
        name: "elixir",
        code: &["e", "eval"],
        values: "er",
    },
    Interpreter {
        name: "racket",
        code: &["e"],
        values: "e",
    },
    Interpreter {
        name: "guile",
        code: &["c"],
        values: "c",
    },
    Interpreter {
        name: "scala",
        code: &["e"],
        values: "e",
    },
    Interpreter {
        name: "raku",
        code: &["e"],
        values: "e",
    },
    Interpreter {
        name: "swift",
        code: &["e"],
        values: "e",
    },
    Interpreter {
        name: "sbcl",
        code: &["eval"],
        values: "",
    },
    Interpreter {
        name: "qjs",
        code: &["e"],
        values: "e",
    },
    Interpreter {
        name: "R",
        code: &["e"],
        values: "e",
    },
    Interpreter {
        name: "osascript",
        code: &["e"],
        values: "el",
    },
];

/// Words in a program that may write, delete or run something.
static WRITES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        \bwrite | Write | \bunlink | \bremove | \brename | \bmkdir | \brmdir | rmtree | \btouch\b
        | \btruncate | \bcopy | \bcp\( | cpSync | \bmove\b | symlink | \blink\( | chmod | chown
        | \bos\.replace | \brm\( | rmSync | \bdelete\b | \bdump\( | \bsave | \bto_csv | to_json
        | to_excel | to_parquet | extractall | extract\( | put_contents | \bfput | \bfwrite | \bPut
        | \bsystem\b | \bpopen | subprocess | \bexec | \beval\b | \bspawn | child_process | \bqx\b
        | %x | \bcompile\( | __import__ | importlib | getattr | ctypes | \bchr\( | fromCharCode
        | b64decode | atob\( | decode\( | fileinput | inplace | \$\^I | \bsh\( | \bfork\b | syscall
        | \bshell | Process | Deno\. | Bun\. | \bFile\.open | \bopen\s*\(?\s*(?:my\s*)?[\$A-Z]
        | ["'](?:[wax]b?\+?t?|r\+b?|rb\+|w\+b?|a\+b?)["'] | ["']\s*\+?>{1,2} | \bopen\([^)]*,\s*[^)"']
        | \.text\s*= | appendFile | createWriteStream | \bfs\.
        | (?i:\b(?:set|add|clear|remove|move|copy|rename|new|out|start|invoke)-\w+)
        "#,
    )
    .ok()
});

/// Places in a program where the path that it writes stands right in the call.
static CALLS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    const QUOTED: &str = r#"[a-zA-Z]{0,2}["']([^"'\n{}$]+)["']"#;
    [
        format!(r#"\bopen\(\s*{QUOTED}\s*,\s*(?:mode\s*=\s*)?["'](?:[wax]|r\+|rb\+|\+)"#),
        format!(r#"Path\(\s*{QUOTED}\s*\)\.(?:write_|unlink|touch|rename|replace|open\(\s*["'][wax]|chmod|symlink_to)"#),
        format!(r#"\b(?:os|fs|shutil|FileUtils|File|Deno|fsp|promises)\.(?:remove|unlink|unlinkSync|rm|rmSync|rm_f|rm_rf|rmtree|truncate|truncateSync|writeFile|writeFileSync|appendFile|appendFileSync|write|writeTextFile|writeTextFileSync|createWriteStream|chmod|chmodSync|delete|touch|rename|renameSync|replace|move|mkfifo|utime)\(\s*{QUOTED}"#),
        format!(r#"\b(?:os|fs|shutil|FileUtils|File|Deno)\.(?:rename|renameSync|replace|copy|copy2|copyfile|copyFileSync|copyFile|cpSync|move|cp|mv|ln_s|symlink|symlinkSync|link|linkSync|copytree)\(\s*[^,]+,\s*{QUOTED}"#),
        format!(r#"\b(?:writeFileSync|appendFileSync|writeFile|createWriteStream|rmSync|unlinkSync|file_put_contents|unlink|Bun\.write|copyFileSync|truncateSync)\s*\(?\s*{QUOTED}"#),
        format!(r#"\bFile\.(?:write|open|new)\(?\s*{QUOTED}\s*,\s*["'](?:[wa]|r\+)?"#),
        format!(r#"\bopen\s*\(?\s*(?:my\s*)?[^,\n]+,\s*["']\+?>{{1,2}}["']\s*,\s*{QUOTED}"#),
        r#"\bopen\s*\(?\s*(?:my\s*)?[^,\n]+,\s*["']\+?>{1,2}\s*([^"'$\n]+)["']"#.to_owned(),
    ]
    .iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});

/// Short names and signs of PowerShell that write; its long names stand in [`WRITES`].
static POWERSHELL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r">|(?i:\b(?:sc|ac|ni|ri|rni|mi|ci|cpi|clc|del|erase|rd|rm|rmdir|md|mv|ren|cp|tee|iex|saps|export-\w+)\b)")
        .ok()
});

/// Writing that touches no file.
static HARMLESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:std(?:out|err)(?:\.buffer)?|process\.stdout|process\.stderr)\.write|console\.\w+|\bcopy\.(?:deep)?copy|\.copy\(\)|re\.compile\(|\.decode\(|[0-9*]?>&[0-9]|[0-9*]?>\s*(?:\$null|/dev/null)")
        .ok()
});

static CHDIR: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\b(?:chdir|cd)\s*\(?\s*["']([^"'\n]+)["']"#).ok());

static QUOTED_TEXT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#""([^"\n]*)"|'([^'\n]*)'|`([^`\n]*)`"#).ok());

impl Walker<'_> {
    /// Reads the call of an interpreter, sed or awk; `None` when it is none of them.
    pub(super) fn script(
        &mut self,
        name: &str,
        args: &[Field],
        world: &World,
        stdin: &Stream,
    ) -> Option<Stream> {
        match name {
            "sed" | "gsed" => return Some(self.sed(args, world)),
            "awk" | "gawk" | "mawk" | "nawk" => return Some(self.awk(args, world)),
            _ => {}
        }
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        let plain = match plain.trim_end_matches(".exe") {
            "powershell" => "pwsh",
            other => other,
        };
        if plain == "pwsh" {
            self.powershell(args, world, stdin);
            return Some(Stream::unknown());
        }
        let interpreter = INTERPRETERS.iter().find(|i| i.name == plain)?;
        let (args, code_word) = match (
            interpreter.name,
            args.first().and_then(Field::known).as_deref(),
        ) {
            ("deno", Some("eval")) => (&args[1..], true),
            _ => (args, false),
        };
        let parsed = Args::parse(args, interpreter.values, &["eval", "print"], true);
        // perl and ruby edit files in place.
        let in_place = matches!(interpreter.name, "perl" | "ruby") && parsed.has(&["i"]);
        if in_place {
            for file in &parsed.operands {
                self.change(file, world, &format!("{name} -i"));
            }
        }
        if let Some(module) = parsed
            .value(&["m"])
            .filter(|_| interpreter.values.contains('m') && plain.starts_with("py"))
        {
            return Some(self.module(module, args, world, stdin));
        }
        let mut texts: Vec<Field> = parsed.values(interpreter.code).cloned().collect();
        if code_word {
            texts.extend(parsed.operands.first().cloned());
        }
        let script = parsed.operands.first();
        let fed = self.piped_script(script, stdin);
        let stdin = fed.as_ref().unwrap_or(stdin);
        let from_input = script.is_none_or(|s| {
            s.known()
                .is_some_and(|s| s == "-" || s.starts_with("/dev/"))
        });
        if texts.is_empty() {
            let asks = parsed.has(&["version", "help", "V", "v", "h", "check"]);
            match (&stdin.text, from_input) {
                (Some(text), true) => texts.push(Field::text(text.clone())),
                (None, true) if stdin.decoded => {
                    self.hidden("what it runs, since it is decoded first");
                }
                (None, true) if stdin.piped && !asks => {
                    self.runs_unknown(&format!("what {name} runs"))
                }
                (None, true) if !asks => self.waits(),
                _ => {}
            }
        }
        for text in texts {
            match text.known() {
                Some(text) => self.program(interpreter.name, &text, world, stdin),
                None => {
                    let known = as_line(std::slice::from_ref(&text));
                    self.mention_text(&known, world);
                    self.runs_unknown(&format!("what {name} runs"));
                }
            }
        }
        Some(Stream::unknown())
    }

    /// PowerShell: options have one dash, any case, and may be cut short; what follows `-Command`
    /// is program text to the end.
    fn powershell(&mut self, args: &[Field], world: &World, stdin: &Stream) {
        let option = |field: &Field| {
            let start = field.start().to_lowercase();
            start.strip_prefix(['-', '/']).map(str::to_owned)
        };
        let cut = |name: &str, full: &str| !name.is_empty() && full.starts_with(name);
        let text = args.iter().enumerate().find_map(|(at, field)| {
            let name = option(field)?;
            if name == "ec" || cut(&name, "encodedcommand") {
                return Some(None);
            }
            let rest = args.get(at + 1..).unwrap_or_default();
            let input = rest.first().is_some_and(|f| f.start() == "-");
            (cut(&name, "command") && !input).then_some(Some(rest))
        });
        match text {
            Some(None) => self.hidden("what it runs, since it is decoded first"),
            Some(Some(rest)) => {
                let line = as_line(rest);
                if rest.iter().any(|f| f.known().is_none()) {
                    self.mention_text(&line, world);
                    self.unresolved("what PowerShell runs");
                }
                self.program("pwsh", &line, world, stdin);
            }
            None if stdin.decoded => self.hidden("what it runs, since it is decoded first"),
            None => {
                // Without `-Command`, a word may be a script or a text.
                let words: Vec<Field> = args
                    .iter()
                    .filter(|f| option(f).is_none())
                    .cloned()
                    .collect();
                let line = match (&stdin.text, words.is_empty()) {
                    (Some(text), true) => text.clone(),
                    _ => as_line(&words),
                };
                self.program("pwsh", &line, world, stdin);
                if words.is_empty() && stdin.piped && stdin.text.is_none() {
                    self.unresolved("what PowerShell runs");
                }
            }
        }
    }

    /// `python -m name`: some modules are commands that are known.
    fn module(&mut self, module: &Field, args: &[Field], world: &World, stdin: &Stream) -> Stream {
        let at = args
            .iter()
            .position(|a| a == module)
            .map_or(args.len(), |at| at + 1);
        let rest = args.get(at..).unwrap_or_default();
        let Some(name) = module.known() else {
            return Stream::unknown();
        };
        match name.as_str() {
            "json.tool" => {
                let parsed = Args::parse(rest, "", &["indent"], false);
                if let Some(out) = parsed.operands.get(1) {
                    self.change(out, world, "json.tool");
                }
            }
            "venv" | "virtualenv" => rest.iter().for_each(|dir| {
                if !dir.start().starts_with('-') {
                    self.below(dir, world, "venv");
                }
            }),
            "zipfile" | "tarfile" => {
                let parsed = Args::parse(rest, "", &[], false);
                if parsed.has(&["e", "extract"]) {
                    let dir = parsed.operands.get(1).cloned();
                    self.below(&dir.unwrap_or(Field::text(".")), world, &name);
                }
            }
            "base64" => return Stream::decoded(),
            _ => return self.files_of(&name, rest, world, stdin),
        }
        Stream::unknown()
    }

    /// Searches a program text.
    pub(super) fn program(&mut self, language: &str, text: &str, world: &World, stdin: &Stream) {
        let cleaned = match &*HARMLESS {
            Some(regex) => regex.replace_all(text, "").into_owned(),
            None => text.to_owned(),
        };
        let redirects = match language {
            "perl" | "ruby" | "php" | "lua" | "Rscript" => {
                ["`", "'>", "\">"].iter().any(|sign| cleaned.contains(sign))
            }
            "pwsh" => POWERSHELL.as_ref().is_none_or(|r| r.is_match(&cleaned)),
            _ => false,
        };
        let writes = WRITES.as_ref().is_none_or(|regex| regex.is_match(&cleaned)) || redirects;
        if !writes {
            return;
        }
        if language == "pwsh" {
            // Its words need no quotes, and either slash parts a path.
            self.mention_text(&text.replace('\\', "/"), world);
        }
        // A program that goes elsewhere names its files from there.
        let mut worlds = vec![world.clone()];
        for dir in CHDIR.iter().flat_map(|regex| regex.captures_iter(text)) {
            let mut inner = world.clone();
            inner.enter(&Field::text(dir.get(1).map_or("", |m| m.as_str())));
            worlds.push(inner);
        }
        for (regex, world) in CALLS
            .iter()
            .flat_map(|regex| worlds.iter().map(move |world| (regex, world)))
        {
            for call in regex.captures_iter(&cleaned) {
                if let Some(path) = call.get(1) {
                    let path = Field::text(path.as_str());
                    // Of a folder, all that lies in it.
                    let dir = world.path(&path).is_some_and(|p| self.at.disk.is_dir(&p));
                    match dir {
                        true => self.delete(&path, world, language),
                        false => self.change(&path, world, language),
                    }
                }
            }
        }
        let mut quoted = Vec::new();
        for hit in QUOTED_TEXT
            .iter()
            .flat_map(|regex| regex.captures_iter(text))
        {
            let inner = hit
                .iter()
                .skip(1)
                .flatten()
                .next()
                .map_or("", |m| m.as_str());
            // What is put in between braces is not known, the rest is.
            let inner = match inner.find(['{', '$']) {
                Some(at) if inner[..at].ends_with('/') => format!("{}x", &inner[..at]),
                Some(_) => continue,
                None => inner.to_owned(),
            };
            if inner.contains(['*', '?']) && looks_like_path(&inner.replace(['*', '?'], "x")) {
                quoted.extend(self.expand(&inner, &mut world.clone()));
            } else if looks_like_path(&inner) {
                quoted.push(Field::text(inner));
            } else {
                // A command line inside the program.
                self.mention_text(&inner, world);
            }
        }
        worlds.iter().for_each(|world| self.mention(&quoted, world));
        if let Some(items) = &stdin.items {
            self.mention(items, world);
        }
        self.unresolved(&format!("what the {language} program changes"));
    }

    fn sed(&mut self, args: &[Field], world: &World) -> Stream {
        let long = ["expression", "file", "line-length"];
        // `-i` takes its suffix only when it is attached.
        let mut in_place = None;
        let mut rest = Vec::new();
        for arg in args {
            let start = arg.start();
            let attached = start
                .strip_prefix("--in-place")
                .map(|s| s.trim_start_matches('=').to_owned())
                .or_else(|| in_place_letter(&start));
            match attached {
                Some(suffix) => {
                    in_place = Some(suffix);
                    if start.contains('n') && !start.starts_with("--") {
                        rest.push(Field::text("-n"));
                    }
                }
                None => rest.push(arg.clone()),
            }
        }
        let parsed = Args::parse(&rest, "efl", &long, false);
        let mut scripts: Vec<Field> = parsed.values(&["e", "expression"]).cloned().collect();
        let mut files = parsed.operands.as_slice();
        if !parsed.has(&["f", "file"])
            && scripts.is_empty()
            && let Some((script, more)) = files.split_first()
        {
            // BSD's `-i ''` gives the suffix apart.
            let (script, more) = match (script.is_empty(), more.split_first()) {
                (true, Some((script, more))) if in_place.is_some() => (script, more),
                _ => (script, more),
            };
            scripts.push(script.clone());
            files = more;
        }
        if let Some(suffix) = in_place {
            for file in files.iter().filter(|f| !f.is_empty()) {
                self.change(file, world, "sed -i");
                if !suffix.is_empty() && !suffix.contains(['*', '/']) {
                    self.change(
                        &file.clone().join(Field::text(suffix.clone())),
                        world,
                        "sed -i",
                    );
                }
            }
        }
        for script in scripts {
            let Some(text) = script.known() else {
                continue;
            };
            for act in sed_acts(&text) {
                match act {
                    SedAct::Write(file) => self.change(&Field::text(file), world, "sed w"),
                    SedAct::Run(text) => {
                        self.run_apart(&text, world, &Stream::default());
                    }
                    SedAct::RunInput => self.unresolved("what sed runs"),
                }
            }
        }
        Stream::unknown()
    }

    fn awk(&mut self, args: &[Field], world: &World) -> Stream {
        let parsed = Args::parse(
            args,
            "fvFioLl",
            &["file", "assign", "field-separator", "include"],
            true,
        );
        let (program, files) = match parsed.has(&["f", "file"]) {
            true => (None, parsed.operands.as_slice()),
            false => match parsed.operands.split_first() {
                Some((program, files)) => (Some(program), files),
                None => return Stream::unknown(),
            },
        };
        if parsed
            .values(&["i", "include"])
            .any(|f| f.start() == "inplace")
        {
            files
                .iter()
                .for_each(|f| self.change(f, world, "awk -i inplace"));
        }
        let Some(program) = program else {
            return Stream::unknown();
        };
        let Some(text) = program.known() else {
            self.unresolved("what awk runs");
            return Stream::unknown();
        };
        static TO_FILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r#"\bprintf?\b[^;}\n]*?>{1,2}\s*(?:"([^"]*)"|([^"\s;}]+))"#).ok()
        });
        static TO_COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r#"\bsystem\s*\(\s*(?:"([^"]*)"\s*\))?|\|&?\s*(?:"([^"]*)"|getline|\w+)|"([^"]*)"\s*\|\s*getline"#).ok()
        });
        for hit in TO_FILE.iter().flat_map(|r| r.captures_iter(&text)) {
            match (hit.get(1), hit.get(2)) {
                (Some(file), _) => self.change(&Field::text(file.as_str()), world, "awk >"),
                _ => self.unresolved("which file awk writes"),
            }
        }
        // `||` is an operator and no pipe.
        let piped = text.replace("||", "  ");
        for hit in TO_COMMAND.iter().flat_map(|r| r.captures_iter(&piped)) {
            match hit.iter().skip(1).flatten().next() {
                Some(line) => {
                    self.run_apart(line.as_str(), world, &Stream::unknown());
                }
                None => self.unresolved("what awk runs"),
            }
        }
        Stream::unknown()
    }
}

/// `-i`, `-i.bak`, `-ni`, `-Ei.bak`: the suffix behind the letter.
fn in_place_letter(start: &str) -> Option<String> {
    let letters = start.strip_prefix('-').filter(|l| !l.starts_with('-'))?;
    for (at, letter) in letters.char_indices() {
        match letter {
            'i' => return Some(letters[at + 1..].to_owned()),
            // These take the rest as their value.
            'e' | 'f' | 'l' => return None,
            _ => {}
        }
    }
    None
}

enum SedAct {
    Write(String),
    Run(String),
    /// `e` alone, or as a flag of `s`: what is in the buffer is run.
    RunInput,
}

/// The commands of a sed script that write or run something.
fn sed_acts(script: &str) -> Vec<SedAct> {
    let mut acts = Vec::new();
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    let until = |at: &mut usize, end: &dyn Fn(char) -> bool| -> String {
        let from = *at;
        while chars.get(*at).is_some_and(|c| !end(*c)) {
            *at += 1;
        }
        chars[from..*at].iter().collect()
    };
    // To the delimiter that is neither escaped nor in a class.
    let delimited = |at: &mut usize, delimiter: char| {
        let mut class = false;
        while let Some(c) = chars.get(*at) {
            *at += 1;
            match *c {
                '\\' => *at += 1,
                '[' => class = true,
                ']' => class = false,
                c if c == delimiter && !class => return,
                '\n' if class => class = false,
                _ => {}
            }
        }
    };
    let line_end = |c: char| c == '\n';
    while at < chars.len() {
        match chars[at] {
            c if c.is_whitespace() || ";{}!,".contains(c) || "0123456789$~+".contains(c) => at += 1,
            '/' => {
                at += 1;
                delimited(&mut at, '/');
                while chars.get(at).is_some_and(|c| matches!(c, 'I' | 'M')) {
                    at += 1;
                }
            }
            '\\' => {
                let delimiter = chars.get(at + 1).copied().unwrap_or('/');
                at += 2;
                delimited(&mut at, delimiter);
            }
            's' | 'y' => {
                let kind = chars[at];
                let delimiter = chars.get(at + 1).copied().unwrap_or('/');
                at += 2;
                delimited(&mut at, delimiter);
                delimited(&mut at, delimiter);
                if kind == 'y' {
                    continue;
                }
                while let Some(flag) = chars.get(at) {
                    match flag {
                        'w' => {
                            at += 1;
                            let file = until(&mut at, &line_end);
                            acts.push(SedAct::Write(file.trim().to_owned()));
                            break;
                        }
                        'e' => {
                            acts.push(SedAct::RunInput);
                            at += 1;
                        }
                        c if c.is_ascii_alphanumeric() => at += 1,
                        _ => break,
                    }
                }
            }
            'w' | 'W' => {
                at += 1;
                let file = until(&mut at, &line_end);
                acts.push(SedAct::Write(file.trim().to_owned()));
            }
            'e' => {
                at += 1;
                let text = until(&mut at, &line_end);
                acts.push(match text.trim() {
                    "" => SedAct::RunInput,
                    text => SedAct::Run(text.to_owned()),
                });
            }
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => {
                until(&mut at, &line_end);
            }
            'b' | 't' | 'T' | ':' => {
                until(&mut at, &|c| c == '\n' || c == ';');
            }
            _ => at += 1,
        }
    }
    acts
}
