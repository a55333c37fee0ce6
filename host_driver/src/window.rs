//! Windows for one-sided operations of others (XUD-13): who may do what with memory here.

use tributary_protocol::card::command::argument::open_window;
use tributary_protocol::card::command::{Arguments, Command};
use tributary_protocol::xud::onesided::ATOMIC_LEN;

use crate::queue::QueueRings;
use crate::{AddressHandle, Context, Error};

/// What the one that a window is for has to know. It travels however the program likes, for example in a reliable message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Node of the memory.
    pub node: u32,
    /// Queue pair there.
    pub qp_num: u32,
    /// Window there.
    pub window: u16,
    /// Its epoch (XUD-6).
    pub epoch: u16,
}

impl Grant {
    /// As bytes, for a message.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&self.node.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.qp_num.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.window.to_be_bytes());
        bytes[10..].copy_from_slice(&self.epoch.to_be_bytes());
        bytes
    }

    /// Of the bytes of a message. Numbers that no card has are refused where they are used.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 12]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *bytes;
        Self {
            node: u32::from_be_bytes([a, b, c, d]),
            qp_num: u32::from_be_bytes([e, f, g, h]),
            window: u16::from_be_bytes([i, j]),
            epoch: u16::from_be_bytes([k, l]),
        }
    }
}

/// Memory of another host: an address there and the key of its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Remote {
    /// As the card there knows it.
    pub address: u64,
    /// Of the region.
    pub rkey: u32,
}

impl Remote {
    /// So many bytes behind.
    #[must_use]
    pub fn at(self, offset: u64) -> Self {
        let address = self.address.wrapping_add(offset);
        Self { address, ..self }
    }

    /// Whether an atomic can be done there.
    pub(crate) fn is_aligned(self) -> bool {
        self.address.is_multiple_of(ATOMIC_LEN as u64)
    }
}

/// A window of this card that is open; closed when this is dropped. What is under way in it then has been done, or never will be.
pub struct OpenWindow {
    context: Context,
    grant: Grant,
}

impl OpenWindow {
    /// Opens a window of a queue pair for one of another card. Each has an epoch of its own, so that copies of what came
    /// through an earlier one are refused; after 2^15 of them the first ones are refused, too.
    pub(crate) fn new(
        context: &Context,
        rings: &mut QueueRings,
        peer: AddressHandle,
    ) -> Result<Self, Error> {
        let (number, _) = context.0.windows.take()?;
        let opened = rings.next_epoch().and_then(|epoch| {
            let mut args = Arguments::default();
            open_window::QPN.put(&mut args, rings.number());
            open_window::NODE.put(&mut args, peer.node());
            open_window::PEER.put(&mut args, peer.qp_num());
            open_window::EPOCH.put(&mut args, epoch);
            context.command(Command::OpenWindow, number, &args)?;
            Ok(epoch)
        });
        match opened {
            Ok(epoch) => Ok(Self {
                context: context.clone(),
                grant: Grant {
                    node: context.options().node,
                    qp_num: rings.number(),
                    window: number as u16,
                    epoch,
                },
            }),
            Err(error) => {
                if matches!(error, Error::Refused { .. }) {
                    context.0.windows.give(number);
                }
                Err(error)
            }
        }
    }

    /// For the one that it was opened for.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }
}

impl Drop for OpenWindow {
    fn drop(&mut self) {
        let number = self.grant.window.into();
        // A window that the card may still have is not opened for somebody else.
        let none = Arguments::default();
        if (self.context.command(Command::CloseWindow, number, &none)).is_ok() {
            self.context.0.windows.give(number);
        }
    }
}
