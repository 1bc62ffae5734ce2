//! Everything that is asked of a disk, on the threads of those who ask and never on the engine's:
//! what a call is about is found out first ([`Disk::facts`]), then it is decided, and what the
//! decision lacks is found out as it asks for it ([`Disk::supply`]).
//!
//! Several callers use it at once, under three kinds of lock, none of which is taken while another
//! is held: that of the project files, held while they are read and what they say is sent to the
//! engine; that of all trees, held to find one of them; that of one tree, held during a look at it.
//! The engine's thread never waits for a look at a tree.

pub mod locate;
pub mod places;
pub mod project_file;
pub mod tree;
mod watch;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use self::{
    locate::Locator,
    places::{files_below, root_at},
    project_file::ProjectFiles,
    tree::{NotWatched, Trees},
};
use super::{
    Call, Config, EngineError, Locations,
    facts::{Facts, Need, Restored, ToRestore},
    requests::{Explain, ExplainWhat, HookCall, HookEvent, TreeWatch},
    step::Effects,
};
use crate::{
    model::{Attempt, Effect, Origin},
    project_file::FileReading,
    rules::path::inside,
};

pub(crate) use watch::{Changed, Watch};

/// How long a hook waits for the first look at a large project; well inside its deadline.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// How many files of a project are listed for a witness. Beyond it a witness may be a path that is
/// not there, and what is said of missing files may miss one.
const MAX_FILES: usize = 50_000;

/// The disk as an engine and those who ask it see it.
#[derive(Debug)]
pub struct Disk {
    locator: RwLock<Arc<Locator>>,
    home: PathBuf,
    trees: Arc<Trees>,
    files: ProjectFiles,
    /// Somebody looks at the project files whenever one changes.
    watched: AtomicBool,
}

impl Disk {
    /// The disk of one store. `roots` are the project directories that it knows.
    pub fn new<'a>(
        locations: &Locations,
        config: &Config,
        roots: impl Iterator<Item = &'a PathBuf>,
    ) -> Self {
        let disk = Self {
            locator: RwLock::new(Arc::new(Locator::new(&locations.home, config))),
            home: locations.home.clone(),
            trees: Arc::new(Trees::new(locations, &config.tree)),
            files: ProjectFiles::default(),
            watched: AtomicBool::new(false),
        };
        disk.know(roots);
        disk
    }

    /// The trees of the projects at work, for tests of who waits for them.
    #[cfg(test)]
    pub(crate) fn trees(&self) -> &Trees {
        &self.trees
    }

    /// Says that the process stays: trees are watched from then on, and not only looked at.
    pub(crate) fn stay(&self) {
        self.trees.stay();
    }

    /// Uses another configuration from now on. Calls that are being located keep the one with which
    /// they began.
    pub(crate) fn configure(&self, config: &Config) {
        let locator = Arc::new(Locator::new(&self.home, config));
        *self.locator.write().unwrap_or_else(PoisonError::into_inner) = locator;
        self.trees.configure(&config.tree);
    }

    fn locator(&self) -> Arc<Locator> {
        let locator = self.locator.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&locator)
    }

    /// Project directories whose files are looked at from now on.
    pub(crate) fn know<'a>(&self, roots: impl Iterator<Item = &'a PathBuf>) {
        self.files.know(roots);
    }

    /// Sets whether a watcher looks at the project files whenever one changes: then a call needs to
    /// look at its own only.
    pub(crate) fn is_watched(&self, watched: bool) {
        self.watched.store(watched, Ordering::Relaxed);
    }

    /// Hands the project files that changed since they were read last to `take`. `dir` is where a
    /// call comes from; without a watcher, and for `None`, all known files are looked at.
    ///
    /// The lock of the files is held until `take` returns. Otherwise a second caller could find
    /// them unchanged, and be decided before the first one has passed on what they say.
    pub fn look_at_files<T>(
        &self,
        dir: Option<&Path>,
        take: impl FnOnce(Vec<FileReading>) -> T,
    ) -> T {
        let only = self.watched.load(Ordering::Relaxed) && dir.is_some();
        self.files
            .look(dir.map(project_root).as_deref(), only, take)
    }

    /// Forgets what was read, after the state lost what the project files said: all of them are
    /// read again.
    pub(crate) fn forget_files(&self) {
        self.files.forget();
    }

    /// Whether anything is to be found out for a call before it is decided. The others go straight
    /// to the engine.
    pub(crate) fn is_asked_by(&self, call: &Call) -> bool {
        !matches!(
            call,
            Call::Ping(_) | Call::AgentPids(_) | Call::AssentsDelegated(_) | Call::StillWaiting(_)
        )
    }

    /// Finds out what a call is about, as far as it is known beforehand what its decision needs.
    /// What costs a walk and is seldom needed is left to [`Disk::supply`].
    ///
    /// # Errors
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy), when a command has to wait for the first look
    /// at a large project.
    pub fn facts(&self, call: &Call) -> Result<Facts, EngineError> {
        let Some(dir) = call.belongs_to().directory() else {
            return Ok(Facts::default());
        };
        let mut facts = Facts {
            root: root_at(&project_root(dir)),
            ..Facts::default()
        };
        let locator = self.locator();
        match call {
            Call::HookCall(hook) => {
                let root = facts.root.written.clone();
                self.of_hook(hook, &root, &mut facts)?;
            }
            Call::Explain(request) => {
                facts.root = root_at(&request.root);
                facts.attempts = vec![locator.attempt(&attempt_of(request), &request.root)];
            }
            Call::Replay(request) => {
                facts.root = root_at(&request.root);
                let attempts = request.attempts.iter();
                facts.attempts = attempts
                    .map(|a| locator.attempt(a, &request.root))
                    .collect();
            }
            Call::Check(request) => {
                facts.root = root_at(&request.root);
                let (root, paths) = (&facts.root, request.paths.iter());
                facts.paths = paths
                    .map(|p| locator.path(&p.path, &root.written, root))
                    .collect();
            }
            Call::Findings(request) => {
                facts.root = root_at(&request.root);
                let root = &facts.root.resolved;
                facts.files = files_below(root, MAX_FILES)
                    .filter_map(|file| Some(inside(&file, root)?.to_str()?.to_owned()))
                    .collect();
            }
            Call::TreeState(request) => facts.tree = self.tree_watch(&request.root),
            _ => {}
        }
        Ok(facts)
    }

    /// What an agent's hook is about, in the project directory `root`.
    fn of_hook(&self, hook: &HookCall, root: &Path, facts: &mut Facts) -> Result<(), EngineError> {
        facts.root = root_at(root);
        let (looks, attempt) = match &hook.what {
            HookEvent::SessionStart | HookEvent::Stopped { .. } => (true, None),
            // This agent does not report the end of a command: its next attempt is the moment to
            // look at what the last one changed.
            HookEvent::Attempt(attempt) => (!hook.traits.tells_end, Some(attempt)),
            HookEvent::Ran(attempt) => (true, Some(attempt)),
            _ => (false, None),
        };
        let locator = self.locator();
        let located = attempt.map(|a| locator.attempt(a, root));
        let may_write = attempt.is_some_and(|a| a.may_write)
            && !located.as_ref().is_some_and(|l| l.only_reads());
        let ran = matches!(hook.what, HookEvent::Ran(_));
        facts.attempts = located.into_iter().collect();
        // A command that was proven to read needs no look afterwards. One that may write must not
        // start before there is a snapshot to compare with: its changes could not be found.
        if looks && (may_write || !ran) {
            self.look(root, facts);
        } else if may_write && self.trees.ensure(root, FIRST_LOOK) == Err(NotWatched::NotYet) {
            return Err(NotWatched::NotYet.into());
        }
        Ok(())
    }

    /// Looks at a tree, once for each call, and adds what changed to the facts. One that is not
    /// watched is no error here: `plan check` says so.
    fn look(&self, root: &Path, facts: &mut Facts) {
        if facts.changes.iter().any(|(of, _)| of.written == root) {
            return;
        }
        let _ = self.trees.refresh(root, FIRST_LOOK);
        facts.changes.push((root_at(root), self.trees.take(root)));
    }

    fn tree_watch(&self, root: &Path) -> TreeWatch {
        // Whoever asks may have just mended what was wrong.
        self.trees.try_again(root);
        let fault = self.trees.ensure(root, FIRST_LOOK).err();
        TreeWatch {
            watched: self.trees.watched(root),
            fault: fault.map(|f| f.to_string()),
        }
    }

    /// Finds out what a decision on `call` lacked, and adds it to the facts.
    ///
    /// # Errors
    /// A project file that cannot be written; [`ErrorKind::Busy`](crate::ErrorKind::Busy) as
    /// [`Disk::facts`].
    pub fn supply(&self, need: Need, call: &Call, facts: &mut Facts) -> Result<(), EngineError> {
        match need {
            Need::Root(root) => {
                if let Call::HookCall(hook) = call {
                    // The call was located in another directory than its session works in. What
                    // changed there is for the sessions that work there.
                    self.give_back(std::mem::take(facts));
                    self.of_hook(hook, &root, facts)?;
                }
            }
            Need::Files(set) => {
                let locator = self.locator();
                for attempt in &mut facts.attempts {
                    locator.list(attempt, &set.0);
                }
            }
            Need::Looks(roots) => {
                for root in roots.iter().filter(|r| r.is_dir()) {
                    // At the gate of apply every file is looked at, whatever the kernel reported.
                    let _ = self.trees.refresh_whole(root, FIRST_LOOK);
                    self.look(root, facts);
                }
                facts.looked = true;
            }
            Need::Alive(pids) => facts.alive.extend(pids.into_iter().map(|p| (p, runs(p)))),
            Need::Restore(files) => {
                let restored = files.into_iter().map(|file| self.restore(file));
                facts.restored.extend(restored);
            }
            Need::Write(edits) => {
                for edit in edits {
                    let reading = self.files.write(&edit)?;
                    facts.written.push((edit, reading));
                }
            }
        }
        Ok(())
    }

    fn restore(&self, file: ToRestore) -> Restored {
        let outcome = self.trees.restore(&file.root, &file.path, &file.before);
        Restored {
            outcome: outcome.map_err(|e| e.to_string()),
            root: file.root,
            path: file.path,
        }
    }

    /// Does what a decision calls for besides its records, before it is answered: the tree watches
    /// from now on what the set guards.
    pub(crate) fn perform(&self, effects: Effects) {
        let Some(compiled) = effects.guard else {
            return;
        };
        let checks = compiled.checks();
        let named = checks
            .set
            .guarded_texts()
            .filter_map(|(text, whole)| {
                // Of a pattern with wildcards the folder that it begins in; what git ignores there
                // counts as well.
                let text = match whole {
                    true => text,
                    false => text.rsplit_once('/')?.0,
                };
                let path = PathBuf::from(text.trim_end_matches('/'));
                (!path.as_os_str().is_empty()).then_some(path)
            })
            .collect();
        let root = checks.root;
        let locator = self.locator();
        let guarded = |path: &Path| {
            let found = locator.path(path, &root.written, root);
            let mut broken = found.broken(checks.set, false).into_iter();
            broken.any(|i| checks.letters[i].invariant.origin != Origin::BuiltIn)
        };
        self.trees
            .guard(&root.written, compiled.digest(), named, &guarded);
    }

    /// The facts of a call that was not recorded: what changed is found again by the next look,
    /// and what was written into project files is read again.
    pub(crate) fn give_back(&self, facts: Facts) {
        for (root, changes) in facts.changes {
            if !changes.is_empty() {
                self.trees.give_back(&root.written, changes);
            }
        }
        if !facts.written.is_empty() {
            self.files.forget();
        }
    }
}

/// The attempt that a person wants explained.
fn attempt_of(request: &Explain) -> Attempt {
    let effect = match &request.what {
        ExplainWhat::Path(path) => Effect::Change { path: path.clone() },
        ExplainWhat::Command(command) => Effect::Opaque {
            command: command.clone(),
            language: None,
        },
    };
    Attempt {
        cwd: request.cwd.clone(),
        effects: vec![effect],
        ..Attempt::default()
    }
}

/// The top of the git work tree that `dir` lies in, else `dir` itself.
pub fn project_root(dir: &Path) -> PathBuf {
    dir.ancestors()
        .find(|folder| folder.join(".git").exists())
        .unwrap_or(dir)
        .to_owned()
}

/// Whether a project directory has a file with invariants.
pub fn has_project_file(root: &Path) -> bool {
    root.join(crate::project_file::NAME).exists()
}

/// Whether a process is there; one of another user counts as well.
fn runs(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok();
    let pid = pid.and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}
