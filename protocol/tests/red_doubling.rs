//! Recursive doubling between hosts: every group size, any order of arrival, the same bits everywhere.

mod red_common;

use proptest::prelude::*;
use rand::RngExt;
use red_common::{fabric::address, rng};
use tributary_protocol::red::{host::*, wire::DEFAULT_ETHERTYPE, *};

fn group(size: usize) -> Group {
    let leaves = (1..size).map(address).collect();
    Group::new(
        Key {
            tree: 1,
            reduction: 0,
        },
        7,
        9,
        address(0),
        leaves,
    )
}

struct Hosts {
    hosts: Vec<Doubling>,
    /// Frames under way: destination and bytes.
    network: Vec<(usize, Vec<u8>)>,
    done: Vec<Vec<Outcome>>,
    messages: usize,
}

impl Hosts {
    fn new(size: usize) -> Self {
        let hosts = (0..size)
            .map(|r| Doubling::new(group(size), r as u32).expect("rank"))
            .collect();
        Self {
            hosts,
            network: Vec::new(),
            done: vec![Vec::new(); size],
            messages: 0,
        }
    }

    fn poll(&mut self, rank: usize) {
        for output in self.hosts[rank].poll() {
            match output {
                Output::Send(bytes) => {
                    let to = Frame::parse(&bytes, DEFAULT_ETHERTYPE)
                        .expect("a frame")
                        .fabric
                        .dfa
                        .node();
                    self.network.push((to as usize, bytes));
                    self.messages += 1;
                }
                Output::Event(Event::Done(outcome)) => self.done[rank].push(outcome),
                Output::Event(other) => panic!("{other:?}"),
            }
        }
    }

    /// Delivers everything in a random order.
    fn run(&mut self, pick: &mut impl FnMut(usize) -> usize) {
        while !self.network.is_empty() {
            let (to, bytes) = self.network.swap_remove(pick(self.network.len()));
            assert_eq!(self.hosts[to].receive(&bytes), Ok(()));
            self.poll(to);
        }
    }
}

fn number(x: f64) -> Value {
    Value {
        data: [x.to_bits(), 1, 2, 3],
        ..Value::default()
    }
}

#[test]
fn every_size_gives_everyone_the_same_bits() {
    let mut rng = rng(1);
    for size in (1..=40).chain([63, 64, 65, 100]) {
        let mut h = Hosts::new(size);
        for round in 0..3 {
            let values: Vec<f64> = (0..size).map(|_| rng.random::<f64>() - 0.5).collect();
            for (rank, &x) in values.iter().enumerate() {
                assert_eq!(h.hosts[rank].start(Op::FltSumNearest, number(x)), Ok(round));
                h.poll(rank);
            }
            h.run(&mut |n| rng.random_range(0..n));
            let first = h.done[0][round as usize];
            assert_eq!(first.count as usize, size);
            let sum: f64 = values.iter().sum();
            assert!((f64::from_bits(first.value.data[0]) - sum).abs() < 1e-12);
            for rank in 0..size {
                assert_eq!(
                    h.done[rank][round as usize], first,
                    "size {size} rank {rank}"
                );
            }
        }
    }
}

/// log2 n messages for each endpoint when n is a power of two; two more for each pair otherwise.
#[test]
fn number_of_messages() {
    for (size, messages) in [
        (1, 0),
        (2, 2),
        (3, 2 + 2),
        (4, 8),
        (6, 8 + 4),
        (16, 64),
        (31, 64 + 30),
    ] {
        let mut h = Hosts::new(size);
        for rank in 0..size {
            h.hosts[rank].start(Op::IntSum, number(1.0)).expect("idle");
            h.poll(rank);
        }
        h.run(&mut |_| 0);
        assert_eq!(h.messages, messages, "size {size}");
    }
}

#[test]
fn red_18_repeated_old_and_foreign_messages_are_ignored() {
    let mut h = Hosts::new(3);
    assert_eq!(
        Doubling::new(group(3), 3).err(),
        Some(DoublingError::Rank { rank: 3, size: 3 })
    );
    for rank in 0..3 {
        h.hosts[rank].start(Op::IntSum, number(1.0)).expect("idle");
        h.poll(rank);
    }
    assert_eq!(
        h.hosts[0].start(Op::IntSum, number(1.0)),
        Err(DoublingError::Busy(0))
    );
    let (to, bytes) = h.network[0].clone();
    // To someone else, and once more after it has done its work.
    assert_eq!(h.hosts[2].receive(&bytes), Err(Ignored::Foreign));
    h.run(&mut |_| 0);
    assert_eq!(h.hosts[to].receive(&bytes), Err(Ignored::Stale));
    assert_eq!(
        h.hosts[to].receive(&bytes[1..]),
        Err(Ignored::Wire(wire::WireError::Length(93)))
    );
    assert_eq!(h.hosts[1].round(), 1);
}

proptest! {
    #[test]
    fn doubling_survives_any_bytes(size in 1usize..9, rank in 0usize..8, at in 0usize..94, value: u8, step: u16, round in 0u64..4) {
        let size = size.max(rank + 1);
        let mut host = Doubling::new(group(size), rank as u32).expect("rank");
        let _ = host.start(Op::IntSum, number(1.0));
        let mut frame = red_common::frame(address(rank), u32::from(step) % 8, Op::IntSum, [1; 4]);
        frame.red.cookie = 9;
        frame.red.resno = step % 1024;
        (frame.restricted.opcode, frame.restricted.remote_offset) = (Kind::Exchange as u8, round);
        let mut bytes = frame.to_bytes(DEFAULT_ETHERTYPE);
        let _ = host.receive(&bytes);
        bytes[at] = value;
        let _ = host.receive(&bytes);
        host.poll();
    }
}
