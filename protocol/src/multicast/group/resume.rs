//! A new group of the survivors of a failure: it sends what each of them lacks, and nothing else (MB-14).

use bitvec::vec::BitVec;

use super::member::{Member, Output, State};
use super::receive::Incoming;
use super::send::Outgoing;
use super::{Control, GroupConfig, GroupError};
use crate::multicast::Schedule;

/// A message that a member has in part.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partial {
    /// Its bytes.
    pub length: u64,
    /// Blocks that are in their place.
    pub have: BitVec,
}

/// What a member has of the messages of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Holdings {
    /// Lengths of the messages that it has whole: 0, 1, ..
    pub whole: Vec<u64>,
    /// The messages behind them that have begun.
    pub partial: Vec<Partial>,
}

/// What has to be sent again: by message, its number, its length, and what each rank has of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Repairs {
    /// The first message that somebody lacks.
    pub first: u32,
    /// That one and those behind it.
    pub messages: Vec<(u64, Vec<BitVec>)>,
}

/// A group that is resumed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resuming {
    /// What this member brings; the root: what all have brought.
    own: Holdings,
    all: std::collections::BTreeMap<u32, Holdings>,
    /// Messages below this number are repaired, not sent by the root.
    pub end: u32,
}

impl Holdings {
    fn known(&self) -> usize {
        self.whole.len() + self.partial.len()
    }

    /// Length and blocks of a message, if the member knows of it.
    fn of(&self, message: usize, config: &GroupConfig) -> Option<(u64, BitVec)> {
        if let Some(&length) = self.whole.get(message) {
            let blocks = config.blocks(length).ok()?;
            return Some((length, BitVec::repeat(true, blocks as usize)));
        }
        let partial = self.partial.get(message - self.whole.len())?;
        Some((partial.length, partial.have.clone()))
    }
}

impl Repairs {
    /// Of all members; up to the first message of which some block is lost.
    fn of(all: &[&Holdings], config: &GroupConfig) -> Self {
        let first = all.iter().map(|h| h.whole.len()).min().unwrap_or(0);
        let known = all.iter().map(|h| h.known()).max().unwrap_or(0);
        let mut messages = Vec::new();
        for message in first..known {
            let held: Vec<_> = all.iter().map(|h| h.of(message, config)).collect();
            let Some(length) = held.iter().flatten().map(|(length, _)| *length).next() else {
                break;
            };
            let Ok(blocks) = config.blocks(length) else {
                break;
            };
            let nothing = || BitVec::repeat(false, blocks as usize);
            let have: Vec<BitVec> = held
                .into_iter()
                .map(|h| match h {
                    Some((l, have)) if l == length => have,
                    _ => nothing(),
                })
                .collect();
            if Schedule::repair(&have).is_err() {
                break;
            }
            messages.push((length, have));
        }
        Self {
            first: first as u32,
            messages,
        }
    }
}

impl Member {
    /// What this member has, for [`Member::resume`] after a failure. Buffers of messages must be as they were, those of
    /// released messages too.
    #[must_use]
    pub fn holdings(&self) -> Holdings {
        let whole = (0..self.delivered()).map_while(|m| self.lengths.get(&m).copied());
        Holdings {
            whole: whole.collect(),
            partial: self.receiving.partial(),
        }
    }

    /// A member of the group of those who survived another one. `config` has their number, `rank` counts them in the order
    /// of their old ranks, `epoch` is a new one. Messages that nobody can complete are lost; [`Output::Resumed`] says which
    /// ones are not.
    ///
    /// # Errors
    /// A group that cannot be, a rank that is not in it, a group that is offloaded: the hosts repair.
    pub fn resume(
        config: GroupConfig,
        rank: u32,
        epoch: u32,
        holdings: Holdings,
    ) -> Result<Self, GroupError> {
        if config.offload {
            return Err(GroupError::ResumeOffload);
        }
        let mut member = Self::new(config, rank, epoch)?;
        member.receiving.delivered = holdings.whole.len() as u32;
        member.lengths = (0..).zip(holdings.whole.iter().copied()).collect();
        let own = match member.config.mutations.resend_all {
            true => Holdings {
                whole: holdings.whole.clone(),
                partial: holdings
                    .partial
                    .iter()
                    .map(|p| Partial {
                        length: p.length,
                        have: BitVec::repeat(false, p.have.len()),
                    })
                    .collect(),
            },
            false => holdings,
        };
        member.resuming = Some(Resuming {
            own,
            ..Resuming::default()
        });
        Ok(member)
    }

    /// What goes with a member's word that it has made the group.
    pub(super) fn say_holdings(&self, out: &mut Vec<Output>) {
        if let Some(resuming) = &self.resuming {
            let control = Control::Holdings(resuming.own.clone());
            out.push(Output::Control { to: 0, control });
        }
    }

    pub(super) fn brings(&mut self, from: u32, holdings: Holdings, out: &mut Vec<Output>) {
        let Some(resuming) = self.resuming.as_mut().filter(|_| self.rank == 0) else {
            self.counters.strange += 1;
            return;
        };
        resuming.all.insert(from, holdings);
        if self.state == State::Joining {
            self.open_if_all(out);
        }
    }

    /// The root knows what everyone has, or the group is a new one.
    pub(super) fn knows_holdings(&self) -> bool {
        let all = |r: &Resuming| r.all.len() as u32 + 1 == self.config.members;
        self.resuming.as_ref().is_none_or(all)
    }

    /// The root says what is to be repaired.
    pub(super) fn say_repairs(&mut self, out: &mut Vec<Output>) {
        let Some(resuming) = &self.resuming else {
            return;
        };
        let all: Vec<&Holdings> = std::iter::once(&resuming.own)
            .chain(resuming.all.values())
            .collect();
        let repairs = Repairs::of(&all, &self.config);
        for to in 1..self.config.members {
            let control = Control::Repairs(repairs.clone());
            out.push(Output::Control { to, control });
        }
        self.repairs(repairs, out);
    }

    /// Messages that are not whole everywhere: each member makes the same schedules of what all have.
    pub(super) fn repairs(&mut self, repairs: Repairs, out: &mut Vec<Output>) {
        let rank = self.rank as usize;
        let fits = |have: &Vec<BitVec>| have.len() as u32 == self.config.members;
        let Some(resuming) = self.resuming.as_mut().filter(|r| {
            r.end == 0
                && self.state == State::Joining
                && repairs.messages.iter().all(|m| fits(&m.1))
        }) else {
            self.counters.strange += 1;
            return;
        };
        let end = repairs.first + repairs.messages.len() as u32;
        resuming.end = end;
        self.sent = end;
        self.state = State::Open;
        out.push(Output::Resumed { messages: end });
        for (message, (length, have)) in (repairs.first..).zip(repairs.messages) {
            let Ok(schedule) = Schedule::repair(&have) else {
                continue;
            };
            self.outgoing
                .push_back(Outgoing::new(message, length, schedule, self.rank));
            if message < self.receiving.delivered {
                continue;
            }
            let have = have[rank].clone();
            let buffer = have.any();
            self.receiving
                .begins_again(Incoming::of_part(message, length, have, buffer));
            if !buffer {
                out.push(Output::Begin { message, length });
            }
        }
        self.receiving.repairs(repairs.first, end);
        self.deliver(out);
        self.pump(out);
    }

    /// Below this number messages are repaired by those who have them.
    pub(super) fn repaired(&self) -> u32 {
        self.resuming.as_ref().map_or(0, |r| r.end)
    }
}
