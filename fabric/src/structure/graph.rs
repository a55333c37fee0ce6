//! A network as a graph without parallel cables, and sets of its vertices that grow together.

use crate::network::Network;

/// Neighbours of every switch, ascending, each once.
pub struct Graph {
    first: Vec<u32>,
    near: Vec<u32>,
    /// By switch.
    pub endnodes: Vec<u32>,
}

impl Graph {
    pub fn new(network: &Network) -> Self {
        let switches = network.switch_count();
        let mut first = Vec::with_capacity(switches as usize + 1);
        let mut near = Vec::new();
        let mut here = Vec::new();
        first.push(0);
        for switch in 0..switches {
            here.clear();
            here.extend(network.links(switch).iter().map(|link| link.peer));
            here.sort_unstable();
            here.dedup();
            near.extend_from_slice(&here);
            first.push(near.len() as u32);
        }
        let endnodes = (0..switches).map(|s| network.attached(s).len() as u32);
        Self {
            first,
            near,
            endnodes: endnodes.collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.endnodes.len()
    }

    pub fn near(&self, switch: usize) -> &[u32] {
        &self.near[self.first(switch)..self.first(switch + 1)]
    }

    /// Where the neighbours of a switch begin among those of all.
    pub fn first(&self, switch: usize) -> usize {
        self.first[switch] as usize
    }

    /// Both directions of every edge.
    pub fn edges(&self) -> usize {
        self.near.len()
    }

    pub fn are_near(&self, a: usize, b: usize) -> bool {
        self.near(a).binary_search(&(b as u32)).is_ok()
    }

    /// Parts that hang together by edges that `joins` takes, numbered by their first switches.
    pub fn parts(&self, joins: impl Fn(usize, usize) -> bool) -> Vec<u32> {
        let mut sets = Sets::new(self.len());
        for switch in 0..self.len() {
            for &peer in self.near(switch) {
                if switch < peer as usize && joins(switch, peer as usize) {
                    sets.join(switch, peer as usize);
                }
            }
        }
        sets.numbered()
    }
}

/// Sets that can be joined.
pub struct Sets {
    above: Vec<u32>,
}

impl Sets {
    pub fn new(count: usize) -> Self {
        Self {
            above: (0..count as u32).collect(),
        }
    }

    pub fn find(&mut self, of: usize) -> usize {
        let mut at = of;
        while self.above[at] as usize != at {
            let next = self.above[self.above[at] as usize];
            self.above[at] = next;
            at = next as usize;
        }
        at
    }

    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.above[a.max(b)] = a.min(b) as u32;
    }

    /// By element: its set, numbered by their first elements.
    pub fn numbered(&mut self) -> Vec<u32> {
        let mut number = vec![u32::MAX; self.above.len()];
        let mut count = 0;
        (0..self.above.len())
            .map(|of| {
                let set = self.find(of);
                if number[set] == u32::MAX {
                    number[set] = count;
                    count += 1;
                }
                number[set]
            })
            .collect()
    }
}

/// Sizes of parts.
pub fn sizes(parts: &[u32]) -> Vec<u32> {
    let mut sizes = vec![0; parts.iter().max().map_or(0, |&last| last as usize + 1)];
    for &part in parts {
        sizes[part as usize] += 1;
    }
    sizes
}
