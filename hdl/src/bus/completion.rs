//! Completions and interrupts.

use crate::prelude::*;

hdl_record! {
    /// How a request has ended.
    pub struct Ended {
        /// The user's name for the request.
        wr_id: Bits<64>,
        /// How the request ended.
        status: Bits<8>,
        /// Version and flags of the XUDETH.
        vf: Bits<8>,
        /// Bytes received; of a notification, of its transfer.
        len: Bits<32>,
        /// Node of the peer.
        node: Bits<20>,
        /// Queue pair of the peer.
        peer: Bits<24>,
        /// Window.
        win_id: Bits<16>,
        /// Epoch of the window.
        epoch: Bits<16>,
        /// Number in the window.
        msn: Bits<32>,
        /// Q_Key of the packet.
        q_key: Bits<32>,
        /// Packet sequence number.
        psn: Bits<24>,
        /// Number of the request in its ring.
        request: Bits<16>,
        /// The notification of a bulk transfer has taken it (BW-3), not a packet; of a reduction frame: the card has answered it.
        notified: Bit,
        /// It is a reduction frame (CL-5), whose words come by themselves; `request` are the work requests fetched so far.
        arrived: Bit,
        /// Its acknowledgement said that it came marked by a switch (CL-4).
        marked: Bit,
    }
}

hdl_record! {
    /// How a request of a queue pair has ended.
    pub struct EndedPair {
        /// How it ended.
        of: Ended,
        /// Queue pair.
        qpn: Bits<16>,
    }
}

hdl_bus! {
    /// A request of a queue pair has ended: its completion. Q bits for a queue pair.
    pub struct Completion<const Q: usize> {
        /// A completion is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// Queue pair.
        qpn: Bits<Q>,
        /// How its request has ended.
        of: Ended,
    }
}

hdl_bus! {
    /// An interrupt.
    pub struct Interrupt {
        /// An interrupt is asked for.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// Its vector.
        vector: Bits<3>,
    }
}
