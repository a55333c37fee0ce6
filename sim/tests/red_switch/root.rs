//! A root that contributes by its own port (CL-6), while everything stalls.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::red::{Frame, Key, Op, Rc, Tree, wire::DEFAULT_ETHERTYPE};
use tributary_sim::testbench::{Profile, Stalls, profiles};

use super::{Bench, N, bytes, frame};

/// A switch whose MACs stall, in the profile of a seed; its sources pause in another.
struct Stalling {
    bench: Bench,
    stalls: Stalls,
    pauses: Stalls,
    place: String,
}

impl Stalling {
    fn new(seed: u64) -> Self {
        let profile = Profile::of_seed(seed);
        Self {
            bench: Bench::new(),
            stalls: Stalls::new(profile, seed, N),
            pauses: Stalls::new(Profile::of_seed(3 * seed + 5), seed, N).stream(1),
            place: format!("seed {seed}, {profile}"),
        }
    }

    fn clock(&mut self) {
        self.stalls.clock();
        self.pauses.clock();
        for i in 0..N {
            self.bench.rtl.tx_ready[i] = self.stalls.ready(i);
            let beat = self.bench.sources[i].front();
            let last = beat.is_some_and(|b| b.last);
            self.pauses.observe(i, beat.is_some(), last);
            self.bench.open[i] = self.pauses.ready(i);
        }
        self.bench.clock();
        for i in 0..N {
            let shown = self.bench.rtl.shown[i];
            let last = shown.is_some_and(|b| b.last);
            self.stalls.observe(i, shown.is_some(), last);
        }
    }

    /// Clocks in which a word that waits is nearly always taken, in and out.
    fn pause(&self) -> u64 {
        let pauses = [&self.stalls, &self.pauses].map(|s| u64::from(s.profile().pause()));
        pauses.iter().sum()
    }

    /// Clocks until that many frames have left, and some in which none does.
    fn left(&mut self, count: usize) -> Vec<(usize, Frame)> {
        let limit = self.bench.clock + 60 * (self.pause() + 200);
        let comes = |bench: &Bench| bench.sources.iter().any(|s| !s.is_empty());
        while self.bench.sent.len() < count || comes(&self.bench) {
            self.clock();
            assert!(
                self.bench.clock < limit,
                "{} of {count} frames, {}",
                self.bench.sent.len(),
                self.place
            );
        }
        (0..100).for_each(|_| self.clock());
        let sent = self.bench.sent.drain(..).map(|(port, bytes, _)| {
            let frame = Frame::parse(&bytes, DEFAULT_ETHERTYPE).unwrap();
            (port, frame)
        });
        let mut sent: Vec<_> = sent.collect();
        assert_eq!(sent.len(), count, "{}", self.place);
        sent.sort_by_key(|(port, _)| *port);
        sent
    }
}

/// One round: the root arms, root and leaves contribute at once, and the root hears of all; then what must go down goes
/// down, what comes too late comes back, and what counts for no one is dropped.
fn round(world: &mut Stalling, root: usize, seqno: u16, rng: &mut SmallRng) -> u64 {
    let key = Key {
        tree: root as u16,
        reduction: rng.random_range(0..8),
    };
    let leaves: Vec<usize> = (0..N).filter(|&port| port != root).collect();
    let send = |world: &mut Stalling, port: usize, change: &dyn Fn(&mut Frame)| {
        let data = [1 << (8 * port), 1, 2, 3];
        let mut one = frame(key, false, seqno, Op::IntSum, data, port as u32);
        change(&mut one);
        world.bench.sources[port].push(&bytes(&one));
        one
    };
    let place = world.place.clone();
    let ports = |sent: &[(usize, Frame)]| sent.iter().map(|s| s.0).collect::<Vec<_>>();
    // It goes to the leaves, and not back to the root.
    let arm = send(world, root, &|f| f.red.arm = true);
    let sent = world.left(3);
    assert_eq!(ports(&sent), leaves, "{place}");
    assert!(sent.iter().all(|s| s.1 == arm), "{place}");
    // All at once.
    for port in 0..N {
        send(world, port, &|_| ());
    }
    let sent = world.left(1);
    let (port, result) = sent[0];
    let sum = 1 | 1 << 8 | 1 << 16 | 1 << 24;
    assert_eq!(
        (port, result.data, result.red.count, result.red.rc),
        (root, [sum, 4, 8, 12], 4, Rc::OK),
        "{place}"
    );
    assert_eq!(world.bench.rtl.in_use(), 0, "{place}");
    // Too late: to the bit as it was.
    let late = send(world, root, &|f| f.restricted.remote_offset = 0x12_3456);
    assert_eq!(world.left(1), [(root, late)], "{place}");
    // For no one.
    send(world, root, &|f| f.red.count = 0);
    world.left(0);
    // Of another kind: down, even if it counts for no one.
    let other = send(world, root, &|f| {
        f.restricted.opcode = 1 << (seqno % 4);
        f.red.count = 0;
    });
    let sent = world.left(3);
    assert_eq!(ports(&sent), leaves, "{place}");
    assert!(sent.iter().all(|s| s.1 == other), "{place}");
    assert_eq!(world.bench.rtl.in_use(), 0, "{place}");
    3 + 1 + 1 + 3
}

#[test]
fn cl_06_the_root_contributes_by_its_own_port_under_every_profile_of_stalls() {
    profiles("reducing switch, roots contribute: frames", |seed| {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut world = Stalling::new(seed);
        for root in 0..N {
            let entry = Tree {
                parent: root as u8,
                children: 0xf,
                wait: 4,
            };
            let rtl = &mut world.bench.rtl;
            rtl.write_multicast(root as u16, Some(entry)).unwrap();
        }
        let mut frames = 0;
        for seqno in 1..5 {
            for root in 0..N {
                frames += round(&mut world, root, seqno, &mut rng);
            }
        }
        for _ in 0..13 * world.pause() {
            world.clock();
        }
        assert_eq!(world.bench.sent, [], "{}", world.place);
        let [arms, passed, ..] = world.bench.rtl.events;
        let combined = world.bench.rtl.events[7];
        assert_eq!((arms, passed, combined), (0, 16, 64), "{}", world.place);
        frames
    });
}
