//! What becomes of a failure: a notice to everyone, then one member gathers watermarks and says how the group ended.
//!
//! The living member with the lowest rank gathers. It asks all others; when each has reported or is gone, it tells them the
//! verdict. If it fails in the meantime, the next one gathers. A member that knows a verdict answers with it, so a verdict
//! that reached a survivor stays the verdict.

use std::collections::BTreeSet;

use super::member::{Member, Output, State};
use super::{Control, Verdict, Why};

impl Member {
    /// A member does not answer, or a transfer to or from it has failed.
    pub fn peer_failed(&mut self, peer: u32, out: &mut Vec<Output>) {
        if peer >= self.config.members || peer == self.rank {
            self.counters.strange += 1;
            return;
        }
        self.dead.insert(peer);
        self.fail(peer, Why::Gone, None, out);
        self.gather(out);
    }

    /// What a member said of its card's queue pairs does not fit, or nothing came of it.
    pub fn peer_misfits(&mut self, peer: u32, out: &mut Vec<Output>) {
        if peer >= self.config.members || peer == self.rank {
            self.counters.strange += 1;
            return;
        }
        self.fail(peer, Why::Ticket, None, out);
    }

    /// Nothing new is started, and everyone is told; `from` knows (MB-12).
    pub(super) fn fail(
        &mut self,
        suspect: u32,
        why: Why,
        from: Option<u32>,
        out: &mut Vec<Output>,
    ) {
        if !matches!(self.state, State::Joining | State::Open) {
            return;
        }
        self.state = State::Failed { suspect, why };
        if why == Why::Gone {
            self.dead.insert(suspect);
        }
        out.push(Output::Failed { suspect, why });
        if !self.config.mutations.notice_not_relayed || from.is_none() {
            for &to in &self.neighbours {
                if Some(to) != from && !self.dead.contains(&to) {
                    let control = Control::Notice { suspect, why };
                    out.push(Output::Control { to, control });
                }
            }
        }
        self.gather(out);
    }

    pub(super) fn noticed(&mut self, from: u32, suspect: u32, why: Why, out: &mut Vec<Output>) {
        if suspect >= self.config.members {
            self.counters.strange += 1;
            return;
        }
        self.fail(suspect, why, Some(from), out);
    }

    /// The member that gathers, as far as this one knows.
    pub(super) fn gatherer(&self) -> u32 {
        let mut living = (0..self.config.members).filter(|rank| !self.dead.contains(rank));
        living.next().unwrap_or(self.rank)
    }

    fn watermark(&self) -> u32 {
        self.delivered() + u32::from(self.config.mutations.watermark_off_by_one)
    }

    /// Asks, reports or decides, as it can.
    fn gather(&mut self, out: &mut Vec<Output>) {
        let State::Failed { suspect, why } = self.state else {
            return;
        };
        let gatherer = self.gatherer();
        if gatherer != self.rank {
            if self.reported_to != Some(gatherer) {
                self.report(gatherer, suspect, why, out);
            }
            return;
        }
        let others: Vec<u32> = (0..self.config.members)
            .filter(|&rank| rank != self.rank && !self.dead.contains(&rank))
            .collect();
        for &to in &others {
            if self.asked.insert(to) {
                let control = Control::Ask { suspect, why };
                out.push(Output::Control { to, control });
            }
        }
        if !others.iter().all(|rank| self.reports.contains_key(rank)) {
            return;
        }
        let watermarks = (0..self.config.members)
            .map(|rank| match rank {
                _ if rank == self.rank => Some(self.watermark()),
                _ if self.dead.contains(&rank) => None,
                _ => self.reports.get(&rank).copied(),
            })
            .collect();
        let verdict = Verdict::Failure {
            suspect,
            why,
            watermarks,
        };
        self.ends(verdict, out);
    }

    fn report(&mut self, to: u32, suspect: u32, why: Why, out: &mut Vec<Output>) {
        self.reported_to = Some(to);
        let watermark = self.watermark();
        let control = Control::Report {
            suspect,
            why,
            watermark,
        };
        out.push(Output::Control { to, control });
    }

    pub(super) fn is_asked(&mut self, from: u32, suspect: u32, why: Why, out: &mut Vec<Output>) {
        if self.answers_with_verdict(from, out) {
            return;
        }
        // Who gathers takes those below it for gone.
        if from > self.rank {
            self.counters.strange += 1;
            return;
        }
        self.dead.extend(0..from);
        self.noticed(from, suspect, why, out);
        self.gather(out);
    }

    pub(super) fn reported(
        &mut self,
        from: u32,
        suspect: u32,
        why: Why,
        watermark: u32,
        out: &mut Vec<Output>,
    ) {
        if self.answers_with_verdict(from, out) {
            return;
        }
        // The sender takes this member for the one that gathers, and those below it for gone.
        if from < self.rank {
            self.counters.strange += 1;
            return;
        }
        self.reports.insert(from, watermark);
        self.dead.extend(0..self.rank);
        self.noticed(from, suspect, why, out);
        self.gather(out);
    }

    fn answers_with_verdict(&self, from: u32, out: &mut Vec<Output>) -> bool {
        let State::Closed(verdict) = &self.state else {
            return false;
        };
        let control = Control::Verdict(verdict.clone());
        out.push(Output::Control { to: from, control });
        true
    }

    /// A member says how the group ended. What one said that gathered earlier is too late once this member has reported to
    /// the next: that one goes by the report.
    pub(super) fn is_told(&mut self, from: u32, verdict: Verdict, out: &mut Vec<Output>) {
        match self.reported_to {
            Some(gatherer) if from < gatherer => self.counters.stale += 1,
            _ => self.ends(verdict, out),
        }
    }

    /// The group has ended. Whoever this member has asked, or who has reported to it, is told: it may have learnt the
    /// verdict from somebody else.
    pub(super) fn ends(&mut self, verdict: Verdict, out: &mut Vec<Output>) {
        if matches!(self.state, State::Closed(_)) {
            return;
        }
        self.state = State::Closed(verdict.clone());
        let reporters = self.reports.keys().copied();
        let waiting: BTreeSet<u32> = self.asked.iter().copied().chain(reporters).collect();
        for to in waiting {
            if !self.dead.contains(&to) {
                let control = Control::Verdict(verdict.clone());
                out.push(Output::Control { to, control });
            }
        }
        self.outgoing.clear();
        out.push(Output::Closed(verdict));
    }
}
