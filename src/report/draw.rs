//! The drawings: the fabric, and its frames over time.

use std::collections::BTreeMap;
use std::fmt::Write;

use tributary_protocol::red::{Frame, wire::DEFAULT_ETHERTYPE};
use tributary_sim::fabric::{Fate, Place};

use super::{BEGIN, Run, stages};

const WIDTH: f64 = 1120.0;
/// Height of a lane of the time axis.
const LANE: f64 = 26.0;
/// Width of the names beside the lanes.
const NAMES: f64 = 90.0;
/// Clocks before the first and behind the last frame.
const MARGIN: u64 = 20;

/// The places of a fabric in the order of its tree: (name, depth), the root first, a switch before what is below it.
fn order(run: &Run) -> Vec<(Place, usize)> {
    let fabric = run.sim.fabric();
    let mut list = Vec::new();
    let (Some(entries), Some(tree)) = (run.sim.trees().first(), fabric.trees.first()) else {
        return list;
    };
    list.push((Place::Endpoint(tree.root), 0));
    let mut open = vec![(Place::Endpoint(tree.root), 1)];
    while let Some((from, depth)) = open.pop() {
        match run.sim.cabling().peer(from) {
            Some(Place::Switch(switch, _)) => {
                list.push((Place::Switch(switch, 0), depth));
                let children = entries.get(&switch).map_or(0, |e| e.children);
                let ports = (0..64u8).rev().filter(|p| children >> p & 1 == 1);
                open.extend(ports.map(|p| (Place::Switch(switch, p), depth + 1)));
            }
            Some(endpoint) => list.push((endpoint, depth)),
            None => {}
        }
    }
    list
}

fn name(run: &Run, place: Place) -> String {
    match place {
        Place::Switch(s, _) => run.sim.fabric().switches[s].name.clone(),
        Place::Endpoint(_) => run.sim.fabric().name(place),
    }
}

/// The tree from the root at the top; switches have their wait counts.
pub fn tree(run: &Run) -> String {
    let places = order(run);
    let deepest = places.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
    let fabric = run.sim.fabric();
    // Endpoints beside each other; a switch above the middle of what is below it.
    let mut x: BTreeMap<Place, f64> = BTreeMap::new();
    let leaves: Vec<Place> = places
        .iter()
        .skip(1)
        .filter(|(p, _)| matches!(p, Place::Endpoint(_)))
        .map(|(p, _)| *p)
        .collect();
    for (i, place) in leaves.iter().enumerate() {
        x.insert(*place, (i as f64 + 0.5) * WIDTH / leaves.len() as f64);
    }
    for (i, (place, depth)) in places.iter().enumerate().rev() {
        if x.contains_key(place) {
            continue;
        }
        let below = places[i + 1..]
            .iter()
            .take_while(|(_, d)| d > depth)
            .filter(|(_, d)| *d == depth + 1);
        let at: Vec<f64> = below.filter_map(|(p, _)| x.get(p).copied()).collect();
        x.insert(*place, at.iter().sum::<f64>() / at.len().max(1) as f64);
    }
    let y = |depth: usize| 24.0 + depth as f64 * 74.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"The tree\">\n",
        y(deepest) + 30.0
    );
    let mut parents: Vec<Place> = Vec::new();
    for (place, depth) in &places {
        parents.truncate(*depth);
        if let Some(parent) = parents.last() {
            let _ = writeln!(
                svg,
                "<line class=\"cable\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
                x[parent],
                y(depth - 1),
                x[place],
                y(*depth)
            );
        }
        parents.push(*place);
    }
    for (place, depth) in &places {
        let (cx, cy) = (x[place], y(*depth));
        let wait = match place {
            Place::Switch(s, _) => run
                .sim
                .trees()
                .first()
                .and_then(|e| e.get(s))
                .map(|e| e.wait),
            Place::Endpoint(_) => None,
        };
        let text = match wait {
            Some(wait) => format!("{} · {wait}", name(run, *place)),
            None => name(run, *place),
        };
        let half = (text.chars().count() as f64 * 4.2 + 8.0)
            .min(WIDTH / fabric.endpoints.len() as f64 * if wait.is_some() { 4.0 } else { 0.48 });
        let class = if wait.is_some() { "switch" } else { "endpoint" };
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"24\" rx=\"4\"/><text x=\"{cx:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            cx - half,
            cy - 12.0,
            2.0 * half,
            cy + 4.0,
            super::page::escape(&text)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// A lane for each node; a frame is a line from its first word at the sender to its last word at the receiver.
pub fn timeline(run: &Run) -> String {
    let places = order(run);
    let lane: BTreeMap<Place, usize> = places
        .iter()
        .enumerate()
        .map(|(i, (place, _))| (*place, i))
        .collect();
    let at = |place: Place| match place {
        Place::Switch(s, _) => lane.get(&Place::Switch(s, 0)),
        endpoint => lane.get(&endpoint),
    };
    let (from, to) = (BEGIN - MARGIN, run.end + MARGIN);
    let x = |clock: u64| {
        NAMES + clock.saturating_sub(from) as f64 / (to - from) as f64 * (WIDTH - NAMES - 10.0)
    };
    let y = |lane: usize| 16.0 + lane as f64 * LANE;
    let height = y(places.len()) + 26.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Frames over time\">\n"
    );
    for (i, (place, _)) in places.iter().enumerate() {
        let class = if matches!(place, Place::Switch(..)) {
            "lane hub"
        } else {
            "lane"
        };
        let _ = writeln!(
            svg,
            "<line class=\"{class}\" x1=\"{NAMES}\" y1=\"{0:.1}\" x2=\"{WIDTH}\" y2=\"{0:.1}\"/><text x=\"4\" y=\"{1:.1}\">{2}</text>",
            y(i),
            y(i) + 4.0,
            super::page::escape(&name(run, *place))
        );
    }
    let step = [50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000]
        .into_iter()
        .find(|s| (to - from) / s <= 14)
        .unwrap_or(10_000_000);
    for clock in (0..).map(|i| i * step).take_while(|c| BEGIN + c <= to) {
        let _ = writeln!(
            svg,
            "<line class=\"tick\" x1=\"{0:.1}\" y1=\"4\" x2=\"{0:.1}\" y2=\"{1:.1}\"/><text x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{clock}</text>",
            x(BEGIN + clock),
            height - 22.0,
            height - 8.0
        );
    }
    let depths = stages::depths(run);
    for frame in run.frames() {
        let [a, b] = [frame.from, 1 - frame.from]
            .map(|side| run.sim.fabric().cables[frame.cable].ends[side]);
        let (Some(&la), Some(&lb)) = (at(a), at(b)) else {
            continue;
        };
        let Ok(parsed) = Frame::parse(&frame.bytes, DEFAULT_ETHERTYPE) else {
            continue;
        };
        let depth = |place: Place| match place {
            Place::Switch(s, _) => depths.get(&s).map_or(0, |d| d + 1),
            Place::Endpoint(e)
                if Some(e) == run.sim.group_endpoints(run.group).first().copied() =>
            {
                0
            }
            Place::Endpoint(_) => usize::MAX,
        };
        let class = match (frame.fate, depth(a) < depth(b), parsed.red.count) {
            (Fate::Lost | Fate::Damaged, ..) => "lost",
            (_, true, _) => "down",
            (_, false, 0 | 1) => "up",
            (_, false, _) => "result",
        };
        let _ = writeln!(
            svg,
            "<line class=\"frame {class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"><title>{} to {}, clocks {} to {}, count {}, seqno {}</title></line>",
            x(frame.start),
            y(la),
            x(frame.end.min(to)),
            y(lb),
            super::page::escape(&run.sim.fabric().name(a)),
            super::page::escape(&run.sim.fabric().name(b)),
            frame.start.saturating_sub(BEGIN),
            frame.end.saturating_sub(BEGIN),
            parsed.red.count,
            parsed.red.seqno
        );
    }
    svg.push_str("</svg>\n");
    svg
}
