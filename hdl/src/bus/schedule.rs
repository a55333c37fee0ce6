//! What goes into and comes out of the schedule rings.

use crate::prelude::*;

hdl_bus! {
    /// A host's command for a group.
    pub struct ScheduleCommand {
        /// A command is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// 0 open, 1 doorbell, 2 stop, 3 close.
        op: Bits<2>,
        /// Group.
        group: Bits<8>,
        /// Doorbell: index behind the last entry.
        posted: Bits<16>,
        /// Open: address of the ring, a multiple of 32.
        base: Bits<64>,
        /// Open: log2 of its entries, 1 to 15.
        log: Bits<4>,
        /// Open: ticks of the watchdog; 0: none.
        watchdog: Bits<16>,
        /// Open: the watchdog runs from the doorbell on.
        timed: Bit,
        /// Open: what the counters begin at.
        origin: Bits<32>,
    }
}

hdl_bus! {
    /// Something happens to a group.
    pub struct ScheduleEvent {
        /// An event is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// 0 a block asks to come in, 1 it is here, 2 credits, 3 a block sent has arrived, 4 a transfer has failed.
        op: Bits<3>,
        /// Group.
        group: Bits<8>,
        /// Slot of the peer; not with 3.
        slot: Bits<6>,
        /// Credits: blocks that the peer has granted.
        value: Bits<32>,
    }
}

hdl_bus! {
    /// What became of an operation, one clock.
    pub struct ScheduleAnswer {
        /// An operation is decided.
        valid: Bit,
        /// 0 to 3 commands, 4 tick, 5 entry, 8 to 12 events.
        op: Bits<4>,
        /// Group.
        group: Bits<8>,
        /// It had an effect; of a tick: the group is given up.
        ok: Bit,
    }
}

hdl_record! {
    /// A block to send.
    pub struct BlockToSend {
        /// Group.
        group: Bits<8>,
        /// Slot of the member that gets it.
        to: Bits<6>,
        /// Step of the schedule.
        step: Bits<22>,
        /// Number of the block.
        block: Bits<20>,
        /// Number of the message.
        message: Bits<32>,
        /// Of its entry.
        user: Bits<64>,
    }
}

hdl_bus! {
    /// Blocks to send.
    pub struct BlockStart {
        /// A block is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The block.
        of: BlockToSend,
    }
}

hdl_record! {
    /// A grant to tell.
    pub struct GrantToTell {
        /// Group.
        group: Bits<8>,
        /// Slot of the member that is told.
        to: Bits<6>,
        /// Blocks that it may have started, modulo 2^32.
        granted: Bits<32>,
    }
}

hdl_bus! {
    /// Grants to tell.
    pub struct GrantStart {
        /// A grant is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The grant.
        of: GrantToTell,
    }
}

hdl_record! {
    /// A message is done, or a group has ended.
    pub struct ScheduleEnd {
        /// Group.
        group: Bits<8>,
        /// 0 the message is done; the group has ended: 1 failure, 2 watchdog, 3 stopped, 4 wrong entry, 5 unreadable ring.
        code: Bits<3>,
        /// Of a failure: slot of the peer.
        peer: Bits<6>,
        /// Number of the message; of an end messages that were done.
        message: Bits<32>,
        /// Of its entry; of an end 0.
        user: Bits<64>,
        /// Index of the first entry that was not fetched.
        fetched: Bits<16>,
    }
}

hdl_bus! {
    /// Messages that are done, and groups that have ended.
    pub struct ScheduleDone {
        /// An end is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The end.
        of: ScheduleEnd,
    }
}

hdl_record! {
    /// A queue pair of a group.
    pub struct GroupPair {
        /// 0 none; 1 blocks go to the peer, and its grants come; 2 blocks come from it, and grants go.
        role: Bits<2>,
        /// Group.
        group: Bits<8>,
        /// Slot of the peer.
        slot: Bits<6>,
    }
}

hdl_bus! {
    /// A queue pair is given to a group, or taken back; pulse.
    pub struct GroupBinding {
        /// It is.
        valid: Bit,
        /// Queue pair.
        pair: Bits<16>,
        /// Whose, and what for.
        of: GroupPair,
    }
}

hdl_record! {
    /// What a host was told of a transfer that has come.
    pub struct HostTold {
        /// Queue pair.
        qpn: Bits<24>,
        /// Immediate data.
        immediate: Bits<32>,
    }
}

hdl_bus! {
    /// A host was told of a transfer that has come.
    pub struct HostTell {
        /// It was; stays until taken.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// What.
        of: HostTold,
    }
}

hdl_bus! {
    /// The queue pair in which a group's ends are told; pulse.
    pub struct GroupQueue {
        /// A group was opened.
        valid: Bit,
        /// Group.
        group: Bits<8>,
        /// Queue pair.
        pair: Bits<16>,
    }
}
