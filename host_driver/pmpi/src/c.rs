//! The functions under the names that C has for them; those with counts also in their large form (MPI 4).

use std::ffi::{c_int, c_void};

use crate::calls;
use crate::mpi::{Count, Handle, Mpi};
use crate::{end, nonblocking, passed};

/// A function with a count, and its large form: what is in front of the count and behind it, and what the switches do. A library
/// without the large form gets what fits the other one.
macro_rules! counted {
    ($name:ident $large:ident = $field:ident $field_c:ident
     ($($before:ident: $before_type:ty),*) ($($behind:ident: $behind_type:ty),*)
     |$mpi:ident, $count:ident, $comm:ident| $done:expr) => {
        /// As MPI says.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($before: $before_type,)* count: c_int, $($behind: $behind_type),*
        ) -> c_int {
            let ($mpi, $count) = (Mpi::get(), count);
            // SAFETY: as MPI says.
            let done: Option<c_int> = unsafe { $done };
            done.unwrap_or_else(|| {
                passed();
                // SAFETY: what the program gave.
                unsafe { ($mpi.$field)($($before,)* count, $($behind),*) }
            })
        }

        /// As MPI says.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $large(
            $($before: $before_type,)* count: Count, $($behind: $behind_type),*
        ) -> c_int {
            let $mpi = Mpi::get();
            let fits = c_int::try_from(count);
            // SAFETY: as MPI says.
            let done: Option<c_int> = fits.ok().and_then(|$count| unsafe { $done });
            done.unwrap_or_else(|| {
                passed();
                // SAFETY: what the program gave.
                unsafe {
                    match ($mpi.large.$field_c, fits) {
                        (Some(library), _) => library($($before,)* count, $($behind),*),
                        (None, Ok(count)) => ($mpi.$field)($($before,)* count, $($behind),*),
                        (None, Err(_)) => $mpi.refuse_count($comm),
                    }
                }
            })
        }
    };
}

counted! {
    MPI_Allreduce MPI_Allreduce_c = allreduce allreduce
    (send: *const c_void, receive: *mut c_void) (datatype: Handle, op: Handle, comm: Handle)
    |mpi, count, comm| {
        let types = (datatype, op);
        let call = calls::allreduce(mpi, "MPI_Allreduce", (send, receive), count, types, comm);
        call.and_then(|call| call.run(mpi))
    }
}

counted! {
    MPI_Reduce MPI_Reduce_c = reduce reduce
    (send: *const c_void, receive: *mut c_void)
    (datatype: Handle, op: Handle, root: c_int, comm: Handle)
    |mpi, count, comm| {
        let types = (datatype, op);
        let call = calls::reduce(mpi, "MPI_Reduce", (send, receive), count, types, root, comm);
        call.and_then(|call| call.run(mpi))
    }
}

counted! {
    MPI_Bcast MPI_Bcast_c = bcast bcast
    (buffer: *mut c_void) (datatype: Handle, root: c_int, comm: Handle)
    |mpi, count, comm| {
        let call = calls::bcast(mpi, "MPI_Bcast", buffer, count, datatype, root, comm);
        call.and_then(|call| call.map_or_else(Some, |call| call.run(mpi)))
    }
}

counted! {
    MPI_Iallreduce MPI_Iallreduce_c = iallreduce iallreduce
    (send: *const c_void, receive: *mut c_void)
    (datatype: Handle, op: Handle, comm: Handle, request: *mut Handle)
    |mpi, count, comm| {
        let types = (datatype, op);
        let call = calls::allreduce(mpi, "MPI_Iallreduce", (send, receive), count, types, comm);
        call.and_then(|call| nonblocking::begin(mpi, call, request))
    }
}

counted! {
    MPI_Ireduce MPI_Ireduce_c = ireduce ireduce
    (send: *const c_void, receive: *mut c_void)
    (datatype: Handle, op: Handle, root: c_int, comm: Handle, request: *mut Handle)
    |mpi, count, comm| {
        let types = (datatype, op);
        let call = calls::reduce(mpi, "MPI_Ireduce", (send, receive), count, types, root, comm);
        call.and_then(|call| nonblocking::begin(mpi, call, request))
    }
}

counted! {
    MPI_Ibcast MPI_Ibcast_c = ibcast ibcast
    (buffer: *mut c_void) (datatype: Handle, root: c_int, comm: Handle, request: *mut Handle)
    |mpi, count, comm| {
        let call = calls::bcast(mpi, "MPI_Ibcast", buffer, count, datatype, root, comm);
        call.and_then(|call| {
            call.map_or_else(Some, |call| nonblocking::begin(mpi, call, request))
        })
    }
}

/// MPI_Barrier.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Barrier(comm: Handle) -> c_int {
    let mpi = Mpi::get();
    let call = calls::barrier("MPI_Barrier", comm);
    // SAFETY: as MPI says.
    let done = unsafe { call.run(mpi) };
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.barrier)(comm) }
    })
}

/// MPI_Ibarrier.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Ibarrier(comm: Handle, request: *mut Handle) -> c_int {
    let mpi = Mpi::get();
    let call = calls::barrier("MPI_Ibarrier", comm);
    // SAFETY: as MPI says.
    let done = unsafe { nonblocking::begin(mpi, call, request) };
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.ibarrier)(comm, request) }
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
