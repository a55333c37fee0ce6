//! Where a round's time goes: in the switches, level by level below the root.

use std::collections::BTreeMap;

use tributary_sim::fabric::{Fate, Place};

use super::Run;

/// Smallest and largest of some clocks.
#[derive(Clone, Copy)]
pub struct Range {
    pub least: u64,
    pub most: u64,
}

impl Range {
    fn with(range: Option<Self>, clocks: u64) -> Self {
        let Self { least, most } = range.unwrap_or(Self {
            least: clocks,
            most: clocks,
        });
        Self {
            least: least.min(clocks),
            most: most.max(clocks),
        }
    }
}

/// The switches of a level.
#[derive(Default)]
pub struct Level {
    pub names: Vec<String>,
    /// From the last word of the last frame from below to the first word of the result.
    pub up: Option<Range>,
    /// From the last word of a frame from above to the first word of a copy.
    pub down: Option<Range>,
}

/// Switches between the root and each switch of the tree.
pub fn depths(run: &Run) -> BTreeMap<usize, usize> {
    let fabric = run.sim.fabric();
    let mut depths = BTreeMap::new();
    let (Some(entries), Some(tree)) = (run.sim.trees().first(), fabric.trees.first()) else {
        return depths;
    };
    let mut open = vec![(Place::Endpoint(tree.root), 0)];
    while let Some((place, depth)) = open.pop() {
        let Some(Place::Switch(switch, _)) = run.sim.cabling().peer(place) else {
            continue;
        };
        let Some(entry) = entries.get(&switch) else {
            continue;
        };
        depths.insert(switch, depth);
        let children = (0..64u8).filter(|p| entry.children >> p & 1 == 1);
        open.extend(children.map(|p| (Place::Switch(switch, p), depth + 1)));
    }
    depths
}

/// By depth.
pub fn levels(run: &Run) -> BTreeMap<usize, Level> {
    let fabric = run.sim.fabric();
    let mut levels: BTreeMap<usize, Level> = BTreeMap::new();
    for (switch, depth) in depths(run) {
        let level = levels.entry(depth).or_default();
        level.names.push(fabric.switches[switch].name.clone());
        let Some(entry) = run
            .sim
            .trees()
            .first()
            .and_then(|entries| entries.get(&switch))
        else {
            continue;
        };
        // Clocks of the last words in, from above and from below.
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for frame in run.frames().filter(|f| f.fate == Fate::Whole) {
            match fabric.cables[frame.cable].ends[1 - frame.from] {
                Place::Switch(s, port) if s == switch && port == entry.parent => {
                    above.push(frame.end)
                }
                Place::Switch(s, _) if s == switch => below.push(frame.end),
                _ => {}
            }
        }
        for frame in run.frames() {
            let Place::Switch(s, port) = fabric.cables[frame.cable].ends[frame.from] else {
                continue;
            };
            if s != switch {
                continue;
            }
            let (sources, range) = if port == entry.parent {
                (&below, &mut level.up)
            } else {
                (&above, &mut level.down)
            };
            if let Some(last) = sources.iter().filter(|end| **end < frame.start).max() {
                *range = Some(Range::with(*range, frame.start - last));
            }
        }
    }
    levels
}
