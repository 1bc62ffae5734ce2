//! The person's own editor for one text.

use std::{env, fs, io, process::Command};

use rustix::termios::{QueueSelector, tcflush};

/// Runs `$VISUAL`, `$EDITOR` or `vi` on the text; `None` when it ends with a failure or leaves
/// the text as it was. The terminal belongs to it meanwhile.
///
/// # Errors
/// What keeps it from being started, or its file from being read.
pub(super) fn edit(text: &str) -> io::Result<Option<String>> {
    let file = tempfile::Builder::new()
        .prefix("invar-")
        .suffix(".txt")
        .tempfile()?;
    fs::write(file.path(), format!("{text}\n"))?;
    let set = |name: &str| env::var(name).ok().filter(|v| !v.trim().is_empty());
    let editor = set("VISUAL")
        .or_else(|| set("EDITOR"))
        .unwrap_or("vi".into());
    // The variable may hold options; the file's name is handed over apart, never as text.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("editor")
        .arg(file.path())
        .status()?;
    // Keys that it did not read are not for us.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    if !status.success() {
        return Ok(None);
    }
    let after = fs::read_to_string(file.path())?;
    let after = after.trim_end_matches('\n');
    Ok((after != text).then(|| after.to_owned()))
}
