//! Frames of bulk transfers between the line's blocks and those that act on them.

use super::Notice;
use crate::prelude::*;

hdl_record! {
    /// A good frame of a bulk transfer, but what follows the first 8 bytes of its body.
    pub struct BulkArrival {
        /// Node that it comes from.
        node: Bits<20>,
        /// Lower half of its opcode: 0 to 7 a message of the receiver window, 8 and 9 of READ, 10 of congestion.
        opcode: Bits<4>,
        /// A switch has marked it.
        marked: Bit,
        /// Destination queue pair.
        dest: Bits<24>,
        /// Packet sequence number.
        psn: Bits<24>,
        /// First 8 bytes of the body, the first one on top.
        head: Bits<64>,
        /// The body has not even those, or more than any frame has.
        short: Bit,
        /// Bytes that follow.
        len: Bits<13>,
    }
}

hdl_bus! {
    /// A frame of a bulk transfer has come.
    pub struct BulkArrivals {
        /// A frame is offered.
        valid: Bit,
        /// It is taken; what follows its first 8 bytes comes beside, in the order of frames.
        #[back] ready: Bit,
        /// With ready: that is not wanted, and does not come.
        #[back] unwanted: Bit,
        /// The frame.
        of: BulkArrival,
    }
}

hdl_record! {
    /// A frame of a bulk transfer to send, but what follows the first 8 bytes of its body.
    pub struct BulkDeparture {
        /// Node that it goes to.
        node: Bits<20>,
        /// Lower half of its opcode.
        opcode: Bits<4>,
        /// Destination queue pair.
        dest: Bits<24>,
        /// Packet sequence number.
        psn: Bits<24>,
        /// First 8 bytes of the body, the first one on top.
        head: Bits<64>,
        /// Bytes that follow.
        len: Bits<13>,
    }
}

hdl_bus! {
    /// A frame of a bulk transfer is to be sent.
    pub struct BulkDepartures {
        /// A frame is offered.
        valid: Bit,
        /// It is taken; what follows its first 8 bytes is taken beside, in the order of frames.
        #[back] ready: Bit,
        /// The frame.
        of: BulkDeparture,
    }
}

hdl_record! {
    /// A message for rw_window, but CONNECT.
    pub struct WindowRecord {
        /// Type: 0 DATA, 6 POLL, 7 ABORT.
        #[verilog("type")]
        kind: Bits<3>,
        /// Sending node.
        src: Bits<20>,
        /// DATA, POLL: window.
        wptr: Bits<16>,
        /// DATA, POLL: incarnation of the window.
        #[verilog("gen")]
        incarnation: Bits<16>,
        /// DATA: packet number; POLL: number of the poll.
        number: Bits<22>,
        /// DATA: last packet of the transfer.
        tail: Bit,
        /// DATA: bytes of payload.
        len: Bits<13>,
        /// POLL, ABORT: transfer slot at the sender.
        slot: Bits<16>,
        /// POLL, ABORT: transfer.
        xid: Bits<32>,
        /// ABORT: reason.
        reason: Bits<4>,
    }
}

hdl_bus! {
    /// A message for rw_window.
    pub struct WindowRecords {
        /// A message is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The message.
        of: WindowRecord,
    }
}

hdl_record! {
    /// A CONNECT of a card.
    pub struct ConnectAsked {
        /// Sending node.
        src: Bits<20>,
        /// Transfer slot there.
        slot: Bits<16>,
        /// Transfer.
        xid: Bits<32>,
        /// Incarnation of the sender.
        incarnation: Bits<16>,
        /// Bytes of the transfer.
        length: Bits<32>,
        /// Address of byte 0.
        addr: Bits<64>,
        /// Key of its region.
        rkey: Bits<32>,
        /// log2 of the packet size.
        mtu: Bits<4>,
        /// Queue pair here.
        qpn: Bits<24>,
        /// Queue pair there.
        source: Bits<24>,
        /// Q_Key of the one here.
        q_key: Bits<32>,
        /// The host is to be told of the end.
        notify: Bit,
        /// It answers a READ request.
        response: Bit,
        /// With notify: what the host is told.
        immediate: Bits<32>,
        /// Of a response: the READ request.
        token: Bits<64>,
    }
}

hdl_bus! {
    /// A CONNECT of a card has come; pulse.
    pub struct ConnectsAsked {
        /// It has come.
        valid: Bit,
        /// The CONNECT.
        of: ConnectAsked,
    }
}

hdl_record! {
    /// A window that was opened.
    pub struct WindowOpened {
        /// Which.
        wptr: Bits<16>,
        /// Its incarnation.
        #[verilog("gen")]
        incarnation: Bits<16>,
        /// Node that sends its transfer.
        src: Bits<20>,
        /// Slot of that there.
        slot: Bits<16>,
        /// The transfer.
        xid: Bits<32>,
        /// Queue pair that it is for.
        qpn: Bits<24>,
        /// Key of its region.
        rkey: Bits<32>,
        /// What its host is told, if it is to be told.
        notice: Notice,
    }
}

hdl_bus! {
    /// A window was opened; pulse.
    pub struct WindowsOpened {
        /// It was.
        valid: Bit,
        /// The window.
        of: WindowOpened,
    }
}

hdl_bus! {
    /// A CONNECT for rw_window, with what its owner says of it.
    pub struct ConnectsJudged {
        /// It is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The CONNECT.
        of: ConnectAsked,
        /// What its transfer is answered with if it is not known: 0 a window, 7 nothing, else this status.
        verdict: Bits<3>,
    }
}

hdl_record! {
    /// How rw_window has decided a CONNECT.
    pub struct ConnectHow {
        /// 0 known, 1 it has a new window, 2 older than its peer's last, 3 no window is free, 4 beyond the limits, 5 the verdict.
        how: Bits<3>,
        /// With 1: the window.
        wptr: Bits<16>,
        /// With 1: its incarnation.
        #[verilog("gen")]
        incarnation: Bits<16>,
    }
}

hdl_bus! {
    /// rw_window has decided a CONNECT; pulse.
    pub struct ConnectsDecided {
        /// It has.
        valid: Bit,
        /// How.
        of: ConnectHow,
        /// It was lost before that; pulse.
        lost: Bit,
    }
}

hdl_record! {
    /// What the sender of a window is told of congestion (CL-4).
    pub struct Telling {
        /// Node of the sender.
        node: Bits<20>,
        /// Slot of the transfer there.
        slot: Bits<16>,
        /// The transfer.
        xid: Bits<32>,
        /// Its packets came marked, or it has more than its part; otherwise it only learns its part.
        marked: Bit,
        /// Windows that are open here.
        share: Bits<16>,
    }
}

hdl_bus! {
    /// The sender of a window is to be told of congestion.
    pub struct Tellings {
        /// It is.
        valid: Bit,
        /// The message is made.
        #[back] ready: Bit,
        /// What it says; the number of windows may change until then.
        of: Telling,
    }
}
