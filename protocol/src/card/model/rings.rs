//! Schedule rings (MB-16): the card rings doorbells of queue pairs itself.
//!
//! [`RingTable`] says what a group does; here are the registers through which the host gives it to the card, the queue pairs
//! that are bound to its peers, and what of bulk transfers it hears.

use std::collections::{BTreeMap, VecDeque};

mod work;

use super::CardModel;
use crate::card::regs::{
    Counter, RING_ANSWER, RING_ANSWER_BUSY, RING_ANSWER_OK, RING_BASE_HIGH, RING_BASE_LOW,
    RING_BIND, RING_BIND_GROUP, RING_BIND_PAIR, RING_BIND_ROLE, RING_BIND_SLOT, RING_COMMAND,
    RING_COMMAND_GROUP, RING_COMMAND_OP, RING_COMMAND_POSTED, RING_ORIGIN, RING_QUEUE,
    RING_QUEUE_PAIR, RING_REFUSED, RING_SETTINGS, RING_SETTINGS_LOG, RING_SETTINGS_TIMED,
    RING_SETTINGS_WATCHDOG, RING_SIZES, RING_SIZES_GROUPS, RINGS,
};
use crate::multicast::ring::{Opening, PEERS, RingTable};
use crate::registers::{Access, Register};
use crate::xud::Outcome;

/// What a queue pair is to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Role {
    /// Blocks go to the peer, and its grants come.
    Sends = 1,
    /// Blocks come from the peer, and grants go.
    Receives = 2,
}

/// Which peer of which group a queue pair leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Binding {
    role: Role,
    group: u8,
    slot: u8,
}

/// A queue pair that is bound.
#[derive(Clone, Copy, Debug)]
struct Bound {
    to: Binding,
    /// Work requests for which the card has rung.
    posted: u16,
}

/// What has happened to transfers of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Landed(u8, u8),
    Credit(u8, u8, u32),
    Sent(u8),
    Failed(u8, u8),
}

/// The rings of a card.
#[derive(Clone, Debug)]
pub(super) struct Rings {
    table: RingTable,
    groups: u16,
    values: [u32; RINGS.len()],
    /// A command that was written and not carried out.
    command: Option<u32>,
    /// How the latest one ended.
    ok: bool,
    refused: u32,
    /// Queue pairs that are bound, and which was bound latest to each peer.
    bound: BTreeMap<u32, Bound>,
    pairs: BTreeMap<Binding, u32>,
    /// Queue pair of each group's ends.
    ends: Vec<u32>,
    /// Groups whose place is taken: nothing else is looked at.
    open: Vec<usize>,
    events: VecDeque<Event>,
    /// Ticks of the watchdogs until now.
    ticks: Option<u64>,
}

impl Rings {
    /// After a reset, with this many groups.
    pub fn new(groups: u16) -> Self {
        let mut values = [0; RINGS.len()];
        for (value, register) in values.iter_mut().zip(RINGS) {
            *value = register.reset;
        }
        Self {
            table: RingTable::new(groups.into()),
            groups,
            values,
            command: None,
            ok: false,
            refused: 0,
            bound: BTreeMap::new(),
            pairs: BTreeMap::new(),
            ends: vec![0; groups.into()],
            open: Vec::new(),
            events: VecDeque::new(),
            ticks: None,
        }
    }

    /// The value that was written to a register.
    fn get(&self, register: &Register) -> u32 {
        let place = RINGS.iter().position(|r| r.offset == register.offset);
        place.map_or(0, |place| self.values[place])
    }

    fn read(&self, place: usize) -> u32 {
        match &RINGS[place] {
            &RING_SIZES => RING_SIZES_GROUPS.put(self.groups.into()),
            &RING_ANSWER => {
                let busy = self.command.is_some();
                RING_ANSWER_BUSY.put(busy.into()) | RING_ANSWER_OK.put((self.ok && !busy).into())
            }
            &RING_REFUSED => self.refused,
            register if register.access == Access::WriteOnly => 0,
            _ => self.values[place],
        }
    }

    /// Counts what no group could take.
    fn check(&mut self, taken: bool) -> bool {
        self.refused = self.refused.wrapping_add((!taken).into());
        taken
    }

    /// The command that was written.
    fn run_command(&mut self) {
        let Some(word) = self.command.take() else {
            return;
        };
        let group = RING_COMMAND_GROUP.get(word) as usize;
        let ok = match RING_COMMAND_OP.get(word) {
            0 => self.open(group),
            1 => {
                let posted = RING_COMMAND_POSTED.get(word) as u16;
                self.table.doorbell(group, posted)
            }
            2 => self.table.stop(group),
            _ => self.table.close(group),
        };
        self.ok = self.check(ok);
        let groups = 0..self.groups.into();
        self.open = groups.filter(|&g| !self.table.is_closed(g)).collect();
    }

    fn open(&mut self, group: usize) -> bool {
        let settings = self.get(&RING_SETTINGS);
        let high = u64::from(self.get(&RING_BASE_HIGH)) << 32;
        let opening = Opening {
            base: high | u64::from(self.get(&RING_BASE_LOW)),
            log: RING_SETTINGS_LOG.get(settings) as u8,
            watchdog: RING_SETTINGS_WATCHDOG.get(settings) as u16,
            timed: RING_SETTINGS_TIMED.get(settings) != 0,
            origin: self.get(&RING_ORIGIN),
        };
        let open = self.table.open(group, opening);
        if open {
            self.ends[group] = RING_QUEUE_PAIR.get(self.get(&RING_QUEUE));
        }
        open
    }

    /// Binds a queue pair, or takes it back.
    fn bind(&mut self, word: u32, queue_pairs: u32) {
        let pair = RING_BIND_PAIR.get(word);
        let (group, slot) = (RING_BIND_GROUP.get(word), RING_BIND_SLOT.get(word));
        let role = match RING_BIND_ROLE.get(word) {
            0 => None,
            1 => Some(Role::Sends),
            2 => Some(Role::Receives),
            _ => return self.refused = self.refused.wrapping_add(1),
        };
        let good = group < self.groups.into() && slot < PEERS.into() && pair < queue_pairs;
        if !self.check(good) {
            return;
        }
        self.bound.remove(&pair);
        if let Some(role) = role {
            let to = Binding {
                role,
                group: group as u8,
                slot: slot as u8,
            };
            self.bound.insert(pair, Bound { to, posted: 0 });
            self.pairs.insert(to, pair);
        }
    }

    /// A queue pair is destroyed.
    pub fn end_queue_pair(&mut self, qpn: u32) {
        self.bound.remove(&qpn);
    }

    /// The completion of a bulk work request was written.
    fn ended(&mut self, qpn: u32, status: Outcome) {
        let Some(Bound { to, .. }) = self.bound.get(&qpn) else {
            return;
        };
        match (status, to.role) {
            (Outcome::Ok, Role::Sends) => self.events.push_back(Event::Sent(to.group)),
            (Outcome::Ok, Role::Receives) => {}
            _ => self.events.push_back(Event::Failed(to.group, to.slot)),
        }
    }

    /// The completion of a notification was written.
    fn notified(&mut self, qpn: u32, immediate: u32) {
        let Some(Bound { to, .. }) = self.bound.get(&qpn) else {
            return;
        };
        self.events.push_back(match to.role {
            Role::Sends => Event::Credit(to.group, to.slot, immediate),
            Role::Receives => Event::Landed(to.group, to.slot),
        });
    }
}

impl CardModel {
    /// Which register of rings lies at an offset, if the card has these.
    pub(super) fn ring_place(&self, offset: u32) -> Option<usize> {
        self.rings.as_ref()?;
        RINGS
            .iter()
            .position(|register| u32::from(register.offset) == offset)
    }

    pub(super) fn read_ring(&self, place: usize) -> u32 {
        self.rings.as_ref().map_or(0, |rings| rings.read(place))
    }

    pub(super) fn write_ring(&mut self, place: usize, value: u32) {
        let register = &RINGS[place];
        if register.access == Access::ReadOnly || !register.fits(value) {
            return self.count(Counter::BadWrite);
        }
        let queue_pairs = 1 << self.config.qps_log;
        let Some(rings) = &mut self.rings else {
            return;
        };
        match *register {
            RING_COMMAND => {
                rings.command.get_or_insert(value);
            }
            RING_BIND => rings.bind(value, queue_pairs),
            _ => rings.values[place] = value,
        }
    }

    /// Rings hear how a bulk work request has ended.
    pub(super) fn tell_rings_ended(&mut self, qpn: u32, status: Outcome) {
        if let Some(rings) = &mut self.rings {
            rings.ended(qpn, status);
        }
    }

    /// Rings hear of a notification that has been completed.
    pub(super) fn tell_rings_notified(&mut self, qpn: u32, immediate: u32) {
        if let Some(rings) = &mut self.rings {
            rings.notified(qpn, immediate);
        }
    }
}
