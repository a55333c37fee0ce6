//! What the schedule rings keep in memory.

use crate::prelude::*;

/// What a group does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Its place is free.
    Closed,
    /// It starts what can start.
    Running,
    /// It waits for what is under way.
    Draining,
    /// Its last completion is to come.
    Ending,
    /// Nothing any more.
    Ended,
}

hdl_record! {
    /// A queue of entries.
    pub struct Queue {
        /// Place of the first one.
        head: Bits<3>,
        /// Their number.
        count: Bits<4>,
    }
}

hdl_record! {
    /// A group.
    pub struct GroupState {
        /// A [`Mode`].
        mode: Bits<3>,
        /// How it ends.
        code: Bits<3>,
        /// Slot of the peer that has failed.
        peer: Bits<6>,
        /// Address of the ring.
        base: Bits<64>,
        /// log2 of its entries.
        log: Bits<4>,
        /// Index behind the last entry.
        posted: Bits<16>,
        /// Index of the next entry to read.
        fetched: Bits<16>,
        /// Reads under way.
        flying: Bits<4>,
        /// Sends.
        send: Queue,
        /// Grants.
        grant: Queue,
        /// Ends of messages.
        done: Queue,
        /// Ticks of the watchdog.
        watchdog: Bits<16>,
        /// Ticks without progress.
        idle: Bits<16>,
        /// The watchdog runs from the doorbell on.
        timed: Bit,
        /// A message has begun and is not done.
        begun: Bit,
        /// It waits for a look.
        queued: Bit,
        /// Sends under way.
        sends: Bits<16>,
        /// Receives under way.
        receives: Bits<16>,
        /// Messages done.
        messages: Bits<32>,
    }
}

hdl_record! {
    /// An entry in its queue.
    pub struct Queued {
        /// It waits for blocks.
        waits: Bits<1>,
        /// Slot of the member they come from.
        source: Bits<6>,
        /// Slot of the member that gets the block or the grant.
        to: Bits<6>,
        /// Step of the schedule.
        step: Bits<22>,
        /// Number of the block.
        block: Bits<20>,
        /// Number of the message.
        message: Bits<32>,
        /// Blocks to wait for.
        received: Bits<32>,
        /// Credits to wait for, or blocks to grant.
        credit: Bits<32>,
        /// Comes out with the entry.
        user: Bits<64>,
    }
}
