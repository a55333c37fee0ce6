//! The page: text and drawings in one file, nothing loaded from elsewhere.

use std::fmt::Write;

use super::stages::{self, Range};
use super::{Run, draw};

const STYLE: &str = "\
body{font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;color:#1e1e1e;background:#fff;max-width:1140px;margin:2em auto;padding:0 1em}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}
svg{width:100%;height:auto;font:12px 'DejaVu Sans',sans-serif}
table{border-collapse:collapse}td,th{padding:.25em .9em;border-bottom:1px solid #ddd;text-align:right}td:first-child,th:first-child{text-align:left}
.cable{stroke:#999;stroke-width:1.5}.switch{fill:#dde8f8;stroke:#0f46aa}.endpoint{fill:#f3f3f3;stroke:#888}
.lane{stroke:#e2e2e2}.hub{stroke:#9db6e0;stroke-width:2}.tick{stroke:#eee}
.frame{stroke-width:1.8}.up{stroke:#c46e0a}.result{stroke:#962870}.down{stroke:#0f46aa}.lost{stroke:#d00;stroke-dasharray:4 3}
.key{display:inline-block;width:1.6em;height:0;border-top:3px solid;vertical-align:middle;margin:0 .4em 0 1.2em}";

/// Text for HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The page of a run.
pub fn page(run: &Run) -> String {
    let fabric = run.sim.fabric();
    let size = run.sim.group_endpoints(run.group).len();
    let lost = run
        .frames()
        .filter(|f| f.fate == tributary_sim::fabric::Fate::Lost)
        .count();
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>A reduction</title><style>{STYLE}</style></head><body>\n\
         <h1>A reduction over {size} endpoints</h1>\n\
         <p>{} switches, {} cables. Sum of ones: {}, with {} of {size} endpoints in it. \
         {} clocks from the last endpoint's beginning until the last one has the result; {} frames, {lost} lost.</p>\n\
         <h2>Tree</h2>\n<p>The root on top. Behind the name of a switch: how many endpoints are below it (its wait count).</p>\n{}",
        fabric.switches.len(),
        fabric.cables.len(),
        run.outcome.value.data[0],
        run.outcome.count,
        run.end - run.last,
        run.frames().count(),
        draw::tree(run)
    );
    let _ = write!(
        page,
        "<h2>Frames</h2>\n<p>From the first word at the sender to the last word at the receiver; clocks since the first endpoint began. \
         <span class=\"key\" style=\"color:#c46e0a\"></span>contribution<span class=\"key\" style=\"color:#962870\"></span>result of an engine\
         <span class=\"key\" style=\"color:#0f46aa\"></span>down the tree<span class=\"key\" style=\"color:#d00\"></span>lost</p>\n{}",
        draw::timeline(run)
    );
    page.push_str(
        "<h2>Latency per level</h2>\n<p>Clocks in a switch: upwards from the last word of the last frame from below to the first word of what leaves; \
         downwards from the last word in to the first word of each copy.</p>\n\
         <table><tr><th>switches</th><th>level below the root</th><th>up</th><th>down</th></tr>\n",
    );
    for (depth, level) in stages::levels(run) {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&level.names.join(", ")),
            depth + 1,
            range(level.up),
            range(level.down)
        );
    }
    page.push_str("</table>\n</body></html>\n");
    page
}

fn range(range: Option<Range>) -> String {
    match range {
        None => "–".to_owned(),
        Some(Range { least, most }) if least == most => least.to_string(),
        Some(Range { least, most }) => format!("{least} to {most}"),
    }
}
