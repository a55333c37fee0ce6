//! BAR0: registers, doorbells, MSI-X table.

use super::{Bulk, CardModel};
use crate::card::command::{Arguments, Status};
use crate::card::regs::{
    ARG0, ARGS, BULK, BULK_ALLOWANCE, BULK_ALLOWANCE_PACKETS, BULK_INCARNATION,
    BULK_INCARNATION_NUMBER, BULK_LINE, BULK_ROUND_TRIP, BULK_ROUND_TRIP_TICKS, BULK_SHARE,
    BULK_SHARE_OF_256, BULK_SIZES, BULK_SIZES_READS, BULK_SIZES_SLOTS, BULK_TICK, BULK_TICK_CLOCKS,
    BULK_WINDOWS, BULK_WINDOWS_COUNT, BULK_WINDOWS_PACKETS, BulkCounter, COMMAND, CONTROL,
    CONTROL_ENABLE, CONTROL_RESET, CongestionCounter, Counter, DOORBELL_ARM, DOORBELL_COMPLETE,
    DOORBELL_RECEIVE, DOORBELL_SEND, DOORBELLS, FEATURES, FEATURES_BULK, FEATURES_CONGESTION,
    FEATURES_REDUCTIONS, FEATURES_RINGS, GLOBAL, MSIX_ENTRY, MSIX_PENDING, MSIX_TABLE, MTU,
    MTU_BYTES, MTU_LEAST, NODE, NODE_NUMBER, PAGE, RESULT0, RESULT1, ReductionCounter, SIZES,
    SIZES_IN_FLIGHT, SIZES_QPS, SIZES_REGIONS, SIZES_VECTORS, STATISTICS_COUNTER, STATISTICS_HIGH,
    STATISTICS_LOW, STATISTICS_SELECT, STATUS, STATUS_BUSY, STATUS_CODE, TIMEOUT_CLOCKS,
    TIMEOUT_UNIT, TIMEOUT_UNIT_LEAST, bar0_bytes,
};
use crate::registers::{Access, Register};
use crate::xud::wire::MAX_PAYLOAD;

/// Registers of the card, by their place in [`GLOBAL`], and what commands left.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    values: [u32; GLOBAL.len()],
    bulk: [u32; BULK.len()],
    pub args: Arguments,
    /// A command that was written and has not run.
    pub command: Option<u32>,
    /// Since when it waits for the card to come to rest, ns.
    pub waits_since: Option<u64>,
    pub status: Status,
    pub results: [u32; 2],
    /// The counter that was copied for reading.
    copy: u64,
}

impl Default for Registers {
    fn default() -> Self {
        let mut values = [0; GLOBAL.len()];
        for (value, register) in values.iter_mut().zip(GLOBAL) {
            *value = register.reset;
        }
        Self {
            values,
            bulk: [0; BULK.len()],
            args: [0; ARGS as usize],
            command: None,
            waits_since: None,
            status: Status::Ok,
            results: [0; 2],
            copy: 0,
        }
    }
}

impl Registers {
    /// The value that was written to a register, or that it has after reset.
    pub fn get(&self, register: &Register) -> u32 {
        let place = GLOBAL.iter().position(|r| r.offset == register.offset);
        place.map_or(0, |place| self.values[place])
    }

    /// The same of bulk transfers.
    pub fn get_bulk(&self, register: &Register) -> u32 {
        let place = BULK.iter().position(|r| r.offset == register.offset);
        place.map_or(0, |place| self.bulk[place])
    }

    /// What the registers of bulk transfers hold after a reset.
    pub fn set_bulk(&mut self, engines: Option<&Bulk>) {
        let Some(engines) = engines else {
            return;
        };
        let config = engines.config();
        for (value, register) in self.bulk.iter_mut().zip(BULK) {
            *value = match *register {
                BULK_SIZES => {
                    BULK_SIZES_SLOTS.put(config.slots.into())
                        | BULK_SIZES_READS.put(config.reads.into())
                }
                BULK_WINDOWS => {
                    BULK_WINDOWS_COUNT.put(config.windows.into())
                        | BULK_WINDOWS_PACKETS.put(config.packets.into())
                }
                BULK_LINE => config.line_mbps,
                BULK_INCARNATION => engines.incarnation().into(),
                _ => register.reset,
            };
        }
    }

    pub fn enabled(&self) -> bool {
        CONTROL_ENABLE.get(self.get(&CONTROL)) != 0
    }

    pub fn node(&self) -> u32 {
        NODE_NUMBER.get(self.get(&NODE))
    }

    pub fn mtu(&self) -> u16 {
        let bytes = MTU_BYTES.get(self.get(&MTU)) as u16;
        bytes.clamp(MTU_LEAST, MAX_PAYLOAD as u16)
    }
}

/// The argument register at an offset.
fn argument(offset: u32) -> Option<usize> {
    let word = offset.checked_sub(ARG0.into())? / 4;
    (word < ARGS.into()).then_some(word as usize)
}

impl CardModel {
    /// Of an address only the bits within BAR0 count.
    fn decode(&self, address: u32) -> u32 {
        address & (bar0_bytes(self.config.qps_log) - 1)
    }

    /// Reads 32 bits of BAR0. What is not there reads as 0.
    #[must_use]
    pub fn read(&self, offset: u32) -> u32 {
        let offset = self.decode(offset);
        if !offset.is_multiple_of(4) {
            return 0;
        }
        if let Some(argument) = argument(offset) {
            return self.registers.args[argument];
        }
        if let Some(word) = self.table_word(offset) {
            return self.interrupts.get(word).unwrap_or(0);
        }
        if offset == MSIX_PENDING {
            return self.pending();
        }
        let registers = &self.registers;
        let of = |register: &Register| u32::from(register.offset) == offset;
        let config = &self.config;
        if let Some(place) = self.bulk_place(offset) {
            return registers.bulk[place];
        }
        if let Some(value) = self.read_marks(offset) {
            return value;
        }
        if let Some(place) = self.ring_place(offset) {
            return self.read_ring(place);
        }
        match GLOBAL.iter().find(|register| of(register)) {
            None => 0,
            Some(register) if *register == FEATURES => {
                registers.get(register)
                    | FEATURES_BULK.put(self.bulk.is_some().into())
                    | FEATURES_RINGS.put(self.rings.is_some().into())
                    | FEATURES_CONGESTION.put(self.marks.is_some().into())
                    | FEATURES_REDUCTIONS.put(self.reductions.is_some().into())
            }
            Some(register) if *register == SIZES => {
                SIZES_QPS.put(config.qps_log.into())
                    | SIZES_REGIONS.put(config.regions_log.into())
                    | SIZES_IN_FLIGHT.put(config.in_flight_log.into())
                    | SIZES_VECTORS.put(config.vectors_log.into())
            }
            Some(register) if *register == STATUS => {
                STATUS_BUSY.put(registers.command.is_some().into())
                    | STATUS_CODE.put(registers.status.code().into())
            }
            Some(register) if *register == RESULT0 => registers.results[0],
            Some(register) if *register == RESULT1 => registers.results[1],
            Some(register) if *register == STATISTICS_LOW => registers.copy as u32,
            Some(register) if *register == STATISTICS_HIGH => (registers.copy >> 32) as u32,
            Some(register) if register.access == Access::WriteOnly => 0,
            Some(register) => registers.get(register),
        }
    }

    /// Writes 32 bits of BAR0.
    pub fn write(&mut self, offset: u32, value: u32) {
        let offset = self.decode(offset);
        if !offset.is_multiple_of(4) {
            return self.count(Counter::BadWrite);
        }
        if let Some(argument) = argument(offset) {
            self.registers.args[argument] = value;
            return;
        }
        if let Some(word) = self.table_word(offset) {
            self.interrupts.set(word, value);
            return;
        }
        if let Some(doorbell) = offset.checked_sub(DOORBELLS) {
            return self.ring(doorbell / PAGE, doorbell % PAGE, value as u16);
        }
        let of = |register: &Register| u32::from(register.offset) == offset;
        if let Some(place) = self.bulk_place(offset) {
            return self.set_bulk(place, value);
        }
        if self.write_marks(offset, value) {
            return;
        }
        if let Some(place) = self.ring_place(offset) {
            return self.write_ring(place, value);
        }
        let Some(place) = GLOBAL.iter().position(of) else {
            return self.count(Counter::BadWrite);
        };
        let register = &GLOBAL[place];
        match register.access {
            Access::ReadOnly => self.count(Counter::BadWrite),
            Access::ReadWrite if !register.fits(value) => self.count(Counter::BadWrite),
            Access::ReadWrite => self.set(place, value),
            Access::WriteOnly => {
                if *register == COMMAND && self.registers.command.is_none() {
                    self.registers.command = Some(value);
                }
            }
        }
    }

    fn set(&mut self, place: usize, value: u32) {
        let register = GLOBAL[place];
        if register == CONTROL && CONTROL_RESET.get(value) != 0 {
            return self.reset();
        }
        self.registers.values[place] = value;
        if register == STATISTICS_SELECT {
            let code = STATISTICS_COUNTER.get(value) as u8;
            let congestion =
                || CongestionCounter::from_code(code).map_or(0, |c| self.congestion_counter(c));
            let reductions = || {
                ReductionCounter::from_code(code)
                    .map_or_else(congestion, |c| self.reduction_counter(c))
            };
            let bulk =
                || BulkCounter::from_code(code).map_or_else(reductions, |c| self.bulk_counter(c));
            self.registers.copy = Counter::from_code(code).map_or_else(bulk, |c| self.counter(c));
        }
        if register == MTU || register == TIMEOUT_UNIT {
            self.set_line();
        }
        if register == NODE {
            self.set_identity();
        }
    }

    /// Which register of bulk transfers lies at an offset, if the card has these.
    fn bulk_place(&self, offset: u32) -> Option<usize> {
        self.bulk.as_ref()?;
        BULK.iter()
            .position(|register| u32::from(register.offset) == offset)
    }

    fn set_bulk(&mut self, place: usize, value: u32) {
        let register = &BULK[place];
        if register.access == Access::ReadOnly || !register.fits(value) {
            return self.count(Counter::BadWrite);
        }
        self.registers.bulk[place] = value;
        if *register == BULK_SHARE {
            self.line.set_share(BULK_SHARE_OF_256.get(value));
        } else if *register == BULK_INCARNATION {
            self.set_identity();
        } else {
            self.set_bulk_times();
        }
    }

    /// Tells the engines of bulk transfers what the registers say of time.
    pub(super) fn set_bulk_times(&mut self) {
        let get = |register: &Register| self.registers.get_bulk(register);
        let clocks = BULK_TICK_CLOCKS.get(get(&BULK_TICK));
        let round_trip = BULK_ROUND_TRIP_TICKS.get(get(&BULK_ROUND_TRIP));
        let allowance = BULK_ALLOWANCE_PACKETS.get(get(&BULK_ALLOWANCE));
        let tick_ns = u64::from(clocks.max(1)) * self.config.clock_ns;
        if let Some(bulk) = &mut self.bulk {
            bulk.change_times(tick_ns, round_trip, allowance);
        }
    }

    /// Tells the engines of bulk transfers who this card is.
    fn set_identity(&mut self) {
        let incarnation = self.registers.get_bulk(&BULK_INCARNATION);
        let incarnation = BULK_INCARNATION_NUMBER.get(incarnation) as u16;
        let node = self.registers.node();
        if let Some(bulk) = &mut self.bulk {
            bulk.set_identity(node, incarnation);
        }
    }

    /// Tells the engine what the registers say of packets and time.
    pub(super) fn set_line(&mut self) {
        let clocks = TIMEOUT_CLOCKS.get(self.registers.get(&TIMEOUT_UNIT));
        let unit = u64::from(clocks.max(TIMEOUT_UNIT_LEAST)) * self.config.clock_ns;
        self.engine.set_line(self.registers.mtu(), unit);
    }

    /// Which word of the MSI-X table lies at an offset.
    fn table_word(&self, offset: u32) -> Option<usize> {
        let word = (offset.checked_sub(MSIX_TABLE)? / 4) as usize;
        (word < MSIX_ENTRY.len() << self.config.vectors_log).then_some(word)
    }

    /// A doorbell: the owner of the ring checks it.
    pub(super) fn ring(&mut self, qpn: u32, offset: u32, index: u16) {
        let doorbells = [
            &DOORBELL_SEND,
            &DOORBELL_RECEIVE,
            &DOORBELL_COMPLETE,
            &DOORBELL_ARM,
        ];
        let is = |register: &&Register| u32::from(register.offset) == offset;
        let Some(register) = doorbells.into_iter().find(is) else {
            return self.count(Counter::BadWrite);
        };
        let Some(queue) = self.queues.get_mut(&qpn) else {
            return self.count(Counter::BadDoorbell);
        };
        let posts = queue.takes_requests();
        let good = match register {
            &DOORBELL_SEND | &DOORBELL_RECEIVE => {
                let ring = if *register == DOORBELL_SEND {
                    &mut queue.send
                } else {
                    &mut queue.receive
                };
                let good = posts && ring.holds(index.wrapping_sub(ring.consumer));
                if good {
                    ring.producer = index;
                }
                good
            }
            &DOORBELL_COMPLETE => {
                let ring = &mut queue.complete;
                let taken = index.wrapping_sub(ring.consumer);
                let good = taken <= ring.held();
                if good {
                    ring.consumer = index;
                    self.engine.release(qpn, taken.into());
                }
                good
            }
            _ => {
                queue.armed = Some(index);
                if queue.take_due() {
                    self.interrupts.raise(queue.vector);
                }
                true
            }
        };
        if !good {
            self.count(Counter::BadDoorbell);
        }
    }
}
