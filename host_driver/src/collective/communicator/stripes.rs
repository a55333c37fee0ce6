//! Long vectors over several trees (CL-7).
//!
//! The root of a tree sends two frames for each value, its own value and the result, and every other member one. So one tree alone
//! carries half of what the line of its root does. Over k trees with different roots it is k of k + 1 parts. Each further tree is
//! a communicator of the same members whose leader is another one, with everything that communicators do for themselves: what fails
//! there fails here.

use super::{Communicator, Input, Keep, Operation, Outcome, Ticket, Work, name};
use crate::Error;
use crate::collective::CollectiveError;
use crate::collective::data::{Prepared, Shape};

/// Distinguishes the names of stripes from those of splits.
const NAMES: u64 = 0x7374_7269_7065;

/// An operation in parts, one for each stripe, in their order.
pub struct Striped {
    parts: Vec<(Ticket, Option<Outcome>)>,
    /// Parts by messages before it, on all stripes.
    in_software: u64,
}

impl Striped {
    /// All parts together, if all have ended.
    pub fn outcome(&mut self, keep: &Keep, shape: Shape) -> Option<Outcome> {
        if self.parts.iter().any(|(_, part)| part.is_none()) {
            return None;
        }
        let mut all = super::outcome(&Keep::All, shape, 0, &[]);
        for part in self.parts.iter_mut().filter_map(|(_, part)| part.take()) {
            all.code = all.code.max(part.code);
            let fits = all.data.append(part.data);
            debug_assert!(fits, "all parts have one shape");
        }
        all.data = keep.of(all.data);
        Some(all)
    }
}

/// Whether values are for several trees.
pub fn is_for_stripes(prepared: &Prepared, stripes: usize, lanes: u8) -> bool {
    let long = stripes > 0 && prepared.values.len() >= stripes * usize::from(lanes.max(1));
    long && prepared.rule.engines().is_some()
}

/// The parts of an operation that is long enough: each tree has a value for every lane, at least. All members see the same.
pub fn striped_over(op: &Operation, stripes: usize, lanes: u8) -> Option<Vec<Prepared>> {
    let Input::Values(prepared) = &op.input else {
        return None;
    };
    let possible = !op.by_messages && is_for_stripes(prepared, stripes, lanes);
    possible.then(|| prepared.cut(stripes))
}

impl Communicator {
    /// Communicators for further trees, as all members make them.
    pub(super) fn make_stripes(&self) -> Result<Vec<Self>, CollectiveError> {
        let size = self.size();
        let stripes = usize::from(self.options.stripes).min(size - 1);
        let options = super::Options {
            stripes: 0,
            // Its parts are for its tree.
            bulk_from: 0,
            ..self.options
        };
        let stripe = |index: usize| {
            let mut members = self.members.clone();
            members.rotate_left(self.leader_of(index, stripes));
            let name = name(&[self.name, NAMES, index as u64]);
            Self::create(&self.host, name, &members, self.trees.clone(), options)
        };
        (0..stripes).map(stripe).collect()
    }

    /// Rank of the leader of a stripe: as far apart as that goes, and never 0, which leads the first tree.
    fn leader_of(&self, stripe: usize, stripes: usize) -> usize {
        (stripe + 1) * self.size() / (stripes + 1)
    }

    /// Lets them work, and takes what they have ended.
    pub(super) fn turn_stripes(&mut self, now: u64) -> Result<(), Error> {
        let mut failed = None;
        for at in 0..self.stripes.len() {
            let stripe = &mut self.stripes[at];
            stripe.turn(now)?;
            let ended = std::mem::take(&mut stripe.finished);
            if let Some((rank, why)) = stripe.failed {
                let first = self.leader_of(at, self.stripes.len());
                failed.get_or_insert(((rank + first) % self.size(), why));
            }
            let Some(Work::Striped(striped)) = self.operations.front_mut().map(|op| &mut op.work)
            else {
                continue;
            };
            let (ticket, part) = &mut striped.parts[at];
            let mine = ended.into_iter().find(|ended| ended.ticket == *ticket);
            if let Some(Ok(outcome)) = mine.map(|ended| ended.result) {
                *part = Some(outcome);
            }
        }
        if let Some((rank, why)) = failed {
            self.fail(rank, why);
        }
        Ok(())
    }

    /// Begins the oldest operation in parts.
    pub(super) fn begin_striped(&mut self, parts: Vec<Prepared>) {
        let in_software = self.parts_in_software();
        let parts = self.stripes.iter_mut().zip(parts).map(|(stripe, part)| {
            // Of one that has failed, the next turn says so.
            let ticket = stripe.enqueue(Input::Values(part), Keep::All, false);
            (ticket.unwrap_or(Ticket(u64::MAX)), None)
        });
        let parts = parts.collect();
        if let Some(op) = self.operations.front_mut() {
            op.work = Work::Striped(Striped { parts, in_software });
        }
    }

    fn parts_in_software(&self) -> u64 {
        let parts = self.stripes.iter();
        parts.map(|stripe| stripe.counters.in_software).sum()
    }

    /// One has ended.
    pub(super) fn count_striped(&mut self, striped: &Striped) {
        if self.parts_in_software() > striped.in_software {
            self.counters.in_software += 1;
        } else {
            self.counters.in_switches += 1;
            self.counters.striped += 1;
        }
    }

    /// Members that they wait for.
    pub(super) fn stripes_waiting(&self) -> Vec<usize> {
        let (size, count) = (self.size(), self.stripes.len());
        let waiting = self.stripes.iter().enumerate().flat_map(|(at, stripe)| {
            let first = self.leader_of(at, count);
            let waiting = stripe.waiting().into_iter();
            waiting.map(move |rank| (rank + first) % size)
        });
        let mut all: Vec<usize> = waiting.filter(|&rank| rank != self.rank).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
