//! Members over steps: a box for each block that a member receives, with a line from the one that sends it.

use std::fmt::Write;

use super::schedule::Plan;

/// A drawing of more cells says nothing that an eye could read.
const CELLS_MAX: u64 = 20_000;
/// Width of a step and height of a member.
const STEP: u64 = 34;
const LANE: u64 = 26;
/// Names of the members; title and numbers of the steps.
const LEFT: u64 = 84;
const TOP: u64 = 62;
/// Width and height of a box.
const BOX: (u64, u64) = (22, 18);

/// The drawing, or why there is none.
pub fn drawing(plan: &Plan) -> Result<String, String> {
    let schedule = &plan.schedule;
    let (members, steps) = (u64::from(schedule.members()), schedule.total_steps());
    if members.saturating_mul(steps) > CELLS_MAX {
        return Err(format!(
            "--svg draws members times steps up to {CELLS_MAX}; these are {members} times {steps}"
        ));
    }
    let (width, height) = (LEFT + steps * STEP + 16, TOP + members * LANE + 12);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"DejaVu Sans,Arial,sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"14\">{}: {members} members, {} blocks, {steps} steps</text>\n\
         <text x=\"12\" y=\"{}\" fill=\"#666\">step</text>\n",
        schedule.algorithm(),
        schedule.blocks(),
        TOP - 10,
    );
    lanes(&mut svg, plan, steps);
    // Lines first, so that no box is crossed out.
    let mut boxes = String::new();
    for t in plan.transfers() {
        let (x, from, to) = (LEFT + t.step * STEP, middle(t.src), middle(t.dst));
        let right = x + STEP - BOX.0 - 2;
        let _ = writeln!(
            svg,
            "<path d=\"M{x} {from}L{right} {to}\" stroke=\"#9a9a9a\" stroke-width=\"1\" fill=\"none\"/>"
        );
        let _ = writeln!(
            boxes,
            "<rect x=\"{right}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\" fill=\"{}\" stroke=\"#555\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            to - BOX.1 / 2,
            BOX.0,
            BOX.1,
            colour(t.block, schedule.blocks()),
            right + BOX.0 / 2,
            to + 4,
            t.block
        );
    }
    svg.push_str(&boxes);
    svg.push_str("</svg>\n");
    Ok(svg)
}

fn middle(member: u32) -> u64 {
    TOP + u64::from(member) * LANE + LANE / 2
}

fn lanes(svg: &mut String, plan: &Plan, steps: u64) {
    let right = LEFT + steps * STEP;
    for member in 0..plan.schedule.members() {
        let y = middle(member);
        let name = match member {
            0 => "root 0".to_owned(),
            _ => format!("member {member}"),
        };
        let _ = writeln!(
            svg,
            "<text x=\"12\" y=\"{}\">{name}</text><path d=\"M{LEFT} {y}H{right}\" stroke=\"#e4e4e4\"/>",
            y + 4
        );
    }
    let bottom = TOP + u64::from(plan.schedule.members()) * LANE;
    for step in 0..=steps {
        let x = LEFT + step * STEP;
        let _ = writeln!(svg, "<path d=\"M{x} {TOP}V{bottom}\" stroke=\"#d0d0d0\"/>");
        if step < steps {
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666\">{step}</text>",
                x + STEP / 2,
                TOP - 10
            );
        }
    }
    // A line between racks.
    let mut first = 0;
    for size in plan.racks.iter().take(plan.racks.len().saturating_sub(1)) {
        first += u64::from(*size);
        let y = TOP + first * LANE;
        let _ = writeln!(
            svg,
            "<path d=\"M8 {y}H{right}\" stroke=\"#333\" stroke-dasharray=\"5 3\"/>"
        );
    }
}

/// Light colours around the circle, one for each block.
pub fn colour(block: u32, blocks: u32) -> String {
    let hue = u64::from(block) * 300 / u64::from(blocks);
    format!("hsl({hue},70%,82%)")
}
