//! Small reductions of unchanged MPI programs through the switches: `libtributary_pmpi.so`, which is loaded before the MPI library
//! (LD_PRELOAD). `docs/mpi.md` is the contract.
//!
//! It has the names of five MPI functions. Each asks whether the switches can do what is called (`eligible`), on grounds that are
//! the same at all ranks; if so, and if the communicator has a group in the switches (`group`), the provider does it
//! (`provider`). Everything else goes to the MPI library, by the names that MPI has for that (PMPI_…). It knows the handles of
//! Open MPI (`mpi`), and lets everything of other MPI libraries pass.
#![cfg(target_os = "linux")]
#![allow(non_snake_case)]

mod eligible;
mod group;
mod mpi;
mod provider;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use eligible::{reduction, small};
use mpi::{ERR_OTHER, Handle, IN_PLACE, Mpi, SUCCESS};
use provider::Request;

/// Calls that the MPI library did.
static BY_LIBRARY: AtomicU64 = AtomicU64::new(0);

fn passed() {
    BY_LIBRARY.fetch_add(1, Ordering::Relaxed);
}

/// What MPI returns if it has been done in the switches; nothing if the library shall do it.
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
    if let Some(reduction) = reduction(mpi, count, datatype, op) {
        let own = if send == IN_PLACE { receive } else { send };
        if !own.is_null() && !receive.is_null() {
            let request = reduction.request(2, own, 0);
            let room = (receive, reduction.bytes());
            // SAFETY: as MPI says.
            let done = unsafe { in_switches(mpi, comm, "MPI_Allreduce", &request, room) };
            if let Some(code) = done {
                return code;
            }
        }
    }
    passed();
    // SAFETY: what the program gave.
    unsafe { (mpi.allreduce)(send, receive, count, datatype, op, comm) }
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
    if let Some(reduction) = reduction(mpi, count, datatype, op) {
        let own = if send == IN_PLACE { receive } else { send };
        // SAFETY: a communicator of the program.
        let place = unsafe { group::place(mpi, comm) };
        let there = place.is_some_and(|(rank, size)| {
            (0..size).contains(&root) && (rank != root || !receive.is_null())
        });
        if there && !own.is_null() {
            let request = reduction.request(3, own, root as u32);
            let room = (receive, reduction.bytes());
            // SAFETY: as MPI says; only the root gets bytes.
            let done = unsafe { in_switches(mpi, comm, "MPI_Reduce", &request, room) };
            if let Some(code) = done {
                return code;
            }
        }
    }
    passed();
    // SAFETY: what the program gave.
    unsafe { (mpi.reduce)(send, receive, count, datatype, op, root, comm) }
}

/// MPI_Barrier.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Barrier(comm: Handle) -> c_int {
    let mpi = Mpi::get();
    let nothing = (std::ptr::null_mut(), 0);
    // SAFETY: as MPI says.
    let done = unsafe { in_switches(mpi, comm, "MPI_Barrier", &Request::barrier(), nothing) };
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
    // SAFETY: a type and a communicator of the program.
    let done = unsafe {
        small(mpi, count, datatype).and_then(|bytes| {
            let place = group::place(mpi, comm);
            let (rank, _) = place.filter(|(_, size)| (0..*size).contains(&root))?;
            // Types may differ among ranks, as long as the bytes are the same: they travel packed.
            let mut packed = vec![0u8; bytes];
            // The others wait in the switches: the library alone could do nothing here.
            if rank == root
                && let Err(code) = mpi.pack(buffer, count, datatype, &mut packed, comm)
            {
                return Some(code);
            }
            let request = Request::broadcast(&packed, root as u32);
            let room = (packed.as_mut_ptr().cast(), bytes);
            let code = in_switches(mpi, comm, "MPI_Bcast", &request, room)?;
            if code == SUCCESS && rank != root {
                return Some(mpi.unpack(&packed, buffer, count, datatype, comm));
            }
            Some(code)
        })
    };
    done.unwrap_or_else(|| {
        passed();
        // SAFETY: what the program gave.
        unsafe { (mpi.bcast)(buffer, count, datatype, root, comm) }
    })
}

/// MPI_Finalize: groups end first, and leave their figures.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Finalize() -> c_int {
    let mpi = Mpi::get();
    // What ends with MPI itself may reduce once more: the library does that.
    group::close();
    if let Some(totals) = group::end() {
        figures(totals);
    }
    // SAFETY: as MPI says.
    unsafe { (mpi.finalize)() }
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
