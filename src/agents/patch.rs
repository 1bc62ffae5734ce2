//! The paths that a patch text names: unified diffs, git's, and the envelope of `apply_patch`.

use crate::model::Effect;

/// The effects of applying `text`; empty when it is no patch.
pub(super) fn effects(text: &str) -> Vec<Effect> {
    let mut out = Vec::new();
    let mut add = |effect: Effect| {
        if !out.contains(&effect) {
            out.push(effect);
        }
    };
    let mut before: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim_end_matches('\r');
        let after = |prefix: &str| line.strip_prefix(prefix).map(str::trim);
        let change = |path: &str| Effect::Change { path: path.into() };
        let delete = |path: &str| Effect::Delete { path: path.into() };
        if let Some(path) = after("*** Add File: ").or_else(|| after("*** Update File: ")) {
            add(change(path));
        } else if let Some(path) = after("*** Delete File: ").or_else(|| after("rename from ")) {
            add(delete(path));
        } else if let Some(path) = after("*** Move to: ")
            .or_else(|| after("rename to "))
            .or_else(|| after("copy to "))
        {
            add(change(path));
        } else if let Some(path) = after("--- ") {
            before = named(path);
        } else if let Some(path) = after("+++ ") {
            match (named(path), before.take()) {
                (Some(path), _) => add(change(path)),
                (None, Some(path)) => add(delete(path)),
                (None, None) => {}
            }
        }
    }
    out
}

/// The path of a header line, without its time and git's `a/` or `b/`; `None` for no file.
fn named(header: &str) -> Option<&str> {
    let path = header.split('\t').next().unwrap_or(header).trim();
    let path = path
        .strip_prefix("a/")
        .or_else(|| path.strip_prefix("b/"))
        .unwrap_or(path);
    (path != "/dev/null" && !path.is_empty()).then_some(path)
}

/// Whether a text is a patch.
pub(super) fn is_patch(text: &str) -> bool {
    text.contains("*** Begin Patch") || (text.contains("--- ") && text.contains("\n+++ "))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn paths(text: &str) -> Vec<PathBuf> {
        let effects = effects(text);
        let paths = effects.iter().flat_map(Effect::changed_paths);
        paths.cloned().collect()
    }

    #[test]
    fn every_arm_of_a_patch_counts() {
        let text = "*** Begin Patch\n*** Update File: src/a\n*** Move to: tests/a\n@@\n-x\n+y\n*** Delete File: b\n*** Add File: c d\n+*** no header\n*** End Patch";
        assert!(is_patch(text));
        let expected = ["src/a", "tests/a", "b", "c d"].map(PathBuf::from);
        assert_eq!(paths(text), expected);
    }

    #[test]
    fn diffs_name_both_sides() {
        let text = "diff --git a/x b/y\nrename from x\nrename to y\n--- a/old.py\t2026-01-01\n+++ /dev/null\n--- a/z\n+++ b/z\n";
        let expected = ["x", "y", "old.py", "z"].map(PathBuf::from);
        assert_eq!(paths(text), expected);
        assert!(is_patch(text));
        assert!(!is_patch("--- a heading in a text"));
    }
}
