//! Figures as SVG: dark on white.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::bench::rw::{LOSSES, Row, WAYS};

/// Size of the drawing, pixels.
const SIZE: (u32, u32) = (1180, 540);
/// Height of title and legend, pixels.
const HEAD: u32 = 78;
const FONT: &str = "DejaVu Sans, Arial, sans-serif";
const INK: RGBColor = RGBColor(30, 30, 30);
const GRID: RGBColor = RGBColor(224, 224, 224);
/// One per row of [`WAYS`].
const COLOURS: [RGBColor; 5] = [
    RGBColor(125, 125, 125),
    RGBColor(196, 110, 10),
    RGBColor(150, 40, 110),
    RGBColor(20, 140, 100),
    RGBColor(15, 70, 170),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Which figure of a row a panel shows.
type Figure = fn(&Row) -> Option<f64>;

/// Goodput and packets sent over loss: ours, and the reference figures beside them.
pub fn goodput(rows: &[Row]) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        let (head, rest) = area.split_vertically(HEAD);
        legend(&head)?;
        let (left, right) = rest.split_horizontally(SIZE.0 / 2);
        panel(
            &left,
            rows,
            "goodput (share of the line rate)",
            0.0..1.0,
            [|row| row.goodput, |row| row.reference_goodput],
        )?;
        let sent: [Figure; 2] = [
            |row| row.packets_per_useful,
            |row| row.reference_packets_per_useful,
        ];
        panel(
            &right,
            rows,
            "DATA packets sent per useful packet",
            (0.95..30.0).log_scale(),
            sent,
        )?;
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{error}")
}

/// Title, and a line for each way to send.
fn legend(area: &Area<'_>) -> Result<()> {
    let title = (FONT, 18).into_font().color(&INK);
    let text = (FONT, 15).into_font().color(&INK);
    let what = "One transfer of 2,048 packets, round trip 128 slots, packets overtake each other by up to 32 slots";
    area.draw_text(what, &title, (70, 14)).map_err(failed)?;
    let mut x = 70;
    for (way, colour) in WAYS.iter().zip(COLOURS) {
        area.draw(&PathElement::new(
            vec![(x, 54), (x + 26, 54)],
            colour.stroke_width(3),
        ))
        .map_err(failed)?;
        area.draw(&Circle::new((x + 13, 54), 5, colour.filled()))
            .map_err(failed)?;
        area.draw_text(way.name, &text, (x + 34, 46))
            .map_err(failed)?;
        x += 34 + 9 * way.name.len() as i32 + 28;
    }
    area.draw(&Circle::new((x + 13, 54), 6, INK.stroke_width(2)))
        .map_err(failed)?;
    area.draw_text(
        "hollow: reference; no mark: no transfer ended",
        &text,
        (x + 28, 46),
    )
    .map_err(failed)
}

/// One diagram. Losses stand side by side at equal distances, from 0 on the left.
fn panel<Y>(
    area: &Area<'_>,
    rows: &[Row],
    name: &str,
    y: Y,
    [ours, reference]: [Figure; 2],
) -> Result<()>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let last = (LOSSES.len() - 1) as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .x_label_area_size(56)
        .y_label_area_size(66)
        .build_cartesian_2d(-0.2..last + 0.2, y)
        .map_err(failed)?;
    let label = (FONT, 14).into_font().color(&INK);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .y_max_light_lines(1)
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style(label.clone())
        .axis_desc_style((FONT, 16).into_font().color(&INK))
        .x_labels(LOSSES.len())
        .x_label_formatter(&|x| tick(*x))
        .y_label_formatter(&|y| number(*y))
        .x_desc("packets lost on the link (probability)")
        .y_desc(name)
        .draw()
        .map_err(failed)?;
    for (index, colour) in COLOURS.iter().enumerate() {
        let own: Vec<&Row> = rows
            .iter()
            .skip(index * LOSSES.len())
            .take(LOSSES.len())
            .collect();
        let points = |figure: Figure| {
            own.iter()
                .enumerate()
                .filter_map(move |(x, row)| Some((x as f64, figure(row)?)))
                .collect::<Vec<_>>()
        };
        // Lines that lie on each other: the earlier one is wider and shows on both sides.
        let width = if index == 3 { 8 } else { 3 };
        chart
            .draw_series(LineSeries::new(points(ours), colour.stroke_width(width)))
            .map_err(failed)?;
        chart
            .draw_series(
                points(ours)
                    .into_iter()
                    .map(|point| Circle::new(point, 5, colour.filled())),
            )
            .map_err(failed)?;
        let hollow = points(reference)
            .into_iter()
            .map(|point| Circle::new(point, 7, colour.stroke_width(2)));
        chart.draw_series(hollow).map_err(failed)?;
    }
    Ok(())
}

/// A number on the vertical axis: tenths below 1, then 1, 2 and 5 of each decade.
fn number(y: f64) -> String {
    let digits = if y < 0.95 { 1 } else { 0 };
    let text = format!("{y:.digits$}");
    if digits == 1
        || matches!(text.as_bytes(), [b'1' | b'2' | b'5', zeros @ ..] if zeros.iter().all(|zero| *zero == b'0'))
    {
        text
    } else {
        String::new()
    }
}

/// The loss that stands at `x`.
fn tick(x: f64) -> String {
    let near = x.round();
    let loss = if (x - near).abs() < 1e-6 && near >= 0.0 {
        LOSSES.get(near as usize)
    } else {
        None
    };
    loss.map_or_else(String::new, |loss| {
        if *loss == 0.0 {
            "0".to_owned()
        } else {
            format!("{loss:.0e}")
        }
    })
}
