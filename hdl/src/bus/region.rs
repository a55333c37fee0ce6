//! Regions of host memory.

use crate::prelude::*;

hdl_record! {
    /// An access to a region.
    pub struct Access {
        /// Its key.
        key: Bits<32>,
        /// Protection domain of the queue pair.
        pd: Bits<16>,
        /// First byte of the access.
        addr: Bits<64>,
        /// Bytes of the access.
        len: Bits<13>,
        /// The access writes.
        write: Bit,
    }
}

hdl_bus! {
    /// A region is looked up; pulse.
    pub struct Lookup {
        /// A region is looked up.
        valid: Bit,
        /// An access to a region.
        of: Access,
    }
}

hdl_record! {
    /// An access of others to a region.
    pub struct AccessOfOthers {
        /// Its key.
        key: Bits<32>,
        /// Protection domain of the queue pair.
        pd: Bits<16>,
        /// First byte of the access.
        addr: Bits<64>,
        /// Bytes of the access.
        len: Bits<13>,
        /// Rights that the access needs, a bit each, as `card_regions` keeps them.
        need: Bits<4>,
    }
}

hdl_bus! {
    /// A region is looked up for certain rights; pulse.
    pub struct LookupRights {
        /// A region is looked up.
        valid: Bit,
        /// An access of others to a region.
        of: AccessOfOthers,
    }
}

hdl_bus! {
    /// What a lookup found; pulse.
    pub struct Verdict {
        /// The answer to a lookup.
        valid: Bit,
        /// The access is allowed.
        ok: Bit,
    }
}

hdl_record! {
    /// A region, made, replaced or ended.
    pub struct Region<const R: usize> {
        /// Which.
        index: Bits<R>,
        /// It is there from now on.
        present: Bit,
        /// Low byte of its key.
        variant: Bits<8>,
        /// The card may write to it for its own host.
        local_write: Bit,
        /// Others may write there 0, read there 1, do atomics there 2.
        remote: Bits<3>,
        /// Protection domain.
        pd: Bits<16>,
        /// Address of its first byte.
        base: Bits<64>,
        /// Its bytes.
        length: Bits<64>,
    }
}

hdl_bus! {
    /// A region is made, replaced or ended; pulse. R bits for a region.
    pub struct RegionSet<const R: usize> {
        /// A region changes.
        valid: Bit,
        /// A region, made, replaced or ended.
        of: Region<R>,
    }
}
