//! READ of any size: between those that ask, those that serve, and the windows.

use super::BulkWork;
use crate::prelude::*;

hdl_bus! {
    /// A READ of this host, checked.
    pub struct Reads {
        /// It is offered.
        valid: Bit,
        /// It has begun.
        #[back] ready: Bit,
        /// log2 of the packet size.
        mtu: Bits<4>,
        /// Address of byte 0 there.
        there: Bits<64>,
        /// Key of its region.
        rkey: Bits<32>,
        /// The work request.
        of: BulkWork,
    }
}

hdl_record! {
    /// A CONNECT that says that it answers a READ request.
    pub struct ReadAnswer {
        /// The request that it names.
        token: Bits<64>,
        /// Sending node.
        src: Bits<20>,
        /// Queue pair there.
        source: Bits<24>,
        /// Queue pair here.
        qpn: Bits<24>,
        /// Bytes of the transfer.
        length: Bits<32>,
        /// Address of byte 0 here.
        addr: Bits<64>,
        /// Key of its region.
        rkey: Bits<32>,
    }
}

hdl_bus! {
    /// Whether a CONNECT answers a READ of this card.
    pub struct ReadAnswers {
        /// A CONNECT is offered.
        valid: Bit,
        /// It is judged: pulse.
        #[back] ready: Bit,
        /// With ready: it answers a READ, for which no other CONNECT counts until this one is done.
        #[back] ok: Bit,
        /// The CONNECT.
        of: ReadAnswer,
    }
}

hdl_bus! {
    /// What became of CONNECTs.
    pub struct ReadsAnswered {
        /// The one that was found to answer a READ is done: pulse.
        done: Bit,
        /// A window was opened, with done for the READ: pulse.
        opened: Bit,
        /// Which.
        wptr: Bits<16>,
    }
}

hdl_bus! {
    /// A window was closed: pulse.
    pub struct WindowClosed {
        /// It was.
        valid: Bit,
        /// Which.
        wptr: Bits<16>,
        /// 0 OK, 1 ABORTED, 2 NOT_READY.
        status: Bits<4>,
        /// Unless OK, why.
        reason: Bits<4>,
    }
}

hdl_record! {
    /// That a READ request is not served.
    pub struct ReadRefusal {
        /// The other node: the one that refuses, or that is told.
        node: Bits<20>,
        /// Queue pair that has asked.
        qpn: Bits<24>,
        /// The request.
        token: Bits<64>,
        /// Why: 1 busy, 2 access, 3 no such queue pair, 4 length.
        reason: Bits<3>,
        /// With busy: ask again after so many ticks.
        retry: Bits<16>,
    }
}

hdl_bus! {
    /// A READ request is not served.
    pub struct ReadRefusals {
        /// A refusal is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The refusal.
        of: ReadRefusal,
    }
}

hdl_record! {
    /// What a READ request of others wants to read.
    pub struct ReadAccess {
        /// Queue pair here.
        qpn: Bits<24>,
        /// Its Q_Key, as the request says.
        q_key: Bits<32>,
        /// Key of the region.
        key: Bits<32>,
        /// Address of byte 0.
        addr: Bits<64>,
        /// Bytes.
        length: Bits<32>,
        /// It is beyond the limits of a transfer.
        too_long: Bit,
    }
}

hdl_bus! {
    /// Whether a READ request of others is allowed.
    pub struct ReadAccesses {
        /// A request is offered.
        valid: Bit,
        /// It is judged: pulse.
        #[back] ready: Bit,
        /// With ready: 0 allowed, 7 not answered, else as a CONNECT is refused.
        #[back] verdict: Bits<3>,
        /// With ready: protection domain of the queue pair.
        #[back] pd: Bits<16>,
        /// What it wants.
        of: ReadAccess,
    }
}

hdl_record! {
    /// A transfer that answers a READ request of others.
    pub struct ReadServed {
        /// Node that has asked.
        node: Bits<20>,
        /// Queue pair that has asked.
        peer: Bits<24>,
        /// Queue pair here.
        qpn: Bits<24>,
        /// Q_Key of both.
        q_key: Bits<32>,
        /// Protection domain of the queue pair here.
        pd: Bits<16>,
        /// Address of byte 0 here.
        address: Bits<64>,
        /// Key of the region it lies in.
        key: Bits<32>,
        /// Address of byte 0 there.
        there: Bits<64>,
        /// Key of its region.
        rkey: Bits<32>,
        /// Bytes.
        length: Bits<32>,
        /// log2 of the packet size.
        mtu: Bits<4>,
        /// The request.
        token: Bits<64>,
    }
}

hdl_bus! {
    /// A transfer that answers a READ request is to be started. LS bits for a slot.
    pub struct ReadsServed<const LS: usize> {
        /// It is offered.
        valid: Bit,
        /// It is under way, or busy: pulse.
        #[back] ready: Bit,
        /// With ready: no slot was free, and nothing is under way.
        #[back] busy: Bit,
        /// With ready: its slot.
        #[back] slot: Bits<LS>,
        /// The transfer.
        of: ReadServed,
    }
}
