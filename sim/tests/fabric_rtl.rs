//! Fabrics of Verilated switches beside fabrics of models: the same frames on the same cables in the same clocks.

use std::sync::Arc;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::red::{
    Counter, Frame, Key, Op, Rc, Value, regs,
    wire::{self, DEFAULT_ETHERTYPE},
};
use tributary_sim::fabric::{
    Contribution, Fabric, Fate, GroupConfig, Kind, LinkSpec, Options, Simulator, Treatment,
    TreeSpec, file,
};
use tributary_sim::testbench::{Profile, profiles};

const COUNTERS: [Counter; 8] = [
    Counter::Armed,
    Counter::Combined,
    Counter::Results,
    Counter::Partials,
    Counter::Passed,
    Counter::ExpiredEmpty,
    Counter::OldSeqno,
    Counter::QueueFull,
];

/// A timeout runs out when its descriptor is visited, and the unit's counter runs from reset.
const VISIT: u64 = 100;

/// What was on the cables, in an order that does not depend on the simulator.
type Seen = Vec<(u64, usize, usize, u64, Fate, Arc<[u8]>)>;

fn seen(sim: &Simulator) -> Seen {
    let mut seen: Seen = sim
        .sightings()
        .iter()
        .map(|s| (s.start, s.cable, s.from, s.end, s.fate, s.bytes.clone()))
        .collect();
    seen.sort_by_key(|s| (s.1, s.2, s.0));
    seen
}

/// Runs the same on models and on RTL, and compares all that can be seen; times may differ by `slack` clocks.
fn both(fabric: &Fabric, clocks: u64, slack: u64, mut prepare: impl FnMut(&mut Simulator)) {
    let run = |mut sim: Simulator, prepare: &mut dyn FnMut(&mut Simulator)| {
        sim.record();
        prepare(&mut sim);
        sim.run(clocks).unwrap();
        sim
    };
    let model = run(Simulator::new(fabric.clone(), 3).unwrap(), &mut prepare);
    let rtl = run(
        Simulator::of_rtl(fabric.clone(), 3, false).unwrap(),
        &mut prepare,
    );
    let (a, b) = (seen(&model), seen(&rtl));
    for (a, b) in a.iter().zip(&b) {
        let name = fabric.name(fabric.cables[a.1].ends[a.2]);
        assert_eq!((a.1, a.2, a.4, &a.5), (b.1, b.2, b.4, &b.5), "from {name}");
        assert!(
            a.0.abs_diff(b.0) <= slack,
            "from {name}: {} and {}",
            a.0,
            b.0
        );
    }
    assert_eq!(a.len(), b.len());
    for counter in COUNTERS {
        assert_eq!(model.counted(counter), rtl.counted(counter), "{counter}");
    }
    assert_eq!(model.in_use(), rtl.in_use());
}

fn small() -> Fabric {
    Fabric::regular(&[3, 2], LinkSpec::default()).unwrap()
}

fn contribute(sim: &mut Simulator, group: usize, round: u64, at: impl Fn(usize) -> u64) {
    for e in sim.group_endpoints(group).to_vec() {
        let value = Value {
            data: [1 << e, e as u64, 7, !0],
            ..Value::default()
        };
        sim.contribute(
            group,
            e,
            round,
            Contribution {
                at: at(e),
                op: Op::IntSum,
                value,
            },
        )
        .unwrap();
    }
}

#[test]
fn red_15_a_round_on_rtl_is_that_of_the_models_to_the_clock() {
    both(&small(), 6_000, 0, |sim| {
        let group = sim.add_group(0, &GroupConfig::default()).unwrap();
        contribute(sim, group, 0, |e| 2_000 + 40 * e as u64);
        contribute(sim, group, 1, |e| 4_000 + 40 * (5 - e as u64));
    });
}

/// All begin in the same clock, so frames wait for each other before the engines.
#[test]
fn contributions_that_come_at_once_take_as_long_on_rtl_as_on_models() {
    both(&small(), 6_000, 0, |sim| {
        let group = sim.add_group(0, &GroupConfig::default()).unwrap();
        contribute(sim, group, 0, |_| 2_000);
    });
}

#[test]
fn plain_frames_up_and_down_take_as_long_on_rtl_as_on_models() {
    let mut fabric = small();
    fabric.trees[0].id = 2;
    both(&fabric.clone(), 5_000, 0, |sim| {
        let mut bytes = [0x55; 94];
        bytes[12..14].copy_from_slice(&[8, 0]);
        bytes[..6].copy_from_slice(
            &Key {
                tree: 2,
                reduction: 0,
            }
            .address()
            .mac(),
        );
        sim.inject(0, &bytes, 1_000).unwrap();
        bytes[..6].copy_from_slice(&fabric.endpoints[0].address().mac());
        sim.inject(5, &bytes, 3_000).unwrap();
        sim.inject(5, &bytes[..61], 3_000).unwrap();
    });
}

/// One double each: what is taken together where it comes at once.
fn contribute_one(sim: &mut Simulator, group: usize, round: u64, at: impl Fn(usize) -> u64) {
    let mut rng = SmallRng::seed_from_u64(round << 8 | group as u64);
    for e in sim.group_endpoints(group).to_vec() {
        // Of every size, so that a sum tells in which order it was made.
        let double = f64::from(rng.random_range(-1.0f32..1.0)) * 2f64.powi(rng.random_range(0..40));
        let value = Value {
            data: [double.to_bits(), 0, 0, 0],
            ..Value::default()
        };
        let contribution = Contribution {
            at: at(e),
            op: Op::FltSumNearest,
            value,
        };
        sim.contribute(group, e, round, contribution).unwrap();
    }
}

/// Eight endpoints of one switch, in the same clock and in clocks near by, one reduction and three at a time: the same sums to the bit
/// in the same clocks.
#[test]
fn red_01_red_15_contributions_taken_together_take_as_long_on_rtl_as_on_models() {
    let fabric = Fabric::regular(&[8], LinkSpec::default()).unwrap();
    both(&fabric, 90_000, 0, |sim| {
        let config = |number: usize| GroupConfig {
            reduction: number as u8,
            cookie: 0x1000 + number as u32,
            ..GroupConfig::default()
        };
        let groups = [0, 1, 2].map(|n| sim.add_group(0, &config(n)).unwrap());
        for round in 0..40 {
            let begin = 2_000 + 2_000 * round;
            let spread = [1, 1, 2, 3, 5, 9, 14, 40][(round % 8) as usize];
            let used = if round < 20 { 1 } else { 3 };
            for &group in &groups[..used] {
                let shift = group as u64 * (round % 5) * 4;
                contribute_one(sim, group, round, |e| {
                    begin + shift + e as u64 * (3 + 2 * round) % spread
                });
            }
        }
    });
}

/// Two levels: at the root's switch those of its own endpoints count one each and that from above several, so they do not go together.
#[test]
fn red_01_red_15_contributions_of_other_counts_come_after_those_taken_together() {
    let fabric = Fabric::regular(&[6, 2], LinkSpec::default()).unwrap();
    both(&fabric, 60_000, 0, |sim| {
        let group = sim.add_group(0, &GroupConfig::default()).unwrap();
        for round in 0..20 {
            let begin = 2_000 + 2_500 * round;
            contribute_one(sim, group, round, |e| {
                // Those near the root come when those from above do.
                begin
                    + if e < 6 {
                        300 + (round * 7 + e as u64) % 60
                    } else {
                        0
                    }
            });
        }
    });
}

/// A port is the root's of one tree and a member's of another: contributions for the engine and frames that go down meet there, at
/// every distance, and none waits for the other kind. Four trees over one switch, each of another root.
#[test]
fn cl_07_contributions_and_frames_down_through_one_port_take_as_long_on_rtl_as_on_models() {
    let mut fabric = Fabric::regular(&[4], LinkSpec::default()).unwrap();
    let first = fabric.trees[0].clone();
    fabric.trees = (0..4)
        .map(|root| TreeSpec {
            id: first.id + root as u16,
            root,
            members: (0..4).filter(|&member| member != root).collect(),
            ..first.clone()
        })
        .collect();
    both(&fabric, 60_000, 0, |sim| {
        let groups = [0, 1, 2, 3].map(|tree| sim.add_group(tree, &GroupConfig::default()).unwrap());
        for round in 0..40 {
            for (turn, &group) in (0..).zip(&groups) {
                // From round to round they come closer to each other, and overtake.
                let begin = 2_000 + 1_400 * round + turn * (7 * round % 130);
                contribute(sim, group, round, |e| begin + 3 * (e as u64 * round % 5));
            }
        }
    });
}

/// Contributions of eight groups wait before one engine, several in a queue, at every distance: the inputs take turns.
#[test]
fn red_15_queues_before_an_engine_take_turns_on_rtl_as_on_models() {
    let fabric = Fabric::regular(&[4], LinkSpec::default()).unwrap();
    both(&fabric, 60_000, 0, |sim| {
        let config = |number: usize| GroupConfig {
            reduction: number as u8,
            cookie: 0x1000 + number as u32,
            ..GroupConfig::default()
        };
        let groups = [0, 1, 2, 3, 4, 5, 6, 7].map(|n| sim.add_group(0, &config(n)).unwrap());
        for round in 0..20 {
            for (number, &group) in (0..).zip(&groups) {
                let begin = 4_000 + 2_500 * round + 5 * (number * round % 7);
                contribute(sim, group, round, |e| {
                    begin + (e as u64 * 29 + number * 3 + round) % (1 + 4 * round)
                });
            }
        }
    });
}

/// The root of a tree contributes by its own port: before its leaves, between them, after them, in the clock of one of them,
/// again when the round is over, for no one, and downwards. With a wait count, and without one at the root's switch.
#[test]
fn cl_06_contributions_of_a_root_take_as_long_on_rtl_as_on_models() {
    let fabric = small();
    let tree = fabric.trees[0].clone();
    let key = Key {
        tree: tree.id,
        reduction: 2,
    };
    for engine in [true, false] {
        both(&fabric, 20_000, 0, |sim| {
            // The switch of the root waits for all.
            let entries = &sim.trees()[0];
            let (switch, mut entry) = entries
                .iter()
                .map(|(switch, entry)| (*switch, *entry))
                .max_by_key(|(_, entry)| entry.wait)
                .unwrap();
            assert_eq!(entry.wait as usize, tree.members.len());
            entry.children |= 1 << entry.parent;
            entry.wait += 1;
            if !engine {
                entry.wait = 0;
            }
            sim.write_multicast(switch, tree.id, Some(entry)).unwrap();
            let mut send = |from: usize, at: u64, change: &dyn Fn(&mut Frame)| {
                let address = fabric.endpoints[from].address();
                let mut frame = Frame {
                    fabric: wire::Fabric::new(address, key.address(), 5),
                    restricted: wire::Restricted::default(),
                    red: wire::Reduction {
                        seqno: 1,
                        arm: false,
                        op: Op::IntSum,
                        count: 1,
                        resno: 1,
                        rc: Rc::OK,
                        m: 0,
                        oflow: 0,
                        pad: 0,
                        cookie: 6,
                    },
                    data: [from as u64 + 1, 2, 3, 4],
                };
                change(&mut frame);
                sim.inject(from, &frame.to_bytes(DEFAULT_ETHERTYPE), at)
                    .unwrap();
            };
            let gaps = [0, 90, 400, 120, 7];
            for (seqno, start) in (2..).zip((1_000..16_000).step_by(3_000)) {
                let round = |f: &mut Frame| (f.red.seqno, f.red.resno) = (seqno, seqno);
                send(tree.root, start, &|f| {
                    round(f);
                    f.red.arm = true;
                });
                for (at, &member) in (0..).zip(&tree.members) {
                    send(member, start + 1_000 + 60 * at, &round);
                }
                let own = start + 980 + gaps[usize::from(seqno) - 2];
                send(tree.root, own, &round);
                send(tree.root, start + 2_000, &round);
                send(tree.root, start + 2_100, &|f| {
                    round(f);
                    f.red.count = 0;
                });
                send(tree.root, start + 2_200, &|f| {
                    round(f);
                    f.restricted.opcode = 1;
                });
            }
        });
    }
}

#[test]
fn red_16_a_late_leaf_passes_rtl_as_it_passes_models() {
    both(&small(), 60_000, VISIT, |sim| {
        let group = sim.add_group(0, &GroupConfig::default()).unwrap();
        contribute(sim, group, 0, |e| {
            2_000 + if e == 4 { 50_000 } else { 20 * e as u64 }
        });
    });
}

#[test]
fn red_16_lost_and_damaged_frames_are_the_same_on_rtl() {
    let link = LinkSpec {
        clocks_per_word: 2,
        ..LinkSpec::default()
    };
    let fabric = Fabric::regular(&[3, 2], link).unwrap();
    both(&fabric, 80_000, VISIT, |sim| {
        let config = GroupConfig::default();
        let root = tributary_protocol::red::host::RootConfig {
            attempt_timeout: 30_000,
            ..config.root
        };
        let group = sim.add_group(0, &GroupConfig { root, ..config }).unwrap();
        contribute(sim, group, 0, |e| 2_000 + 60 * e as u64);
        contribute(sim, group, 1, |e| 2_000 + 60 * e as u64);
        let mut frames = 0;
        sim.tamper(move |_| {
            frames += 1;
            match frames {
                11 => Treatment::Lose,
                17 => Treatment::Damage,
                _ => Treatment::Pass,
            }
        });
    });
}

/// Eight reductions on one tree, rounds behind each other, while the MACs of the switches stall: every result is right and
/// has everyone in it, whichever way it came.
fn rounds_under_stalls(seed: u64) -> u64 {
    const ROUNDS: u64 = 2;
    let profile = Profile::of_seed(seed);
    let options = Options {
        kind: Kind::Rtl,
        profile,
        ..Options::default()
    };
    let mut sim = Simulator::build(small(), seed, options).unwrap();
    sim.record();
    let config = |number: usize| GroupConfig {
        reduction: number as u8,
        vni: 1 + number as u16,
        cookie: 0x1000 + number as u32,
        ..GroupConfig::default()
    };
    let groups: Vec<usize> = (0..8)
        .map(|number| sim.add_group(0, &config(number)).unwrap())
        .collect();
    let mut open = vec![];
    for round in 0..ROUNDS {
        for &group in &groups {
            contribute(&mut sim, group, round, |e| {
                1_500 + 700 * round + (seed + 1) * (e as u64 * 37 + group as u64 * 11) % 500
            });
            let members = sim.group_endpoints(group).iter();
            open.extend(members.map(|&e| (group, e, round)));
        }
    }
    let all = open.clone();
    let limit = 20_000_000;
    sim.run_while(limit, |sim| {
        open.retain(|&(group, e, round)| !sim.is_over(group, e, round));
        !open.is_empty()
    })
    .unwrap();
    assert_eq!(open, [], "not over, seed {seed}, {profile}");
    for (group, e, round) in all {
        let place = format!("group {group}, {e}, round {round}, seed {seed}, {profile}");
        let Some((_, outcome)) = sim.outcome(group, e, round) else {
            panic!("left out: {place}");
        };
        // Six endpoints: as `contribute` gives them.
        let right = [63, 15, 42, 0_u64.wrapping_sub(6)];
        assert_eq!((outcome.value.data, outcome.count), (right, 6), "{place}");
    }
    sim.sightings().len() as u64
}

#[test]
fn red_15_red_16_results_are_right_under_every_profile_of_stalls() {
    profiles("fabric of RTL: frames", rounds_under_stalls);
}

#[test]
fn a_cable_shorter_than_a_frame_is_refused_beside_rtl() {
    let link = LinkSpec {
        latency_clocks: 11,
        ..LinkSpec::default()
    };
    let error = Simulator::of_rtl(Fabric::regular(&[2], link).unwrap(), 1, false).unwrap_err();
    assert!(
        format!("{error:#}").contains("at least 12, the length of a frame"),
        "{error:#}"
    );
}

#[test]
fn another_number_of_descriptors_is_refused_beside_rtl() {
    let mut fabric = small();
    fabric.switches[1].engine.descriptors = 4;
    let error = Simulator::of_rtl(fabric, 1, false).unwrap_err();
    assert_eq!(format!("{error:#}"), "leaf1: 4 descriptors; the RTL has 8");
}

/// Three endpoints send to the fourth at once, 60 frames of 40 words each in bursts, and again with another threshold, written
/// while the fabric runs. How many are marked at the receiver's cable is what the switch says, is 0 without a threshold, and is
/// about the same on models and RTL: these look at a queue up to two frames earlier.
#[test]
fn cl_04_an_incast_is_marked_by_switches_of_both_kinds_as_the_file_and_the_register_say() {
    let text = |words: &str| {
        let switch =
            format!("[link]\nlatency_clocks = 60\n[[switch]]\nname = \"s\"\nports = 4\n{words}\n");
        let ends = (0..4).map(|e| {
            format!("[[endpoint]]\nname = \"{e}\"\n[[cable]]\nends = [\"s.{e}\", \"{e}\"]\n")
        });
        switch + &ends.collect::<String>()
    };
    let marks = |words: &str, kind: Kind, written: u32| {
        let fabric = file::parse(&text(words), "incast.toml").unwrap();
        let mut sim = match kind {
            Kind::Model => Simulator::new(fabric, 3).unwrap(),
            Kind::Rtl => Simulator::of_rtl(fabric, 3, false).unwrap(),
        };
        sim.record();
        let to = sim.fabric().endpoints[0].address().mac();
        let mut found = vec![];
        for round in 0..2 {
            let before = sim.sightings().len();
            let counted = sim.counted(Counter::EcnMarked);
            let now = sim.now();
            for at in 0..60 {
                for from in 1..4 {
                    let mut bytes = vec![at as u8; 320];
                    bytes[..6].copy_from_slice(&to);
                    bytes[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0x02]);
                    // Bursts of 6, 240 words, and time for them to leave.
                    sim.inject(from, &bytes, now + 100 + at / 6 * 1_000)
                        .unwrap();
                }
            }
            sim.run(now + 15_000).unwrap();
            let seen = &sim.sightings()[before..];
            let arrived = seen.iter().filter(|s| s.cable == 0 && s.bytes[15] & 3 != 0);
            let marked = arrived.clone().filter(|s| s.bytes[15] & 3 == 3).count() as u64;
            assert_eq!(arrived.count(), 180, "{kind} {words}");
            assert_eq!(
                sim.counted(Counter::EcnMarked) - counted,
                marked,
                "{kind} {words}"
            );
            found.push(marked);
            let at = regs::ECN_THRESHOLD.offset;
            if round == 0 {
                sim.write_register(0, at, written).unwrap();
                assert_eq!(sim.read_register(0, at).unwrap(), written);
            }
        }
        found
    };
    let run = |words: &str, written| {
        let both = [Kind::Model, Kind::Rtl].map(|kind| marks(words, kind, written));
        println!("{words}, then {written}: {both:?}");
        both
    };
    // 10 bursts of 3 queues.
    let close = |[a, b]: [u64; 2]| a.abs_diff(b) <= 2 * 30;
    let [model, rtl] = run("", 70);
    assert_eq!((model[0], rtl[0]), (0, 0));
    assert!(model[1] > 30 && rtl[1] > 30 && close([model[1], rtl[1]]));
    let [model, rtl] = run("ecn_words = 110", 0);
    assert!(model[0] > 30 && rtl[0] > 30 && close([model[0], rtl[0]]));
    assert_eq!((model[1], rtl[1]), (0, 0));
}
