//! A run: members over time, a box for each block that a member takes, with a line from the one that sends it.

use std::fmt::Write;

use tributary_sim::multicast::{Plan, Report, Time};

use super::ns;
use crate::rdmc::colour;

/// More boxes say nothing that an eye could read.
const BOXES_MAX: usize = 20_000;
/// Width of the time axis, height of a member, names and title.
const WIDTH: f64 = 1_000.0;
const LANE: f64 = 26.0;
const LEFT: f64 = 92.0;
const TOP: f64 = 62.0;

/// The drawing, or why there is none.
pub fn drawing(plan: &Plan, report: &Report) -> Result<String, String> {
    if report.moved.len() > BOXES_MAX {
        return Err(format!(
            "--svg draws up to {BOXES_MAX} blocks; these are {}",
            report.moved.len()
        ));
    }
    let config = &plan.groups[0].config;
    let members = config.members;
    let end = report.end.max(1);
    let x = |time: Time| LEFT + time as f64 / end as f64 * WIDTH;
    let y = |rank: u32| TOP + f64::from(rank) * LANE + LANE / 2.0;
    let (width, height) = (LEFT + WIDTH + 24.0, TOP + f64::from(members) * LANE + 34.0);
    let blocks = config.blocks(plan.groups[0].messages[0].1).unwrap_or(1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"DejaVu Sans,Arial,sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"14\">{}: {members} members, {blocks} blocks of {} bytes</text>\n\
         <text x=\"12\" y=\"42\" fill=\"#666\">a box: a member takes this block; grey line: from whom{}</text>\n",
        config.algorithm,
        config.block_bytes,
        match plan.faults.is_empty() {
            true => "",
            false => "; red cross: dies; red ring: knows of a failure",
        }
    );
    for rank in 0..members {
        let name = match rank {
            0 => "root 0".to_owned(),
            _ => format!("member {rank}"),
        };
        let _ = writeln!(
            svg,
            "<text x=\"12\" y=\"{:.1}\">{name}</text><path d=\"M{LEFT} {:.1}H{:.1}\" stroke=\"#e4e4e4\"/>",
            y(rank) + 4.0,
            y(rank),
            LEFT + WIDTH
        );
    }
    axis(&mut svg, end, TOP + f64::from(members) * LANE);
    let mut boxes = String::new();
    for moved in &report.moved {
        let (left, right) = (x(moved.start + plan.latency), x(moved.end));
        let _ = writeln!(
            svg,
            "<path d=\"M{:.1} {:.1}L{left:.1} {:.1}\" stroke=\"#9a9a9a\" fill=\"none\"/>",
            x(moved.start),
            y(moved.from),
            y(moved.to)
        );
        let _ = write!(
            boxes,
            "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"18\" rx=\"2\" fill=\"{}\" stroke=\"#555\" stroke-width=\".6\"/>",
            y(moved.to) - 9.0,
            (right - left).max(0.5),
            colour(moved.block, blocks),
        );
        if right - left > 12.0 {
            let _ = write!(
                boxes,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                (left + right) / 2.0,
                y(moved.to) + 4.0,
                moved.block
            );
        }
        boxes.push('\n');
    }
    svg.push_str(&boxes);
    for (rank, member) in (0..).zip(&report.groups[0].members) {
        if let Some(at) = member.died {
            let (x, y) = (x(at), y(rank));
            let _ = writeln!(
                svg,
                "<path d=\"M{:.1} {:.1}l12 12m0 -12l-12 12\" stroke=\"#c00\" stroke-width=\"3\"/>",
                x - 6.0,
                y - 6.0
            );
        } else if let Some((at, ..)) = member.failed {
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\" fill=\"#fff\" stroke=\"#c00\" stroke-width=\"2\"/>",
                x(at),
                y(rank)
            );
        }
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// Five to ten marks at round times.
fn axis(svg: &mut String, end: Time, bottom: f64) {
    let end_us = ns(end) / 1e3;
    let mut step = 10f64.powf((end_us / 5.0).log10().floor());
    for factor in [2.0, 2.5, 2.0] {
        if end_us / step > 10.0 {
            step *= factor;
        }
    }
    let mut at = 0.0;
    while at <= end_us {
        let x = LEFT + at / end_us * WIDTH;
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#ececec\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666\">{}</text>",
            bottom + 16.0,
            Trim(at)
        );
        at += step;
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"end\" fill=\"#666\">microseconds</text>",
        LEFT + WIDTH,
        bottom + 30.0
    );
}

/// A number without zeros at its end.
struct Trim(f64);

impl std::fmt::Display for Trim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{:.4}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}
