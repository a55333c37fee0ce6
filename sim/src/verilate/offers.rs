//! Verilog that watches every handshake: what a block offers stays as it is until it is taken.
//!
//! In each module, an output `x_valid` with an input `x_ready` (AXI4-Stream: `x_tvalid`, `x_tready`; of several alike
//! `x_valid_0`, `x_ready_0`) is an offer; the other outputs `x_*` go with it, and with `m_valid` `m_data` and `m_last`
//! alone. A checker is bound to each, also inside of a design, and stops the simulation when an offer falls or changes
//! before it was taken.

use std::fmt::Write as _;

use super::options::Source;

/// Name of the file.
const FILE: &str = "tributary_offers.sv";

/// The checker; its reset forgets what was on offer.
const CHECKER: &str = "\
`begin_keywords \"1800-2017\"
module tributary_offer #(parameter W = 1) (
    input wire clk, input wire rst, input wire valid, input wire ready, input wire [W-1:0] data
);
    reg held;
    reg [W-1:0] was;
    initial held = 1'b0;
    always @(posedge clk) begin
        held <= valid && !ready && !rst;
        was <= data;
        if (held && !rst && !valid) $fatal(1, \"an offer fell before it was taken\");
        if (held && !rst && valid && data !== was) $fatal(1, \"an offer changed before it was taken\");
    end
endmodule
";

/// Offers that a block may take back, by the module's name without sizes and the offer's, as its header says: a flush makes
/// `xud_deadlines` forget times that are over; a read that fails takes back the words of an answer whose header
/// `card_onesided` has not handed over; a queue pair that goes to Error drops the work request that `card_send_entry` offers.
const TAKEN_BACK: [(&str, &str); 3] = [
    ("xud_deadlines_", "m"),
    ("card_onesided_", "m_pl"),
    ("card_send_entry_", "m"),
];

/// The ports of a module.
#[derive(Default)]
struct Module<'a> {
    name: &'a str,
    inputs: Vec<&'a str>,
    outputs: Vec<&'a str>,
}

/// A file of checkers for all modules of these sources that offer something.
pub(super) fn watchers(sources: &[Source]) -> Option<Source> {
    let mut text = CHECKER.to_owned();
    let mut any = false;
    for source in sources {
        for module in modules(&source.text) {
            for offer in offers(&module) {
                let may = |(start, name): &(&str, &str)| {
                    module.name.starts_with(start) && offer.name == *name
                };
                if TAKEN_BACK.iter().any(may) {
                    continue;
                }
                any = true;
                let Offer {
                    name,
                    valid,
                    ready,
                    data,
                } = offer;
                let data = if data.is_empty() {
                    valid.clone()
                } else {
                    data.join(", ")
                };
                let _ = writeln!(
                    text,
                    "bind {} tributary_offer #(.W($bits({{{data}}}))) offer_{name} (\n    \
                     .clk(clk), .rst(rst), .valid({valid}), .ready({ready}), .data({{{data}}})\n);",
                    module.name,
                );
            }
        }
    }
    text.push_str("`end_keywords\n");
    any.then(|| Source {
        name: FILE.to_owned(),
        text,
    })
}

/// Modules with a clock and a reset, as the generator writes them: a port a line, its name last in front of comma and comment.
fn modules(text: &str) -> Vec<Module<'_>> {
    let mut found = Vec::new();
    let mut module: Option<Module> = None;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if let Some(rest) = line.strip_prefix("module ") {
            let name = rest.split(|c: char| !is_word(c)).next().unwrap_or_default();
            module = Some(Module {
                name,
                ..Module::default()
            });
            continue;
        }
        let Some(open) = &mut module else { continue };
        let port = || {
            line.trim_end_matches(',')
                .rsplit(|c: char| !is_word(c))
                .next()
        };
        if line.starts_with("input ") {
            open.inputs.extend(port());
        } else if line.starts_with("output ") {
            open.outputs.extend(port());
        } else if line.starts_with(");") {
            found.extend(module.take().filter(|module| {
                ["clk", "rst"]
                    .iter()
                    .all(|name| module.inputs.contains(name))
            }));
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

struct Offer {
    name: String,
    valid: String,
    ready: String,
    data: Vec<String>,
}

/// `m_rq`, `valid`, `_0` of `m_rq_valid_0`.
fn parts<'a>(port: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let bare = port.trim_end_matches(|c: char| c.is_ascii_digit());
    let (bare, index) = match bare.strip_suffix('_') {
        Some(bare) if bare.len() + 1 < port.len() => (bare, &port[bare.len()..]),
        _ => (port, ""),
    };
    Some((bare.strip_suffix(word)?, index))
}

fn offers(module: &Module) -> Vec<Offer> {
    let heads: Vec<(&str, &str, &str)> = module
        .outputs
        .iter()
        .flat_map(|port| {
            ["_valid", "_tvalid"].map(|word| {
                let (stem, index) = parts(port, word)?;
                let ready = format!("{stem}{}{index}", word.replace("valid", "ready"));
                let pair = module.inputs.iter().any(|input| *input == ready);
                pair.then_some((stem, word, index))
            })
        })
        .flatten()
        .collect();
    heads
        .iter()
        .map(|(stem, word, index)| {
            let valid = format!("{stem}{word}{index}");
            let data = module.outputs.iter().filter(|port| {
                let of = |stem: &str| {
                    port.strip_prefix(stem)
                        .is_some_and(|rest| rest.starts_with('_'))
                };
                // Of a longer name that begins alike.
                let other = heads
                    .iter()
                    .any(|head| head.0.len() > stem.len() && of(head.0));
                let plain = stem.contains('_')
                    || [format!("{stem}_data{index}"), format!("{stem}_last{index}")]
                        .contains(&(**port).to_owned());
                let same_index = index.is_empty() || port.ends_with(index);
                of(stem) && **port != valid && !other && plain && same_index
            });
            Offer {
                name: format!("{stem}{index}"),
                ready: format!("{stem}{}{index}", word.replace("valid", "ready")),
                data: data.map(|port| (*port).to_owned()).collect(),
                valid,
            }
        })
        .collect()
}
