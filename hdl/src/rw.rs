//! The receiver-window engine.
