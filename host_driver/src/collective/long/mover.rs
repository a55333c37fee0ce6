//! The queue pair by which a host writes blocks into memory of others.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tributary_protocol::card::descriptor::flags;

use crate::{
    AddressHandle, CompletionQueue, Error, Exposed, PostError, ProtectionDomain, QueuePair, Remote,
    WorkCompletion, WorkCompletionStatus,
};

/// Transfers that are posted at once; others wait here.
const SENDS: u16 = 64;

/// A block for somebody.
pub struct Block {
    /// The communicator that it is of.
    pub name: u64,
    pub to: AddressHandle,
    pub there: Remote,
    pub memory: Arc<Exposed>,
    /// Place in it, and bytes.
    pub part: (usize, u32),
}

/// What writes. The queue pair goes before the memory that it writes from.
pub struct Mover {
    pair: QueuePair,
    queue: CompletionQueue,
    waiting: VecDeque<(u64, Block)>,
    under_way: BTreeMap<u64, Block>,
    next: u64,
    ended: Vec<WorkCompletion>,
}

impl Mover {
    /// Nothing if the card has no bulk transfers, or no queue pair for them.
    pub fn new(domain: &ProtectionDomain, q_key: u32, vector: u32) -> Option<Self> {
        if domain.context().sizes().transfers == 0 {
            return None;
        }
        let queue = domain.context().create_cq(vector).ok()?;
        let builder = domain.create_qp(&queue).q_key(q_key);
        let pair = builder.max_send_wr(SENDS).max_recv_wr(1).build().ok()?;
        pair.activate().ok()?;
        Some(Self {
            pair,
            queue,
            waiting: VecDeque::new(),
            under_way: BTreeMap::new(),
            next: 0,
            ended: Vec::new(),
        })
    }

    pub fn qp_num(&self) -> u32 {
        self.pair.qp_num()
    }

    /// Begins a transfer; its number.
    pub fn send(&mut self, block: Block) -> u64 {
        let number = self.next;
        self.next += 1;
        self.waiting.push_back((number, block));
        number
    }

    /// Posts what waits; those that cannot be have ended.
    fn post(&mut self, ended: &mut Vec<(u64, u64, bool)>) -> Result<(), Error> {
        let mut batch = self.pair.batch();
        while let Some((number, block)) = self.waiting.pop_front() {
            let bits = (flags::OLDEST_FIRST.mask(), 0);
            let (to, part) = (block.to, block.part);
            match batch.write_exposed(number, to, &block.memory, part, block.there, bits) {
                Ok(()) => drop(self.under_way.insert(number, block)),
                Err(PostError::Full(_)) => {
                    self.waiting.push_front((number, block));
                    break;
                }
                Err(PostError::Device(error)) => return Err(error.into()),
                Err(_) => ended.push((block.name, number, false)),
            }
        }
        match batch.ring() {
            Ok(()) => Ok(()),
            Err(rejected) => match rejected.error {
                PostError::Device(error) => Err(error.into()),
                // A queue pair that sends no more tells by its completions.
                _ => Ok(()),
            },
        }
    }

    /// Posts and polls: communicator and number of transfers that have ended, and whether all is written.
    pub fn run(&mut self) -> Result<Vec<(u64, u64, bool)>, Error> {
        let mut ended = Vec::new();
        if !self.under_way.is_empty() {
            self.queue.poll(&mut self.ended, usize::from(SENDS))?;
            for done in self.ended.drain(..) {
                let written = done.status == WorkCompletionStatus::Ok;
                let block = self.under_way.remove(&done.wr_id);
                ended.extend(block.map(|block| (block.name, done.wr_id, written)));
            }
        }
        if !self.waiting.is_empty() {
            self.post(&mut ended)?;
        }
        Ok(ended)
    }
}
