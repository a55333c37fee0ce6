//! Members of a group: a queue pair for each peer and direction, and all requests of a message posted beforehand.

use tributary_protocol::card::descriptor::{Completion, OPCODE_BULK_WRITE, Of, WorkRequest, flags};
use tributary_protocol::multicast::ring::{EndCode, EntryKind, EntryWriter};
use tributary_protocol::multicast::{Algorithm, Schedule};
use tributary_protocol::xud::onesided::{H_ADDRESS, H_OPERATION, H_RKEY, Operation};
use tributary_protocol::xud::{Peer, Window};

use crate::world::{DATA, DATA_KEY, World, node_of};

pub const BLOCK: u32 = 5_000;
pub const SENDS: u32 = 1;
pub const RECEIVES: u32 = 2;

/// How a group's ends look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub code: u32,
    pub slot: u32,
    pub message: u32,
    pub user: u32,
    pub fetched: u16,
}

/// A group of all hosts of a world.
pub struct Group {
    pub number: u8,
    pub members: u32,
    pub algorithm: Algorithm,
    /// Nobody posts a receive request for the end.
    pub without_ends: bool,
    writers: Vec<EntryWriter>,
    neighbours: Vec<Vec<u32>>,
}

/// A bulk WRITE that notifies, behind a fence.
pub fn work(to: Peer, at: u64, length: u32, immediate: u32) -> WorkRequest {
    let mut head = [0; 16];
    H_ADDRESS.put(&mut head, at);
    H_RKEY.put(&mut head, DATA_KEY);
    H_OPERATION.put(&mut head, Operation::Write.code());
    WorkRequest {
        opcode: OPCODE_BULK_WRITE,
        flags: (flags::NOTIFY.mask() | flags::FENCE.mask()) as u8,
        head_len: 16,
        length,
        wr_id: 0,
        address: at,
        lkey: DATA_KEY,
        version_flags: 0x18,
        to,
        window: Window {
            msn: immediate,
            ..Window::default()
        },
        head,
    }
}

impl Group {
    /// Opens a group with number `number` on every host.
    pub fn new(world: &mut World, number: u8, algorithm: Algorithm, watchdog: u16) -> Self {
        let members = world.hosts.len() as u32;
        let origin = u32::MAX - 2;
        let schedule = Schedule::new(algorithm, members, 1 << 10).unwrap();
        let all = 0..members;
        let neighbours: Vec<Vec<u32>> = all.map(|r| schedule.neighbours(r).collect()).collect();
        let writers = neighbours.iter().zip(0..);
        let writers =
            writers.map(|(peers, rank)| EntryWriter::new(rank, 2, origin, peers.clone()).unwrap());
        let group = Self {
            number,
            members,
            algorithm,
            without_ends: false,
            writers: writers.collect(),
            neighbours,
        };
        for rank in 0..members {
            let ends = group.ends();
            let host = &mut world.hosts[rank as usize];
            host.connect(ends);
            for (slot, _) in (0..).zip(&group.neighbours[rank as usize]) {
                for role in [SENDS, RECEIVES] {
                    let pair = group.pair(role, slot);
                    host.connect(pair);
                    host.bind(role, number, slot, pair);
                }
            }
            assert!(host.open(number, ends, watchdog, rank == 0, origin));
            assert_eq!(host.refused(), 0);
        }
        group
    }

    /// Queue pair of a peer in one direction.
    pub fn pair(&self, role: u32, slot: u8) -> u32 {
        16 * u32::from(self.number) + 2 * u32::from(slot) + role
    }

    /// Queue pair of the ends.
    pub fn ends(&self) -> u32 {
        16 * u32::from(self.number)
    }

    pub fn slot(&self, rank: u32, peer: u32) -> u8 {
        self.writers[rank as usize].slot(peer).unwrap()
    }

    fn other(&self, rank: u32, slot: u8, role: u32) -> Peer {
        let peer = self.neighbours[rank as usize][usize::from(slot)];
        Peer {
            node: node_of(peer as u16),
            qpn: self.pair(role, self.slot(peer, rank)),
        }
    }

    /// Where the next message lies, at all members.
    pub fn place(&self) -> u64 {
        DATA + u64::from(self.number) * 0x4_0000
    }

    /// Writes all that a member needs for the next message, and rings its ring once.
    pub fn post_member(&mut self, world: &mut World, rank: u32, length: u32, user: u64) {
        let blocks = length.div_ceil(BLOCK);
        let schedule = Schedule::new(self.algorithm, self.members, blocks).unwrap();
        let entries = self.writers[rank as usize]
            .message(&schedule, user)
            .unwrap();
        let ends = self.ends();
        for entry in &entries {
            let (role, request) = match entry.kind {
                EntryKind::Done => {
                    if !self.without_ends {
                        world.hosts[rank as usize].post_receive(ends, user);
                    }
                    continue;
                }
                EntryKind::Send => {
                    let offset = entry.block * BLOCK;
                    let bytes = BLOCK.min(length - offset);
                    let to = self.other(rank, entry.to, RECEIVES);
                    (SENDS, work(to, self.place() + u64::from(offset), bytes, 0))
                }
                EntryKind::Grant => {
                    let to = self.other(rank, entry.to, SENDS);
                    (RECEIVES, work(to, self.place(), 0, entry.credit))
                }
            };
            let pair = self.pair(role, entry.to);
            let host = &mut world.hosts[rank as usize];
            host.prepare(pair, &request);
            // What comes back: a grant for each block, a block for each grant.
            host.post_receive(pair, 0);
        }
        let host = &mut world.hosts[rank as usize];
        let posted = host.write_entries(self.number, &entries);
        assert!(host.ring_command(1, self.number, posted));
    }

    /// The same at all members.
    pub fn post(&mut self, world: &mut World, length: u32, user: u64) {
        for rank in 0..self.members {
            self.post_member(world, rank, length, user);
        }
    }

    /// The next end that a member is told.
    pub fn end(&self, world: &mut World, rank: u32) -> Option<End> {
        let Completion {
            of,
            peer,
            window,
            length,
            q_key,
            ..
        } = world.hosts[rank as usize].poll(self.ends())?;
        assert_eq!((of, peer.node), (Of::Notify, node_of(rank as u16)));
        assert_eq!(peer.qpn, self.number.into());
        Some(End {
            code: length & 0xFF,
            slot: length >> 8 & 0xFF,
            message: window.msn,
            user: q_key,
            fetched: (length >> 16) as u16,
        })
    }

    /// The only end of each member has this code.
    pub fn all_end(&self, world: &mut World, code: EndCode) {
        for rank in 0..self.members {
            let end = self
                .end(world, rank)
                .unwrap_or_else(|| panic!("{rank}: no end"));
            assert_eq!(end.code, code as u32, "{rank}");
            assert_eq!(self.end(world, rank), None, "{rank}");
        }
    }
}
