//! What one block tells another about a queue pair.

use crate::prelude::*;

hdl_record! {
    /// What the host writes to a doorbell.
    pub struct RingDoorbell<const Q: usize> {
        /// Queue pair.
        qpn: Bits<Q>,
        /// 0 send, 1 receive, 2 complete, 3 arm.
        kind: Bits<2>,
        /// New index of the ring.
        index: Bits<16>,
    }
}

hdl_bus! {
    /// A doorbell of a queue pair; pulse.
    pub struct Doorbell<const Q: usize> {
        /// The host writes a doorbell.
        valid: Bit,
        /// Which, and what.
        of: RingDoorbell<Q>,
    }
}

hdl_record! {
    /// How far a ring has come.
    pub struct RingPosition<const Q: usize> {
        /// Queue pair.
        qpn: Bits<Q>,
        /// Requests ever, modulo 2^16.
        index: Bits<16>,
    }
}

hdl_bus! {
    /// The index of a ring changes; pulse.
    pub struct RingIndex<const Q: usize> {
        /// The index changes.
        valid: Bit,
        /// How far a ring has come.
        of: RingPosition<Q>,
    }
}

hdl_bus! {
    /// Something happens to a queue pair; pulse.
    pub struct QueuePair<const Q: usize> {
        /// It happens.
        valid: Bit,
        /// Queue pair.
        qpn: Bits<Q>,
    }
}

hdl_bus! {
    /// A completion slot is asked for, until answered.
    pub struct Reserve<const Q: usize> {
        /// A slot is asked for.
        valid: Bit,
        /// Queue pair.
        qpn: Bits<Q>,
        /// The answer; pulse.
        #[back] done: Bit,
        /// With it: a slot was free and is kept.
        #[back] ok: Bit,
    }
}

hdl_bus! {
    /// Requests of a queue pair are ended, until answered.
    pub struct Flush<const Q: usize> {
        /// The requests of a queue pair end.
        valid: Bit,
        /// Queue pair.
        qpn: Bits<Q>,
        /// All have ended; pulse.
        #[back] done: Bit,
    }
}

hdl_record! {
    /// A word of the context of a queue pair.
    pub struct ContextWord<const Q: usize> {
        /// Queue pair.
        qpn: Bits<Q>,
        /// Which word.
        word: Bits<3>,
        /// The word.
        data: Bits<64>,
    }
}

hdl_bus! {
    /// A word of the context of a queue pair; pulse.
    pub struct Context<const Q: usize> {
        /// A word is written; it counts from the next clock on.
        valid: Bit,
        /// Which, and what.
        of: ContextWord<Q>,
    }
}

hdl_record! {
    /// A window of one-sided operations, made or ended.
    pub struct OneSidedWindow<const Q: usize> {
        /// Which.
        index: Bits<8>,
        /// It is there from now on.
        open: Bit,
        /// Own queue pair.
        qpn: Bits<Q>,
        /// Node of the peer.
        node: Bits<20>,
        /// Queue pair of the peer.
        peer: Bits<24>,
        /// Epoch.
        epoch: Bits<16>,
    }
}

hdl_bus! {
    /// A window of one-sided operations is made or ended, while nothing is under way.
    pub struct WindowSet<const Q: usize> {
        /// A window is made or ended.
        valid: Bit,
        /// A window of one-sided operations, made or ended.
        of: OneSidedWindow<Q>,
        /// It is done; pulse.
        #[back] done: Bit,
        /// The window was there before.
        #[back] was: Bit,
        /// Number that it expected; 0 if it was not there.
        #[back] expected: Bits<32>,
    }
}

hdl_bus! {
    /// A queue pair or region ends, while nothing is under way: stays until that is done.
    pub struct UseEnds {
        /// One ends.
        valid: Bit,
        /// All that uses it has ended; pulse.
        #[back] done: Bit,
        /// It is a queue pair.
        pair: Bit,
        /// Its number, or the region's.
        index: Bits<24>,
    }
}

hdl_bus! {
    /// The card posts work requests of a queue pair by itself.
    pub struct CardPost<const Q: usize> {
        /// A doorbell of a send ring is to be rung.
        valid: Bit,
        /// It is.
        #[back] ready: Bit,
        /// How far the ring has come.
        of: RingPosition<Q>,
    }
}
