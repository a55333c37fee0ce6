//! Signals that end a command which serves others.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

/// SIGINT and SIGTERM, taken when asked for instead of ending the process.
pub struct Signals(libc::sigset_t);

impl Signals {
    /// For this thread and those that it starts from now on.
    pub fn block() -> Result<Self> {
        // SAFETY: a set of signals is plain data; `sigemptyset` makes it a valid one.
        let mut set = unsafe { std::mem::zeroed() };
        // SAFETY: the set is ours.
        let error = unsafe {
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGINT);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut())
        };
        if error != 0 {
            let error = std::io::Error::from_raw_os_error(error);
            return Err(error).context("cannot wait for signals");
        }
        Ok(Self(set))
    }

    /// A program that gets them as if nobody had taken them: it would inherit that they are blocked.
    pub fn spare(&self, program: &mut Command) {
        let set = self.0;
        // SAFETY: between fork and exec it only makes a system call.
        unsafe {
            program.pre_exec(move || {
                let none = std::ptr::null_mut();
                match libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, none) {
                    0 => Ok(()),
                    error => Err(std::io::Error::from_raw_os_error(error)),
                }
            });
        }
    }

    /// Whether one comes within this time.
    pub fn came(&self, within: Duration) -> bool {
        let time = libc::timespec {
            tv_sec: within.as_secs() as libc::time_t,
            tv_nsec: i64::from(within.subsec_nanos()) as libc::c_long,
        };
        // SAFETY: a valid set and time; nobody asks who sent it.
        let signal =
            unsafe { libc::sigtimedwait(&raw const self.0, std::ptr::null_mut(), &raw const time) };
        signal > 0
    }
}
