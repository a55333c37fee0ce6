//! What the blocks that receive keep of receive requests and queue pairs.

use crate::prelude::*;

hdl_record! {
    /// A receive request that was read.
    pub struct PostedRequest {
        /// The user's name for it.
        wr_id: Bits<64>,
        /// Where a message goes.
        address: Bits<64>,
        /// Key of the region.
        lkey: Bits<32>,
        /// Bytes there; 8,191 for more.
        length: Bits<13>,
    }
}

hdl_record! {
    /// Receive requests that were read, of a queue pair.
    pub struct ArrivedCount {
        /// Requests ever read, modulo 32.
        count: Bits<5>,
        /// They do not count, as a read failed.
        dead: Bit,
    }
}

hdl_record! {
    /// A queue pair that receives.
    pub struct ReceiveShape {
        /// Protection domain.
        pd: Bits<16>,
        /// Its state lets it receive.
        receives: Bit,
    }
}

hdl_record! {
    /// The epochs that a queue pair accepts.
    pub struct Epochs {
        /// Oldest.
        oldest: Bits<16>,
        /// Newest.
        newest: Bits<16>,
    }
}

hdl_record! {
    /// A receive ring.
    pub struct RingShape {
        /// log2 of the ring's entries.
        log: Bits<4>,
        /// The ring is there; of who reads it: it may be read.
        there: Bit,
    }
}
