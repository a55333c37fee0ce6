//! Routed groups on simulated fabrics: a router's trees in the switches' tables, frames sent over every one of them.
//!
//! `TRIBUTARY_SEED` is the seed of the random groups.

mod common;
mod failure;
mod files;
mod full;
mod models;
mod rtl;
mod wrong;
