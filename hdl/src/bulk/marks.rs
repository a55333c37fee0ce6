//! Which transfers the card itself ends, and why.

use crate::blocks::{PriorityEncoder, RamReg};
use crate::bus::{BulkCancelOut, BulkUnreadIn};
use crate::prelude::*;
use tributary_protocol::rw::Reason;

hdl_record! {
    /// The name of a transfer, and whose it is.
    pub struct WorkName {
        /// Its number in its slot.
        xid: Bits<32>,
        /// Queue pair here.
        qpn: Bits<24>,
    }
}

hdl_bus! {
    /// A transfer has started; pulse.
    pub struct WorkStart<const LS: usize> {
        /// It has.
        valid: Bit,
        /// Its slot.
        slot: Bits<LS>,
        /// Its name.
        of: WorkName,
    }
}

/// What is looked for among the slots.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Marks {
    Idle,
    Unread,
    Pair,
    Cancel,
}

hdl_module! {
    /// Which slots have a transfer under way, and which of these the card itself ends: a packet cannot be read, for its key or
    /// for host memory, where the first reason counts, or its queue pair ends. Each such transfer is cancelled at bulk_send,
    /// which tells its receiver the reason. Nothing is done to a transfer that is not under way any more.
    /// Clocks: 5 for s_unread, 4 for each slot for s_end, 5 for a cancellation. Stages: 1 and 2 the memory, 3 compared.
    /// While m_cancel is not taken others that are to be cancelled wait; s_unread and s_end do not.
    #[module("bulk_marks_s{S}")]
    pub struct BulkMarks<const S: usize, const LS: usize, const SA: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no transfer is under way.
        pub rst: Signal<In, Bit>,
        /// A transfer has started.
        pub s_start: WorkStartIn<LS>,
        /// A transfer has ended, and its end was taken: pulse.
        pub s_finish_valid: Signal<In, Bit>,
        /// Its slot.
        pub s_finish_slot: Signal<In, Bits<LS>>,
        /// A packet cannot be read.
        pub s_unread: BulkUnreadIn,
        /// A queue pair ends; stays until it is taken.
        pub s_end_valid: Signal<In, Bit>,
        /// Its transfers are marked: pulse.
        pub s_end_ready: Signal<Out, Bit>,
        /// Its number.
        pub s_end_index: Signal<In, Bits<24>>,
        /// Transfers to cancel.
        pub m_cancel: BulkCancelOut,
        /// Nothing is looked for.
        pub m_idle: Signal<Out, Bit>,
        /// Slots with a transfer under way.
        pub m_active: Signal<Out, Bits<S>>,
        /// Those whose key has failed.
        pub m_no_key: Signal<Out, Bits<S>>,
        /// Those whose memory has failed.
        pub m_no_memory: Signal<Out, Bits<S>>,
        /// Those whose queue pair has ended.
        pub m_flushed: Signal<Out, Bits<S>>,

        names: RamReg<{ WorkName::BITS }, SA>,
        name: Signal<Local, WorkName>,
        #[reset] active: DFF<Bits<S>>,
        #[reset] no_key: DFF<Bits<S>>,
        #[reset] no_memory: DFF<Bits<S>>,
        #[reset] flushed: DFF<Bits<S>>,
        #[reset] to_cancel: DFF<Bits<S>>,
        over: Signal<Local, Bits<S>>,
        start_mask: Signal<Local, Bits<S>>,
        finish_mask: Signal<Local, Bits<S>>,
        mark_mask: Signal<Local, Bits<S>>,
        starts: Signal<Local, Bits<S>>,
        finishes: Signal<Local, Bits<S>>,
        marks_key: Signal<Local, Bits<S>>,
        marks_memory: Signal<Local, Bits<S>>,
        marks_pair: Signal<Local, Bits<S>>,
        cancels: Signal<Local, Bits<S>>,
        marks: DFF<Marks>,
        marks_timer: DFF<Bits<2>>,
        at: DFF<Bits<LS>>,
        lowest: PriorityEncoder<S, LS>,
        same_xid: DFF<Bit>,
        same_pair: DFF<Bit>,
        here: Signal<Local, Bit>,
        /// It was so when its name was read: a slot that is free may have another name by now.
        was_here: DFF<Bit>,
        marked: Signal<Local, Bit>,
        #[reset] c_valid: DFF<Bit>,
        c_slot: DFF<Bits<LS>>,
        c_xid: DFF<Bits<32>>,
        c_reason: DFF<Bits<4>>,
        protection: Param<{ Reason::Protection as usize }, 4>,
        memory: Param<{ Reason::Memory as usize }, 4>,
        cancelled: Param<{ Reason::Cancelled as usize }, 4>,
    }
}

impl<const S: usize, const LS: usize, const SA: usize> Logic for BulkMarks<S, LS, SA> {
    #[hdl_gen]
    fn update(&mut self) {
        self.names.wr.en.next = self.s_start.valid.val();
        self.names.wr.addr.next = bit_cast::<SA, LS>(self.s_start.slot.val());
        self.names.wr.data.next = self.s_start.of.val().to_bits();
        self.over.next = self.no_key.q.val() | self.no_memory.q.val() | self.flushed.q.val();
        self.m_active.next = self.active.q.val();
        self.m_no_key.next = self.no_key.q.val();
        self.m_no_memory.next = self.no_memory.q.val();
        self.m_flushed.next = self.flushed.q.val();
        self.m_idle.next = self.marks.q.val() == Marks::Idle;

        // Transfers that the card ends, and cancellations of these. A reader of names waits 3 clocks, then compares.
        self.names.rd.addr.next = bit_cast::<SA, LS>(self.at.q.val());
        self.name.next = self.names.rd.data.val().into();
        self.same_xid.d.next = self.name.val().xid == self.s_unread.xid.val();
        self.same_pair.d.next = self.name.val().qpn == self.s_end_index.val();
        self.mark_mask.next = bits::<S>(1) << self.at.q.val();
        self.here.next = (self.active.q.val() & self.mark_mask.val()).any();
        self.marked.next = (self.over.val() & self.mark_mask.val()).any();
        self.lowest.req.next = self.to_cancel.q.val();
        self.marks_key.next = 0.into();
        self.marks_memory.next = 0.into();
        self.marks_pair.next = 0.into();
        self.cancels.next = 0.into();
        self.s_unread.ready.next = false;
        self.s_end_ready.next = false;
        if self.m_cancel.ready.val() {
            self.c_valid.d.next = false;
        }
        self.marks_timer.d.next = self.marks_timer.q.val() + 1;
        match self.marks.q.val() {
            Marks::Idle => {
                self.marks_timer.d.next = 0.into();
                self.at.d.next = 0.into();
                if self.s_unread.valid.val() {
                    self.at.d.next = self.s_unread.slot.val().get_bits::<LS>(0);
                    self.marks.d.next = Marks::Unread;
                } else if self.s_end_valid.val() {
                    self.marks.d.next = Marks::Pair;
                } else if !self.lowest.none.val() & !self.c_valid.q.val() {
                    self.at.d.next = self.lowest.index.val();
                    self.marks.d.next = Marks::Cancel;
                }
            }
            Marks::Unread => {
                if self.marks_timer.q.val() == 0 {
                    self.was_here.d.next = self.here.val();
                }
                if self.marks_timer.q.val() == 3 {
                    self.s_unread.ready.next = true;
                    self.marks.d.next = Marks::Idle;
                    if self.same_xid.q.val()
                        & self.was_here.q.val()
                        & self.here.val()
                        & !self.marked.val()
                    {
                        if self.s_unread.memory.val() {
                            self.marks_memory.next = self.mark_mask.val();
                        } else {
                            self.marks_key.next = self.mark_mask.val();
                        }
                    }
                }
            }
            Marks::Pair => {
                if self.marks_timer.q.val() == 3 {
                    self.at.d.next = self.at.q.val() + 1;
                    if self.same_pair.q.val() & self.here.val() {
                        self.marks_pair.next = self.mark_mask.val();
                    }
                    if self.at.q.val().all() {
                        self.s_end_ready.next = true;
                        self.marks.d.next = Marks::Idle;
                    }
                }
            }
            Marks::Cancel => {
                if self.marks_timer.q.val() == 3 {
                    self.cancels.next = self.mark_mask.val();
                    self.c_valid.d.next = self.here.val();
                    self.c_slot.d.next = self.at.q.val();
                    self.c_xid.d.next = self.name.val().xid;
                    self.c_reason.d.next = self.protection.val();
                    if (self.no_memory.q.val() & self.mark_mask.val()).any() {
                        self.c_reason.d.next = self.memory.val();
                    }
                    if (self.flushed.q.val() & self.mark_mask.val()).any() {
                        self.c_reason.d.next = self.cancelled.val();
                    }
                    self.marks.d.next = Marks::Idle;
                }
            }
        }
        self.m_cancel.valid.next = self.c_valid.q.val();
        self.m_cancel.slot.next = bit_cast::<16, LS>(self.c_slot.q.val());
        self.m_cancel.xid.next = self.c_xid.q.val();
        self.m_cancel.reason.next = self.c_reason.q.val();

        // A slot that is free has no marks.
        self.start_mask.next = bits::<S>(1) << self.s_start.slot.val();
        self.starts.next = 0.into();
        if self.s_start.valid.val() {
            self.starts.next = self.start_mask.val();
        }
        self.finish_mask.next = bits::<S>(1) << self.s_finish_slot.val();
        self.finishes.next = 0.into();
        if self.s_finish_valid.val() {
            self.finishes.next = self.finish_mask.val();
        }
        self.active.d.next = (self.active.q.val() | self.starts.val()) & !self.finishes.val();
        self.no_key.d.next = (self.no_key.q.val() | self.marks_key.val()) & !self.finishes.val();
        self.no_memory.d.next =
            (self.no_memory.q.val() | self.marks_memory.val()) & !self.finishes.val();
        self.flushed.d.next = (self.flushed.q.val() | self.marks_pair.val()) & !self.finishes.val();
        self.to_cancel.d.next = (self.to_cancel.q.val()
            | self.marks_key.val()
            | self.marks_memory.val()
            | self.marks_pair.val())
            & !self.cancels.val()
            & !self.finishes.val();
        if self.rst.val() {
            self.marks.d.next = Marks::Idle;
        }
    }
}
