//! invar's own invariants: the store, the configuration and the agents' hook settings are
//! untouched by agents, and only people change invariants. They belong to no store and cannot be
//! removed: whoever guards an agent must not be switched off by it.

use jiff::Timestamp;
use ulid::Ulid;

use super::{Locations, project_file};
use crate::{
    model::{Invariant, InvariantId, Layer, LetterCheck, Origin, Remedy, Scope},
    rules::glob,
};

/// Hook settings and plugins that lie below the home folder as below a project.
const SHARED: [&str; 8] = [
    ".claude/settings{,.local}.json",
    ".codex/{hooks.json,config.toml}",
    ".gemini/{settings,trusted_hooks}.json",
    ".qwen/settings.json",
    ".cursor/hooks.json",
    ".factory/{settings,hooks}.json",
    ".grok/hooks/*.json",
    ".agents/hooks.json",
];

/// Those below the home folder alone.
const PERSONS: &[&str] = &[
    ".config/opencode/plugin{,s}/invar.js",
    ".config/crush/crush.json",
    ".copilot/hooks/*.json",
    ".pi/agent/extensions/invar.ts",
    ".codeium/windsurf/hooks.json",
];

/// Those below a project alone.
const PROJECTS: &[&str] = &[
    ".opencode/plugin{,s}/invar.js",
    "{.,}crush.json",
    ".github/hooks/*.json",
    ".pi/extensions/invar.ts",
    ".windsurf/hooks.json",
];

/// One of invar's own invariants. The number is part of its id, by which strikes and events name
/// it: it never changes, and is never given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    /// The store, its lock and its owner file.
    Store = 1,
    /// The folder of the configuration.
    Configuration = 2,
    /// Hook settings below the home folder.
    PersonsHooks = 3,
    /// `invar.toml`, wherever it lies.
    ProjectFile = 4,
    /// Hook settings below a project.
    ProjectsHooks = 5,
    /// An agent breaks it when it runs invar to change something.
    OnlyPeople = 6,
}

impl BuiltIn {
    /// The id, the same in every installation.
    pub fn id(self) -> InvariantId {
        InvariantId(Ulid::from_parts(0, self as u128))
    }
}

/// The built-in invariants of an installation, in the order of their ids.
pub fn invariants(locations: &Locations) -> Vec<Invariant> {
    let literal = |path: &std::path::Path| glob::escape(&path.to_string_lossy());
    let store = literal(&locations.store);
    let config = locations.config.parent().unwrap_or(&locations.config);
    let untouched = |pattern| Layer::Letter(LetterCheck::Untouched(pattern));
    [
        (
            BuiltIn::Store,
            untouched(format!("{store}{{,.*}}")),
            "invar's store is untouched by agents",
        ),
        (
            BuiltIn::Configuration,
            untouched(literal(config)),
            "invar's configuration is untouched by agents",
        ),
        (
            BuiltIn::PersonsHooks,
            untouched(format!("~/{{{}}}", [PERSONS, &SHARED].concat().join(","))),
            "the agent's own hook settings are untouched",
        ),
        (
            BuiltIn::ProjectFile,
            untouched(format!("**/{}", project_file::NAME)),
            "the project's invariants are untouched by agents",
        ),
        (
            BuiltIn::ProjectsHooks,
            untouched(format!("**/{{{}}}", [PROJECTS, &SHARED].concat().join(","))),
            "the project's hook settings are untouched",
        ),
        // No pattern says what a command does: the reader of command lines reports it.
        (
            BuiltIn::OnlyPeople,
            Layer::Plain,
            "only people change invariants and end their guard",
        ),
    ]
    .into_iter()
    .map(|(own, layer, text)| Invariant {
        non_overridable: true,
        origin: Origin::BuiltIn,
        // Its own and not the configured remedy: with `warn` in the configuration an agent could
        // otherwise switch its guard off.
        on_invariant_breach: Some(Remedy::Inform),
        ..Invariant::new(own.id(), Scope::Global, layer, text, Timestamp::UNIX_EPOCH)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn their_ids_are_the_same_in_every_installation() {
        let at = |home: &str| Locations {
            store: PathBuf::from(home).join("invar.redb"),
            config: PathBuf::from(home).join("invar/config.toml"),
            logs: home.into(),
            socket: home.into(),
            home: home.into(),
        };
        let ids = |home| invariants(&at(home)).into_iter().map(|i| i.id.to_string());
        let expected = (1..=6).map(|number| format!("{number:026}"));
        assert!(ids("/home/mira").eq(expected));
        assert!(ids("/home/mira").eq(ids("/home/jo")));
        let own = invariants(&at("/home/mira"));
        let only_people = own.iter().find(|i| i.id == BuiltIn::OnlyPeople.id());
        assert!(only_people.is_some_and(|i| i.text.starts_with("only people")));
    }
}
