//! Who is at the other end of a socket. Both ends look: the engine answers only processes of its
//! own user, and nobody believes an engine that another user runs.

use std::{io, os::unix::net::UnixStream, path::Path};

/// Whether a process of that user may be spoken with.
pub(super) fn is_ours(uid: u32) -> bool {
    uid == rustix::process::getuid().as_raw()
}

/// Refuses an engine that another user runs at `socket`.
///
/// # Errors
/// It is of another user, or the system does not tell whose it is.
pub(super) fn check_engine(stream: &UnixStream, socket: &Path) -> io::Result<()> {
    let uid = engine_uid(stream, socket)?;
    match is_ours(uid) {
        true => Ok(()),
        false => Err(not_ours(uid)),
    }
}

pub(super) fn not_ours(uid: u32) -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("the engine there belongs to user {uid}"),
    )
}

#[cfg(target_os = "linux")]
fn engine_uid(stream: &UnixStream, _socket: &Path) -> io::Result<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(peer.uid.as_raw())
}

/// Elsewhere the file says whose socket it is, as long as nobody else may write its folder.
#[cfg(not(target_os = "linux"))]
fn engine_uid(_stream: &UnixStream, socket: &Path) -> io::Result<u32> {
    Ok(std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(
        socket,
    )?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_of_this_user_is_believed_and_another_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let stream = UnixStream::connect(&socket).unwrap();
        check_engine(&stream, &socket).unwrap();
        drop(listener);
        let us = rustix::process::getuid().as_raw();
        assert!(is_ours(us) && !is_ours(us + 1));
    }
}
