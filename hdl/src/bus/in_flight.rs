//! The table of requests in flight.

use crate::prelude::*;

hdl_bus! {
    /// A state bit of a place in the table of requests in flight; F bits for a place.
    pub struct PlaceBit<const F: usize> {
        /// The bit changes.
        en: Bit,
        /// Of this place.
        place: Bits<F>,
        /// Its new value.
        bit: Bits<1>,
    }
}
