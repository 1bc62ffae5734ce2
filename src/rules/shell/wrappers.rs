//! Builtins that change the shell, and commands that run others.

use super::{
    args::{Args, as_line},
    bounds::{COMMAND, MAX_LEVEL, TOO_DEEP},
    stream::Stream,
    walk::Walker,
    world::{Callable, Field, Part, World},
};

/// Variables that would move the store or switch the guard off.
fn relocates(name: &str) -> bool {
    name.starts_with("INVAR_")
}

/// Commands that decode what someone has encoded.
const DECODERS: [&str; 12] = [
    "base64", "base32", "basenc", "xxd", "openssl", "uudecode", "rev", "tr", "gpg", "zcat",
    "gunzip", "od",
];

/// A command that runs its operands: its name, the letters and names of its options that take a
/// value, and how many operands come before the command.
const RUNNERS: [(&str, &str, &[&str], usize); 52] = [
    (
        "sudo",
        "ugpCchDRrTtU",
        &["user", "group", "prompt", "chdir", "host", "role", "type"],
        0,
    ),
    ("doas", "uC", &[], 0),
    ("nice", "n", &["adjustment"], 0),
    ("ionice", "cnpPu", &["class", "classdata"], 0),
    ("nohup", "", &[], 0),
    ("setsid", "", &[], 0),
    ("stdbuf", "ioe", &["input", "output", "error"], 0),
    ("unbuffer", "", &[], 0),
    ("timeout", "ks", &["kill-after", "signal"], 1),
    ("gtimeout", "ks", &["kill-after", "signal"], 1),
    ("time", "fo", &["format", "output"], 0),
    ("command", "", &[], 0),
    ("builtin", "", &[], 0),
    ("exec", "a", &[], 0),
    ("strace", "oeabIOpPsSuUX", &["output"], 0),
    ("ltrace", "oealnpsuAFSx", &["output"], 0),
    ("valgrind", "", &[], 0),
    ("catchsegv", "", &[], 0),
    ("unshare", "", &[], 0),
    ("nsenter", "tSG", &["target"], 0),
    ("taskset", "", &[], 1),
    ("chrt", "", &[], 1),
    ("numactl", "NmCpil", &[], 0),
    ("prlimit", "", &[], 0),
    ("setarch", "", &[], 1),
    ("linux32", "", &[], 0),
    ("linux64", "", &[], 0),
    ("fakeroot", "", &[], 0),
    ("faketime", "", &[], 1),
    ("cpulimit", "lpe", &["limit"], 0),
    ("caffeinate", "tw", &[], 0),
    (
        "systemd-run",
        "pEu",
        &["unit", "property", "setenv", "working-directory"],
        0,
    ),
    ("systemd-inhibit", "", &["what", "who", "why", "mode"], 0),
    ("proxychains", "f", &[], 0),
    ("proxychains4", "f", &[], 0),
    ("torsocks", "", &[], 0),
    ("rlwrap", "", &[], 0),
    ("dbus-run-session", "", &[], 0),
    ("xvfb-run", "ens", &["server-args"], 0),
    ("firejail", "", &[], 0),
    ("busybox", "", &[], 0),
    ("toybox", "", &[], 0),
    ("npx", "p", &["package"], 0),
    ("bunx", "", &[], 0),
    ("uvx", "", &["from", "with", "python"], 0),
    ("pipx", "", &[], 1),
    ("direnv", "", &[], 2),
    ("rtk", "", &[], 0),
    ("parallel", "jSN", &["jobs"], 0),
    ("entr", "", &[], 0),
    ("chronic", "", &[], 0),
    ("shx", "", &[], 0),
];

/// Tools whose second word runs what follows: `uv run`, `poetry run` and so on.
const SUBRUNNERS: [(&str, &[&str]); 14] = [
    ("uv", &["run"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("pdm", &["run"]),
    ("hatch", &["run"]),
    ("rye", &["run"]),
    ("bundle", &["exec"]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("mise", &["exec", "x"]),
    ("asdf", &["exec"]),
    ("rustup", &["run"]),
    ("op", &["run"]),
];

const SHELLS: [&str; 10] = [
    "sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash", "yash",
];

impl Walker<'_> {
    /// Setting the variable would move the store or end the guard.
    pub(super) fn check_variable(&mut self, name: &str) {
        if relocates(name) {
            self.rule_change(&format!("set {name}, which is for people"));
        }
    }

    /// Runs a command that is spelled out.
    pub(super) fn invoke(
        &mut self,
        argv: &[Field],
        declared: &[(String, Vec<Field>)],
        world: World,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        if !self.charge(COMMAND / 4 + 60 * argv.len()) {
            return (vec![world], Stream::unknown());
        }
        if self.level == MAX_LEVEL {
            self.not_followed(TOO_DEEP);
            return (vec![world], Stream::unknown());
        }
        self.level += 1;
        let after = self.invoke_here(argv, declared, world, stdin);
        self.level -= 1;
        after
    }

    fn invoke_here(
        &mut self,
        argv: &[Field],
        declared: &[(String, Vec<Field>)],
        mut world: World,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        let Some((name, args)) = argv.split_first() else {
            return (vec![world], Stream::default());
        };
        let Some(name) = name.known() else {
            self.mention(args, &world);
            if self.decoded > self.decoded_before {
                self.runs_unknown("which command it runs");
            }
            // `$PYTHON script.py` is a program like any other, `$(…) file` is not.
            self.unresolved("which command it runs");
            return (vec![world], Stream::unknown());
        };
        if let Some(meanings) = world.functions.get(&name).cloned() {
            return self.call_any(&meanings, argv, declared, world, stdin);
        }
        let base = name.rsplit('/').next().unwrap_or(&name).to_owned();
        self.mention(args, &world);
        self.notice_waiting(&base, args, stdin);
        let printed = match base.as_str() {
            "exit" => return (Vec::new(), Stream::default()),
            "cd" | "pushd" | "chdir" => {
                let args = Args::parse(args, "", &[], true);
                let target = match args.operands.first() {
                    Some(dir) if dir.known().as_deref() == Some("-") => {
                        let old = world.vars.get("OLDPWD").and_then(|v| v.first());
                        old.cloned().unwrap_or_else(Field::unknown)
                    }
                    Some(dir) => dir.clone(),
                    None => {
                        let home = world.vars.get("HOME").and_then(|v| v.first());
                        home.cloned().unwrap_or_else(Field::unknown)
                    }
                };
                if base == "pushd" {
                    let here = world.cwd.clone();
                    world.vars.entry("_dirs".into()).or_default().push(here);
                }
                world.enter(&target);
                Stream::default()
            }
            "popd" => {
                let back = world.vars.get_mut("_dirs").and_then(Vec::pop);
                world.enter(&back.unwrap_or_else(Field::unknown));
                Stream::default()
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                for (name, value) in declared {
                    self.check_variable(name);
                    world.set(name, value.clone());
                }
                self.fix(&base, args, &mut world);
                Stream::default()
            }
            "unset" => {
                for name in args.iter().filter_map(Field::known) {
                    self.check_variable(&name);
                    world.functions.remove(&name);
                    world.set(&name, vec![Field::text("")]);
                }
                Stream::default()
            }
            "read" => {
                let args = Args::parse(args, "adinNptu", &[], false);
                let items = stdin.items.clone().unwrap_or_default();
                let value = match items.as_slice() {
                    [] => Field::unknown(),
                    [one] => one.clone(),
                    many => shared(many),
                };
                let names = args.operands.iter().chain(args.values(&["a"]));
                for name in names.filter_map(Field::known) {
                    world.set(&name, vec![value.clone()]);
                }
                Stream::default()
            }
            "mapfile" | "readarray" => {
                let args = Args::parse(args, "dnOsuCc", &[], false);
                let value = stdin.items.clone().unwrap_or(vec![Field::unknown()]);
                let name = args.operands.first().and_then(Field::known);
                world.set(&name.unwrap_or("MAPFILE".into()), value);
                Stream::default()
            }
            "enable" | "disable" => {
                self.restricted = true;
                Stream::default()
            }
            "set" => {
                self.restricted |= args.iter().any(|a| a.start().contains('r'));
                if let Some(at) = args.iter().position(|a| a.known().as_deref() == Some("--")) {
                    world.positional = Some(args[at + 1..].to_vec());
                }
                Stream::default()
            }
            "shift" => {
                if let Some(all) = &mut world.positional {
                    all.drain(..1.min(all.len()));
                }
                Stream::default()
            }
            "alias" => {
                for text in args.iter().filter_map(Field::known) {
                    if let Some((name, text)) = text.split_once('=') {
                        world.define(name, Callable::Alias(text.to_owned()));
                    }
                }
                Stream::default()
            }
            "eval" => return self.text_in_shell(args, world, stdin),
            "trap" => {
                self.trap(args, &mut world);
                Stream::default()
            }
            "source" | "." => match self.piped_script(args.first(), stdin) {
                Some(Stream {
                    text: Some(text), ..
                }) => {
                    return self.run(&text, vec![world], &Stream::default());
                }
                Some(fed) => {
                    self.shell_text(&world, &fed);
                    Stream::unknown()
                }
                None => Stream::unknown(),
            },
            "env" => return (vec![world.clone()], self.env(args, world, stdin)),
            "xargs" => {
                self.xargs(args, &world, stdin);
                Stream::unknown()
            }
            "find" | "gfind" => self.find(args, &world),
            "fd" | "fdfind" => self.fd(args, &world),
            "watch" => {
                let args = Args::parse(args, "nq", &["interval", "equexit"], true);
                self.run_apart(&as_line(&args.operands), &world, stdin);
                Stream::default()
            }
            "flock" => {
                let args = Args::parse(args, "wEc", &["timeout", "wait", "command"], true);
                if let Some(text) = args.value(&["c", "command"]).and_then(Field::known) {
                    self.run_apart(&text, &world, stdin);
                }
                let rest = args.operands.get(1..).unwrap_or_default();
                match rest.first().and_then(Field::known).as_deref() {
                    Some("-c" | "--command") => {
                        self.run_apart(&as_line(&rest[1..]), &world, stdin);
                    }
                    _ => {
                        self.invoke_plain(rest, &[], world.clone(), stdin);
                    }
                }
                Stream::unknown()
            }
            "su" | "runuser" | "script" | "nix-shell" | "nix" | "devbox" | "expect" => {
                let with_text = ["c", "command", "session-command", "run"];
                let parsed = Args::parse(args, "cgGsu", &with_text, false);
                for text in parsed.values(&with_text).filter_map(Field::known) {
                    self.run_apart(&text, &world, stdin);
                }
                if base == "script" {
                    for file in parsed.operands.iter().take(1) {
                        self.change(file, &world, "script");
                    }
                }
                Stream::unknown()
            }
            "ssh" => {
                // What runs elsewhere changes nothing here.
                let parsed = Args::parse(args, "bcDEeFIiJLlmOopQRSWw", &[], true);
                if let Some((host, command)) = parsed.operands.split_first() {
                    let host = host.start();
                    let host = host.rsplit('@').next().unwrap_or_default();
                    if matches!(host, "localhost" | "127.0.0.1" | "::1") {
                        let mut inner = world.clone();
                        inner.enter(&Field::unknown());
                        self.run_apart(&as_line(command), &inner, stdin);
                    }
                }
                Stream::unknown()
            }
            "at" | "batch" | "crontab" => {
                if let Some(text) = stdin.text.clone() {
                    self.run_apart(&text, &world, &Stream::default());
                }
                self.unresolved("what it does later, when nobody looks");
                Stream::default()
            }
            "tmux" | "screen" => {
                for text in args.iter().filter_map(Field::known) {
                    if text.contains(' ') {
                        self.run_apart(&text, &world, &Stream::default());
                    }
                }
                Stream::unknown()
            }
            shell if SHELLS.contains(&shell) => {
                self.shell(args, &world, stdin);
                Stream::unknown()
            }
            runner if RUNNERS.iter().any(|r| r.0 == runner) => {
                return self.runner(&base, args, world, stdin);
            }
            sub if SUBRUNNERS.iter().any(|r| r.0 == sub) => {
                let verbs = SUBRUNNERS
                    .iter()
                    .find(|r| r.0 == sub)
                    .map_or(&[][..], |r| r.1);
                let verb = args
                    .iter()
                    .position(|a| a.known().is_some_and(|text| verbs.contains(&text.as_str())));
                if let Some(at) = verb {
                    let rest =
                        Args::parse(&args[at + 1..], "", &["with", "python", "env-file"], true);
                    let rest = rest.operands;
                    return (
                        vec![world.clone()],
                        self.invoke_plain(&rest, &[], world, stdin).1,
                    );
                }
                Stream::unknown()
            }
            "invar" => {
                self.invar(args);
                Stream::unknown()
            }
            "pgrep" | "pidof" => {
                let mut own = args.iter().filter_map(Field::known);
                self.seeks_invar |= own.any(|text| text.contains("invar"));
                Stream::unknown()
            }
            "kill" | "pkill" | "killall" | "skill" | "systemctl" => {
                let mut own = args.iter().filter_map(Field::known);
                let any = args.iter().any(|a| a.known().is_none());
                if own.any(|text| text.contains("invar")) || (any && self.seeks_invar) {
                    self.rule_change("end invar, which guards this run");
                }
                Stream::default()
            }
            _ => match self.script(&base, args, &world, stdin) {
                Some(printed) => printed,
                None if base == "git" => self.git(args, &world),
                None if self.other_version_control(&base, args, &world) => Stream::unknown(),
                None => self.files_of(&base, args, &world, stdin),
            },
        };
        let printed = match DECODERS.contains(&base.as_str()) && decodes(&base, args) {
            true => Stream::decoded(),
            false => printed,
        };
        (vec![world], printed)
    }

    /// `eval`: the arguments are a line of this shell.
    fn text_in_shell(
        &mut self,
        args: &[Field],
        world: World,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        let known: Option<Vec<String>> = args.iter().map(Field::known).collect();
        match known {
            Some(words) => self.run(&words.join(" "), vec![world], stdin),
            None => {
                self.mention_text(&as_line(args), &world);
                self.runs_unknown("what `eval` runs");
                (vec![world], Stream::unknown())
            }
        }
    }

    fn env(&mut self, args: &[Field], mut world: World, stdin: &Stream) -> Stream {
        let parsed = Args::parse(args, "uCSP", &["unset", "chdir", "split-string"], true);
        if let Some(dir) = parsed.value(&["C", "chdir"]) {
            world.enter(dir);
        }
        if let Some(text) = parsed.value(&["S", "split-string"]) {
            let line = format!(
                "{} {}",
                as_line(std::slice::from_ref(text)),
                quoted(&parsed.operands)
            );
            let line = line.trim().to_owned();
            return self.run_apart(&format!("env {line}"), &world, stdin);
        }
        let mut rest = parsed.operands.as_slice();
        while let Some((first, more)) = rest.split_first() {
            let start = first.start();
            let Some((name, _)) = start.split_once('=') else {
                break;
            };
            self.check_variable(name);
            world.set(name, vec![first.skip(name.len() + 1)]);
            rest = more;
        }
        self.invoke_plain(rest, &[], world, stdin).1
    }

    fn runner(
        &mut self,
        name: &str,
        args: &[Field],
        world: World,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        let Some((_, short, long, before)) = RUNNERS.iter().find(|r| r.0 == name) else {
            return (vec![world], Stream::unknown());
        };
        let parsed = Args::parse(args, short, long, true);
        if name == "command" && parsed.has(&["v", "V"]) {
            return (vec![world], Stream::unknown());
        }
        if name == "npx"
            && let Some(text) = parsed.value(&["c", "call"]).and_then(Field::known)
        {
            self.run_apart(&text, &world, stdin);
        }
        if name == "sudo" && parsed.has(&["e", "edit"]) {
            for file in &parsed.operands {
                self.change(file, &world, "sudo -e");
            }
            return (vec![world], Stream::default());
        }
        let mut inner = world.clone();
        if let Some(dir) = parsed.value(&["chdir", "working-directory"]) {
            inner.enter(dir);
        }
        let log = match name {
            "stdbuf" => None,
            "strace" | "ltrace" | "time" => parsed.value(&["o", "output"]),
            _ => parsed.value(&["output"]),
        };
        if let Some(file) = log {
            self.change(file, &world, name);
        }
        if name == "sudo"
            && let Some(dir) = parsed.value(&["D"])
        {
            inner.enter(dir);
        }
        let mut rest = parsed.operands.get(*before..).unwrap_or_default();
        // `sudo NAME=value command`
        while let Some((first, more)) = rest.split_first() {
            let start = first.start();
            match start.split_once('=') {
                Some((name, _)) if !name.is_empty() && !name.contains('/') => {
                    self.check_variable(name);
                    inner.set(name, vec![first.skip(name.len() + 1)]);
                    rest = more;
                }
                _ => break,
            }
        }
        if rest.is_empty() {
            return (vec![world], Stream::unknown());
        }
        if matches!(name, "parallel" | "entr") {
            let given = stdin.items.clone().unwrap_or(vec![Field::unknown()]);
            let command: Vec<Field> = rest.to_vec();
            self.invoke_plain(&fill(&command, &["{}", "/_"], &given), &[], inner, stdin);
            return (vec![world], Stream::unknown());
        }
        let (after, printed) = match name {
            "time" => self.invoke(rest, &[], inner, stdin),
            _ => self.invoke_plain(rest, &[], inner, stdin),
        };
        match name {
            // These run in this shell.
            "command" | "builtin" | "exec" | "time" => (after, printed),
            _ => (vec![world], printed),
        }
    }

    fn shell(&mut self, args: &[Field], world: &World, stdin: &Stream) {
        let parsed = Args::parse(args, "oOc", &["rcfile", "init-file", "command"], true);
        let mut inner = world.clone();
        if let Some(text) = parsed.value(&["c", "command"]) {
            // `-c` may stand in a cluster before other options: `bash -ec 'text'`.
            let mut positional = parsed.operands.clone();
            if !positional.is_empty() {
                positional.remove(0);
            }
            inner.positional = Some(positional);
            match text.known() {
                Some(text) => {
                    self.run_apart(&text, &inner, stdin);
                }
                None => {
                    self.mention_text(&as_line(std::slice::from_ref(text)), world);
                    self.runs_unknown("what the inner shell runs");
                }
            }
            return;
        }
        if parsed.has(&["version", "help"]) {
            return;
        }
        match parsed.operands.first().filter(|_| !parsed.has(&["s"])) {
            Some(script) => {
                if let Some(fed) = self.piped_script(Some(script), stdin) {
                    self.shell_text(world, &fed)
                }
            }
            None => self.shell_text(world, stdin),
        }
    }

    /// What a script's text is, when its file is a pipe.
    pub(super) fn piped_script(
        &mut self,
        script: Option<&Field>,
        stdin: &Stream,
    ) -> Option<Stream> {
        let name = script.and_then(Field::known)?;
        let pipe = name == "-" || name.starts_with("/dev/") || name.starts_with("/proc/self/fd/");
        pipe.then(|| {
            let fed = self.fed.take().unwrap_or_else(|| stdin.clone());
            Stream { piped: true, ..fed }
        })
    }

    /// A shell that runs its input.
    fn shell_text(&mut self, world: &World, stdin: &Stream) {
        match &stdin.text {
            Some(text) => {
                let text = text.clone();
                self.run_apart(&text, world, &Stream::default());
            }
            None if stdin.decoded => self.hidden("what it runs, since it is decoded first"),
            None if stdin.piped => self.runs_unknown("what the inner shell runs"),
            None => {
                self.waits();
            }
        }
    }

    fn xargs(&mut self, args: &[Field], world: &World, stdin: &Stream) {
        let long = [
            "arg-file",
            "delimiter",
            "replace",
            "max-lines",
            "max-args",
            "max-procs",
            "max-chars",
        ];
        let parsed = Args::parse(args, "aEIiLnPsd", &long, true);
        let given = match parsed.has(&["a", "arg-file"]) {
            true => vec![Field::unknown()],
            false => stdin.items.clone().unwrap_or(vec![Field::unknown()]),
        };
        let mark = parsed.value(&["I", "i", "replace"]).and_then(Field::known);
        let command = parsed.operands;
        let calls: Vec<Vec<Field>> = match mark {
            Some(mark) if given.len() <= 40 => given
                .iter()
                .map(|item| fill(&command, &[mark.as_str()], std::slice::from_ref(item)))
                .collect(),
            Some(mark) => vec![fill(&command, &[mark.as_str()], &[Field::unknown()])],
            None => vec![command.into_iter().chain(given).collect()],
        };
        for argv in calls {
            self.invoke_plain(&argv, &[], world.clone(), &Stream::unknown());
        }
    }

    /// An agent that runs invar itself: it may look, only people change.
    fn invar(&mut self, args: &[Field]) {
        const READS: [&str; 26] = [
            "list",
            "show",
            "history",
            "status",
            "statusline",
            "check",
            "explain",
            "violations",
            "strikes",
            "decisions",
            "conflicts",
            "events",
            "log",
            "export",
            "config",
            "paths",
            "keys",
            "completions",
            "man",
            "help",
            "doctor",
            "replay",
            "--help",
            "--version",
            "-h",
            "-V",
        ];
        let parsed = Args::parse(args, "", &["store", "format"], false);
        let words: Vec<String> = parsed.operands.iter().filter_map(Field::known).collect();
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let unknown = parsed.operands.iter().any(|f| f.known().is_none());
        let verb = match word(0) {
            "invariant" | "action" | "project" | "plan" | "assent" => word(1),
            other => other,
        };
        let asks = parsed.has(&["help", "version", "h", "V"]);
        let reads = READS.contains(&verb) || asks;
        if !reads || (unknown && !READS.contains(&word(0))) {
            let what = if words.is_empty() {
                "open it".to_owned()
            } else {
                format!("run `invar {}`", words.join(" "))
            };
            self.rule_change(&format!("{what}, which is for people"));
        }
        if parsed.has(&["store"]) && !reads {
            self.rule_change("move invar to another store");
        }
    }
}

/// Whether the command turns hidden text into readable one here.
fn decodes(name: &str, args: &[Field]) -> bool {
    let has = |flags: &[&str]| {
        args.iter().any(|a| {
            let text = a.start();
            flags.iter().any(|f| text == *f)
                || (text.starts_with('-') && !text.starts_with("--") && text.len() <= 4)
                    && flags.iter().any(|f| f.len() == 2 && text.contains(&f[1..]))
        })
    };
    match name {
        "base64" | "base32" | "basenc" => has(&["-d", "-D", "--decode"]),
        "xxd" => has(&["-r"]),
        "openssl" => has(&["-d"]),
        "gpg" => has(&["-d", "--decrypt"]),
        _ => true,
    }
}

/// The command with `given` in place of each argument that holds one of the marks.
pub(super) fn fill(command: &[Field], marks: &[&str], given: &[Field]) -> Vec<Field> {
    let mut out = Vec::new();
    for field in command {
        let text = field.known().unwrap_or_default();
        let hit = marks
            .iter()
            .find_map(|mark| Some((text.find(mark)?, *mark)));
        let Some((at, mark)) = hit else {
            out.push(field.clone());
            continue;
        };
        for item in given {
            let before = Field::text(&text[..at]);
            let after = Field::text(&text[at + mark.len()..]);
            out.push(before.join(item.clone()).join(after));
        }
    }
    out
}

/// What several values have in common, for a variable that takes each in turn.
fn shared(values: &[Field]) -> Field {
    let mut starts = values.iter().map(Field::start);
    let first = starts.next().unwrap_or_default();
    let folder = first.rsplit_once('/').map_or("", |(folder, _)| folder);
    let same = !folder.is_empty() && starts.all(|s| s.starts_with(&format!("{folder}/")));
    match same {
        true => Field::text(format!("{folder}/")).join(Field::unknown()),
        false => Field::unknown(),
    }
}

/// The arguments as words that a shell reads back; what is not known becomes a variable.
pub(super) fn quoted(fields: &[Field]) -> String {
    let word = |field: &Field| {
        let parts = field.0.iter().map(|part| match part {
            Part::Text(text) | Part::Glob(text) => format!("'{}'", text.replace('\'', r"'\''")),
            Part::Unknown => "\"$_unknown_\"".to_owned(),
        });
        parts.collect::<String>()
    };
    fields.iter().map(word).collect::<Vec<_>>().join(" ")
}
