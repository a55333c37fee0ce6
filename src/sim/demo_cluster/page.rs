//! The page of a run: nothing loaded from elsewhere.

use std::fmt::Write;

use tributary_sim::fabric::{Fabric, Place};

use super::Summary;
use crate::report::escape;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;color:#1e1e1e;background:#fff;max-width:1140px;margin:2em auto;padding:0 1em}
svg{width:100%;height:auto;font:11px 'DejaVu Sans',sans-serif;text-anchor:middle}
table{border-collapse:collapse}td,th{padding:.25em .9em;border-bottom:1px solid #ddd;text-align:left}
.cable{stroke:#999;stroke-width:1.5}.cut{stroke:#d00;stroke-width:2;stroke-dasharray:5 4}
.switch{fill:#dde8f8;stroke:#0f46aa}.host{fill:#f3f3f3;stroke:#888}";

/// Where things are drawn: switches without hosts above, those with hosts below, hosts at the bottom.
fn place(fabric: &Fabric, place: Place) -> (f64, f64) {
    let hosts = fabric.endpoints.len().max(1) as f64;
    let home = |s: usize| {
        let at = fabric.cables.iter().filter_map(move |c| match c.ends {
            [Place::Endpoint(e), Place::Switch(t, _)]
            | [Place::Switch(t, _), Place::Endpoint(e)]
                if t == s =>
            {
                Some(e as f64)
            }
            _ => None,
        });
        at.collect::<Vec<f64>>()
    };
    let x = |e: f64| 40.0 + (e + 0.5) * 1020.0 / hosts;
    match place {
        Place::Endpoint(e) => (x(e as f64), 260.0),
        Place::Switch(s, _) => {
            let below = home(s);
            if below.is_empty() {
                let above: Vec<usize> = (0..fabric.switches.len())
                    .filter(|&s| home(s).is_empty())
                    .collect();
                let at = above.iter().position(|&a| a == s).unwrap_or(0) as f64;
                (40.0 + (at + 0.5) * 1020.0 / above.len() as f64, 40.0)
            } else {
                (x(below.iter().sum::<f64>() / below.len() as f64), 150.0)
            }
        }
    }
}

fn drawing(fabric: &Fabric, cut: usize) -> String {
    let mut svg = String::from("<svg viewBox=\"0 0 1100 300\">");
    for (i, cable) in fabric.cables.iter().enumerate() {
        let [(x1, y1), (x2, y2)] = cable.ends.map(|end| place(fabric, end));
        let class = if i == cut { "cut" } else { "cable" };
        let _ = write!(
            svg,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1}\" x2=\"{x2:.1}\" y2=\"{y2}\"/>"
        );
    }
    let switches = (0..fabric.switches.len()).map(|s| (Place::Switch(s, 0), "switch"));
    let hosts = (0..fabric.endpoints.len()).map(|e| (Place::Endpoint(e), "host"));
    for (what, class) in switches.chain(hosts) {
        let (x, y) = place(fabric, what);
        let name = match what {
            Place::Switch(s, _) => &fabric.switches[s].name,
            Place::Endpoint(e) => &fabric.endpoints[e].name,
        };
        let (left, top, below) = (x - 26.0, y - 14.0, y + 4.0);
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top}\" width=\"52\" height=\"28\" rx=\"4\"/>\
             <text x=\"{x:.1}\" y=\"{below}\">{}</text>",
            escape(name)
        );
    }
    svg.push_str("</svg>");
    svg
}

/// The page.
pub fn page(fabric: &Fabric, cut: usize, summary: &Summary) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>A cluster</title><style>{STYLE}</style></head><body>\n\
         <h1>{} hosts on {} switches</h1>\n<p>Cards and switches: {}. Seed {}. The dashed cable, {}, fails while every host sends to every other. \
         The manager then writes {} entries of unicast tables and {} trees; {:.1} µs later everything is delivered. \
         {} frames crossed cables, {} found no route.</p>\n{}\n\
         <table><tr><th>part</th><th>verdict</th><th>simulated time, µs</th><th></th></tr>\n",
        summary.hosts,
        summary.switches,
        summary.kinds(),
        summary.seed,
        escape(&summary.cut_cable),
        summary.unicast_entries_mended,
        summary.trees_mended,
        summary.exchange_after_mend_us,
        summary.frames_on_cables,
        summary.frames_without_route,
        drawing(fabric, cut)
    );
    for part in &summary.parts {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{:.1}</td><td>{}</td></tr>",
            escape(part.name),
            if part.good { "good" } else { "wrong" },
            part.time_us,
            escape(&part.text)
        );
    }
    page.push_str("</table>\n</body></html>\n");
    page
}
