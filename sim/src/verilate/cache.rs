//! Build results by content: made once, in a temporary folder, under a lock, then renamed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::error::VerilateError;

/// The folder `dir/name`, filled by `make` unless it is there already.
///
/// `make` gets an empty folder, which is renamed when it succeeds and removed when it fails.
/// Processes and threads that want the same folder wait for each other; others do not.
pub(super) fn folder(
    dir: &Path,
    name: &str,
    make: impl FnOnce(&Path) -> Result<(), VerilateError>,
) -> Result<PathBuf, VerilateError> {
    let done = dir.join(name);
    if done.is_dir() {
        return Ok(done);
    }
    fs::create_dir_all(dir).map_err(VerilateError::io("cannot create", dir))?;
    let lock_path = dir.join(format!("{name}.lock"));
    let lock = File::create(&lock_path).map_err(VerilateError::io("cannot write", &lock_path))?;
    lock.lock()
        .map_err(VerilateError::io("cannot lock", &lock_path))?;
    if done.is_dir() {
        return Ok(done);
    }
    // Left over from a process that was killed; the lock says that nobody is using it.
    let temporary = dir.join(format!("{name}.tmp"));
    if temporary.exists() {
        fs::remove_dir_all(&temporary).map_err(VerilateError::io("cannot remove", &temporary))?;
    }
    fs::create_dir(&temporary).map_err(VerilateError::io("cannot create", &temporary))?;
    let result = make(&temporary).and_then(|()| {
        fs::rename(&temporary, &done).map_err(VerilateError::io("cannot rename", &temporary))
    });
    if result.is_err() {
        let _ = fs::remove_dir_all(&temporary);
    }
    // The lock file stays: removing it would let two processes hold "the" lock.
    result.map(|()| done)
}
