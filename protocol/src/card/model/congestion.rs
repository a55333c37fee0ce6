//! What the card does about marks of switches (CL-4): its frames may be marked, senders are told of marks, and transfers whose
//! receivers say so slow down ([`crate::rw::pace`]). Off until the register `congestion` says otherwise.

use std::collections::BTreeSet;

use super::CardModel;
use crate::bulk::OPCODE_CONGESTED;
use crate::card::regs::{
    CONGESTION, CONGESTION_CONTROL, CONGESTION_ENABLE, CONGESTION_INTERVAL,
    CONGESTION_INTERVAL_TICKS, CongestionCounter, Counter,
};
use crate::registers::{Access, Register};
use crate::roce;
use crate::xud::wire::{self, Packet};

/// Fewest and most ticks that the register `congestion_interval` counts as.
const INTERVAL: std::ops::RangeInclusive<u16> = 1..=4_096;
/// Requests that came marked and are not answered yet; of more, senders are not told.
const UNANSWERED: usize = 4_096;

/// Registers, counters, and what is to be told.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    registers: Vec<u32>,
    counters: [u64; CongestionCounter::ALL.len()],
    /// Requests that came marked: node, queue pair there and PSN of their acknowledgements.
    requests: BTreeSet<(u32, u32, u32)>,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            registers: CONGESTION.iter().map(|register| register.reset).collect(),
            counters: [0; CongestionCounter::ALL.len()],
            requests: BTreeSet::new(),
        }
    }
}

impl Marks {
    pub fn enabled(&self) -> bool {
        CONGESTION_ENABLE.get(self.get(&CONGESTION_CONTROL)) != 0
    }

    fn interval(&self) -> u16 {
        let ticks = CONGESTION_INTERVAL_TICKS.get(self.get(&CONGESTION_INTERVAL)) as u16;
        ticks.clamp(*INTERVAL.start(), *INTERVAL.end())
    }

    fn get(&self, register: &Register) -> u32 {
        let place = CONGESTION.iter().position(|r| r == register);
        place.map_or(0, |place| self.registers[place])
    }

    fn count(&mut self, counter: CongestionCounter) {
        self.counters[usize::from(counter.code() - CongestionCounter::ALL[0].code())] += 1;
    }

    pub fn counter(&self, counter: CongestionCounter) -> u64 {
        self.counters[usize::from(counter.code() - CongestionCounter::ALL[0].code())]
    }
}

/// Which register of congestion lies at an offset.
fn place(offset: u32) -> Option<usize> {
    CONGESTION
        .iter()
        .position(|register| u32::from(register.offset) == offset)
}

impl CardModel {
    /// Reads a register of congestion, if the card has these.
    pub(super) fn read_marks(&self, offset: u32) -> Option<u32> {
        let marks = self.marks.as_ref()?;
        marks.registers.get(place(offset)?).copied()
    }

    /// Writes one; false if there is none.
    pub(super) fn write_marks(&mut self, offset: u32, value: u32) -> bool {
        let (Some(marks), Some(place)) = (&mut self.marks, place(offset)) else {
            return false;
        };
        let register = &CONGESTION[place];
        if register.access == Access::ReadWrite && register.fits(value) {
            marks.registers[place] = value;
            self.set_pace();
        } else {
            self.count(Counter::BadWrite);
        }
        true
    }

    /// Tells the engines of bulk transfers what the registers say.
    pub(super) fn set_pace(&mut self) {
        let pace = self.marks.as_ref().filter(|marks| marks.enabled());
        let interval = pace.map(|marks| marks.interval());
        if let Some(bulk) = &mut self.bulk {
            bulk.set_pace(interval);
        }
    }

    /// A counter of congestion; 0 without it.
    #[must_use]
    pub fn congestion_counter(&self, counter: CongestionCounter) -> u64 {
        let own = self
            .marks
            .as_ref()
            .map_or(0, |marks| marks.counter(counter));
        own + self
            .bulk
            .as_ref()
            .map_or(0, |bulk| bulk.congestion_counter(counter))
    }

    fn marks_on(&mut self) -> Option<&mut Marks> {
        self.marks.as_deref_mut().filter(|marks| marks.enabled())
    }

    /// Whether a frame with this opcode is for the engines of bulk transfers.
    pub(super) fn is_congested(&self, opcode: u8) -> bool {
        opcode == OPCODE_CONGESTED && self.marks.as_ref().is_some_and(|marks| marks.enabled())
    }

    /// A frame that carries no reduction leaves: switches may mark it.
    pub(super) fn allow_marks(&mut self, frame: &mut [u8]) {
        if self.marks_on().is_some() {
            roce::allow_marks(frame);
        }
    }

    /// A datagram from the line: of one that came marked its sender is told, and of an acknowledgement the count is kept.
    pub(super) fn accept_marked(&mut self, frame: &[u8], now: u64) {
        if self.marks_on().is_none() {
            return self.accept(frame, now);
        }
        // Requests whose time is over are not ended by this frame.
        self.engine.tick(now);
        let (owed, flying) = (self.engine.owed(), self.engine.in_flight());
        self.accept(frame, now);
        let answered = self.engine.owed() > owed;
        let ended = self.engine.in_flight() < flying;
        let Some(marks) = self.marks_on() else {
            return;
        };
        if owed == 0 {
            // What was never answered is forgotten.
            marks.requests.clear();
        }
        if ended && roce::tells_mark(frame) {
            marks.count(CongestionCounter::Heard);
        }
        if answered
            && roce::is_marked(frame)
            && let Ok((from, Packet::Send(send))) = wire::decode_frame(frame)
        {
            marks.count(CongestionCounter::MarkedReceived);
            if marks.requests.len() < UNANSWERED {
                marks.requests.insert((from, send.src_qp, send.psn));
            }
        }
    }

    /// An acknowledgement leaves: it says whether what it answers came marked.
    pub(super) fn tell_mark(&mut self, to: u32, packet: &Packet, frame: &mut [u8]) {
        if let Packet::Ack(ack) = packet
            && let Some(marks) = self.marks_on()
            && marks.requests.remove(&(to, ack.dest_qp, ack.psn))
        {
            marks.count(CongestionCounter::Sent);
            roce::tell_mark(frame);
        }
    }
}
