//! A large network: a square for each switch, with the colour of its busiest cable. Rows by distance from endnodes, in
//! them a tile for each block (pod, supernode, dragonfly group, plane of a torus).

use std::collections::BTreeMap;
use std::fmt::Write;

use tributary_fabric::{Load, Network};

use super::layout::{grid_sizes, tier_name, tiers};
use super::scale::Scale;
use super::{Area, View};

/// Width of the names of the rows.
const LEFT: f64 = 62.0;
/// Largest square, and space between rows.
const SQUARE: f64 = 10.0;
const BETWEEN: f64 = 14.0;

pub struct Map {
    height: f64,
    square: f64,
    /// By switch: its corner.
    at: Vec<(f64, f64)>,
    /// Names of the rows, with their place.
    rows: Vec<(f64, String)>,
}

/// Switches of a tile, in lines of so many.
struct Tile {
    switches: Vec<u32>,
    columns: usize,
}

impl Tile {
    fn lines(&self) -> usize {
        self.switches.len().div_ceil(self.columns)
    }
}

impl Map {
    pub fn new(network: &Network, width: f64) -> Self {
        let tier = tiers(network);
        let left = if tier.is_some() { LEFT } else { 0.0 };
        let rows = rows(network, tier.as_deref());
        let mut square = SQUARE;
        // The largest squares with which the whole is no higher than wide.
        let (at, height, starts) = loop {
            let (at, height, starts) = place(&rows, network.switches().len(), left, width, square);
            if height <= width || square < 1.5 {
                break (at, height, starts);
            }
            square *= 0.93;
        };
        let last = rows.len() as u32 - 1;
        let name = |(index, y): (usize, f64)| (y, tier_name(last - index as u32, last));
        let named = starts.into_iter().enumerate().map(name);
        Self {
            height: height + 8.0,
            square,
            at,
            rows: if tier.is_some() {
                named.collect()
            } else {
                Vec::new()
            },
        }
    }
}

/// The rows from the top, each of tiles.
fn rows(network: &Network, tier: Option<&[u32]>) -> Vec<Vec<Tile>> {
    let blocks = network.blocks();
    let torus = grid_sizes(network);
    let last = tier.and_then(|t| t.iter().max()).copied().unwrap_or(0);
    let mut rows: Vec<BTreeMap<u32, Vec<u32>>> = (0..=last).map(|_| BTreeMap::new()).collect();
    let mut shared = BTreeMap::<u32, usize>::new();
    for &block in blocks {
        *shared.entry(block).or_default() += 1;
    }
    for switch in 0..network.switch_count() {
        let row = last - tier.map_or(0, |t| t[switch as usize]);
        let block = blocks[switch as usize];
        let tile = match &torus {
            Some(sizes) => switch / (sizes[0] * sizes[1]),
            // Switches of their own are one tile together.
            None if shared.get(&block) == Some(&1) => u32::MAX,
            None => block,
        };
        rows[row as usize].entry(tile).or_default().push(switch);
    }
    let tile = |switches: Vec<u32>| {
        let near_square = (switches.len() as f64).sqrt().ceil() as usize;
        let columns = match &torus {
            Some(sizes) => sizes[0] as usize,
            None if switches.len() > 200 => switches.len().div_ceil(8),
            None => near_square,
        };
        Tile {
            switches,
            columns: columns.max(1),
        }
    };
    rows.into_iter()
        .map(|row| row.into_values().map(tile).collect())
        .collect()
}

/// Corners of all squares, the height of it all and where the rows begin.
fn place(
    rows: &[Vec<Tile>],
    switches: usize,
    left: f64,
    width: f64,
    square: f64,
) -> (Vec<(f64, f64)>, f64, Vec<f64>) {
    let gap = square * 0.8;
    let mut at = vec![(0.0, 0.0); switches];
    let mut starts = Vec::new();
    let mut y = 0.0;
    for row in rows {
        starts.push(y);
        let (mut x, mut lowest) = (left, y);
        for tile in row {
            // A tile wider than the row is folded.
            let fit = (((width - left) / square) as usize).max(1);
            let folded = Tile {
                switches: tile.switches.clone(),
                columns: tile.columns.min(fit),
            };
            let wide = folded.columns as f64 * square;
            if x > left && x + wide > width {
                (x, y) = (left, lowest + gap);
            }
            for (i, &switch) in folded.switches.iter().enumerate() {
                let (column, line) = (i % folded.columns, i / folded.columns);
                at[switch as usize] = (x + column as f64 * square, y + line as f64 * square);
            }
            lowest = lowest.max(y + folded.lines() as f64 * square);
            x += wide + gap;
        }
        y = lowest + BETWEEN;
    }
    (at, y - BETWEEN, starts)
}

impl View for Map {
    fn height(&self) -> f64 {
        self.height
    }

    fn draw(&self, svg: &mut String, area: Area, network: &Network, load: &Load, scale: &Scale) {
        // One path for all squares of a colour: a third of the size of as many elements.
        let mut paths: BTreeMap<u32, String> = BTreeMap::new();
        for switch in 0..network.switch_count() {
            let cables = network.links(switch).iter();
            let busiest = cables.map(|link| load.of(link.cable)).max().unwrap_or(0);
            let (x, y) = self.at[switch as usize];
            let side = self.square * 0.88;
            let path = paths.entry(busiest).or_default();
            let _ = write!(path, "M{x:.1} {y:.1}h{side:.1}v{side:.1}h-{side:.1}z");
        }
        let _ = writeln!(
            svg,
            "<g transform=\"translate({:.1} {:.1})\">",
            area.x, area.y
        );
        for (busiest, path) in paths {
            let colour = scale.colour(busiest);
            let _ = writeln!(svg, "<path d=\"{path}\" fill=\"{colour}\"/>");
        }
        for (y, name) in &self.rows {
            let _ = writeln!(
                svg,
                "<text x=\"0\" y=\"{:.1}\" font-size=\"12\">{name}</text>",
                y + 11.0
            );
        }
        svg.push_str("</g>\n");
    }
}
