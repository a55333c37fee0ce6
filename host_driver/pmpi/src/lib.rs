//! Small reductions of unchanged MPI programs through the switches: `libtributary_pmpi.so`, which is loaded before the MPI library
//! (LD_PRELOAD). `docs/mpi.md` is the contract.
//!
//! It has the names of nine MPI functions, those of C (`c`), with their large forms, and those of Fortran (`fortran`). Each asks whether the switches can do
//! what is called (`calls`, `eligible`), on grounds that are the same at all ranks; if so, and if the communicator has a group in
//! the switches (`group`), the provider does it (`provider`), while the call waits or not (`nonblocking`). Everything else goes to
//! the MPI library, by the names that MPI has for that (PMPI_…). It knows the handles of Open MPI and of MPICH (`mpi`), and lets everything of
//! other MPI libraries pass.
#![cfg(target_os = "linux")]
#![allow(non_snake_case)]

mod c;
mod calls;
mod eligible;
mod fortran;
mod group;
mod mpi;
mod nonblocking;
mod provider;

use std::sync::atomic::{AtomicU64, Ordering};

/// Calls that the MPI library did.
static BY_LIBRARY: AtomicU64 = AtomicU64::new(0);

fn passed() {
    BY_LIBRARY.fetch_add(1, Ordering::Relaxed);
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
