//! The report as a page: text and drawing in one file, nothing loaded from elsewhere.

use std::fmt::Write;

use super::print::memory;
use super::{Report, Routed};
use crate::report::escape;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;color:#1e1e1e;background:#fff;max-width:1200px;margin:2em auto;padding:0 1em}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}svg{width:100%;height:auto}
table{border-collapse:collapse}td,th{padding:.25em .9em;border-bottom:1px solid #ddd;text-align:right}td:first-child,th:first-child{text-align:left}
.bad{color:#b00}";

pub fn page(report: &Report, drawing: &str) -> String {
    let facts = &report.facts;
    let processes = facts.processes();
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Multicast on {0}</title><style>{STYLE}</style></head><body>\n\
         <h1>{1} multicast groups on {0}</h1>\n\
         <p>{2} switches, {3} endnodes, {4} cables between switches. Groups: {5}{6}; {7} of one endnode skipped. \
         Lower bound of the max EFI, whatever the router: {8}.</p>\n\
         <p>Network in {9:.3} s, distances in {10:.3} s and {11:.1} MB. EFI: groups on a cable. Height: cables from the root of a tree to its farthest member.</p>\n",
        escape(&facts.network),
        facts.groups,
        facts.switches,
        facts.endnodes,
        facts.cables,
        escape(&facts.pattern),
        processes,
        facts.skipped_groups,
        facts.lower_bound_efi,
        facts.network_time_s,
        facts.hop_table_time_s,
        facts.hop_table_bytes as f64 / 1e6
    );
    page.push_str(
        "<table><tr><th>router</th><th>max EFI</th><th>mean</th><th>p50</th><th>p99</th><th>max height</th><th>mean</th><th>cables used</th>\
         <th>setup, s</th><th>trees, s</th><th>a group, µs</th><th>memory, MB</th></tr>\n",
    );
    for Routed { figures: f, .. } in &report.routers {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{:.2}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.2}</td><td>{}</td><td>{:.3}</td><td>{:.3}</td><td>{:.1}</td><td>{}</td></tr>",
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
        );
    }
    let _ = writeln!(page, "</table>\n<h2>Load</h2>\n{drawing}");
    if report.routers.iter().any(|r| !r.failures.is_empty()) {
        page.push_str(
            "<h2>Failed cables</h2>\n<p>The drawing shows the network after them.</p>\n<table><tr><th>router</th><th>cable</th><th>groups touched</th>\
             <th>distances, ms</th><th>routes, ms</th><th>max EFI before</th><th>after</th><th></th></tr>\n",
        );
    }
    for routed in &report.routers {
        for f in &routed.failures {
            let lost = f.reason.as_ref().map_or_else(String::new, |reason| {
                format!(
                    "{} without a tree; {}",
                    f.unreachable_groups,
                    escape(reason)
                )
            });
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.3}</td><td>{:.3}</td><td>{}</td><td>{}</td><td class=\"bad\">{lost}</td></tr>",
                routed.figures.router,
                escape(&f.cable),
                f.touched_groups,
                f.hop_table_time_s * 1e3,
                f.time_s * 1e3,
                f.max_efi_before,
                f.max_efi
            );
        }
    }
    if report.routers.iter().any(|r| !r.failures.is_empty()) {
        page.push_str("</table>\n");
    }
    page.push_str("</body></html>\n");
    page
}
