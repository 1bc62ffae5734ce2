//! Commands that take their orders from later input: nobody sees those before they act.

use super::{args::Args, stream::Stream, walk::Walker, world::Field};

/// Programs that run what is typed into them, whatever their arguments are.
const STEERED: [&str; 32] = [
    "tmux", "screen", "script", "expect", "vi", "vim", "nvim", "view", "emacs", "nano", "ed", "ex",
    "gdb", "lldb", "pdb", "ghci", "irb", "pry", "ipython", "bpython", "ptpython", "iex", "erl",
    "jshell", "mc", "less", "more", "man", "telnet", "ftp", "sftp", "login",
];

/// Consoles that wait unless one of these options hands them their text.
const CONSOLES: [(&str, &[&str]); 8] = [
    (
        "psql",
        &["c", "f", "l", "command", "file", "list", "version"],
    ),
    ("mysql", &["e", "execute", "version", "V"]),
    ("mariadb", &["e", "execute", "version", "V"]),
    ("mongosh", &["eval", "version"]),
    ("clickhouse-client", &["query", "q", "version"]),
    ("clj", &["e", "M", "X", "T", "version"]),
    ("su", &["c", "command"]),
    ("ssh-agent", &["k", "c", "s"]),
];

impl Walker<'_> {
    /// Notes that the current command takes its orders from later input.
    pub(super) fn waits(&mut self) {
        if !self.out.waits.contains(&self.span) {
            self.out.waits.push(self.span.clone());
        }
    }

    /// Notes a program that is steered by its input, when nothing is written to it here.
    pub(super) fn notice_waiting(&mut self, name: &str, args: &[Field], stdin: &Stream) {
        if stdin.piped {
            return;
        }
        let console = CONSOLES.iter().find(|(console, _)| *console == name);
        let parsed = || Args::parse(args, "", &[], true);
        let waits = match name {
            _ if STEERED.contains(&name) => !args
                .iter()
                .any(|a| matches!(a.known().as_deref(), Some("--version" | "--help"))),
            // A host and a command to run there.
            "ssh" => {
                Args::parse(args, "bcDEeFIiJLlmOopQRSWw", &[], true)
                    .operands
                    .len()
                    < 2
            }
            "xargs" => !Args::parse(args, "aEIiLnPsd", &["arg-file"], true).has(&["a", "arg-file"]),
            "sqlite3" => parsed().operands.len() < 2 && !parsed().has(&["version", "help"]),
            "redis-cli" => parsed().operands.is_empty(),
            "sudo" | "doas" => {
                let parsed = Args::parse(args, "ugCDhpRrTtU", &[], true);
                parsed.operands.is_empty() && parsed.has(&["i", "s", "login", "shell"])
            }
            "read" | "mapfile" | "readarray" | "tee" => true,
            // What is typed goes on to whatever it is piped into.
            "cat" => args.iter().all(|a| a.known().as_deref() == Some("-")),
            _ => console.is_some_and(|(_, given)| !parsed().has(given)),
        };
        if waits {
            self.waits();
        }
    }
}
