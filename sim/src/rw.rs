//! One receiver-window transfer over two lossy links, slot by slot.
//!
//! * [`Transfer`]: the simulation; [`Plan`] says what is sent over which links.
//! * [`ReceiverEngine`]: what stands at the receiving end: [`ModelEngine`], or anything else that
//!   takes the same records.
//! * [`Observer`]: who watches: [`Timeline`] as text, [`crate::pcap::Capture`] as frames.
//! * [`Recorder`]: keeps the records that entered an engine; [`trace`] reads and writes them, and
//!   [`replay`] puts them into another engine.
//! * [`goodput`]: the same transfer over many seeds.

mod engine;
pub mod goodput;
mod memory;
mod observe;
mod recorder;
pub mod rtl;
mod rtl_engine;
pub mod rtl_sender;
mod timing;
pub mod trace;
mod transfer;
mod waveform;

pub use engine::{EngineStats, ModelEngine, ReceiverEngine};
pub use memory::Memory;
pub use observe::{End, Event, Observer, Timeline};
pub use recorder::{Recorder, Replayed, replay};
pub use rtl_engine::RtlEngine;
pub use timing::Timing;
pub use transfer::{Plan, Report, Transfer};
