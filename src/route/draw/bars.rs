//! Histogram of the cables by load.

use std::fmt::Write;

use tributary_fabric::Load;

use super::Area;
use super::scale::Scale;

/// Most bars.
const BINS: u32 = 40;
/// Width of the numbers beside it, height of those below.
const LEFT: f64 = 62.0;
const BELOW: f64 = 40.0;

/// Draws it; the axes have room for all of `loads`.
pub fn draw(svg: &mut String, area: Area, load: &Load, loads: &[&Load], scale: &Scale) {
    // Idle cables have a bar of their own, the first.
    let step = scale.most().div_ceil(BINS).max(1);
    let bins = scale.most().div_ceil(step) as usize + 1;
    let first = |bin: usize| (bin as u32 * step + 1).saturating_sub(step);
    let count = |load: &Load| {
        let mut cables = vec![0usize; bins];
        for efi in load.efi() {
            cables[efi.div_ceil(step) as usize] += 1;
        }
        cables
    };
    let top = loads.iter().flat_map(|load| count(load)).max().unwrap_or(0);
    // A hundred thousand idle cables beside one overloaded: only logarithms show both.
    let share = |cables: usize| (1.0 + cables as f64).ln() / (1.0 + top as f64).ln().max(1e-9);
    let (left, right) = (area.x + LEFT, area.x + area.width);
    let (ceiling, floor) = (area.y + 14.0, area.y + area.height - BELOW);
    let each = (right - left) / bins as f64;
    let mut tick = 1;
    while tick <= top {
        let y = floor - (floor - ceiling) * share(tick);
        let _ = writeln!(
            svg,
            "<line x1=\"{left:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"#e6e6e6\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"end\">{tick}</text>",
            left - 5.0,
            y + 4.0
        );
        tick *= 10;
    }
    for (bin, cables) in count(load).into_iter().enumerate() {
        if cables > 0 {
            let height = (floor - ceiling) * share(cables);
            let last = bin as u32 * step;
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"{}\"/>",
                left + bin as f64 * each + each * 0.08,
                floor - height,
                each * 0.84,
                scale.colour(last.min(scale.most()))
            );
        }
    }
    let every = (bins as f64 * 30.0 / (right - left)).ceil().max(1.0) as usize;
    for bin in (0..bins).step_by(every) {
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"middle\">{}</text>",
            left + (bin as f64 + 0.5) * each,
            floor + 14.0,
            if bin == 0 { 0 } else { first(bin) }
        );
    }
    let groups = if step == 1 {
        "groups on a cable".to_owned()
    } else {
        format!("groups on a cable, steps of {step}")
    };
    let _ = writeln!(
        svg,
        "<line x1=\"{left:.1}\" y1=\"{floor:.1}\" x2=\"{right:.1}\" y2=\"{floor:.1}\" stroke=\"#888\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"12\" text-anchor=\"middle\">{groups}</text>\
         <text transform=\"translate({:.1} {:.1}) rotate(-90)\" font-size=\"12\" text-anchor=\"middle\">cables</text>",
        (left + right) / 2.0,
        floor + 32.0,
        area.x + 12.0,
        (ceiling + floor) / 2.0
    );
}
