//! Work requests of bulk transfers, and what their transfers send.

use crate::prelude::*;

hdl_record! {
    /// A bulk work request, with what its queue pair adds.
    pub struct BulkWork {
        /// What it asks for.
        opcode: Bits<8>,
        /// Fence and notify.
        flags: Bits<8>,
        /// Bytes of the head.
        head_len: Bits<8>,
        /// Bytes of the transfer.
        length: Bits<32>,
        /// The user's name for it.
        wr_id: Bits<64>,
        /// Address of byte 0 here.
        address: Bits<64>,
        /// Key of the region it lies in.
        lkey: Bits<32>,
        /// Version and flags of the XUDETH.
        vf: Bits<8>,
        /// Node of the destination.
        node: Bits<20>,
        /// Queue pair of the destination: 24 bits if it is one.
        peer: Bits<32>,
        /// Number in the window.
        msn: Bits<32>,
        /// Window.
        win_id: Bits<16>,
        /// Epoch of the window.
        epoch: Bits<16>,
        /// Head, bytes 0 to 7; byte 0 in bits 7:0.
        head_low: Bits<64>,
        /// Head, bytes 8 to 15.
        head_high: Bits<64>,
        /// Packet sequence number.
        psn: Bits<24>,
        /// Its number in the ring.
        request: Bits<16>,
        /// Queue pair here.
        qpn: Bits<24>,
        /// Its protection domain.
        pd: Bits<16>,
        /// Its Q_Key.
        q_key: Bits<32>,
    }
}

hdl_bus! {
    /// A bulk work request, whose completion slot is reserved.
    pub struct BulkWorks {
        /// A work request is offered.
        valid: Bit,
        /// It has begun, or ended, or is dropped.
        #[back] ready: Bit,
        /// The work request.
        of: BulkWork,
    }
}

hdl_record! {
    /// Where the bytes of a transfer are, and between which queue pairs it is.
    pub struct BulkSource {
        /// Number of the transfer.
        xid: Bits<32>,
        /// Address of byte 0 here.
        address: Bits<64>,
        /// Key of the region it lies in.
        key: Bits<32>,
        /// Protection domain of the queue pair here.
        pd: Bits<16>,
        /// Queue pair there.
        peer: Bits<24>,
        /// Queue pair here.
        qpn: Bits<24>,
        /// Q_Key of both.
        q_key: Bits<32>,
        /// The host there is to be told of the end.
        notify: Bit,
        /// What it is told.
        immediate: Bits<32>,
        /// It answers a READ request.
        response: Bit,
        /// Of that request.
        token: Bits<64>,
    }
}

hdl_bus! {
    /// A transfer slot is looked at.
    pub struct BulkSources {
        /// Which.
        slot: Bits<16>,
        /// Two clocks later: its transfer is under way, and nothing has ended it here.
        #[back] live: Bit,
        /// Two clocks later: where its bytes are.
        #[back] of: BulkSource,
    }
}

hdl_bus! {
    /// A packet of a transfer cannot be read.
    pub struct BulkUnread {
        /// A transfer is named.
        valid: Bit,
        /// It will end, if it is still under way.
        #[back] ready: Bit,
        /// Its slot.
        slot: Bits<16>,
        /// Its number in that slot.
        xid: Bits<32>,
        /// Host memory failed; otherwise its key does not hold the packet any more.
        memory: Bit,
    }
}
