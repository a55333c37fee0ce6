//! What the control engine keeps, and what it prepares.

use crate::prelude::*;

hdl_record! {
    /// The message to be sent.
    pub struct Message {
        /// TYPE of the message to be sent.
        #[verilog("type")]
        kind: Bits<3>,
        /// Its status or reason.
        status: Bits<4>,
        /// Node it goes to.
        dst: Bits<20>,
        /// Slot there.
        slot: Bits<16>,
        /// Transfer it is about.
        xid: Bits<32>,
        /// Packet it asks for.
        pidx: Bits<22>,
        /// Number of the poll it answers.
        seq: Bits<16>,
    }
}

hdl_record! {
    /// Of the CONNECT at the head of the queue.
    pub struct Prepared {
        /// Number of its last packet.
        last: Bits<24>,
        /// Number of its packets.
        n: Bits<22>,
        /// Its packet size, less 1.
        mask: Bits<13>,
        /// Length of its last packet.
        last_len: Bits<13>,
        /// End of its region, low half and carry.
        end: Bits<33>,
    }
}

hdl_record! {
    /// A window, in the table.
    pub struct Window {
        /// Sender.
        src: Bits<20>,
        /// Slot there.
        slot: Bits<8>,
        /// Transfer.
        xid: Bits<32>,
        /// Bytes of the transfer.
        length: Bits<32>,
        /// Its packets.
        n: Bits<22>,
        /// It stays when the transfer is complete.
        #[verilog("holds")]
        hold: Bit,
        /// Entry of its peer, of 1,024 at most.
        entry: Bits<10>,
    }
}

hdl_record! {
    /// Holes of a window that were asked for.
    pub struct Mark {
        /// Those below this packet.
        below: Bits<22>,
        /// At this tick or before.
        tick: Bits<16>,
    }
}

hdl_record! {
    /// A transfer of a peer.
    pub struct Identity {
        /// Incarnation of the peer.
        incarnation: Bits<16>,
        /// Its transfer.
        xid: Bits<32>,
    }
}
