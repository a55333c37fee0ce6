//! Buses: what one block hands another, each declared once.
//!
//! A word passes in each clock in which `valid` and `ready` are both high, where a bus has both; `valid` does not wait for
//! `ready`, and what is offered stays until it is taken.

mod axil;
mod axis;
mod completion;
mod dma;
mod in_flight;
mod memory;
mod queue_pair;
mod receive;
mod region;
mod registers;
mod send;
mod stream;
mod tlp;
mod window;

pub use axil::{AxiLiteIn, AxiLiteOut};
pub use axis::{AxisIn, AxisOut, AxisRxIn, AxisRxOut};
pub use completion::{CompletionIn, CompletionOut, InterruptIn, InterruptOut};
pub use dma::{
    DmaDoneIn, DmaDoneOut, DmaReadWordsIn, DmaReadWordsOut, DmaRequestIn, DmaRequestOut,
    DmaWordsIn, DmaWordsOut,
};
pub use in_flight::{PlaceBitIn, PlaceBitOut};
pub use memory::{RamReadIn, RamReadOut, RamWriteIn, RamWriteOut};
pub use queue_pair::{
    ContextIn, ContextOut, DoorbellIn, DoorbellOut, FlushIn, FlushOut, QueuePairIn, QueuePairOut,
    ReserveIn, ReserveOut, RingIndexIn, RingIndexOut, WindowSetIn, WindowSetOut,
};
pub use receive::{AckOrClaimIn, AckOrClaimOut, AckTakenIn, AckTakenOut, RequestIn, RequestOut};
pub use region::{
    LookupIn, LookupOut, LookupRightsIn, LookupRightsOut, RegionSetIn, RegionSetOut, VerdictIn,
    VerdictOut,
};
pub use registers::{RegistersIn, RegistersOut};
pub use send::{AckToSendIn, AckToSendOut, PayloadIn, PayloadOut, SendHeaderIn, SendHeaderOut};
pub use stream::{FramesIn, FramesOut, StreamIn, StreamOut};
pub use tlp::{
    TlpRxCompletionIn, TlpRxCompletionOut, TlpRxRequestIn, TlpRxRequestOut, TlpTxCompletionIn,
    TlpTxCompletionOut, TlpTxReadIn, TlpTxReadOut, TlpTxWriteIn, TlpTxWriteOut,
};
pub use window::{TransferEndIn, TransferEndOut, WindowMessageIn, WindowMessageOut};
