//! Broadcasts as MPI libraries do them, over the same ports: what block multicast is measured against.
//!
//! They get the links for nothing but their time: no handshake before a transfer, no credits, no cost of software. A rank
//! sends one transfer after the other and takes one after the other; a transfer that has wholly arrived can be passed on.
//! A long message may be cut into segments that follow each other through the whole algorithm.

use super::Time;

/// How a message gets to everyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Broadcast {
    /// Each rank that has a segment sends it to its children, the one with the largest subtree first.
    BinomialTree,
    /// The root spreads n parts down a tree; then everyone passes parts on around a ring.
    ScatterRing,
    /// The root spreads n parts down a tree; then pairs exchange all that they have, twice as much in each round. For
    /// powers of two.
    ScatterDoubling,
}

impl Broadcast {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::BinomialTree, Self::ScatterRing, Self::ScatterDoubling];

    /// What figures call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BinomialTree => "binomial tree",
            Self::ScatterRing => "scatter + ring all-gather",
            Self::ScatterDoubling => "scatter + doubling all-gather",
        }
    }
}

/// Transfers of one evaluation; more segments than fit are not tried.
const TRANSFERS_MAX: u64 = 1_100_000;

/// The ports of all ranks, while a broadcast runs.
struct Ports {
    byte_time: Time,
    latency: Time,
    out: Vec<Time>,
    into: Vec<Time>,
    end: Time,
}

impl Ports {
    /// Moves bytes that the sender has at `ready`; when they are there.
    fn moves(&mut self, from: usize, to: usize, bytes: u64, ready: Time) -> Time {
        let start = ready.max(self.out[from]).max(self.into[to]);
        let left = start + bytes * self.byte_time;
        self.out[from] = left;
        self.into[to] = left;
        self.end = self.end.max(left + self.latency);
        left + self.latency
    }
}

/// Time until every rank has the message, in `segments` parts that follow each other; `None` if it cannot be so.
#[must_use]
pub fn time(
    broadcast: Broadcast,
    members: u32,
    bytes: u64,
    segments: u64,
    byte_time: Time,
    latency: Time,
) -> Option<Time> {
    let n = members as usize;
    let transfers = match broadcast {
        Broadcast::BinomialTree => u64::from(members),
        Broadcast::ScatterRing => u64::from(members) * u64::from(members),
        Broadcast::ScatterDoubling => u64::from(members) * u64::from(members.ilog2() + 1),
    };
    let fits = segments >= 1 && segments <= bytes.max(1) && segments * transfers <= TRANSFERS_MAX;
    if !fits || (broadcast == Broadcast::ScatterDoubling && !members.is_power_of_two()) {
        return None;
    }
    let mut ports = Ports {
        byte_time,
        latency,
        out: vec![0; n],
        into: vec![0; n],
        end: 0,
    };
    for segment in 0..segments {
        let part = bytes * (segment + 1) / segments - bytes * segment / segments;
        match broadcast {
            Broadcast::BinomialTree => tree(&mut ports, n, part),
            Broadcast::ScatterRing => {
                let have = scatter(&mut ports, n, part);
                ring(&mut ports, n, part, have);
            }
            Broadcast::ScatterDoubling => {
                let have = scatter(&mut ports, n, part);
                doubling(&mut ports, n, part, have);
            }
        }
    }
    Some(ports.end)
}

/// The best number of segments, a power of two, and its time.
#[must_use]
pub fn best(
    broadcast: Broadcast,
    members: u32,
    bytes: u64,
    byte_time: Time,
    latency: Time,
) -> Option<(u64, Time)> {
    (0..16)
        .filter_map(|log| {
            let segments = 1 << log;
            let time = time(broadcast, members, bytes, segments, byte_time, latency)?;
            Some((segments, time))
        })
        .min_by_key(|&(_, time)| time)
}

/// Bytes of part `i` of `n`.
fn part_of(bytes: u64, n: usize, i: usize) -> u64 {
    bytes * (i as u64 + 1) / n as u64 - bytes * i as u64 / n as u64
}

fn tree(ports: &mut Ports, n: usize, bytes: u64) {
    let mut ready = vec![0; n];
    let top = n.next_power_of_two();
    // Whoever got it in an earlier round sends over ever shorter distances.
    let mut distance = top / 2;
    while distance > 0 {
        for from in (0..n).step_by(2 * distance) {
            let to = from + distance;
            if to < n {
                ready[to] = ports.moves(from, to, bytes, ready[from]);
            }
        }
        distance /= 2;
    }
}

/// Part i ends at rank i; when it is there.
fn scatter(ports: &mut Ports, n: usize, bytes: u64) -> Vec<Time> {
    let mut ready = vec![0; n];
    let mut distance = n.next_power_of_two() / 2;
    while distance > 0 {
        for from in (0..n).step_by(2 * distance) {
            let to = from + distance;
            if to < n {
                let parts = to..n.min(to + distance);
                let sum = parts.map(|i| part_of(bytes, n, i)).sum();
                ready[to] = ports.moves(from, to, sum, ready[from]);
            }
        }
        distance /= 2;
    }
    ready
}

fn ring(ports: &mut Ports, n: usize, bytes: u64, mut ready: Vec<Time>) {
    for round in 0..n.saturating_sub(1) {
        let before = ready.clone();
        for (from, &here) in before.iter().enumerate() {
            let to = (from + 1) % n;
            let part = (from + n - round) % n;
            ready[to] = ports.moves(from, to, part_of(bytes, n, part), here);
        }
    }
}

fn doubling(ports: &mut Ports, n: usize, bytes: u64, mut ready: Vec<Time>) {
    let mut distance = 1;
    while distance < n {
        let before = ready.clone();
        for (from, &here) in before.iter().enumerate() {
            let to = from ^ distance;
            let first = from / distance * distance;
            let sum = (first..first + distance)
                .map(|i| part_of(bytes, n, i))
                .sum();
            ready[to] = before[to].max(ports.moves(from, to, sum, here));
        }
        distance *= 2;
    }
}
