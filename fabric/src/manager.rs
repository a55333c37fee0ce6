//! The manager of multicast groups (MC-7, MC-9): a pure state machine. Its owner carries requests, replies and table writes,
//! and says what time it is, in ticks of any length.
//!
//! Life of a group. It begins with its first join, which states how many members it has. When the last has joined, its tree
//! is computed, once; when the tree is written, it is [`State::Ready`]. A leave never changes the tree. When all have left,
//! or not all have joined or left in time, or one leaves before it is ready, it is destroyed: its tree is cleared after a
//! while (`drain`) and the id free again only then; until then the key is taken too.
//!
//! Requests may be lost, doubled and late. A repeated one is answered as the first was. Each names the incarnation of the
//! group: a number that grows from one life of a key to the next (of a job, say).
//! - Older than the life that is known: refused ([`Refusal::Stale`]).
//! - Newer, while joins are received: the new life takes the old one's place. An old join that comes so late that
//!   nothing is known of its life any longer begins a group that can never be complete, and this rule keeps it out of the way.
//! - Newer otherwise: [`Refusal::Busy`], and if the sender is a member of the old life it counts as gone from that.
//!
//! Whether a ready group is used by anyone the manager learns from leaves, from [`Manager::endnode_failed`] (the port of a dead
//! host goes down), and from the polls that members send while it is ready, if there is a [`Config::lease`].
//!
//! Tables are changed by [`Update`]s, which the owner takes ([`Manager::take_updates`]), carries out in order and reports as
//! done ([`Manager::written`]). `drain` must be longer than any frame or request is under way, than the longest timeout of the switches'
//! engines, and than members need to hear of a new tree.
//!
//! ```
//! use tributary_fabric::manager::{Config, Join, Manager, State};
//! use tributary_fabric::route::Own;
//! use tributary_fabric::topology::Topology;
//!
//! let network = "leaf-spine:4,2,4".parse::<Topology>()?.build()?;
//! let mut manager = Manager::new(network, Box::new(Own::default()), Config::default())?;
//! for (rank, endnode) in [(0, 1), (1, 9), (2, 14)] {
//!     manager.join(0, Join { key: 7, incarnation: 1, size: 3, rank, endnode });
//! }
//! manager.compute(0, usize::MAX);
//! for update in manager.take_updates() {
//!     // Here `update.writes` goes to the switches, in this order.
//!     manager.written(1, update.number)?;
//! }
//! assert_eq!(manager.status(7).map(|(_, status)| status.state), Some(State::Ready));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod failure;
pub mod member;
mod membership;
mod record;
mod report;
mod request;
mod routing;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use record::Record;
pub use report::{Counters, Ending, Event, ManagerError, Rerouted, Unroutable};
pub use request::{GroupKey, Join, Leave, Poll, Refusal, Reply, Request, State, Status};

use crate::group::Group;
use crate::hops::{HopError, HopTable};
use crate::ids::{IDS_MAX, TreeId, TreeIds};
use crate::load::Load;
use crate::network::{CableId, EndnodeId, Network};
use crate::route::Router;
use crate::tree::Tree;
use crate::update::Update;

/// Settings of a manager; times in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Entries of the switches' multicast tables, 1 to 8,192.
    pub ids: u16,
    /// Most groups at a time, those being destroyed included.
    pub groups_max: u32,
    /// Time from the first join to the last.
    pub join_timeout: u64,
    /// Time from the first leave to the last.
    pub leave_timeout: u64,
    /// Time for which a tree stays after its last use.
    pub drain: u64,
    /// Time after which a ready group that no member has polled counts as being left; `None`: never. Members must poll more often.
    pub lease: Option<u64>,
}

impl Default for Config {
    /// For ticks of a millisecond.
    fn default() -> Self {
        Self {
            ids: IDS_MAX,
            groups_max: 1 << 16,
            join_timeout: 60_000,
            leave_timeout: 60_000,
            drain: 10_000,
            lease: None,
        }
    }
}

/// A tree that is being written or cleared.
#[derive(Clone, Copy, Debug)]
struct Pending {
    number: u64,
    key: GroupKey,
    id: TreeId,
    clear: bool,
}

/// See the module.
pub struct Manager {
    config: Config,
    network: Network,
    router: Box<dyn Router>,
    hops: HopTable,
    /// Why `hops` is not that of `network`, if it is not.
    stale: Option<HopError>,
    load: Load,
    ids: TreeIds,
    now: u64,
    groups: HashMap<GroupKey, Record>,
    timers: BTreeSet<(u64, GroupKey)>,
    /// Complete groups without a tree.
    queue: BTreeSet<GroupKey>,
    /// Groups that wait for a cable or an id.
    waiting: BTreeMap<GroupKey, Unroutable>,
    /// An id has become free since the waiting ones were looked at.
    released: bool,
    /// By cable: groups whose tree crosses it.
    users: Vec<Vec<GroupKey>>,
    updates: Vec<Update>,
    /// Number of the next update, and of the first that was not handed out.
    next: u64,
    taken: u64,
    pending: VecDeque<Pending>,
    events: Vec<Event>,
    counters: Counters,
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manager")
            .field("network", &self.network.name())
            .field("router", &self.router.name())
            .field("now", &self.now)
            .field("groups", &self.groups.len())
            .finish_non_exhaustive()
    }
}

impl Manager {
    /// A manager without groups.
    ///
    /// # Errors
    /// The number of ids is out of its range, or two switches are more than 254 cables apart.
    pub fn new(
        network: Network,
        router: Box<dyn Router>,
        config: Config,
    ) -> Result<Self, ManagerError> {
        Ok(Self {
            config,
            hops: HopTable::new(&network)?,
            stale: None,
            load: Load::new(&network),
            ids: TreeIds::new(network.switch_count(), config.ids)?,
            users: vec![Vec::new(); network.cables().len()],
            network,
            router,
            now: 0,
            groups: HashMap::new(),
            timers: BTreeSet::new(),
            queue: BTreeSet::new(),
            waiting: BTreeMap::new(),
            released: false,
            updates: Vec::new(),
            next: 0,
            taken: 0,
            pending: VecDeque::new(),
            events: Vec::new(),
            counters: Counters::default(),
        })
    }

    /// The network, with the cables that have failed.
    #[must_use]
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// Groups on each cable: the trees of all groups that are not being destroyed.
    #[must_use]
    pub const fn load(&self) -> &Load {
        &self.load
    }

    /// The ids.
    #[must_use]
    pub const fn ids(&self) -> &TreeIds {
        &self.ids
    }

    /// What was counted.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Number of groups, those being destroyed included.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// Keys of all groups, ascending.
    #[must_use]
    pub fn keys(&self) -> Vec<GroupKey> {
        let mut keys: Vec<_> = self.groups.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    /// How far a group is, and its incarnation.
    #[must_use]
    pub fn status(&self, key: GroupKey) -> Option<(u64, Status)> {
        let record = self.groups.get(&key)?;
        Some((record.incarnation, record.status()))
    }

    /// A group's members and leader, when all have joined.
    #[must_use]
    pub fn members(&self, key: GroupKey) -> Option<(&Group, EndnodeId)> {
        let record = self.groups.get(&key)?;
        record.group.as_ref().zip(record.leader())
    }

    /// A group's tree and its id: the newest, even if it is not written yet.
    #[must_use]
    pub fn tree(&self, key: GroupKey) -> Option<(TreeId, &Tree)> {
        let placed = self.groups.get(&key)?.placed.as_ref()?;
        Some((placed.id, &placed.tree))
    }

    /// Why a group waits for a tree, if it does.
    #[must_use]
    pub fn unroutable(&self, key: GroupKey) -> Option<&Unroutable> {
        self.waiting.get(&key)
    }

    /// Groups whose tree crosses a cable, in no order.
    #[must_use]
    pub fn users(&self, cable: CableId) -> &[GroupKey] {
        self.users.get(cable as usize).map_or(&[], Vec::as_slice)
    }

    /// When [`Manager::tick`] has something to do next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        self.timers.first().map(|&(at, _)| at)
    }

    /// What has happened since the last call. Events, and updates, are kept until they are taken.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Updates to carry out, in this order.
    pub fn take_updates(&mut self) -> Vec<Update> {
        self.taken = self.next;
        std::mem::take(&mut self.updates)
    }

    /// Answers any request.
    pub fn request(&mut self, now: u64, request: Request) -> Reply {
        match request {
            Request::Join(join) => self.join(now, join),
            Request::Leave(leave) => self.leave(now, leave),
            Request::Poll(poll) => self.poll(now, poll),
        }
    }

    /// Compares everything that is kept twice; for tests and for an owner who suspects something.
    ///
    /// # Errors
    /// What does not agree, in words.
    pub fn audit(&self) -> Result<(), String> {
        let mut load = Load::new(&self.network);
        let (mut trees, mut entries, mut users, mut timers) = (0, 0, 0, 0);
        for (&key, record) in &self.groups {
            timers += usize::from(record.timer.is_some());
            if record.timer != record.next() {
                return Err(format!("group {key} has a wrong timer"));
            }
            if let Some(at) = record.timer
                && !self.timers.contains(&(at, key))
            {
                return Err(format!("the timer of group {key} is not on the list"));
            }
            let current = record.placed.as_ref().map(|p| (p.id, &p.switches));
            if let Some(placed) = &record.placed {
                load.add(&placed.tree);
                users += placed.tree.hops.len();
                if let Some(cable) = placed
                    .tree
                    .cables()
                    .find(|&c| !self.users(c).contains(&key))
                {
                    return Err(format!("cable {cable} does not know its group {key}"));
                }
            }
            let old = record.retired.iter().map(|r| (r.id, &r.switches));
            for (id, switches) in current.into_iter().chain(old) {
                trees += 1;
                entries += switches.len() as u64;
                if let Some(switch) = switches.iter().find(|&&s| !self.ids.is_used(s, id)) {
                    return Err(format!("id {id} of group {key} is free at switch {switch}"));
                }
            }
        }
        if load != self.load {
            return Err("the load is not the sum of all trees".into());
        }
        if (trees, entries) != (self.ids.trees(), self.ids.entries()) {
            return Err(format!(
                "{} ids for {} entries are taken, {trees} for {entries} are known",
                self.ids.trees(),
                self.ids.entries()
            ));
        }
        if users != self.users.iter().map(Vec::len).sum() || timers != self.timers.len() {
            return Err("cables or timers remember groups that are gone".into());
        }
        let orphan = self.queue.iter().chain(self.waiting.keys());
        if let Some(key) = orphan.into_iter().find(|k| !self.groups.contains_key(k)) {
            return Err(format!("group {key} waits and is gone"));
        }
        Ok(())
    }

    /// Time never goes back.
    fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Puts a group's next deadline on the list, and takes the old one off.
    fn rearm(&mut self, key: GroupKey) {
        let Some(record) = self.groups.get_mut(&key) else {
            return;
        };
        let next = record.next();
        if record.timer != next {
            if let Some(old) = record.timer {
                self.timers.remove(&(old, key));
            }
            self.timers.extend(next.map(|at| (at, key)));
            record.timer = next;
        }
    }
}
