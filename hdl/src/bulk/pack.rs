//! Frames of the packets that a transfer sends.

use super::layout::{BodyHead, ConnectRest, PollRest, TransferRest};
use crate::blocks::FifoReg;
use crate::bus::{BulkDeparturesOut, FramesIn, PayloadOut};
use crate::prelude::*;
use crate::switch::ByteSwap;
use tributary_protocol::bulk::TRANSFER;
use tributary_protocol::rw::MessageType;
use tributary_protocol::rw::wire::layout::{CONNECT_REST, POLL_REST};

hdl_record! {
    /// A packet between bulk_send and the line.
    pub struct PacketUnderWay {
        /// Type: 0 DATA, 4 CONNECT, 6 POLL, 7 ABORT.
        #[verilog("type")]
        kind: Bits<3>,
        /// Node it goes to.
        node: Bits<20>,
        /// Transfer slot here.
        slot: Bits<16>,
        /// Transfer.
        xid: Bits<32>,
        /// Window, or else the slot.
        dest: Bits<16>,
        /// Number of the packet or of the poll.
        number: Bits<22>,
        /// Incarnation of the window, or else the transfer.
        word: Bits<32>,
        /// DATA: last packet of the transfer.
        tail: Bit,
        /// Reason, or log2 of the packet size.
        arg: Bits<4>,
        /// DATA: bytes of its payload.
        len: Bits<13>,
    }
}

hdl_bus! {
    /// Packets between bulk_send and the line.
    pub struct PacketsUnderWay {
        /// A packet is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The packet.
        of: PacketUnderWay,
    }
}

hdl_record! {
    /// What CONNECT says beside.
    pub struct ConnectSaid {
        /// Bytes of the transfer.
        length: Bits<32>,
        /// Address of byte 0 there.
        addr: Bits<64>,
        /// Key of its region.
        rkey: Bits<32>,
        /// Queue pair there.
        peer: Bits<24>,
        /// Queue pair here.
        qpn: Bits<24>,
        /// Q_Key of both.
        q_key: Bits<32>,
        /// The host there is to be told of the end.
        notify: Bit,
        /// What it is told; counts only then.
        immediate: Bits<32>,
        /// It answers a READ request.
        response: Bit,
        /// That one; counts only then.
        token: Bits<64>,
    }
}

hdl_bus! {
    /// What the next CONNECT says beside; pulse.
    pub struct ConnectsSaid {
        /// It is there.
        valid: Bit,
        /// What it says.
        of: ConnectSaid,
    }
}

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Pack {
    Idle,
    End,
    Failed,
    Offer,
}

hdl_record! {
    /// What follows a record that was taken.
    struct Following {
        /// Type of the packet.
        kind: Bits<3>,
        /// Transfer slot here.
        slot: Bits<16>,
        /// Transfer.
        xid: Bits<32>,
        /// DATA: bytes of its last word, less one.
        bytes: Bits<3>,
        /// Its words go nowhere.
        dropped: Bit,
    }
}

hdl_module! {
    /// Makes frames of packets, each of one: record at m, then what follows the first 8 bytes of its body at m_pl. A packet
    /// with payload waits until its read has ended; if that has failed it is named at m_failed, its words are dropped, and
    /// nothing is sent of it. What a CONNECT says comes at s_said before the CONNECT, and is kept until that has left.
    /// The next record is offered while the words of the one before leave, and of one more, once its own read has ended: then
    /// the line finds it in time for its turn (BW-4).
    /// Clocks: 3 for a record; 1 behind it to its first word, and one for each.
    /// Stages: 1 packet in registers; 2 offered. Words: word by word.
    /// While m, m_pl or m_failed is not taken it stays, and packets wait.
    #[module("bulk_pack")]
    pub struct BulkPack {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Own node.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Resets so far, as CONNECT says them.
        pub cfg_incarnation: Signal<In, Bits<16>>,
        /// Packets.
        pub s: PacketsUnderWayIn,
        /// What the next CONNECT says.
        pub s_said: ConnectsSaidIn,
        /// What was said may be said anew.
        pub m_said_free: Signal<Out, Bit>,
        /// The oldest read that was not taken here has ended.
        pub s_end_valid: Signal<In, Bit>,
        /// Taken.
        pub s_end_ready: Signal<Out, Bit>,
        /// It has failed.
        pub s_end_failed: Signal<In, Bit>,
        /// Words that were read.
        pub s_pl: FramesIn<64>,
        /// The read of a packet has failed.
        pub m_failed_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_failed_ready: Signal<In, Bit>,
        /// Slot of its transfer.
        pub m_failed_slot: Signal<Out, Bits<16>>,
        /// Its transfer.
        pub m_failed_xid: Signal<Out, Bits<32>>,
        /// Frames.
        pub m: BulkDeparturesOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_pl: PayloadOut,
        /// No packet is here.
        pub m_idle: Signal<Out, Bit>,
        /// The packet that is here waits for its read.
        pub m_reads: Signal<Out, Bit>,
        /// It leaves, or the line has no time for it.
        pub m_leaves: Signal<Out, Bit>,
        /// A frame without DATA leaves; pulse.
        pub ev_control: Signal<Out, Bit>,

        state: DFF<Pack>,
        r: DFF<PacketUnderWay>,
        said: DFF<ConnectSaid>,
        #[reset] kept: DFF<Bit>,
        is_data: Signal<Local, Bit>,
        /// What follows those that were taken.
        following: FifoReg<{ Following::BITS }, 1>,
        next: Signal<Local, Following>,
        here: Signal<Local, Following>,
        some: Signal<Local, Bit>,
        /// Of the packet whose words leave.
        of_data: Signal<Local, Bit>,
        of_connect: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        head: Signal<Local, BodyHead>,
        connect_rest: Signal<Local, ConnectRest>,
        transfer: Signal<Local, TransferRest>,
        poll_rest: Signal<Local, PollRest>,
        connect_bits: Signal<Local, Bits<192>>,
        transfer_bits: Signal<Local, Bits<192>>,
        /// Word of a CONNECT.
        #[reset] at: DFF<Bits<3>>,
        swap: ByteSwap,
        moves: Signal<Local, Bit>,

        data: Param<{ MessageType::Data as usize }, 3>,
        connect: Param<{ MessageType::Connect as usize }, 3>,
        poll: Param<{ MessageType::PollStatus as usize }, 3>,
        connect_bytes: Param<{ CONNECT_REST.length + TRANSFER.length }, 13>,
        poll_bytes: Param<{ POLL_REST.length }, 13>,
    }
}

impl Logic for BulkPack {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_data.next = self.r.q.val().kind == self.data.val();

        // The record.
        self.head.next.version = 0.into();
        self.head.next.to_sender = 0.into();
        self.head.next.tail = bit_cast::<1, 1>(self.r.q.val().tail.into());
        self.head.next.arg = bit_cast::<8, 4>(self.r.q.val().arg);
        self.head.next.node = self.cfg_node.val().get_bits::<16>(0);
        self.head.next.word = self.r.q.val().word;
        self.m.valid.next = (self.state.q.val() == Pack::Offer) & self.following.s.ready.val();
        self.m.of.next.node = self.r.q.val().node;
        self.m.of.next.opcode = bit_cast::<4, 3>(self.r.q.val().kind);
        self.m.of.next.dest = bit_cast::<24, 16>(self.r.q.val().dest);
        self.m.of.next.psn = bit_cast::<24, 22>(self.r.q.val().number);
        self.m.of.next.head = self.head.val().to_bits();
        self.m.of.next.len = self.r.q.val().len;
        if self.r.q.val().kind == self.connect.val() {
            self.m.of.next.len = self.connect_bytes.val();
        }
        if self.r.q.val().kind == self.poll.val() {
            self.m.of.next.len = self.poll_bytes.val();
        }
        self.ev_control.next = self.m.valid.val() & self.m.ready.val() & !self.is_data.val();

        self.m_failed_valid.next =
            (self.state.q.val() == Pack::Failed) & self.following.s.ready.val();

        // What follows.
        self.next.next = Following {
            kind: self.r.q.val().kind,
            slot: self.r.q.val().slot,
            xid: self.r.q.val().xid,
            bytes: self.r.q.val().len.get_bits::<3>(0) - 1,
            dropped: self.state.q.val() == Pack::Failed,
        };
        self.following.s.valid.next =
            (self.m.valid.val() & self.m.ready.val() & self.m.of.val().len.any())
                | (self.m_failed_valid.val() & self.m_failed_ready.val());
        self.following.s.data.next = self.next.val().to_bits();
        self.here.next = self.following.m.data.val().into();
        self.some.next = self.following.m.valid.val();
        self.of_data.next = self.here.val().kind == self.data.val();
        self.of_connect.next = self.here.val().kind == self.connect.val();
        self.connect_rest.next.incarnation = self.cfg_incarnation.val();
        self.connect_rest.next.length = self.said.q.val().length;
        self.connect_rest.next.address = self.said.q.val().addr;
        self.connect_rest.next.rkey = self.said.q.val().rkey;
        self.transfer.next.version = 0.into();
        self.transfer.next.notify = bit_cast::<1, 1>(self.said.q.val().notify.into());
        self.transfer.next.response = bit_cast::<1, 1>(self.said.q.val().response.into());
        self.transfer.next.qpn = self.said.q.val().peer;
        self.transfer.next.source = self.said.q.val().qpn;
        self.transfer.next.q_key = self.said.q.val().q_key;
        self.transfer.next.immediate = 0.into();
        if self.said.q.val().notify {
            self.transfer.next.immediate = self.said.q.val().immediate;
        }
        self.transfer.next.token = 0.into();
        if self.said.q.val().response {
            self.transfer.next.token = self.said.q.val().token;
        }
        self.poll_rest.next.slot = self.here.val().slot;
        self.poll_rest.next.xid = self.here.val().xid;
        self.connect_bits.next = self.connect_rest.val().to_bits();
        self.transfer_bits.next = self.transfer.val().to_bits();
        self.swap.s.next = self.poll_rest.val().to_bits();
        if self.of_connect.val() {
            if self.at.q.val() == 0 {
                self.swap.s.next = self.connect_bits.val().get_bits::<64>(128);
            }
            if self.at.q.val() == 1 {
                self.swap.s.next = self.connect_bits.val().get_bits::<64>(64);
            }
            if self.at.q.val() == 2 {
                self.swap.s.next = self.connect_bits.val().get_bits::<64>(0);
            }
            if self.at.q.val() == 3 {
                self.swap.s.next = self.transfer_bits.val().get_bits::<64>(128);
            }
            if self.at.q.val() == 4 {
                self.swap.s.next = self.transfer_bits.val().get_bits::<64>(64);
            }
            if self.at.q.val() == 5 {
                self.swap.s.next = self.transfer_bits.val().get_bits::<64>(0);
            }
        }
        self.m_pl.valid.next = self.some.val()
            & !self.here.val().dropped
            & (!self.of_data.val() | self.s_pl.valid.val());
        self.m_pl.of.next.data = self.swap.m.val();
        self.m_pl.of.next.last = !self.of_connect.val() | (self.at.q.val() == 5);
        self.m_pl.of.next.bytes = 7.into();
        self.m_pl.of.next.error = false;
        if self.of_data.val() {
            self.m_pl.of.next.data = self.s_pl.of.val().data;
            self.m_pl.of.next.last = self.s_pl.of.val().last;
            if self.s_pl.of.val().last {
                self.m_pl.of.next.bytes = self.here.val().bytes;
            }
        }
        self.moves.next = self.m_pl.valid.val() & self.m_pl.ready.val();
        self.s_pl.ready.next = self.some.val()
            & self.of_data.val()
            & (self.here.val().dropped | self.m_pl.ready.val());
        self.ends.next = (self.moves.val() & self.m_pl.of.val().last)
            | (self.some.val()
                & self.here.val().dropped
                & self.s_pl.valid.val()
                & self.s_pl.of.val().last);
        self.following.m.ready.next = self.ends.val();
        if self.moves.val() {
            self.at.d.next = self.at.q.val() + 1;
        }
        if self.ends.val() {
            self.at.d.next = 0.into();
        }

        // What a CONNECT says.
        self.m_said_free.next = !self.kept.q.val();
        if self.s_said.valid.val() {
            self.said.d.next = self.s_said.of.val();
            self.kept.d.next = true;
        } else if self.moves.val() & self.m_pl.of.val().last & self.of_connect.val() {
            self.kept.d.next = false;
        }

        self.s.ready.next = self.state.q.val() == Pack::Idle;
        self.s_end_ready.next = self.state.q.val() == Pack::End;
        self.m_failed_slot.next = self.r.q.val().slot;
        self.m_failed_xid.next = self.r.q.val().xid;
        self.m_idle.next = (self.state.q.val() == Pack::Idle) & !self.some.val();
        self.m_leaves.next = (self.state.q.val() == Pack::Offer) | self.some.val();
        self.m_reads.next =
            (self.state.q.val() == Pack::End) & !self.s_end_valid.val() & !self.some.val();
        match self.state.q.val() {
            Pack::Idle => {
                self.r.d.next = self.s.of.val();
                if self.s.valid.val() {
                    self.state.d.next = Pack::Offer;
                    if self.s.of.val().len.any() {
                        self.state.d.next = Pack::End;
                    }
                }
            }
            Pack::End => {
                if self.s_end_valid.val() {
                    self.state.d.next = Pack::Offer;
                    if self.s_end_failed.val() {
                        self.state.d.next = Pack::Failed;
                    }
                }
            }
            Pack::Failed => {
                if self.m_failed_valid.val() & self.m_failed_ready.val() {
                    self.state.d.next = Pack::Idle;
                }
            }
            Pack::Offer => {
                if self.m.valid.val() & self.m.ready.val() {
                    self.state.d.next = Pack::Idle;
                }
            }
        }
        if self.rst.val() {
            self.state.d.next = Pack::Idle;
        }
    }
}
