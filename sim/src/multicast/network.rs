//! Ports and what flows between them.

use std::collections::HashMap;

/// Femtoseconds.
pub type Time = u64;

/// Handle of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId(u32);

impl FlowId {
    /// Its number; numbers of ended flows are used again.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug)]
struct Flow {
    src: u32,
    dst: u32,
    /// What is left, as time at the full rate of a port.
    left: Time,
    /// Share of the full rate that it has.
    rate: f64,
    /// When `left` was right.
    at: Time,
    /// It has begun to use the ports.
    admitted: bool,
    /// Changes with each new rate, so that older predictions of its end are known as such.
    generation: u32,
}

/// A flow will end at this time, unless its rate changes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The flow.
    pub flow: FlowId,
    /// Its generation: [`Network::ends`] tells whether it is still right.
    pub generation: u32,
    /// The time.
    pub at: Time,
}

/// Ports of nodes. Flows that use a port share it fairly: the smallest share is as large as it can be, then the next.
#[derive(Clone, Debug)]
pub struct Network {
    /// Share of the full rate that each node's port has, out and in.
    capacity: Vec<f64>,
    /// Share of the full rate between two nodes, if it is less.
    links: HashMap<(u32, u32), f64>,
    flows: Vec<Option<Flow>>,
    generations: Vec<u32>,
    free: Vec<u32>,
    /// Admitted flows of each port: out of node i at i, into it at nodes + i.
    ports: Vec<Vec<FlowId>>,
    predictions: Vec<Prediction>,
}

impl Network {
    /// So many nodes with equal ports.
    #[must_use]
    pub fn new(nodes: u32) -> Self {
        Self {
            capacity: vec![1.0; nodes as usize],
            links: HashMap::new(),
            flows: Vec::new(),
            generations: Vec::new(),
            free: Vec::new(),
            ports: vec![Vec::new(); 2 * nodes as usize],
            predictions: Vec::new(),
        }
    }

    fn ports_of(&self, flow: &Flow) -> [usize; 2] {
        [flow.src as usize, self.capacity.len() + flow.dst as usize]
    }

    fn flow(&self, id: FlowId) -> Option<&Flow> {
        self.flows.get(id.0 as usize)?.as_ref()
    }

    /// A link that is slower than the ports, in both directions: `rate` is its share of their rate.
    pub fn slow_link(&mut self, a: u32, b: u32, rate: f64) {
        self.links.insert((a, b), rate);
        self.links.insert((b, a), rate);
    }

    /// A node's port gets another rate, a share of the full one; 0 stops it.
    pub fn set_port(&mut self, now: Time, node: u32, rate: f64) {
        self.capacity[node as usize] = rate;
        let mut touched = self.ports[node as usize].clone();
        touched.extend(&self.ports[self.capacity.len() + node as usize]);
        for flow in touched {
            self.share(now, flow);
        }
    }

    /// A new flow that takes `work` at the full rate. It uses nothing before it is admitted.
    pub fn add(&mut self, src: u32, dst: u32, work: Time) -> FlowId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.flows.push(None);
            self.generations.push(0);
            (self.flows.len() - 1) as u32
        });
        self.generations[index as usize] = self.generations[index as usize].wrapping_add(1);
        self.flows[index as usize] = Some(Flow {
            src,
            dst,
            left: work,
            rate: 0.0,
            at: 0,
            admitted: false,
            generation: self.generations[index as usize],
        });
        FlowId(index)
    }

    /// The flow begins.
    pub fn admit(&mut self, now: Time, id: FlowId) {
        let Some(flow) = self.flows[id.0 as usize].as_mut().filter(|f| !f.admitted) else {
            return;
        };
        flow.admitted = true;
        flow.at = now;
        let flow = flow.clone();
        for port in self.ports_of(&flow) {
            self.ports[port].push(id);
        }
        self.share(now, id);
    }

    /// Whether the flow has ended, as was predicted; it is removed then.
    pub fn ends(&mut self, now: Time, prediction: Prediction) -> bool {
        let right = self
            .flow(prediction.flow)
            .is_some_and(|flow| flow.admitted && flow.generation == prediction.generation);
        if right {
            self.remove(now, prediction.flow);
        }
        right
    }

    /// Removes a flow, ended or not.
    pub fn remove(&mut self, now: Time, id: FlowId) {
        let Some(flow) = self.flows[id.0 as usize].take() else {
            return;
        };
        self.generations[id.0 as usize] = flow.generation;
        self.free.push(id.0);
        if !flow.admitted {
            return;
        }
        let ports = self.ports_of(&flow);
        for port in ports {
            self.ports[port].retain(|&other| other != id);
        }
        // Who shared with it has more now.
        for port in ports {
            if let Some(&other) = self.ports[port].first() {
                self.share(now, other);
            }
        }
    }

    /// Predictions made since the last call.
    pub fn predictions(&mut self) -> std::vec::Drain<'_, Prediction> {
        self.predictions.drain(..)
    }

    fn limit(&self, flow: &Flow) -> f64 {
        match self.links.is_empty() {
            true => 1.0,
            false => *self.links.get(&(flow.src, flow.dst)).unwrap_or(&1.0),
        }
    }

    fn port_capacity(&self, port: usize) -> f64 {
        self.capacity[port % self.capacity.len()]
    }

    /// Shares the ports among all flows that directly or indirectly share one with `id`.
    fn share(&mut self, now: Time, id: FlowId) {
        let Some(flow) = self.flow(id) else { return };
        let ports = self.ports_of(flow);
        if ports.iter().all(|&port| self.ports[port].len() == 1) {
            let mut rate = self.limit(flow);
            for port in ports {
                rate = rate.min(self.port_capacity(port));
            }
            self.set_rate(now, id, rate);
            return;
        }
        let (flows, ports) = self.component(id);
        for (flow, rate) in self.max_min(&flows, &ports) {
            self.set_rate(now, flow, rate);
        }
    }

    fn component(&self, id: FlowId) -> (Vec<FlowId>, Vec<usize>) {
        let (mut flows, mut ports) = (vec![id], Vec::new());
        let mut next = 0;
        while let Some(&id) = flows.get(next) {
            next += 1;
            let Some(flow) = self.flow(id) else { continue };
            for port in self.ports_of(flow) {
                if ports.contains(&port) {
                    continue;
                }
                ports.push(port);
                for &other in &self.ports[port] {
                    if !flows.contains(&other) {
                        flows.push(other);
                    }
                }
            }
        }
        (flows, ports)
    }

    /// Water filling: the rates of all rise together; those whose port or link is full stay behind.
    fn max_min(&self, flows: &[FlowId], ports: &[usize]) -> Vec<(FlowId, f64)> {
        let mut left: HashMap<usize, (f64, u32)> = ports
            .iter()
            .map(|&port| {
                (
                    port,
                    (self.port_capacity(port), self.ports[port].len() as u32),
                )
            })
            .collect();
        let mut open: Vec<(FlowId, [usize; 2], f64)> = flows
            .iter()
            .filter_map(|&id| {
                let flow = self.flow(id)?;
                Some((id, self.ports_of(flow), self.limit(flow)))
            })
            .collect();
        let mut rates = Vec::with_capacity(open.len());
        while !open.is_empty() {
            let mut level = open.iter().map(|o| o.2).fold(f64::INFINITY, f64::min);
            for port in ports {
                let (capacity, users) = left[port];
                if users > 0 {
                    level = level.min(capacity / f64::from(users));
                }
            }
            let full = |port: &usize| {
                let (capacity, users) = left[port];
                capacity / f64::from(users) <= level * (1.0 + 1e-12)
            };
            let (ended, rest): (Vec<_>, Vec<_>) = open
                .into_iter()
                .partition(|(_, ports, limit)| *limit <= level || ports.iter().any(full));
            for (id, ports, _) in ended {
                rates.push((id, level));
                for port in ports {
                    if let Some((capacity, users)) = left.get_mut(&port) {
                        *capacity = (*capacity - level).max(0.0);
                        *users -= 1;
                    }
                }
            }
            open = rest;
        }
        rates
    }

    fn set_rate(&mut self, now: Time, id: FlowId, rate: f64) {
        let Some(flow) = self.flows[id.0 as usize].as_mut() else {
            return;
        };
        // What was predicted stays right.
        if flow.rate == rate {
            return;
        }
        let done = match flow.rate {
            1.0 => now - flow.at,
            share => ((now - flow.at) as f64 * share).round() as Time,
        };
        flow.left = flow.left.saturating_sub(done);
        flow.at = now;
        flow.rate = rate;
        flow.generation = flow.generation.wrapping_add(1);
        let takes = match rate {
            0.0 => return,
            1.0 => flow.left,
            share => (flow.left as f64 / share).ceil() as Time,
        };
        self.predictions.push(Prediction {
            flow: id,
            generation: flow.generation,
            at: now + takes,
        });
    }
}
