//! The table as text.

use std::io::{Result, Write};

use super::{Kind, Row, Table, columns};

pub fn print(table: &Table, kinds: &[Kind], out: &mut dyn Write) -> Result<()> {
    let shown: Vec<Kind> = columns()
        .iter()
        .copied()
        .filter(|k| kinds.contains(k))
        .collect();
    writeln!(
        out,
        "Multicast routers. EFI: groups on a cable. bound: what the busiest cable has at least, whatever the router.\n\
         In brackets: figures of prototypes. -: left out, takes minutes (--full). Times of one core.\n\n\
         Max EFI"
    )?;
    head(&shown, out, "groups", "bound", |k| {
        if prototyped(k) { 14 } else { 12 }
    })?;
    for row in &table.rows {
        start(
            row,
            out,
            row.groups.to_string(),
            row.lower_bound_efi.to_string(),
        )?;
        for &kind in &shown {
            let efi = figure(row, kind, |f| f.max_efi.to_string());
            let name = kind.name();
            let known = row.prototype_max_efi.iter().find(|(n, _)| *n == name);
            let known = known.map_or_else(String::new, |(_, efi)| format!("({efi})"));
            if prototyped(kind) {
                write!(out, " {efi:>6} {known:<6} ")?;
            } else {
                write!(out, " {efi:>12}")?;
            }
        }
        writeln!(out)?;
    }
    writeln!(
        out,
        "\nMilliseconds for all trees, choice of the roots included, unicast routes of sssp not. Before them: the distances, in ms and MB"
    )?;
    head(&shown, out, "ms", "MB", |_| 12)?;
    for row in &table.rows {
        let ms = format!("{:.0}", row.hop_table_time_s * 1e3);
        start(
            row,
            out,
            ms,
            format!("{:.1}", row.hop_table_bytes as f64 / 1e6),
        )?;
        for &kind in &shown {
            let time = figure(row, kind, |f| format!("{:.1}", f.time_s * 1e3));
            write!(out, " {time:>12}")?;
        }
        writeln!(out)?;
    }
    writeln!(
        out,
        "\nHeight of the trees, mean and most; trees higher than they need be in brackets, if there are any"
    )?;
    head(&shown, out, "", "", |_| 12)?;
    for row in &table.rows {
        start(row, out, String::new(), String::new())?;
        for &kind in &shown {
            let height = figure(row, kind, |f| {
                let above = match f.height.above_least {
                    0 => String::new(),
                    n => format!(" ({n})"),
                };
                format!("{:.2} {}{above}", f.height.mean, f.height.max)
            });
            write!(out, " {height:>12}")?;
        }
        writeln!(out)?;
    }
    failures(table, out)?;
    writeln!(out, "\n{:.1} s in all", table.time_s)
}

/// Whether a column has figures of prototypes.
fn prototyped(kind: Kind) -> bool {
    super::rows::PROTOTYPES.contains(&kind)
}

fn head(
    kinds: &[Kind],
    out: &mut dyn Write,
    a: &str,
    b: &str,
    width: impl Fn(Kind) -> usize,
) -> Result<()> {
    write!(out, "{:<18} {:<13} {a:>6} {b:>6}", "network", "groups")?;
    for &kind in kinds {
        let width = width(kind);
        write!(out, " {:>width$}", kind.name())?;
    }
    writeln!(out)
}

fn start(row: &Row, out: &mut dyn Write, a: String, b: String) -> Result<()> {
    let pattern = match row.processes_per_endnode {
        1 => row.pattern.to_owned(),
        n => format!("{} /{n}", row.pattern),
    };
    write!(out, "{:<18} {pattern:<13} {a:>6} {b:>6}", row.network)
}

fn figure(
    row: &Row,
    kind: Kind,
    text: impl Fn(&crate::route::measure::Figures) -> String,
) -> String {
    let name = kind.name();
    let found = row.routers.iter().find(|f| f.router == name);
    found.map_or_else(|| "-".to_owned(), text)
}

fn failures(table: &Table, out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "\nA cable with groups on it fails: distances, and routes of the groups that it touches; one cable at a time: some chosen by a fixed seed, and some of the fullest\n\
         {:<18} {:<13} {:>12} {:>7} {:>15} {:>10} {:>10} {:>10}",
        "network",
        "groups",
        "router",
        "cables",
        "groups touched",
        "median ms",
        "worst ms",
        "worst EFI"
    )?;
    for row in &table.rows {
        let Some(f) = &row.failures else { continue };
        writeln!(
            out,
            "{:<18} {:<13} {:>12} {:>7} {:>15} {:>10.2} {:>10.2} {:>10}",
            row.network,
            row.pattern,
            f.router,
            f.cables,
            format!(
                "{} (max {})",
                f.median_touched_groups, f.worst_touched_groups
            ),
            f.median_time_s * 1e3,
            f.worst_time_s * 1e3,
            f.worst_max_efi
        )?;
    }
    Ok(())
}
