//! invar's own invariants: the store, the configuration and the agents' hook settings are
//! untouched by agents (semantics section 8). They belong to no store and cannot be removed.

use jiff::Timestamp;
use ulid::Ulid;

use super::Locations;
use crate::{
    model::{Invariant, InvariantId, Layer, LetterCheck, Origin, Remedy, Scope, Severity},
    rules::glob,
};

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
            "~/.claude/settings{,.local}.json".into(),
            "the agent's own hook settings are untouched",
        ),
        (
            "**/.claude/settings{,.local}.json".into(),
            "the project's hook settings are untouched",
        ),
    ]
    .into_iter()
    .enumerate()
    .map(|(number, (pattern, text))| Invariant {
        id: InvariantId(Ulid::from_parts(0, number as u128 + 1)),
        text: text.to_owned(),
        scope: Scope::Global,
        layer: Layer::Letter(LetterCheck::Untouched(pattern)),
        severity: Severity::Error,
        non_overridable: true,
        active: true,
        created_at: Timestamp::UNIX_EPOCH,
        revision: 1,
        origin: Origin::BuiltIn,
        on_invariant_breach: Some(Remedy::Inform),
    })
    .collect()
}
