//! Groups of an endpoint: how it joins them, and their operations.
//!
//! All members of a list join it, and each knows the endpoints of the others from its own set. A group needs another address of each
//! member, that of its host of collectives on the card: all tell theirs the first of the list, which answers with a name for the
//! group and all addresses. Messages of an endpoint arrive in order, so the n-th that a member says of a list belongs to the n-th
//! time that the first joins it, and so does the n-th answer: each is answered once, also where the first has given up meanwhile.
//! Whoever waits speaks now and then, so that a peer that is gone is found out.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tributary_host_driver::AddressHandle;
use tributary_host_driver::collective::remote::{RemoteTrees, TREES_SOCKET};
use tributary_host_driver::collective::{CollectiveError, Communicator, Ticket, name};

use super::*;
use crate::card::{address, handle};
use crate::collective::elements::Elements;
use crate::collective::{Collectives, Member, Pending};
use crate::engine::Address;

/// Notices that are kept until they are looked at, and words of members of groups that this end has not joined yet. No peer fills
/// the memory; what is dropped is as a member that does not join.
const KEPT: usize = 4_096;
/// Who waits for a member speaks to it this often.
const SPEAK: Duration = Duration::from_secs(2);
/// Numbers of groups begin here: elsewhere than places in an address vector.
const NUMBERS: u64 = 1 << 63;
/// In the name of a group: made for an endpoint, not for MPI. No address has this bit where it stands.
const OF_ENDPOINT: u64 = 1 << 47;

/// The groups of an endpoint.
#[derive(Default)]
pub struct Groups {
    state: Mutex<State>,
    /// It has joined one. What others say before waits.
    in_use: AtomicBool,
}

#[derive(Default)]
struct State {
    host: Option<Collectives>,
    /// What members have told the first of their list: what that is known by, who, and the address of its host.
    told: Vec<(u64, Address, u64)>,
    /// As the first of these lists: who will be told that there is no group as soon as it joins.
    refused: Vec<(u64, Address)>,
    joins: Vec<Join>,
    groups: HashMap<u64, Group>,
    next: u64,
}

/// A group that is being joined.
struct Join {
    number: u64,
    /// What the program knows it by: the group, and its own word.
    program: (usize, usize),
    events: Arc<Events>,
    key: u64,
    list: Vec<Address>,
    /// At the first of the list: hosts of the members, as far as they are known.
    heard: Vec<Option<u64>>,
    spoke: Instant,
    /// The program does not want it any more; its answer is to come.
    given_up: bool,
}

struct Group {
    member: Arc<Member>,
    list: Vec<Address>,
    under_way: Vec<Operation>,
}

/// An operation that is under way.
struct Operation {
    pending: Pending,
    out: Out,
}

/// What is to be done when an operation ends.
pub struct Out {
    pub context: usize,
    /// Where its result goes: memory of the program, which it keeps until it is told of the end.
    pub result: (usize, usize),
    /// Where its part of what comes begins.
    pub from: usize,
    pub told: bool,
    /// What counts it.
    pub direction: u64,
}

/// A group as the program holds it.
#[repr(C)]
struct Mc {
    fid: fid_mc,
    end: Arc<EndpointPort>,
}

static FID: Shared<fi_ops> = Shared(fid_ops(close));

unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call(|| {
        // SAFETY: made by `join`, closed once.
        let group = unsafe { Box::from_raw(fid.cast::<Mc>()) };
        group.end.leave_group(group.fid.fi_addr);
        SUCCESS
    })
}

/// The manager's trees, if there is a manager.
fn trees() -> Result<Option<RemoteTrees>, String> {
    let folder = folder().filter(|folder| folder.join(TREES_SOCKET).exists());
    let trees = folder.map(|folder| RemoteTrees::connect(&folder));
    trees.transpose().map_err(|error| error.to_string())
}

const fn number_of(error: &CollectiveError) -> c_int {
    match error {
        CollectiveError::Failed { .. } => EHOSTUNREACH,
        CollectiveError::Unsupported { .. } => EOPNOTSUPP,
        CollectiveError::NoRank { .. } | CollectiveError::Uneven { .. } => EINVAL,
        _ => EIO,
    }
}

impl Queues {
    /// Keeps what is for groups.
    pub(super) fn notice(&self, notice: Notice) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() < KEPT {
            notices.push_back(notice);
        }
    }

    /// A collective operation has ended.
    fn group_done(&self, out: &Out, length: usize, error: Option<c_int>) {
        self.count(out.direction, error.is_none());
        let Some((queue, _)) = self.send.get() else {
            return;
        };
        if error.is_none() && !out.told {
            return;
        }
        queue.push(Entry {
            entry: fi_cq_tagged_entry {
                op_context: out.context as *mut c_void,
                flags: COLLECTIVE,
                len: length,
                buf: out.result.0 as *mut c_void,
                data: 0,
                tag: 0,
            },
            from: ADDR_UNSPEC,
            error: error.map(|error| (error, 0)),
        });
    }
}

impl EndpointPort {
    fn groups(&self) -> MutexGuard<'_, State> {
        (self.groups.state.lock()).unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to join the group of these endpoints; the group.
    ///
    /// # Errors
    /// The number of the error.
    pub fn join(
        self: &Arc<Self>,
        domain: &Arc<Inner>,
        list: Vec<Address>,
        events: Arc<Events>,
        context: *mut c_void,
    ) -> Result<*mut fid_mc, c_int> {
        let own = self.port.own();
        let different: HashSet<&Address> = list.iter().collect();
        if !list.contains(&own) || different.len() < list.len() {
            return Err(-EINVAL);
        }
        let mut state = self.groups();
        if state.host.is_none() {
            let weak = Arc::downgrade(self);
            let look = move || {
                if let Some(end) = weak.upgrade() {
                    end.look();
                }
            };
            let card = domain.clone();
            let host =
                trees().and_then(|trees| Collectives::new(domain.card.domain(), trees, card, look));
            match host {
                Ok(host) => state.host = Some(host),
                Err(error) => complain(&error),
            }
            self.groups.in_use.store(true, Ordering::Release);
        }
        // The others shall hear of it, too, if there is none.
        let host = state
            .host
            .as_ref()
            .map_or(0, |host| address(host.address()));
        let number = NUMBERS | state.next;
        state.next += 1;
        let group = Box::into_raw(Box::new(Mc {
            fid: fid_mc {
                fid: fid {
                    fclass: CLASS_MC,
                    context,
                    ops: &FID.0,
                },
                fi_addr: number,
            },
            end: Arc::clone(self),
        }));
        // What the list is known by on the way.
        let key = name(&list);
        let mut heard = vec![None; list.len()];
        heard[0] = Some(host);
        if list[0] != own {
            self.speak(&[list[0]], key, false, &[host]);
        }
        state.joins.push(Join {
            number,
            program: (group as usize, context as usize),
            events,
            key,
            list,
            heard,
            spoke: Instant::now(),
            given_up: false,
        });
        Ok(group.cast())
    }

    fn speak(&self, to: &[Address], key: u64, first: bool, words: &[u64]) {
        let mut core = self.port.enter();
        for to in to {
            core.engine.join(*to, key, first, words);
        }
        core.push();
        self.queues.tell(&mut core);
    }

    /// The program holds a group no longer.
    fn leave_group(&self, number: u64) {
        let mut state = self.groups();
        if let Some(at) = state.joins.iter().position(|join| join.number == number) {
            if state.joins[at].list[0] == self.port.own() {
                let join = state.joins.remove(at);
                self.refuse(&mut state, &join, None);
            } else {
                state.joins[at].given_up = true;
            }
        }
        let Some(group) = state.groups.remove(&number) else {
            return;
        };
        if let Some(host) = &state.host {
            match group.under_way.is_empty() {
                true => host.close(&group.member),
                false => host.leave(&group.member),
            }
        }
        for operation in group.under_way {
            self.queues.group_done(&operation.out, 0, Some(ECANCELED));
        }
    }

    /// Ends all groups; what they have done, if there were any.
    pub fn end_groups(&self) -> Option<Totals> {
        let mut state = self.groups();
        let host = state.host.take();
        (state.joins, state.groups) = (Vec::new(), HashMap::new());
        // The host's thread may be about to look here.
        drop(state);
        host.map(Collectives::end)
    }

    /// Place of an endpoint in a group.
    ///
    /// # Errors
    /// The number of the error.
    pub fn rank_in(&self, group: u64, of: Option<Address>) -> Result<usize, c_int> {
        let state = self.groups();
        let group = state.group(group)?;
        let rank = group.list.iter().position(|member| Some(*member) == of);
        rank.ok_or(-EINVAL)
    }

    /// How many members a group has.
    ///
    /// # Errors
    /// The number of the error.
    pub fn members_of(&self, group: u64) -> Result<usize, c_int> {
        Ok(self.groups().group(group)?.list.len())
    }

    /// Begins an operation of a group.
    ///
    /// # Errors
    /// The number of the error.
    pub fn begin(
        &self,
        group: u64,
        out: Out,
        elements: Option<Elements>,
        post: impl FnOnce(&mut Communicator) -> Result<Ticket, CollectiveError>,
    ) -> Result<(), c_int> {
        let mut state = self.groups();
        state.group(group)?;
        let group = state.groups.get_mut(&group).ok_or(-EINVAL)?;
        let pending = group.member.start(elements, post);
        let pending = pending.map_err(|error| -number_of(&error))?;
        group.under_way.push(Operation { pending, out });
        self.run(&mut state);
        Ok(())
    }

    /// Does what can be done for groups now.
    pub fn look(&self) {
        if !self.groups.in_use.load(Ordering::Acquire) {
            return;
        }
        let mut state = self.groups();
        let notices = self.queues.notices.lock();
        let notices = std::mem::take(&mut *notices.unwrap_or_else(PoisonError::into_inner));
        for notice in notices {
            self.hear(&mut state, notice);
        }
        if !state.joins.is_empty() && self.port.enter().failed.is_some() {
            for join in std::mem::take(&mut state.joins) {
                state.joined(join, &[], EIO);
            }
        }
        self.gather(&mut state);
        self.run(&mut state);
    }

    fn hear(&self, state: &mut State, notice: Notice) {
        match notice {
            Notice::Member {
                from,
                key,
                first: false,
                words,
            } => {
                // Without words it has only been spoken to.
                let Some(host) = words.first() else { return };
                let refused = state.refused.iter().position(|of| *of == (key, from));
                if let Some(at) = refused {
                    state.refused.remove(at);
                    self.speak(&[from], key, true, &[]);
                } else if state.told.len() < KEPT {
                    state.told.push((key, from, *host));
                }
            }
            Notice::Member {
                from, key, words, ..
            } => {
                let mine = |join: &Join| join.key == key && join.list[0] == from;
                if let Some(at) = state
                    .joins
                    .iter()
                    .position(mine)
                    .filter(|_| from != self.port.own())
                    && words.first() != Some(&0)
                {
                    let join = state.joins.remove(at);
                    state.joined(join, &words, EIO);
                }
            }
            Notice::Lost(at) => {
                state.told.retain(|told| told.1 != at);
                state.refused.retain(|refused| refused.1 != at);
                while let Some(which) = state.joins.iter().position(|join| {
                    join.list.contains(&at)
                        && (join.list[0] == at || join.list[0] == self.port.own())
                }) {
                    let join = state.joins.remove(which);
                    self.refuse(state, &join, Some(at));
                    state.joined(join, &[], EHOSTUNREACH);
                }
            }
        }
    }

    /// As the first of a list: tells the others that there will be no group, those that have not joined as soon as they do.
    fn refuse(&self, state: &mut State, join: &Join, gone: Option<Address>) {
        if join.list[0] != self.port.own() {
            return;
        }
        let others = join.list.iter().zip(&join.heard).skip(1);
        for (member, heard) in others.filter(|(member, _)| Some(**member) != gone) {
            if heard.is_some() || state.take_told(join.key, *member).is_some() {
                self.speak(&[*member], join.key, true, &[]);
            } else if state.refused.len() < KEPT {
                state.refused.push((join.key, *member));
            }
        }
    }

    /// As the first of a list: whether all have spoken.
    fn gather(&self, state: &mut State) {
        let own = self.port.own();
        let mut at = 0;
        while at < state.joins.len() {
            let is_first = state.joins[at].list[0] == own;
            for member in 0..state.joins[at].list.len() {
                let join = &state.joins[at];
                if is_first && join.heard[member].is_none() {
                    let heard = state.take_told(join.key, join.list[member]);
                    state.joins[at].heard[member] = heard;
                }
            }
            let join = &mut state.joins[at];
            let heard: Option<Vec<u64>> = join.heard.iter().copied().collect();
            let Some(hosts) = heard.filter(|_| is_first) else {
                self.speak_again(join, is_first);
                at += 1;
                continue;
            };
            let join = state.joins.remove(at);
            if hosts.contains(&0) {
                self.refuse(state, &join, None);
                state.joined(join, &[], EIO);
                continue;
            }
            let name = hosts[0].rotate_left(16) ^ OF_ENDPOINT ^ (join.number & !NUMBERS);
            let words: Vec<u64> = [name].into_iter().chain(hosts).collect();
            self.speak(&join.list[1..], join.key, true, &words);
            state.joined(join, &words, EIO);
        }
    }

    fn speak_again(&self, join: &mut Join, is_first: bool) {
        if join.spoke.elapsed() < SPEAK {
            return;
        }
        join.spoke = Instant::now();
        if is_first {
            let silent = join.list.iter().zip(&join.heard);
            let silent: Vec<Address> = silent
                .filter(|(_, heard)| heard.is_none())
                .map(|(member, _)| *member)
                .collect();
            self.speak(&silent, join.key, true, &[0]);
        } else {
            self.speak(&[join.list[0]], join.key, false, &[]);
        }
    }

    /// Works for operations; those that have ended are told.
    fn run(&self, state: &mut State) {
        for group in state.groups.values_mut() {
            let mut at = 0;
            while at < group.under_way.len() {
                let tested = group.under_way[at].pending.test();
                if matches!(tested, Ok(None)) {
                    at += 1;
                    continue;
                }
                let Operation { out, .. } = group.under_way.remove(at);
                match tested {
                    Ok(bytes) => {
                        let bytes = bytes.unwrap_or_default();
                        let bytes = bytes.get(out.from..).unwrap_or_default();
                        let length = bytes.len().min(out.result.1);
                        // SAFETY: memory that the program gave for the result, of so many bytes, until it is told of the end.
                        unsafe {
                            (out.result.0 as *mut u8)
                                .copy_from_nonoverlapping(bytes.as_ptr(), length);
                        }
                        self.queues.group_done(&out, length, None);
                    }
                    Err(error) => {
                        complain(&format!("a collective operation: {error}"));
                        self.queues.group_done(&out, 0, Some(number_of(&error)));
                    }
                }
            }
        }
    }
}

impl State {
    /// What a member has told of a list: the oldest that nobody has taken.
    fn take_told(&mut self, key: u64, member: Address) -> Option<u64> {
        let at = (self.told.iter()).position(|told| (told.0, told.1) == (key, member));
        at.map(|at| self.told.remove(at).2)
    }

    /// A group that has been joined.
    fn group(&self, number: u64) -> Result<&Group, c_int> {
        if self.joins.iter().any(|join| join.number == number) {
            return Err(-EOPBADSTATE);
        }
        self.groups.get(&number).ok_or(-EINVAL)
    }

    /// The first of a list has said what the group is called and where its members are, or that there is none.
    fn joined(&mut self, join: Join, words: &[u64], otherwise: c_int) {
        let made = match words.split_first() {
            Some((name, hosts)) if hosts.len() == join.list.len() => self.make(*name, hosts),
            _ => None,
        };
        if join.given_up {
            if let (Some(host), Some(member)) = (&self.host, made) {
                host.leave(&member);
            }
            return;
        }
        let error = made.is_none().then_some(otherwise);
        if let Some(member) = made {
            let group = Group {
                member,
                list: join.list,
                under_way: Vec::new(),
            };
            self.groups.insert(join.number, group);
        }
        join.events.joined(join.program, error);
    }

    fn make(&self, name: u64, hosts: &[u64]) -> Option<Arc<Member>> {
        let hosts: Option<Vec<AddressHandle>> = hosts.iter().map(|at| handle(*at)).collect();
        match self.host.as_ref()?.create(name, &hosts?) {
            Ok(member) => Some(member),
            Err(error) => {
                complain(&error.to_string());
                None
            }
        }
    }
}
