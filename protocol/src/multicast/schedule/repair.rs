//! A schedule that brings members what each of them lacks (MB-14).

use std::ops::Range;

use bitvec::slice::BitSlice;
use bitvec::vec::BitVec;

use super::{Receive, Send, Shape};

/// Transfers by rank, each list in the order of steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Repair {
    sends: Vec<Vec<(u64, Send)>>,
    receives: Vec<Vec<(u64, Receive)>>,
    neighbours: Vec<Vec<u32>>,
    steps: u64,
}

impl Repair {
    /// `have`: by rank, the blocks that it has. `None` if nobody has some block.
    pub fn new(have: &[BitVec]) -> Option<Self> {
        let mut have = have.to_vec();
        let members = have.len();
        let mut union = have.first().cloned().unwrap_or_default();
        for blocks in &have {
            union |= blocks;
        }
        if !union.all() {
            return None;
        }
        let mut sends = vec![Vec::new(); members];
        let mut receives = vec![Vec::new(); members];
        let mut step = 0;
        while have.iter().any(|blocks| !blocks.all()) {
            let before = have.clone();
            let mut sending = vec![false; members];
            for turn in 0..members {
                // Who chooses first changes, so that nobody always chooses last.
                let to = (turn + step as usize) % members;
                let Some((from, block)) = choose(&before, &sending, to, step) else {
                    continue;
                };
                sending[from] = true;
                have[to].set(block, true);
                let (from_rank, to_rank, block) = (from as u32, to as u32, block as u32);
                sends[from].push((step, Send { to: to_rank, block }));
                let receive = Receive {
                    from: from_rank,
                    block,
                };
                receives[to].push((step, receive));
            }
            step += 1;
        }
        let neighbours = (0..members).map(|rank| {
            let to = sends[rank].iter().map(|(_, send): &(u64, Send)| send.to);
            let from = receives[rank].iter().map(|(_, r): &(u64, Receive)| r.from);
            let mut all: Vec<u32> = to.chain(from).collect();
            all.sort_unstable();
            all.dedup();
            all
        });
        let neighbours = neighbours.collect();
        Some(Self {
            sends,
            receives,
            neighbours,
            steps: step,
        })
    }
}

/// A block that `to` lacks, from a member that has it and sends nothing yet. The block that comes to each member first
/// differs, so that members have something for each other.
fn choose(have: &[BitVec], sending: &[bool], to: usize, step: u64) -> Option<(usize, usize)> {
    let members = have.len();
    let lacks: &BitSlice = &have[to];
    let blocks = lacks.len();
    let first = to * blocks / members;
    let missing = lacks[first..].iter_zeros().map(|b| b + first);
    let missing = missing.chain(lacks[..first].iter_zeros());
    for block in missing {
        let from = (0..members)
            .map(|i| (to + 1 + step as usize + i) % members)
            .find(|&from| !sending[from] && have[from][block]);
        if let Some(from) = from {
            return Some((from, block));
        }
    }
    None
}

fn at<T: Copy>(list: &[(u64, T)], step: u64) -> Option<T> {
    let place = list.binary_search_by_key(&step, |&(at, _)| at).ok()?;
    Some(list[place].1)
}

impl Shape for Repair {
    fn total_steps(&self) -> u64 {
        self.steps
    }

    fn send_at(&self, rank: u32, step: u64) -> Option<Send> {
        at(&self.sends[rank as usize], step)
    }

    fn recv_at(&self, rank: u32, step: u64) -> Option<Receive> {
        at(&self.receives[rank as usize], step)
    }

    fn active(&self, _rank: u32) -> Range<u64> {
        0..self.steps
    }

    fn neighbour(&self, rank: u32, index: u32) -> Option<u32> {
        self.neighbours[rank as usize].get(index as usize).copied()
    }

    fn senders_at(&self, _step: u64) -> Range<u32> {
        0..self.sends.len() as u32
    }
}
