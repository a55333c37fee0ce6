//! What a round must come to, from what was seen on the cables.
//!
//! Sums of floating-point numbers depend on the order of their operands, so a switch cannot be checked against a fold in any
//! order that one likes. The cables show what came into a switch and did not leave it as it was: that is in its result, in the
//! order of the last words; where several waited, in one of the orders that the engine may have had. A result's source
//! address names the switch and port it is from. [`total`] begins with the endpoints' own values, and for each switch on the way to
//! the root it folds what is in its result in these orders until one gives the frame that the switch sent.
//!
//! Contributions of one data word ([`Frame::is_brief`]) may be combined as a tree when they wait, which is not followed here.

mod order;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use tributary_protocol::red::{
    Address, Frame, Mode, Op, Partial, Value, host::Group, wire::DEFAULT_ETHERTYPE,
};

use super::cable::{Fate, Sighting};
use super::check::Cabling;
use super::describe::{Fabric, Place};
use order::{Came, any_order};

/// The frames of a group on cables.
#[derive(Debug)]
struct Seen {
    from: Place,
    to: Place,
    start: u64,
    end: u64,
    arrived: bool,
    frame: Frame,
}

/// What each endpoint gave.
pub type Given = BTreeMap<Address, (Op, Value)>;

/// Why there is no total.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unexplained {
    /// Frames that would have to be there were not seen.
    #[error("the cables do not show how it came about: {0}")]
    NotSeen(&'static str),
    /// No order of what came to a switch gives what it sent.
    #[error(
        "switch {switch} sent {sent:x?}, which no order of the {parts} contributions to it gives"
    )]
    Sent {
        /// The switch.
        switch: usize,
        /// Data words of the frame.
        sent: [u64; 4],
        /// Contributions that must be in it.
        parts: usize,
    },
}

/// The total of a round, as the frames on the cables have it.
///
/// # Errors
/// [`Unexplained`].
pub fn total(
    fabric: &Fabric,
    cabling: &Cabling,
    sightings: &[Sighting],
    group: &Group,
    round: u64,
    given: &Given,
) -> Result<Partial, Unexplained> {
    use Unexplained::NotSeen;
    let seen: Vec<Seen> = sightings
        .iter()
        .filter_map(|s| see(fabric, s, group))
        .collect();
    let root = fabric.endpoint_at(group.root).map(Place::Endpoint);
    let root = root.ok_or(NotSeen("the root is no endpoint"))?;
    let announced =
        |round: u64| move |s: &&Seen| s.from == root && s.frame.restricted.remote_offset == round;
    let last = seen.iter().find(announced(round + 1));
    let last = last.ok_or(NotSeen("the root did not say what came of it"))?;
    let seqno = last.frame.red.resno;
    let first = seen
        .iter()
        .filter(announced(round))
        .find(|s| s.frame.red.seqno == seqno)
        .ok_or(NotSeen("the root did not begin it"))?;
    let mut up: Vec<&Seen> = seen
        .iter()
        .filter(|s| s.frame.red.seqno == seqno && !s.frame.red.arm && s.frame.red.count != 0)
        .filter(|s| s.frame.fabric.sfa != group.root || s.frame.contributes())
        .filter(|s| s.start >= first.start && s.start <= last.start)
        .collect();
    up.sort_by_key(|s| s.end);
    let tally = Tally {
        fabric,
        cabling,
        up,
        group,
        given,
    };
    let mut sources = BTreeSet::new();
    let mut sum = None;
    let arrived = tally
        .up
        .iter()
        .filter(|s| s.to == root && s.arrived && s.end < last.start);
    for from in arrived
        .map(|s| s.frame.fabric.sfa)
        .filter(|sfa| sources.insert(*sfa))
    {
        add(&mut sum, &tally.part(from, 0)?, group.mode);
    }
    // Where the root contributes up its own port, its value is in what came.
    if tally.up.iter().all(|s| s.frame.fabric.sfa != group.root) {
        add(&mut sum, &tally.part(group.root, 0)?, group.mode);
    }
    sum.ok_or(NotSeen("nothing came to the root"))
}

fn see(fabric: &Fabric, sighting: &Sighting, group: &Group) -> Option<Seen> {
    let frame = Frame::parse(&sighting.bytes, DEFAULT_ETHERTYPE).ok()?;
    let ends = fabric.cables.get(sighting.cable)?.ends;
    let mine = frame.red.cookie == group.cookie && frame.fabric.vni == group.vni;
    mine.then(|| Seen {
        from: ends[sighting.from],
        to: ends[1 - sighting.from],
        start: sighting.start,
        end: sighting.end,
        arrived: sighting.fate == Fate::Whole,
        frame,
    })
}

struct Tally<'a> {
    fabric: &'a Fabric,
    cabling: &'a Cabling,
    up: Vec<&'a Seen>,
    group: &'a Group,
    given: &'a Given,
}

impl Tally<'_> {
    /// What a source stands for; `depth` ends walks through frames that no tree would give.
    fn part(&self, source: Address, depth: usize) -> Result<Partial, Unexplained> {
        use Unexplained::NotSeen;
        if let Some(&(op, value)) = self.given.get(&source) {
            return Ok(Partial {
                op,
                source,
                value,
                count: 1,
            });
        }
        let switches = 0..self.fabric.switches.len();
        let ports = switches.flat_map(|s| (0..self.fabric.switches[s].ports).map(move |p| (s, p)));
        let (switch, _) = ports
            .into_iter()
            .find(|&(s, p)| Fabric::port_address(s, p) == source)
            .ok_or(NotSeen("a source is neither an endpoint nor a port"))?;
        if depth > self.fabric.switches.len() {
            return Err(NotSeen("a result is in itself"));
        }
        let from_here = |s: &&&Seen| matches!(s.from, Place::Switch(from, _) if from == switch);
        let passed: BTreeSet<Address> = self
            .up
            .iter()
            .filter(from_here)
            .map(|s| s.frame.fabric.sfa)
            .collect();
        let mut sources = BTreeSet::new();
        let (mut came, mut parts) = (vec![], vec![]);
        for seen in &self.up {
            let (from, clock) = (seen.frame.fabric.sfa, seen.end);
            if let Place::Switch(to, input) = seen.to
                && to == switch
                && seen.arrived
                && self.cabling.at(seen.to).is_some()
                && !passed.contains(&from)
                && sources.insert(from)
            {
                came.push(Came {
                    clock,
                    input: input.into(),
                });
                parts.push(self.part(from, depth + 1)?);
            }
        }
        let sent = self.up.iter().filter(from_here);
        let mut sent = sent.filter(|s| s.frame.fabric.sfa == source);
        let sent = sent.next().ok_or(NotSeen("a result did not leave"))?;
        let sent = Partial::first(&sent.frame);
        let mut found = None;
        any_order(&came, |order| {
            let mut sum = None;
            for &part in order {
                add(&mut sum, &parts[part], self.group.mode);
            }
            found = sum
                .filter(|sum| (sum.op, sum.count, sum.value) == (sent.op, sent.count, sent.value));
            found.is_some()
        });
        found.ok_or(Unexplained::Sent {
            switch,
            sent: sent.value.data,
            parts: parts.len(),
        })
    }
}

fn add(sum: &mut Option<Partial>, part: &Partial, mode: Mode) {
    match sum {
        None => *sum = Some(*part),
        Some(sum) => sum.merge(part, mode),
    }
}
