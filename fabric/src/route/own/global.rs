//! Distances on a dragonfly by paths with at most one global cable (MC-11).

use crate::hops::{Row, UNREACHABLE};
use crate::network::{Network, SwitchId};

/// Distances from one root; keeps its memory.
#[derive(Clone, Debug, Default)]
pub struct OneGlobal {
    all: Vec<u32>,
    hops: Vec<u8>,
    queue: Vec<SwitchId>,
}

impl OneGlobal {
    /// Of every switch to `root`; [`UNREACHABLE`] where a path needs two global cables.
    pub fn row(&mut self, network: &Network, root: SwitchId) -> Row<'_> {
        let switches = network.switch_count();
        let block = |switch: SwitchId| network.blocks()[switch as usize];
        self.all.clear();
        self.all.extend(0..switches);
        self.hops.clear();
        self.hops.resize(switches as usize, UNREACHABLE);
        self.hops[root as usize] = 0;
        self.queue.clear();
        self.queue.push(root);
        let mut next = 0;
        while let Some(&at) = self.queue.get(next) {
            next += 1;
            let below = self.hops[at as usize].saturating_add(1);
            for link in network.links(at) {
                let global = block(link.peer) != block(at);
                let peer = &mut self.hops[link.peer as usize];
                if *peer == UNREACHABLE
                    && below < UNREACHABLE
                    && (!global || block(at) == block(root))
                {
                    *peer = below;
                    self.queue.push(link.peer);
                }
            }
        }
        Row::new(root, &self.all, &self.hops)
    }
}
