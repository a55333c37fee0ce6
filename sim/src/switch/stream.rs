//! AXI4-Stream frames, 64 bits a clock.

use std::collections::VecDeque;

/// What stands at a stream in one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// First byte in bits 7:0.
    pub data: u64,
    /// Bytes present.
    pub keep: u8,
    /// Last of the frame.
    pub last: bool,
    /// The MAC marks the frame as bad.
    pub user: bool,
}

/// A frame as beats.
pub fn beats(frame: &[u8]) -> impl Iterator<Item = Beat> {
    let last = frame.len().div_ceil(8);
    frame.chunks(8).zip(1..).map(move |(chunk, number)| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        Beat {
            data: u64::from_le_bytes(bytes),
            keep: u8::MAX >> (8 - chunk.len()),
            last: number == last,
            user: false,
        }
    })
}

/// Beats on their way into a stream.
#[derive(Clone, Debug, Default)]
pub struct Source {
    beats: VecDeque<Beat>,
}

impl Source {
    /// Queues a frame behind the others.
    pub fn push(&mut self, frame: &[u8]) {
        self.beats.extend(beats(frame));
    }

    /// Queues beats as they are.
    pub fn push_beats(&mut self, beats: impl IntoIterator<Item = Beat>) {
        self.beats.extend(beats);
    }

    /// The beat that is offered, unless there is a pause.
    #[must_use]
    pub fn front(&self) -> Option<Beat> {
        self.beats.front().copied()
    }

    /// The beat has been taken.
    pub fn pop(&mut self) {
        self.beats.pop_front();
    }

    /// Beats that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.beats.len()
    }

    /// Nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.beats.is_empty()
    }
}

/// Puts beats together to frames.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    bytes: Vec<u8>,
}

impl Sink {
    /// Takes a beat; returns the frame that it completes.
    ///
    /// # Errors
    /// Bytes are missing before the last beat, or stand behind a gap.
    pub fn take(&mut self, beat: Beat) -> Result<Option<Vec<u8>>, String> {
        let count = beat.keep.trailing_ones() as usize;
        let whole = u8::MAX.checked_shr(8 - count as u32).unwrap_or(0);
        if beat.keep == 0 || beat.keep != whole || (!beat.last && count != 8) {
            return Err(format!(
                "tkeep {:#04x} with tlast {} after {} bytes",
                beat.keep,
                beat.last,
                self.bytes.len()
            ));
        }
        self.bytes
            .extend_from_slice(&beat.data.to_le_bytes()[..count]);
        Ok(beat.last.then(|| std::mem::take(&mut self.bytes)))
    }

    /// Whether a frame has begun and not ended.
    #[must_use]
    pub fn is_within(&self) -> bool {
        !self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_every_length_come_back() {
        for length in 1..100u8 {
            let frame: Vec<u8> = (0..length).collect();
            let mut source = Source::default();
            source.push(&frame);
            let mut sink = Sink::default();
            let mut got = None;
            while let Some(beat) = source.front() {
                assert!(got.is_none());
                got = sink.take(beat).unwrap();
                source.pop();
            }
            assert_eq!(got, Some(frame));
        }
    }

    #[test]
    fn a_hole_or_a_short_word_inside_is_refused() {
        let beat = |keep, last| Beat {
            data: 0,
            keep,
            last,
            user: false,
        };
        for bad in [beat(0x7f, false), beat(0, true), beat(5, true)] {
            assert!(Sink::default().take(bad).is_err(), "{bad:?}");
        }
    }
}
