//! A communicator, as a member sees it.

mod blocks;
mod post;
mod stripes;
mod work;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tributary_protocol::red::{Rc, Value};

use super::data::{Prepared, Shape};
use super::long::{Exchange, Memory, Words};
use super::messages::{BYTES, Message};
use super::software::{Parts, Software};
use super::switch::{Grant, SharedTrees, Switch, Times};
use super::{CollectiveError, Data, Host, Why};
use crate::AddressHandle;

pub use post::name;
use stripes::Striped;

/// Most members.
const MAX_MEMBERS: usize = 1 << 16;

/// How a communicator works. All its members have the same.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Values of one operation that may be in the switches at once on a tree: 1 to 8. Each takes a descriptor of every engine on the
    /// tree.
    pub lanes: u8,
    /// Trees beside the first, over which long vectors are spread: at most one for each other member. Each has another root, for
    /// a root sends two frames for each value and all others one. Each takes a group of every member's card.
    pub stripes: u8,
    /// Operations on so many bytes or more that are not for several trees go in blocks, which members write into each other's
    /// memory by bulk transfers; 0: none do. Of a gathering all bytes count.
    pub bulk_from: u32,
    /// How long an attempt through the engines may take: more than their timeouts on the way together.
    pub attempt: Duration,
    /// How long to wait for answers when members are asked one by one.
    pub roll: Duration,
    /// A tree that was idle for longer is armed anew: less than the shortest timeout of the engines.
    pub idle: Duration,
    /// A member that is waited for is asked whether it is there after so long, and again each time.
    pub ask_after: Duration,
    /// Questions without an answer until it counts as failed.
    pub questions: u32,
    /// How long calls that wait do so.
    pub patience: Duration,
}

impl Default for Options {
    /// 4 lanes, one tree, blocks from 64 KiB on; times that fit the usual timeouts of engines at 125 MHz; a member may be silent for 5 s; calls wait for 60 s.
    fn default() -> Self {
        Self {
            lanes: 4,
            stripes: 0,
            bulk_from: 64 << 10,
            attempt: Duration::from_millis(4),
            roll: Duration::from_micros(800),
            idle: Duration::from_micros(200),
            ask_after: Duration::from_millis(500),
            questions: 10,
            patience: Duration::from_secs(60),
        }
    }
}

impl Options {
    const fn times(&self) -> Times {
        Times {
            attempt: self.attempt,
            roll: self.roll,
            idle: self.idle,
        }
    }

    /// After this long everyone knows of a member that failed while it was waited for.
    #[must_use]
    pub fn bound(&self) -> Duration {
        self.ask_after.saturating_mul(self.questions + 2)
    }
}

/// What was done by whom. Operations count once at each member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Operations through the switches.
    pub in_switches: u64,
    /// Those of them that went over several trees.
    pub striped: u64,
    /// Operations by messages between hosts: the group has no tree, or they are not for engines.
    pub in_software: u64,
    /// Long operations in blocks, which members write into each other's memory.
    pub in_blocks: u64,
    /// Blocks that this member has sent as messages, for want of bulk transfers or memory here or there, or after one that failed.
    pub blocks_by_messages: u64,
    /// Operations of a member that is alone.
    pub alone: u64,
    /// At the root: values of which software had to combine more than one frame, because an engine was not there or had timed out.
    pub completed_by_root: u64,
    /// At the root: values that needed more than one attempt.
    pub again: u64,
    /// Trees that took the place of another one.
    pub new_trees: u64,
    /// Times that a tree was wanted, but none could be had, by the manager or on this card.
    pub no_tree: u64,
    /// Questions whether a member is there.
    pub questions: u64,
    /// Messages that do not fit: dropped.
    pub strange: u64,
}

/// How operations are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Not known yet: the leader has not said.
    Unknown,
    /// The member is alone.
    Alone,
    /// By messages.
    Software,
    /// Through the switches, on this tree.
    Switches(u16),
}

/// An operation that was posted, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// The result of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What came out; of a barrier nothing.
    pub data: Data,
    /// What the arithmetic had to report: the worst of all elements.
    pub code: Rc,
}

/// An operation that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Which.
    pub ticket: Ticket,
    /// How.
    pub result: Result<Outcome, CollectiveError>,
}

/// What an operation is on.
#[derive(Clone, Debug)]
enum Input {
    /// Values that are combined.
    Values(Prepared),
    /// The rank that gives bytes to all, and the bytes.
    Bytes(usize, Vec<u8>),
    /// What goes in blocks is with the work.
    Blocks(Read),
}

/// How the result of a long operation is read.
#[derive(Clone, Debug)]
enum Read {
    /// Values of a shape, and how many elements.
    Values(Shape, usize),
    /// Bytes, as elements of the type of these.
    Bytes(Data),
}

impl Input {
    /// Its number in messages.
    const fn code(&self) -> u8 {
        match self {
            Self::Values(prepared) => prepared.rule.code(),
            Self::Bytes(..) | Self::Blocks(_) => BYTES,
        }
    }
}

/// Part of the result that this member keeps, in elements; how the rest of a result is read.
#[derive(Clone, Debug)]
enum Keep {
    All,
    Nothing,
    Part(std::ops::Range<usize>),
}

impl Keep {
    fn of(&self, all: Data) -> Data {
        match self {
            Self::All => all,
            Self::Nothing => all.part(0..0),
            Self::Part(range) => all.part(range.clone()),
        }
    }
}

/// How far an operation is.
enum Work {
    Waiting,
    InSwitches {
        /// Bytes of a broadcast as values.
        small: Option<Prepared>,
        results: Vec<Option<Value>>,
        /// The next value for each lane.
        next: Vec<usize>,
        left: usize,
    },
    InSoftware(Software),
    InBlocks(Box<Exchange>),
    /// In parts, over a tree each.
    Striped(Striped),
}

struct Operation {
    number: u64,
    input: Input,
    keep: Keep,
    /// By messages, whatever the plan.
    by_messages: bool,
    work: Work,
    /// When it was first looked at.
    begun: Option<u64>,
}

/// How operations from a number on are done.
enum Plan {
    Unknown,
    Software,
    Switches(Box<Switch>),
}

/// What this member knows of another.
#[derive(Clone, Copy, Debug, Default)]
struct Peer {
    heard: u64,
    asked: u64,
    /// Questions since it was heard.
    questions: u32,
}

/// A group of hosts, as one of them sees it.
pub struct Communicator {
    host: Host,
    name: u64,
    rank: usize,
    members: Vec<AddressHandle>,
    rank_of: BTreeMap<AddressHandle, usize>,
    options: Options,
    trees: Option<SharedTrees>,
    /// The manager's name for the group, at the leader.
    planted: Option<u64>,
    plan: Plan,
    /// A plan for operations from a number on.
    upcoming: Option<(u64, Option<Grant>)>,
    /// At the leader: trees of before, for members that have missed a result. When an operation has ended on a later one, everyone
    /// was there and needs them no more.
    previous: Vec<Switch>,
    /// At the leader: a tree on which an operation has ended, which the manager is told when the next one has.
    settled: Option<u16>,
    /// At the leader: a round was in trouble, and the manager was not asked for another tree since.
    trouble: bool,
    /// While a roll is called, the manager is not asked before.
    ask_again_at: u64,
    operations: VecDeque<Operation>,
    next: u64,
    finished: VecDeque<Finished>,
    failed: Option<(usize, Why)>,
    parts: Parts,
    words: Words,
    memory: Memory,
    peers: Vec<Peer>,
    counters: Counters,
    /// Splits so far.
    splits: u64,
    /// The same members once for each further tree, whose root comes first.
    stripes: Vec<Self>,
}

impl Communicator {
    /// Makes a communicator, as all its members do with the same name and list; ranks are places in the list. The first member, the
    /// leader, asks its manager for a tree; the others' is for communicators that come of this one ([`Self::split`]).
    ///
    /// # Errors
    /// A list that has a member twice or not this one; a name that the host uses.
    pub fn create(
        host: &Host,
        name: u64,
        members: &[AddressHandle],
        trees: Option<SharedTrees>,
        options: Options,
    ) -> Result<Self, CollectiveError> {
        if members.is_empty() || members.len() > MAX_MEMBERS {
            return Err(CollectiveError::Members(members.len()));
        }
        let mut rank_of = BTreeMap::new();
        for (rank, &member) in members.iter().enumerate() {
            if rank_of.insert(member, rank).is_some() {
                return Err(CollectiveError::Twice(member));
            }
        }
        let own = host.address();
        let rank = *rank_of.get(&own).ok_or(CollectiveError::NotMember(own))?;
        host.hub().register(name)?;
        let mut made = Self {
            host: host.clone(),
            name,
            rank,
            members: members.to_vec(),
            rank_of,
            options,
            trees,
            planted: None,
            plan: Plan::Unknown,
            upcoming: None,
            previous: Vec::new(),
            settled: None,
            trouble: false,
            ask_again_at: 0,
            operations: VecDeque::new(),
            next: 0,
            finished: VecDeque::new(),
            failed: None,
            parts: Parts::default(),
            words: Words::default(),
            memory: Memory::default(),
            peers: vec![Peer::default(); members.len()],
            counters: Counters::default(),
            splits: 0,
            stripes: Vec::new(),
        };
        made.stripes = made.make_stripes()?;
        if rank == 0 && members.len() > 1 {
            let grant = made.plant();
            made.decide(0, grant);
        }
        Ok(made)
    }

    /// This member's place in the list.
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// Members.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.members.len()
    }

    /// The members, by rank.
    #[must_use]
    pub fn members(&self) -> &[AddressHandle] {
        &self.members
    }

    /// What was done by whom, on all trees.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut all = self.counters;
        for stripe in &self.stripes {
            let one = stripe.counters;
            all.completed_by_root += one.completed_by_root;
            all.again += one.again;
            all.new_trees += one.new_trees;
            all.no_tree += one.no_tree;
            all.questions += one.questions;
            all.strange += one.strange;
        }
        all
    }

    /// How operations are done now.
    #[must_use]
    pub fn path(&self) -> Path {
        match &self.plan {
            _ if self.size() == 1 => Path::Alone,
            Plan::Unknown => Path::Unknown,
            Plan::Software => Path::Software,
            Plan::Switches(switch) => Path::Switches(switch.grant.tree),
        }
    }

    /// Operations that have not ended.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.operations.len()
    }

    fn failure(&self) -> Option<CollectiveError> {
        self.failed.map(|(rank, why)| CollectiveError::Failed {
            rank,
            member: self.members[rank],
            why,
        })
    }

    /// Ends the communicator together with all others: when it returns, everyone has all results. Without it, members that have
    /// missed the last frame of an operation are left behind, and are told that this one has left.
    ///
    /// # Errors
    /// A member has failed, or the time is over.
    pub fn close(mut self) -> Result<(), CollectiveError> {
        let ticket = self.post_close()?;
        self.wait_for(ticket)?;
        self.drain()
    }

    fn send(&self, to: usize, message: &Message) {
        let to = self.members[to];
        self.host.hub().send(self.name, to, message);
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        self.host.hub().close(self.name, self.rank as u32);
        if let (Some(group), Some(trees)) = (self.planted, &self.trees) {
            let mut trees = trees
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            trees.uproot(group);
        }
    }
}

/// Reads the result of an operation.
fn outcome(keep: &Keep, shape: Shape, length: usize, values: &[Value]) -> Outcome {
    let code = values.iter().map(|value| value.rc).max().unwrap_or(Rc::OK);
    let data = keep.of(super::data::restore(shape, length, values));
    Outcome { data, code }
}
