//! The same functions under the names that compilers of Fortran give them, for `mpif.h`, `use mpi` and `use mpi_f08`. Open MPI's own
//! call PMPI_…, so that the names of C do not see them. Arguments are addresses, handles are numbers.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use crate::mpi::{Fortran, Mpi, next, typed};
use crate::{calls, end, passed};

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
    Some((mpi, &mpi.open.as_ref()?.fortran))
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
    let (send, receive) = (of.buffer(send), of.buffer(receive));
    // SAFETY: as MPI says.
    or_pass(unsafe {
        let (datatype, op, comm) = ((of.datatype)(*datatype), (of.op)(*op), (of.comm)(*comm));
        calls::allreduce(mpi, send, receive, *count, datatype, op, comm)
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
    let (send, receive) = (of.buffer(send), of.buffer(receive));
    // SAFETY: as MPI says.
    or_pass(unsafe {
        let (datatype, op, comm) = ((of.datatype)(*datatype), (of.op)(*op), (of.comm)(*comm));
        calls::reduce(mpi, send, receive, *count, datatype, op, *root, comm)
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
    or_pass(unsafe { calls::barrier(mpi, (of.comm)(*comm)) })
}

named! {
    mpi_barrier_ mpi_barrier__ mpi_barrier_f08_ = barrier(comm: *const c_int)
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
    let buffer = of.buffer(buffer);
    // SAFETY: as MPI says.
    or_pass(unsafe {
        let (datatype, comm) = ((of.datatype)(*datatype), (of.comm)(*comm));
        calls::bcast(mpi, buffer, *count, datatype, *root, comm)
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
