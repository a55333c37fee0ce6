//! Cards of all members of groups over links that delay: from one doorbell to one completion, without their hosts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tributary_protocol::multicast::ring::{EndCode, Entry, EntryWriter, Opening, TableOutput};
use tributary_protocol::multicast::{Algorithm, Schedule};
use tributary_sim::testbench::number;
use tributary_sim::verilate::Verilated;

use super::bench::{Bench, Command, Event, Seen, library};

/// Groups of the same cards; group g has card g as its root.
pub struct Scenario {
    pub algorithm: Algorithm,
    pub members: u32,
    pub blocks: u32,
    pub groups: u32,
    pub messages: u32,
    /// Clocks of a block on the line, and of one way.
    pub block: u64,
    pub latency: u64,
}

struct Card {
    bench: Bench,
    read: usize,
    writers: Vec<EntryWriter>,
    /// Started, not on the line yet.
    waits: VecDeque<(usize, Entry)>,
    sends_until: u64,
    receives_until: u64,
    /// By group: slots in the order of their grants.
    order: Vec<VecDeque<u8>>,
    /// By group and slot: blocks in the order of their grants.
    to_come: BTreeMap<(usize, u8), VecDeque<(u32, u32)>>,
    here: BTreeSet<(usize, u32, u32)>,
    done: Vec<u32>,
}

/// What happens when.
type Agenda = BTreeMap<u64, Vec<(usize, Event)>>;

impl Scenario {
    fn rank(&self, group: usize, card: usize) -> u32 {
        (card as u32 + self.members - group as u32 % self.members) % self.members
    }

    fn card(&self, group: usize, rank: u32) -> usize {
        ((rank + group as u32) % self.members) as usize
    }

    fn new_card(&self, library: &Verilated, card: usize) -> Card {
        let mut bench = Bench::new(library, card as u64).free();
        bench.latency = 100;
        let mut new = Card {
            bench,
            read: 0,
            writers: Vec::new(),
            waits: VecDeque::new(),
            sends_until: 0,
            receives_until: 0,
            order: vec![VecDeque::new(); self.groups as usize],
            to_come: BTreeMap::new(),
            here: BTreeSet::new(),
            done: vec![0; self.groups as usize],
        };
        let schedule = Schedule::new(self.algorithm, self.members, self.blocks).unwrap();
        for group in 0..self.groups as usize {
            let rank = self.rank(group, card);
            let opening = Opening {
                base: 0x10_0000 * (group as u64 + 1),
                log: 15,
                watchdog: 0,
                timed: rank == 0,
                origin: u32::MAX - 3,
            };
            let peers = (0..self.members).filter(|&peer| peer != rank);
            let mut writer = EntryWriter::new(rank, 2, opening.origin, peers).unwrap();
            let mut entries = Vec::new();
            for message in 0..self.messages {
                entries.extend(writer.message(&schedule, message.into()).unwrap());
            }
            for entry in &entries {
                if entry.kind == tributary_protocol::multicast::ring::EntryKind::Grant {
                    let of = new.to_come.entry((group, entry.to)).or_default();
                    of.push_back((entry.message, entry.block));
                }
            }
            let posted = new.bench.write(&opening, 0, &entries);
            new.writers.push(writer);
            let commands = &mut new.bench.commands;
            commands.push_back(Command::Open(group, opening));
            commands.push_back(Command::Doorbell(group, posted));
        }
        new
    }

    /// Clocks until the last card has completed its last message; no host has done anything meanwhile.
    pub fn run(&self, library: &Verilated) -> Result<u64, String> {
        let mut cards: Vec<Card> = (0..self.members as usize)
            .map(|card| self.new_card(library, card))
            .collect();
        while cards.iter().any(|card| !card.bench.commands.is_empty()) {
            cards.iter_mut().try_for_each(|card| card.bench.clock())?;
        }
        let mut agenda = Agenda::new();
        let steps = Schedule::new(self.algorithm, self.members, self.blocks)
            .unwrap()
            .total_steps();
        let bound = self.block * u64::from(self.messages * self.groups) * steps;
        for now in 0..20 * bound + 100_000 {
            while let Some(entry) = agenda.first_entry()
                && *entry.key() <= now
            {
                for (card, event) in entry.remove() {
                    cards[card].bench.events.push_back(event);
                }
            }
            for at in 0..cards.len() {
                cards[at].bench.clock()?;
                self.sees(at, &mut cards, now, &mut agenda)?;
            }
            for at in 0..cards.len() {
                self.send(at, &mut cards, now, &mut agenda);
            }
            let all = |card: &Card| card.done.iter().all(|&done| done == self.messages);
            if cards.iter().all(all) {
                return Ok(now);
            }
        }
        let done: Vec<_> = cards.iter().map(|card| card.done.clone()).collect();
        Err(format!("not all messages are done: {done:?}"))
    }

    fn sees(
        &self,
        at: usize,
        cards: &mut [Card],
        now: u64,
        agenda: &mut Agenda,
    ) -> Result<(), String> {
        while let Some(&seen) = cards[at].bench.seen.get(cards[at].read) {
            let card = &mut cards[at];
            card.read += 1;
            match seen {
                Seen::Start(group, entry) => {
                    let is_root = self.rank(group, at) == 0;
                    if !is_root && !card.here.contains(&(group, entry.message, entry.block)) {
                        return Err(format!("card {at} sends {entry:?}, which it has not"));
                    }
                    card.waits.push_back((group, entry));
                }
                Seen::Grant(group, slot, granted) => {
                    card.order[group].push_back(slot);
                    let (there, own) = self.peer(at, cards, group, slot);
                    let event = Event::Credit(group, own, granted);
                    agenda
                        .entry(now + self.latency)
                        .or_default()
                        .push((there, event));
                }
                Seen::Done(group, TableOutput::Completion { code, message, .. }) => {
                    let blocks = (0..self.blocks).all(|b| card.here.contains(&(group, message, b)));
                    let whole = self.rank(group, at) == 0 || blocks;
                    if code != EndCode::Done || message != card.done[group] || !whole {
                        return Err(format!("card {at}, group {group}: {code:?} {message}"));
                    }
                    card.done[group] += 1;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The card behind a slot, and the slot that this card has there.
    fn peer(&self, at: usize, cards: &[Card], group: usize, slot: u8) -> (usize, u8) {
        let rank = self.rank(group, at);
        let mut ranks = (0..self.members).filter(|&peer| peer != rank);
        let there = self.card(group, ranks.nth(slot.into()).unwrap());
        (there, cards[there].writers[group].slot(rank).unwrap())
    }

    /// Ports take a block at a time; a receiver takes those of a group in the order of its grants.
    fn send(&self, at: usize, cards: &mut [Card], now: u64, agenda: &mut Agenda) {
        if cards[at].sends_until > now {
            return;
        }
        let next = cards[at].waits.iter().position(|&(group, entry)| {
            let (there, own) = self.peer(at, cards, group, entry.to);
            cards[there].receives_until <= now && cards[there].order[group].front() == Some(&own)
        });
        let Some((group, entry)) = next.and_then(|next| cards[at].waits.remove(next)) else {
            return;
        };
        let (there, own) = self.peer(at, cards, group, entry.to);
        cards[at].sends_until = now + self.block;
        let receiver = &mut cards[there];
        receiver.receives_until = now + self.block;
        receiver.order[group].pop_front();
        let of = receiver.to_come.get_mut(&(group, own)).unwrap();
        let (message, block) = of.pop_front().unwrap();
        assert_eq!((message, block), (entry.message, entry.block));
        receiver.here.insert((group, message, block));
        let (first, last) = (now + self.latency, now + self.block + self.latency);
        let mut at_clock =
            |clock: u64, card, event| agenda.entry(clock).or_default().push((card, event));
        at_clock(first, there, Event::Begin(group, own));
        at_clock(last, there, Event::Landed(group, own));
        at_clock(last + self.latency, at, Event::Sent(group));
    }
}

#[test]
fn mb_16_cards_in_rtl_carry_out_every_schedule_from_one_doorbell_to_one_completion() {
    for algorithm in [
        Algorithm::Sequential,
        Algorithm::Chain,
        Algorithm::BinomialTree,
        Algorithm::BinomialPipeline,
    ] {
        for (members, groups) in [(2, 1), (5, 3), (8, 16)] {
            let scenario = Scenario {
                algorithm,
                members,
                blocks: 5,
                groups,
                messages: 2,
                block: 300,
                latency: 40,
            };
            scenario.run(library()).unwrap();
        }
    }
}

/// Blocks of 64 KiB at 100 Gb/s take 819 clocks of 156.25 MHz. `MB_BLOCKS` blocks of `MB_CLOCKS` clocks.
#[test]
fn mb_09_mb_16_two_credits_in_rtl_reach_most_of_the_step_bound() {
    let blocks = number("MB_BLOCKS").unwrap_or(48) as u32;
    let block = number("MB_CLOCKS").unwrap_or(819);
    for (members, percent, least) in [(4, 5, 0.93), (8, 5, 0.93), (4, 25, 0.82), (8, 25, 0.83)] {
        let scenario = Scenario {
            algorithm: Algorithm::BinomialPipeline,
            members,
            blocks,
            groups: 1,
            messages: 1,
            block,
            latency: block * percent / 100,
        };
        let steps = u64::from(blocks) + u64::from(members.ilog2()) - 1;
        let clocks = scenario.run(library()).unwrap();
        let share = (block * steps) as f64 / clocks as f64;
        println!("{members} members, L/B = {percent} %: {share:.3} of the step bound");
        assert!(share <= 1.0 && (share >= least || block < 819), "{share}");
    }
}
