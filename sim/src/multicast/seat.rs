//! One member's place in a run: its machine, and what its card is about to send and to take.

use std::collections::VecDeque;

use tributary_protocol::multicast::Schedule;
use tributary_protocol::multicast::group::Member;
use tributary_protocol::multicast::ring::GroupId;

use super::{FlowId, Time};

/// A block of a message, from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub message: u32,
    pub block: u32,
    pub to: u32,
}

/// A block that is on its way, or waits for its turn at the receiver.
#[derive(Clone, Copy, Debug)]
pub struct OnWire {
    pub flow: FlowId,
    pub block: Block,
    pub start: Time,
}

/// The next block that a member takes, in the order of its schedules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    pub message: u32,
    step: u64,
    next: Option<u32>,
}

impl Cursor {
    /// The block whose turn it is. `schedules` are those of the messages that have begun.
    pub fn block(&mut self, rank: u32, schedules: &[Schedule]) -> Option<(u32, u32)> {
        loop {
            if let Some(block) = self.next {
                return Some((self.message, block));
            }
            let schedule = schedules.get(self.message as usize)?;
            match schedule.receives(rank, self.step).next() {
                Some((step, receive)) => {
                    self.step = step + 1;
                    self.next = Some(receive.block);
                }
                None => {
                    self.message += 1;
                    self.step = 0;
                }
            }
        }
    }

    /// It has come.
    pub fn advance(&mut self) {
        self.next = None;
    }
}

/// A member of a group on its node.
#[derive(Debug)]
pub struct Seat {
    pub node: u32,
    pub member: Member,
    /// Its place on the card, if the group is offloaded.
    pub place: GroupId,
    /// Blocks that its card was told to send.
    pub queue: VecDeque<Block>,
    pub on_wire: Option<OnWire>,
    /// Ranks whose blocks for this one wait for their turn.
    pub waiting: Vec<u32>,
    pub cursor: Cursor,
    /// By message: for each block what it holds, 0 for nothing.
    pub content: Vec<Vec<u32>>,
    /// Dead members that it will learn of.
    pub will_detect: Vec<u32>,
}

impl Seat {
    pub fn new(node: u32, member: Member) -> Self {
        Self {
            node,
            member,
            place: GroupId(0),
            queue: VecDeque::new(),
            on_wire: None,
            waiting: Vec::new(),
            cursor: Cursor::default(),
            content: Vec::new(),
            will_detect: Vec::new(),
        }
    }

    /// Room for the blocks of messages up to this one.
    pub fn make_room(&mut self, message: u32, schedules: &[Schedule]) {
        while self.content.len() <= message as usize {
            let blocks = schedules[self.content.len()].blocks() as usize;
            self.content.push(vec![0; blocks]);
        }
    }

    pub fn holds(&self, message: u32, block: u32) -> u32 {
        let content = self.content.get(message as usize);
        content.map_or(0, |c| c[block as usize])
    }
}

/// What the root puts into a block: never 0.
pub fn content(message: u32, block: u32) -> u32 {
    (message.wrapping_mul(0x9e37_79b9) ^ block.wrapping_mul(0x85eb_ca6b)) | 1
}
