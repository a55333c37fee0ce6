//! Time in windows, and what ranks tell each other between two of them.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Event, Node, Simulator};
use crate::fabric::Logged;
use crate::fabric::cable::Sighting;
use crate::fabric::describe::Place;
use crate::fabric::ranks::Crossing;

/// What a rank's endpoints have reported, and what was seen on the cables of its nodes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Report {
    logged: Vec<(usize, Vec<Logged>)>,
    seen: Vec<Sighting>,
}

impl Simulator {
    /// Clocks that a frame takes at least from the act that sends it to its arrival, on every cable: the length of a window.
    #[must_use]
    pub const fn lookahead(&self) -> u64 {
        self.lookahead
    }

    /// Runs until nothing is left to happen, or the clock would pass `limit`. Returns whether nothing is left.
    ///
    /// # Errors
    /// A switch has broken down, or another rank has ended.
    pub fn run(&mut self, limit: u64) -> Result<bool> {
        self.run_while(limit, |_| true)
    }

    /// Runs window by window as long as `go_on` says so on any rank, something is left to happen, and the clock does not pass
    /// `limit`. Returns whether nothing is left. The clock stands at the end of a window then.
    ///
    /// # Errors
    /// A switch has broken down, or another rank has ended.
    pub fn run_while(&mut self, limit: u64, mut go_on: impl FnMut(&Self) -> bool) -> Result<bool> {
        loop {
            let on = go_on(self);
            let next = self.events.peek().map(|event| event.clock);
            let (agreed, came) = self.ranks.meet(next, on)?;
            for crossing in came {
                self.enter(crossing);
            }
            let next = match agreed.next {
                None => return Ok(true),
                Some(_) if !agreed.on => return Ok(false),
                Some(clock) if clock > limit => {
                    self.now = self.now.max(limit);
                    return Ok(false);
                }
                Some(clock) => clock,
            };
            self.window_end = limit.min(next.saturating_add(self.lookahead - 1));
            while self
                .events
                .peek()
                .is_some_and(|e| e.clock <= self.window_end)
            {
                if let Some(event) = self.events.pop() {
                    self.now = event.clock;
                    self.handle(event)?;
                }
            }
            self.now = self.window_end;
        }
    }

    /// Sends a frame to where it arrives.
    pub(super) fn deliver(&mut self, crossing: Crossing) -> Result<()> {
        let slot = self.slot(node(self.end(crossing.wire)));
        let owner = self.ranks.owner(slot);
        if self.ranks.is_own(slot) {
            self.enter(crossing);
            return Ok(());
        }
        ensure!(
            crossing.clock > self.window_end,
            "cable {}: a frame of {} bytes arrives at clock {}, in the window in which it is sent: it is too long for a simulation of several ranks",
            crossing.wire / 2,
            crossing.bytes.len(),
            crossing.clock
        );
        self.ranks.send(owner, crossing);
        Ok(())
    }

    fn enter(&mut self, crossing: Crossing) {
        let at = self.end(crossing.wire);
        let slot = self.slot(node(at));
        self.events.push(Event::arrival(at, slot, crossing));
    }

    /// Where a direction of a cable leads to.
    fn end(&self, wire: usize) -> Place {
        self.fabric.cables[wire / 2].ends[1 - wire % 2]
    }

    /// The sum over all ranks of a number that each has.
    ///
    /// # Errors
    /// Another rank has ended.
    pub fn total(&mut self, own: impl Fn(&Self) -> u64) -> Result<u64> {
        let own = own(self);
        Ok(self.ranks.tell(own)?.into_iter().sum())
    }

    /// Gives the first rank what endpoints have reported and what was seen since the last time, and puts what was seen there in
    /// order. Whether this is the first rank.
    ///
    /// # Errors
    /// Another rank has ended.
    pub fn gather(&mut self) -> Result<bool> {
        let first = self.ranks.rank() == 0;
        let report = if first {
            Report::default()
        } else {
            self.report()
        };
        for report in self.ranks.tell_first(report)? {
            for (endpoint, mut logged) in report.logged {
                self.endpoints[endpoint].report(&mut logged);
            }
            if let Some(log) = &mut self.log {
                log.extend(report.seen);
            }
        }
        if let Some(log) = &mut self.log {
            // Those of one direction of one cable are in order.
            log.sort_by_key(|seen| (seen.start, seen.cable, seen.from));
        }
        Ok(first)
    }

    /// What is new on this rank.
    fn report(&mut self) -> Report {
        let mut logged = Vec::new();
        for (index, (endpoint, known)) in self.endpoints.iter().zip(&mut self.told).enumerate() {
            let new = endpoint.log().get(*known..).unwrap_or_default();
            if !new.is_empty() {
                logged.push((index, new.to_vec()));
                *known = endpoint.log().len();
            }
        }
        let seen = self.log.as_mut().map(std::mem::take);
        Report {
            logged,
            seen: seen.unwrap_or_default(),
        }
    }
}

const fn node(place: Place) -> Node {
    match place {
        Place::Switch(s, _) => Node::Switch(s),
        Place::Endpoint(e) => Node::Endpoint(e),
    }
}
