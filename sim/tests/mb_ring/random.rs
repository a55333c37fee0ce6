//! Random programmes under all stalls: real schedules with deaths and STOP at any moment, and arbitrary entries and events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::multicast::ring::{
    ALL, EndCode, Entry, EntryKind, EntryWriter, Opening, Operation, TableOutput,
};
use tributary_protocol::multicast::{Algorithm, Schedule};
use tributary_sim::testbench::{Profile, number};
use tributary_sim::verilate::Verilated;

use super::bench::{Bench, Command, Event, GROUPS, Seen, library};

/// A group whose peers are played.
struct Played {
    group: usize,
    opening: Opening,
    entries: Vec<Entry>,
    messages: usize,
    is_root: bool,
    written: usize,
    posted: u16,
    /// Blocks that each slot will send, in order of their grants, and those that have begun.
    to_come: BTreeMap<u8, VecDeque<(u32, u32)>>,
    granted: BTreeMap<u8, usize>,
    begun: VecDeque<u8>,
    here: BTreeSet<(u32, u32)>,
    /// Sends under way; credits that each slot gave, and all that it will give.
    under_way: usize,
    credits: BTreeMap<u8, (u32, u32)>,
    done: usize,
    ended: Vec<EndCode>,
    disturbed: bool,
}

impl Played {
    fn new(group: usize, rng: &mut SmallRng) -> Self {
        let members = rng.random_range(2..=9);
        let algorithm = match rng.random_range(0..6) {
            0 => Algorithm::Sequential,
            1 => Algorithm::Chain,
            2 => Algorithm::BinomialTree,
            _ => Algorithm::BinomialPipeline,
        };
        let rank = match rng.random_range(0..3) {
            0 => 0,
            _ => rng.random_range(0..members),
        };
        let opening = Opening {
            // Some rings lie across a multiple of 4 GiB.
            base: match rng.random_range(0..4) {
                0 => (rng.random::<u64>() | 0xffff_ffff) - 31 - 32 * rng.random_range(0..4),
                _ => rng.random::<u64>() & !31,
            },
            log: rng.random_range(1..=6),
            watchdog: 0,
            timed: rank == 0,
            origin: [0, u32::MAX - 1, i32::MAX as u32 - 1, rng.random()][rng.random_range(0..4)],
        };
        let credits = rng.random_range(2..=4);
        let peers = (0..members).filter(|&peer| peer != rank);
        let mut writer = EntryWriter::new(rank, credits, opening.origin, peers).unwrap();
        let messages = rng.random_range(1..=3);
        let mut entries = Vec::new();
        for _ in 0..messages {
            let schedule = Schedule::new(algorithm, members, rng.random_range(1..=6)).unwrap();
            entries.extend(writer.message(&schedule, rng.random()).unwrap());
        }
        let mut to_come: BTreeMap<u8, VecDeque<(u32, u32)>> = BTreeMap::new();
        let mut credits: BTreeMap<u8, (u32, u32)> = BTreeMap::new();
        for entry in &entries {
            match entry.kind {
                EntryKind::Grant => to_come
                    .entry(entry.to)
                    .or_default()
                    .push_back((entry.message, entry.block)),
                EntryKind::Send => {
                    credits.entry(entry.to).or_insert((opening.origin, 0)).1 += 1;
                }
                EntryKind::Done => {}
            }
        }
        Self {
            group,
            opening,
            entries,
            messages,
            is_root: rank == 0,
            written: 0,
            posted: 0,
            to_come,
            granted: BTreeMap::new(),
            begun: VecDeque::new(),
            here: BTreeSet::new(),
            under_way: 0,
            credits,
            done: 0,
            ended: Vec::new(),
            disturbed: false,
        }
    }

    /// The host writes what has room, and rings.
    fn host(&mut self, bench: &mut Bench, fetched: u16, rng: &mut SmallRng) {
        let room = (1 << self.opening.log) - usize::from(self.posted.wrapping_sub(fetched));
        let count = room.min(self.entries.len() - self.written);
        if count > 0 {
            let count = rng.random_range(1..=count);
            let entries = &self.entries[self.written..self.written + count];
            self.posted = bench.write(&self.opening, self.posted, entries);
            self.written += count;
            let doorbell = Command::Doorbell(self.group, self.posted);
            bench.commands.push_back(doorbell);
        }
    }

    /// Something that a peer or the line may do.
    fn event(&mut self, rng: &mut SmallRng) -> Option<Event> {
        let group = self.group;
        match rng.random_range(0..4) {
            0 => {
                let slots: Vec<u8> = self
                    .granted
                    .iter()
                    .filter(|g| *g.1 > 0)
                    .map(|g| *g.0)
                    .collect();
                let slot = *slots.get(rng.random_range(0..slots.len().max(1)))?;
                *self.granted.get_mut(&slot)? -= 1;
                self.begun.push_back(slot);
                Some(Event::Begin(group, slot))
            }
            1 => Some(Event::Landed(group, self.begun.pop_front()?)),
            2 if self.under_way > 0 => {
                self.under_way -= 1;
                Some(Event::Sent(group))
            }
            3 => {
                let slots: Vec<u8> = self
                    .credits
                    .iter()
                    .filter(|c| c.1.1 > 0)
                    .map(|c| *c.0)
                    .collect();
                let slot = *slots.get(rng.random_range(0..slots.len().max(1)))?;
                let (given, left) = self.credits.get_mut(&slot)?;
                let more = rng.random_range(1..=*left);
                (*given, *left) = (given.wrapping_add(more), *left - more);
                Some(Event::Credit(group, slot, *given))
            }
            _ => None,
        }
    }

    fn sees(&mut self, seen: &Seen) -> Result<(), String> {
        match seen {
            Seen::Start(_, entry) => {
                let block = (entry.message, entry.block);
                if !self.is_root && !self.here.contains(&block) {
                    return Err(format!("{block:?} is sent and is not here"));
                }
                self.under_way += 1;
            }
            Seen::Grant(_, to, _) => *self.granted.entry(*to).or_default() += 1,
            Seen::Done(_, TableOutput::Completion { code, message, .. }) => {
                if !self.ended.is_empty() {
                    return Err(format!("{code:?} after {:?}", self.ended));
                }
                if *code != EndCode::Done {
                    self.ended.push(*code);
                } else if *message as usize != self.done {
                    return Err(format!("message {message} is done behind {}", self.done));
                } else {
                    self.done += 1;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn group_of(seen: &Seen) -> usize {
    match seen {
        Seen::Start(g, _) | Seen::Grant(g, ..) | Seen::Done(g, _) | Seen::Answer(_, g, _) => *g,
    }
}

/// One run of real schedules. Returns what was counted.
pub fn real(library: &Verilated, seed: u64) -> Result<BTreeMap<String, u64>, String> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = Bench::new(library, seed);
    bench.latency = [2, 20, 200][rng.random_range(0..3)];
    let places = rng.random_range(1..=GROUPS);
    let mut groups: Vec<Played> = (0..places).map(|g| Played::new(g, &mut rng)).collect();
    // One group in four is disturbed, at a moment of its own.
    let mut disturbances: Vec<(usize, usize)> = Vec::new();
    for g in 0..places {
        if rng.random_range(0..4) == 0 {
            disturbances.push((g, rng.random_range(0..300)));
        }
    }
    for g in &mut groups {
        if rng.random_range(0..3) == 0 {
            g.opening.watchdog = rng.random_range(1..=3);
        }
        bench.commands.push_back(Command::Open(g.group, g.opening));
        g.host(&mut bench, 0, &mut rng);
    }
    // Peers hear of a group when it is open.
    while !bench.commands.is_empty() {
        bench.clock()?;
    }
    let mut read = 0;
    let mut fetched = vec![0u16; places];
    for round in 0.. {
        if round > 20_000 {
            let open = groups
                .iter()
                .filter(|g| g.ended.is_empty() && g.done != g.messages);
            let open: Vec<_> = open.map(|g| (g.group, g.done, g.written)).collect();
            return Err(format!("groups that do not end: {open:?}"));
        }
        for _ in 0..rng.random_range(1..=30) {
            bench.clock()?;
        }
        while let Some(seen) = bench.seen.get(read).copied() {
            read += 1;
            let at = group_of(&seen);
            if at >= places {
                continue;
            }
            let g = &mut groups[at];
            g.sees(&seen)?;
            match seen {
                Seen::Answer(Operation::Landed, _, true) => {}
                Seen::Answer(Operation::Entry, ..) => {
                    fetched[at] = fetched[at].wrapping_add(1);
                    if bench.commands.len() < 4 {
                        g.host(&mut bench, fetched[at], &mut rng);
                    }
                }
                _ => {}
            }
        }
        if round % 16 == 0 && bench.commands.is_empty() {
            for g in &mut groups {
                if g.ended.is_empty() {
                    g.host(&mut bench, fetched[g.group], &mut rng);
                }
            }
        }
        for (at, when) in disturbances.clone() {
            if round as usize == when {
                disturbances.retain(|d| d.0 != at);
                groups[at].disturbed = true;
                match rng.random_range(0..3) {
                    0 => bench.commands.push_back(Command::Stop(at)),
                    1 => {
                        let slot = rng.random_range(0..8);
                        bench.events.push_back(Event::Failed(at, slot));
                    }
                    _ => {
                        bench.bad.push(groups[at].opening.base);
                        // A watchdog, if it is on, sees that a peer has fallen silent.
                        groups[at].credits.clear();
                        groups[at].granted.clear();
                    }
                }
            }
        }
        if bench.events.len() < 3 {
            let at = rng.random_range(0..places);
            let g = &mut groups[at];
            if let Some(event) = g.event(&mut rng) {
                if let Event::Landed(_, slot) = event
                    && let Some(block) = g.to_come.get_mut(&slot).and_then(VecDeque::pop_front)
                {
                    g.here.insert(block);
                }
                bench.events.push_back(event);
            }
        }
        // Ticks are rare beside events, so that nothing but silence takes so long.
        let idle =
            bench.events.is_empty() && groups.iter().all(|g| g.disturbed || g.done == g.messages);
        if idle && bench.ticks == 0 {
            bench.ticks = 1;
        }
        let over = |g: &Played| !g.ended.is_empty() || g.done == g.messages;
        if groups.iter().all(over) {
            break;
        }
        // A receiver whose message never begins, and a peer that fell silent without a watchdog, wait for STOP.
        if round > 3_000 && round % 500 == 0 {
            for g in groups
                .iter_mut()
                .filter(|g| g.disturbed && g.ended.is_empty())
            {
                bench.commands.push_back(Command::Stop(g.group));
            }
        }
        if round > 3_000 && round % 50 == 0 {
            // What is under way comes to its end.
            for g in groups
                .iter_mut()
                .filter(|g| g.disturbed && g.ended.is_empty())
            {
                while let Some(slot) = g.begun.pop_front() {
                    bench.events.push_back(Event::Landed(g.group, slot));
                }
                for _ in 0..std::mem::take(&mut g.under_way) {
                    bench.events.push_back(Event::Sent(g.group));
                }
            }
        }
    }
    bench.settle()?;
    for g in &groups {
        if !g.disturbed && (!g.ended.is_empty() || g.done != g.messages) {
            return Err(format!("group {}: {:?}, {} done", g.group, g.ended, g.done));
        }
    }
    Ok(bench.counts)
}

/// A random entry: few slots and small numbers, so that waits come true; some are wrong.
fn any_entry(rng: &mut SmallRng, origin: u32) -> [u64; 4] {
    if rng.random_range(0..600) == 0 {
        return rng.random();
    }
    let kind = EntryKind::ALL[rng.random_range(0..3)];
    let near = |rng: &mut SmallRng| origin.wrapping_add(rng.random_range(0..6)).wrapping_sub(2);
    let to = match kind {
        EntryKind::Done => ALL,
        _ => rng.random_range(0..3),
    };
    Entry {
        kind,
        waits: rng.random_range(0..3) > 0,
        source: [0, 1, 2, ALL][rng.random_range(0..4)],
        to: if rng.random_range(0..800) == 0 {
            to ^ 63
        } else {
            to
        },
        step: rng.random_range(0..1 << 22),
        block: rng.random_range(0..1 << 20),
        message: rng.random(),
        received: near(rng),
        credit: near(rng),
        user: rng.random(),
    }
    .words()
}

/// One run of arbitrary entries, events and commands.
pub fn arbitrary(library: &Verilated, seed: u64) -> Result<BTreeMap<String, u64>, String> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = Bench::new(library, seed);
    bench.latency = [2, 20, 200][rng.random_range(0..3)];
    // Few groups, so that much happens to each; some numbers are beyond.
    let few = rng.random_range(1..=4);
    let origin: u32 = [0, u32::MAX, i32::MAX as u32, rng.random()][rng.random_range(0..4)];
    let mut posted = [0u16; 8];
    let mut credits = [[origin; 3]; 8];
    for round in 0..rng.random_range(200..1_200) {
        for _ in 0..rng.random_range(1..=40) {
            bench.clock()?;
        }
        let group = match rng.random_range(0..40) {
            0 => rng.random_range(0..256),
            _ => rng.random_range(0..few),
        };
        let at = group % 8;
        let slot = match rng.random_range(0..30) {
            0 => ALL,
            _ => rng.random_range(0..3),
        };
        if bench.commands.len() < 2 {
            let command = match rng.random_range(0..256) {
                0 => Some(Command::Stop(group)),
                1..20 => Some(Command::Close(group)),
                20..40 => {
                    posted[at] = 0;
                    credits[at] = [origin; 3];
                    let base = 0x1_0000 * (at as u64 + 1) + u64::from(rng.random_range(0..20) == 0);
                    Some(Command::Open(
                        group,
                        Opening {
                            base,
                            log: [4, 5, 5, 0][rng.random_range(0..4)],
                            watchdog: [0, 2, 9, 30][rng.random_range(0..4)],
                            timed: rng.random(),
                            origin,
                        },
                    ))
                }
                40..120 => {
                    posted[at] = posted[at].wrapping_add(rng.random_range(0..6));
                    Some(Command::Doorbell(group, posted[at]))
                }
                _ => None,
            };
            bench.commands.extend(command);
        }
        // All entries that the ring may read next are there; nothing is written over what a read is about to bring.
        if round == 0 {
            for at in 0..8u64 {
                for place in 0..32 {
                    let address = 0x1_0000 * (at + 1) + 32 * place;
                    bench.memory.insert(address, any_entry(&mut rng, origin));
                    if rng.random_range(0..800) == 0 {
                        bench.bad.push(address);
                    }
                }
            }
        }
        if bench.events.len() < 4 {
            let event = match rng.random_range(0..400) {
                0 => Some(Event::Failed(group, slot)),
                1..100 => Some(Event::Begin(group, slot)),
                100..200 => Some(Event::Landed(group, slot)),
                200..270 => Some(Event::Sent(group)),
                270..340 => {
                    let credit = &mut credits[at][usize::from(slot) % 3];
                    *credit = credit.wrapping_add(rng.random_range(0..2));
                    let late = rng.random_range(0..2);
                    Some(Event::Credit(group, slot, credit.wrapping_sub(late)))
                }
                _ => None,
            };
            bench.events.extend(event);
        }
        if rng.random_range(0..40) == 0 {
            bench.ticks += 1;
        }
    }
    bench.settle()?;
    Ok(bench.counts)
}

pub type Run = fn(&Verilated, u64) -> Result<BTreeMap<String, u64>, String>;

fn runs(what: &str, run: Run) -> BTreeMap<String, u64> {
    let runs = number("MB_RUNS").unwrap_or(52);
    let (first, count) = number("TRIBUTARY_SEED").map_or((0, runs), |seed| (seed, 1));
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    for seed in first..first + count {
        let counts = run(library(), seed).unwrap_or_else(|error| {
            let profile: Profile = Profile::of_seed(seed);
            panic!("{what}, TRIBUTARY_SEED={seed}, {profile}: {error}")
        });
        for (what, count) in counts {
            *all.entry(what).or_default() += count;
        }
    }
    println!("{what}: {count} runs, {all:?}");
    all
}

#[test]
fn mb_16_rings_in_rtl_carry_out_real_schedules_as_their_model_under_every_stall_profile() {
    let all = runs("real schedules", real);
    if number("TRIBUTARY_SEED").is_none() {
        for what in [
            "Done", "Failed", "Stopped", "Watchdog", "Read", "Start", "Grant",
        ] {
            assert!(all.contains_key(what), "no {what}: {all:?}");
        }
    }
}

#[test]
fn mb_16_rings_in_rtl_do_with_arbitrary_entries_and_events_what_their_model_does() {
    let all = runs("arbitrary entries", arbitrary);
    if number("TRIBUTARY_SEED").is_none() {
        for operation in [
            "Open", "Doorbell", "Stop", "Close", "Begin", "Landed", "Credit", "Sent", "Failed",
            "Entry", "Tick",
        ] {
            for ok in [true, false] {
                let what = format!("{operation} {ok}");
                assert!(all.contains_key(&what), "no {what}: {all:?}");
            }
        }
        for code in ["Done", "Failed", "Watchdog", "Stopped", "Entry", "Read"] {
            assert!(all.contains_key(code), "no {code}: {all:?}");
        }
    }
}
