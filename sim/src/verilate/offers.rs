//! Verilog that watches every handshake: what a block offers stays as it is until it is taken.
//!
//! In each module with clock and reset, an output `x_valid` with an input `x_ready` (AXI4-Stream: `x_tvalid`, `x_tready`;
//! AXI4-Lite: `x_bvalid`, `x_rvalid`; of several alike `x_valid_0`, `x_ready_0`) is an offer; the other outputs `x_*` go with
//! it, and with `m_valid` `m_data` and `m_last` alone. A checker is bound to each, also inside of a design, and stops the simulation when an offer falls or changes
//! before it was taken.

use std::fmt::Write as _;

use super::options::Source;

/// Name of the file.
const FILE: &str = "tributary_offers.sv";

/// The checker; its reset forgets what was on offer.
const CHECKER: &str = "\
`begin_keywords \"1800-2017\"
module tributary_offer #(parameter W = 1, parameter MAY_FALL = 0, parameter MAY_CHANGE = 0) (
    input wire clk, input wire rst, input wire valid, input wire ready, input wire [W-1:0] data
);
    reg held;
    reg [W-1:0] was;
    initial held = 1'b0;
    always @(posedge clk) begin
        held <= valid && !ready && !rst;
        was <= data;
        if (held && !rst && !valid && !MAY_FALL) $fatal(1, \"an offer fell before it was taken\");
        if (held && !rst && valid && data !== was && !MAY_CHANGE) $fatal(1, \"an offer changed before it was taken\");
    end
endmodule
";

/// Offers of which a rule does not hold, as the block's header says: the beginning of the module's name, the offer, the
/// checker's parameter. A flush makes `xud_deadlines` forget times that are over; a read that fails takes back the words of an
/// answer whose header `card_onesided` has not handed over; a queue pair that goes to Error drops what `card_send_entry`
/// offers; `card_cq_write` asks for the number of another completion when it finds one that goes first; `bulk_notify` withdraws a
/// notification that has not begun, which `card_rings` and `card_recv_notices` hand on; units of a session of
/// `tlp_link` and `tlp_units` end with it; what comes from a line cannot wait, so `mac_guard` and what stands in front of it offer
/// each word for one clock.
const EXCEPTIONS: [(&str, &str, &str); 16] = [
    ("xud_deadlines_d", "m", "MAY_FALL"),
    ("card_onesided_q", "m_pl", "MAY_FALL"),
    ("card_send_entry_q", "m", "MAY_FALL"),
    ("card_cq_write_q", "num", "MAY_CHANGE"),
    ("bulk_notify_r", "m", "MAY_FALL"),
    ("bulk_receive_w", "m_notify", "MAY_FALL"),
    ("card_recv_notices", "m_rq", "MAY_FALL"),
    ("card_ring_ends_g", "m_notify", "MAY_FALL"),
    ("card_rings_q", "m_notify", "MAY_FALL"),
    ("tlp_link", "m_unit", "MAY_FALL"),
    ("tlp_units", "m_unit", "MAY_FALL"),
    ("mac_receive", "m", "MAY_FALL"),
    ("mac_xgmii_receive", "m", "MAY_FALL"),
    ("mac_xgmii_receive", "m", "MAY_CHANGE"),
    ("mac_guard", "m", "MAY_FALL"),
    ("mac_guard", "m", "MAY_CHANGE"),
];

/// Offers that have not the clock and reset `clk` and `rst` of their module: the beginning of the module's name, the offer, its
/// clock, its reset. What stands below the registers of a card has its reset from them.
const CLOCKS: [(&str, &str, &str, &str); 7] = [
    ("mac_queues", "m", "tx_clk", "tx_rst"),
    ("card_core_q", "m_works", "clk", "m_soft"),
    ("card_core_q", "m_looks", "clk", "m_soft"),
    ("card_core_q", "m_send_rd", "clk", "m_soft"),
    ("card_core_q", "m_send_pl", "clk", "m_soft"),
    ("card_core_q", "m_frames", "clk", "m_soft"),
    ("card_core_q", "m_frames_pl", "clk", "m_soft"),
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
                let but: String = EXCEPTIONS
                    .iter()
                    .filter(|(start, name, _)| {
                        module.name.starts_with(start) && offer.name == *name
                    })
                    .map(|(_, _, parameter)| format!(", .{parameter}(1)"))
                    .collect();
                let (clk, rst) = CLOCKS
                    .iter()
                    .find(|(start, name, ..)| module.name.starts_with(start) && offer.name == *name)
                    .map_or(("clk", "rst"), |(_, _, clk, rst)| (*clk, *rst));
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
                    "bind {} tributary_offer #(.W($bits({{{data}}})){but}) offer_{name} (\n    \
                     .clk({clk}), .rst({rst}), .valid({valid}), .ready({ready}), .data({{{data}}})\n);",
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

/// `m_rq_` and `_0` of `m_rq_valid_0`, `s_axis_t` of `s_axis_tvalid`.
fn parts(port: &str) -> Option<(&str, &str)> {
    let bare = port.trim_end_matches(|c: char| c.is_ascii_digit());
    let (bare, index) = match bare.strip_suffix('_') {
        Some(bare) if bare.len() + 1 < port.len() => (bare, &port[bare.len()..]),
        _ => (port, ""),
    };
    Some((bare.strip_suffix("valid")?, index))
}

fn offers(module: &Module) -> Vec<Offer> {
    let heads: Vec<(&str, &str)> = module
        .outputs
        .iter()
        .filter_map(|port| parts(port))
        .filter(|(stem, index)| {
            let ready = format!("{stem}ready{index}");
            module.inputs.iter().any(|input| *input == ready)
        })
        .collect();
    let data = |stem: &str, index: &str| -> Vec<String> {
        if stem == "m_" {
            // Other outputs begin alike that have nothing to do with it.
            let fields = ["data", "last"].map(|field| format!("m_{field}{index}"));
            let has = |field: &String| module.outputs.iter().any(|port| port == field);
            return fields.into_iter().filter(has).collect();
        }
        let of = |port: &&&str| {
            let of_other =
                |head: &(&str, &str)| head.0.len() > stem.len() && port.starts_with(head.0);
            port.starts_with(stem)
                && port.ends_with(index)
                && **port != format!("{stem}valid{index}")
                && !heads.iter().any(of_other)
        };
        let fields = module.outputs.iter().filter(of);
        fields.map(|port| (*port).to_owned()).collect()
    };
    heads
        .iter()
        .map(|(stem, index)| Offer {
            name: format!("{}{index}", stem.trim_end_matches('_')),
            valid: format!("{stem}valid{index}"),
            ready: format!("{stem}ready{index}"),
            data: data(stem, index),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use tributary_hdl::catalog;

    use super::*;
    use crate::verilate::BuildOptions;

    /// The checkers of a generated design.
    fn checkers(block: &str, sizes: &[(&str, usize)]) -> (String, String) {
        let design = catalog::choose(block, sizes).unwrap().emit().unwrap();
        let sources = BuildOptions::new(&design.top, &design.files()).sources;
        let text = sources.iter().map(|source| source.text.as_str()).collect();
        (text, watchers(&sources).expect("it offers something").text)
    }

    #[test]
    fn every_valid_with_a_ready_in_a_generated_design_has_its_checker() {
        let (verilog, text) = checkers("card", &[("Q", 16), ("R", 32), ("F", 64)]);
        // Counted another way: by lines. One `ready` is of a pulse, one of a port that says nothing else, one in a block
        // without a clock.
        let ready = |line: &&str| {
            let port = line.split("//").next().unwrap_or_default().trim_end();
            port.starts_with("    input ") && port.trim_end_matches(',').ends_with("ready")
        };
        let without = ["drop_ready", "ak_ready", "m_ready (of card_ack_merge)"];
        let ports = verilog.lines().filter(ready).count();
        assert_eq!(text.matches("\nbind ").count(), ports - without.len());
        // All that a request says goes with it, nothing of payload and acknowledgements.
        let of_rq = text
            .split("bind ")
            .find(|bind| bind.starts_with("xud_rx_d") && bind.contains(" offer_m_rq "));
        let of_rq = of_rq.expect("a checker");
        for field in [
            "node",
            "qpn",
            "psn",
            "win_id",
            "epoch",
            "msn",
            "len",
            "one_sided",
        ] {
            assert!(of_rq.contains(&format!("m_rq_{field}")), "{field}: {of_rq}");
        }
        assert!(
            !of_rq.contains("m_pl") && !of_rq.contains("m_ak"),
            "{of_rq}"
        );
        let (_, link) = checkers("tlp_link", &[("B", 64), ("R", 64), ("U", 4)]);
        let (_, units) = checkers("tlp_units", &[("D", 16)]);
        let (_, gmii) = checkers("mac_gmii", &[]);
        let (_, xgmii) = checkers("mac_xgmii", &[]);
        let of_line = gmii
            .split("bind ")
            .find(|bind| bind.contains(" offer_m ") && bind.starts_with("mac_queues"));
        assert!(of_line.unwrap().contains(".clk(tx_clk), .rst(tx_rst)"));
        let exceptions =
            [text, link, units, gmii, xgmii].map(|text| text.matches(", .MAY_").count());
        // A unit passes two modules of the link, and two of what joins it to a card; each MAC has its receiver and a guard.
        assert_eq!(exceptions, [5, 2, 2, 3, 4]);
    }

    #[test]
    fn ports_with_a_number_are_offers_of_their_own() {
        let sources = [Source {
            name: "a.v".to_owned(),
            text: "module a (\n    input  wire clk, // Clock.\n    input  wire rst,\n    \
                   output wire m_rq_valid_1,\n    input  wire m_rq_ready_1,\n    \
                   output wire [7:0] m_rq_data_1,\n    output wire [7:0] m_rq_data_0,\n    \
                   output wire m_axis_tvalid,\n    input  wire m_axis_tready,\n    \
                   output wire [7:0] m_axis_tdata,\n    \
                   output wire s_axil_rvalid,\n    input  wire s_axil_rready,\n    \
                   output wire [31:0] s_axil_rdata,\n    output wire s_axil_bvalid\n);\nendmodule\n"
                .to_owned(),
        }];
        let text = watchers(&sources).unwrap().text;
        assert!(
            text.contains(".ready(m_rq_ready_1), .data({m_rq_data_1})"),
            "{text}"
        );
        assert!(
            text.contains(".ready(m_axis_tready), .data({m_axis_tdata})"),
            "{text}"
        );
    }
}
