//! What is kept of a READ of this host, and what is done with it.

use crate::prelude::*;

hdl_record! {
    /// A READ: its completion but for the status, and its request.
    pub struct Reading {
        /// The user's name for the work request.
        wr_id: Bits<64>,
        /// Number of the work request in its ring.
        request: Bits<16>,
        /// Packet sequence number.
        psn: Bits<24>,
        /// Number in the window.
        msn: Bits<32>,
        /// Node of the target.
        node: Bits<20>,
        /// Queue pair of the target.
        peer: Bits<24>,
        /// Queue pair here.
        qpn: Bits<24>,
        /// Q_Key of both.
        q_key: Bits<32>,
        /// Resets of this card before it.
        incarnation: Bits<16>,
        /// READs since the last one.
        asked: Bits<32>,
        /// log2 of the packet size.
        mtu: Bits<4>,
        /// Bytes.
        length: Bits<32>,
        /// Address of byte 0 there.
        there: Bits<64>,
        /// Key of its region.
        rkey: Bits<32>,
        /// Address of byte 0 here.
        address: Bits<64>,
        /// Key of its region.
        lkey: Bits<32>,
    }
}

hdl_record! {
    /// When a READ is asked for again.
    pub struct Asking {
        /// At this tick.
        next_at: Bits<16>,
        /// How much later the next time.
        interval: Bits<16>,
        /// Requests since the target was last heard.
        tries: Bits<8>,
        /// Answers busy.
        busy: Bits<17>,
        /// The target was heard.
        heard: Bit,
    }
}

hdl_record! {
    /// What a window is for.
    pub struct OfWindow {
        /// A READ.
        read: Bit,
        /// Its place.
        place: Bits<8>,
    }
}

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Step {
    Idle,
    Look,
    Judge,
    Begin,
    End,
    Frame,
    Word,
    Offer,
}

/// What for.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Act {
    Closed,
    Answer,
    Refused,
    Ends,
    Ask,
    Say,
}
