//! What a round must come to, from what was seen on the cables.
//!
//! Sums of floating-point numbers depend on the order of their operands, so a switch cannot be checked against a fold in any
//! order that one likes. The cables show the order that it had: contributions that came into a switch, and did not leave it as
//! they were, are in its result, in the order of their last words; a result's source address names the switch and port it is
//! from. [`total`] follows this from the root to the endpoints and folds the endpoints' own values, none that a switch made.
//!
//! Contributions that wait for each other at an engine have no order that the cables would show: the inputs take turns, and those
//! of one data word may be combined as a tree.

use std::collections::{BTreeMap, BTreeSet};

use tributary_protocol::red::{
    Address, Frame, Key, Op, Partial, Value,
    host::Group,
    wire::{DEFAULT_ETHERTYPE, Fabric as Header, Reduction, Restricted},
};

use super::cable::{Fate, Sighting};
use super::check::Cabling;
use super::describe::{Fabric, Place};

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

/// The total of a round, as the order of the frames on the cables has it; nothing if the cables do not show its end.
#[must_use]
pub fn total(
    fabric: &Fabric,
    cabling: &Cabling,
    sightings: &[Sighting],
    group: &Group,
    round: u64,
    given: &Given,
) -> Option<Partial> {
    let seen: Vec<Seen> = sightings
        .iter()
        .filter_map(|s| see(fabric, s, group))
        .collect();
    let root = Place::Endpoint(fabric.endpoint_at(group.root)?);
    let announced =
        |round: u64| move |s: &&Seen| s.from == root && s.frame.restricted.remote_offset == round;
    let last = seen.iter().find(announced(round + 1))?;
    let seqno = last.frame.red.resno;
    let first = seen
        .iter()
        .filter(announced(round))
        .find(|s| s.frame.red.seqno == seqno)?;
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
        tally.add(&mut sum, from, 0)?;
    }
    // Where the root contributes up its own port, its value is in what came.
    if tally.up.iter().all(|s| s.frame.fabric.sfa != group.root) {
        tally.add(&mut sum, group.root, 0)?;
    }
    sum
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
    /// Adds what a source stands for; `depth` ends walks through frames that no tree would give.
    fn add(&self, sum: &mut Option<Partial>, source: Address, depth: usize) -> Option<()> {
        let part = self.part(source, depth)?;
        let frame = frame(self.group.key, source, &part);
        match sum {
            None => *sum = Some(Partial::first(&frame)),
            Some(sum) => sum.add(&frame, self.group.mode),
        }
        Some(())
    }

    fn part(&self, source: Address, depth: usize) -> Option<Partial> {
        if let Some(&(op, value)) = self.given.get(&source) {
            return Some(Partial {
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
            .find(|&(s, p)| Fabric::port_address(s, p) == source)?;
        if depth > self.fabric.switches.len() {
            return None;
        }
        let at = |place: Place| matches!(place, Place::Switch(s, _) if s == switch);
        let passed: BTreeSet<Address> = self
            .up
            .iter()
            .filter(|s| at(s.from))
            .map(|s| s.frame.fabric.sfa)
            .collect();
        let mut sum = None;
        let mut sources = BTreeSet::new();
        let came = self
            .up
            .iter()
            .filter(|s| at(s.to) && s.arrived && self.cabling.at(s.to).is_some());
        for from in came.map(|s| s.frame.fabric.sfa) {
            if !passed.contains(&from) && sources.insert(from) {
                self.add(&mut sum, from, depth + 1)?;
            }
        }
        sum
    }
}

fn frame(key: Key, source: Address, part: &Partial) -> Frame {
    Frame {
        fabric: Header::new(source, key.address(), 0),
        restricted: Restricted::default(),
        red: Reduction {
            seqno: 0,
            arm: false,
            op: part.op,
            count: part.count,
            resno: 0,
            rc: part.value.rc,
            m: part.value.m,
            oflow: part.value.oflow,
            pad: 0,
            cookie: 0,
        },
        data: part.value.data,
    }
}
