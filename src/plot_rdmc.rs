//! Block multicast beside other broadcasts as SVG: dark on white.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::bench::rdmc::Against;

/// Size of the drawing, pixels.
const SIZE: (u32, u32) = (1180, 540);
/// Height of title and legend, pixels.
const HEAD: u32 = 78;
const FONT: &str = "DejaVu Sans, Arial, sans-serif";
const INK: RGBColor = RGBColor(30, 30, 30);
const GRID: RGBColor = RGBColor(224, 224, 224);
/// One for each of [`WAYS`].
const COLOURS: [RGBColor; 4] = [
    RGBColor(15, 70, 170),
    RGBColor(125, 125, 125),
    RGBColor(196, 110, 10),
    RGBColor(20, 140, 100),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Points = Vec<(f64, f64)>;
/// A name, and the time of a row.
type Way = (&'static str, fn(&Against) -> Option<f64>);

const WAYS: [Way; 4] = [
    ("block multicast by cards", |row| Some(row.time_ns)),
    ("binomial tree", |row| row.binomial_tree_ns),
    ("scatter + ring", |row| row.scatter_ring_ns),
    ("scatter + doubling", |row| row.scatter_doubling_ns),
];

/// Bandwidth over group size at 256 blocks, time over message size at the size that most rows have.
pub fn broadcasts(rows: &[Against]) -> Result<String> {
    let middle = rows
        .iter()
        .map(|row| row.members)
        .max()
        .unwrap_or(64)
        .min(64);
    let lines = |of: &dyn Fn(&Against) -> bool, x: fn(&Against) -> f64, bandwidth: bool| {
        WAYS.map(|(_, time)| {
            let own = rows.iter().filter(|row| of(row));
            let mut points: Points = own
                .filter_map(|row| {
                    let ns = time(row)?;
                    let y = match bandwidth {
                        true => row.bytes as f64 * 8.0 / ns,
                        false => ns / 1e3,
                    };
                    Some((x(row).log2(), y))
                })
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        })
    };
    let by_size = lines(&|row| row.blocks == 256, |row| f64::from(row.members), true);
    let by_bytes = lines(
        &|row| row.members == middle,
        |row| row.bytes as f64 / 65_536.0,
        false,
    );
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        let (head, rest) = area.split_vertically(HEAD);
        legend(&head)?;
        let (left, right) = rest.split_horizontally(SIZE.0 / 2);
        panel(
            &left,
            ["members", "message of 16 MiB: Gb/s to every member"],
            0.0..100.0,
            &by_size,
        )?;
        let all = || by_bytes.iter().flatten().map(|(_, y)| *y);
        let (least, most) = (all().fold(1e9, f64::min), all().fold(1.0, f64::max));
        panel(
            &right,
            [
                "message, blocks of 64 KiB",
                &format!("{middle} members: microseconds until all have it"),
            ],
            (least * 0.7..most * 1.4).log_scale(),
            &by_bytes,
        )?;
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{error}")
}

fn legend(area: &Area<'_>) -> Result<()> {
    let title = (FONT, 18).into_font().color(&INK);
    let text = (FONT, 15).into_font().color(&INK);
    let what = "One message to all members, ports of 100 Gb/s, latency 5 % of a block's time; the others with their best segments";
    area.draw_text(what, &title, (70, 14)).map_err(failed)?;
    let mut x = 70;
    for ((name, _), colour) in WAYS.iter().zip(COLOURS) {
        let line = PathElement::new(vec![(x, 54), (x + 26, 54)], colour.stroke_width(3));
        area.draw(&line).map_err(failed)?;
        area.draw(&Circle::new((x + 13, 54), 5, colour.filled()))
            .map_err(failed)?;
        area.draw_text(name, &text, (x + 34, 46)).map_err(failed)?;
        x += 34 + 9 * name.len() as i32 + 24;
    }
    Ok(())
}

/// One diagram; its lines in the order of [`WAYS`].
fn panel<Y>(area: &Area<'_>, [x_name, y_name]: [&str; 2], y: Y, lines: &[Points]) -> Result<()>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let all = || lines.iter().flatten().map(|(x, _)| *x);
    let (first, last) = (
        all().fold(f64::INFINITY, f64::min),
        all().fold(1.0, f64::max),
    );
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .x_label_area_size(56)
        .y_label_area_size(76)
        .build_cartesian_2d(first.min(last) - 0.3..last + 0.3, y)
        .map_err(failed)?;
    let power = |x: &f64| match (x - x.round()).abs() < 1e-6 {
        true => format!("{}", x.round().exp2()),
        false => String::new(),
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style((FONT, 14).into_font().color(&INK))
        .axis_desc_style((FONT, 16).into_font().color(&INK))
        .x_labels(12)
        .x_label_formatter(&power)
        .y_label_formatter(&|y| format!("{y:.0}"))
        .x_desc(x_name)
        .y_desc(y_name)
        .draw()
        .map_err(failed)?;
    for (points, colour) in lines.iter().zip(COLOURS) {
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(3));
        chart.draw_series(line).map_err(failed)?;
        let marks = points
            .iter()
            .map(|point| Circle::new(*point, 4, colour.filled()));
        chart.draw_series(marks).map_err(failed)?;
    }
    Ok(())
}
