//! What is to be sent.

use crate::prelude::*;

hdl_record! {
    /// What is to be sent, but its payload.
    pub struct ToSend {
        /// Destination node.
        node: Bits<20>,
        /// Destination queue pair.
        peer: Bits<24>,
        /// Packet sequence number.
        psn: Bits<24>,
        /// Q_Key.
        q_key: Bits<32>,
        /// Source queue pair.
        src: Bits<24>,
        /// Version and flags of the XUDETH.
        vf: Bits<8>,
        /// Window.
        win_id: Bits<16>,
        /// Epoch of the window.
        epoch: Bits<16>,
        /// Number in the window.
        msn: Bits<32>,
        /// Bytes in front of the payload; the first is in bits 7:0.
        head: Bits<128>,
        /// Bytes of head that count.
        head_len: Bits<5>,
        /// Bytes of payload.
        len: Bits<13>,
    }
}

hdl_bus! {
    /// A request or an answer to send, but its payload.
    pub struct SendHeader {
        /// A request or an answer is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// What is to be sent, but its payload.
        of: ToSend,
    }
}

hdl_record! {
    /// A word of payload.
    pub struct PayloadWord {
        /// The word; its first byte is in bits 7:0.
        data: Bits<64>,
        /// Bytes in it, less one.
        bytes: Bits<3>,
        /// It is the last word of its request.
        last: Bit,
        /// With the last word: the read of host memory failed.
        error: Bit,
    }
}

hdl_bus! {
    /// Payload to send.
    pub struct Payload {
        /// A word is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// A word of payload.
        of: PayloadWord,
    }
}

hdl_record! {
    /// An acknowledgement.
    pub struct Ack {
        /// Destination node.
        node: Bits<20>,
        /// Destination queue pair.
        peer: Bits<24>,
        /// Packet sequence number of the request.
        psn: Bits<24>,
        /// What the acknowledgement says.
        syndrome: Bits<8>,
        /// It has the fields win_id to src.
        echo: Bit,
        /// Window of the request.
        win_id: Bits<16>,
        /// Epoch of the request.
        epoch: Bits<16>,
        /// Number of the request in its window.
        msn: Bits<32>,
        /// Version and flags of the request.
        vf: Bits<8>,
        /// Queue pair that answers.
        src: Bits<24>,
        /// The request came marked (CL-4): BECN.
        marked: Bit,
    }
}

hdl_bus! {
    /// An acknowledgement to send.
    pub struct AckToSend {
        /// An acknowledgement is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// An acknowledgement.
        of: Ack,
    }
}
