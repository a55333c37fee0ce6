//! Messages both ways between queue pairs of the same number; every request is watched until its one completion.

use std::collections::HashSet;

use tributary_protocol::card::descriptor::{Of, ReceiveRequest, WorkRequest};
use tributary_protocol::xud::{Outcome, Peer, Window};

use super::bench::{AREA, Dice, NODES, Pair, Queue, READS, Region, WRITES};

/// Work requests and receive requests that a queue pair has open at most.
const OPEN: usize = 12;
/// Bytes of a message, at most; no larger than the MTU that tests set.
pub const LARGEST: u64 = 256;

/// The region of all that cards read.
pub const READABLE: Region = Region {
    index: 30,
    variant: 0xA5,
    local_write: false,
    domain: 7,
    base: READS,
    length: AREA,
};
/// The region of all that cards write.
pub const WRITABLE: Region = Region {
    index: 31,
    variant: 0x5A,
    local_write: true,
    domain: 7,
    base: WRITES,
    length: AREA,
};

/// A request of a message that any queue pair takes, of whatever epoch.
pub fn work(to: Peer, address: u64, length: u64, wr_id: u64) -> WorkRequest {
    WorkRequest {
        opcode: 1,
        flags: 0,
        head_len: 0,
        length: length as u32,
        wr_id,
        address,
        lkey: READABLE.key(),
        version_flags: 0x11,
        to,
        window: Window::default(),
        head: [0; 16],
    }
}

/// A queue pair in use.
pub struct Flow {
    pub queue: Queue,
    /// Numbers of the work and receive requests that have not ended.
    open: [HashSet<u16>; 2],
    /// A ring could not be read.
    pub dead: bool,
}

/// The queue pairs of two cards.
pub struct Traffic {
    pub flows: [Vec<Flow>; 2],
    /// Messages that ended OK.
    pub good: u64,
    /// Completions OK of received messages, by node.
    pub landed: [u64; 2],
}

impl Traffic {
    pub fn new() -> Self {
        Self {
            flows: [Vec::new(), Vec::new()],
            good: 0,
            landed: [0, 0],
        }
    }

    /// Opens a card and makes its queue pairs.
    pub fn start(&mut self, pair: &mut Pair, at: usize, queues: &[Queue]) {
        pair.open(at, 512);
        pair.set_region(at, &READABLE);
        pair.set_region(at, &WRITABLE);
        self.flows[at].clear();
        for queue in queues {
            pair.create(at, queue);
            self.flows[at].push(Flow {
                queue: queue.clone(),
                open: [HashSet::new(), HashSet::new()],
                dead: false,
            });
        }
    }

    /// Takes completions; if `more`, posts requests in place of those that have ended.
    pub fn pump(&mut self, pair: &mut Pair, dice: &mut Dice, more: bool) {
        for at in 0..2 {
            for flow in self.flows[at].iter_mut().filter(|flow| !flow.dead) {
                let new = pair.completions(at, &flow.queue);
                for completion in &new {
                    if completion.status == Outcome::LocalQueue {
                        flow.dead = true;
                        continue;
                    }
                    let kind = usize::from(completion.of == Of::Receive);
                    let one = flow.open[kind].remove(&completion.request);
                    assert!(one, "a second completion: {completion:?}");
                    let good = u64::from(completion.status == Outcome::Ok);
                    match completion.of {
                        Of::Send => self.good += good,
                        Of::Receive | Of::Notify | Of::Reduction => self.landed[at] += good,
                    }
                }
                if flow.dead {
                    continue;
                }
                flow.queue.consumed = flow.queue.consumed.wrapping_add(new.len() as u16);
                if !new.is_empty() {
                    pair.consume(at, &flow.queue);
                }
                if more {
                    flow.post(pair, at, dice);
                }
            }
        }
    }

    /// Work requests that have no completion, of queue pairs whose rings could be read.
    pub fn open_sends(&self) -> usize {
        let flows = self.flows.iter().flatten().filter(|flow| !flow.dead);
        flows.map(|flow| flow.open[0].len()).sum()
    }

    pub fn stop(&mut self, pair: &mut Pair) {
        for at in 0..2 {
            for flow in self.flows[at].drain(..) {
                pair.destroy(at, &flow.queue);
            }
        }
    }
}

impl Flow {
    fn post(&mut self, pair: &mut Pair, at: usize, dice: &mut Dice) {
        let room = OPEN - self.open[1].len();
        let count = dice.below(room as u64 + 1);
        let requests = (0..count).map(|_| ReceiveRequest {
            wr_id: dice.word(),
            address: WRITES + dice.below(AREA - LARGEST),
            lkey: WRITABLE.key(),
            length: LARGEST as u32,
        });
        let requests: Vec<_> = requests.collect();
        if !requests.is_empty() {
            pair.post_receives(at, &self.queue, &requests);
        }
        for _ in requests {
            self.open[1].insert(self.queue.receives);
            self.queue.receives = self.queue.receives.wrapping_add(1);
        }
        let room = OPEN - self.open[0].len();
        let count = dice.below(room as u64 + 1);
        let to = Peer {
            node: NODES[1 - at],
            qpn: self.queue.qpn,
        };
        let requests = (0..count).map(|_| {
            let length = dice.below(LARGEST + 1);
            work(to, READS + dice.below(AREA - length), length, dice.word())
        });
        let requests: Vec<_> = requests.collect();
        if !requests.is_empty() {
            pair.post_sends(at, &self.queue, &requests);
        }
        for _ in requests {
            self.open[0].insert(self.queue.posted);
            self.queue.posted = self.queue.posted.wrapping_add(1);
        }
    }
}

/// New queue pairs of this number on both cards exchange a message each way, and go again.
pub fn alive(pair: &mut Pair, dice: &mut Dice, qpn: u32) {
    let mut queue = Queue::new(qpn, [2, 2, 3]);
    queue.timeout = 6;
    let address = WRITES + dice.below(AREA - LARGEST);
    let text: [Vec<u8>; 2] = [(); 2].map(|()| dice.bytes(LARGEST as usize));
    for (at, text) in text.iter().enumerate() {
        pair.set_region(at, &READABLE);
        pair.set_region(at, &WRITABLE);
        pair.create(at, &queue);
        pair.mapped(at).write(READS, text);
        let request = ReceiveRequest {
            wr_id: 1,
            address,
            lkey: WRITABLE.key(),
            length: LARGEST as u32,
        };
        pair.post_receives(at, &queue, &[request]);
    }
    pair.run(20_000);
    for at in 0..2 {
        let node = NODES[1 - at];
        pair.post_sends(at, &queue, &[work(Peer { node, qpn }, READS, LARGEST, 2)]);
    }
    pair.run(40_000);
    for (at, text) in text.iter().enumerate() {
        let mut ended: Vec<_> = pair
            .completions(at, &queue)
            .iter()
            .map(|completion| (completion.wr_id, completion.status))
            .collect();
        ended.sort_unstable_by_key(|ended| ended.0);
        assert_eq!(ended, [(1, Outcome::Ok), (2, Outcome::Ok)], "node {at}");
        let there = pair.mapped(1 - at).bytes(address, text.len());
        assert_eq!(&there, text);
    }
    for at in 0..2 {
        pair.destroy(at, &queue);
    }
}
