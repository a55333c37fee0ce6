//! Groups of survivors: random failures, then a new group that sends what each member lacks. `TRIBUTARY_SEED` runs one seed.

use std::collections::BTreeSet;

use bitvec::vec::BitVec;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_protocol::multicast::Schedule;
use tributary_protocol::multicast::group::{
    Control, GroupConfig, GroupError, Holdings, Member, Mutations, Output, Verdict,
};

use super::random::{from_env, to_the_end};

const EPOCH: u32 = 8;

enum Flying {
    Control(u32, u32, Control),
    Block(u32, u32, (u32, u32), u64),
}

/// A group that is resumed, over a network that delays.
struct Again {
    members: Vec<Member>,
    flying: Vec<Flying>,
    has: Vec<BTreeSet<(u32, u32)>>,
    delivered: Vec<Vec<u32>>,
    messages: Option<u32>,
    moved: usize,
}

/// Blocks that a member has.
fn held(holdings: &Holdings, config: &GroupConfig) -> BTreeSet<(u32, u32)> {
    let mut set = BTreeSet::new();
    for (message, &length) in (0..).zip(&holdings.whole) {
        set.extend((0..config.blocks(length).unwrap()).map(|b| (message, b)));
    }
    let first = holdings.whole.len() as u32;
    for (message, partial) in (first..).zip(&holdings.partial) {
        set.extend(partial.have.iter_ones().map(|b| (message, b as u32)));
    }
    set
}

impl Again {
    fn call(
        &mut self,
        rank: u32,
        what: impl FnOnce(&mut Member, &mut Vec<Output>),
    ) -> Result<(), String> {
        let mut out = Vec::new();
        what(&mut self.members[rank as usize], &mut out);
        let mut next = 0;
        while let Some(output) = out.get(next).cloned() {
            next += 1;
            match output {
                Output::Control { to, control } => {
                    self.flying.push(Flying::Control(to, rank, control));
                }
                Output::Block {
                    to,
                    message,
                    block,
                    length,
                } => {
                    let number = (message, block);
                    if !self.has[rank as usize].contains(&number) {
                        return Err(format!("{rank} sends {number:?}, which it has not"));
                    }
                    if self.has[to as usize].contains(&number) {
                        return Err(format!("MB-14: {to} has {number:?} already"));
                    }
                    self.flying.push(Flying::Block(to, rank, number, length));
                }
                Output::Begin { message, .. } => {
                    self.members[rank as usize].buffer(message, &mut out);
                }
                Output::Resumed { messages } => {
                    if *self.messages.get_or_insert(messages) != messages {
                        return Err(format!("members disagree about {messages} messages"));
                    }
                }
                Output::Delivered { message, .. } => self.delivered[rank as usize].push(message),
                Output::Released { .. } | Output::Closed(_) => {}
                other => return Err(format!("{rank} wants {other:?}")),
            }
        }
        Ok(())
    }

    fn step(&mut self, rng: &mut ChaCha8Rng) -> Result<(), String> {
        let place = rng.random_range(0..self.flying.len());
        match self.flying.swap_remove(place) {
            Flying::Control(to, from, control) => {
                self.call(to, |m, out| m.control(from, EPOCH, control, out))
            }
            Flying::Block(to, from, number, length) => {
                self.moved += 1;
                self.has[to as usize].insert(number);
                self.call(to, |m, out| {
                    m.block_arrived(from, EPOCH, number, length, out)
                })?;
                if self.members[to as usize].counters().unexpected > 0 {
                    return Err(format!("MB-9: {to} had not granted {number:?}"));
                }
                self.call(from, |m, out| m.block_sent(number.0, out))
            }
        }
    }
}

/// Blocks that were sent again; `None` if the run had no failure.
fn resumed(seed: u64, mutations: Mutations) -> Result<Option<usize>, String> {
    let (world, scenario) = to_the_end(seed, false)?;
    let alive = world
        .members
        .iter()
        .filter(|m| !world.dead.contains(&m.rank()));
    let survivors: Vec<&Member> = alive.collect();
    let failed = |m: &&Member| matches!(m.verdict(), Some(Verdict::Failure { .. }));
    if survivors.is_empty() || !survivors.iter().all(failed) {
        return Ok(None);
    }
    let mut config = GroupConfig::new(survivors.len() as u32, scenario.config.block_bytes);
    config.credits = scenario.config.credits;
    config.mutations = mutations;
    let holdings: Vec<Holdings> = survivors.iter().map(|m| m.holdings()).collect();
    let has: Vec<_> = holdings.iter().map(|h| held(h, &config)).collect();
    let members = (0..).zip(&holdings).map(|(rank, h)| {
        Member::resume(config.clone(), rank, EPOCH, h.clone()).map_err(|e| e.to_string())
    });
    let mut again = Again {
        members: members.collect::<Result<_, _>>()?,
        flying: Vec::new(),
        delivered: vec![Vec::new(); survivors.len()],
        has: has.clone(),
        messages: None,
        moved: 0,
    };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for rank in 0..config.members {
        again.call(rank, |m, out| m.join(out))?;
    }
    let closes_at = rng.random_range(0..20);
    for turn in 0.. {
        if turn == closes_at {
            again.call(0, |m, out| m.close(out).unwrap())?;
        }
        if again.flying.is_empty() {
            if turn >= closes_at {
                break;
            }
            continue;
        }
        again.step(&mut rng)?;
    }
    let end = again.messages.ok_or("the group never opened")?;
    check(&again, &scenario.messages, end, &holdings, &config)?;
    let whole: usize = (0..end)
        .map(|m| config.blocks(scenario.messages[m as usize]).unwrap() as usize)
        .sum();
    let before = |set: &BTreeSet<(u32, u32)>| set.iter().filter(|b| b.0 < end).count();
    let lacking: usize = has.iter().map(|set| whole - before(set)).sum();
    if again.moved != lacking {
        return Err(format!("MB-14: {} blocks for {lacking}", again.moved));
    }
    // If the old root lives, nothing is lost.
    if !world.dead.contains(&0) && end != world.members[0].delivered() {
        return Err(format!(
            "{end} messages of {}",
            world.members[0].delivered()
        ));
    }
    Ok(Some(lacking))
}

fn check(
    again: &Again,
    messages: &[u64],
    end: u32,
    holdings: &[Holdings],
    config: &GroupConfig,
) -> Result<(), String> {
    for (rank, member) in again.members.iter().enumerate() {
        let success = Verdict::Success { messages: end };
        if member.verdict() != Some(&success) {
            return Err(format!("{rank} ends with {:?}", member.verdict()));
        }
        let first = holdings[rank].whole.len() as u32;
        let wanted: Vec<u32> = (first..end).collect();
        if again.delivered[rank] != wanted {
            return Err(format!("MB-11: {rank}: {:?}", again.delivered[rank]));
        }
        for message in 0..end {
            let blocks = config.blocks(messages[message as usize]).unwrap();
            if !(0..blocks).all(|b| again.has[rank].contains(&(message, b))) {
                return Err(format!("{rank} lacks some of {message}"));
            }
        }
    }
    // The first message that is given up really cannot be completed.
    let blocks = messages.get(end as usize);
    let blocks = blocks.map_or(0, |&length| config.blocks(length).unwrap());
    let all = |b| again.has.iter().any(|set| set.contains(&(end, b)));
    match blocks > 0 && (0..blocks).all(all) {
        true => Err(format!("message {end} was given up for nothing")),
        false => Ok(()),
    }
}

#[test]
fn mb_14_survivors_send_only_what_each_of_them_lacks() {
    if let Some(seed) = from_env("TRIBUTARY_SEED") {
        resumed(seed, Mutations::default()).unwrap();
        return;
    }
    let (mut groups, mut blocks) = (0, 0);
    for seed in 0..from_env("TRIBUTARY_RUNS").unwrap_or(3_000) {
        let sent = resumed(seed, Mutations::default());
        let sent = sent.unwrap_or_else(|e| panic!("TRIBUTARY_SEED={seed}: {e}"));
        groups += u32::from(sent.is_some());
        blocks += sent.unwrap_or(0);
    }
    println!("{groups} groups, {blocks} blocks");
    assert!(groups > 300 && blocks > 300, "{groups} {blocks}");
}

#[test]
fn mb_14_mutation_resend_all_is_caught() {
    let mutations = Mutations {
        resend_all: true,
        ..Mutations::default()
    };
    let error = (0..500).find_map(|seed| resumed(seed, mutations).err());
    let error = error.expect("what members have is sent again");
    assert!(error.contains("MB-14"), "{error}");
}

#[test]
fn mb_14_a_repair_takes_few_steps_and_what_nobody_has_cannot_be_repaired() {
    let of = |lists: &[&[u32]], blocks: usize| -> Vec<BitVec> {
        let list = |held: &&[u32]| {
            let mut have = BitVec::repeat(false, blocks);
            held.iter().for_each(|&b| have.set(b as usize, true));
            have
        };
        lists.iter().map(list).collect()
    };
    let whole: Vec<u32> = (0..12).collect();
    // Each of two lacks the other half: both ways at once.
    let halves = of(&[&whole[..6], &whole[6..]], 12);
    let schedule = Schedule::repair(&halves).unwrap();
    assert_eq!(
        (schedule.total_steps(), schedule.transfers().count()),
        (6, 12)
    );
    // One has all, seven nothing: not much longer than a pipeline.
    let mut lists: Vec<&[u32]> = vec![&whole];
    lists.extend([&[] as &[u32]; 7]);
    let schedule = Schedule::repair(&of(&lists, 12)).unwrap();
    assert_eq!(schedule.transfers().count(), 7 * 12);
    assert!(schedule.total_steps() <= 24, "{}", schedule.total_steps());
    assert!(Schedule::repair(&of(&[&whole[..6], &whole[..7]], 12)).is_err());
    assert!(Schedule::repair(&[]).is_err());
    let mut config = GroupConfig::new(2, 10);
    config.offload = true;
    let error = Member::resume(config, 0, 1, Holdings::default()).unwrap_err();
    assert_eq!(error, GroupError::ResumeOffload);
}
