//! invar's own invariants: the store, the configuration and the agents' hook settings are
//! untouched by agents (semantics section 8). They belong to no store and cannot be removed.

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

/// The built-in invariants of an installation, in a fixed order with fixed ids.
pub fn invariants(locations: &Locations) -> Vec<Invariant> {
    let literal = |path: &std::path::Path| glob::escape(&path.to_string_lossy());
    let store = literal(&locations.store);
    let config = locations.config.parent().unwrap_or(&locations.config);
    [
        (
            format!("{store}{{,.*}}"),
            "invar's store is untouched by agents",
        ),
        (
            literal(config),
            "invar's configuration is untouched by agents",
        ),
        (
            format!("~/{{{}}}", [PERSONS, &SHARED].concat().join(",")),
            "the agent's own hook settings are untouched",
        ),
        (
            format!("**/{}", project_file::NAME),
            "the project's invariants are untouched by agents",
        ),
        (
            format!("**/{{{}}}", [PROJECTS, &SHARED].concat().join(",")),
            "the project's hook settings are untouched",
        ),
    ]
    .into_iter()
    .map(|(pattern, text)| (Layer::Letter(LetterCheck::Untouched(pattern)), text))
    .chain([(Layer::Plain, ONLY_PEOPLE)])
    .enumerate()
    .map(|(number, (layer, text))| {
        let id = InvariantId(Ulid::from_parts(0, number as u128 + 1));
        Invariant {
            non_overridable: true,
            origin: Origin::BuiltIn,
            on_invariant_breach: Some(Remedy::Inform),
            ..Invariant::new(id, Scope::Global, layer, text, Timestamp::UNIX_EPOCH)
        }
    })
    .collect()
}

/// The text of the invariant that an agent breaks when it runs invar to change something.
pub const ONLY_PEOPLE: &str = "only people change invariants and end their guard";
