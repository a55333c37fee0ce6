//! The drawing: a panel for each router, the same colours in all of them.
//!
//! Small networks are drawn with their cables; of large ones every switch is a square with the colour of its busiest
//! cable. With each goes a histogram of the cables by load.

mod bars;
mod cables;
mod layout;
mod map;
mod scale;

use std::fmt::Write;

use tributary_fabric::{Load, Network};

use super::Facts;
use crate::report::escape;
use scale::Scale;

/// More is drawn as squares.
const SWITCHES_MAX: u32 = 320;
const CABLES_MAX: usize = 1600;
/// Size of a panel, and space around it.
const WIDTH: f64 = 560.0;
const GAP: f64 = 30.0;
/// Height of title and legend.
const HEAD: f64 = 92.0;
/// Height of a panel's title.
const TITLE: f64 = 34.0;
/// Height of a histogram.
const BARS: f64 = 130.0;
const FONT: &str = "DejaVu Sans,Arial,sans-serif";

/// What a router has made.
pub struct Panel {
    pub name: String,
    pub load: Load,
    /// The network with its failed cables, if it is another one.
    pub network: Option<Network>,
}

/// Where something is drawn.
#[derive(Clone, Copy)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// The whole drawing, an `<svg>` element.
pub fn drawing(network: &Network, facts: &Facts, panels: &[Panel]) -> String {
    let most = panels.iter().map(|p| p.load.max()).max().unwrap_or(0);
    let scale = Scale::new(facts.lower_bound_efi, most);
    let small = network.switch_count() <= SWITCHES_MAX && network.cables().len() <= CABLES_MAX;
    let view: Box<dyn View> = if small {
        Box::new(cables::Cables::new(network, WIDTH))
    } else {
        Box::new(map::Map::new(network, WIDTH))
    };
    let columns = panels.len().clamp(1, 2);
    let rows = panels.len().div_ceil(columns);
    let each = match panels {
        [_] => TITLE + view.height().max(2.0 * BARS) + GAP,
        _ => TITLE + view.height() + BARS + GAP,
    };
    let width = GAP + columns.max(2) as f64 * (WIDTH + GAP);
    let height = HEAD + rows as f64 * each;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"{FONT}\" font-size=\"13\" role=\"img\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let what = match (small, panels.iter().any(|p| p.network.is_some())) {
        (true, false) => "cable: groups on it",
        (true, true) => "cable: groups on it; dotted: failed",
        (false, _) => "square: a switch, by groups on its busiest cable",
    };
    head(&mut svg, facts, &scale, what, width);
    for (index, panel) in panels.iter().enumerate() {
        let area = Area {
            x: GAP + (index % columns) as f64 * (WIDTH + GAP),
            y: HEAD + (index / columns) as f64 * each,
            width: WIDTH,
            height: view.height(),
        };
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" font-size=\"15\"><tspan font-weight=\"bold\">{}</tspan>: busiest cable {} groups, mean {:.1}</text>",
            area.x,
            area.y + 18.0,
            escape(&panel.name),
            panel.load.max(),
            panel.load.mean()
        );
        let inner = Area {
            y: area.y + TITLE,
            ..area
        };
        let network = panel.network.as_ref().unwrap_or(network);
        view.draw(&mut svg, inner, network, &panel.load, &scale);
        // Under the drawing, or beside a single one.
        let (x, y, height) = match panels {
            [_] => (inner.x + WIDTH + GAP, inner.y, 2.0 * BARS),
            _ => (inner.x, inner.y + inner.height, BARS),
        };
        let place = Area {
            x,
            y,
            height,
            ..inner
        };
        let loads: Vec<&Load> = panels.iter().map(|p| &p.load).collect();
        bars::draw(&mut svg, place, &panel.load, &loads, &scale);
    }
    svg.push_str("</svg>\n");
    svg
}

/// A way to show the load of a network.
trait View {
    /// Height of its drawing.
    fn height(&self) -> f64;
    /// Draws the load.
    fn draw(&self, svg: &mut String, area: Area, network: &Network, load: &Load, scale: &Scale);
}

fn head(svg: &mut String, facts: &Facts, scale: &Scale, what: &str, width: f64) {
    let processes = facts.processes();
    let pattern = facts.pattern.rsplit('/').next().unwrap_or_default();
    let _ = writeln!(
        svg,
        "<text x=\"{GAP}\" y=\"30\" font-size=\"18\">{} multicast groups ({}{processes}) on {}: {} switches, {} cables</text>",
        facts.groups,
        escape(pattern),
        escape(&facts.network),
        facts.switches,
        facts.cables
    );
    scale.legend(svg, GAP, 52.0, what, width - 2.0 * GAP);
}
