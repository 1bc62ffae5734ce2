//! Copying: the terminal's own way over SSH, tmux's buffer inside tmux, else the desktop's tool.

use std::{
    env,
    io::{self, Write},
    process::{Command, Stdio},
};

use base64::{Engine, prelude::BASE64_STANDARD};

/// Longer texts do not fit into the escape sequence of many terminals.
const MAX_OSC: usize = 75_000;

/// The tools of desktops, with the variable that says that there is one.
const TOOLS: [(&str, &str, &[&str]); 4] = [
    ("WAYLAND_DISPLAY", "wl-copy", &[]),
    ("DISPLAY", "xclip", &["-selection", "clipboard"]),
    ("DISPLAY", "xsel", &["--clipboard", "--input"]),
    ("HOME", "pbcopy", &[]),
];

/// Copies a text; says which way was used.
///
/// # Errors
/// Why no way could be used.
pub fn copy(text: &str) -> Result<String, String> {
    let set = |name: &str| env::var_os(name).is_some_and(|v| !v.is_empty());
    let remote = set("SSH_TTY") || set("SSH_CONNECTION");
    if !remote {
        let found = TOOLS
            .iter()
            .find(|(variable, tool, args)| set(variable) && feed(tool, args, text).is_ok());
        if let Some((_, tool, _)) = found {
            return Ok(format!("copied with {tool}"));
        }
    }
    let tmux = set("TMUX");
    if tmux && feed("tmux", &["load-buffer", "-w", "-"], text).is_ok() {
        return Ok(
            "copied into tmux's buffer; tmux passes it on where `set-clipboard` is on".into(),
        );
    }
    if text.len() > MAX_OSC {
        return Err(format!(
            "{} characters are more than the terminal takes; select less",
            text.len()
        ));
    }
    let mut out = io::stdout().lock();
    out.write_all(osc52(text, tmux).as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| e.to_string())?;
    Ok("sent to the terminal's clipboard (OSC 52), if the terminal allows it".into())
}

/// The escape sequence that asks the terminal to copy; wrapped for tmux to pass on.
fn osc52(text: &str, tmux: bool) -> String {
    let sequence = format!("\x1b]52;c;{}\x1b\\", BASE64_STANDARD.encode(text));
    match tmux {
        true => format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b")),
        false => sequence,
    }
}

fn feed(tool: &str, args: &[&str], text: &str) -> io::Result<()> {
    let mut child = Command::new(tool)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(text.as_bytes())?;
    }
    match child.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("the tool failed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_holds_nothing_but_the_text_encoded() {
        assert_eq!(
            osc52("a\x1b]0;x\x07", false),
            "\x1b]52;c;YRtdMDt4Bw==\x1b\\"
        );
        assert_eq!(
            osc52("a", true),
            "\x1bPtmux;\x1b\x1b]52;c;YQ==\x1b\x1b\\\x1b\\"
        );
    }
}
