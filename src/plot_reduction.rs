//! Reductions over the number of endpoints as SVG: dark on white.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use crate::bench::reduction::{COSTS, Row};

/// Size of the drawing, pixels.
const SIZE: (u32, u32) = (1180, 540);
/// Height of title and legend, pixels.
const HEAD: u32 = 78;
const FONT: &str = "DejaVu Sans, Arial, sans-serif";
const INK: RGBColor = RGBColor(30, 30, 30);
const GRID: RGBColor = RGBColor(224, 224, 224);
/// Bare frames, switches, doubling at each cost.
const COLOURS: [RGBColor; 5] = [
    RGBColor(125, 125, 125),
    RGBColor(15, 70, 170),
    RGBColor(20, 140, 100),
    RGBColor(196, 110, 10),
    RGBColor(150, 40, 110),
];

type Points = Vec<(f64, f64)>;

/// Times and speed-ups of the fabrics with full bisection and the longest cables, by number of endpoints.
pub fn speedups(rows: &[Row]) -> Result<String> {
    let longest = rows.iter().map(|row| row.link_clocks).max().unwrap_or(0);
    let mut rows: Vec<&Row> = rows
        .iter()
        .filter(|row| row.full_bisection && row.link_clocks == longest)
        .collect();
    // Of several shapes of a size, the fastest.
    rows.sort_by_key(|row| (row.endpoints, row.allreduce_clocks));
    rows.dedup_by_key(|row| row.endpoints);
    let figure = |of: &dyn Fn(&Row) -> f64| -> Points {
        rows.iter()
            .map(|row| ((row.endpoints as f64).log2(), of(row)))
            .collect()
    };
    let mut times = vec![
        figure(&|r| r.bare_clocks as f64),
        figure(&|r| r.allreduce_clocks as f64),
    ];
    let mut ratios = vec![Vec::new(), Vec::new()];
    for cost in 0..COSTS.len() {
        times.push(figure(&|r| r.comparisons[cost].doubling_clocks as f64));
        ratios.push(figure(&|r| r.comparisons[cost].speedup));
    }
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        let (head, rest) = area.split_vertically(HEAD);
        legend(&head, longest)?;
        let (left, right) = rest.split_horizontally(SIZE.0 / 2);
        let top = times.iter().flatten().map(|(_, y)| *y).fold(1.0, f64::max);
        panel(
            &left,
            "clocks until every endpoint has the sum",
            (100.0..top * 1.5).log_scale(),
            &times,
        )?;
        let top = ratios.iter().flatten().map(|(_, y)| *y).fold(1.0, f64::max);
        panel(
            &right,
            "doubling over switches, hosts paying the same for both",
            0.0..top * 1.1,
            &ratios,
        )?;
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{error}")
}

fn legend(area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>, latency: u64) -> Result<()> {
    let title = (FONT, 18).into_font().color(&INK);
    let text = (FONT, 15).into_font().color(&INK);
    let what = format!("All-reduce of 8 bytes, fat trees, cables of {latency} clocks of 6.4 ns");
    area.draw_text(&what, &title, (70, 14)).map_err(failed)?;
    let mut names = vec![
        "one frame up, one down".to_owned(),
        "in the switches".to_owned(),
    ];
    names.extend(COSTS.map(|cost| format!("doubling, {cost} a frame")));
    let mut x = 70;
    for (name, colour) in names.iter().zip(COLOURS) {
        let line = PathElement::new(vec![(x, 54), (x + 26, 54)], colour.stroke_width(3));
        area.draw(&line).map_err(failed)?;
        area.draw(&Circle::new((x + 13, 54), 5, colour.filled()))
            .map_err(failed)?;
        area.draw_text(name, &text, (x + 34, 46)).map_err(failed)?;
        x += 34 + 9 * name.len() as i32 + 18;
    }
    Ok(())
}

/// One diagram; its lines in the order of [`COLOURS`].
fn panel<Y>(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    name: &str,
    y: Y,
    lines: &[Points],
) -> Result<()>
where
    Y: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
{
    let ends = |pick: fn(f64, f64) -> f64, start| {
        lines.iter().flatten().map(|(x, _)| *x).fold(start, pick)
    };
    let (first, last) = (ends(f64::min, 4.0), ends(f64::max, 4.0));
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .x_label_area_size(56)
        .y_label_area_size(76)
        .build_cartesian_2d(first - 0.3..last + 0.3, y)
        .map_err(failed)?;
    let endpoints = |x: &f64| {
        if (x - x.round()).abs() < 1e-6 {
            format!("{}", x.round().exp2())
        } else {
            String::new()
        }
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style((FONT, 14).into_font().color(&INK))
        .axis_desc_style((FONT, 16).into_font().color(&INK))
        .x_labels(10)
        .x_label_formatter(&endpoints)
        .y_label_formatter(&|y| {
            if *y >= 100.0 {
                format!("{y:.0}")
            } else {
                format!("{y:.1}")
            }
        })
        .x_desc("endpoints")
        .y_desc(name)
        .draw()
        .map_err(failed)?;
    for (points, colour) in lines.iter().zip(COLOURS) {
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(3));
        chart.draw_series(line).map_err(failed)?;
        let marks = points
            .iter()
            .map(|point| Circle::new(*point, 5, colour.filled()));
        chart.draw_series(marks).map_err(failed)?;
    }
    Ok(())
}
