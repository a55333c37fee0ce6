//! Reductions over simulated fabrics: operations, faults, many groups.

mod common;
mod operations;
