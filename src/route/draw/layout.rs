//! Where switches and cables of a small network are drawn.

mod circle;
mod grid;
mod tiers;

use tributary_fabric::Network;

pub use grid::sizes as grid_sizes;
pub use tiers::{name as tier_name, tiers};

pub type Point = (f64, f64);

/// A cable.
pub enum Line {
    Straight(Point, Point),
    /// Drawn towards the second point.
    Bent(Point, Point, Point),
    /// The way round a torus: a piece at each end.
    Stubs([(Point, Point); 2]),
}

pub struct Label {
    pub x: f64,
    pub y: f64,
    pub anchor: &'static str,
    pub text: String,
}

/// A drawing of a network, from (0, 0) on.
pub struct Layout {
    pub height: f64,
    /// By switch.
    pub switches: Vec<Point>,
    /// By cable.
    pub lines: Vec<Line>,
    pub labels: Vec<Label>,
    /// Radius of a switch.
    pub dot: f64,
}

impl Layout {
    /// In tiers if some switches have no endnodes, as a grid if it is a torus, else on a circle.
    pub fn new(network: &Network, width: f64) -> Self {
        if let Some(tiers) = tiers(network) {
            return tiers::layout(network, &tiers, width);
        }
        if let Some(sizes) = grid::sizes(network) {
            return grid::layout(network, &sizes, width);
        }
        circle::layout(network, width)
    }
}
