//! Writes that the host interface has taken and that are not in memory yet, and their sequence numbers on the way back.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use super::stream::RawTlp;
use crate::verilate::{Model, Port};

/// How a host interface treats the writes of the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritePath {
    /// Clocks from the last word of a write to memory; writes stay in order. 0: at once.
    pub memory: RangeInclusive<u32>,
    /// Clocks from there to the return of its sequence number; numbers return in any order.
    pub number: RangeInclusive<u32>,
    /// No number returns.
    pub lost: bool,
}

impl Default for WritePath {
    /// What is handed over is in memory.
    fn default() -> Self {
        Self {
            memory: 0..=0,
            number: 0..=0,
            lost: false,
        }
    }
}

/// A write on its way to memory.
#[derive(Debug)]
pub(super) struct Posted {
    pub tlp: RawTlp,
    /// The card was a bus master when it began.
    pub master: bool,
    number: u64,
    due: u64,
}

/// All of them.
#[derive(Debug)]
pub(super) struct WritesPosted {
    number: Port,
    /// Number and valid of what returns.
    back: Option<[Port; 2]>,
    writes: VecDeque<Posted>,
    numbers: Vec<(u64, u64)>,
}

fn within(range: &RangeInclusive<u32>, rng: &mut ChaCha8Rng) -> u64 {
    let (low, high) = (*range.start(), *range.end());
    if low >= high {
        return low.into();
    }
    u64::from(low + rng.next_u32() % (high - low + 1))
}

impl WritesPosted {
    /// Those of a model that has the stream.
    pub fn new(model: &Model) -> Option<Self> {
        let port = |name: &str| model.port(name).ok();
        let back = ["", "_valid"].map(|end| port(&format!("s_axis_wr_req_tx_seq_num{end}")));
        Some(Self {
            number: port("m_tx_wr_req_tlp_seq")?,
            back: back[0].zip(back[1]).map(|(number, valid)| [number, valid]),
            writes: VecDeque::new(),
            numbers: Vec::new(),
        })
    }

    /// A write was taken.
    pub fn push(
        &mut self,
        model: &Model,
        (tlp, master): (RawTlp, bool),
        clock: u64,
        path: &WritePath,
        rng: &mut ChaCha8Rng,
    ) {
        self.writes.push_back(Posted {
            tlp,
            master,
            number: model.get(self.number),
            due: clock + within(&path.memory, rng),
        });
    }

    /// The next write that has reached memory; its number is then on its way.
    pub fn arrived(
        &mut self,
        clock: u64,
        path: &WritePath,
        rng: &mut ChaCha8Rng,
    ) -> Option<Posted> {
        self.writes.front().filter(|write| write.due <= clock)?;
        let write = self.writes.pop_front()?;
        if !path.lost {
            let due = clock + within(&path.number, rng);
            self.numbers.push((due, write.number));
        }
        Some(write)
    }

    /// Drives the number that returns in this clock.
    pub fn drive(&mut self, model: &mut Model, clock: u64) {
        let Some([number, valid]) = self.back else {
            return self.numbers.clear();
        };
        let due = self.numbers.iter().position(|(due, _)| *due <= clock);
        model.set(valid, due.is_some().into());
        if let Some(place) = due {
            model.set(number, self.numbers.remove(place).1);
        }
    }

    /// None is on its way to memory.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
}
