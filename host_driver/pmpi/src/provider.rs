//! What the libfabric provider of the same process exports: the process has one card, and the provider has it.

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use crate::mpi::{text, typed};

/// As `VERSION` in `host_driver/fi/src/collective/boundary.rs`, which another layout of [`Request`] changes.
const VERSION: u32 = 3;

/// As in `host_driver/fi/src/collective/boundary.rs`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub data: *const c_void,
    pub count: usize,
    pub root: u32,
    pub what: u8,
    pub op: u8,
    pub class: u8,
    pub size: u8,
    pub reproducible: u8,
}

impl Request {
    pub const fn barrier() -> Self {
        Self {
            data: std::ptr::null(),
            count: 0,
            root: 0,
            what: 0,
            op: 0,
            class: 2,
            size: 1,
            reproducible: 0,
        }
    }

    pub const fn broadcast(bytes: &[u8], root: u32) -> Self {
        Self {
            data: bytes.as_ptr().cast(),
            count: bytes.len(),
            root,
            what: 1,
            ..Self::barrier()
        }
    }
}

/// Its functions.
pub struct Provider {
    error: unsafe extern "C" fn() -> *const c_char,
    open: unsafe extern "C" fn(u32, *mut u64) -> c_int,
    pub create: unsafe extern "C" fn(u64, *const u64, usize, *mut *mut c_void) -> c_int,
    pub path: unsafe extern "C" fn(*const c_void) -> c_int,
    start: unsafe extern "C" fn(*const c_void, *const Request, *mut *mut c_void) -> c_int,
    test: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int,
    pub free: unsafe extern "C" fn(*mut c_void),
    pub end: unsafe extern "C" fn(*mut u64) -> c_int,
}

impl Provider {
    /// The provider, if libfabric has loaded it.
    pub fn get() -> Option<&'static Self> {
        static PROVIDER: OnceLock<Option<Provider>> = OnceLock::new();
        PROVIDER.get_or_init(Self::find).as_ref()
    }

    fn find() -> Option<Self> {
        // As libfabric reads it: several folders, and one may begin with `@`.
        let folders = std::env::var_os("FI_PROVIDER_PATH")?.into_vec();
        let mut folders = folders.split(|byte| *byte == b':');
        let library = folders.find_map(|folder| {
            let mut path = folder.strip_prefix(b"@").unwrap_or(folder).to_vec();
            path.extend_from_slice(b"/libtributary-fi.so");
            let path = CString::new(path).ok()?;
            // SAFETY: finds a library that is loaded already, or nothing.
            let found = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
            (!found.is_null()).then_some(found)
        })?;
        macro_rules! function {
            ($name:literal) => {{
                // SAFETY: a library that is loaded.
                let found = unsafe { libc::dlsym(library, $name.as_ptr()) };
                if found.is_null() {
                    return None;
                }
                // SAFETY: this project's function of this name has this type.
                unsafe { typed(found) }
            }};
        }
        Some(Self {
            error: function!(c"tributary_coll_error"),
            open: function!(c"tributary_coll_open"),
            create: function!(c"tributary_coll_create"),
            path: function!(c"tributary_coll_path"),
            start: function!(c"tributary_coll_start"),
            test: function!(c"tributary_coll_test"),
            free: function!(c"tributary_coll_free"),
            end: function!(c"tributary_coll_end"),
        })
    }

    /// Address of this process among those of the switches.
    pub fn address(&self) -> Result<u64, String> {
        let mut address = 0;
        // SAFETY: room for an address.
        match unsafe { (self.open)(VERSION, &raw mut address) } {
            0 => Ok(address),
            _ => Err(self.error()),
        }
    }

    /// Begins an operation of a group, after those that have begun.
    ///
    /// # Safety
    /// A group of the provider, and the elements are there.
    pub unsafe fn start(
        &'static self,
        group: *const c_void,
        request: &Request,
    ) -> Result<Operation, String> {
        let mut at = std::ptr::null_mut();
        // SAFETY: as the caller says, and room for a pointer.
        match unsafe { (self.start)(group, request, &raw mut at) } {
            0 => Ok(Operation { provider: self, at }),
            _ => Err(self.error()),
        }
    }

    /// Why the latest call of this thread failed.
    pub fn error(&self) -> String {
        // SAFETY: a text of the provider, until its next call.
        unsafe { text((self.error)()) }
    }
}

/// An operation that has begun, until its end is known.
pub struct Operation {
    provider: &'static Provider,
    at: *mut c_void,
}

impl Operation {
    /// Works; whether it has ended, and what it gives is in the room. Not to be asked again then.
    ///
    /// # Safety
    /// So many bytes of room.
    pub unsafe fn test(&self, (out, room): (*mut c_void, usize)) -> Result<bool, String> {
        // SAFETY: an operation that has not ended, and what the caller says.
        match unsafe { (self.provider.test)(self.at, out, room) } {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.provider.error()),
        }
    }
}
