//! Senders and receivers that lose bits 19:16 of a node (CL-1), and that random frames notice each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use tributary_hdl::emit::{Design, emit_block};
use tributary_hdl::xud::{XudRx, XudTx};
use tributary_sim::verilate::Verilated;

use super::rtl::{rng, verilate_design};
use super::rx::{Bench as Receiver, Consumer};
use super::rx_random::any_frame;
use super::tx::lose;

/// What is wrong, the right Verilog, the wrong one.
pub type Wrong = (&'static str, &'static str, &'static str);

const RX: [Wrong; 5] = [
    (
        "not taken out of the frame",
        "word[35:16]",
        "{4'd0, word[31:16]}",
    ),
    (
        "four bits above the node",
        "word[47:36] != IP_CARDS",
        "word[47:40] != IP_CARDS[11:4]",
    ),
    (
        "of a request",
        "assign m_rq_node = request_m_data[195:176]",
        "assign m_rq_node = WRONG ? {4'd0, request_m_data[191:176]} : request_m_data[195:176]",
    ),
    (
        "of a frame of a bulk transfer",
        "assign m_bulk_node = request_m_data[195:176]",
        "assign m_bulk_node = WRONG ? {4'd0, request_m_data[191:176]} : request_m_data[195:176]",
    ),
    (
        "of an acknowledgement",
        "assign m_ak_node = acks_m_data[159:140]",
        "assign m_ak_node = WRONG ? {4'd0, acks_m_data[155:140]} : acks_m_data[159:140]",
    ),
];

const TX: [Wrong; 6] = [
    (
        "in the destination MAC",
        "{node_reg[3:0], 4'd0, node_reg[11:4], node_reg[19:12]}",
        "{node_reg[3:0], 4'd0, node_reg[11:4], 4'd0, node_reg[15:12]}",
    ),
    (
        "in the source MAC",
        "{cfg_node[3:0], 4'd0, cfg_node[11:4], cfg_node[19:12]}",
        "{cfg_node[3:0], 4'd0, cfg_node[11:4], 4'd0, cfg_node[15:12]}",
    ),
    (
        "in the destination address and its checksum",
        "node_reg[19:16]",
        "4'd0",
    ),
    (
        "in the source address and its checksum",
        "cfg_node[19:16]",
        "4'd0",
    ),
    (
        "of the destination in the checksum",
        "{12'd0, node_upper}",
        "16'd0",
    ),
    (
        "of the source in the checksum",
        "{12'd0, own_upper}",
        "16'd0",
    ),
];

/// All of them in one library; input `wrong` of the block chooses one, counted from 1.
pub fn library(mut design: Design, all: &[Wrong]) -> Verilated {
    let top = design.top.clone();
    for (number, (name, right, wrong)) in (1..).zip(all) {
        let chosen = format!("({top}.wrong == 8'd{number})");
        let places = |text: &str| text.matches(right).count();
        let mut modules = design.modules.iter_mut().filter(|m| places(&m.text) > 0);
        let (module, None) = (modules.next(), modules.next()) else {
            panic!("{name}: {right} is in several modules");
        };
        let module = module.unwrap_or_else(|| panic!("{name}: {right} is nowhere"));
        assert_eq!(places(&module.text), 1, "{name}: {right}");
        let both = match wrong.contains("WRONG") {
            true => wrong.replace("WRONG", &chosen),
            false => format!("({chosen} ? ({wrong}) : ({right}))"),
        };
        module.text = module.text.replace(right, &both);
    }
    let head = format!("module {top} (");
    for module in &mut design.modules {
        let with = format!("{head}\n    input wire [7:0] wrong,");
        module.text = module.text.replace(&head, &with);
    }
    verilate_design(&design)
}

/// Runs without an error, and with each.
pub fn every_is_noticed(all: &[Wrong], run: impl Fn(u64)) {
    let passes = |number| catch_unwind(AssertUnwindSafe(|| run(number))).is_ok();
    assert!(passes(0), "the right one");
    for (number, (name, ..)) in (1..).zip(all) {
        assert!(!passes(number), "not noticed: {name}");
    }
}

#[test]
fn cl_01_receivers_that_lose_bits_of_a_node_are_noticed() {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    let library =
        LIBRARY.get_or_init(|| library(emit_block(&mut XudRx::<10>::default()).unwrap(), &RX));
    every_is_noticed(&RX, |number| {
        let mut bench = Receiver::of(library, true, true);
        bench.choose(number);
        let mut rng = rng(7);
        for round in 0..400 {
            let mut frame = any_frame(&mut rng, 60);
            if round % 8 == 0
                && let Some(upper) = frame.get_mut(27)
            {
                // No node: bits above its 20.
                *upper ^= 0x10 << (round / 8 % 4);
                super::rx::repair(&mut frame);
            }
            bench.frame(&frame, false, || false, || Consumer::EAGER);
        }
        bench.finish();
    });
}

#[test]
fn cl_01_senders_that_lose_bits_of_a_node_are_noticed() {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    let library =
        LIBRARY.get_or_init(|| library(emit_block(&mut XudTx::<11>::default()).unwrap(), &TX));
    every_is_noticed(&TX, |number| lose(library, number));
}
