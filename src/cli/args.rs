//! The grammar of the command line. Both spellings work: `invariant add` and
//! `add`, `--scope project --project NAME` and `--project NAME` alone.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::model::{Checkpoint, Remedy, ScopeKind, Severity};

/// Keeps invariants true while coding agents work.
///
/// Without a command it opens the terminal program.
#[derive(Debug, Parser)]
#[command(name = "invar", version, max_term_width = 100)]
pub struct Cli {
    /// The store, instead of the one in your data folder.
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        env = "INVAR_STORE",
        hide_env_values = true
    )]
    pub store: Option<PathBuf>,
    /// Change nothing: what would is refused.
    #[arg(long, global = true)]
    pub read_only: bool,
    /// How to print.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Forms of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    /// One JSON object a line; for `events`.
    Ndjson,
    /// For `export`.
    Toml,
    /// For `export`: writ's list of what is active.
    Yaml,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// See a scripted run, really enforced, on a throw-away store.
    Demo(DemoArgs),
    #[command(flatten)]
    Short(InvariantCommand),
    /// Take the last change of an invariant back.
    Undo,
    /// Do the change that was undone last again.
    Redo,
    /// The same commands as `invar invariant …`.
    #[command(subcommand)]
    Invariant(InvariantCommand),
    /// Make, move and inspect plans.
    #[command(subcommand)]
    Plan(PlanCommand),
    /// Projects and the directories bound to them.
    #[command(subcommand)]
    Project(ProjectCommand),
    /// Action templates.
    #[command(subcommand)]
    Action(ActionCommand),
    /// Hold changed paths against the letter invariants: for CI and pre-commit.
    Check(CheckArgs),
    /// What would happen to a change of a path or to a command, and why; nothing is counted.
    Explain(ExplainArgs),
    /// Write all invariants to a file or to stdout; `--format toml` (the default) and `json` keep
    /// everything, `yaml` is writ's list of what is active.
    Export(ExportArgs),
    /// Read invariants from a file: all of them, or none.
    Import(ImportArgs),
    /// Report what an outside check found (enforce_invariants).
    Enforce(EnforceArgs),
    /// Resolve a violation: corrected, or waived with a reason.
    Resolve(ResolveArgs),
    /// Violations, open and resolved.
    Violations(PlanFilter),
    /// Strike counts.
    Strikes(PlanFilter),
    /// Conflicts in an effective set, and how each was settled.
    Conflicts(ConflictsArgs),
    /// The decision tree of a plan.
    Decisions(PlanArg),
    /// What happened.
    Events(EventsArgs),
    /// The event log itself.
    #[command(subcommand)]
    Log(LogCommand),
    /// The file that everything is kept in.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Run the engine without a screen.
    Serve(ServeArgs),
    /// Answer an agent's hook: its JSON on stdin, its answer on stdout.
    Hook(HookArgs),
    /// Connect an agent: write invar into its hook settings.
    Install(InstallArgs),
    /// Take invar out of an agent's hook settings.
    Uninstall(InstallArgs),
    /// What waits for a person's assent, and the answers.
    #[command(subcommand)]
    Assent(AssentCommand),
    /// Prove that the guard is live: settings, hooks, invariants.
    Doctor(DoctorArgs),
    /// What today's invariants would have refused in recorded sessions.
    Replay(ReplayArgs),
    /// One line about the plan of this directory.
    Status,
    /// One line for an agent's status line; its JSON comes on stdin.
    Statusline(StatuslineArgs),
    /// Where store, configuration, logs and socket lie.
    Paths,
    /// The configuration in force, as TOML.
    Config,
    /// The keys of the terminal program.
    Keys,
    /// Completions for a shell.
    Completions(CompletionsArgs),
    /// The manual page.
    Man,
}

impl Command {
    /// The command's name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Demo(_) => "demo",
            Self::Short(command) | Self::Invariant(command) => command.name(),
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Plan(PlanCommand::Use(_)) => "plan use",
            Self::Plan(PlanCommand::List) => "plan list",
            Self::Plan(PlanCommand::Show(_)) => "plan show",
            Self::Plan(PlanCommand::Strategize(_)) => "plan strategize",
            Self::Plan(PlanCommand::Execute(_)) => "plan execute",
            Self::Plan(PlanCommand::Apply(_)) => "plan apply",
            Self::Plan(PlanCommand::Resume(_)) => "plan resume",
            Self::Plan(PlanCommand::Cancel(_)) => "plan cancel",
            Self::Project(ProjectCommand::List) => "project list",
            Self::Project(ProjectCommand::Bind(_)) => "project bind",
            Self::Plan(PlanCommand::Check(_)) => "plan check",
            Self::Project(ProjectCommand::Show(_)) => "project show",
            Self::Action(ActionCommand::Add(_)) => "action add",
            Self::Action(ActionCommand::List) => "action list",
            Self::Action(ActionCommand::Show(_)) => "action show",
            Self::Action(ActionCommand::Remove(_)) => "action remove",
            Self::Check(_) => "check",
            Self::Explain(_) => "explain",
            Self::Export(_) => "export",
            Self::Import(_) => "import",
            Self::Config => "config",
            Self::Keys => "keys",
            Self::Completions(_) => "completions",
            Self::Man => "man",
            Self::Enforce(_) => "enforce",
            Self::Resolve(_) => "resolve",
            Self::Violations(_) => "violations",
            Self::Strikes(_) => "strikes",
            Self::Conflicts(_) => "conflicts",
            Self::Decisions(_) => "decisions",
            Self::Events(_) => "events",
            Self::Log(LogCommand::Verify(_)) => "log verify",
            Self::Store(StoreCommand::Stats) => "store stats",
            Self::Store(StoreCommand::Compact) => "store compact",
            Self::Store(StoreCommand::Archive(_)) => "store archive",
            Self::Serve(_) => "serve",
            Self::Hook(_) => "hook",
            Self::Install(_) => "install",
            Self::Uninstall(_) => "uninstall",
            Self::Assent(AssentCommand::List { .. }) => "assent list",
            Self::Assent(AssentCommand::Approve { .. }) => "assent approve",
            Self::Assent(AssentCommand::Refuse { .. }) => "assent refuse",
            Self::Doctor(_) => "doctor",
            Self::Replay(_) => "replay",
            Self::Status => "status",
            Self::Statusline(_) => "statusline",
            Self::Paths => "paths",
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum InvariantCommand {
    /// Add an invariant.
    Add(AddArgs),
    /// List invariants; with --effective, what is in force after the merge.
    List(ListArgs),
    /// Show one invariant in full.
    Show(IdArg),
    /// Change an invariant; it keeps its id and its history.
    Edit(EditArgs),
    /// Remove an invariant; `restore` brings it back.
    Remove(RemoveArgs),
    /// Bring a removed invariant back.
    Restore(IdArg),
    /// All revisions of an invariant.
    History(IdArg),
}

impl InvariantCommand {
    /// The command's name in JSON, in its short spelling.
    fn name(&self) -> &'static str {
        match self {
            Self::Add(_) => "add",
            Self::List(_) => "list",
            Self::Show(_) => "show",
            Self::Edit(_) => "edit",
            Self::Remove(_) => "remove",
            Self::Restore(_) => "restore",
            Self::History(_) => "history",
        }
    }
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Print the run as text and end by itself.
    #[arg(long)]
    pub plain: bool,
}

/// Where an invariant applies.
#[derive(Debug, Clone, Default, Args)]
pub struct ScopeArgs {
    /// global, project, action or plan; the last three with their own option.
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<ScopeKind>,
    /// Every plan.
    #[arg(long)]
    pub global: bool,
    /// The plans of a project.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// The plans made from an action.
    #[arg(long, value_name = "NAME")]
    pub action: Option<String>,
    /// One plan: its id, a unique prefix, or @ for the current one.
    #[arg(long, value_name = "ID")]
    pub plan: Option<String>,
}

/// How an invariant is checked; none of these makes it plain.
#[derive(Debug, Clone, Default, Args)]
pub struct LayerArgs {
    /// Only files that match may be changed; repeat it for several patterns.
    #[arg(long, value_name = "GLOB")]
    pub no_edits_outside: Vec<String>,
    /// What matches may not be changed.
    #[arg(long, value_name = "PATH")]
    pub untouched: Option<String>,
    /// A judge model reads the text.
    #[arg(long, conflicts_with = "assent")]
    pub judgment: bool,
    /// When the judge reads it: each_edit, at_satisfaction or each_n_iterations=N.
    #[arg(long, value_name = "C", requires = "judgment")]
    pub checkpoint: Option<Checkpoint>,
    /// A person approves.
    #[arg(long)]
    pub assent: bool,
    /// A person approves each change to what matches; repeatable.
    #[arg(long, value_name = "GLOB", requires = "assent")]
    pub when: Vec<String>,
}

#[derive(Debug, Args)]
pub struct AddArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub layer: LayerArgs,
    /// error blocks, warning tells, info records.
    #[arg(long, default_value = "error")]
    pub severity: Severity,
    /// A global invariant that no other scope can displace.
    #[arg(long)]
    pub non_overridable: bool,
    /// inform (three strikes), halt (at once) or warn (tell, and let through).
    #[arg(long, value_name = "REMEDY")]
    pub on_invariant_breach: Option<Remedy>,
    /// What must stay true; a letter invariant can do without.
    pub text: Option<String>,
}

#[derive(Debug, Args)]
pub struct EditArgs {
    /// The invariant: its id or a unique prefix.
    pub id: String,
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub layer: LayerArgs,
    /// Make it a plain sentence.
    #[arg(long, conflicts_with_all = ["no_edits_outside", "untouched", "judgment", "assent"])]
    pub plain: bool,
    /// error blocks, warning tells, info records.
    #[arg(long)]
    pub severity: Option<Severity>,
    /// Whether no other scope can displace it.
    #[arg(long, value_name = "BOOL")]
    pub non_overridable: Option<bool>,
    /// The new text.
    pub text: Option<String>,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    /// What is in force after the merge.
    #[arg(long)]
    pub effective: bool,
    /// Only this layer: plain, letter, judgment or assent.
    #[arg(long)]
    pub layer: Option<crate::model::LayerKind>,
    /// Removed ones too.
    #[arg(long)]
    pub all: bool,
    /// Only those whose text matches; ! in front inverts.
    pub regex: Option<String>,
}

#[derive(Debug, Args)]
pub struct IdArg {
    /// The invariant: its id or a unique prefix.
    pub id: String,
}

#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
    /// The invariant: its id or a unique prefix.
    pub id: String,
}

#[derive(Debug, Args)]
pub struct PlanArg {
    /// The plan: its id, a unique prefix, or @ for the current one of this directory.
    #[arg(default_value = "@")]
    pub plan: String,
}

#[derive(Debug, Args)]
pub struct PlanFilter {
    /// Only of this plan: its id, a unique prefix, or @.
    pub plan: Option<String>,
}

#[derive(Debug, Args)]
pub struct ConflictsArgs {
    /// The plan: its id, a unique prefix, or @; by default the current one, else the project.
    #[arg(conflicts_with_all = ["scope", "global", "project", "action", "plan"])]
    pub of: Option<String>,
    /// Ask the configured judge about each pair of statements, once; it may cost.
    #[arg(long)]
    pub judge: bool,
    #[command(flatten)]
    pub scope: ScopeArgs,
}

#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Make a plan from an action and make it the project's current one.
    Use(PlanUseArgs),
    /// All plans.
    List,
    /// One plan in full.
    Show(PlanArg),
    /// Start the strategize phase.
    Strategize(PlanArg),
    /// Start the execute phase.
    Execute(PlanArg),
    /// Pass the apply gate.
    Apply(PlanArg),
    /// Let a halted plan go on.
    Resume(PlanArg),
    /// End a plan.
    Cancel(PlanArg),
    /// What of the effective set holds with an agent, partly, or not.
    Check(PlanCheckArgs),
}

#[derive(Debug, Args)]
pub struct PlanUseArgs {
    /// The action, such as local/code-coverage.
    pub action: String,
    /// The project; by default that of this directory.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Bind a parameter of the action's patterns; repeatable.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Inherit what is in force in this plan.
    #[arg(long, value_name = "ID")]
    pub parent: Option<String>,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE, such as failing_test=tests/test_sync.py".into()),
    }
}

#[derive(Debug, Subcommand)]
pub enum ProjectCommand {
    /// All projects that are known.
    List,
    /// One project: its directories, plans and invariants.
    Show(ProjectShowArgs),
    /// Give a directory's project a name.
    Bind(BindArgs),
}

#[derive(Debug, Subcommand)]
pub enum ActionCommand {
    /// Name a template.
    Add(ActionArg),
    /// All templates.
    List,
    /// The invariants that a template carries.
    Show(ActionArg),
    /// Remove a template and its invariants; plans keep their copies.
    Remove(ActionRemoveArgs),
}

#[derive(Debug, Args)]
pub struct ActionArg {
    /// The action, such as local/code-coverage.
    pub name: String,
}

#[derive(Debug, Args)]
pub struct ActionRemoveArgs {
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
    /// The action, such as local/code-coverage.
    pub name: String,
}

#[derive(Debug, Args)]
pub struct PlanCheckArgs {
    /// The plan: its id, a unique prefix, or @ for the current one of this directory.
    #[arg(default_value = "@")]
    pub plan: String,
    /// The agent, such as codex; by default the one that works in the plan, else claude-code.
    #[arg(long)]
    pub agent: Option<String>,
}

#[derive(Debug, Args)]
pub struct ProjectShowArgs {
    /// The project; by default that of this directory.
    pub name: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub struct CheckArgs {
    /// A path that was changed; repeatable.
    #[arg(long, value_name = "P", group = "what")]
    pub path: Vec<PathBuf>,
    /// What is staged in git's index.
    #[arg(long, group = "what", conflicts_with = "base")]
    pub staged: bool,
    /// All that differs from a revision, untracked files too.
    #[arg(long, value_name = "REV", group = "what")]
    pub base: Option<String>,
    /// The plan whose effective set counts; by default the current one, else the project's.
    #[arg(long, value_name = "ID")]
    pub plan: Option<String>,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The path, as an agent would write it.
    #[arg(
        long,
        value_name = "P",
        required_unless_present = "command",
        conflicts_with = "command"
    )]
    pub path: Option<PathBuf>,
    /// A command line, as an agent would run it.
    #[arg(long, value_name = "CMD")]
    pub command: Option<String>,
    /// The plan whose effective set counts; by default the current one, else the project's.
    #[arg(long, value_name = "ID")]
    pub plan: Option<String>,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The file; stdout without one.
    pub file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The file; - reads stdin.
    pub file: PathBuf,
    /// The form, where the file's name does not tell.
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub form: Option<super::transfer::FileFormat>,
    #[command(flatten)]
    pub scope: ScopeArgs,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell.
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct BindArgs {
    /// The name, such as local/my-app.
    pub name: String,
    /// The directory; by default this one.
    pub dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct EnforceArgs {
    /// The plan: its id, a unique prefix, or @.
    pub plan: String,
    /// An invariant that does not hold; repeatable.
    #[arg(long, value_name = "ID")]
    pub violated: Vec<String>,
    /// What was found.
    #[arg(long, value_name = "TEXT")]
    pub response: String,
}

#[derive(Debug, Args)]
pub struct ResolveArgs {
    /// The violation: its id or a unique prefix.
    pub violation: String,
    /// Let it stand; never for a non-overridable invariant.
    #[arg(long, requires = "reason")]
    pub waive: bool,
    /// Why it may stand.
    #[arg(long, value_name = "TEXT", requires = "waive")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Stay, and print what happens.
    #[arg(long)]
    pub follow: bool,
    /// Only what comes after this number.
    #[arg(long, value_name = "SEQ")]
    pub since: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub enum LogCommand {
    /// Prove that the log is as it was written, and that every row of the store follows from it;
    /// name what is not so.
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Print the end of the log, to be kept elsewhere.
    #[arg(long)]
    pub head: bool,
    /// Hold the log against an end that was kept elsewhere: an older copy that was put back, or
    /// a log that was written anew, is found.
    #[arg(long, value_name = "HEAD")]
    pub against: Option<crate::store::LogHead>,
}

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// What lies in the store, how much, and what could be archived.
    Stats,
    /// Give the disk back what the file does not need. Nobody else may have the store meanwhile.
    Compact,
    /// Move old events to a file beside the store: those before a date, up to the first of a plan
    /// that goes on. Nobody else may have the store meanwhile.
    Archive(ArchiveArgs),
}

#[derive(Debug, Args)]
pub struct ArchiveArgs {
    /// The first day whose events stay, such as 2026-01-31.
    #[arg(long, value_name = "DATE")]
    pub before: jiff::civil::Date,
    /// Say what would be moved, and move nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// End after this time without a call, or when the store is gone.
    #[arg(long, value_name = "MINUTES")]
    pub idle_exit: Option<u32>,
}

#[derive(Debug, Args)]
pub struct HookArgs {
    /// The agent, such as claude-code.
    pub agent: String,
}

#[derive(Debug, Subcommand)]
pub enum AssentCommand {
    /// The changes that wait for a person.
    List {
        /// Only of this plan.
        plan: Option<String>,
        /// Answered ones too.
        #[arg(long)]
        all: bool,
    },
    /// Let a change be made, once.
    Approve {
        /// The question: its id or a unique prefix.
        id: String,
        /// As often as the same change comes in this plan.
        #[arg(long)]
        plan: bool,
    },
    /// Say no, with a reason that the model reads.
    Refuse {
        /// The question: its id or a unique prefix.
        id: String,
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The agent, such as claude-code; all that are connected, without one.
    pub agent: Option<String>,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Transcripts of Claude Code or Codex, or JSON lines of `invar hook generic`; `-` is stdin.
    #[arg(required = true, value_name = "TRANSCRIPT")]
    pub files: Vec<PathBuf>,
    /// The plan whose effective set counts; by default the current one, else the project's.
    #[arg(long, value_name = "ID")]
    pub plan: Option<String>,
}

#[derive(Debug, Args)]
pub struct StatuslineArgs {
    /// The agent that shows the line, such as claude-code.
    pub agent: String,
}

#[derive(Debug, Args)]
pub struct InstallArgs {
    /// The agent, such as claude-code.
    pub agent: String,
    /// For this project only.
    #[arg(long, conflicts_with = "user")]
    pub project: bool,
    /// For all your projects (the default).
    #[arg(long)]
    pub user: bool,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
}
