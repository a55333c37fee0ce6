//! The endpoint by which others know a member, before there is a group and after it.

use tributary_protocol::multicast::group::wire::Datagram;

use crate::{AddressHandle, EndpointConfig, Error, ProtectionDomain, ReliableEndpoint};

/// Datagrams of groups that are still to be made here: so many are kept.
const EARLY: usize = 1_024;

/// An endpoint for groups, one at a time. Its address is its member's name.
pub struct Seat {
    pub(super) endpoint: ReliableEndpoint,
    pub(super) domain: ProtectionDomain,
    pub(super) config: EndpointConfig,
    early: Vec<(AddressHandle, Datagram)>,
}

impl Seat {
    /// Makes an endpoint; it delivers in order and refuses messages above 64 KiB, whatever `config` says.
    ///
    /// # Errors
    /// As [`ReliableEndpoint::new`].
    pub fn new(domain: &ProtectionDomain, config: EndpointConfig) -> Result<Self, Error> {
        let config = EndpointConfig {
            ordered: true,
            long_bytes: 0,
            ..config
        };
        Ok(Self {
            endpoint: ReliableEndpoint::new(domain, config)?,
            domain: domain.clone(),
            config,
            early: Vec::new(),
        })
    }

    /// How others address it.
    #[must_use]
    pub fn address(&self) -> AddressHandle {
        self.endpoint.address()
    }

    /// Keeps a datagram for a group that is made later; false if there is no room.
    pub(super) fn keep(&mut self, from: AddressHandle, datagram: Datagram) -> bool {
        let room = self.early.len() < EARLY;
        if room {
            self.early.push((from, datagram));
        }
        room
    }

    /// What came for a group before it was made; what came for older ones is gone.
    pub(super) fn take_early(&mut self, epoch: u32) -> Vec<(AddressHandle, Datagram)> {
        self.early.retain(|(_, d)| !is_older(d.epoch, epoch));
        let now = |(_, d): &mut (AddressHandle, Datagram)| d.epoch == epoch;
        self.early.extract_if(.., now).collect()
    }
}

/// Whether an epoch is before another one, modulo 2^32.
pub fn is_older(epoch: u32, than: u32) -> bool {
    (epoch.wrapping_sub(than) as i32) < 0
}
