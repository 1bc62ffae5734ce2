//! A program that is given a text and has to answer within a time.

use std::{
    io::{self, Read, Write},
    process::{Command, Output, Stdio},
    sync::mpsc,
    time::Duration,
};

/// The most that is read of each of its outputs.
const MAX_OUTPUT: u64 = 1 << 20;

/// Why there is no output.
#[derive(Debug)]
pub enum Fault {
    /// It could not be started.
    Start(io::Error),
    /// Its end could not be awaited.
    Wait(io::Error),
    /// It did not end in time, and was killed.
    Late,
}

/// Runs `command` with `input` on its stdin for `limit` at the most. Its stderr is where the caller
/// put it, so that it is empty in the output unless it was piped.
///
/// # Errors
/// When it cannot be started or awaited, or does not end in time.
pub fn run(command: &mut Command, input: String, limit: Duration) -> Result<Output, Fault> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Fault::Start)?;
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    std::thread::spawn(move || {
        // On a thread: a program that reads nothing would otherwise hold this up, and one that
        // ends early is judged by its answer and not by the broken pipe.
        let _ = stdin.map(|mut stdin| stdin.write_all(input.as_bytes()));
    });
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let said = std::thread::spawn(move || all_of(stderr));
        let stdout = all_of(stdout);
        let stderr = said.join().unwrap_or_default();
        let output = child.wait().map(|status| Output {
            status,
            stdout,
            stderr,
        });
        let _ = sender.send(output);
    });
    match receiver.recv_timeout(limit) {
        Ok(output) => output.map_err(Fault::Wait),
        Err(_) => {
            if let Some(pid) = pid {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            Err(Fault::Late)
        }
    }
}

fn all_of(pipe: Option<impl Read>) -> Vec<u8> {
    let mut out = Vec::new();
    // What was read until a fault is what there is.
    let _ = pipe.map(|p| p.take(MAX_OUTPUT).read_to_end(&mut out));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]).stderr(Stdio::piped());
        command
    }

    #[test]
    fn what_a_program_says_comes_back_and_one_that_hangs_is_ended() {
        let long = Duration::from_secs(60);
        let ran = run(&mut sh("cat; echo no >&2; exit 3"), "x".into(), long).unwrap();
        let said = (ran.status.code(), &*ran.stdout, &*ran.stderr);
        assert_eq!(said, (Some(3), &b"x"[..], &b"no\n"[..]));
        // One that reads nothing blocks nobody, however much there is to read.
        let ran = run(&mut sh("echo ok"), "x".repeat(1 << 20), long).unwrap();
        assert_eq!(ran.stdout, b"ok\n");
        let late = run(&mut sh("exec sleep 600"), String::new(), Duration::ZERO);
        assert!(matches!(late, Err(Fault::Late)));
        let none = run(&mut Command::new("/nowhere"), String::new(), long);
        assert!(matches!(none, Err(Fault::Start(_))));
    }
}
