//! A small network: switches as dots, cables as lines with the colour and width of their load.

use std::fmt::Write;

use tributary_fabric::{Load, Network};

use super::layout::{Layout, Line};
use super::scale::Scale;
use super::{Area, View};

pub struct Cables {
    layout: Layout,
}

impl Cables {
    pub fn new(network: &Network, width: f64) -> Self {
        Self {
            layout: Layout::new(network, width),
        }
    }
}

impl View for Cables {
    fn height(&self) -> f64 {
        self.layout.height
    }

    fn draw(&self, svg: &mut String, area: Area, network: &Network, load: &Load, scale: &Scale) {
        let _ = writeln!(
            svg,
            "<g transform=\"translate({:.1} {:.1})\" fill=\"none\" stroke-linecap=\"round\">",
            area.x, area.y
        );
        let mut order: Vec<u32> = (0..network.cables().len() as u32).collect();
        // What matters lies on top.
        order.sort_by_key(|&cable| (network.is_up(cable), load.of(cable)));
        for cable in order {
            let line = &self.layout.lines[cable as usize];
            let style = if network.is_up(cable) {
                let efi = load.of(cable);
                format!(
                    "stroke=\"{}\" stroke-width=\"{:.1}\"",
                    scale.colour(efi),
                    scale.width(efi)
                )
            } else {
                "stroke=\"#000\" stroke-width=\"1.5\" stroke-dasharray=\"2 4\"".to_owned()
            };
            let _ = writeln!(svg, "<path d=\"{}\" {style}/>", path(line));
        }
        svg.push_str("</g>\n");
        let _ = writeln!(
            svg,
            "<g transform=\"translate({:.1} {:.1})\" fill=\"#1e1e1e\">",
            area.x, area.y
        );
        for (x, y) in &self.layout.switches {
            let _ = write!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\"/>",
                self.layout.dot
            );
        }
        for label in &self.layout.labels {
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"12\" text-anchor=\"{}\">{}</text>",
                label.x, label.y, label.anchor, label.text
            );
        }
        svg.push_str("</g>\n");
    }
}

fn path(line: &Line) -> String {
    match line {
        Line::Straight((x1, y1), (x2, y2)) => format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}"),
        Line::Bent((x1, y1), (cx, cy), (x2, y2)) => {
            format!("M{x1:.1} {y1:.1}Q{cx:.1} {cy:.1} {x2:.1} {y2:.1}")
        }
        Line::Stubs([a, b]) => {
            let stub = |((x1, y1), (x2, y2)): &_| format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}");
            stub(a) + &stub(b)
        }
    }
}
