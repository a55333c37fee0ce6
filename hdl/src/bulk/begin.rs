//! Work requests of bulk transfers, checked and started.

use super::BulkLimits;
use super::layout::OneSidedHead;
use crate::bus::{
    BulkRequestOut, BulkStartedIn, BulkWorksIn, LookupRightsOut, ReadsOut, VerdictIn,
};
use crate::prelude::*;
use crate::switch::ByteSwap;
use tributary_protocol::card::descriptor::{OPCODE_BULK_READ, OPCODE_BULK_WRITE, flags};
use tributary_protocol::xud::Outcome;
use tributary_protocol::xud::onesided::{HEADER_LEN, Operation};
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;

/// What becomes of the work request that is offered.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Begin {
    Idle,
    Check,
    First,
    FirstAnswer,
    Last,
    LastAnswer,
    Wait,
    Start,
    Started,
    Read,
    Refuse,
}

hdl_module! {
    /// Checks bulk work requests and starts their transfers, one at a time. The first check that fails decides: packets and
    /// addresses there (local_length), queue pair number (local_address), opcode, flags, head and window (local_opcode: a fence
    /// is card_send's), every byte here in the region of its key, which a READ needs to write to (local_protection). Then a
    /// WRITE takes a slot and a READ a place at m_read, and waits for one if all are taken. bulk_send refuses none of these any
    /// more.
    /// A region holds all bytes if it holds the first and the last one: two looks of a byte each.
    /// Clocks: 5 to the verdict of the fields, 8 for each look, then what bulk_send takes.
    /// Stages: 1 fields compared; 2 last byte here, verdict of fields; 3 verdict. Limits of the transfer: bulk_limits.
    /// While m_start, m_read or m_refused is not taken the work request stays; while stay is up a WRITE is not offered. While
    /// hold is up none begins, and one that waits for a slot or place is checked again afterwards: its region may be another
    /// one then.
    #[module("bulk_begin")]
    pub struct BulkBegin {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Largest payload of a packet, bytes: packets have the largest power of two in it, 256 to 4,096.
        pub cfg_mtu: Signal<In, Bits<13>>,
        /// Work requests.
        pub s: BulkWorksIn,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// None is under way, but one may wait for a slot.
        pub m_idle: Signal<Out, Bit>,
        /// A slot is free.
        pub free: Signal<In, Bit>,
        /// Another transfer is being started, or waits for that.
        pub stay: Signal<In, Bit>,
        /// One of these is.
        pub m_starts: Signal<Out, Bit>,
        /// A place for a READ is free.
        pub read_free: Signal<In, Bit>,
        /// READs.
        pub m_read: ReadsOut,
        /// A region is looked up.
        pub m_look: LookupRightsOut,
        /// What was found.
        pub s_look: VerdictIn,
        /// Transfers to start.
        pub m_start: BulkRequestOut,
        /// What became of them.
        pub s_started: BulkStartedIn,
        /// The end of a transfer waits to be taken: bulk_send may have given its slot away again.
        pub ends: Signal<In, Bit>,
        /// The transfer of s is under way in the slot of s_started: pulse.
        pub started: Signal<Out, Bit>,
        /// The work request of s is refused.
        pub m_refused_valid: Signal<Out, Bit>,
        /// That is taken.
        pub m_refused_ready: Signal<In, Bit>,
        /// How it ends.
        pub m_refused_status: Signal<Out, Bits<8>>,
        /// A queue pair has ended, with hold: its work request is dropped; pulse.
        pub s_end_taken: Signal<In, Bit>,
        /// Its number.
        pub s_end_index: Signal<In, Bits<24>>,

        begin: DFF<Begin>,
        timer: DFF<Bits<2>>,
        low: ByteSwap,
        high: ByteSwap,
        head: Signal<Local, OneSidedHead>,
        reads: Signal<Local, Bit>,
        limits: BulkLimits,
        // Stage 1.
        log: DFF<Bits<4>>,
        far: DFF<Bit>,
        bad_code: DFF<Bit>,
        bad_head: DFF<Bit>,
        bad_window: DFF<Bit>,
        // Stage 2.
        last_here: DFF<Bits<65>>,
        bad_opcode: DFF<Bit>,
        status: DFF<Bits<8>>,
        refused: Signal<Local, Bit>,
        same_work: DFF<Bit>,
        dropped: Signal<Local, Bit>,

        bulk_write: Param<{ OPCODE_BULK_WRITE as usize }, 8>,
        bulk_read: Param<{ OPCODE_BULK_READ as usize }, 8>,
        one_sided: Param<{ ONE_SIDED_FRAME as usize }, 8>,
        fence: Param<{ flags::FENCE.mask() as usize }, 8>,
        notify: Param<{ flags::NOTIFY.mask() as usize }, 8>,
        oldest_first: Param<{ flags::OLDEST_FIRST.mask() as usize }, 8>,
        header: Param<HEADER_LEN, 8>,
        write: Param<{ Operation::Write as usize }, 7>,
        read: Param<{ Operation::Read as usize }, 7>,
        /// The right that a READ needs of its region, as card_regions has it.
        local_write: Param<1, 4>,
        local_length: Param<{ Outcome::LocalLength as usize }, 8>,
        local_address: Param<{ Outcome::LocalAddress as usize }, 8>,
        local_opcode: Param<{ Outcome::LocalOpcode as usize }, 8>,
        local_protection: Param<{ Outcome::LocalProtection as usize }, 8>,
    }
}

impl Logic for BulkBegin {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1. The head as it travels.
        self.low.s.next = self.s.of.val().head_low;
        self.high.s.next = self.s.of.val().head_high;
        self.head.next = ((bit_cast::<128, 64>(self.low.m.val()) << 64)
            | bit_cast::<128, 64>(self.high.m.val()))
        .into();
        self.log.d.next = 8.into();
        if self.cfg_mtu.val().get_bit(12) {
            self.log.d.next = 12.into();
        } else if self.cfg_mtu.val().get_bit(11) {
            self.log.d.next = 11.into();
        } else if self.cfg_mtu.val().get_bit(10) {
            self.log.d.next = 10.into();
        } else if self.cfg_mtu.val().get_bit(9) {
            self.log.d.next = 9.into();
        }
        self.far.d.next = self.s.of.val().peer.get_bits::<8>(24).any();
        self.reads.next = self.s.of.val().opcode == self.bulk_read.val();
        self.bad_code.d.next = (!self.reads.val()
            & (self.s.of.val().opcode != self.bulk_write.val()))
            | (self.s.of.val().flags
                & !self.fence.val()
                & !self.notify.val()
                & !self.oldest_first.val())
            .any()
            | (self.reads.val()
                & (self.s.of.val().flags & (self.notify.val() | self.oldest_first.val())).any())
            | (self.s.of.val().vf != self.one_sided.val());
        self.bad_head.d.next = (self.s.of.val().head_len != self.header.val())
            | (!self.reads.val() & (self.head.val().operation != self.write.val()))
            | (self.reads.val() & (self.head.val().operation != self.read.val()))
            | self.head.val().answer.any()
            | self.head.val().length.any();
        self.bad_window.d.next = self.s.of.val().win_id.any() | self.s.of.val().epoch.any();

        // Stage 2.
        self.limits.mtu.next = self.log.q.val();
        self.limits.length.next = self.s.of.val().length;
        self.limits.there.next = self.head.val().address;
        self.last_here.d.next = bit_cast::<65, 64>(self.s.of.val().address)
            + bit_cast::<65, 32>(self.limits.distance.val());
        self.bad_opcode.d.next =
            self.bad_code.q.val() | self.bad_head.q.val() | self.bad_window.q.val();

        // Its region: whoever has its key may read there for its own host, and write if it has that right.
        self.m_look.valid.next =
            (self.begin.q.val() == Begin::First) | (self.begin.q.val() == Begin::Last);
        self.m_look.of.next.key = self.s.of.val().lkey;
        self.m_look.of.next.pd = self.s.of.val().pd;
        self.m_look.of.next.addr = self.s.of.val().address;
        if self.begin.q.val() == Begin::Last {
            self.m_look.of.next.addr = self.last_here.q.val().get_bits::<64>(0);
        }
        self.m_look.of.next.len = 1.into();
        self.m_look.of.next.need = 0.into();
        if self.reads.val() {
            self.m_look.of.next.need = self.local_write.val();
        }

        // It starts.
        self.m_start.valid.next = self.begin.q.val() == Begin::Start;
        self.m_start.dst.next = self.s.of.val().node;
        self.m_start.addr.next = self.head.val().address;
        self.m_start.rkey.next = self.head.val().rkey;
        self.m_start.length.next = self.s.of.val().length;
        self.m_start.mtu.next = self.log.q.val();
        self.m_start.oldest_first.next = (self.s.of.val().flags & self.oldest_first.val()).any();
        self.s_started.ready.next = (self.begin.q.val() == Begin::Started) & !self.ends.val();
        self.started.next = self.s_started.valid.val() & self.s_started.ready.val();

        self.m_starts.next =
            (self.begin.q.val() == Begin::Start) | (self.begin.q.val() == Begin::Started);
        self.m_read.valid.next = self.begin.q.val() == Begin::Read;
        self.m_read.mtu.next = self.log.q.val();
        self.m_read.there.next = self.head.val().address;
        self.m_read.rkey.next = self.head.val().rkey;
        self.m_read.of.next = self.s.of.val();

        // The work request.
        self.same_work.d.next = self.s.of.val().qpn == self.s_end_index.val();
        self.dropped.next =
            self.s_end_taken.val() & self.same_work.q.val() & (self.begin.q.val() == Begin::Idle);
        self.m_refused_valid.next = self.begin.q.val() == Begin::Refuse;
        self.m_refused_status.next = self.status.q.val();
        self.refused.next = self.m_refused_valid.val() & self.m_refused_ready.val();
        self.s.ready.next = self.started.val()
            | (self.m_read.valid.val() & self.m_read.ready.val())
            | self.refused.val()
            | self.dropped.val();
        self.m_idle.next =
            (self.begin.q.val() == Begin::Idle) | (self.begin.q.val() == Begin::Wait);
        self.timer.d.next = self.timer.q.val() + 1;
        match self.begin.q.val() {
            Begin::Idle => {
                self.timer.d.next = 0.into();
                if self.s.valid.val() & !self.hold.val() {
                    self.begin.d.next = Begin::Check;
                }
            }
            Begin::Check => {
                if self.timer.q.val() == 2 {
                    self.begin.d.next = Begin::Refuse;
                    if self.limits.beyond.val() {
                        self.status.d.next = self.local_length.val();
                    } else if self.far.q.val() {
                        self.status.d.next = self.local_address.val();
                    } else if self.bad_opcode.q.val() {
                        self.status.d.next = self.local_opcode.val();
                    } else {
                        self.status.d.next = self.local_protection.val();
                        if !self.limits.has_bytes.val() {
                            self.begin.d.next = Begin::Wait;
                        } else if !self.last_here.q.val().get_bit(64) {
                            self.begin.d.next = Begin::First;
                        }
                    }
                }
            }
            Begin::First => self.begin.d.next = Begin::FirstAnswer,
            Begin::FirstAnswer => {
                if self.s_look.valid.val() {
                    self.begin.d.next = Begin::Refuse;
                    if self.s_look.ok.val() {
                        self.begin.d.next = Begin::Last;
                    }
                }
            }
            Begin::Last => self.begin.d.next = Begin::LastAnswer,
            Begin::LastAnswer => {
                if self.s_look.valid.val() {
                    self.begin.d.next = Begin::Refuse;
                    if self.s_look.ok.val() {
                        self.begin.d.next = Begin::Wait;
                    }
                }
            }
            // For a slot. After a command it is checked again: its region may be another one.
            Begin::Wait => {
                if self.hold.val() {
                    self.begin.d.next = Begin::Idle;
                } else if self.reads.val() {
                    if self.read_free.val() {
                        self.begin.d.next = Begin::Read;
                    }
                } else if self.free.val() & !self.stay.val() {
                    self.begin.d.next = Begin::Start;
                }
            }
            Begin::Start => {
                if self.m_start.ready.val() {
                    self.begin.d.next = Begin::Started;
                }
            }
            Begin::Started => {
                if self.started.val() {
                    self.begin.d.next = Begin::Idle;
                }
            }
            Begin::Read => {
                if self.m_read.ready.val() {
                    self.begin.d.next = Begin::Idle;
                }
            }
            Begin::Refuse => {
                if self.refused.val() {
                    self.begin.d.next = Begin::Idle;
                }
            }
        }
        if self.rst.val() {
            self.begin.d.next = Begin::Idle;
        }
    }
}
