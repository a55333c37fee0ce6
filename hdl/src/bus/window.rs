//! Messages of the receiver window.

use crate::prelude::*;

hdl_record! {
    /// A message of the receiver window.
    pub struct WindowAnswer {
        /// Type: 1 COMPLETE, 2 RETX_ONE, 3 RETX_RANGE, 5 CONNECT_RESP, 6 STATUS, 7 ABORT or UNKNOWN.
        #[verilog("type")]
        kind: Bits<3>,
        /// Node to send it to.
        dst: Bits<20>,
        /// Transfer slot there.
        slot: Bits<16>,
        /// Transfer.
        xid: Bits<32>,
        /// COMPLETE, CONNECT_RESP: status; ABORT, UNKNOWN: reason.
        status: Bits<4>,
        /// CONNECT_RESP: window.
        wptr: Bits<16>,
        /// CONNECT_RESP: incarnation of the window.
        #[verilog("gen")]
        incarnation: Bits<16>,
        /// RETX_ONE, RETX_RANGE: packet.
        pidx: Bits<22>,
        /// STATUS, CONNECT_RESP: packets below this number may be sent.
        credit: Bits<22>,
        /// STATUS: number of the poll, 0 if there was none.
        seq: Bits<16>,
        /// STATUS: first hole; the bitmap follows on m_bitmap.
        wbase: Bits<22>,
        /// STATUS: the last packet has arrived.
        tail: Bit,
        /// CONNECT_RESP BUSY: ticks to wait.
        hint: Bits<16>,
    }
}

hdl_bus! {
    /// A message of the receiver window for a sender.
    pub struct WindowMessage {
        /// A message is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// A message of the receiver window.
        of: WindowAnswer,
    }
}

hdl_record! {
    /// A transfer that has ended.
    pub struct Transfer {
        /// Its window.
        wptr: Bits<16>,
        /// Its sender.
        src: Bits<20>,
        /// Its slot at the sender.
        slot: Bits<16>,
        /// The transfer.
        xid: Bits<32>,
        /// Its bytes.
        length: Bits<32>,
        /// 0 OK, 1 ABORTED, 2 NOT_READY.
        status: Bits<4>,
        /// Unless OK, why: as the ABORT said; 2 given up; 1 revoked; 0 also replaced by a newer one.
        reason: Bits<4>,
    }
}

hdl_bus! {
    /// A transfer has ended.
    pub struct TransferEnd {
        /// A transfer has ended.
        valid: Bit,
        /// That is taken.
        #[back] ready: Bit,
        /// A transfer that has ended.
        of: Transfer,
    }
}
