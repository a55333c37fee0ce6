//! Blocks on a queue pair: writes that notify, and what is notified.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tributary_protocol::card::descriptor::flags;
use tributary_protocol::multicast::group::wire::Place;

use crate::queue::AddressHandle;
use crate::{
    Access, CompletionQueue, Error, Exposed, MemoryRegion, PostError, ProtectionDomain, QueuePair,
    Remote, WorkCompletion, WorkCompletionOpcode, WorkCompletionStatus,
};

/// Blocks that are posted at once; others wait here.
const SENDS: u16 = 64;
/// Receive requests beyond those that credits take: for strangers, whose notifications take some, too.
const SPARE: u16 = 14;
/// Bytes of a receive request: a notification writes none.
const INBOX: usize = 64;

/// A block to send.
pub struct Block {
    pub to: u32,
    pub message: u32,
    pub node: u32,
    pub memory: Arc<Exposed>,
    /// Place in it, and bytes.
    pub part: (usize, u32),
    pub place: Place,
}

/// What has happened.
pub enum Moved {
    /// A block has left, and is where it belongs.
    Sent { message: u32 },
    /// It did not arrive.
    Lost { to: u32 },
    /// A block has landed here.
    Landed { node: u32, tag: u32, bytes: u32 },
    /// Something that no member of a group sends.
    Strange,
}

/// The queue pair of a group. It goes before the memory that it writes from.
pub struct Carrier {
    pair: QueuePair,
    queue: CompletionQueue,
    inbox: MemoryRegion,
    waiting: VecDeque<Block>,
    /// By the name of the request; with the memory that the card reads.
    under_way: BTreeMap<u64, Block>,
    next: u64,
    ended: Vec<WorkCompletion>,
}

impl Carrier {
    pub fn new(
        domain: &ProtectionDomain,
        q_key: u32,
        vector: u32,
        credits: u32,
    ) -> Result<Self, Error> {
        let receives = u16::try_from(credits).ok();
        let receives = receives.and_then(|credits| credits.checked_add(SPARE));
        let receives = receives.ok_or(Error::Range {
            what: "credits",
            value: credits.into(),
            min: 2,
            max: u64::from(u16::MAX - SPARE),
        })?;
        let queue = domain.context().create_cq(vector)?;
        let builder = domain.create_qp(&queue).q_key(q_key);
        let pair = builder.max_send_wr(SENDS).max_recv_wr(receives).build()?;
        pair.activate()?;
        let inbox = domain.reg_mr(INBOX * usize::from(receives), Access::LOCAL_WRITE)?;
        let carrier = Self {
            pair,
            queue,
            inbox,
            waiting: VecDeque::new(),
            under_way: BTreeMap::new(),
            next: 0,
            ended: Vec::new(),
        };
        for _ in 0..receives {
            carrier.post_receive()?;
        }
        Ok(carrier)
    }

    pub fn qp_num(&self) -> u32 {
        self.pair.qp_num()
    }

    fn post_receive(&self) -> Result<(), Error> {
        let Some(buffer) = self.inbox.alloc(INBOX) else {
            return Ok(());
        };
        match self.pair.post_recv(0, buffer) {
            Err(rejected) => match rejected.error {
                PostError::Device(error) => Err(error.into()),
                _ => Ok(()),
            },
            Ok(()) => Ok(()),
        }
    }

    pub fn send(&mut self, block: Block) {
        self.waiting.push_back(block);
    }

    /// Posts what waits, as far as there is room.
    fn post(&mut self) -> Result<Vec<Moved>, Error> {
        let mut lost = Vec::new();
        while let Some(block) = self.waiting.front() {
            let place = block.place;
            let there = Remote {
                address: place.address,
                rkey: place.rkey,
            };
            // A number that no card has is nobody's queue pair.
            let Ok(to) = AddressHandle::new(block.node, place.qp_num) else {
                lost.push(Moved::Lost { to: block.to });
                self.waiting.pop_front();
                continue;
            };
            let mut batch = self.pair.batch();
            match batch.write_exposed(
                self.next,
                to,
                &block.memory,
                block.part,
                there,
                (flags::NOTIFY.mask(), place.tag),
            ) {
                Ok(()) => {}
                Err(PostError::Full(_)) => break,
                Err(PostError::Device(error)) => return Err(error.into()),
                Err(_) => {
                    lost.push(Moved::Lost { to: block.to });
                    self.waiting.pop_front();
                    continue;
                }
            }
            drop(batch);
            if let Some(block) = self.waiting.pop_front() {
                self.under_way.insert(self.next, block);
            }
            self.next += 1;
        }
        Ok(lost)
    }

    /// Posts and polls.
    pub fn run(&mut self) -> Result<Vec<Moved>, Error> {
        let mut moved = self.post()?;
        self.queue.poll(&mut self.ended, 32)?;
        for ended in std::mem::take(&mut self.ended) {
            if ended.opcode == WorkCompletionOpcode::Send {
                let block = self.under_way.remove(&ended.wr_id);
                moved.extend(block.map(|Block { to, message, .. }| match ended.status {
                    WorkCompletionStatus::Ok => Moved::Sent { message },
                    _ => Moved::Lost { to },
                }));
                continue;
            }
            let flushed = ended.status == WorkCompletionStatus::Flushed;
            moved.push(match ended.immediate() {
                Some(tag) if ended.status == WorkCompletionStatus::Ok => Moved::Landed {
                    node: ended.peer.node(),
                    tag,
                    bytes: ended.byte_len,
                },
                _ => Moved::Strange,
            });
            drop(ended);
            if !flushed {
                self.post_receive()?;
            }
        }
        moved.extend(self.post()?);
        Ok(moved)
    }
}
