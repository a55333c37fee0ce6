//! Eight thousand trees in one switch: the table full to the last entry with trees of routed groups.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_fabric::route::Fulb;
use tributary_fabric::{Group, IdError, TreeIds};
use tributary_protocol::red::{Key, Switch, SwitchConfig, regs};
use tributary_sim::fabric::{Fabric, Simulator};
use tributary_sim::switch::core::Sizes;
use tributary_sim::switch::{Sink, Source, TopRtl, top};

use crate::common::*;

const TREES: usize = 8192;
/// The one switch that all trees cross.
const SPINE: usize = 4;

/// Four leaf switches of three endnodes under one spine, and as many groups on two leaves or more as the spine has entries.
fn job() -> Job {
    let network = network("leaf-spine:4,1,3");
    let mut rng = SmallRng::seed_from_u64(seed());
    let mut all: Vec<u32> = (0..12).collect();
    let mut group = || {
        let size = rng.random_range(4..=12);
        let (members, _) = all.partial_shuffle(&mut rng, size);
        Group::new(&network, members.to_vec()).unwrap()
    };
    let groups: Vec<Group> = (0..TREES).map(|_| group()).collect();
    Job::new(network, groups, &mut Fulb::default())
}

#[test]
fn mc_10_eight_thousand_trees_in_one_model_switch() {
    let job = job();
    let mut ids = TreeIds::new(5, 8192).unwrap();
    for (tree, id) in job.trees.iter().zip(&job.ids) {
        let switches: Vec<u32> = tree.switches().collect();
        assert_eq!(ids.allocate(&switches), Ok(*id));
    }
    assert_eq!(usize::from(ids.used(SPINE as u32)), TREES);
    let one_more = ids.allocate(&[0, SPINE as u32]);
    assert!(matches!(one_more, Err(IdError::Exhausted { free: 0, .. })));
    let mut sim = Simulator::new(job.fabric(), 1).unwrap();
    multicast(&mut sim);
    let some: Vec<usize> = (0..TREES).step_by(200).chain([TREES - 1]).collect();
    reduce(&mut sim, &some);
}

#[test]
fn mc_10_eight_thousand_trees_in_verilated_switches() {
    let job = job();
    let mut fabric: Fabric = job.fabric();
    for switch in &mut fabric.switches {
        switch.engine.timeouts = [6; 4];
    }
    let mut sim = Simulator::of_rtl(fabric, 1, false).unwrap();
    let trees = sim.fabric().trees.clone();
    let some: Vec<usize> = (0..TREES).step_by(100).chain([TREES - 1]).collect();
    let sends: Vec<_> = some
        .iter()
        .map(|&t| (trees[t].root, trees[t].id, t as u64))
        .collect();
    for (endpoint, marks) in send(&mut sim, &sends, 20 * APART).iter().enumerate() {
        let due = some
            .iter()
            .filter(|&&t| trees[t].members.contains(&endpoint));
        let due: Vec<u64> = due.map(|&t| t as u64).collect();
        assert_eq!(*marks, due, "to {endpoint}");
    }
    reduce(&mut sim, &[0, 1, 63, 64, 4095, 4096, TREES - 2, TREES - 1]);
}

/// A Verilated switch and a model, written through the same registers.
struct Pair {
    rtl: TopRtl,
    model: Switch,
    answers: usize,
    out: Vec<Vec<Vec<u8>>>,
    sinks: Vec<Sink>,
}

impl Pair {
    fn write(&mut self, offset: u16, value: u32) {
        self.rtl.axil.write(offset, value, 0xf);
        self.model.write(offset, value).unwrap();
        self.answers += 1;
    }

    fn clock(&mut self) {
        for answer in self.rtl.clock().unwrap() {
            assert!(!answer.error);
            self.answers -= 1;
        }
        for (port, sink) in self.sinks.iter_mut().enumerate() {
            let frame = self.rtl.tx[port].map(|beat| sink.take(beat).unwrap());
            self.out[port].extend(frame.flatten());
        }
    }
}

/// The whole table written by the driver's registers, then a frame down every tree: what leaves is what leaves the model.
#[test]
fn mc_10_eight_thousand_trees_through_the_registers_of_a_verilated_switch() {
    let job = job();
    let sizes = Sizes {
        ports: 4,
        nodes: 4096,
        trees: TREES,
    };
    let library = top::build(sizes, false).unwrap();
    let model = SwitchConfig {
        ports: 4,
        ..SwitchConfig::default()
    };
    let mut pair = Pair {
        rtl: TopRtl::new(&library, 4, 1).unwrap(),
        model: Switch::new(model).unwrap(),
        answers: 0,
        out: vec![Vec::new(); 4],
        sinks: vec![Sink::default(); 4],
    };
    // Reset wipes the tables, an entry a clock.
    (0..TREES + 100).for_each(|_| pair.clock());
    let mut entries = Vec::new();
    for tree in job.fabric().trees {
        let at = tree.entries.iter().find(|(switch, _)| *switch == SPINE);
        entries.push((tree.id, at.unwrap().1));
    }
    for &(id, entry) in &entries {
        let word = regs::MULTICAST_VALID.put(1)
            | regs::MULTICAST_PARENT.put(entry.parent.into())
            | regs::MULTICAST_WAIT.put(entry.wait);
        pair.write(regs::MULTICAST_CHILDREN_LOW.offset, entry.children as u32);
        pair.write(regs::MULTICAST_ENTRY.offset, word);
        pair.write(regs::MULTICAST_COMMIT.offset, id.into());
    }
    for port in 0..4 {
        let control = regs::port_offset(port, &regs::PORT_CONTROL);
        pair.write(control, regs::PORT_ENABLE.put(1));
    }
    for _ in 0..2_000_000 {
        if pair.answers == 0 {
            break;
        }
        pair.clock();
    }
    assert_eq!(pair.answers, 0, "writes without an answer");
    let mut expected = vec![Vec::new(); 4];
    for &(id, entry) in &entries {
        let bytes = frame(id, id.into());
        assert_eq!(
            bytes[..6],
            Key {
                tree: id,
                reduction: 0
            }
            .address()
            .mac()
        );
        for (port, copy) in pair.model.receive(entry.parent, &bytes, 0) {
            expected[usize::from(port)].push(copy);
        }
        let mut source = Source::default();
        source.push(&bytes);
        while let Some(beat) = source.front() {
            pair.rtl.rx[usize::from(entry.parent)] = Some(beat);
            source.pop();
            pair.clock();
        }
        pair.rtl.rx.fill(None);
        // The next may come in at another port: it must not overtake.
        (0..40).for_each(|_| pair.clock());
    }
    (0..200).for_each(|_| pair.clock());
    let copies: usize = expected.iter().map(Vec::len).sum();
    assert!(copies > TREES, "{copies}");
    assert_eq!(pair.out, expected);
}
