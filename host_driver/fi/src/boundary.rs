//! The functions that libfabric calls. Each is thin: it turns pointers into values, calls the engine, and lets no panic out.

mod address;
mod counter;
mod domain;
mod endpoint;
mod event;
mod info;
mod memory;
mod name;
mod poll;
mod queue;
mod set;
mod wait;

use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

pub(crate) use domain::of_process;

use crate::abi::*;
use crate::engine::Memory;

/// Names the folder of sockets that `tributary serve` made.
const SOCKETS: &str = "TRIBUTARY_SOCKETS";
/// Name of the provider.
const NAME: &std::ffi::CStr = c"tributary";

pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os(SOCKETS).map(PathBuf::from)
}

/// Runs a call; a panic is an error of it.
fn call(act: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or(-EOTHER)
}

/// The same, of calls that return a size.
fn size(act: impl FnOnce() -> isize) -> isize {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or(-(EOTHER as isize))
}

unsafe extern "C" fn none() -> c_int {
    -ENOSYS
}

unsafe extern "C" fn none_size() -> isize {
    -(ENOSYS as isize)
}

/// Memory of the program: it keeps it until the operation has ended, as libfabric's contract says.
pub struct UserMemory {
    parts: Vec<(*mut u8, usize)>,
    length: usize,
}

// SAFETY: the program gave the memory to the operation; the threads that use it hold the endpoint's lock.
unsafe impl Send for UserMemory {}

impl UserMemory {
    fn new(pointer: *mut c_void, length: usize) -> Self {
        Self {
            parts: vec![(pointer.cast(), length)],
            length,
        }
    }

    /// # Safety
    /// So many entries at the pointer.
    unsafe fn of(entries: *const libc::iovec, count: usize) -> Self {
        // SAFETY: as the caller says.
        let entry = |at| unsafe { entries.add(at).read() };
        let parts = (0..count)
            .map(entry)
            .map(|e| (e.iov_base.cast(), e.iov_len));
        let parts: Vec<(*mut u8, usize)> = parts.collect();
        let length = parts.iter().map(|part| part.1).sum();
        Self { parts, length }
    }

    /// It is one piece.
    fn is_whole(&self) -> bool {
        self.parts.len() == 1
    }

    /// Where it begins.
    fn pointer(&self) -> *mut c_void {
        self.parts
            .first()
            .map_or(std::ptr::null_mut(), |part| part.0.cast())
    }

    /// Calls with pointer, offset among the wanted bytes, and length of each piece of a range.
    fn pieces(&self, mut at: usize, mut count: usize, mut act: impl FnMut(*mut u8, usize, usize)) {
        let mut done = 0;
        for (pointer, length) in &self.parts {
            if at >= *length {
                at -= length;
                continue;
            }
            let bytes = (length - at).min(count);
            if bytes > 0 {
                act(pointer.wrapping_add(at), done, bytes);
            }
            (at, count, done) = (0, count - bytes, done + bytes);
        }
    }
}

impl Memory for UserMemory {
    fn length(&self) -> usize {
        self.length
    }

    fn read(&self, at: usize, count: usize, to: &mut Vec<u8>) {
        self.pieces(at, count, |pointer, _, bytes| {
            // SAFETY: memory that the program gave for this operation.
            to.extend_from_slice(unsafe { std::slice::from_raw_parts(pointer, bytes) });
        });
    }

    fn copy(&self, at: usize, into: &mut [u8]) {
        self.pieces(at, into.len(), |pointer, done, bytes| {
            // SAFETY: as above.
            let from = unsafe { std::slice::from_raw_parts(pointer, bytes) };
            into[done..done + bytes].copy_from_slice(from);
        });
    }

    fn write(&mut self, at: usize, from: &[u8]) {
        self.pieces(at, from.len(), |pointer, done, bytes| {
            let from = from[done..done + bytes].as_ptr();
            // SAFETY: as above; the program does not touch it before the operation has ended.
            unsafe { std::ptr::copy_nonoverlapping(from, pointer, bytes) };
        });
    }

    fn part(&self, at: usize, count: usize) -> Self {
        let mut parts = Vec::with_capacity(self.parts.len());
        self.pieces(at, count, |pointer, _, bytes| parts.push((pointer, bytes)));
        Self {
            parts,
            length: count,
        }
    }
}

unsafe extern "C" fn cleanup() {}

unsafe extern "C" fn fabric(
    _: *mut fi_fabric_attr,
    out: *mut *mut fid_fabric,
    context: *mut c_void,
) -> c_int {
    call(|| {
        let made = fid_fabric {
            fid: fid {
                fclass: CLASS_FABRIC,
                context,
                ops: &FABRIC_FID.0,
            },
            ops: &FABRIC.0,
            api_version: 0,
        };
        // SAFETY: the caller gives a place.
        unsafe { out.write(Box::into_raw(Box::new(made))) };
        SUCCESS
    })
}

unsafe extern "C" fn fabric_close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `fabric`, closed once.
        drop(unsafe { Box::from_raw(fid.cast::<fid_fabric>()) });
        SUCCESS
    })
}

const fn fid_ops(close: unsafe extern "C" fn(*mut fid) -> c_int) -> fi_ops {
    fi_ops {
        size: size_of::<fi_ops>(),
        close: Some(close),
        bind: Some(no_bind),
        control: Some(no_control),
        ops_open: std::ptr::null(),
        tostr: std::ptr::null(),
        ops_set: std::ptr::null(),
    }
}

unsafe extern "C" fn no_bind(_: *mut fid, _: *mut fid, _: u64) -> c_int {
    -ENOSYS
}

unsafe extern "C" fn no_control(_: *mut fid, _: c_int, _: *mut c_void) -> c_int {
    -ENOSYS
}

static FABRIC_FID: Shared<fi_ops> = Shared(fid_ops(fabric_close));
static FABRIC: Shared<fi_ops_fabric> = Shared(fi_ops_fabric {
    size: size_of::<fi_ops_fabric>(),
    domain: domain::open,
    passive_ep: none,
    eq_open: event::open,
    wait_open: none,
    trywait: wait::trywait,
    domain2: std::ptr::null(),
});

/// Tables of functions, which never change.
#[repr(transparent)]
struct Shared<T>(T);

// SAFETY: nobody writes to them.
unsafe impl<T> Sync for Shared<T> {}

impl<T> std::ops::Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

static PROVIDER: Shared<fi_provider> = Shared(fi_provider {
    version: 1 << 16,
    // A provider of an older interface than the program's is skipped; a newer one never is.
    fi_version: 2 << 16 | 99,
    context: fi_context {
        internal: [std::ptr::null_mut(); 4],
    },
    name: NAME.as_ptr(),
    getinfo: info::get,
    fabric,
    cleanup,
});

/// What libfabric calls when it has loaded the provider. It writes to the provider's context.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *const fi_provider {
    // libfabric keeps its own state in the context, so each process needs memory that can be written.
    let place = Box::new(fi_provider { ..*PROVIDER });
    Box::leak(place)
}

/// A text of C; empty if there is none.
///
/// # Safety
/// Nothing, or a text that ends with a zero.
unsafe fn text<'a>(pointer: *const c_char) -> &'a [u8] {
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::ffi::CStr::from_ptr(pointer) }.to_bytes()
}
