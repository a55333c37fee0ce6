//! Rings of all members of a group over a network that delays, and what must hold.

use tributary_protocol::multicast::ring::{
    Completion, Job, Ring, RingConfig, RingMutations, RingOutput, Status,
};

/// What happens in a run.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub members: u32,
    /// Bytes of the messages; blocks have 10.
    pub messages: Vec<u64>,
    pub credits: u32,
    pub origin: u32,
    /// A transfer may fail, at any moment.
    pub failures: u8,
    /// A host may stop its group, at any moment.
    pub stops: u8,
    pub mutations: RingMutations,
}

impl Scenario {
    pub fn new(members: u32, messages: &[u64]) -> Self {
        Self {
            members,
            messages: messages.to_vec(),
            credits: 2,
            origin: u32::MAX - 1,
            failures: 0,
            stops: 0,
            mutations: RingMutations::default(),
        }
    }

    pub fn config(&self, rank: u32) -> RingConfig {
        RingConfig {
            members: self.members,
            rank,
            block_bytes: 10,
            credits: self.credits,
            watchdog: 2,
            origin: self.origin,
            mutations: self.mutations,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Transfer {
    from: u32,
    to: u32,
    message: u32,
    block: u32,
    length: u64,
    begun: bool,
}

/// Something that may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The credit at this place comes.
    Credit(usize),
    /// A transfer begins, then lands; its sender hears of it at once.
    Begin(usize),
    Land(usize),
    /// It fails at both ends.
    Fail(usize),
    Stop(u32),
    /// Nothing else can happen: time passes.
    Tick,
}

/// A state of the whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub rings: Vec<Ring>,
    credits: Vec<(u32, u32, u32)>,
    transfers: Vec<Transfer>,
    failures: u8,
    stops: u8,
    /// By rank: blocks that are here.
    has: Vec<Vec<(u32, u32)>>,
    /// By rank: messages done, and the completion that ended the group.
    done: Vec<u32>,
    ended: Vec<Option<Status>>,
    /// By rank: its host has stopped it.
    stopped: Vec<bool>,
    ticks: u8,
}

impl World {
    pub fn new(scenario: &Scenario) -> Result<Self, String> {
        let n = scenario.members as usize;
        let mut world = Self {
            rings: (0..scenario.members)
                .map(|rank| Ring::new(scenario.config(rank)).unwrap())
                .collect(),
            credits: Vec::new(),
            transfers: Vec::new(),
            failures: scenario.failures,
            stops: scenario.stops,
            has: vec![Vec::new(); n],
            done: vec![0; n],
            ended: vec![None; n],
            stopped: vec![false; n],
            ticks: 0,
        };
        for rank in 0..scenario.members {
            for &length in &scenario.messages {
                let job = match rank {
                    0 => Job::Send { length },
                    _ => Job::Receive { room: 1_000 },
                };
                let mut out = Vec::new();
                world.rings[rank as usize].post(job, &mut out).unwrap();
                world.outputs(rank, out)?;
            }
        }
        Ok(world)
    }

    pub fn events(&self, scenario: &Scenario) -> Vec<Event> {
        let mut events: Vec<Event> = (0..self.credits.len()).map(Event::Credit).collect();
        for (i, transfer) in self.transfers.iter().enumerate() {
            events.push(match transfer.begun {
                false => Event::Begin(i),
                true => Event::Land(i),
            });
            if self.failures > 0 {
                events.push(Event::Fail(i));
            }
        }
        if self.stops > 0 {
            events.extend((0..scenario.members).map(Event::Stop));
        }
        let working = |ring: &Ring| !ring.has_ended() && ring.is_working();
        if self.credits.is_empty() && self.transfers.is_empty() && self.rings.iter().any(working) {
            events.push(Event::Tick);
        }
        events
    }

    pub fn is_at_rest(events: &[Event]) -> bool {
        events.iter().all(|e| matches!(e, Event::Stop(_)))
    }

    pub fn take(&mut self, event: Event) -> Result<(), String> {
        let mut out = Vec::new();
        let rank = match event {
            Event::Credit(i) => {
                let (to, from, granted) = self.credits.remove(i);
                self.rings[to as usize].credit(from, granted);
                to
            }
            Event::Begin(i) => {
                let t = self.transfers[i];
                let to = t.to as usize;
                let ring = &mut self.rings[to];
                let refuses = ring.has_ended() || self.stopped[to];
                if ring.begin(t.from, (t.message, t.block), t.length, &mut out) {
                    self.transfers[i].begun = true;
                    self.transfers.sort_unstable();
                } else if !refuses {
                    return Err(format!("MB-9: {t:?} was not granted"));
                } else {
                    self.transfers.remove(i);
                    self.outputs(t.to, std::mem::take(&mut out))?;
                    self.rings[t.from as usize].failed(t.to, &mut out);
                    return self.outputs(t.from, out);
                }
                t.to
            }
            Event::Land(i) => {
                let t = self.transfers.remove(i);
                let to = t.to as usize;
                if self.ended[to] == Some(Status::Stopped) {
                    return Err(format!("{t:?} lands after STOP was done"));
                }
                self.has[to].push((t.message, t.block));
                self.has[to].sort_unstable();
                self.rings[to].landed(t.from, (t.message, t.block), &mut out);
                self.outputs(t.to, std::mem::take(&mut out))?;
                self.rings[t.from as usize].sent(t.message, &mut out);
                t.from
            }
            Event::Fail(i) => {
                let t = self.transfers.remove(i);
                self.failures -= 1;
                self.rings[t.to as usize].failed(t.from, &mut out);
                self.outputs(t.to, std::mem::take(&mut out))?;
                self.rings[t.from as usize].failed(t.to, &mut out);
                t.from
            }
            Event::Stop(rank) => {
                self.stops -= 1;
                self.stopped[rank as usize] = true;
                self.rings[rank as usize].stop(&mut out);
                rank
            }
            Event::Tick => {
                self.ticks += 1;
                if self.ticks > 8 {
                    return Err("a ring waits for ever".to_owned());
                }
                for rank in 0..self.rings.len() {
                    self.rings[rank].tick(&mut out);
                    self.outputs(rank as u32, std::mem::take(&mut out))?;
                }
                0
            }
        };
        self.outputs(rank, out)
    }

    fn outputs(&mut self, rank: u32, out: Vec<RingOutput>) -> Result<(), String> {
        for output in out {
            self.output(rank, output)?;
        }
        // A ring alone on its card: heads that can start do.
        let mut more = Vec::new();
        while self.rings[rank as usize].start(&mut more) {}
        match more.is_empty() {
            true => Ok(()),
            false => self.outputs(rank, more),
        }
    }

    fn output(&mut self, rank: u32, output: RingOutput) -> Result<(), String> {
        match output {
            RingOutput::Grant { to, granted } => {
                let credit = (to, rank, granted);
                let place = self.credits.partition_point(|c| *c < credit);
                self.credits.insert(place, credit);
            }
            RingOutput::Start {
                message,
                length,
                descriptor: d,
            } => {
                if rank != 0 && !self.has[rank as usize].contains(&(message, d.block)) {
                    return Err(format!("{rank} sends {d:?}, which it has not"));
                }
                self.transfers.push(Transfer {
                    from: rank,
                    to: d.to,
                    message,
                    block: d.block,
                    length,
                    begun: false,
                });
                self.transfers.sort_unstable();
            }
            RingOutput::Completion(completion) => self.completion(rank, completion)?,
        }
        Ok(())
    }

    fn completion(&mut self, rank: u32, completion: Completion) -> Result<(), String> {
        let at = rank as usize;
        if let Some(before) = self.ended[at] {
            return Err(format!("{rank}: {completion:?} after {before:?}"));
        }
        if completion.status != Status::Done {
            self.ended[at] = Some(completion.status);
            let under_way = |t: &&Transfer| t.from == rank || (t.to == rank && t.begun);
            if completion.status == Status::Stopped
                && let Some(t) = self.transfers.iter().find(under_way)
            {
                return Err(format!("{rank}: STOP is done, but {t:?} is under way"));
            }
            return Ok(());
        }
        if completion.message != self.done[at] {
            return Err(format!("{rank}: {completion:?} out of order"));
        }
        self.done[at] += 1;
        let blocks = completion.length.div_ceil(10).max(1) as u32;
        let whole = (0..blocks).all(|b| self.has[at].contains(&(completion.message, b)));
        match rank == 0 || whole {
            true => Ok(()),
            false => Err(format!("{rank}: {completion:?}, but not all is here")),
        }
    }

    /// Nothing happens any more: every doorbell has its completion, or the group has ended.
    pub fn check_rest(&self, scenario: &Scenario) -> Result<(), String> {
        let disturbed = self.failures != scenario.failures || self.stops != scenario.stops;
        for (rank, &done) in self.done.iter().enumerate() {
            let whole = done as usize == scenario.messages.len();
            if !disturbed && (!whole || self.ended[rank].is_some()) {
                return Err(format!("{rank} ends with {:?}", self.ended[rank]));
            }
            // A buffer whose message never began waits for its host to stop the group.
            if !whole && self.ended[rank].is_none() && self.rings[rank].is_working() {
                return Err(format!("{rank} never ends"));
            }
        }
        Ok(())
    }
}
