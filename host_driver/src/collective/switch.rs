//! Reductions through the engines of the switches: root and leaf of each reduction id of a tree, over one queue pair. Results that have
//! all members the root's card sends down by itself (CL-6).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tributary_protocol::red::address::REDUCTIONS;
use tributary_protocol::red::host::{
    Event, Group, Kind, Leaf, LeafConfig, Output, Root, RootConfig,
};
use tributary_protocol::red::wire::DEFAULT_ETHERTYPE;
use tributary_protocol::red::{Address, Frame, Key, Op, Rc, Value};

use super::Why;
use crate::{AddressHandle, Error, PostError, ProtectionDomain, ReductionGroup, ReductionPair};

/// A tree that a manager has made for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The manager's name for the group.
    pub group: u64,
    /// Number of the tree.
    pub tree: u16,
    /// Names this use of the tree: a multiple of 8, another one for each group of the VNI and each tree that a group gets.
    pub cookie: u32,
}

/// Who makes trees: the fabric's manager, however a program reaches it.
pub trait Trees: Send {
    /// Makes a tree for these nodes; the first is its root, and contributes through its own port as all others do: the entry of its
    /// switch has that port as parent and as child, and waits for the root too (`tributary_fabric::Leader::contributing`).
    ///
    /// # Errors
    /// There is none: tables are full, a node is not on the fabric or is there twice. Messages do the group's work then.
    fn plant(&mut self, nodes: &[u32]) -> Result<Grant, String>;

    /// The tree that a group has now: after a failure another one, with another cookie; nothing if it has none.
    fn current(&mut self, group: u64) -> Option<Grant>;

    /// All members of a group send under this number, and no frame of a tree that it had before is under way: the manager may give
    /// those numbers to others.
    fn moved(&mut self, group: u64, tree: u16);

    /// The group needs its tree no more.
    fn uproot(&mut self, group: u64);
}

/// A manager that several communicators of a process ask.
pub type SharedTrees = Arc<Mutex<dyn Trees>>;

/// Times of the protocol of root and leaf.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub attempt: Duration,
    pub roll: Duration,
    pub idle: Duration,
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[derive(Debug)]
enum Machine {
    Root(Box<Root>),
    Leaf(Box<Leaf>),
}

impl Machine {
    fn start(&mut self, op: Op, value: Value, now: u64) -> bool {
        match self {
            Self::Root(root) => root.start(op, value, now).is_ok(),
            Self::Leaf(leaf) => leaf.contribute(leaf.round(), op, value, now).is_ok(),
        }
    }

    /// A frame that has come; `answered` if the card has sent it down as the result.
    fn receive(&mut self, bytes: &[u8], answered: bool, now: u64) -> bool {
        match self {
            Self::Root(root) if answered => root.answered(bytes, now).is_ok(),
            Self::Root(root) => root.receive(bytes, now).is_ok(),
            Self::Leaf(leaf) => leaf.receive(bytes, now).is_ok(),
        }
    }

    fn poll(&mut self, now: u64) -> Vec<Output> {
        match self {
            Self::Root(root) => root.poll(now),
            Self::Leaf(leaf) => leaf.poll(now),
        }
    }
}

/// A reduction id.
struct Lane {
    /// Nothing until it is used, or at a leaf until the root has armed it: a root that begins takes a descriptor of each engine on the
    /// way, of which there are few.
    machine: Option<Machine>,
    /// The value of the operation that is under way.
    chunk: Option<usize>,
    begun: u64,
    /// At the root: frames of this round, of which engines that all work send one. One that the card has answered is all of them.
    frames: u32,
    /// The round needed another attempt.
    again: bool,
}

/// What has come up.
pub enum News {
    /// A value of the operation has its result; whether engines alone made it, and in the first attempt.
    Done(usize, Value, bool, bool),
    /// A round goes on with another attempt, long after it began.
    Again,
    /// At the root: a member has answered the roll for this value, which has no result yet. What the card has answered came before
    /// the member's frame, and it answers nothing while the roll is called: nobody has a result.
    Called(usize),
    /// A member did something that ends the group.
    Failed(usize, Why),
}

/// A tree in use.
pub struct Switch {
    pub grant: Grant,
    pair: ReductionPair,
    groups: Vec<Arc<Group>>,
    rank: usize,
    times: Times,
    lanes: Vec<Lane>,
    unsent: VecDeque<(u8, Frame)>,
    /// A round has ended: everyone has joined.
    met: bool,
    /// What has come up since the last call.
    news: Vec<News>,
}

impl Switch {
    /// Joins the group of a tree; the first member is its root.
    pub fn new(
        domain: &ProtectionDomain,
        grant: Grant,
        vni: u16,
        rank: usize,
        members: &[AddressHandle],
        (lanes, times): (u8, Times),
    ) -> Result<Self, Error> {
        let group = ReductionGroup {
            vni,
            tree: grant.tree,
            cookie: grant.cookie,
        };
        // A root without engines gets a frame of each member and lane.
        let lanes = lanes.clamp(1, REDUCTIONS);
        let frames = (members.len() * usize::from(lanes)).clamp(64, 2_048) as u16;
        let pair = if rank == 0 {
            domain.join_group_as_root(group, members.len() as u32, frames, 0)?
        } else {
            domain.join_group(group, frames, 0)?
        };
        let at = |member: &AddressHandle| Address::unicast(member.node(), 0);
        let leaves: Vec<Address> = members[1..].iter().map(at).collect();
        let groups = (0..lanes).map(|reduction| {
            let key = Key {
                tree: grant.tree,
                reduction,
            };
            let cookie = grant.cookie + u32::from(reduction);
            Arc::new(Group::new(
                key,
                vni,
                cookie,
                at(&members[0]),
                leaves.clone(),
            ))
        });
        let lane = |_| Lane {
            machine: None,
            chunk: None,
            begun: 0,
            frames: 0,
            again: false,
        };
        let mut switch = Self {
            grant,
            pair,
            groups: groups.collect(),
            rank,
            times,
            lanes: (0..lanes).map(lane).collect(),
            unsent: VecDeque::new(),
            met: false,
            news: Vec::new(),
        };
        // The first is for nearly every operation, and armed long before it.
        let now = domain.context().device().now_ns();
        switch.machine(0, now);
        switch.outputs(0, now);
        switch.send()?;
        Ok(switch)
    }

    fn machine(&mut self, lane: usize, now: u64) -> &mut Machine {
        let made = self.lanes[lane].machine.take();
        let machine = made.unwrap_or_else(|| self.make(lane, now));
        self.lanes[lane].machine.insert(machine)
    }

    fn make(&self, lane: usize, now: u64) -> Machine {
        let group = Arc::clone(&self.groups[lane]);
        if self.rank == 0 {
            let config = RootConfig {
                attempt_timeout: ns(self.times.attempt),
                // Nobody has a result that the root does not know of once a member has answered the roll, and not before. So it
                // is called at once: the tree may be gone.
                attempts: 1,
                roll_timeout: ns(self.times.roll),
                // A round ends with everyone; who is not there any more ends the communicator.
                rolls: u32::MAX,
                rearm_after: ns(self.times.idle),
                contributes: true,
            };
            Machine::Root(Box::new(Root::new(group, config, now)))
        } else {
            let config = LeafConfig {
                // The first lane was armed when the root joined, maybe before this member has; the others this member has heard of.
                wait_for_arm: false,
                patience: 2 * ns(self.times.attempt),
            };
            let me = group.leaves[self.rank - 1];
            Machine::Leaf(Box::new(Leaf::new(group, me, config)))
        }
    }

    /// Values that may be under way at once.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Gives this member's value number `chunk` of an operation on the lane for it, if that is free.
    pub fn start(&mut self, chunk: usize, op: Op, value: Value, now: u64) -> bool {
        let lane = chunk % self.lanes.len();
        // A value that overtakes the frame that arms a lane passes an engine that then waits for it, with the root's own. So it
        // waits for that frame, which everyone hears who has joined.
        let unheard = self.rank > 0 && self.lanes[lane].machine.is_none();
        if self.lanes[lane].chunk.is_some() || unheard || lane > 0 && !self.met {
            return false;
        }
        let started = self.machine(lane, now).start(op, value, now);
        if started {
            let began = &mut self.lanes[lane];
            began.chunk = Some(chunk);
            began.begun = now;
            began.again = false;
            self.outputs(lane, now);
        }
        started
    }

    /// Takes what has come, sends what is to be sent.
    pub fn poll(&mut self, now: u64) -> Result<Vec<News>, Error> {
        while let Some(came) = self.pair.poll()? {
            let at = usize::from(came.reduction);
            if at >= self.lanes.len() {
                continue;
            }
            let bytes = came.frame.to_bytes(DEFAULT_ETHERTYPE);
            let kind = Kind::of(&came.frame);
            let taken = self.machine(at, now).receive(&bytes, came.answered, now);
            let lane = &mut self.lanes[at];
            match kind {
                Some(Kind::Reduce) if taken && came.answered => lane.frames = 1,
                Some(Kind::Reduce) if taken => lane.frames += 1,
                _ => {}
            }
            self.outputs(at, now);
            if taken && kind == Some(Kind::Present) {
                self.news.extend(self.lanes[at].chunk.map(News::Called));
            }
        }
        for lane in 0..self.lanes.len() {
            self.outputs(lane, now);
        }
        self.send()?;
        Ok(std::mem::take(&mut self.news))
    }

    /// At the root of a tree that is used no more: members that have missed a result still get it. A round that is open stays so.
    pub fn serve(&mut self, now: u64) -> Result<(), Error> {
        while let Some(came) = self.pair.poll()? {
            let lane = self.lanes.get_mut(usize::from(came.reduction));
            let machine = lane.and_then(|lane| lane.machine.as_mut());
            let Some(machine) = machine.filter(|_| Kind::of(&came.frame) == Some(Kind::Query))
            else {
                continue;
            };
            machine.receive(&came.frame.to_bytes(DEFAULT_ETHERTYPE), false, now);
            // At clock 0 nothing is late.
            for output in machine.poll(0) {
                if let Output::Send(bytes) = output {
                    let frame = Frame::parse(&bytes, DEFAULT_ETHERTYPE);
                    self.unsent
                        .extend(frame.map(|frame| (came.reduction, frame)));
                }
            }
        }
        self.send()
    }

    fn send(&mut self) -> Result<(), Error> {
        while let Some((reduction, frame)) = self.unsent.pop_front() {
            match self.pair.post(reduction, &frame) {
                Ok(()) => {}
                Err(PostError::Full(_)) => {
                    self.unsent.push_front((reduction, frame));
                    break;
                }
                Err(PostError::Device(error)) => return Err(error.into()),
                Err(error) => {
                    return Err(Error::Corrupt {
                        qpn: self.pair.qp_num(),
                        what: error.to_string(),
                    });
                }
            }
        }
        Ok(self.pair.ring()?)
    }

    fn rank_of(&self, at: Address) -> usize {
        let group = &self.groups[0];
        let leaf = group.leaves.iter().position(|&leaf| leaf == at);
        leaf.map_or(0, |leaf| leaf + 1)
    }

    fn outputs(&mut self, at: usize, now: u64) {
        let Some(machine) = &mut self.lanes[at].machine else {
            return;
        };
        for output in machine.poll(now) {
            match output {
                Output::Send(bytes) => {
                    let frame = Frame::parse(&bytes, DEFAULT_ETHERTYPE);
                    self.unsent.extend(frame.map(|frame| (at as u8, frame)));
                }
                Output::Event(event) => {
                    let event = self.event(at, event, now);
                    self.news.extend(event);
                }
            }
        }
    }

    fn event(&mut self, at: usize, event: Event, now: u64) -> Option<News> {
        let lane = &mut self.lanes[at];
        match event {
            Event::Done(outcome) => {
                self.met = true;
                let chunk = lane.chunk.take()?;
                let one = std::mem::take(&mut lane.frames) <= 1;
                let first = !std::mem::take(&mut lane.again);
                if outcome.value.rc == Rc::OP_MISMATCH {
                    let second = Address(outcome.value.data[0] as u32);
                    return Some(News::Failed(self.rank_of(second), Why::Mismatch));
                }
                if outcome.count != self.groups[at].size() {
                    return Some(News::Failed(0, Why::Strange));
                }
                Some(News::Done(chunk, outcome.value, one, first))
            }
            Event::Retry { .. } => {
                // An attempt that begins with the round only arms engines that have timed out.
                let late = lane.chunk.is_some() && now > lane.begun;
                lane.frames = 0;
                lane.again |= late;
                late.then_some(News::Again)
            }
            Event::Doubtful { leaf, .. } => Some(News::Failed(self.rank_of(leaf), Why::Doubtful)),
            Event::Missing { .. } | Event::LeftOut(_) => Some(News::Failed(0, Why::Strange)),
        }
    }
}
