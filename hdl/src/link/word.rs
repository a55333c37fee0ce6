//! What travels, and what an end of the link keeps.

use tributary_protocol::tlp_link::unit::SETTINGS;
use tributary_protocol::tlp_link::wire::LINK;

use crate::prelude::*;

hdl_record! {
    /// The header of a frame.
    #[header(LINK)]
    pub struct LinkHeader {
        destination: _,
        source: _,
        ethertype: _,
        version: _,
        kind: _,
        seq: _,
        ack: _,
        limit: _,
        again: Bit,
        busy: Bit,
        words: _,
        from: _,
        to: _,
    }
}

hdl_record! {
    /// A word of a unit that has come.
    pub struct LinkWord {
        /// The word.
        data: Bits<64>,
        /// The unit is settings.
        settings: Bit,
        /// It is the last word of its unit.
        last: Bit,
    }
}

hdl_record! {
    /// A write that the other end has not acknowledged.
    pub struct SentWrite {
        /// Which unit of the session it is.
        unit: Bits<16>,
        /// Its sequence number.
        number: Bits<6>,
    }
}

hdl_record! {
    /// A unit that is not acknowledged.
    pub struct SentUnit {
        /// Its first word, counted in the session.
        start: Bits<16>,
        /// Its words.
        words: Bits<12>,
        /// It is settings.
        settings: Bit,
    }
}

hdl_record! {
    /// Settings of the function.
    #[header(SETTINGS)]
    pub struct LinkSettings {
        function_id: _,
        bus_master: Bit,
        msix_enable: Bit,
        msix_mask: Bit,
        function_reset: Bit,
        max_payload: _,
        max_read: _,
    }
}
