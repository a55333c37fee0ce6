//! What the members of an offloaded group tell each other.

use super::{OffloadError, OffloadOptions};

/// What the other members must know of one; how they get it is the program's matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Its rank.
    pub rank: u32,
    /// Its node.
    pub node: u32,
    /// Q_Key of its queue pairs.
    pub q_key: u32,
    /// Members of its group.
    pub members: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Most blocks of a message.
    pub most_blocks: u32,
    /// Where its memory for a message begins.
    pub address: u64,
    /// Key of this memory.
    pub rkey: u32,
    /// Its queue pairs, by peer.
    pub pairs: Vec<TicketPairs>,
}

/// Queue pairs of a member for one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketPairs {
    /// Rank of the peer.
    pub peer: u32,
    /// The queue pairs that blocks leave by, and that take the peer's grants, a lane each; none if no block goes there.
    pub sends: Vec<u32>,
    /// The queue pairs that blocks come to, and that the peer is granted them by; none if no block comes.
    pub receives: Vec<u32>,
}

/// The ticket of a rank, if it is of the same group.
pub(super) fn of<'a>(
    tickets: &'a [Ticket],
    rank: u32,
    options: &OffloadOptions,
) -> Result<&'a Ticket, OffloadError> {
    let mut all = tickets.iter().filter(|ticket| ticket.rank == rank);
    let (Some(ticket), None) = (all.next(), all.next()) else {
        let count = tickets.iter().filter(|ticket| ticket.rank == rank).count();
        return Err(OffloadError::Tickets { rank, count });
    };
    for (what, found, expected) in [
        ("Q_Key", ticket.q_key, options.q_key),
        ("members", ticket.members, options.members),
        ("bytes of a block", ticket.block_bytes, options.block_bytes),
        (
            "blocks of a message",
            ticket.most_blocks,
            options.most_blocks,
        ),
    ] {
        if found != expected {
            return Err(OffloadError::Ticket {
                rank,
                what,
                found: found.into(),
                expected: expected.into(),
            });
        }
    }
    Ok(ticket)
}
