//! How long frames take, in clocks. The figures of the switch are those of its RTL.

// All from the clock in which one word stands at an input to the clock in which another stands at an output.

/// From the last word of a plain frame in to its first word out, through an idle switch.
pub const FORWARD_CLOCKS: u64 = 9;
/// From the last word of a reduction frame in to its first word at the engine of the port that it leaves by.
pub const TO_ENGINE_CLOCKS: u64 = 6;
/// From the first word of the last contribution at the engine to the first word of the result out.
pub const ENGINE_CLOCKS: u64 = 11;
/// From the first word at the engine of a frame that passes unchanged upwards to its first word out.
pub const PASS_CLOCKS: u64 = 11;
/// From the first word at the engine of a frame that goes down a tree to its first word out.
pub const DOWN_CLOCKS: u64 = 9;
/// Between two reduction frames of one queue of which the engine looks at one and the other passes.
pub const OTHER_READER_CLOCKS: u64 = 1;
/// Words of a reduction frame that a queue holds, and clocks that it takes into an engine.
pub const STORED_WORDS: u64 = 11;
/// From the last word of the last contribution in to the first word of the result out.
pub const RESULT_CLOCKS: u64 = TO_ENGINE_CLOCKS + ENGINE_CLOCKS;
/// Words of 8 bytes that a queue between an input and an output holds.
pub const QUEUE_WORDS: u64 = 512;
/// Bytes of a word: what a port takes in a clock.
pub const WORD_BYTES: u64 = 8;
/// Bytes that a frame occupies its link for, besides itself: preamble 8, frame check sequence 4, gap 12.
pub const GAP_BYTES: u64 = 24;
/// From the last word of a frame in to the first word of an answer out, at an endpoint whose software takes no time.
pub const ENDPOINT_CLOCKS: u64 = 1;
/// The same in the card of a root, from a result to its answer (CL-6): what `card_reduce` takes (`docs/card.md`).
pub const ANSWER_CLOCKS: u64 = 43;

/// Words of a frame.
#[must_use]
pub const fn words(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(WORD_BYTES)
}
