//! What the engine keeps of a transfer.

use crate::prelude::*;

hdl_record! {
    /// The state of a transfer.
    pub struct Transfer {
        /// Number of the transfer.
        xid: Bits<32>,
        /// Its window is known.
        open: Bit,
        /// Anything was heard of it.
        heard: Bit,
        /// A CONNECT has left since the last BUSY.
        connecting: Bit,
        /// Something was asked for, or found lost.
        lossy: Bit,
        /// A second copy of a repair is to leave.
        echo_valid: Bit,
        /// Its window.
        wptr: Bits<16>,
        /// Incarnation of that; while there is none BUSY answers so far.
        #[verilog("gen")]
        incarnation: Bits<16>,
        /// Packets of that.
        w: Bits<16>,
        /// Numbers below this may be sent.
        credit: Bits<22>,
        /// Numbers below this have arrived.
        base: Bits<22>,
        /// Send pointer.
        #[verilog("next")]
        pointer: Bits<22>,
        /// First number that was never sent.
        upto: Bits<22>,
        /// Numbers below this are taken to have arrived.
        trusted: Bits<22>,
        /// The packet of that second copy.
        echo: Bits<22>,
        /// Place of the packet to be sent again next.
        rhead: Bits<5>,
        /// Packets to be sent again.
        rcount: Bits<6>,
        /// Second copies that may be spent.
        owed: Bits<8>,
        /// Polls of an idle line since the last DATA packet.
        early_polls: Bits<5>,
        /// Time of the next one.
        early_at: Bits<16>,
        /// Polls or CONNECTs since the last progress.
        polls: Bits<8>,
        /// Poll interval.
        interval: Bits<16>,
        /// Time of the next poll.
        poll_at: Bits<16>,
        /// Number of the last poll.
        seq: Bits<16>,
        /// Ticks that an answer takes beyond cfg_retry, since queues are long on the way.
        late: Bits<11>,
    }
}

hdl_record! {
    /// What a transfer copies, as it was begun.
    pub struct Copied {
        /// Node of the receiver.
        dst: Bits<20>,
        /// Address of the first byte.
        addr: Bits<64>,
        /// Key of its region.
        rkey: Bits<32>,
        /// Bytes.
        length: Bits<32>,
        /// log2 of the packet size.
        mtu: Bits<4>,
        /// Packets.
        n: Bits<22>,
        /// Bytes of the last one.
        last_len: Bits<13>,
    }
}
