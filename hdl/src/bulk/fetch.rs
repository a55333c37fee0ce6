//! Packets of transfers, with the bytes that they carry.

use super::{BulkPack, PacketUnderWay};
use crate::blocks::{FifoBram, FifoReg, Pow2};
use crate::bus::{
    BulkDeparturesOut, BulkPacketIn, BulkSource, BulkSourcesOut, BulkUnreadOut, DmaReadWordsIn,
    DmaRequestOut, LookupRightsOut, PayloadOut, VerdictIn,
};
use crate::prelude::*;
use tributary_protocol::rw::MessageType;

/// What becomes of the packet that is offered.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Take {
    Idle,
    Slot,
    Compare,
    Judge,
    Look,
    Answer,
    Room,
    Queue,
    Read,
    Unread,
    Done,
}

hdl_module! {
    /// Reads the bytes of DATA that bulk_send chose, and makes frames of all its packets, in their order. Of DATA the slot is
    /// read, its key looked up again, also if the packet was sent before (BW-5), with the right of others where it answers a
    /// READ of others, and a read asked for; up to 8 packets and 2^A words are between there and the line. Room for the words is
    /// kept before a read is asked for, and a packet is offered to the line when all its words are here: so neither the words of
    /// others behind it at the DMA reader nor the line ever wait for host memory. A packet whose key or read fails is not sent,
    /// and its transfer is named at m_unread.
    /// DATA and CONNECT of a transfer that is over are dropped: its slot may have another one.
    /// Clocks: DATA 16 until its read is asked for, with a look of 7, and up to 7 more while the look waits for another one;
    /// CONNECT 8, others 3; then bulk_pack.
    /// Stages of DATA: 1 and 2 the slot; 3 address, number compared; 4 verdict; look; 5 room; 6 queue; 7 read.
    /// While m is not taken, or room is short, or m_rd is not taken, packets wait; s_rd is always taken. While m_unread is not
    /// taken packets wait too. While hold is up no packet is taken; m_idle says that none is under way then.
    #[module("bulk_fetch_d{}", 1usize << A)]
    pub struct BulkFetch<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the DMA reader: nothing is under way.
        pub rst: Signal<In, Bit>,
        /// Own node.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Resets so far, as CONNECT says them.
        pub cfg_incarnation: Signal<In, Bits<16>>,
        /// Packets of bulk_send.
        pub s: BulkPacketIn,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// With hold: nothing is under way.
        pub m_idle: Signal<Out, Bit>,
        /// The next packet for the line waits for its read.
        pub m_reads: Signal<Out, Bit>,
        /// It leaves, or the line has no time for it.
        pub m_leaves: Signal<Out, Bit>,
        /// Transfer slots.
        pub m_source: BulkSourcesOut,
        /// A region is looked up.
        pub m_look: LookupRightsOut,
        /// What was found.
        pub s_look: VerdictIn,
        /// Reads of host memory.
        pub m_rd: DmaRequestOut,
        /// Their words, in the order of the requests.
        pub s_rd: DmaReadWordsIn,
        /// A packet cannot be read.
        pub m_unread: BulkUnreadOut,
        /// Frames to send.
        pub m: BulkDeparturesOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_pl: PayloadOut,
        /// A frame without DATA leaves; pulse, as all below.
        pub ev_control: Signal<Out, Bit>,
        /// The key of a packet has failed.
        pub ev_no_key: Signal<Out, Bit>,
        /// The read of a packet has failed.
        pub ev_no_memory: Signal<Out, Bit>,

        take: DFF<Take>,
        timer: DFF<Bits<2>>,
        is_data: Signal<Local, Bit>,
        is_connect: Signal<Local, Bit>,
        /// The slot as it was: it may have another transfer before the packet leaves.
        source: DFF<BulkSource>,
        live: DFF<Bit>,
        address: DFF<Bits<64>>,
        same: DFF<Bit>,
        reads: DFF<Bit>,
        words: Signal<Local, Bits<10>>,
        under_way: Signal<Local, PacketUnderWay>,
        /// Packets between there and the line.
        queue: FifoReg<{ PacketUnderWay::BITS }, 3>,
        /// Words of payload that were read; last of their packet 64.
        buffer: FifoBram<65, A>,
        /// Reads that have ended: they have failed.
        ended: FifoReg<1, 3>,
        /// Words that were asked for and have not left; those of the packet on offer fit beside them.
        #[reset] taken: DFF<Bits<16>>,
        more: Signal<Local, Bits<16>>,
        /// One has left, in the clock before.
        #[reset] fewer: DFF<Bit>,
        fits: DFF<Bit>,
        depth: Pow2<16, A>,
        pack: BulkPack,
        #[reset] u_valid: DFF<Bit>,
        u_slot: DFF<Bits<16>>,
        u_xid: DFF<Bits<32>>,
        u_memory: DFF<Bit>,

        data: Param<{ MessageType::Data as usize }, 3>,
        connect: Param<{ MessageType::Connect as usize }, 3>,
        poll: Param<{ MessageType::PollStatus as usize }, 3>,
        /// The right that others need to read, as card_regions has it.
        remote_read: Param<4, 4>,
    }
}

impl<const A: usize> Logic for BulkFetch<A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_data.next = self.s.r#type.val() == self.data.val();
        self.is_connect.next = self.s.r#type.val() == self.connect.val();

        // The slot, and what is read.
        self.m_source.slot.next = self.s.slot.val();
        if self.take.q.val() == Take::Slot {
            self.source.d.next = self.m_source.of.val();
            self.live.d.next = self.m_source.live.val();
        }
        self.address.d.next = self.source.q.val().address + bit_cast::<64, 32>(self.s.offset.val());
        self.same.d.next = self.live.q.val() & (self.source.q.val().xid == self.s.xid.val());
        self.reads.d.next = self.is_data.val() & self.s.length.val().any();
        self.words.next = ((self.s.length.val().get_bits::<13>(0) + 7) >> 3).get_bits::<10>(0);
        self.m_look.valid.next = self.take.q.val() == Take::Look;
        self.m_look.of.next.key = self.source.q.val().key;
        self.m_look.of.next.pd = self.source.q.val().pd;
        self.m_look.of.next.addr = self.address.q.val();
        self.m_look.of.next.len = self.s.length.val().get_bits::<13>(0);
        self.m_look.of.next.need = 0.into();
        if self.source.q.val().response {
            self.m_look.of.next.need = self.remote_read.val();
        }
        self.m_rd.valid.next = self.take.q.val() == Take::Read;
        self.m_rd.of.next.addr = self.address.q.val();
        self.m_rd.of.next.len = self.s.length.val().get_bits::<13>(0);
        self.m_rd.of.next.ctx = 0.into();

        // The packet on its way.
        self.under_way.next.kind = self.s.r#type.val();
        self.under_way.next.node = self.s.dst.val();
        self.under_way.next.slot = self.s.slot.val();
        self.under_way.next.xid = self.s.xid.val();
        self.under_way.next.dest = self.s.slot.val();
        self.under_way.next.number = 0.into();
        self.under_way.next.word = self.s.xid.val();
        self.under_way.next.tail = false;
        self.under_way.next.arg = self.s.reason.val();
        self.under_way.next.len = 0.into();
        if self.is_connect.val() {
            self.under_way.next.arg = self.s.mtu.val();
        }
        if self.is_data.val() | (self.s.r#type.val() == self.poll.val()) {
            self.under_way.next.dest = self.s.wptr.val();
            self.under_way.next.word = bit_cast::<32, 16>(self.s.r#gen.val());
            self.under_way.next.arg = 0.into();
            self.under_way.next.number = bit_cast::<22, 16>(self.s.seq.val());
        }
        if self.is_data.val() {
            self.under_way.next.number = self.s.pidx.val();
            self.under_way.next.tail = self.s.tail.val();
            self.under_way.next.len = self.s.length.val().get_bits::<13>(0);
        }
        self.queue.s.valid.next = self.take.q.val() == Take::Queue;
        self.queue.s.data.next = self.under_way.val().to_bits();

        // Words that were read.
        self.buffer.s.valid.next = self.s_rd.valid.val();
        self.buffer.s.data.next = bit_cast::<65, 64>(self.s_rd.of.val().data)
            | (bit_cast::<65, 1>(self.s_rd.of.val().last.into()) << 64);
        self.buffer.almost_at.next = self.depth.val();
        self.s_rd.ready.next = self.buffer.s.ready.val();
        self.ended.s.valid.next = self.s_rd.valid.val() & self.s_rd.of.val().last;
        self.ended.s.data.next = bit_cast::<1, 1>(self.s_rd.of.val().error.into());
        self.more.next = 0.into();
        if (self.take.q.val() == Take::Read) & self.m_rd.ready.val() {
            self.more.next = bit_cast::<16, 10>(self.words.val());
        }
        self.fewer.d.next = self.buffer.m.valid.val() & self.buffer.m.ready.val();
        self.taken.d.next =
            self.taken.q.val() + self.more.val() - bit_cast::<16, 1>(self.fewer.q.val().into());
        self.fits.d.next =
            (self.taken.q.val() + bit_cast::<16, 10>(self.words.val())) <= self.depth.val();

        // To the line.
        self.pack.cfg_node.next = self.cfg_node.val();
        self.pack.cfg_incarnation.next = self.cfg_incarnation.val();
        self.pack.s.valid.next = self.queue.m.valid.val();
        self.pack.s.of.next = self.queue.m.data.val().into();
        self.queue.m.ready.next = self.pack.s.ready.val();
        self.pack.s_said.valid.next =
            (self.take.q.val() == Take::Queue) & self.queue.s.ready.val() & self.is_connect.val();
        self.pack.s_said.of.next.length = self.s.length.val();
        self.pack.s_said.of.next.addr = self.s.addr.val();
        self.pack.s_said.of.next.rkey = self.s.rkey.val();
        self.pack.s_said.of.next.peer = self.source.q.val().peer;
        self.pack.s_said.of.next.qpn = self.source.q.val().qpn;
        self.pack.s_said.of.next.q_key = self.source.q.val().q_key;
        self.pack.s_said.of.next.notify = self.source.q.val().notify;
        self.pack.s_said.of.next.immediate = self.source.q.val().immediate;
        self.pack.s_said.of.next.response = self.source.q.val().response;
        self.pack.s_said.of.next.token = self.source.q.val().token;
        self.pack.s_end_valid.next = self.ended.m.valid.val();
        self.pack.s_end_failed.next = self.ended.m.data.val().get_bit(0);
        self.ended.m.ready.next = self.pack.s_end_ready.val();
        self.pack.s_pl.valid.next = self.buffer.m.valid.val();
        self.pack.s_pl.of.next.data = self.buffer.m.data.val().get_bits::<64>(0);
        self.pack.s_pl.of.next.last = self.buffer.m.data.val().get_bit(64);
        self.buffer.m.ready.next = self.pack.s_pl.ready.val();
        BulkDeparturesOut::link(&mut self.m, &mut self.pack.m);
        PayloadOut::link(&mut self.m_pl, &mut self.pack.m_pl);
        self.ev_control.next = self.pack.ev_control.val();

        // What cannot be read: of a read that has failed, or else of a key.
        self.m_unread.valid.next = self.u_valid.q.val();
        self.m_unread.slot.next = self.u_slot.q.val();
        self.m_unread.xid.next = self.u_xid.q.val();
        self.m_unread.memory.next = self.u_memory.q.val();
        self.ev_no_memory.next = self.pack.m_failed_valid.val() & !self.u_valid.q.val();
        self.ev_no_key.next = (self.take.q.val() == Take::Unread)
            & !self.pack.m_failed_valid.val()
            & !self.u_valid.q.val();
        self.pack.m_failed_ready.next = !self.u_valid.q.val();
        if self.u_valid.q.val() {
            self.u_valid.d.next = !self.m_unread.ready.val();
        } else {
            self.u_valid.d.next = self.ev_no_memory.val() | self.ev_no_key.val();
            self.u_memory.d.next = self.ev_no_memory.val();
            self.u_slot.d.next = self.s.slot.val();
            self.u_xid.d.next = self.s.xid.val();
            if self.ev_no_memory.val() {
                self.u_slot.d.next = self.pack.m_failed_slot.val();
                self.u_xid.d.next = self.pack.m_failed_xid.val();
            }
        }

        // The packet that is offered.
        self.s.ready.next = self.take.q.val() == Take::Done;
        self.timer.d.next = self.timer.q.val() + 1;
        match self.take.q.val() {
            Take::Idle => {
                self.timer.d.next = 0.into();
                if self.s.valid.val() & !self.hold.val() {
                    self.take.d.next = Take::Queue;
                    if self.is_data.val() | self.is_connect.val() {
                        self.take.d.next = Take::Slot;
                    }
                }
            }
            Take::Slot => {
                if self.timer.q.val() == 1 {
                    self.take.d.next = Take::Compare;
                }
            }
            Take::Compare => self.take.d.next = Take::Judge,
            Take::Judge => {
                self.take.d.next = Take::Room;
                if self.reads.q.val() {
                    self.take.d.next = Take::Look;
                }
                if !self.same.q.val() {
                    self.take.d.next = Take::Done;
                }
            }
            Take::Look => self.take.d.next = Take::Answer,
            Take::Answer => {
                if self.s_look.valid.val() {
                    self.take.d.next = Take::Room;
                    if !self.s_look.ok.val() {
                        self.take.d.next = Take::Unread;
                    }
                }
            }
            Take::Room => {
                if (self.reads.q.val() & self.fits.q.val())
                    | (!self.reads.q.val() & self.pack.m_said_free.val())
                {
                    self.take.d.next = Take::Queue;
                }
            }
            Take::Queue => {
                if self.queue.s.ready.val() {
                    self.take.d.next = Take::Done;
                    if self.reads.q.val() {
                        self.take.d.next = Take::Read;
                    }
                }
            }
            Take::Read => {
                if self.m_rd.ready.val() {
                    self.take.d.next = Take::Done;
                }
            }
            Take::Unread => {
                if self.ev_no_key.val() {
                    self.take.d.next = Take::Done;
                }
            }
            Take::Done => self.take.d.next = Take::Idle,
        }
        self.m_idle.next = (self.take.q.val() == Take::Idle)
            & !self.queue.m.valid.val()
            & !self.u_valid.q.val()
            & self.pack.m_idle.val();
        self.m_reads.next = self.pack.m_reads.val();
        self.m_leaves.next = self.pack.m_leaves.val();
        if self.rst.val() {
            self.take.d.next = Take::Idle;
        }
    }
}
