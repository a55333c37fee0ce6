//! Small reductions of unchanged MPI programs through the switches: `libtributary_pmpi.so`, which is loaded before the MPI library
//! (LD_PRELOAD). `docs/mpi.md` is the contract.
//!
//! It has the names of five MPI functions, those of C here and those of Fortran (`fortran`). Each asks whether the switches can do
//! what is called (`calls`, `eligible`), on grounds that are the same at all ranks; if so, and if the communicator has a group in
//! the switches (`group`), the provider does it (`provider`). Everything else goes to the MPI library, by the names that MPI has for
//! that (PMPI_…). It knows the handles of Open MPI (`mpi`), and lets everything of other MPI libraries pass.
#![cfg(target_os = "linux")]
#![allow(non_snake_case)]

mod calls;
mod eligible;
mod fortran;
mod group;
mod mpi;
mod provider;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use mpi::{Handle, Mpi};

/// Calls that the MPI library did.
static BY_LIBRARY: AtomicU64 = AtomicU64::new(0);

fn passed() {
    BY_LIBRARY.fetch_add(1, Ordering::Relaxed);
}

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
    // SAFETY: as MPI says.
    let done = unsafe { calls::allreduce(mpi, send, receive, count, datatype, op, comm) };
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
    // SAFETY: as MPI says.
    let done = unsafe { calls::reduce(mpi, send, receive, count, datatype, op, root, comm) };
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
    // SAFETY: as MPI says.
    unsafe { calls::barrier(mpi, comm) }.unwrap_or_else(|| {
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
    let done = unsafe { calls::bcast(mpi, buffer, count, datatype, root, comm) };
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.bcast)(buffer, count, datatype, root, comm) }
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

/// Before MPI ends: the groups do, and leave their figures.
fn end() {
    // What ends with MPI itself may reduce once more: the library does that.
    group::close();
    if let Some(totals) = group::end() {
        figures(totals);
    }
}

/// Leaves what the reductions of this process were, for `tributary mpi`.
fn figures([in_switches, by_messages, completed, again]: [u64; 4]) {
    if let Some(folder) = std::env::var_os("TRIBUTARY_STATISTICS") {
        let name = format!("reductions-{}", std::process::id());
        let by_library = BY_LIBRARY.load(Ordering::Relaxed);
        let text = format!("{in_switches} {by_messages} {by_library} {completed} {again}\n");
        // Whoever wants figures of a program does without those that cannot be written.
        let _ = std::fs::write(std::path::Path::new(&folder).join(name), text);
    }
}
