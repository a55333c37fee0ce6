//! Verbs-style driver of the Tributary network card.
//!
//! Names are those of ibverbs: [`Context::open`], [`Context::alloc_pd`], [`ProtectionDomain::reg_mr`], [`Context::create_cq`],
//! [`ProtectionDomain::create_qp`], [`QueuePair::post_send`], [`CompletionQueue::poll`]. What differs: memory of a region comes from
//! the driver, because the card must reach it; and a [`Buffer`] is given away when it is posted and comes back with its completion.
//!
//! [`QueuePair::post_write`] and [`QueuePair::post_read`] move any number of bytes between regions of two hosts ([`TransferRequest`]).
//!
//! [`ReliableEndpoint`] is the same service made reliable: messages of up to 1 GiB, each delivered once. [`OneSided`] reads and
//! writes memory of other hosts, with [`OpenWindow`] and [`Exposed`] on their side.
//!
//! The card is a [`Device`]: simulated in the process (crate `tributary-sim`), in another process behind a vfio-user socket
//! (`VfioUserDevice`), on the bus (`VfioDevice`, untested on hardware), or whatever else implements it. `docs/driver.md` shows how to use all this.

mod bulk;
#[cfg(target_os = "linux")]
mod claim;
pub mod collective;
mod completion;
mod context;
mod copies;
mod device;
mod endpoint;
mod error;
mod exposed;
mod lock;
mod long;
pub mod memory;
pub mod multicast;
mod onesided;
mod parts;
mod port;
mod queue;
mod reduction;
mod ring;
mod schedule;
#[cfg(target_os = "linux")]
pub mod shared;
#[cfg(target_os = "linux")]
mod vfio;
#[cfg(target_os = "linux")]
mod vfio_user;
mod window;

#[cfg(target_os = "linux")]
pub use crate::claim::{Claim, ClaimError};
#[cfg(target_os = "linux")]
pub use crate::vfio::VfioDevice;
#[cfg(target_os = "linux")]
pub use crate::vfio_user::VfioUserDevice;
pub use bulk::TransferRequest;
pub use completion::{CompletionQueue, WorkCompletion};
pub use context::{BulkTuning, Context, Options, Sizes};
pub use device::{Device, DeviceError, DmaMemory};
pub use endpoint::{EndpointConfig, EndpointEvent, ReliableEndpoint, Waiter};
pub use error::{Error, MapVersion, PostError, Rejected};
pub use exposed::Exposed;
pub use long::LongStats;
pub use memory::{Access, Buffer, MemoryRegion, ProtectionDomain};
pub use onesided::{OneSided, OneSidedCompletion, OneSidedConfig, Through};
pub use queue::{AddressHandle, Batch, QueuePair, QueuePairBuilder, SendRequest};
pub use reduction::{ReductionArrival, ReductionGroup, ReductionPair};
pub use tributary_protocol::card::command::State as QueuePairState;
pub use tributary_protocol::card::descriptor::Of as WorkCompletionOpcode;
pub use tributary_protocol::card::regs::{
    BulkCounter, CongestionCounter, Counter, ReductionCounter,
};
pub use tributary_protocol::xud::{Outcome as WorkCompletionStatus, Window};
pub use window::{Grant, OpenWindow, Remote};
