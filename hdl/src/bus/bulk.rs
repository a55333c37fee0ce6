//! What goes into and comes out of the sending side of the receiver window.

use crate::prelude::*;

hdl_bus! {
    /// A transfer to start.
    pub struct BulkRequest {
        /// A transfer is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// Node that receives it.
        dst: Bits<20>,
        /// Address of byte 0 there.
        addr: Bits<64>,
        /// Key of the region it lies in.
        rkey: Bits<32>,
        /// Bytes.
        length: Bits<32>,
        /// log2 of the packet size, 8 to 12.
        mtu: Bits<4>,
        /// Fresh packets of it leave when no older transfer of this kind has any.
        oldest_first: Bit,
    }
}

hdl_bus! {
    /// A transfer to end.
    pub struct BulkCancel {
        /// A transfer is named.
        valid: Bit,
        /// That is taken; a transfer that is not under way is not looked for.
        #[back] ready: Bit,
        /// Its slot.
        slot: Bits<16>,
        /// Its number in that slot.
        xid: Bits<32>,
        /// What its receiver is told.
        reason: Bits<4>,
    }
}

hdl_bus! {
    /// What became of a transfer to start, one for each, in their order.
    pub struct BulkStarted {
        /// An answer is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// 0: started; 1: not a packet size; 2: too many packets; 3: the last byte has no address.
        error: Bits<2>,
        /// Its slot.
        slot: Bits<16>,
        /// Its number in that slot.
        xid: Bits<32>,
    }
}

hdl_bus! {
    /// A message from a receiver.
    pub struct BulkMessage {
        /// A message is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// Type: 1 COMPLETE, 2 RETX_ONE, 3 RETX_RANGE, 5 CONNECT_RESP, 6 STATUS, 7 ABORT or UNKNOWN.
        r#type: Bits<3>,
        /// Transfer slot here.
        slot: Bits<16>,
        /// Transfer.
        xid: Bits<32>,
        /// COMPLETE, CONNECT_RESP: status.
        status: Bits<4>,
        /// CONNECT_RESP: window.
        wptr: Bits<16>,
        /// CONNECT_RESP: incarnation of the window.
        r#gen: Bits<16>,
        /// CONNECT_RESP: packets of the window.
        w: Bits<16>,
        /// CONNECT_RESP BUSY: ticks to wait.
        hint: Bits<16>,
        /// STATUS, CONNECT_RESP: packets below this number may be sent.
        credit: Bits<22>,
        /// RETX_ONE, RETX_RANGE: packet; STATUS: first hole.
        pidx: Bits<22>,
        /// STATUS: number of the poll, 0 if there was none.
        seq: Bits<16>,
    }
}

hdl_bus! {
    /// A packet for the line, without its payload.
    pub struct BulkPacket {
        /// A packet is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// Type: 0 DATA, 4 CONNECT, 6 POLL, 7 ABORT.
        r#type: Bits<3>,
        /// Node it goes to.
        dst: Bits<20>,
        /// Transfer slot here.
        slot: Bits<16>,
        /// Transfer.
        xid: Bits<32>,
        /// DATA, POLL: window.
        wptr: Bits<16>,
        /// DATA, POLL: incarnation of the window.
        r#gen: Bits<16>,
        /// DATA: packet number.
        pidx: Bits<22>,
        /// DATA: last packet of the transfer.
        tail: Bit,
        /// DATA: it has been sent before.
        again: Bit,
        /// DATA: first byte of its payload, from the beginning of the transfer.
        offset: Bits<32>,
        /// DATA: bytes of its payload; CONNECT: bytes of the transfer.
        length: Bits<32>,
        /// POLL: its number.
        seq: Bits<16>,
        /// ABORT: reason.
        reason: Bits<4>,
        /// CONNECT: address of byte 0 there.
        addr: Bits<64>,
        /// CONNECT: key of the region.
        rkey: Bits<32>,
        /// CONNECT: log2 of the packet size.
        mtu: Bits<4>,
    }
}

hdl_bus! {
    /// A transfer has ended at its sender.
    pub struct BulkEnd {
        /// A transfer has ended.
        valid: Bit,
        /// That is taken.
        #[back] ready: Bit,
        /// Its slot, free again.
        slot: Bits<16>,
        /// Its number in that slot.
        xid: Bits<32>,
        /// How: 0 ok, 1 aborted, 2 refused, 3 busy, 4 unreachable, 5 unresponsive, 6 cancelled, 7 access, 8 no
        /// such queue pair, 9 not ready.
        outcome: Bits<4>,
    }
}

hdl_bus! {
    /// Times and limits of the sending side; times in ticks.
    pub struct BulkSettings {
        /// Number of the transfer before the first one of each slot; looked at while the engine leaves reset. Far from all
        /// numbers of before: what comes late for one of those names no transfer then.
        xid_before: Bits<32>,
        /// Shortest round trip and the reorder allowance.
        settled: Bits<16>,
        /// Reorder allowance.
        allowance: Bits<16>,
        /// Half the reorder allowance.
        overtaken: Bits<16>,
        /// Round trip and the reorder allowance both ways.
        retry: Bits<16>,
        /// Shortest round trip and retry.
        known: Bits<16>,
        /// First poll interval.
        poll: Bits<16>,
        /// Longest poll interval.
        poll_max: Bits<16>,
        /// First poll interval while packets are left to send.
        stall_poll: Bits<16>,
        /// Between polls of an idle line.
        early_poll: Bits<16>,
        /// Polls without progress before giving up.
        max_polls: Bits<8>,
        /// BUSY answers before giving up, less one.
        max_busy: Bits<16>,
        /// One fresh packet at least in so many, 2 or more.
        fresh_every: Bits<8>,
        /// Packets above the credit, at most.
        overrun: Bits<16>,
        /// Second copies of repairs, and polls of an idle line.
        echo: Bit,
    }
}

hdl_bus! {
    /// A receiver says how a transfer fares (CL-4).
    pub struct CongestionSaid<const LS: usize> {
        /// Something is said.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// Slot of the transfer, which is under way.
        slot: Bits<LS>,
        /// Its packets came marked, or it has more than its part; otherwise its sender only learns its part.
        marked: Bit,
        /// Transfers that share the receiver's line, 1 at least.
        share: Bits<16>,
    }
}
