//! What a call does in the switches, whatever the language of the program. Nothing comes back where the MPI library shall do it.

use std::ffi::{c_int, c_void};

use crate::eligible::{reduction, small};
use crate::group;
use crate::mpi::{ERR_OTHER, Handle, IN_PLACE, Mpi, SUCCESS};
use crate::provider::Request;

/// What MPI returns if it has been done in the switches.
///
/// # Safety
/// The communicator is the program's, the request's memory is there, and there is room for the result.
unsafe fn in_switches(
    mpi: &Mpi,
    comm: Handle,
    name: &str,
    request: &Request,
    (out, room): (*mut c_void, usize),
) -> Option<c_int> {
    // SAFETY: as the caller says.
    let group = match unsafe { group::of(mpi, comm) } {
        Ok(group) => group?,
        Err(code) => return Some(code),
    };
    // SAFETY: as the caller says; one operation at a time in a communicator, as MPI demands.
    match unsafe { group.run(mpi, request, out, room) } {
        Ok(()) => Some(SUCCESS),
        Err(error) => {
            eprintln!("tributary: {name}: {error}");
            // SAFETY: a communicator of the program.
            unsafe { (mpi.comm_call_errhandler)(comm, ERR_OTHER) };
            Some(ERR_OTHER)
        }
    }
}

/// MPI_Allreduce.
///
/// # Safety
/// As MPI says.
pub unsafe fn allreduce(
    mpi: &Mpi,
    send: *const c_void,
    receive: *mut c_void,
    count: c_int,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Option<c_int> {
    let reduction = reduction(mpi, count, datatype, op)?;
    let own = if send == IN_PLACE { receive } else { send };
    if own.is_null() || receive.is_null() {
        return None;
    }
    let request = reduction.request(2, own, 0);
    let room = (receive, reduction.bytes());
    // SAFETY: as MPI says.
    unsafe { in_switches(mpi, comm, "MPI_Allreduce", &request, room) }
}

/// MPI_Reduce.
///
/// # Safety
/// As MPI says.
#[allow(clippy::too_many_arguments)]
pub unsafe fn reduce(
    mpi: &Mpi,
    send: *const c_void,
    receive: *mut c_void,
    count: c_int,
    datatype: Handle,
    op: Handle,
    root: c_int,
    comm: Handle,
) -> Option<c_int> {
    let reduction = reduction(mpi, count, datatype, op)?;
    let own = if send == IN_PLACE { receive } else { send };
    // SAFETY: a communicator of the program.
    let (rank, size) = unsafe { group::place(mpi, comm) }?;
    let there = (0..size).contains(&root) && (rank != root || !receive.is_null());
    if !there || own.is_null() {
        return None;
    }
    let request = reduction.request(3, own, root as u32);
    let room = (receive, reduction.bytes());
    // SAFETY: as MPI says; only the root gets bytes.
    unsafe { in_switches(mpi, comm, "MPI_Reduce", &request, room) }
}

/// MPI_Barrier.
///
/// # Safety
/// As MPI says.
pub unsafe fn barrier(mpi: &Mpi, comm: Handle) -> Option<c_int> {
    let nothing = (std::ptr::null_mut(), 0);
    // SAFETY: as MPI says.
    unsafe { in_switches(mpi, comm, "MPI_Barrier", &Request::barrier(), nothing) }
}

/// MPI_Bcast.
///
/// # Safety
/// As MPI says.
pub unsafe fn bcast(
    mpi: &Mpi,
    buffer: *mut c_void,
    count: c_int,
    datatype: Handle,
    root: c_int,
    comm: Handle,
) -> Option<c_int> {
    // SAFETY: a type of the program.
    let bytes = unsafe { small(mpi, count, datatype) }?;
    // SAFETY: a communicator of the program.
    let place = unsafe { group::place(mpi, comm) };
    let (rank, _) = place.filter(|(_, size)| (0..*size).contains(&root))?;
    // Types may differ among ranks, as long as the bytes are the same: they travel packed.
    let mut packed = vec![0u8; bytes];
    // SAFETY: as MPI says. The others wait in the switches: the library alone could do nothing here.
    if rank == root
        && let Err(code) = unsafe { mpi.pack(buffer, count, datatype, &mut packed, comm) }
    {
        return Some(code);
    }
    let request = Request::broadcast(&packed, root as u32);
    let room = (packed.as_mut_ptr().cast(), bytes);
    // SAFETY: as MPI says.
    let code = unsafe { in_switches(mpi, comm, "MPI_Bcast", &request, room) }?;
    if code == SUCCESS && rank != root {
        // SAFETY: as MPI says.
        return Some(unsafe { mpi.unpack(&packed, buffer, count, datatype, comm) });
    }
    Some(code)
}
