//! Commands that run where other paths hold: in a container with folders of this machine mounted
//! into it, or below a new root. Only what is mounted can change here.

use std::path::{Path, PathBuf};

use crate::path::clean;

use super::{
    Disk, Mention, Reading, Surroundings, Target,
    args::Args,
    stream::Stream,
    walk::Walker,
    world::{Field, World},
};

/// Options of `docker run` that take a value.
const RUN_LONG: [&str; 34] = [
    "volume",
    "mount",
    "workdir",
    "entrypoint",
    "name",
    "env",
    "env-file",
    "user",
    "network",
    "net",
    "platform",
    "hostname",
    "label",
    "publish",
    "memory",
    "cpus",
    "gpus",
    "add-host",
    "cap-add",
    "cap-drop",
    "device",
    "dns",
    "expose",
    "ipc",
    "log-driver",
    "pid",
    "pull",
    "restart",
    "runtime",
    "security-opt",
    "shm-size",
    "tmpfs",
    "ulimit",
    "userns",
];

/// Folders of this machine under other names. The innermost one holds.
#[derive(Default)]
struct Mounts(Vec<Mount>);

struct Mount {
    /// Where it is seen inside.
    inside: PathBuf,
    /// What it is here; `None` when nothing below it can be changed here.
    here: Option<PathBuf>,
}

impl Mounts {
    fn add(&mut self, inside: &str, here: Option<PathBuf>) {
        if inside.starts_with('/') {
            let inside = clean(Path::new(inside));
            self.0.push(Mount { inside, here });
        }
    }

    fn writable(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.0
            .iter()
            .filter_map(|m| Some((m.inside.as_path(), m.here.as_deref()?)))
    }

    /// The path of this machine that an inner one stands for.
    fn here(&self, path: &Path) -> Option<PathBuf> {
        let path = clean(path);
        // Of two at the same place the later one hides the earlier.
        let mount = self
            .0
            .iter()
            .filter(|m| path.starts_with(&m.inside))
            .max_by_key(|m| m.inside.components().count())?;
        let rest = path.strip_prefix(&mount.inside).ok()?;
        let here = mount.here.as_ref()?;
        Some(match rest.as_os_str().is_empty() {
            true => here.clone(),
            false => here.join(rest),
        })
    }

    /// What an inner change changes here.
    fn targets(&self, target: Target) -> Vec<Target> {
        // A change of a folder reaches what is mounted below it.
        let below = |path: &Path| -> Vec<Target> {
            let path = clean(path);
            self.writable()
                .filter(|(inside, _)| inside.starts_with(&path) && *inside != path)
                .map(|(_, here)| Target::Below(here.to_owned()))
                .collect()
        };
        match target {
            Target::Change(path) => self.here(&path).map(Target::Change).into_iter().collect(),
            Target::Delete(path) => {
                let own = self.here(&path).map(Target::Delete);
                own.into_iter().chain(below(&path)).collect()
            }
            Target::Below(path) => {
                let own = self.here(&path).map(Target::Below);
                own.into_iter().chain(below(&path)).collect()
            }
            Target::Partial { mut texts, delete } => {
                let start = texts.first().cloned().unwrap_or_default();
                if start.is_empty() {
                    return vec![Target::Partial { texts, delete }];
                }
                // The last part may go on where the text ends.
                let (folder, rest) = start.rsplit_once('/').unwrap_or(("", &start));
                let folder = self.here(Path::new(&format!("/{folder}")));
                let (Some(folder), Some(first)) = (folder, texts.first_mut()) else {
                    return Vec::new();
                };
                *first = format!("{}/{rest}", folder.display());
                vec![Target::Partial { texts, delete }]
            }
        }
    }
}

/// The disk as it is seen from inside.
struct Inside<'a> {
    disk: &'a dyn Disk,
    mounts: &'a Mounts,
}

impl Disk for Inside<'_> {
    fn is_dir(&self, path: &Path) -> bool {
        self.mounts.here(path).is_some_and(|p| self.disk.is_dir(&p))
    }

    fn exists(&self, path: &Path) -> bool {
        self.mounts.here(path).is_some_and(|p| self.disk.exists(&p))
    }

    fn names(&self, dir: &Path, limit: usize) -> Option<Vec<String>> {
        self.disk.names(&self.mounts.here(dir)?, limit)
    }
}

impl Walker<'_> {
    /// `docker` and its like.
    pub(super) fn container(&mut self, name: &str, args: &[Field], world: &World, stdin: &Stream) {
        let long = ["host", "context", "config", "log-level", "connection"];
        let words = Args::parse(args, "Hcl", &long, true).operands;
        let mut words = words.as_slice();
        if words.first().and_then(Field::known).as_deref() == Some("container") {
            words = &words[1..];
        }
        let Some((verb, rest)) = words.split_first() else {
            return;
        };
        match verb.known().as_deref() {
            Some("run" | "create") => {
                let parsed = Args::parse(rest, "acehlmpuvw", &RUN_LONG, true);
                let mounts = self.mounted(&parsed, world);
                let entry = parsed.value(&["entrypoint"]).cloned();
                let after_image = parsed.operands.iter().skip(1).cloned();
                let command: Vec<Field> = entry.into_iter().chain(after_image).collect();
                let cwd = parsed.value(&["w", "workdir"]).cloned();
                self.elsewhere(&command, &mounts, cwd, stdin);
            }
            Some("cp") => {
                let parsed = Args::parse(rest, "", &[], false);
                if let [from, .., to] = parsed.operands.as_slice() {
                    self.copied_out(name, from, to, world);
                }
            }
            _ => {}
        }
    }

    /// `chroot DIR command`: every path is below the folder.
    pub(super) fn new_root(&mut self, args: &[Field], world: &World, stdin: &Stream) {
        let parsed = Args::parse(args, "", &["userspec", "groups"], true);
        let Some((root, command)) = parsed.operands.split_first() else {
            return;
        };
        let mut mounts = Mounts::default();
        mounts.add("/", world.path(root));
        self.elsewhere(command, &mounts, Some(Field::text("/")), stdin);
    }

    /// `bwrap`: its options say what is seen where.
    pub(super) fn bubble(&mut self, args: &[Field], world: &World, stdin: &Stream) {
        const ONE: [&str; 17] = [
            "dir",
            "tmpfs",
            "proc",
            "dev",
            "chdir",
            "unsetenv",
            "uid",
            "gid",
            "hostname",
            "perms",
            "size",
            "cap-add",
            "cap-drop",
            "mqueue",
            "seccomp",
            "args",
            "lock-file",
        ];
        let mut mounts = Mounts::default();
        let mut cwd = Some(world.cwd.clone());
        let mut rest = args;
        while let Some((option, more)) = rest.split_first() {
            let start = option.start();
            let Some(option) = start.strip_prefix("--").filter(|o| !o.is_empty()) else {
                break;
            };
            let value = |at: usize| more.get(at).cloned().unwrap_or_else(Field::unknown);
            let inside = |at: usize| value(at).known().unwrap_or_default();
            let taken = match option {
                "bind" | "dev-bind" | "bind-try" | "dev-bind-try" => {
                    mounts.add(&inside(1), world.path(&value(0)));
                    2
                }
                "ro-bind" | "ro-bind-try" => {
                    mounts.add(&inside(1), None);
                    2
                }
                "symlink" | "setenv" | "chmod" | "file" | "bind-data" | "ro-bind-data" => 2,
                option if ONE.contains(&option) => {
                    match option {
                        "tmpfs" | "proc" | "dev" => mounts.add(&inside(0), None),
                        "chdir" => cwd = Some(value(0)),
                        _ => {}
                    }
                    1
                }
                _ => 0,
            };
            rest = more.get(taken..).unwrap_or_default();
        }
        if rest.first().is_some_and(|f| f.start() == "--") {
            rest = &rest[1..];
        }
        self.elsewhere(rest, &mounts, cwd, stdin);
    }

    /// The folders of this machine that `docker run` mounts.
    fn mounted(&self, parsed: &Args, world: &World) -> Mounts {
        let mut mounts = Mounts::default();
        let mut add = |from: &str, inside: &str, read_only: bool| {
            // A name without a slash is a volume, which is no folder of this machine.
            let here = match read_only || !from.starts_with(['/', '.', '~']) {
                true => None,
                false => world.path(&Field::text(from)),
            };
            mounts.add(inside, here);
        };
        for text in parsed.values(&["v", "volume"]).filter_map(Field::known) {
            let mut parts = text.split(':');
            if let (Some(from), Some(inside)) = (parts.next(), parts.next()) {
                let read_only = parts
                    .next()
                    .is_some_and(|o| o.split(',').any(|o| o == "ro"));
                add(from, inside, read_only);
            }
        }
        for text in parsed.values(&["mount"]).filter_map(Field::known) {
            let (mut from, mut inside, mut read_only) = ("", "", false);
            for part in text.split(',') {
                let (key, value) = part.split_once('=').unwrap_or((part, "true"));
                match key {
                    "source" | "src" => from = value,
                    "target" | "dst" | "destination" => inside = value,
                    "readonly" | "ro" => read_only = value == "true" || value == "1",
                    _ => {}
                }
            }
            add(from, inside, read_only);
        }
        mounts
    }

    /// `docker cp` out of a container.
    fn copied_out(&mut self, name: &str, from: &Field, to: &Field, world: &World) {
        let start = to.start();
        let into_container = start
            .split_once(':')
            .is_some_and(|(name, _)| !name.contains('/'));
        if into_container || start == "-" {
            return;
        }
        let how = format!("{name} cp");
        let folder = world.path(to).is_some_and(|p| self.at.disk.is_dir(&p));
        let to = match folder {
            true => to.clone().join(Field::text("/")).join(from.file_name()),
            false => to.clone(),
        };
        self.change(&to, world, &how);
        self.below(&to, world, &how);
    }

    /// Walks a command in the other place and brings back what it means here. Without `cwd`
    /// nothing is known of where it starts.
    fn elsewhere(
        &mut self,
        command: &[Field],
        mounts: &Mounts,
        cwd: Option<Field>,
        stdin: &Stream,
    ) {
        let Some((first, _)) = mounts.writable().next() else {
            return;
        };
        let disk = Inside {
            disk: self.at.disk,
            mounts,
        };
        let known = cwd.as_ref().and_then(Field::known);
        let known = known.filter(|dir| dir.starts_with('/'));
        let at = Surroundings {
            // Most images start in what is mounted.
            cwd: &known.map_or(first.to_owned(), PathBuf::from),
            root: Path::new("/"),
            home: None,
            scratch: Path::new("/tmp"),
            disk: &disk,
        };
        let mut world = World::start(&at);
        world.enter(&cwd.unwrap_or_else(Field::unknown));
        let read = self.walk_inside(command, world, at, stdin);
        self.bring_back(read, mounts);
    }

    fn bring_back(&mut self, read: Reading, mounts: &Mounts) {
        for found in read.found {
            for target in mounts.targets(found.target) {
                self.found(target, &found.how);
            }
        }
        for mention in read.mentions {
            let Some(path) = mounts.here(&mention.path) else {
                continue;
            };
            let bytes = mention.bytes;
            self.note_mention(Mention { path, bytes });
        }
        self.out.applies |= read.applies;
        if !read.waits.is_empty() {
            self.waits();
        }
        for unresolved in read.unresolved {
            match unresolved.hidden {
                true => self.hidden(&unresolved.why),
                false => self.unresolved(&unresolved.why),
            }
        }
        for change in read.rule_changes {
            self.rule_change(&change.what);
        }
    }
}
