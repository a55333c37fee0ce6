//! Faults on purpose: what a test or an experiment does to single frames.

use crate::fabric::describe::Place;

/// A frame that begins to cross a cable.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// The cable.
    pub cable: usize,
    /// Who sends.
    pub from: Place,
    /// Who is to get it.
    pub to: Place,
    /// Clock of the first word.
    pub start: u64,
    /// The frame.
    pub bytes: &'a [u8],
}

/// What is done to a frame, besides what its cable does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Nothing.
    Pass,
    /// It is lost.
    Lose,
    /// It arrives damaged.
    Damage,
    /// It arrives, and once more so many clocks later.
    Repeat(u64),
    /// It arrives so many clocks later.
    Delay(u64),
}
