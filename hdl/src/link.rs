//! TLPs in Ethernet frames: an end of the link that `tributary_protocol::tlp_link` describes, for boards without PCI
//! Express, and what joins it to a card.

mod receive;
mod send;
mod tlp_link;
mod units;
mod units_in;
mod units_out;
mod word;

pub use receive::TlpLinkReceive;
pub use send::TlpLinkSend;
pub use tlp_link::TlpLink;
pub use units::TlpUnits;
pub use units_in::TlpUnitsIn;
pub use units_out::TlpUnitsOut;
pub use word::{LinkHeader, LinkSettings, LinkWord, SentUnit, SentWrite};
