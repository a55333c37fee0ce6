//! A long operation, as one of its members carries it out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tributary_protocol::red::{Op, Rc, Value};

use super::{Block, Blocks, How, Lend, Memory, Phase, Words};
use crate::collective::messages::{BYTES, Message, SEGMENT, from_bytes, to_bytes};
use crate::collective::rule::Rule;
use crate::collective::software::Parts;
use crate::collective::{Host, Why};
use crate::{AddressHandle, Exposed, Remote};

/// Bytes that a member asks for at once, if it is more than one block.
const AHEAD: usize = 16 << 10;
/// Bytes of the words of a value.
const WORDS: usize = 32;

/// What a member gives.
pub enum Own {
    /// A block of values for each member.
    Values(Rule, Vec<Vec<Value>>),
    /// All blocks of a broadcast at the one that gives them, or the own block to be gathered.
    Bytes(Vec<u8>),
}

impl Own {
    pub const fn code(&self) -> u8 {
        match self {
            Self::Values(rule, _) => rule.code(),
            Self::Bytes(_) => BYTES,
        }
    }

    /// Bytes of so many values as they travel: those of reproducible sums have more than their words.
    pub const fn bytes(rule: Rule, values: usize) -> usize {
        values * width(rule)
    }
}

const fn width(rule: Rule) -> usize {
    match rule {
        Rule::Engines(Op::FltRepsum) => crate::collective::messages::VALUE_LEN,
        _ => WORDS,
    }
}

fn encode(rule: Rule, values: &[Value]) -> Vec<u8> {
    if width(rule) != WORDS {
        return to_bytes(values);
    }
    let words = values.iter().flat_map(|value| value.data);
    words.flat_map(u64::to_le_bytes).collect()
}

/// Values of bytes; the code of all is that of the first.
fn decode(rule: Rule, bytes: &[u8], code: Rc) -> Option<Vec<Value>> {
    if width(rule) != WORDS {
        return from_bytes(bytes);
    }
    let (chunks, rest) = bytes.as_chunks::<WORDS>();
    let value = |chunk: &[u8; WORDS]| Value {
        data: std::array::from_fn(|at| {
            chunk[8 * at..][..8]
                .try_into()
                .map_or(0, u64::from_le_bytes)
        }),
        ..Value::default()
    };
    let mut values: Vec<Value> = chunks.iter().map(value).collect();
    if let Some(first) = values.first_mut() {
        first.rc = code;
    }
    rest.is_empty().then_some(values)
}

/// What has come out.
pub enum Came {
    /// Of a reduction: what this member gets.
    Values(Vec<Value>),
    /// Everyone's bytes, or those of the one that gave them.
    Bytes(Vec<u8>),
}

/// What comes of a look.
pub enum Progress {
    /// It waits.
    Waits,
    /// It is over.
    Done(Came),
    /// This rank did something else.
    Failed(usize, Why),
}

/// What a member has around an operation.
pub struct Around<'a> {
    pub host: &'a Host,
    pub name: u64,
    pub members: &'a [AddressHandle],
    pub parts: &'a mut Parts,
    pub words: &'a mut Words,
    pub memory: &'a mut Memory,
}

impl Around<'_> {
    fn send(&self, to: usize, message: &Message) {
        let to = self.members[to];
        self.host.hub().send(self.name, to, message);
    }
}

/// A block that has come.
struct Arrived {
    code: Rc,
    /// Of one that came as messages.
    bytes: Option<Vec<u8>>,
}

/// A long operation.
pub struct Exchange {
    operation: u64,
    rank: usize,
    blocks: Blocks,
    own: Own,
    begun: bool,
    /// What others write to, and what is sent from.
    lent: Option<Arc<Exposed>>,
    outgoing: Option<Arc<Exposed>>,
    /// The block that this member gives those who collect, and its code.
    mine: Option<(Vec<u8>, Rc)>,
    came: BTreeMap<(Phase, usize), Arrived>,
    /// Blocks to send, and transfers under way by their numbers.
    waiting: Vec<(Phase, usize)>,
    /// Blocks to ask for, and those that were and have not come.
    to_ask: VecDeque<(Phase, usize)>,
    asked: BTreeSet<(Phase, usize)>,
    under_way: BTreeMap<u64, (Phase, usize)>,
    /// A transfer that failed may still write here.
    spoiled: bool,
    /// Blocks that this member has sent as messages.
    pub by_messages: u64,
}

impl Exchange {
    pub fn new(operation: u64, rank: usize, blocks: Blocks, own: Own) -> Self {
        Self {
            operation,
            rank,
            blocks,
            own,
            begun: false,
            lent: None,
            outgoing: None,
            mine: None,
            came: BTreeMap::new(),
            waiting: Vec::new(),
            to_ask: VecDeque::new(),
            asked: BTreeSet::new(),
            under_way: BTreeMap::new(),
            spoiled: false,
            by_messages: 0,
        }
    }

    /// Its number in messages.
    pub const fn code(&self) -> u8 {
        self.own.code()
    }

    /// Members that it waits for: whose blocks it has asked for, who gets one, or else who may ask.
    pub fn waits_for(&self) -> Vec<usize> {
        let asked = self.asked.iter().map(|&(_, from)| from);
        let mut all: Vec<usize> = asked.collect();
        all.extend(self.under_way.values().map(|&(_, to)| to));
        if all.is_empty() {
            all.extend(self.waiting.iter().map(|&(_, to)| to));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    fn has_all(&self, phase: Phase) -> bool {
        let mut sources = self.blocks.sources(phase, self.rank);
        sources.all(|from| self.came.contains_key(&(phase, from)))
    }

    /// Goes as far as what has come allows.
    pub fn run(&mut self, around: &mut Around<'_>) -> Progress {
        if !self.begun {
            self.begin(around);
        }
        if let Some(other) = self.does_another(around.words) {
            return Progress::Failed(other, Why::Mismatch);
        }
        self.end_transfers(around);
        if let Err(strange) = self.take(around) {
            return Progress::Failed(strange, Why::Strange);
        }
        self.ask(around);
        if self.mine.is_none() && self.has_all(Phase::Deal) {
            let Some(mine) = self.combine() else {
                return Progress::Failed(self.rank, Why::Strange);
            };
            if let Some(outgoing) = &self.outgoing {
                let at = self.blocks.leaves(Phase::Collect, self.rank, self.rank);
                // It is as long as it has to be.
                let _ = outgoing.write(at, &mine.0);
            }
            self.mine = Some(mine);
            self.offer(Phase::Collect);
        }
        self.send(around);
        let idle = self.waiting.is_empty() && self.under_way.is_empty();
        if self.mine.is_none() || !idle || !self.has_all(Phase::Collect) {
            return Progress::Waits;
        }
        if self.spoiled {
            around.memory.spoil();
        }
        let came = self.result();
        came.map_or(Progress::Failed(self.rank, Why::Strange), Progress::Done)
    }

    /// Who has begun another operation, or one of another length.
    fn does_another(&self, words: &Words) -> Option<usize> {
        let (code, total) = (self.code(), self.blocks.total());
        let mut begun = words.begun(self.operation);
        let other = begun.find(|(_, lend)| !lend.fits(code, self.blocks.flow, total));
        other.map(|(from, _)| from)
    }

    /// Lends memory, and offers the first blocks.
    fn begin(&mut self, around: &mut Around<'_>) {
        self.begun = true;
        let (qp_num, domain) = {
            let mut hub = around.host.hub();
            (hub.mover().map(|mover| mover.qp_num()), hub.domain.clone())
        };
        if qp_num.is_some() {
            let (lent, outgoing) = (self.blocks.room(self.rank), self.blocks.outgoing(self.rank));
            if lent > 0 {
                self.lent = around.memory.lend(&domain, lent);
            }
            if outgoing > 0 {
                self.outgoing = around.memory.outgoing(&domain, outgoing);
            }
        }
        let place = qp_num.zip(self.lent.as_ref().map(|lent| lent.remote()));
        let lend = Lend {
            place,
            code: self.code(),
            flow: self.blocks.flow.code(),
            total: self.blocks.total() as u64,
        };
        let operation = self.operation;
        for to in (0..self.blocks.size()).filter(|&to| to != self.rank) {
            let lend = lend.clone();
            around.send(to, &Message::Lend { operation, lend });
        }
        if let Some(outgoing) = &self.outgoing {
            for to in self.blocks.targets(Phase::Deal, self.rank) {
                let at = self.blocks.leaves(Phase::Deal, self.rank, to);
                // It is as long as it has to be.
                let _ = outgoing.write(at, &self.dealt(to));
            }
        }
        self.offer(Phase::Deal);
        for phase in Phase::ALL {
            // The previous rank first: so no two begin with the same one, and each gives to one at a time.
            let size = self.blocks.size();
            let all = (1..size).map(|step| (self.rank + size - step) % size);
            let sources = all.filter(|&from| self.blocks.moves(phase, from, self.rank).is_some());
            self.to_ask.extend(sources.map(|from| (phase, from)));
        }
    }

    fn offer(&mut self, phase: Phase) {
        let targets = self.blocks.targets(phase, self.rank);
        self.waiting.extend(targets.map(|to| (phase, to)));
    }

    /// Bytes of a block that this member deals out.
    fn dealt(&self, block: usize) -> Vec<u8> {
        match &self.own {
            Own::Values(rule, blocks) => encode(*rule, &blocks[block]),
            Own::Bytes(all) => {
                let start = self.blocks.start(block);
                all[start..start + self.blocks.length(block)].to_vec()
            }
        }
    }

    /// Asks for blocks: for short ones of several members, for long ones of one after the other. If all sent at once, each at the
    /// rate of its line, most of it would be lost in front of the own one.
    fn ask(&mut self, around: &Around<'_>) {
        let length = |&(phase, from): &(Phase, usize)| {
            let block = self.blocks.moves(phase, from, self.rank);
            block.map_or(0, |block| self.blocks.length(block))
        };
        let mut bytes: usize = self.asked.iter().map(length).sum();
        while let Some(next) = self.to_ask.front() {
            bytes += length(next);
            if !self.asked.is_empty() && bytes > AHEAD {
                return;
            }
            let (phase, from) = *next;
            let operation = self.operation;
            around.send(from, &Message::Ask { operation, phase });
            self.asked.insert((phase, from));
            self.to_ask.pop_front();
        }
    }

    /// Sends the blocks that others have asked for.
    fn send(&mut self, around: &mut Around<'_>) {
        for (phase, to) in std::mem::take(&mut self.waiting) {
            let asked = around.words.asked(self.operation, phase, to);
            let Some(lend) = around.words.lent(self.operation, to).filter(|_| asked) else {
                self.waiting.push((phase, to));
                continue;
            };
            let way = lend.place.and_then(|(qp_num, there)| {
                let node = around.members[to].node();
                Some((AddressHandle::new(node, qp_num).ok()?, there))
            });
            match way.and_then(|way| self.transfer(around, (phase, to), way)) {
                Some(number) => drop(self.under_way.insert(number, (phase, to))),
                None => self.send_as_messages(around, (phase, to), How::Sent),
            }
        }
    }

    /// Begins a transfer; nothing if this card does none.
    fn transfer(
        &self,
        around: &Around<'_>,
        (phase, to): (Phase, usize),
        (queue_pair, there): (AddressHandle, Remote),
    ) -> Option<u64> {
        let memory = Arc::clone(self.outgoing.as_ref()?);
        let block = self.blocks.moves(phase, self.rank, to)?;
        let bytes = u32::try_from(self.blocks.length(block)).ok()?;
        let lands = self.blocks.lands(phase, self.rank, to);
        let there = Remote {
            address: there.address + lands as u64,
            ..there
        };
        let mut hub = around.host.hub();
        let mover = hub.mover()?;
        Some(mover.send(Block {
            name: around.name,
            to: queue_pair,
            there,
            memory,
            part: (self.blocks.leaves(phase, self.rank, block), bytes),
        }))
    }

    fn send_as_messages(&mut self, around: &Around<'_>, (phase, to): (Phase, usize), how: How) {
        self.by_messages += 1;
        let all = match (phase, &self.mine) {
            (Phase::Collect, Some((mine, _))) => mine.clone(),
            _ => self.dealt(to),
        };
        let segments = all.len().div_ceil(SEGMENT) as u32;
        for (segment, bytes) in (0..).zip(all.chunks(SEGMENT)) {
            let part = Message::Part {
                operation: self.operation,
                down: phase == Phase::Collect,
                segment,
                segments,
                code: self.code(),
                bytes: bytes.to_vec(),
            };
            around.send(to, &part);
        }
        self.tell(around, (phase, to), how);
    }

    /// Says that a block is there.
    fn tell(&self, around: &Around<'_>, (phase, to): (Phase, usize), how: How) {
        let code = match (phase, &self.mine) {
            (Phase::Collect, Some((_, code))) => *code,
            _ => Rc::OK,
        };
        let operation = self.operation;
        let done = Message::Done {
            operation,
            phase,
            code,
            how,
        };
        around.send(to, &done);
    }

    /// Looks which transfers have ended. What is not written goes as messages: whether the other one is still there, those find out.
    fn end_transfers(&mut self, around: &Around<'_>) {
        loop {
            let ended = around.host.hub().moved(around.name);
            let Some((number, written)) = ended else {
                return;
            };
            match self.under_way.remove(&number) {
                None => {}
                Some(block) if written => self.tell(around, block, How::Written),
                Some(block) => self.send_as_messages(around, block, How::SentAfter),
            }
        }
    }

    /// Takes note of blocks that have come; who has sent what cannot be.
    fn take(&mut self, around: &mut Around<'_>) -> Result<(), usize> {
        for phase in Phase::ALL {
            for from in self.blocks.sources(phase, self.rank) {
                if self.came.contains_key(&(phase, from)) {
                    continue;
                }
                let said = around.words.came(self.operation, phase, from);
                let Some((code, how)) = said else { continue };
                let bytes = if how == How::Written {
                    self.lent.as_ref().ok_or(from)?;
                    None
                } else {
                    let down = phase == Phase::Collect;
                    let sent = around.parts.take(self.operation, down, from);
                    let (_, bytes) = sent.ok_or(from)?;
                    let block = self.blocks.moves(phase, from, self.rank);
                    let length = block.map(|block| self.blocks.length(block));
                    if length != Some(bytes.len()) {
                        return Err(from);
                    }
                    Some(bytes)
                };
                self.spoiled |= how == How::SentAfter;
                self.asked.remove(&(phase, from));
                self.came.insert((phase, from), Arrived { code, bytes });
            }
        }
        Ok(())
    }

    /// A block that has come.
    fn read(&self, phase: Phase, from: usize) -> Option<(Vec<u8>, Rc)> {
        let Arrived { code, bytes } = self.came.get(&(phase, from))?;
        if let Some(bytes) = bytes {
            return Some((bytes.clone(), *code));
        }
        let block = self.blocks.moves(phase, from, self.rank)?;
        let mut bytes = vec![0; self.blocks.length(block)];
        let at = self.blocks.lands(phase, from, self.rank);
        self.lent.as_ref()?.read(at, &mut bytes).ok()?;
        Some((bytes, *code))
    }

    /// What this member gives to those who collect: everyone's blocks combined, neighbours first as by messages, so that the same
    /// comes out; or the block that it has.
    fn combine(&mut self) -> Option<(Vec<u8>, Rc)> {
        let rank = self.rank;
        match &self.own {
            Own::Bytes(own) => {
                let mut sources = self.blocks.sources(Phase::Deal, rank);
                match sources.next() {
                    Some(from) => self.read(Phase::Deal, from),
                    None if self.blocks.length(rank) == own.len() => Some((own.clone(), Rc::OK)),
                    // The one that gives all of it, or an empty block.
                    None => Some((self.dealt_or_nothing(rank), Rc::OK)),
                }
            }
            Own::Values(rule, own) => {
                let rule = *rule;
                let mut all = Vec::with_capacity(self.blocks.size());
                for from in 0..self.blocks.size() {
                    all.push(if from == rank || own[rank].is_empty() {
                        own[rank].clone()
                    } else {
                        let (bytes, code) = self.read(Phase::Deal, from)?;
                        decode(rule, &bytes, code)?
                    });
                }
                let mut distance = 1;
                while distance < all.len() {
                    for at in (0..all.len() - distance).step_by(2 * distance) {
                        let (front, back) = all.split_at_mut(at + distance);
                        for (value, more) in front[at].iter_mut().zip(&back[0]) {
                            *value = rule.combine(value, more);
                        }
                    }
                    distance *= 2;
                }
                let mine = all.swap_remove(0);
                let code = mine.iter().map(|value| value.rc).max();
                Some((encode(rule, &mine), code.unwrap_or(Rc::OK)))
            }
        }
    }

    fn dealt_or_nothing(&self, block: usize) -> Vec<u8> {
        match &self.own {
            Own::Bytes(all) if all.len() == self.blocks.total() => self.dealt(block),
            _ => Vec::new(),
        }
    }

    /// All that this member gets.
    fn result(&mut self) -> Option<Came> {
        let rank = self.rank;
        let mine = self.mine.take()?;
        let size = self.blocks.size();
        match &self.own {
            Own::Bytes(own) if own.len() == self.blocks.total() && self.gives_all() => {
                Some(Came::Bytes(own.clone()))
            }
            Own::Bytes(_) => {
                let mut all = Vec::with_capacity(self.blocks.total());
                for from in 0..size {
                    if from == rank {
                        all.extend_from_slice(&mine.0);
                    } else if self.blocks.length(from) > 0 {
                        all.extend(self.read(Phase::Collect, from)?.0);
                    }
                }
                Some(Came::Bytes(all))
            }
            Own::Values(rule, _) => {
                let collects = self.blocks.flow.collects(rank);
                let mut all = Vec::new();
                for from in 0..size {
                    if from == rank {
                        if self.blocks.flow.keeps(rank) {
                            all.extend(decode(*rule, &mine.0, mine.1)?);
                        }
                    } else if collects && self.blocks.length(from) > 0 {
                        let (bytes, code) = self.read(Phase::Collect, from)?;
                        all.extend(decode(*rule, &bytes, code)?);
                    }
                }
                Some(Came::Values(all))
            }
        }
    }

    /// Whether this member gives all blocks.
    fn gives_all(&self) -> bool {
        self.blocks.flow == super::Flow::Broadcast(self.rank)
    }
}
