//! Everything at once, seeded.

use tributary_protocol::card::descriptor::ReceiveRequest;

use crate::faults::replace;
use crate::host::{CALM, Dice, Knobs};
use crate::model::{Qp, Request, region};
use crate::order::check;
use crate::ports::small;
use crate::rings::assert_read_ahead;
use crate::world::{Counts, World};
use crate::{notice, ready, request};
use tributary_sim::testbench::{Stalls, profiles};

fn knobs(dice: &mut Dice) -> Knobs {
    let mut percent = || [100, 90, 50, 15][dice.below(4) as usize];
    let (ready, offer, ak_ready) = (percent(), percent(), percent());
    let mut upto = |most: u64| (1, 1 + dice.below(most));
    Knobs {
        ready,
        offer,
        ak_ready,
        read_latency: upto(200),
        slot_latency: upto(12),
        land_latency: upto(60),
        read_fails: [0, 0, 0, 3][dice.below(4) as usize],
        slot_refused: [0, 10][dice.below(2) as usize],
        write_jobs: 1 + dice.below(3) as usize,
        withdrawn: [0, 10][dice.below(2) as usize],
    }
}

fn queue_pair(dice: &mut Dice) -> Qp {
    let oldest = dice.word() as u16;
    Qp {
        state: [1, 2, 3, 3, 3][dice.below(5) as usize],
        q_key: [crate::KEY, dice.word() as u32][usize::from(dice.chance(10))],
        oldest,
        newest: oldest.wrapping_add(dice.below(20) as u16),
        base: dice.word() & !63,
        ..ready([0, 1, 2, 3, 4, 5, 15][dice.below(7) as usize])
    }
}

fn some_receive(dice: &mut Dice) -> ReceiveRequest {
    // Odd keys are of another protection domain.
    let lkey = (dice.word() as u32 & !1) | u32::from(dice.chance(8));
    let end = dice.chance(10);
    ReceiveRequest {
        wr_id: dice.word(),
        address: region(lkey)
            + if end {
                (1 << 20) - 40
            } else {
                dice.below(60_000)
            },
        lkey,
        length: [
            64,
            dice.below(90) as u32,
            5_000,
            u32::MAX,
            dice.word() as u32,
        ][dice.below(5) as usize],
    }
}

fn some_request(dice: &mut Dice, world: &World) -> Request {
    let qpn = [dice.below(8), dice.word()][usize::from(dice.chance(3))] as u32 & 0xff_ffff;
    let length = match dice.below(10) {
        0 => dice.below(1_200),
        1 => 0,
        2 => 8 * dice.below(20),
        _ => dice.below(80),
    };
    let mut rq = request(qpn, dice.word() as u32 & 0xff_ffff, length as usize);
    rq.node = dice.word() as u32 >> 12;
    rq.src = dice.word() as u32 & 0xff_ffff;
    rq.window.id = dice.word() as u16;
    rq.window.msn = dice.word() as u32;
    rq.unknown = dice.chance(3);
    rq.marked = dice.chance(40);
    if let Some(qp) = world.qps.get(qpn as usize) {
        rq.window.epoch = qp.newest;
        if dice.chance(10) {
            rq.window.epoch = qp
                .oldest
                .wrapping_add(dice.below(25) as u16)
                .wrapping_sub(2);
        }
        if !dice.chance(3) {
            rq.q_key = qp.q_key;
        }
    }
    rq.vf = 0x10 | (dice.below(8) as u8 * u8::from(dice.chance(20)));
    if dice.chance(10) {
        rq.vf = 0;
        rq.window.epoch = 0;
    }
    rq
}

/// What software, card_regs and the line do in one clock.
fn act(world: &mut World, dice: &mut Dice) {
    let qpn = dice.below(8) as usize;
    let qp = world.qps[qpn].clone();
    if dice.chance(8) && qp.state != 0 && world.configs.is_empty() {
        let free = u64::from(qp.free());
        match dice.below(10) {
            0 => {
                // Ever so slightly too much, or back: a few requests may be taken meanwhile.
                let over = qp.posted.wrapping_add(qp.free()).wrapping_add(10);
                let bad = if qp.free() > 0x7000 || dice.chance(50) {
                    qp.posted
                        .wrapping_sub(1 + dice.below(u64::from(u16::MAX - qp.length()) - 40) as u16)
                } else {
                    over
                };
                world.ring_badly(qpn, bad);
            }
            _ if free > 0 => {
                let count = 1 + dice.below(free.min(12));
                let list: Vec<_> = (0..count).map(|_| some_receive(dice)).collect();
                world.post(qpn, &list);
            }
            _ => {}
        }
    }
    if world.requests.len() < 2 && dice.chance(20) {
        let rq = some_request(dice, world);
        world.requests.push_back(rq);
    }
    if world.notices.len() < 2 && dice.chance(8) {
        let qpn = [dice.below(8), dice.word()][usize::from(dice.chance(3))] as u32 & 0xff_ffff;
        let mut rq = notice(qpn, dice.word() as u32, dice.word() as u32);
        // Neither the Q_Key nor an epoch is looked at.
        rq.q_key = dice.word() as u32;
        rq.node = dice.word() as u32 >> 12;
        rq.src = dice.word() as u32 & 0xff_ffff;
        world.notices.push_back(rq);
    }
    if dice.chance(1) {
        world.qps[qpn].slots = dice.below(40) as u32;
    }
    if dice.below(400) == 0 && world.configs.is_empty() && matches!(qp.state, 1..=3) {
        match dice.below(3) {
            0 => world.modify(qpn, |qp| qp.newest = qp.newest.wrapping_add(1)),
            1 => world.modify(qpn, |qp| qp.state = 3.min(qp.state + 1)),
            _ => world.modify(qpn, |qp| qp.pd = 7),
        }
    }
}

fn run(seed: u64, phases: u64, clocks: u64, stalls: Option<Stalls>) -> Counts {
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let first = knobs(&mut dice);
    let mut world = World::new(&small().1, 8, 16, first, seed ^ 1);
    world.stalls = stalls;
    for qpn in 0..8 {
        let qp = queue_pair(&mut dice);
        world.create(qpn, &qp);
    }
    for _ in 0..phases {
        world.knobs = knobs(&mut dice);
        for _ in 0..clocks {
            act(&mut world, &mut dice);
            world.step();
        }
        if dice.chance(60) {
            let qpn = dice.below(8) as usize;
            let qp = queue_pair(&mut dice);
            // No doorbell of the old one may come to the new one.
            world.until(100, "doorbells", |w| w.doorbells.is_empty());
            replace(&mut world, qpn, &qp);
        }
    }
    world.knobs = CALM;
    world.stalls = None;
    world.until(50_000, "the rest", World::quiet);
    world.steps(3_000);
    assert_read_ahead(&world);
    assert_eq!(world.counts.bad_doorbells, 0);
    check(&world.events).expect("XUD-4");
    world.counts
}

#[test]
fn random_runs_with_random_stalls_follow_the_rules() {
    let mut sum = Counts::default();
    for seed in 0..12 {
        let counts = run(seed, 20, 1_500, None);
        for (all, one) in sum.verdicts.iter_mut().zip(counts.verdicts) {
            *all += one;
        }
        sum.accepted += counts.accepted;
        sum.refused_access += counts.refused_access;
        sum.refused_slot += counts.refused_slot;
        sum.local_queue += counts.local_queue;
        sum.compared += counts.compared;
        sum.reads += counts.reads;
        sum.told[0] += counts.told[0];
        sum.told[1] += counts.told[1];
        sum.withdrawn += counts.withdrawn;
    }
    println!("{sum:?}");
    // Every outcome is seen often enough to mean something.
    assert!(sum.verdicts.iter().all(|&count| count >= 20), "{sum:?}");
    assert!(sum.accepted > 2_000 && sum.compared > 2_000, "{sum:?}");
    assert!(
        sum.told.iter().all(|&count| count > 200) && sum.withdrawn > 100,
        "{sum:?}"
    );
    assert!(
        sum.refused_access > 20 && sum.refused_slot > 20 && sum.local_queue > 5,
        "{sum:?}"
    );
}

/// Long form: `TRIBUTARY_FRAMES=1000000 cargo test -p tributary-hdl --test card_recv under_every_profile -- --nocapture`.
#[test]
fn xud_04_xud_14_messages_follow_the_rules_under_every_profile_of_stalls() {
    profiles("card_recv: requests", |seed| {
        let counts = run(seed, 5, 4_000, Some(Stalls::of_seed(seed, 5)));
        counts.verdicts.iter().sum()
    });
}
