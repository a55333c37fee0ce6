//! What the table of requests in flight keeps of a request, and what is compared with it.

use crate::prelude::*;

hdl_record! {
    /// A request in flight.
    pub struct InFlight {
        /// Destination node.
        node: Bits<20>,
        /// Destination queue pair.
        peer: Bits<24>,
        /// Version 7:4 and flags 3:0.
        vf: Bits<8>,
        /// Window.
        win_id: Bits<16>,
        /// Epoch.
        epoch: Bits<16>,
        /// Number in the window.
        msn: Bits<32>,
        /// User's name for the request.
        wr_id: Bits<64>,
        /// Number of the request in its ring.
        request: Bits<16>,
    }
}

hdl_record! {
    /// What is kept of a place.
    pub struct FilledPlace {
        /// Its request.
        fields: InFlight,
        /// The acknowledgement of the request is an answer with a claim of its own.
        answered: Bit,
    }
}

hdl_record! {
    /// Which request a place is of.
    pub struct Tag {
        /// Packet number.
        psn: Bits<24>,
        /// Queue pair.
        qpn: Bits<24>,
    }
}

hdl_record! {
    /// A request ends.
    pub struct End {
        /// Which.
        tag: Tag,
        /// How.
        outcome: Bits<8>,
        /// Its acknowledgement said that it came marked (CL-4).
        marked: Bit,
    }
}

hdl_record! {
    /// Where an acknowledgement comes from.
    pub struct Source {
        /// Node.
        node: Bits<20>,
        /// Queue pair.
        peer: Bits<24>,
    }
}

hdl_record! {
    /// What an acknowledgement says of its request.
    pub struct Identity {
        /// Flags.
        flags: Bits<4>,
        /// Window.
        win_id: Bits<16>,
        /// Epoch.
        epoch: Bits<16>,
        /// Number in the window.
        msn: Bits<32>,
    }
}

hdl_record! {
    /// A request that has ended, on its way to its completion.
    pub struct EndedRequest {
        /// What was in flight.
        fields: InFlight,
        /// Which, and how it ended.
        end: End,
    }
}

hdl_record! {
    /// A place that is kept.
    pub struct KeptPlace {
        /// Of which request.
        tag: Tag,
        /// Its K.
        k: Bits<1>,
    }
}
