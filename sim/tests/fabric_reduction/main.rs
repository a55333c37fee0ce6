//! Reductions over simulated fabrics: operations, faults, many groups.

mod collectives;
mod common;
mod concurrent;
mod faults;
mod losses;
mod operations;
mod plain;
mod root;
mod together;
