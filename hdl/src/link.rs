//! TLPs in Ethernet frames: an end of the link that `tributary_protocol::tlp_link` describes, for boards without PCI
//! Express.

mod receive;
mod send;
mod tlp_link;
mod word;

pub use receive::TlpLinkReceive;
pub use send::TlpLinkSend;
pub use tlp_link::TlpLink;
pub use word::{LinkHeader, LinkWord, SentUnit};
