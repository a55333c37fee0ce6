//! Fabric addresses and the MAC addresses that carry them.
//!
//! | bits | unicast | multicast |
//! |---|---|---|
//! | 31:23 | node 19:11 | 0x1ff |
//! | 22:21 | node 10:9 | free, sent as 0 |
//! | 20:18 | node 8:6 | reduction id |
//! | 17:16 | node 5:4 | free, sent as 0 |
//! | 15:3 | node 3:0, endpoint 11:3 | tree |
//! | 2:0 | endpoint 2:0 | 7 |
//!
//! MAC address: 02:00 and the four bytes of the address, with the group bit (03:00) for multicast.

use std::fmt;

/// Trees that an address can name.
pub const TREES: u16 = 1 << 13;
/// Reductions of one tree that can be under way at once.
pub const REDUCTIONS: u8 = 8;
/// Nodes that an address can name.
pub const NODES: u32 = 1 << 20;
/// Endpoints of a node.
pub const ENDPOINTS: u16 = 1 << 12;
/// Bits of a multicast address that are fixed.
pub const MULTICAST_MASK: u32 = 0xffe3_0007;
/// Their values.
pub const MULTICAST: u32 = 0xff80_0007;
/// First two bytes of the MAC address of a unicast address.
pub const MAC: u16 = 0x0200;
/// Of a multicast address: with the group bit.
pub const MAC_GROUP: u16 = 0x0300;

/// What identifies a reduction to a switch, besides VNI and cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Tree, 13 bits.
    pub tree: u16,
    /// Reduction id, 3 bits.
    pub reduction: u8,
}

impl Key {
    /// The multicast address; bits beyond the fields are left out.
    #[must_use]
    pub const fn address(self) -> Address {
        Address(
            MULTICAST
                | (self.reduction as u32 & 7) << 18
                | (self.tree as u32 & (TREES as u32 - 1)) << 3,
        )
    }
}

/// DFA or SFA: a fabric address of 32 bits. Multicast is what has the fixed bits of multicast.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Address(pub u32);

impl Address {
    /// An endpoint of a node; bits beyond 20 and 12 are left out.
    #[must_use]
    pub const fn unicast(node: u32, endpoint: u16) -> Self {
        Self((node & (NODES - 1)) << 12 | endpoint as u32 & (ENDPOINTS as u32 - 1))
    }

    /// Node of a unicast address.
    #[must_use]
    pub const fn node(self) -> u32 {
        self.0 >> 12
    }

    /// Endpoint of a unicast address.
    #[must_use]
    pub const fn endpoint(self) -> u16 {
        (self.0 & (ENDPOINTS as u32 - 1)) as u16
    }

    /// Tree and reduction id, if this is a multicast address: bits 31:23 and 2:0 set, 22:21 and 17:16 clear.
    #[must_use]
    pub const fn multicast(self) -> Option<Key> {
        if self.0 & MULTICAST_MASK == MULTICAST {
            Some(Key {
                tree: (self.0 >> 3) as u16 & (TREES - 1),
                reduction: (self.0 >> 18) as u8 & 7,
            })
        } else {
            None
        }
    }

    /// The MAC address.
    #[must_use]
    pub const fn mac(self) -> [u8; 6] {
        let [a, b, c, d] = self.0.to_be_bytes();
        let [group, zero] = match self.multicast() {
            Some(_) => MAC_GROUP.to_be_bytes(),
            None => MAC.to_be_bytes(),
        };
        [group, zero, a, b, c, d]
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.multicast() {
            Some(key) => write!(f, "tree {}.{}", key.tree, key.reduction),
            None => write!(f, "{}:{}", self.node(), self.endpoint()),
        }
    }
}
