//! What has arrived.

use crate::prelude::*;

hdl_record! {
    /// A request, but its payload.
    pub struct Arrived {
        /// Node that sent it.
        node: Bits<20>,
        /// Queue pair that it is for.
        qpn: Bits<24>,
        /// Packet sequence number.
        psn: Bits<24>,
        /// Q_Key.
        q_key: Bits<32>,
        /// Queue pair that sent it.
        src: Bits<24>,
        /// Version and flags of the XUDETH.
        vf: Bits<8>,
        /// Window.
        win_id: Bits<16>,
        /// Epoch of the window.
        epoch: Bits<16>,
        /// Number in the window.
        msn: Bits<32>,
        /// Bytes of payload.
        len: Bits<13>,
        /// Its opcode has no meaning.
        unknown: Bit,
        /// It is no packet but the notification of a bulk transfer (BW-3): number in the window is its immediate data.
        notify: Bit,
        /// Of a notification: bytes of its transfer.
        bytes: Bits<32>,
        /// A switch has marked it (CL-4), and the card looks at marks.
        marked: Bit,
    }
}

hdl_bus! {
    /// A request that has arrived, but its payload.
    pub struct Request {
        /// A request is offered.
        valid: Bit,
        /// It is taken; pulse.
        #[back] ready: Bit,
        /// With ready: its payload is not wanted.
        #[back] drop: Bit,
        /// A request, but its payload.
        of: Arrived,
    }
}

hdl_record! {
    /// What a notification says.
    pub struct Notice {
        /// Queue pair here.
        qpn: Bits<24>,
        /// Node of the sender.
        node: Bits<20>,
        /// Queue pair of the sender.
        source: Bits<24>,
        /// Q_Key of both.
        q_key: Bits<32>,
        /// Immediate data.
        immediate: Bits<32>,
        /// Bytes of the transfer.
        length: Bits<32>,
    }
}

hdl_bus! {
    /// A notification of a bulk transfer, for a receive request.
    pub struct Notify {
        /// A notification is offered. It may be withdrawn while it has not begun.
        valid: Bit,
        /// It is looked at from now on; pulse.
        #[back] begins: Bit,
        /// It was taken, or found no receive request; pulse.
        #[back] ready: Bit,
        /// What became of it; pulse, after ready.
        #[back] told: Bit,
        /// With told: it has a receive request, and its completion is ordered in host memory.
        #[back] ok: Bit,
        /// What it says.
        of: Notice,
    }
}

hdl_record! {
    /// An acknowledgement.
    pub struct AckArrived {
        /// Node that sent it.
        node: Bits<20>,
        /// Queue pair of the request.
        qpn: Bits<24>,
        /// Packet sequence number of the request.
        psn: Bits<24>,
        /// Outcome.
        outcome: Bits<8>,
        /// It has the fields win_id to peer.
        echo: Bit,
        /// Window of the request.
        win_id: Bits<16>,
        /// Epoch of the request.
        epoch: Bits<16>,
        /// Number of the request in its window.
        msn: Bits<32>,
        /// Flags of the request.
        flags: Bits<4>,
        /// Queue pair that answers.
        peer: Bits<24>,
        /// The request came marked (CL-4), and the card looks at marks.
        marked: Bit,
    }
}

hdl_bus! {
    /// An acknowledgement that has arrived.
    pub struct AckTaken {
        /// An acknowledgement is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// An acknowledgement.
        of: AckArrived,
    }
}

hdl_bus! {
    /// An acknowledgement that has arrived, or the end of a request in two steps.
    pub struct AckOrClaim {
        /// An acknowledgement is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The acknowledgement.
        of: AckArrived,
        /// An answer (XUD-13) claims its request: it does not end yet, and only `end` ends it.
        claim: Bit,
        /// The request that is claimed ends; there is one at most.
        end: Bit,
    }
}
