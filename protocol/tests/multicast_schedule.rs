//! Block schedules (MB-1 to MB-7): against golden data of another implementation, and by their properties.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use proptest::prelude::*;
use tributary_protocol::multicast::{
    Algorithm, Layout, MAX_BLOCKS, MAX_MEMBERS, Schedule, ScheduleError, Transfer,
};

const PLAIN: [Algorithm; 4] = [
    Algorithm::Sequential,
    Algorithm::Chain,
    Algorithm::BinomialTree,
    Algorithm::BinomialPipeline,
];

/// The lines of a golden file behind its head, split at commas.
fn golden(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/rdmc")
        .join(format!("{name}.csv.gz"));
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let split = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().skip(1).map(split).collect()
}

fn algorithm(name: &str) -> Algorithm {
    match name {
        "sequential" => Algorithm::Sequential,
        "chain" => Algorithm::Chain,
        "tree" => Algorithm::BinomialTree,
        "binomial" => Algorithm::BinomialPipeline,
        _ => panic!("{name}"),
    }
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

fn racks_of(text: &str) -> Vec<u32> {
    text.split('x').map(number).collect()
}

fn transfer(fields: &[String]) -> Transfer {
    Transfer {
        step: number(&fields[0]),
        src: number(&fields[1]),
        dst: number(&fields[2]),
        block: number(&fields[3]),
    }
}

#[test]
fn mb_01_mb_02_mb_03_mb_04_mb_05_transfers_are_those_of_another_implementation() {
    let mut wanted: BTreeMap<(String, u32, u32), Vec<Transfer>> = BTreeMap::new();
    for line in golden("schedules_n2_to_17") {
        let key = (line[0].clone(), number(&line[1]), number(&line[2]));
        wanted.entry(key).or_default().push(transfer(&line[3..]));
    }
    assert_eq!(wanted.len(), 4 * 16 * 12);
    for ((name, members, blocks), mut list) in wanted {
        list.sort_unstable_by_key(|t| (t.step, t.src));
        let schedule = Schedule::new(algorithm(&name), members, blocks).unwrap();
        let got: Vec<Transfer> = schedule.transfers().collect();
        assert_eq!(got, list, "{name}, {members} members, {blocks} blocks");
    }
}

#[test]
fn mb_01_mb_02_mb_03_mb_04_mb_05_total_steps_are_those_of_another_implementation() {
    let lines = golden("total_steps");
    assert!(lines.len() > 7_000);
    for line in lines {
        let schedule =
            Schedule::new(algorithm(&line[0]), number(&line[1]), number(&line[2])).unwrap();
        assert_eq!(schedule.total_steps(), number::<u64>(&line[3]), "{line:?}");
    }
}

#[test]
fn mb_06_hybrid_transfers_are_composed_of_two_pipelines() {
    let mut wanted: BTreeMap<(String, u32, u64), Vec<Transfer>> = BTreeMap::new();
    for line in golden("hybrid_composed") {
        let key = (line[0].clone(), number(&line[1]), number(&line[2]));
        wanted.entry(key).or_default().push(transfer(&line[3..7]));
    }
    assert_eq!(wanted.len(), 40);
    for ((racks, blocks, steps), mut list) in wanted {
        list.sort_unstable_by_key(|t| (t.step, t.src));
        let schedule = Schedule::hybrid(&racks_of(&racks), blocks).unwrap();
        assert_eq!(schedule.total_steps(), steps, "{racks}, {blocks} blocks");
        let got: Vec<Transfer> = schedule.transfers().collect();
        assert_eq!(got, list, "{racks}, {blocks} blocks");
    }
}

#[test]
fn mb_07_neighbours_come_in_the_order_of_connecting() {
    let lines = golden("connections");
    assert_eq!(lines.len(), 4 * 2_079);
    for line in lines {
        let schedule = Schedule::new(algorithm(&line[0]), number(&line[1]), 1).unwrap();
        let got: Vec<u32> = schedule.neighbours(number(&line[2])).collect();
        let wanted: Vec<u32> = line[3].split_whitespace().map(number).collect();
        assert_eq!(got, wanted, "{line:?}");
    }
}

#[test]
fn mb_07_first_blocks_are_those_of_another_implementation() {
    let lines = golden("first_block");
    assert_eq!(lines.len(), 4 * 8_385);
    for line in lines {
        for blocks in [1, 2, 3, 5, 64] {
            let schedule = Schedule::new(algorithm(&line[0]), number(&line[1]), blocks).unwrap();
            let first = schedule.first_block(number(&line[2])).unwrap();
            let block = number::<u32>(&line[4]).min(blocks - 1);
            let wanted = (number::<u32>(&line[3]), block);
            assert_eq!(
                (first.from, first.block),
                wanted,
                "{line:?}, {blocks} blocks"
            );
        }
    }
}

/// What must hold of any schedule; returns the transfers.
fn check(schedule: &Schedule) -> Vec<Transfer> {
    let (n, k) = (schedule.members(), schedule.blocks());
    let name = format!("{}, {n} members, {k} blocks", schedule.algorithm());
    let steps = schedule.total_steps();
    let neighbours: Vec<BTreeSet<u32>> = (0..n).map(|r| schedule.neighbours(r).collect()).collect();
    for (rank, list) in neighbours.iter().enumerate() {
        let all = schedule.neighbours(rank as u32).count();
        assert_eq!(all, list.len(), "{name}: rank {rank} has a neighbour twice");
    }
    // The step in which each rank received each block.
    let mut since = vec![vec![None; k as usize]; n as usize];
    since[0].fill(Some(0));
    let mut received_in = vec![u64::MAX; n as usize];
    let mut first = vec![None; n as usize];
    let all: Vec<Transfer> = schedule.transfers().collect();
    assert!(all.is_sorted_by_key(|t| (t.step, t.src)), "{name}: order");
    assert_eq!(all.len() as u64, u64::from(k) * u64::from(n - 1), "{name}");
    let mut before = None;
    for t in &all {
        let here = format!("{name}: {t:?}");
        assert!(t.step < steps, "{here}: behind the end");
        assert_ne!(before, Some((t.step, t.src)), "{here}: two sends");
        before = Some((t.step, t.src));
        assert_ne!(received_in[t.dst as usize], t.step, "{here}: two receives");
        received_in[t.dst as usize] = t.step;
        let has = since[t.src as usize][t.block as usize];
        assert!(
            t.src == 0 || has.is_some_and(|step| step < t.step),
            "{here}: the sender has it not"
        );
        let place = &mut since[t.dst as usize][t.block as usize];
        assert!(place.is_none(), "{here}: it came before");
        *place = Some(t.step);
        first[t.dst as usize].get_or_insert((t.step, t.src, t.block));
        // Both sides see the same transfer, and know each other.
        let seen = schedule.recv_at(t.dst, t.step).unwrap();
        assert_eq!((seen.from, seen.block), (t.src, t.block), "{here}");
        assert!(neighbours[t.src as usize].contains(&t.dst), "{here}");
        assert!(neighbours[t.dst as usize].contains(&t.src), "{here}");
    }
    let missing = since.iter().flatten().filter(|step| step.is_none()).count();
    assert_eq!(missing, 0, "{name}: blocks that never came");
    assert_eq!(
        all.last().map_or(0, |t| t.step + 1),
        steps,
        "{name}: idle end"
    );
    for (rank, first) in first.iter().enumerate() {
        let got = schedule.first_block(rank as u32);
        let got = got.map(|f| (f.step, f.from, f.block));
        assert_eq!(got, *first, "{name}: first block of {rank}");
    }
    // A rank's own view, from any step on, is the same, and nothing is received that nobody sends.
    let mut sends = vec![Vec::new(); n as usize];
    let mut receives = sends.clone();
    for t in &all {
        sends[t.src as usize].push((t.step, t.dst, t.block));
        receives[t.dst as usize].push((t.step, t.src, t.block));
    }
    for rank in 0..n {
        let middle = steps / 2;
        for (from, half) in [(0, false), (middle, true)] {
            let later = |list: &[(u64, u32, u32)]| -> Vec<(u64, u32, u32)> {
                let kept = list.iter().filter(|(step, ..)| !half || *step >= middle);
                kept.copied().collect()
            };
            let seen = schedule.sends(rank, from).map(|(t, s)| (t, s.to, s.block));
            assert_eq!(
                seen.collect::<Vec<_>>(),
                later(&sends[rank as usize]),
                "{name}"
            );
            let seen = schedule
                .receives(rank, from)
                .map(|(t, r)| (t, r.from, r.block));
            assert_eq!(
                seen.collect::<Vec<_>>(),
                later(&receives[rank as usize]),
                "{name}"
            );
        }
        let idle = (0..steps)
            .filter(|&t| schedule.recv_at(rank, t).is_some())
            .count();
        assert_eq!(
            idle,
            receives[rank as usize].len(),
            "{name}: receives of {rank}"
        );
    }
    all
}

/// T as the rules state it.
fn stated_steps(algorithm: Algorithm, n: u32, k: u32) -> u64 {
    let (n, k) = (u64::from(n), u64::from(k));
    match algorithm {
        _ if n == 1 => 0,
        Algorithm::Sequential => k * (n - 1),
        Algorithm::Chain => k + n - 2,
        Algorithm::BinomialTree => k * u64::from(64 - (n - 1).leading_zeros()),
        _ if n.is_power_of_two() => k + u64::from(n.ilog2()) - 1,
        _ => k + u64::from(n.ilog2()),
    }
}

#[test]
fn mb_01_mb_02_mb_03_mb_04_mb_05_every_group_to_300_gets_every_block_once_in_time() {
    for n in 1u32..=300 {
        let logarithm = 32 - n.leading_zeros();
        for k in [1, 2, 3, logarithm, logarithm + 1, 17] {
            for algorithm in PLAIN {
                // The two slow ones say nothing new with many members and blocks.
                if k > 4 && n > 64 && !matches!(algorithm, Algorithm::BinomialPipeline) {
                    continue;
                }
                let schedule = Schedule::new(algorithm, n, k).unwrap();
                assert_eq!(schedule.total_steps(), stated_steps(algorithm, n, k));
                check(&schedule);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn mb_05_any_pipeline_delivers_each_block_once(n in 1u32..=600, k in 1u32..=40) {
        check(&Schedule::new(Algorithm::BinomialPipeline, n, k).unwrap());
    }

    #[test]
    fn mb_06_any_racks_get_each_block_once(racks in prop::collection::vec(1u32..=12, 1..=12), k in 1u32..=20) {
        let schedule = Schedule::hybrid(&racks, k).unwrap();
        let all = check(&schedule);
        let inside = racks.iter().map(|&n| stated_steps(Algorithm::BinomialPipeline, n, k));
        let leaders = stated_steps(Algorithm::BinomialPipeline, racks.len() as u32, k);
        prop_assert_eq!(schedule.total_steps(), leaders + inside.max().unwrap());
        // Each block enters each rack but the root's once.
        let between = crossings(&all, &racks, |rank| rank);
        prop_assert_eq!(between as u64, u64::from(k) * (racks.len() as u64 - 1));
    }

    #[test]
    fn mb_07_queries_of_large_groups_agree(n in 2u32..=MAX_MEMBERS, k in 1u32..=MAX_BLOCKS, at in any::<(u32, u64)>()) {
        for algorithm in PLAIN {
            let schedule = Schedule::new(algorithm, n, k).unwrap();
            let (rank, step) = (at.0 % n, at.1 % schedule.total_steps());
            if let Some(sent) = schedule.send_at(rank, step) {
                let got = schedule.recv_at(sent.to, step).unwrap();
                prop_assert_eq!((got.from, got.block), (rank, sent.block));
            }
            if let Some(got) = schedule.recv_at(rank, step) {
                let sent = schedule.send_at(got.from, step).unwrap();
                prop_assert_eq!((sent.to, sent.block), (rank, got.block));
            }
            if let Some(first) = schedule.first_block(rank) {
                let got = schedule.recv_at(rank, first.step).unwrap();
                prop_assert_eq!((got.from, got.block), (first.from, first.block));
            }
            prop_assert_eq!(schedule.send_at(n, step), None);
            prop_assert_eq!(schedule.recv_at(rank, schedule.total_steps()), None);
        }
    }

    #[test]
    fn mb_06_a_layout_gives_each_member_one_rank(n in 1u32..=MAX_MEMBERS, member in any::<u32>()) {
        let layout = Layout::new(n);
        let member = member % n;
        let rank = layout.rank(member).unwrap();
        prop_assert!(rank < n);
        prop_assert_eq!(layout.member(rank), Some(member));
        prop_assert_eq!((layout.rank(n), layout.member(n)), (None, None));
        prop_assert_eq!(layout.rank(0), Some(0));
    }
}

/// Transfers between racks; `member` tells the member of a rank.
fn crossings(all: &[Transfer], racks: &[u32], member: impl Fn(u32) -> u32) -> usize {
    let mut rack = Vec::new();
    for (index, &size) in racks.iter().enumerate() {
        rack.resize(rack.len() + size as usize, index);
    }
    let of = |rank| rack[member(rank) as usize];
    all.iter().filter(|t| of(t.src) != of(t.dst)).count()
}

/// The share of transfers that leave a rack, with the members of a rack in a row as ranks come, and with the layout.
#[test]
fn mb_06_a_layout_keeps_low_dimensions_inside_racks() {
    for racks in [vec![16; 4], vec![12; 8], vec![20; 5], vec![7, 9, 16, 5, 11]] {
        let n = racks.iter().sum();
        let schedule = Schedule::new(Algorithm::BinomialPipeline, n, 64).unwrap();
        let all: Vec<Transfer> = schedule.transfers().collect();
        let layout = Layout::new(n);
        let plain = crossings(&all, &racks, |rank| rank);
        let laid_out = crossings(&all, &racks, |rank| layout.member(rank).unwrap());
        println!(
            "{racks:?}: {:.3} of the transfers between racks, {:.3} with the layout",
            plain as f64 / all.len() as f64,
            laid_out as f64 / all.len() as f64
        );
        assert!(laid_out <= plain, "{racks:?}");
        if !n.is_power_of_two() {
            assert!(laid_out * 10 < plain * 9, "{racks:?}");
        }
    }
}

#[test]
fn mb_07_sizes_that_make_no_group_are_refused() {
    use ScheduleError::{Blocks, EmptyRack, Members, Racks};
    let new = |n, k| Schedule::new(Algorithm::Chain, n, k).map(|_| ());
    assert_eq!(new(0, 1), Err(Members(0)));
    assert_eq!(new(MAX_MEMBERS, MAX_BLOCKS), Ok(()));
    assert_eq!(
        new(MAX_MEMBERS + 1, 1),
        Err(Members(u64::from(MAX_MEMBERS) + 1))
    );
    assert_eq!(new(2, 0), Err(Blocks(0)));
    assert_eq!(new(2, MAX_BLOCKS + 1), Err(Blocks(MAX_BLOCKS + 1)));
    let hybrid = |racks: &[u32]| Schedule::hybrid(racks, 1).map(|_| ());
    assert_eq!(hybrid(&[]), Err(Members(0)));
    assert_eq!(hybrid(&[3, 0, 1]), Err(EmptyRack(1)));
    assert_eq!(
        hybrid(&[u32::MAX, 2]),
        Err(Members(u64::from(u32::MAX) + 2))
    );
    let error = Schedule::new(Algorithm::Hybrid, 4, 1).unwrap_err();
    assert_eq!(error, Racks(Algorithm::Hybrid));
}

#[test]
fn mb_05_the_example_of_five_members_and_three_blocks() {
    let schedule = Schedule::new(Algorithm::BinomialPipeline, 5, 3).unwrap();
    let mut text = String::new();
    for t in schedule.transfers() {
        text += &format!("{}: {}>{} b{}; ", t.step, t.src, t.dst, t.block);
    }
    assert_eq!(
        text,
        "0: 0>1 b0; 1: 0>2 b1; 1: 1>3 b0; 2: 0>4 b2; 2: 2>3 b1; 2: 3>2 b0; 3: 0>2 b2; \
         3: 1>4 b0; 3: 3>1 b1; 3: 4>3 b2; 4: 1>4 b1; 4: 4>1 b2; "
    );
}
