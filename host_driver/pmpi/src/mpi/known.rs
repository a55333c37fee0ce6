//! What is known of an MPI library: handles of what it has from the beginning, and how it lets others work.

use std::ffi::{c_int, c_void};

use super::{Fortran, Handle};

/// Classes of elements, as the provider numbers them.
pub const REAL: u8 = 0;
pub const SIGNED: u8 = 1;
pub const UNSIGNED: u8 = 2;
/// A real or a signed number and an `int`, its place.
pub const REAL_PLACED: u8 = 3;
pub const SIGNED_PLACED: u8 = 4;
/// Not of the provider: bytes have bitwise operations alone, truth values logical ones.
pub const BYTES: u8 = 5;
pub const TRUTH: u8 = 6;

/// A generalized request that the library asks whether it has ended; the last function waits for several.
pub type Polls = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
pub type Waits = unsafe extern "C" fn(c_int, *mut *mut c_void, f64, *mut c_void) -> c_int;
pub type StartsPolled = unsafe extern "C" fn(
    super::Queries,
    super::Frees,
    super::Cancels,
    Polls,
    Waits,
    *mut c_void,
    *mut Handle,
) -> c_int;
/// What Open MPI calls whenever it works; it returns how much has happened.
pub type Progresses = unsafe extern "C" fn() -> c_int;

/// How a library lets requests end that are not its own.
#[derive(Clone, Copy)]
pub enum Requests {
    /// It calls a function whenever it works.
    Registered(unsafe extern "C" fn(Progresses) -> c_int),
    /// It asks each request.
    Polled(StartsPolled),
}

/// How it is made to work.
#[derive(Clone, Copy)]
pub enum Work {
    /// By a function for that.
    Function(unsafe extern "C" fn()),
    /// By looking for a message: from anybody, with any tag, in a communicator of all. In one of a single process nothing would be
    /// done for others.
    Probe {
        probe: unsafe extern "C" fn(c_int, c_int, Handle, *mut c_int, *mut c_void) -> c_int,
        anybody: c_int,
        any_tag: c_int,
        comm: Handle,
        ignore: *mut c_void,
    },
}

/// Handles and ways of a library.
pub struct Known {
    /// Handles are numbers of 32 bits, and what stands beside them in a register or in memory means nothing.
    pub numbers: bool,
    /// Handle, class and bytes of predefined types.
    pub types: Vec<(usize, u8, u8)>,
    /// Operations, in the order of the provider's numbers.
    pub ops: Vec<usize>,
    pub comm_null: usize,
    pub comm_self: Handle,
    pub datatype_null: usize,
    pub uint64: Handle,
    pub int32: Handle,
    pub min: Handle,
    pub in_place: *const c_void,
    /// MPI_ERR_REQUEST and MPI_ERR_OTHER.
    pub err_request: c_int,
    pub err_other: c_int,
    /// Where calls of Fortran do not come by the names of C.
    pub fortran: Option<Fortran>,
    pub work: Option<Work>,
    pub requests: Option<Requests>,
}

// SAFETY: addresses that never change.
unsafe impl Send for Known {}
// SAFETY: as above.
unsafe impl Sync for Known {}

impl Known {
    /// A handle to compare.
    fn key(&self, handle: Handle) -> usize {
        match self.numbers {
            true => handle as usize as u32 as usize,
            false => handle as usize,
        }
    }

    /// Class and bytes of a predefined type.
    pub fn elements(&self, datatype: Handle) -> Option<(u8, u8)> {
        let key = self.key(datatype);
        let found = self.types.iter().find(|(at, ..)| *at == key);
        found.map(|(_, class, size)| (*class, *size))
    }

    /// Number of a predefined operation, as the provider has it.
    pub fn op(&self, op: Handle) -> Option<u8> {
        let key = self.key(op);
        let found = self.ops.iter().position(|at| *at == key);
        found.map(|number| number as u8)
    }

    /// Whether it is no communicator.
    pub fn is_no_comm(&self, comm: Handle) -> bool {
        [0, self.comm_null].contains(&self.key(comm))
    }

    /// Whether it is no type.
    pub fn is_no_datatype(&self, datatype: Handle) -> bool {
        [0, self.datatype_null].contains(&self.key(datatype))
    }

    /// The handle at a place.
    ///
    /// # Safety
    /// The library has written one there.
    pub unsafe fn handle_at(&self, place: *const Handle) -> Handle {
        // SAFETY: as the caller says; a number is all that is there.
        unsafe {
            match self.numbers {
                true => std::ptr::without_provenance_mut(place.cast::<u32>().read() as usize),
                false => place.read(),
            }
        }
    }
}
