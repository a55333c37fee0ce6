//! The report as text.

use std::io::{Result, Write};

use super::{Facts, Figures, Report, Routed};

/// Longest bar of a histogram.
const BAR: usize = 50;

pub fn print(report: &Report, out: &mut dyn Write) -> Result<()> {
    facts(&report.facts, out)?;
    writeln!(
        out,
        "\n{:<13} {:>7} {:>8} {:>6} {:>6}   {:>6} {:>6}  {:>7} {:>8} {:>9} {:>9} {:>9}\n\
         {:<13} {:>7} {:>8} {:>6} {:>6}   {:>6} {:>6}  {:>7} {:>8} {:>9} {:>9} {:>9}",
        "",
        "EFI max",
        "mean",
        "p50",
        "p99",
        "height",
        "mean",
        "cables",
        "setup",
        "trees",
        "a group",
        "memory",
        "router",
        "",
        "",
        "",
        "",
        "max",
        "",
        "used",
        "s",
        "s",
        "us",
        "MB"
    )?;
    for Routed { figures: f, .. } in &report.routers {
        writeln!(
            out,
            "{:<13} {:>7} {:>8.2} {:>6} {:>6}   {:>6} {:>6.2}  {:>7} {:>8.3} {:>9.3} {:>9.1} {:>9}",
            f.router,
            f.max_efi,
            f.mean_efi,
            f.p50_efi,
            f.p99_efi,
            f.height.max,
            f.height.mean,
            f.used_cables,
            f.setup_time_s,
            f.time_s,
            f.us_per_group,
            memory(f)
        )?;
    }
    let not_least = |f: &&Routed| f.figures.height.above_least > 0;
    for Routed { figures: f, .. } in report.routers.iter().filter(not_least) {
        writeln!(
            out,
            "{}: {} trees are higher than they need be",
            f.router, f.height.above_least
        )?;
    }
    if report
        .routers
        .iter()
        .any(|r| !r.figures.peak_rss_is_of_this_router)
    {
        writeln!(out, "memory: the most since the program began")?;
    }
    for Routed { figures, .. } in &report.routers {
        histogram(figures, out)?;
    }
    for routed in &report.routers {
        failures(routed, out)?;
    }
    Ok(())
}

fn facts(facts: &Facts, out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "network      {}: {} switches, {} endnodes, {} cables between switches; {:.3} s",
        facts.network, facts.switches, facts.endnodes, facts.cables, facts.network_time_s
    )?;
    if facts.loopback_cables > 0 {
        writeln!(
            out,
            "loopbacks    {} cables from a switch back to itself; nothing uses them",
            facts.loopback_cables
        )?;
    }
    writeln!(out, "structure    {}", facts.structure)?;
    let cores = match facts.threads {
        1 => String::new(),
        n => format!(" on {n} cores"),
    };
    writeln!(
        out,
        "distances    {:.3} s{cores}, {:.1} MB",
        facts.hop_table_time_s,
        facts.hop_table_bytes as f64 / 1e6
    )?;
    let processes = facts.processes();
    writeln!(
        out,
        "groups       {}{processes}: {} groups, {} of them skipped (one endnode)",
        facts.pattern, facts.groups, facts.skipped_groups
    )?;
    writeln!(
        out,
        "lower bound  {} groups on the busiest cable, whatever the router",
        facts.lower_bound_efi
    )
}

/// Megabytes, or a dash.
pub fn memory(figures: &Figures) -> String {
    figures
        .peak_rss_bytes
        .map_or_else(|| "-".to_owned(), |b| format!("{:.0}", b as f64 / 1e6))
}

/// Ranges of groups on a cable, with the number of cables: one by one if they are few, else doubling.
pub fn bins(histogram: &[(u32, usize)]) -> Vec<(u32, u32, usize)> {
    let most = histogram.last().map_or(0, |&(efi, _)| efi);
    let mut bins = Vec::new();
    let mut first = 0;
    while first <= most {
        let last = if most <= 16 || first < 2 {
            first
        } else {
            // 2, 3-4, 5-8, 9-16, ...
            (first - 1) * 2
        };
        let within = histogram
            .iter()
            .filter(|(efi, _)| (first..=last).contains(efi));
        bins.push((
            first,
            last.min(most),
            within.map(|&(_, cables)| cables).sum(),
        ));
        first = last + 1;
    }
    bins
}

fn histogram(figures: &Figures, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "\n{}: cables by the groups on them", figures.router)?;
    let bins = bins(&figures.efi_histogram);
    let most = bins.iter().map(|bin| bin.2).max().unwrap_or(0).max(1);
    for (first, last, cables) in bins {
        let range = if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        };
        // Whoever is there at all shows.
        let bar = "#".repeat((cables * BAR).div_ceil(most));
        writeln!(
            out,
            "{}",
            format!("{range:>11} {cables:>8} {bar}").trim_end()
        )?;
    }
    Ok(())
}

fn failures(routed: &Routed, out: &mut dyn Write) -> Result<()> {
    for f in &routed.failures {
        writeln!(
            out,
            "\n{}: cable {} ({}) failed: {} groups touched, routed again in {:.3} ms, distances in {:.3} ms; max EFI {}, was {}",
            routed.figures.router,
            f.cable_index,
            f.cable,
            f.touched_groups,
            f.time_s * 1e3,
            f.hop_table_time_s * 1e3,
            f.max_efi,
            f.max_efi_before
        )?;
        if let Some(reason) = &f.reason {
            writeln!(
                out,
                "FAILED: {} groups have no tree any more; {reason}",
                f.unreachable_groups
            )?;
        }
    }
    Ok(())
}
