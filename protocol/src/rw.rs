//! RDMA over a receiver-side sliding window.
//!
//! A transfer of `length` bytes is cut into N packets of P bytes. Packet k is written straight to `addr + k·P`; the
//! receiver keeps packet *numbers*, never payload. Rule ids (`RW-1` … `RW-22`) and properties (`P1` …) are those of
//! `docs/conformance.md`; `docs/rw-engine.md` is the operation contract that [`Receiver`] shares with the RTL.
//!
//! * [`Receiver`]: the R windows of a node and its peer table, one method per operation of the contract.
//! * [`Sender`]: the transfer slots of a node; one call of [`Sender::next_packet`] fills one slot of the line.
//! * [`explore`]: every state that the two can reach over a bad network, at small sizes.
//! * [`Message`]: what travels between them; [`wire`]: as bytes. [`Mode`]: the window protocol and the three it is measured against.
//!
//! ```
//! use tributary_protocol::rw::*;
//!
//! let mut tx = Sender::new(SenderConfig::default()).unwrap();
//! let mut rx = Receiver::new(ReceiverConfig::default()).unwrap();
//! tx.start(Request { dst: 1, addr: 0x1000, rkey: 7, length: 2000, mtu: 9, oldest_first: false }, 0).unwrap();
//! let mut outputs = Vec::new();
//! for now in 0..20 {
//!     if let Some(out) = tx.next_packet(now) {
//!         outputs.extend(rx.handle(&out.msg, now));
//!     }
//!     for output in std::mem::take(&mut outputs) {
//!         match output {
//!             Output::Send { msg, .. } => tx.on_message(&msg, now),
//!             Output::Write(write) => outputs.extend(rx.handle_write_done(write.wptr, write.r#gen)),
//!             Output::Completion(done) => assert_eq!(done.status, Status::Ok),
//!         }
//!     }
//! }
//! assert_eq!(tx.take_completion().unwrap().outcome, Outcome::Ok);
//! ```

mod codes;
mod config;
pub mod explore;
mod message;
mod receiver;
mod sender;
mod stats;
pub mod wire;

pub use codes::{ConnectStatus, DropReason, MessageType, Reason, Status, opcode};
pub use config::{ConfigError, Mode, Mutations, ReceiverConfig, SenderConfig};
pub(crate) use message::full;
pub use message::{
    Abort, Bitmap, Complete, Connect, ConnectResp, Data, Message, Poll, RetxOne, RetxRange,
    StatusReport, Unknown,
};
pub use receiver::{
    Accepted, BESIDE_OTHERS_LOG, Completion, ConnectOut, FinishOut, Output, Peer, PeerState,
    Receiver, Transfer, Verdict, Window, WriteCmd,
};
pub use sender::pace;
pub use sender::{
    Choice, Class, Outcome, Outgoing, QUEUED_MOST, Request, Sender, SenderCompletion, StartError,
    Turns, Waits, Wants,
};
pub use stats::{ReceiverStats, SenderStats};

/// Coarse time of the receiver: 16 bits that wrap; differences are taken modulo 2^16.
pub type Tick = u16;

/// Smallest and largest log2 of the packet size P: 256 B to 4 KiB.
pub const MTU_RANGE: std::ops::RangeInclusive<u8> = 8..=12;

/// Widest packet number on the wire, in bits: numbers, N and wbase need ⌈log2(M+1)⌉ bits with M = 2^21 (RW-5).
pub const NUMBER_BITS: u32 = 22;

/// Number of packets of a transfer: `max(1, ceil(length / 2^mtu))` (RW-20: length 0 is one packet of length 0).
#[must_use]
pub fn packets(length: u32, mtu: u8) -> u32 {
    length.div_ceil(1 << mtu).max(1)
}

/// Bytes carried by packet `pidx` of a transfer of `length` bytes in packets of `2^mtu` bytes: P, or what is left for the last.
#[must_use]
pub fn packet_len(length: u32, mtu: u8, pidx: u32) -> u32 {
    length
        .saturating_sub(pidx.saturating_mul(1 << mtu))
        .min(1 << mtu)
}

/// Whether transfer (incarnation, xid) `a` of a peer slot is newer than `b`: the incarnation of the
/// sending process decides, compared modulo 2^16, and the transfer number within one incarnation.
#[must_use]
pub fn transfer_newer(a: (u16, u32), b: (u16, u32)) -> bool {
    let restarts = a.0.wrapping_sub(b.0);
    if restarts == 0 {
        xid_newer(a.1, b.1)
    } else {
        restarts < 1 << 15
    }
}

/// Serial comparison of transfer numbers: `a` is newer than `b` iff 0 < (a-b) mod 2^32 < 2^31.
#[must_use]
pub fn xid_newer(a: u32, b: u32) -> bool {
    let ahead = a.wrapping_sub(b);
    ahead != 0 && ahead < 1 << 31
}
