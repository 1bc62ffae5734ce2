//! Path text: cleaning `.` and `..`, and placing a path against a project root.

use std::path::{Component, Path, PathBuf};

/// Removes `.` and `..` from an absolute path by its text alone. `..` at the root stays there.
pub fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The absolute form of `path` as written, seen from `cwd`. A `file://` prefix and a leading
/// `~/` are undone first, since tools undo them too.
pub fn absolute(path: &Path, cwd: &Path, home: Option<&Path>) -> PathBuf {
    let text = path.to_string_lossy();
    let undone = match text.strip_prefix("file://") {
        Some(rest) => PathBuf::from(percent_decoded(
            rest.strip_prefix("localhost").unwrap_or(rest),
        )),
        None => path.to_owned(),
    };
    match (undone.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => cwd.join(undone),
    }
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// `path` relative to `root`, when it lies inside. The root itself is no path inside.
pub fn inside<'a>(path: &'a Path, root: &Path) -> Option<&'a Path> {
    path.strip_prefix(root)
        .ok()
        .filter(|rest| !rest.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_removed_by_text() {
        assert_eq!(
            clean(Path::new("/w/src/../tests/./a")),
            Path::new("/w/tests/a")
        );
        assert_eq!(clean(Path::new("/../../x")), Path::new("/x"));
    }

    #[test]
    fn written_paths_become_absolute() {
        let at = |p: &str| absolute(Path::new(p), Path::new("/w"), Some(Path::new("/home/mira")));
        assert_eq!(at("src/a"), Path::new("/w/src/a"));
        assert_eq!(at("/etc/hosts"), Path::new("/etc/hosts"));
        assert_eq!(at("~/.bashrc"), Path::new("/home/mira/.bashrc"));
        assert_eq!(at("file:///w/a%20b.py"), Path::new("/w/a b.py"));
        assert_eq!(at("file:///w/100%"), Path::new("/w/100%"));
        assert_eq!(at("x~"), Path::new("/w/x~"));
    }

    #[test]
    fn a_sibling_with_the_same_prefix_is_outside() {
        assert_eq!(
            inside(Path::new("/w/a"), Path::new("/w")),
            Some(Path::new("a"))
        );
        assert_eq!(inside(Path::new("/w-evil/a"), Path::new("/w")), None);
        assert_eq!(inside(Path::new("/w"), Path::new("/w")), None);
    }
}
