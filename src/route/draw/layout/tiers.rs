//! Trees: switches in rows by their distance from endnodes.

use tributary_fabric::Network;

use super::{Label, Layout, Line};

/// Space for the names of the rows.
const LEFT: f64 = 62.0;
const ROW: f64 = 130.0;

/// By switch: cables to the nearest switch with endnodes; none if all switches have endnodes, or none has.
pub fn tiers(network: &Network) -> Option<Vec<u32>> {
    let mut tier = vec![u32::MAX; network.switches().len()];
    let mut open: Vec<u32> = (0..network.switch_count())
        .filter(|&s| !network.attached(s).is_empty())
        .collect();
    if open.is_empty() || open.len() == tier.len() {
        return None;
    }
    let mut depth = 0;
    while !open.is_empty() {
        for &switch in &open {
            tier[switch as usize] = depth;
        }
        let next = open.iter().flat_map(|&s| network.links(s)).map(|l| l.peer);
        let mut next: Vec<u32> = next.filter(|&s| tier[s as usize] == u32::MAX).collect();
        next.sort_unstable();
        next.dedup();
        open = next;
        depth += 1;
    }
    Some(tier)
}

/// Name of a row.
pub fn name(tier: u32, last: u32) -> String {
    match tier {
        0 => "leaf".to_owned(),
        t if t == last => "top".to_owned(),
        1 if last == 2 => "middle".to_owned(),
        t => format!("level {t}"),
    }
}

pub fn layout(network: &Network, tier: &[u32], width: f64) -> Layout {
    let last = tier.iter().copied().max().unwrap_or(0);
    let blocks = network.blocks();
    let mut x = vec![0.0; tier.len()];
    let mut labels = Vec::new();
    let y = |tier: u32| 20.0 + f64::from(last - tier) * ROW;
    for row in 0..=last {
        let below = |s: u32| {
            let links = network.links(s).iter();
            let x = links
                .filter(|l| tier[l.peer as usize] + 1 == row)
                .map(|l| x[l.peer as usize]);
            let (sum, count) = x.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
            sum / f64::from(count.max(1))
        };
        let mut order: Vec<(f64, u32)> = (0..network.switch_count())
            .filter(|&s| tier[s as usize] == row)
            .map(|s| (below(s), s))
            .collect();
        // Blocks stay together, above what they are connected to.
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut at = 0.0;
        let mut before = None;
        let places: Vec<f64> = order
            .iter()
            .map(|&(_, s)| {
                let block = blocks[s as usize];
                let alone = before != Some(block);
                before = Some(block);
                at += if alone { 1.8 } else { 1.0 };
                at
            })
            .collect();
        let scale = (width - LEFT) / (at + 0.8);
        // From side to side, as much space before the first as behind the last.
        for (&(_, s), place) in order.iter().zip(places) {
            x[s as usize] = LEFT + (place - 0.5) * scale;
        }
        labels.push(Label {
            x: 0.0,
            y: y(row) + 4.0,
            anchor: "start",
            text: name(row, last),
        });
    }
    let switches: Vec<_> = x.iter().zip(tier).map(|(&x, &t)| (x, y(t))).collect();
    let widest = (0..=last).map(|row| tier.iter().filter(|t| **t == row).count());
    let widest = widest.max().unwrap_or(1) as f64;
    let lines = network.cables().iter().map(|c| {
        let [(a, _), (b, _)] = c.ends;
        Line::Straight(switches[a as usize], switches[b as usize])
    });
    Layout {
        height: y(0) + 24.0,
        lines: lines.collect(),
        labels,
        dot: ((width - LEFT) / widest * 0.3).clamp(1.5, 5.0),
        switches,
    }
}
