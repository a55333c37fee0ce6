//! Block multicast over simulated links: what runs take, and what becomes of faults.

mod common;
mod faults;
mod mpi;
mod steps;
