//! What a group is made with.

use std::collections::BTreeMap;
use std::time::Duration;

use tributary_protocol::multicast::Algorithm;
use tributary_protocol::multicast::group::GroupConfig;

use super::MulticastError;
use crate::AddressHandle;

/// Most members of a group: what its control messages have room for.
pub const MAX_MEMBERS: usize = 4_096;

/// Who carries the blocks of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// The hosts pass them on, as they are polled.
    #[default]
    ByHosts,
    /// The cards, which must have schedule rings: hosts do nothing between the beginning of a message and its end (MB-16).
    ByCards(ByCards),
}

/// How cards carry the blocks of a group. All but `watchdog` must be the same at all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByCards {
    /// Most blocks of a message. A card has memory for one message of so many beside [`GroupOptions::memory`].
    pub most_blocks: u32,
    /// Queue pairs for each peer and direction, which its blocks take in turns. Of two members 2 are faster than 1.
    pub lanes: u8,
    /// A message that has begun and does not get on for so long ends the group, also if a member has no memory for it yet; zero:
    /// never. Members that go are found without.
    pub watchdog: Duration,
}

impl Default for ByCards {
    /// Up to 64 blocks, one lane, no watchdog.
    fn default() -> Self {
        Self {
            most_blocks: 64,
            lanes: 1,
            watchdog: Duration::ZERO,
        }
    }
}

/// What a group is made with. Algorithm, racks, bytes of a block, root, epoch and who carries the blocks must be the same at all
/// members (MB-8).
#[derive(Clone, Debug)]
pub struct GroupOptions {
    /// Who sends; the first member unless told.
    pub root: Option<AddressHandle>,
    /// Bytes of a block; the last one of a message may be shorter.
    pub block_bytes: u32,
    /// Shape of the schedules.
    pub algorithm: Algorithm,
    /// Members of each rack, for [`Algorithm::Hybrid`]; else empty.
    pub racks: Vec<u32>,
    /// Who carries the blocks.
    pub carried: Carried,
    /// Blocks that this member allows to be on their way to it at once, at least 2 (MB-9).
    pub credits: u32,
    /// Bytes of this member's memory for messages: those that it gets, passes on, or has not given back. A message that is
    /// longer fails the group.
    pub memory: usize,
    /// Keep every message until the group ends, so that survivors of a failure can [`resume`](super::Group::resume) it.
    /// `memory` must have room for all of them.
    pub resumable: bool,
    /// Tells groups of the same endpoints apart; a later one has a higher number.
    pub epoch: u32,
    /// A member whose host is silent for so long is gone. Hosts speak while they are polled.
    pub silence: Duration,
    /// The same until all have made the group.
    pub join: Duration,
}

impl Default for GroupOptions {
    /// A binomial pipeline, blocks of 1 MiB that hosts carry, two credits, 64 MiB of memory, 5 s of silence, 30 s to join.
    fn default() -> Self {
        Self {
            root: None,
            block_bytes: 1 << 20,
            algorithm: Algorithm::BinomialPipeline,
            racks: Vec::new(),
            carried: Carried::ByHosts,
            credits: 2,
            memory: 64 << 20,
            resumable: false,
            epoch: 0,
            silence: Duration::from_secs(5),
            join: Duration::from_secs(30),
        }
    }
}

/// Members by rank, the root first.
pub fn by_rank(
    members: &[AddressHandle],
    root: Option<AddressHandle>,
) -> Result<Vec<AddressHandle>, MulticastError> {
    if members.len() > MAX_MEMBERS {
        return Err(MulticastError::Members(members.len()));
    }
    let mut seen = BTreeMap::new();
    for (place, &member) in members.iter().enumerate() {
        if let Some(first) = seen.insert(member, place) {
            return Err(MulticastError::Twice {
                member,
                places: [first, place],
            });
        }
    }
    let mut ranks = members.to_vec();
    if let Some(root) = root {
        let place = ranks.iter().position(|&member| member == root);
        let place = place.ok_or(MulticastError::RootNotMember(root))?;
        ranks[..=place].rotate_right(1);
    }
    Ok(ranks)
}

impl GroupOptions {
    /// What the protocol must know of it.
    pub(super) fn config(&self, ranks: &[AddressHandle]) -> GroupConfig {
        GroupConfig {
            algorithm: self.algorithm,
            racks: self.racks.clone(),
            credits: self.credits,
            identity: identity(ranks, self.carried),
            offload: self.carried != Carried::ByHosts,
            ..GroupConfig::new(ranks.len() as u32, self.block_bytes)
        }
    }
}

/// A number made of what else must be equal, so that two groups are taken for one only by accident: FNV-1a over node and queue
/// pair of each member; if cards carry the blocks, over most blocks and lanes behind them.
fn identity(ranks: &[AddressHandle], carried: Carried) -> u64 {
    let bytes = ranks.iter().flat_map(|member| {
        let (node, number) = (member.node().to_be_bytes(), member.qp_num().to_be_bytes());
        node.into_iter().chain(number)
    });
    let cards = match carried {
        Carried::ByHosts => None,
        Carried::ByCards(cards) => Some(cards),
    };
    let cards = cards.into_iter().flat_map(|cards| {
        let blocks = cards.most_blocks.to_be_bytes();
        blocks.into_iter().chain([cards.lanes])
    });
    bytes
        .chain(cards)
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
        })
}
