//! One-sided operations by the driver, on whatever cards they are given: node 0 has the memory, all others use it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_host_driver::{
    Access, AddressHandle, Context, Counter, Exposed, OneSided, OneSidedConfig, OpenWindow,
    Options, ProtectionDomain, QueuePair, Through, WorkCompletionStatus as Status,
};
use tributary_sim::card::SimDevice;

const MTU: u16 = 1_024;
/// Bytes of memory for each window.
const SLOT: usize = 2_048;
/// Polls without an end before a run is stuck.
const PATIENCE: u32 = 5_000_000;

pub fn open(device: &SimDevice, node: u32) -> ProtectionDomain {
    let options = Options { node, mtu: MTU };
    let context = Context::open(Arc::new(device.clone()), options).unwrap();
    context.alloc_pd().unwrap()
}

pub fn config() -> OneSidedConfig {
    OneSidedConfig {
        timeout: 3,
        attempts: 16,
        ..OneSidedConfig::default()
    }
}

/// The host whose memory it is. Fields in the order in which they go.
pub struct Target {
    pub windows: Vec<OpenWindow>,
    pub memory: Exposed,
    pub pair: QueuePair,
    pub domain: ProtectionDomain,
}

impl Target {
    pub fn new(device: &SimDevice, bytes: usize, access: Access) -> Self {
        let domain = open(device, 0);
        let queue = domain.context().create_cq(0).unwrap();
        let pair = domain.create_qp(&queue).q_key(config().q_key).build();
        let pair = pair.unwrap();
        pair.activate().unwrap();
        let memory = domain.reg_mr(bytes, access).unwrap();
        let memory = memory.expose(bytes).unwrap();
        Self {
            windows: Vec::new(),
            memory,
            pair,
            domain,
        }
    }

    /// Opens a window for a requester.
    pub fn grant(&mut self, to: &mut OneSided) -> Through {
        let window = self.pair.open_window(to.address()).unwrap();
        let bytes = window.grant().to_bytes();
        self.windows.push(window);
        to.connect(tributary_host_driver::Grant::from_bytes(&bytes))
    }
}

pub fn all() -> Access {
    Access::REMOTE_WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC
}

/// Polls until an operation of a requester has ended.
pub fn ended(requester: &mut OneSided) -> tributary_host_driver::OneSidedCompletion {
    for _ in 0..PATIENCE {
        if let Some(ended) = requester.poll().unwrap() {
            return ended;
        }
    }
    panic!("nothing ends")
}

/// All requesters with so many windows each count in one word: by additions, and in another by swaps of what they found.
/// Every count is there once, in the memory and in the answers. How many requests came again.
pub fn counts_are_exact(devices: &[SimDevice], windows: usize, counts: u64, seed: u64) -> u64 {
    let mut target = Target::new(&devices[0], 64, all());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (sum, swaps) = (target.memory.remote(), target.memory.remote().at(8));
    let mut requesters: Vec<OneSided> = devices[1..]
        .iter()
        .zip(1..)
        .map(|(device, node)| OneSided::new(&open(device, node), config()).unwrap())
        .collect();
    // Of each window: counts still to make, what was added, what is believed to be in the other word.
    let mut users: Vec<BTreeMap<Through, (u64, u64, u64)>> = Vec::new();
    for requester in &mut requesters {
        let lines = (0..windows).map(|_| (target.grant(requester), (counts, 0, 0)));
        users.push(lines.collect());
    }
    let mut found = BTreeMap::new();
    let mut good_swaps = 0;
    let mut idle = 0;
    for (requester, lines) in requesters.iter_mut().zip(&mut users) {
        for (through, (_, add, _)) in lines {
            *add = rng.random_range(1..1 << 40);
            requester.fetch_add(*through, sum, *add).unwrap();
        }
    }
    while requesters.iter().any(|requester| requester.pending() > 0) {
        for (requester, lines) in requesters.iter_mut().zip(&mut users) {
            let Some(ended) = requester.poll().unwrap() else {
                idle += 1;
                assert!(idle < PATIENCE, "stuck");
                continue;
            };
            idle = 0;
            assert_eq!(ended.status, Status::Ok);
            let old = ended.old.unwrap();
            let (left, add, tail) = lines.get_mut(&ended.through).unwrap();
            if *add > 0 {
                assert_eq!(found.insert(old, *add), None, "{old} was found twice");
                *add = 0;
                requester
                    .compare_swap(ended.through, swaps, *tail, *tail + 1)
                    .unwrap();
                continue;
            }
            if old != *tail {
                // Somebody else was faster.
                *tail = old;
                requester
                    .compare_swap(ended.through, swaps, old, old + 1)
                    .unwrap();
                continue;
            }
            good_swaps += 1;
            *tail += 1;
            *left -= 1;
            if *left > 0 {
                *add = rng.random_range(1..1 << 40);
                requester.fetch_add(ended.through, sum, *add).unwrap();
            }
        }
    }
    let expected = counts * windows as u64 * requesters.len() as u64;
    assert_eq!((found.len() as u64, good_swaps), (expected, expected));
    assert_eq!(target.memory.load(8).unwrap(), expected);
    // The additions are one chain from 0 to what is there.
    let end = (0..expected).try_fold(0, |at, _| found.get(&at).map(|add| at + add));
    assert_eq!(Some(target.memory.load(0).unwrap()), end);
    println!("{expected} additions and as many swaps, each done once");
    let context = target.domain.context();
    context.counter(Counter::OneSidedDuplicate).unwrap()
}

/// All windows write bytes of any length and read them back, each in a part of the memory of its own.
pub fn bytes_are_exact(devices: &[SimDevice], windows: usize, rounds: u64, seed: u64) {
    let requesters = devices.len() - 1;
    let mut target = Target::new(&devices[0], SLOT * windows * requesters, all());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // What the memory must hold.
    let mut expected = vec![0u8; target.memory.length()];
    let base = target.memory.remote();
    let most = usize::from(MTU) - 16;
    let mut all = Vec::new();
    for (index, (device, node)) in devices[1..].iter().zip(1..).enumerate() {
        let domain = open(device, node);
        let region = domain.reg_mr(1 << 16, Access::LOCAL_WRITE).unwrap();
        let mut requester = OneSided::new(&domain, config()).unwrap();
        let slots: BTreeMap<Through, usize> = (0..windows)
            .map(|place| {
                (
                    target.grant(&mut requester),
                    (index * windows + place) * SLOT,
                )
            })
            .collect();
        all.push((requester, region, slots));
    }
    // Under way of each window: where, and whether it is a read.
    let mut doing = BTreeMap::new();
    let mut done = 0;
    let mut idle = 0;
    let total = rounds * (windows * requesters) as u64;
    while done < total || !doing.is_empty() {
        for (index, (requester, region, slots)) in all.iter_mut().enumerate() {
            for (through, slot) in slots.iter() {
                if done >= total || doing.contains_key(&(index, *through)) {
                    continue;
                }
                let length = rng.random_range(0..=most);
                let at = slot + rng.random_range(0..=SLOT - length);
                let mut buffer = region.alloc(length).unwrap();
                rng.fill(&mut buffer[..]);
                expected[at..at + length].copy_from_slice(&buffer);
                requester
                    .write(*through, buffer, base.at(at as u64))
                    .unwrap();
                doing.insert((index, *through), (at, false));
                done += 1;
            }
            let Some(ended) = requester.poll().unwrap() else {
                idle += 1;
                assert!(idle < PATIENCE, "stuck");
                continue;
            };
            idle = 0;
            assert_eq!(ended.status, Status::Ok);
            let key = (index, ended.through);
            let (at, was_read) = doing.remove(&key).unwrap();
            let buffer = ended.buffer.unwrap();
            assert_eq!(buffer[..], expected[at..at + buffer.len()]);
            if !was_read && !buffer.is_empty() {
                let mut buffer = buffer;
                buffer.fill(0xEE);
                requester
                    .read(ended.through, buffer, base.at(at as u64))
                    .unwrap();
                doing.insert(key, (at, true));
            }
        }
    }
    let mut there = vec![0; expected.len()];
    target.memory.read(0, &mut there).unwrap();
    assert!(there == expected, "the memory holds something else");
    println!("{done} writes, each read back");
}

/// A requester that goes in the middle of its operations leaves nothing, and nothing is written to its buffers afterwards.
pub fn a_requester_that_goes_leaves_nothing(devices: &[SimDevice], rounds: u64) {
    let mut target = Target::new(&devices[0], 4_096, all());
    target.memory.write(0, &[0x77; 4_096]).unwrap();
    let domain = open(&devices[1], 1);
    let region = domain.reg_mr(1 << 14, Access::LOCAL_WRITE).unwrap();
    let before = devices[1].host_stats();
    for round in 0..rounds {
        let mut requester = OneSided::new(&domain, config()).unwrap();
        let lines: Vec<Through> = (0..4).map(|_| target.grant(&mut requester)).collect();
        let from = target.memory.remote();
        for through in &lines[..3] {
            let buffer = region.alloc(512).unwrap();
            requester.read(*through, buffer, from).unwrap();
        }
        requester.fetch_add(lines[3], from.at(1_024), 1).unwrap();
        devices[1].run(round % 60);
        let all = requester.close();
        assert_eq!(all.len(), 4);
        let mut buffers: Vec<_> = all
            .into_iter()
            .filter_map(|ended| {
                assert!(
                    matches!(ended.status, Status::Ok | Status::Flushed),
                    "{}",
                    ended.status
                );
                ended.buffer
            })
            .collect();
        assert_eq!(buffers.len(), 3);
        buffers.iter_mut().for_each(|buffer| buffer.fill(1));
        devices[1].run(300);
        assert!(
            buffers
                .iter()
                .all(|buffer| buffer.iter().all(|byte| *byte == 1))
        );
        target.windows.clear();
    }
    assert_eq!(devices[1].host_stats(), before);
    assert_eq!(domain.context().in_use(), (0, 1));
    assert_eq!(target.domain.context().open_windows(), 0);
}

/// The card with the memory is reset while operations are under way: none of them is done afterwards, and a new grant works.
pub fn a_target_that_is_reset_does_nothing_twice(devices: &[SimDevice]) {
    let domain = open(&devices[1], 1);
    let mut requester = OneSided::new(&domain, config()).unwrap();
    for steps in (0..120).step_by(3) {
        let mut target = Target::new(&devices[0], 64, all());
        let through = target.grant(&mut requester);
        let sum = target.memory.remote();
        requester.fetch_add(through, sum, 1).unwrap();
        devices[1].run(steps);
        drop(target);
        // The same memory, queue pair and window for all that the requester can tell, but not the same epoch.
        let mut target = Target::new(&devices[0], 64, all());
        let old = ended(&mut requester);
        assert_eq!(old.through, through);
        let known = [Status::Ok, Status::BadQp, Status::EpochMismatch];
        assert!(
            known.contains(&old.status),
            "{} after {steps} slots",
            old.status
        );
        assert_eq!(target.memory.load(0).unwrap(), 0, "done after the reset");
        let through = target.grant(&mut requester);
        requester
            .fetch_add(through, target.memory.remote(), 5)
            .unwrap();
        let new = ended(&mut requester);
        assert_eq!((new.status, new.old), (Status::Ok, Some(0)));
        assert_eq!(target.memory.load(0).unwrap(), 5);
    }
}

/// What is refused is refused by its name, and ends the window.
pub fn refusals_have_their_names(devices: &[SimDevice]) {
    let mut target = Target::new(&devices[0], 4_096, Access::REMOTE_READ);
    let domain = open(&devices[1], 1);
    let region = domain.reg_mr(8_192, Access::LOCAL_WRITE).unwrap();
    let mut requester = OneSided::new(&domain, config()).unwrap();
    let here = target.memory.remote();
    let refused = |requester: &mut OneSided, target: &mut Target, at, write: bool, expected| {
        let through = target.grant(requester);
        let buffer = region.alloc(8).unwrap();
        if write {
            requester.write(through, buffer, at).unwrap();
        } else {
            requester.read(through, buffer, at).unwrap();
        }
        let ended = ended(requester);
        assert_eq!(ended.status, expected);
        assert_eq!(ended.buffer.unwrap().len(), 8);
        // The window is over, whatever it was.
        let again = requester.fetch_add(through, at, 1);
        assert_eq!(again.is_err(), expected != Status::Ok);
        if again.is_ok() {
            assert_eq!(ended_status(requester), Status::RemoteAccess);
        }
    };
    refused(&mut requester, &mut target, here, false, Status::Ok);
    refused(
        &mut requester,
        &mut target,
        here,
        true,
        Status::RemoteAccess,
    );
    refused(
        &mut requester,
        &mut target,
        here.at(4_089),
        false,
        Status::RemoteAccess,
    );
    let other = tributary_host_driver::Remote {
        rkey: here.rkey ^ 1,
        ..here
    };
    refused(
        &mut requester,
        &mut target,
        other,
        false,
        Status::RemoteAccess,
    );
    assert_eq!(
        target
            .domain
            .context()
            .counter(Counter::OneSidedRefused)
            .unwrap(),
        4
    );

    // A window that is closed, one that is another's, and nobody at all.
    let closed = target.grant(&mut requester);
    target.windows.clear();
    requester.fetch_add(closed, here, 1).unwrap();
    assert_eq!(ended_status(&mut requester), Status::EpochMismatch);
    let stranger = AddressHandle::new(1, 40).unwrap();
    let window = target.pair.open_window(stranger).unwrap();
    let through = requester.connect(window.grant());
    requester.fetch_add(through, here, 1).unwrap();
    assert_eq!(ended_status(&mut requester), Status::EpochMismatch);
    let nobody = requester.connect(tributary_host_driver::Grant {
        node: 0,
        qp_num: 63,
        window: 0,
        epoch: 1,
    });
    requester.fetch_add(nobody, here, 1).unwrap();
    assert_eq!(ended_status(&mut requester), Status::BadQp);
    assert_eq!(requester.pending(), 0);
}

pub fn ended_status(requester: &mut OneSided) -> Status {
    ended(requester).status
}
