//! The host side: reproducible sums, and the endpoints of a reduction.
//!
//! * [`repsum`]: binary64 to reproducible sums and back.

pub mod repsum;
