//! Tori of up to three dimensions: a grid, the third dimension slantwise.

use tributary_fabric::{Network, SwitchId};

use super::{Layout, Line, Point};

/// Sizes of a torus in the project's order of switches and ports; none if it is no torus of 2 or 3 dimensions.
pub fn sizes(network: &Network) -> Option<Vec<u32>> {
    let mut sizes = Vec::new();
    let mut stride = 1;
    while stride < network.switch_count() {
        let port = 2 * sizes.len() as u16 + 1;
        let next = |s: SwitchId| network.links(s).iter().find(|l| l.port == port);
        let (mut at, mut size) = (0, 1);
        // A dimension of two has one cable only, which does not lead back.
        while let Some(link) = next(at).filter(|l| l.peer == at + stride) {
            at = link.peer;
            size += 1;
        }
        if size == 1 {
            return None;
        }
        sizes.push(size);
        stride = stride.checked_mul(size)?;
    }
    let fits = stride == network.switch_count() && (2..=3).contains(&sizes.len());
    let cables = network.cables().iter();
    let neighbours = |[(a, _), (b, _)]: [(u32, u16); 2]| apart(&sizes, a, b).is_some();
    (fits && cables.map(|c| c.ends).all(neighbours)).then_some(sizes)
}

/// Dimension in which two switches are neighbours, and whether by the way round.
fn apart(sizes: &[u32], a: SwitchId, b: SwitchId) -> Option<(usize, bool)> {
    let mut found = None;
    let mut stride = 1;
    for (dimension, &size) in sizes.iter().enumerate() {
        let (from, to) = (a / stride % size, b / stride % size);
        stride *= size;
        let distance = from.abs_diff(to);
        if distance == 0 {
            continue;
        }
        if found.is_some() || (distance != 1 && distance + 1 != size) {
            return None;
        }
        found = Some((dimension, distance != 1));
    }
    found
}

pub fn layout(network: &Network, sizes: &[u32], width: f64) -> Layout {
    let [columns, rows] = [sizes[0], sizes[1]].map(f64::from);
    let layers = sizes.get(2).map_or(1.0, |&z| f64::from(z));
    // All layers of a place fit into its cell, so that nothing lies on anything else.
    let cell_x = width / (columns + 0.5);
    let cell_y = cell_x.min(520.0 / rows).clamp(16.0, 110.0);
    let slant = (cell_x * 0.72 / layers, cell_y * 0.6 / layers);
    let step = [(cell_x, 0.0), (0.0, cell_y), (slant.0, -slant.1)];
    let height = cell_y * (rows + 0.5);
    let place = |s: SwitchId| -> Point {
        let mut stride = 1;
        let mut at = (cell_x * 0.45, cell_y * 0.95);
        for (&size, (dx, dy)) in sizes.iter().zip(step) {
            let index = f64::from(s / stride % size);
            at = (at.0 + index * dx, at.1 + index * dy);
            stride *= size;
        }
        at
    };
    let line = |c: &tributary_fabric::network::Cable| {
        let [(a, _), (b, _)] = c.ends;
        let (from, to) = (place(a), place(b));
        match apart(sizes, a, b) {
            Some((dimension, true)) => {
                let (dx, dy) = step[dimension];
                let out =
                    |(x, y): Point, way: f64| ((x, y), (x + way * dx * 0.3, y + way * dy * 0.3));
                // The lower index is at the low end.
                Line::Stubs([out(from, -1.0), out(to, 1.0)])
            }
            _ => Line::Straight(from, to),
        }
    };
    Layout {
        height,
        switches: (0..network.switch_count()).map(place).collect(),
        lines: network.cables().iter().map(line).collect(),
        labels: Vec::new(),
        dot: (slant.0.min(slant.1) * 0.3).clamp(1.2, 4.0),
    }
}
