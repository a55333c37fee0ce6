//! Memory that others reach, for C.

use std::ffi::{c_int, c_void};
use std::ptr::{slice_from_raw_parts, slice_from_raw_parts_mut};

use tributary_host_driver::{Access, Exposed, ProtectionDomain};

use crate::{NULL, RemoteMemory, done, fail};

/// `TRIBUTARY_ACCESS_REMOTE_WRITE`.
pub const REMOTE_WRITE: c_int = 2;
/// `TRIBUTARY_ACCESS_REMOTE_READ`.
pub const REMOTE_READ: c_int = 4;
/// `TRIBUTARY_ACCESS_REMOTE_ATOMIC`.
pub const REMOTE_ATOMIC: c_int = 8;

/// Memory that others reach.
pub struct Region(Exposed);

impl Region {
    pub(crate) fn new(
        domain: &ProtectionDomain,
        length: usize,
        access: c_int,
    ) -> Result<Self, String> {
        let rights = Access {
            local_write: false,
            remote_write: access & REMOTE_WRITE != 0,
            remote_read: access & REMOTE_READ != 0,
            remote_atomic: access & REMOTE_ATOMIC != 0,
        };
        let all = REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
        if access == 0 || access & !all != 0 {
            return Err(format!("access {access:#x} is none for others"));
        }
        let region = domain.reg_mr(length, rights).map_err(|e| e.to_string())?;
        let part = region.expose(length).ok_or("no room in a new region")?;
        Ok(Self(part))
    }
}

/// Frees memory that others reached.
///
/// # Safety
/// It came from `tributary_reg_mr` and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_dereg_mr(mr: *mut Region) {
    if !mr.is_null() {
        // SAFETY: a box of ours that nobody uses again.
        drop(unsafe { Box::from_raw(mr) });
    }
}

/// How others name its first byte; all zeros of null.
///
/// # Safety
/// `mr` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_mr_remote(mr: *const Region) -> RemoteMemory {
    // SAFETY: null or valid, as the header says.
    let remote = unsafe { mr.as_ref() }.map(|mr| mr.0.remote());
    RemoteMemory {
        addr: remote.map_or(0, |remote| remote.address),
        rkey: remote.map_or(0, |remote| remote.rkey),
    }
}

/// Copies bytes out.
///
/// # Safety
/// `mr` is valid, and `into` has room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_mr_read(
    mr: *const Region,
    at: usize,
    into: *mut c_void,
    length: usize,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(mr), false) = (unsafe { mr.as_ref() }, into.is_null()) else {
        return fail(&NULL);
    };
    // SAFETY: the caller has room for so many bytes there.
    let into = unsafe { &mut *slice_from_raw_parts_mut(into.cast(), length) };
    done(mr.0.read(at, into), |()| 0)
}

/// Copies bytes in.
///
/// # Safety
/// `mr` is valid, and `from` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_mr_write(
    mr: *const Region,
    at: usize,
    from: *const c_void,
    length: usize,
) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(mr), false) = (unsafe { mr.as_ref() }, from.is_null()) else {
        return fail(&NULL);
    };
    // SAFETY: the caller has so many bytes there.
    let from = unsafe { &*slice_from_raw_parts(from.cast(), length) };
    done(mr.0.write(at, from), |()| 0)
}

/// Reads a number of 8 bytes as a whole.
///
/// # Safety
/// `mr` is valid, and `value` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_mr_load(mr: *const Region, at: usize, value: *mut u64) -> c_int {
    // SAFETY: null or valid, as the header says.
    let (Some(mr), false) = (unsafe { mr.as_ref() }, value.is_null()) else {
        return fail(&NULL);
    };
    done(mr.0.load(at), |word| {
        // SAFETY: there is room for a number.
        unsafe { value.write(word) };
        0
    })
}

/// Writes a number of 8 bytes as a whole.
///
/// # Safety
/// `mr` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tributary_mr_store(mr: *const Region, at: usize, value: u64) -> c_int {
    // SAFETY: null or valid, as the header says.
    let Some(mr) = (unsafe { mr.as_ref() }) else {
        return fail(&NULL);
    };
    done(mr.0.store(at, value), |()| 0)
}
