//! Tests of the sender.
