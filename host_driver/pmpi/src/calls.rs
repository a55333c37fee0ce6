//! What a call is for the switches, whatever the language of the program. Nothing where the MPI library shall do it.

use std::ffi::{c_int, c_void};

use crate::eligible::{reduction, small};
use crate::group;
use crate::mpi::{Handle, Mpi, SUCCESS};
use crate::provider::Request;

/// A call for the switches.
pub struct Call {
    /// Its name, for messages.
    pub name: &'static str,
    pub comm: Handle,
    pub request: Request,
    pub out: Out,
}

/// Where the result goes.
pub enum Out {
    /// So many bytes of the program.
    Memory(*mut c_void, usize),
    /// Elements, packed: types may differ among ranks, as long as the bytes are the same. The root has them already.
    Packed(Vec<u8>, Option<Elements>),
}

/// Elements of the program, of any type.
pub struct Elements {
    pub buffer: *mut c_void,
    pub count: c_int,
    pub datatype: Handle,
}

impl Out {
    /// Room for what comes.
    pub const fn room(&mut self) -> (*mut c_void, usize) {
        match self {
            Self::Memory(at, bytes) => (*at, *bytes),
            Self::Packed(bytes, _) => (bytes.as_mut_ptr().cast(), bytes.len()),
        }
    }

    /// What has come, as the program wants it; what MPI returns.
    ///
    /// # Safety
    /// The program's memory and type are there, and a communicator.
    pub unsafe fn give(&self, mpi: &Mpi, comm: Handle) -> c_int {
        let Self::Packed(bytes, Some(to)) = self else {
            return SUCCESS;
        };
        // SAFETY: as the caller says.
        unsafe { mpi.unpack(bytes, to.buffer, to.count, to.datatype, comm) }
    }
}

impl Call {
    /// Does it, and waits. What MPI returns; nothing if the communicator has no group.
    ///
    /// # Safety
    /// The communicator is the program's, and the memory is there.
    pub unsafe fn run(mut self, mpi: &Mpi) -> Option<c_int> {
        // SAFETY: as the caller says.
        let group = match unsafe { group::of(mpi, self.comm) } {
            Ok(group) => group?,
            Err(code) => return Some(code),
        };
        // SAFETY: as the caller says.
        let done = unsafe { group.run(mpi, &self.request, self.out.room()) };
        Some(match done {
            // SAFETY: as the caller says.
            Ok(()) => unsafe { self.out.give(mpi, self.comm) },
            // SAFETY: as the caller says.
            Err(error) => unsafe { self.fail(mpi, &error) },
        })
    }

    /// Tells the user and the program that it cannot go on.
    ///
    /// # Safety
    /// The communicator is the program's.
    pub unsafe fn fail(&self, mpi: &Mpi, error: &str) -> c_int {
        eprintln!("tributary: {}: {error}", self.name);
        // SAFETY: as the caller says.
        unsafe { (mpi.comm_call_errhandler)(self.comm, mpi.err_other()) };
        mpi.err_other()
    }
}

/// Where a rank's own elements are.
fn own(mpi: &Mpi, send: *const c_void, receive: *mut c_void) -> Option<*const c_void> {
    let known = mpi.known.as_ref()?;
    Some(if send == known.in_place {
        receive
    } else {
        send
    })
}

/// MPI_Allreduce.
pub fn allreduce(
    mpi: &Mpi,
    name: &'static str,
    (send, receive): (*const c_void, *mut c_void),
    count: c_int,
    (datatype, op): (Handle, Handle),
    comm: Handle,
) -> Option<Call> {
    let reduction = reduction(mpi, count, datatype, op)?;
    let own = own(mpi, send, receive)?;
    if own.is_null() || receive.is_null() {
        return None;
    }
    Some(Call {
        name,
        comm,
        request: reduction.request(2, own, 0),
        out: Out::Memory(receive, reduction.bytes()),
    })
}

/// MPI_Reduce.
///
/// # Safety
/// A communicator of the program.
pub unsafe fn reduce(
    mpi: &Mpi,
    name: &'static str,
    (send, receive): (*const c_void, *mut c_void),
    count: c_int,
    (datatype, op): (Handle, Handle),
    root: c_int,
    comm: Handle,
) -> Option<Call> {
    let reduction = reduction(mpi, count, datatype, op)?;
    let own = own(mpi, send, receive)?;
    // SAFETY: as the caller says.
    let (rank, size) = unsafe { group::place(mpi, comm) }?;
    let there = (0..size).contains(&root) && (rank != root || !receive.is_null());
    if !there || own.is_null() {
        return None;
    }
    Some(Call {
        name,
        comm,
        request: reduction.request(3, own, root as u32),
        // Only the root gets bytes.
        out: Out::Memory(receive, reduction.bytes()),
    })
}

/// MPI_Barrier.
pub const fn barrier(name: &'static str, comm: Handle) -> Call {
    Call {
        name,
        comm,
        request: Request::barrier(),
        out: Out::Memory(std::ptr::null_mut(), 0),
    }
}

/// MPI_Bcast. If the root cannot pack its elements, what MPI returns of that: the others wait in the switches, and the library alone
/// could do nothing here.
///
/// # Safety
/// A communicator, a type and elements of the program.
pub unsafe fn bcast(
    mpi: &Mpi,
    name: &'static str,
    buffer: *mut c_void,
    count: c_int,
    datatype: Handle,
    root: c_int,
    comm: Handle,
) -> Option<Result<Call, c_int>> {
    // SAFETY: as the caller says.
    let bytes = unsafe { small(mpi, count, datatype) }?;
    // SAFETY: as the caller says.
    let place = unsafe { group::place(mpi, comm) };
    let (rank, _) = place.filter(|(_, size)| (0..*size).contains(&root))?;
    let mut packed = vec![0u8; bytes];
    let mut to = None;
    if rank == root {
        // SAFETY: as the caller says.
        let done = unsafe { mpi.pack(buffer, count, datatype, &mut packed, comm) };
        if let Err(code) = done {
            return Some(Err(code));
        }
    } else {
        to = Some(Elements {
            buffer,
            count,
            datatype,
        });
    }
    Some(Ok(Call {
        name,
        comm,
        request: Request::broadcast(&packed, root as u32),
        out: Out::Packed(packed, to),
    }))
}
