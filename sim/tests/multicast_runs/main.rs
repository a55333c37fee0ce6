//! Block multicast over simulated links: what runs take, and what becomes of faults.

mod common;
mod faults;
mod steps;
