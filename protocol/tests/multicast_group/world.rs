//! A group over a network that delays: its members, control messages and blocks on their way, deaths, and what must hold.

use std::collections::BTreeSet;
use std::hash::Hash;

use tributary_protocol::multicast::group::{
    Control, Expected, GroupConfig, Member, Mutations, Output, Verdict,
};

/// The incarnation that is looked at; messages of the one before are still about.
pub const EPOCH: u32 = 7;

/// What happens in a run.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub config: GroupConfig,
    /// Bytes of the messages that the root sends before it closes.
    pub messages: Vec<u64>,
    /// Members that may die, at any moment.
    pub deaths: u8,
    /// A credit may come more than once, at any later moment.
    pub repeated_credits: bool,
    /// Credits and a verdict of the incarnation before are still on their way.
    pub old_messages: bool,
}

impl Scenario {
    pub fn new(members: u32, messages: &[u64]) -> Self {
        Self {
            config: GroupConfig::new(members, 10),
            messages: messages.to_vec(),
            deaths: 0,
            repeated_credits: false,
            old_messages: false,
        }
    }

    pub fn deaths(mut self, deaths: u8) -> Self {
        self.deaths = deaths;
        self
    }

    pub fn repeated_credits(mut self) -> Self {
        self.repeated_credits = true;
        self
    }

    pub fn old_messages(mut self) -> Self {
        self.old_messages = true;
        self
    }

    pub fn algorithm(mut self, algorithm: tributary_protocol::multicast::Algorithm) -> Self {
        self.config.algorithm = algorithm;
        self
    }

    pub fn mutations(mut self, mutations: Mutations) -> Self {
        self.config.mutations = mutations;
        self
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Flying {
    to: u32,
    from: u32,
    epoch: u32,
    control: Control,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Block {
    from: u32,
    to: u32,
    message: u32,
    block: u32,
    length: u64,
}

/// Something that may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The root sends its next message, or closes.
    Root,
    /// A control message arrives.
    Control(usize),
    /// It arrives, and another copy stays on its way.
    Copy(usize),
    /// A control message of a dead member is lost.
    Lost(usize),
    /// A block arrives, and its sender hears of it.
    Block(usize),
    /// A block of a dead member never arrives.
    LostBlock(usize),
    /// A member dies.
    Death(u32),
    /// A member learns that another is dead.
    Detect(u32, u32),
}

/// A state of the whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub members: Vec<Member>,
    pub dead: BTreeSet<u32>,
    deaths_left: u8,
    controls: Vec<Flying>,
    blocks: Vec<Block>,
    /// What the root has done of its script.
    sent: usize,
    closed: bool,
    /// By rank: blocks that it has, as (message, block).
    has: Vec<BTreeSet<(u32, u32)>>,
}

impl World {
    pub fn new(scenario: &Scenario) -> Result<Self, String> {
        let n = scenario.config.members;
        let mut world = Self {
            members: (0..n)
                .map(|rank| Member::new(scenario.config.clone(), rank, EPOCH).unwrap())
                .collect(),
            dead: BTreeSet::new(),
            deaths_left: scenario.deaths,
            controls: Vec::new(),
            blocks: Vec::new(),
            sent: 0,
            closed: false,
            has: vec![BTreeSet::new(); n as usize],
        };
        for rank in 0..n {
            let mut out = Vec::new();
            world.members[rank as usize].join(&mut out);
            world.outputs(scenario, rank, out)?;
        }
        if scenario.old_messages {
            world.old_messages(n);
        }
        Ok(world)
    }

    fn old_messages(&mut self, n: u32) {
        let expected = Expected {
            message: 3,
            block: Some(1),
        };
        for to in 0..n {
            for from in (0..n).filter(|&from| from != to) {
                let control = Control::Credit {
                    granted: 5,
                    expected,
                };
                self.fly(to, from, EPOCH - 1, control);
            }
        }
        let control = Control::Verdict(Verdict::Success { messages: 9 });
        self.fly(n - 1, 0, EPOCH - 1, control);
    }

    fn fly(&mut self, to: u32, from: u32, epoch: u32, control: Control) {
        let flying = Flying {
            to,
            from,
            epoch,
            control,
        };
        let place = self.controls.partition_point(|other| *other < flying);
        // What comes twice comes by `Step::Copy`.
        if self.controls.get(place) != Some(&flying) {
            self.controls.insert(place, flying);
        }
    }

    /// Everything that may happen now. Empty: the run has come to rest.
    pub fn steps(&self, scenario: &Scenario) -> Vec<Step> {
        let mut steps = Vec::new();
        let alive = |rank: u32| !self.dead.contains(&rank);
        if alive(0) && !self.closed && self.members[0].error().is_ok() {
            steps.push(Step::Root);
        }
        for (i, flying) in self.controls.iter().enumerate() {
            steps.push(Step::Control(i));
            if scenario.repeated_credits && matches!(flying.control, Control::Credit { .. }) {
                steps.push(Step::Copy(i));
            }
            if !alive(flying.from) {
                steps.push(Step::Lost(i));
            }
        }
        for (i, block) in self.blocks.iter().enumerate() {
            steps.push(Step::Block(i));
            if !alive(block.from) {
                steps.push(Step::LostBlock(i));
            }
        }
        for member in self.members.iter().filter(|m| alive(m.rank())) {
            for peer in member.watched().intersection(&self.dead) {
                steps.push(Step::Detect(member.rank(), *peer));
            }
            if self.deaths_left > 0 {
                steps.push(Step::Death(member.rank()));
            }
        }
        steps
    }

    /// The step, with what arrives in it.
    pub fn describe(&self, step: Step) -> String {
        match step {
            Step::Control(i) | Step::Copy(i) | Step::Lost(i) => {
                format!("{step:?} {:?}", self.controls[i])
            }
            Step::Block(i) | Step::LostBlock(i) => format!("{step:?} {:?}", self.blocks[i]),
            Step::Root | Step::Death(_) | Step::Detect(..) => format!("{step:?}"),
        }
    }

    /// Nothing is left but deaths and second copies.
    pub fn is_at_rest(steps: &[Step]) -> bool {
        steps
            .iter()
            .all(|step| matches!(step, Step::Death(_) | Step::Copy(_)))
    }

    /// Does it. The error says which property does not hold.
    pub fn take(&mut self, scenario: &Scenario, step: Step) -> Result<(), String> {
        let mut out = Vec::new();
        let rank = match step {
            Step::Root => {
                match scenario.messages.get(self.sent) {
                    Some(&length) => {
                        self.sent += 1;
                        self.members[0].send(length, &mut out).unwrap();
                    }
                    None => {
                        self.closed = true;
                        self.members[0].close(&mut out).unwrap();
                    }
                }
                0
            }
            Step::Control(i) | Step::Copy(i) => {
                let flying = match step {
                    Step::Copy(_) => self.controls[i].clone(),
                    _ => self.controls.remove(i),
                };
                let member = &mut self.members[flying.to as usize];
                member.control(flying.from, flying.epoch, flying.control, &mut out);
                flying.to
            }
            Step::Lost(i) => {
                self.controls.remove(i);
                return Ok(());
            }
            Step::LostBlock(i) => {
                self.blocks.remove(i);
                return Ok(());
            }
            Step::Block(i) => return self.arrives(scenario, i),
            Step::Death(rank) => {
                self.dead.insert(rank);
                self.deaths_left -= 1;
                self.controls.retain(|flying| flying.to != rank);
                return Ok(());
            }
            Step::Detect(rank, peer) => {
                self.members[rank as usize].peer_failed(peer, &mut out);
                rank
            }
        };
        self.outputs(scenario, rank, out)
    }

    fn arrives(&mut self, scenario: &Scenario, i: usize) -> Result<(), String> {
        let Block {
            from,
            to,
            message,
            block,
            length,
        } = self.blocks.remove(i);
        let mut out = Vec::new();
        if self.dead.contains(&to) {
            if !self.dead.contains(&from) {
                self.members[from as usize].peer_failed(to, &mut out);
                self.outputs(scenario, from, out)?;
            }
            return Ok(());
        }
        let member = &mut self.members[to as usize];
        let before = member.counters().unexpected;
        member.block_arrived(from, EPOCH, (message, block), length, &mut out);
        if member.counters().unexpected != before {
            return Err(format!(
                "MB-9: {from} sent block {block} of message {message} to {to}, which had not granted it"
            ));
        }
        self.has[to as usize].insert((message, block));
        self.outputs(scenario, to, out)?;
        if !self.dead.contains(&from) {
            let mut out = Vec::new();
            self.members[from as usize].block_sent(message, &mut out);
            self.outputs(scenario, from, out)?;
        }
        Ok(())
    }

    fn outputs(&mut self, scenario: &Scenario, rank: u32, out: Vec<Output>) -> Result<(), String> {
        let mut more = Vec::new();
        for output in out {
            match output {
                Output::Control { to, control } => {
                    if !self.dead.contains(&to) {
                        self.fly(to, rank, EPOCH, control);
                    }
                }
                Output::Block {
                    to,
                    message,
                    block,
                    length,
                } => {
                    if rank != 0 && !self.has[rank as usize].contains(&(message, block)) {
                        return Err(format!("{rank} sends block {block}, which it has not"));
                    }
                    self.blocks.push(Block {
                        from: rank,
                        to,
                        message,
                        block,
                        length,
                    });
                    self.blocks.sort_unstable();
                }
                Output::Begin { message, length } => {
                    if scenario.messages.get(message as usize) != Some(&length) {
                        return Err(format!("MB-10: {rank} wants {length} bytes for {message}"));
                    }
                    self.members[rank as usize].buffer(message, &mut more);
                }
                Output::Delivered { message, length } => {
                    self.delivered(scenario, rank, message, length)?;
                }
                other @ (Output::Post(_) | Output::Resumed { .. }) => {
                    return Err(format!("{rank} wants {other:?}"));
                }
                Output::Released { .. } | Output::Failed { .. } => {}
                Output::Closed(verdict) => self.judge(scenario, rank, &verdict)?,
            }
        }
        match more.is_empty() {
            true => Ok(()),
            false => self.outputs(scenario, rank, more),
        }
    }

    fn delivered(
        &self,
        scenario: &Scenario,
        rank: u32,
        message: u32,
        length: u64,
    ) -> Result<(), String> {
        let what = format!("{rank} delivers message {message} with {length} bytes");
        // Several may have become whole at once: the last of them is counted already.
        if message >= self.members[rank as usize].delivered() {
            return Err(format!("MB-11: {what} out of order"));
        }
        if scenario.messages.get(message as usize) != Some(&length) {
            return Err(format!("MB-10: {what}"));
        }
        let blocks = scenario.config.blocks(length).unwrap();
        let whole = (0..blocks).all(|b| self.has[rank as usize].contains(&(message, b)));
        match whole {
            true => Ok(()),
            false => Err(format!("MB-11: {what}, which is not whole")),
        }
    }

    fn judge(&self, scenario: &Scenario, rank: u32, verdict: &Verdict) -> Result<(), String> {
        let here = format!("{rank} ends with {verdict:?}");
        let of = |rank: usize| match rank {
            0 => self.sent as u32,
            _ => self.members[rank].delivered(),
        };
        match verdict {
            Verdict::Success { messages } => {
                let all = (0..self.members.len()).all(|r| of(r) == *messages);
                if *messages as usize != scenario.messages.len() || !all {
                    return Err(format!("MB-13: {here}, but not everyone has everything"));
                }
            }
            Verdict::Failure { watermarks, .. } => {
                for (r, mark) in watermarks.iter().enumerate() {
                    let wrong = match mark {
                        Some(mark) => *mark != of(r),
                        None => !self.dead.contains(&(r as u32)),
                    };
                    if wrong {
                        return Err(format!("MB-13: {here}, but {r} has {}", of(r)));
                    }
                }
            }
        }
        Ok(())
    }

    /// What must hold when nothing happens any more.
    pub fn check_rest(&self) -> Result<(), String> {
        let alive = self
            .members
            .iter()
            .filter(|m| !self.dead.contains(&m.rank()));
        let mut verdicts = BTreeSet::new();
        for member in alive {
            let Some(verdict) = member.verdict() else {
                return Err(format!("member {} never ends", member.rank()));
            };
            verdicts.insert(verdict);
        }
        if verdicts.len() > 1 {
            return Err(format!("MB-13: survivors disagree: {verdicts:?}"));
        }
        match verdicts.first() {
            Some(Verdict::Failure { .. }) if self.dead.is_empty() => {
                Err("a failure, though nobody died".to_owned())
            }
            _ => Ok(()),
        }
    }
}
