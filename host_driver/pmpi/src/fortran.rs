//! The same functions under the names that compilers of Fortran give them, for `mpif.h`, `use mpi` and `use mpi_f08`. Open MPI's own
//! call PMPI_…, so that the names of C do not see them. Arguments are addresses, handles are numbers.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use crate::calls::{self, Call};
use crate::mpi::{Fortran, Mpi, SUCCESS, next, typed};
use crate::{end, nonblocking, passed};

/// Says how a call has ended; `use mpi_f08` need not give a place for it.
///
/// # Safety
/// A place for a number, or nothing.
unsafe fn say(ierr: *mut c_int, code: c_int) {
    if !ierr.is_null() {
        // SAFETY: as the caller says.
        unsafe { ierr.write(code) };
    }
}

/// What calls of Fortran mean, if that is known.
fn known() -> Option<(&'static Mpi, &'static Fortran)> {
    let mpi = Mpi::get();
    Some((mpi, mpi.known.as_ref()?.fortran.as_ref()?))
}

/// If the library shall do it, it counts.
fn or_pass(done: Option<c_int>) -> Option<c_int> {
    if done.is_none() {
        passed();
    }
    done
}

/// Functions of these names, each with the library's own of the same name for what is left to it.
macro_rules! named {
    (@ $name:ident $run:ident ($($argument:ident: $type:ty),*)) => {
        /// As MPI says.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type,)* ierr: *mut c_int) {
            type Real = unsafe extern "C" fn($($type,)* *mut c_int);
            static REAL: OnceLock<Real> = OnceLock::new();
            // SAFETY: as MPI says.
            if let Some(code) = unsafe { $run($($argument),*) } {
                // SAFETY: as MPI says.
                unsafe { say(ierr, code) };
                return;
            }
            // SAFETY: a function of MPI with this name has this type.
            let real = REAL.get_or_init(|| unsafe { typed(next(stringify!($name))) });
            // SAFETY: what the program gave.
            unsafe { real($($argument,)* ierr) };
        }
    };
    ($($name:ident)+ = $run:ident $arguments:tt) => {
        $(named!(@ $name $run $arguments);)+
    };
}

/// As [`nonblocking::begin`]; the request becomes a number.
///
/// # Safety
/// As there.
unsafe fn begin(mpi: &Mpi, of: &Fortran, call: Call, request: *mut c_int) -> Option<c_int> {
    let mut handle = std::ptr::null_mut();
    // SAFETY: as the caller says.
    let code = unsafe { nonblocking::begin(mpi, call, &raw mut handle) }?;
    if code == SUCCESS {
        // SAFETY: a request, and a place for its number.
        unsafe { request.write((of.request)(handle)) };
    }
    Some(code)
}

/// # Safety
/// As MPI says.
unsafe fn allreduce(
    send: *mut c_void,
    receive: *mut c_void,
    count: *const c_int,
    datatype: *const c_int,
    op: *const c_int,
    comm: *const c_int,
) -> Option<c_int> {
    let (mpi, of) = known()?;
    // SAFETY: as MPI says.
    or_pass(unsafe {
        let (datatype, op, comm) = ((of.datatype)(*datatype), (of.op)(*op), (of.comm)(*comm));
        let buffers = (of.buffer(send).cast_const(), of.buffer(receive));
        let call = calls::allreduce(mpi, "MPI_Allreduce", buffers, *count, (datatype, op), comm);
        call.and_then(|call| call.run(mpi))
    })
}

named! {
    mpi_allreduce_ mpi_allreduce__ mpi_allreduce_f08_ = allreduce(
        send: *mut c_void,
        receive: *mut c_void,
        count: *const c_int,
        datatype: *const c_int,
        op: *const c_int,
        comm: *const c_int
    )
}

/// # Safety
/// As MPI says.
unsafe fn reduce(
    send: *mut c_void,
    receive: *mut c_void,
    count: *const c_int,
    datatype: *const c_int,
    op: *const c_int,
    root: *const c_int,
    comm: *const c_int,
) -> Option<c_int> {
    let (mpi, of) = known()?;
    // SAFETY: as MPI says.
    or_pass(unsafe {
        let (datatype, op, comm) = ((of.datatype)(*datatype), (of.op)(*op), (of.comm)(*comm));
        let buffers = (of.buffer(send).cast_const(), of.buffer(receive));
        let call = calls::reduce(
            mpi,
            "MPI_Reduce",
            buffers,
            *count,
            (datatype, op),
            *root,
            comm,
        );
        call.and_then(|call| call.run(mpi))
    })
}

named! {
    mpi_reduce_ mpi_reduce__ mpi_reduce_f08_ = reduce(
        send: *mut c_void,
        receive: *mut c_void,
        count: *const c_int,
        datatype: *const c_int,
        op: *const c_int,
        root: *const c_int,
        comm: *const c_int
    )
}

/// # Safety
/// As MPI says.
unsafe fn barrier(comm: *const c_int) -> Option<c_int> {
    let (mpi, of) = known()?;
    // SAFETY: as MPI says.
    or_pass(unsafe {
        let call = Some(calls::barrier("MPI_Barrier", (of.comm)(*comm)));
        call.and_then(|call| call.run(mpi))
    })
}

named! {
    mpi_barrier_ mpi_barrier__ mpi_barrier_f08_ = barrier(
        comm: *const c_int
    )
}

/// # Safety
/// As MPI says.
unsafe fn bcast(
    buffer: *mut c_void,
    count: *const c_int,
    datatype: *const c_int,
    root: *const c_int,
    comm: *const c_int,
) -> Option<c_int> {
    let (mpi, of) = known()?;
    // SAFETY: as MPI says.
    or_pass(unsafe {
        let (datatype, comm) = ((of.datatype)(*datatype), (of.comm)(*comm));
        let call = calls::bcast(
            mpi,
            "MPI_Bcast",
            of.buffer(buffer),
            *count,
            datatype,
            *root,
            comm,
        );
        call.and_then(|call| call.map_or_else(Some, |call| call.run(mpi)))
    })
}

named! {
    mpi_bcast_ mpi_bcast__ mpi_bcast_f08_ = bcast(
        buffer: *mut c_void,
        count: *const c_int,
        datatype: *const c_int,
        root: *const c_int,
        comm: *const c_int
    )
}

/// # Safety
/// As MPI says.
unsafe fn iallreduce(
    send: *mut c_void,
    receive: *mut c_void,
    count: *const c_int,
    datatype: *const c_int,
    op: *const c_int,
    comm: *const c_int,
    request: *mut c_int,
) -> Option<c_int> {
    let (mpi, of) = known()?;
    // SAFETY: as MPI says.
    or_pass(unsafe {
        let (datatype, op, comm) = ((of.datatype)(*datatype), (of.op)(*op), (of.comm)(*comm));
        let buffers = (of.buffer(send).cast_const(), of.buffer(receive));
        let call = calls::allreduce(mpi, "MPI_Iallreduce", buffers, *count, (datatype, op), comm);
        call.and_then(|call| begin(mpi, of, call, request))
    })
}

named! {
    mpi_iallreduce_ mpi_iallreduce__ mpi_iallreduce_f08_ = iallreduce(
        send: *mut c_void,
        receive: *mut c_void,
        count: *const c_int,
        datatype: *const c_int,
        op: *const c_int,
        comm: *const c_int,
        request: *mut c_int
    )
}

/// # Safety
/// As MPI says.
#[allow(clippy::too_many_arguments)]
unsafe fn ireduce(
    send: *mut c_void,
    receive: *mut c_void,
    count: *const c_int,
    datatype: *const c_int,
    op: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    request: *mut c_int,
) -> Option<c_int> {
    let (mpi, of) = known()?;
    // SAFETY: as MPI says.
    or_pass(unsafe {
        let (datatype, op, comm) = ((of.datatype)(*datatype), (of.op)(*op), (of.comm)(*comm));
        let buffers = (of.buffer(send).cast_const(), of.buffer(receive));
        let call = calls::reduce(
            mpi,
            "MPI_Ireduce",
            buffers,
            *count,
            (datatype, op),
            *root,
            comm,
        );
        call.and_then(|call| begin(mpi, of, call, request))
    })
}

named! {
    mpi_ireduce_ mpi_ireduce__ mpi_ireduce_f08_ = ireduce(
        send: *mut c_void,
        receive: *mut c_void,
        count: *const c_int,
        datatype: *const c_int,
        op: *const c_int,
        root: *const c_int,
        comm: *const c_int,
        request: *mut c_int
    )
}

/// # Safety
/// As MPI says.
unsafe fn ibarrier(comm: *const c_int, request: *mut c_int) -> Option<c_int> {
    let (mpi, of) = known()?;
    // SAFETY: as MPI says.
    or_pass(unsafe {
        let call = Some(calls::barrier("MPI_Ibarrier", (of.comm)(*comm)));
        call.and_then(|call| begin(mpi, of, call, request))
    })
}

named! {
    mpi_ibarrier_ mpi_ibarrier__ mpi_ibarrier_f08_ = ibarrier(
        comm: *const c_int,
        request: *mut c_int
    )
}

/// # Safety
/// As MPI says.
unsafe fn ibcast(
    buffer: *mut c_void,
    count: *const c_int,
    datatype: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    request: *mut c_int,
) -> Option<c_int> {
    let (mpi, of) = known()?;
    // SAFETY: as MPI says.
    or_pass(unsafe {
        let (datatype, comm) = ((of.datatype)(*datatype), (of.comm)(*comm));
        let call = calls::bcast(
            mpi,
            "MPI_Ibcast",
            of.buffer(buffer),
            *count,
            datatype,
            *root,
            comm,
        );
        call.and_then(|call| call.map_or_else(Some, |call| begin(mpi, of, call, request)))
    })
}

named! {
    mpi_ibcast_ mpi_ibcast__ mpi_ibcast_f08_ = ibcast(
        buffer: *mut c_void,
        count: *const c_int,
        datatype: *const c_int,
        root: *const c_int,
        comm: *const c_int,
        request: *mut c_int
    )
}

/// The library ends itself; what is here ends before.
///
/// # Safety
/// As MPI says.
unsafe fn finalize() -> Option<c_int> {
    known()?;
    end();
    None
}

named! {
    mpi_finalize_ mpi_finalize__ mpi_finalize_f08_ = finalize()
}
