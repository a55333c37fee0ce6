//! Dragonflies: the groups on a circle, each a circle of its switches. Without blocks, all switches on one circle.

use std::f64::consts::TAU;

use tributary_fabric::Network;

use super::{Label, Layout, Line};

pub fn layout(network: &Network, width: f64) -> Layout {
    let blocks = network.blocks();
    let count = blocks.iter().max().map_or(1, |&b| b as usize + 1);
    let mut within: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (switch, &block) in (0u32..).zip(blocks) {
        within[block as usize].push(switch);
    }
    let grouped = within.iter().any(|b| b.len() > 1);
    let center = width / 2.0;
    let labels_at = center - 12.0;
    let spread = (std::f64::consts::PI / count as f64).sin();
    // Circles of groups touch neither each other nor the names.
    let (ring, small) = if grouped && count > 1 {
        let ring = (labels_at - 14.0) / (1.0 + 0.72 * spread.min(0.8));
        (ring, ring * spread.min(0.8) * 0.72)
    } else if grouped {
        (0.0, labels_at - 14.0)
    } else {
        (labels_at - 4.0, 0.0)
    };
    let mut switches = vec![(0.0, 0.0); blocks.len()];
    let mut labels = Vec::new();
    for (index, members) in within.iter().enumerate() {
        let angle = TAU * index as f64 / count as f64 - TAU / 4.0;
        let (x, y) = (center + ring * angle.cos(), center + ring * angle.sin());
        for (i, &switch) in members.iter().enumerate() {
            let turn = angle + TAU * (i as f64 + 0.5) / members.len() as f64;
            switches[switch as usize] = (x + small * turn.cos(), y + small * turn.sin());
        }
        if grouped && count > 1 && count <= 80 {
            labels.push(Label {
                x: center + labels_at * angle.cos(),
                y: center + labels_at * angle.sin() + 4.0,
                anchor: "middle",
                text: index.to_string(),
            });
        }
    }
    let line = |c: &tributary_fabric::network::Cable| {
        let [a, b] = c.ends.map(|(switch, _)| switch as usize);
        let (from, to) = (switches[a], switches[b]);
        if grouped && blocks[a] == blocks[b] {
            return Line::Straight(from, to);
        }
        // Towards the middle of the circle, the more the longer, so that they do not run through what lies between.
        let length = (from.0 - to.0).hypot(from.1 - to.1);
        let weight = 0.5 * (length / center).min(1.0);
        let pull = |from: f64, to: f64| (from + to) / 2.0 * (1.0 - weight) + center * weight;
        Line::Bent(from, (pull(from.0, to.0), pull(from.1, to.1)), to)
    };
    let lines = network.cables().iter().map(line).collect();
    let apart = if grouped {
        let largest = within.iter().map(Vec::len).max().unwrap_or(1);
        small * TAU / largest as f64
    } else {
        ring * TAU / count as f64
    };
    Layout {
        height: width,
        switches,
        lines,
        labels,
        dot: (apart * 0.2).clamp(1.5, 4.5),
    }
}
