//! The functions under the names that C has for them.

use std::ffi::{c_int, c_void};

use crate::calls;
use crate::mpi::{Handle, Mpi};
use crate::{end, nonblocking, passed};

/// MPI_Allreduce.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allreduce(
    send: *const c_void,
    receive: *mut c_void,
    count: c_int,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> c_int {
    let mpi = Mpi::get();
    let call = calls::allreduce(
        mpi,
        "MPI_Allreduce",
        (send, receive),
        count,
        (datatype, op),
        comm,
    );
    // SAFETY: as MPI says.
    let done = call.and_then(|call| unsafe { call.run(mpi) });
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.allreduce)(send, receive, count, datatype, op, comm) }
    })
}

/// MPI_Reduce.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce(
    send: *const c_void,
    receive: *mut c_void,
    count: c_int,
    datatype: Handle,
    op: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    let mpi = Mpi::get();
    // SAFETY: a communicator of the program.
    let call = unsafe {
        calls::reduce(
            mpi,
            "MPI_Reduce",
            (send, receive),
            count,
            (datatype, op),
            root,
            comm,
        )
    };
    // SAFETY: as MPI says.
    let done = call.and_then(|call| unsafe { call.run(mpi) });
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.reduce)(send, receive, count, datatype, op, root, comm) }
    })
}

/// MPI_Barrier.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Barrier(comm: Handle) -> c_int {
    let mpi = Mpi::get();
    let call = Some(calls::barrier("MPI_Barrier", comm));
    // SAFETY: as MPI says.
    let done = call.and_then(|call| unsafe { call.run(mpi) });
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.barrier)(comm) }
    })
}

/// MPI_Bcast.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Bcast(
    buffer: *mut c_void,
    count: c_int,
    datatype: Handle,
    root: c_int,
    comm: Handle,
) -> c_int {
    let mpi = Mpi::get();
    // SAFETY: as MPI says.
    let call = unsafe { calls::bcast(mpi, "MPI_Bcast", buffer, count, datatype, root, comm) };
    // SAFETY: as MPI says.
    let done = call.and_then(|call| call.map_or_else(Some, |call| unsafe { call.run(mpi) }));
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.bcast)(buffer, count, datatype, root, comm) }
    })
}

/// MPI_Iallreduce.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Iallreduce(
    send: *const c_void,
    receive: *mut c_void,
    count: c_int,
    datatype: Handle,
    op: Handle,
    comm: Handle,
    request: *mut Handle,
) -> c_int {
    let mpi = Mpi::get();
    let call = calls::allreduce(
        mpi,
        "MPI_Iallreduce",
        (send, receive),
        count,
        (datatype, op),
        comm,
    );
    // SAFETY: as MPI says.
    let done = call.and_then(|call| unsafe { nonblocking::begin(mpi, call, request) });
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.iallreduce)(send, receive, count, datatype, op, comm, request) }
    })
}

/// MPI_Ireduce.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Ireduce(
    send: *const c_void,
    receive: *mut c_void,
    count: c_int,
    datatype: Handle,
    op: Handle,
    root: c_int,
    comm: Handle,
    request: *mut Handle,
) -> c_int {
    let mpi = Mpi::get();
    // SAFETY: a communicator of the program.
    let call = unsafe {
        calls::reduce(
            mpi,
            "MPI_Ireduce",
            (send, receive),
            count,
            (datatype, op),
            root,
            comm,
        )
    };
    // SAFETY: as MPI says.
    let done = call.and_then(|call| unsafe { nonblocking::begin(mpi, call, request) });
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.ireduce)(send, receive, count, datatype, op, root, comm, request) }
    })
}

/// MPI_Ibarrier.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Ibarrier(comm: Handle, request: *mut Handle) -> c_int {
    let mpi = Mpi::get();
    let call = Some(calls::barrier("MPI_Ibarrier", comm));
    // SAFETY: as MPI says.
    let done = call.and_then(|call| unsafe { nonblocking::begin(mpi, call, request) });
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.ibarrier)(comm, request) }
    })
}

/// MPI_Ibcast.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Ibcast(
    buffer: *mut c_void,
    count: c_int,
    datatype: Handle,
    root: c_int,
    comm: Handle,
    request: *mut Handle,
) -> c_int {
    let mpi = Mpi::get();
    // SAFETY: as MPI says.
    let call = unsafe { calls::bcast(mpi, "MPI_Ibcast", buffer, count, datatype, root, comm) };
    // SAFETY: as MPI says.
    let done = call.and_then(|call| {
        call.map_or_else(Some, |call| unsafe {
            nonblocking::begin(mpi, call, request)
        })
    });
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.ibcast)(buffer, count, datatype, root, comm, request) }
    })
}

/// MPI_Finalize.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Finalize() -> c_int {
    let mpi = Mpi::get();
    end();
    // SAFETY: as MPI says.
    unsafe { (mpi.finalize)() }
}
