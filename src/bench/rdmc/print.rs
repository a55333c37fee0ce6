//! The figures as text.

use std::io::Write;

use super::Table;

/// Prints everything.
pub fn table(table: &Table, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "Ports of {} Gb/s, blocks of {} bytes, binomial pipeline by cards with two credits.\n\n\
         Share of the step bound\n{:>8} {:>6} {:>6}  L/B = 0    0.05    0.25",
        table.rate_gbps, table.block_bytes, "members", "blocks", "steps"
    )?;
    for row in table.points.chunks(3) {
        write!(
            out,
            "{:>8} {:>6} {:>6} ",
            row[0].members, row[0].blocks, row[0].steps
        )?;
        for point in row {
            write!(out, " {:>7.3}", point.share_of_bound)?;
        }
        writeln!(out)?;
    }
    writeln!(
        out,
        "\nBeside broadcasts as MPI libraries do them, each with its best segments, L/B = 0.05; microseconds\n\
         {:>8} {:>7} {:>10} {:>10} {:>10} {:>10} {:>10}  speed-up / with tuned blocks",
        "members", "blocks", "cards", "tuned", "tree", "ring", "doubling"
    )?;
    for row in &table.against {
        let us = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format!("{:.1}", ns / 1e3));
        writeln!(
            out,
            "{:>8} {:>7} {:>10} {:>10} {:>10} {:>10} {:>10}  {:.2} / {:.2}",
            row.members,
            row.blocks,
            us(Some(row.time_ns)),
            us(Some(row.tuned_ns)),
            us(row.binomial_tree_ns),
            us(row.scatter_ring_ns),
            us(row.scatter_doubling_ns),
            row.speedup,
            row.speedup_tuned
        )?;
    }
    writeln!(
        out,
        "\n64 members, 256 blocks, L/B = 0.05: undisturbed time over time, and what formula or ports allow"
    )?;
    for row in &table.disturbed {
        let expected = row.expected.map_or(String::new(), |e| format!("{e:.3}"));
        writeln!(
            out,
            "  {:<56} {:>6.3} {expected:>6}",
            row.what, row.share_of_undisturbed
        )?;
    }
    writeln!(
        out,
        "\n16 members, 256 blocks, L/B = 0.05 of 64 KiB: share of the step bound, if software takes so many clocks of 6.4 ns for\n\
         each block that a host receives and for each that it sends\n  block bytes  clocks   hosts   cards"
    )?;
    for row in &table.software {
        writeln!(
            out,
            "  {:>11} {:>7} {:>7.3} {:>7.3}",
            row.block_bytes, row.host_clocks, row.hosts, row.cards
        )?;
    }
    let s = &table.storage;
    writeln!(
        out,
        "\nStorage: {} objects in {} copies, {}; here median {:.1} MB, mean {:.1} MB\n\
         one behind the other: {:.1} Gb/s of objects; arrivals that fill the port to {}: p50 {:.2} ms, p99 {:.2} ms",
        s.objects,
        s.copies,
        s.sizes,
        s.median_bytes as f64 / 1e6,
        s.mean_bytes as f64 / 1e6,
        s.throughput_gbps,
        s.load,
        s.p50_ms,
        s.p99_ms
    )
}
