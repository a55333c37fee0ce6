//! Tables of requests in flight that are wrong about claims, and that the random operations notice each.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary_hdl::emit::{Module, emit_block};
use tributary_hdl::xud::XudInFlight;
use tributary_sim::verilate::Verilated;

use super::inflight_random::{BUSY, Driver, Pace};
use super::rtl::verilate_design;
use super::table::Bench;

/// What is wrong, the right Verilog, the wrong one; FAULT is true if this one is chosen.
type Fault = (&'static str, &'static str, &'static str);

const FAULTS: &[Fault] = &[
    (
        "a claim does not count in the clock behind it",
        "(s5_near_reg[1:0] & just_claimed_reg)",
        "(s5_near_reg[1:0] & just_claimed_reg & {1'b1, !FAULT})",
    ),
    (
        "a claim does not count two clocks behind it",
        "just_claimed_reg & {1'b1",
        "just_claimed_reg & {!FAULT, 1'b1} & {1'b1",
    ),
    (
        "a claim counts in the two clocks behind it alone",
        "claimed_reg & (claimed_place_reg == s4_place_reg)",
        "claimed_reg & (claimed_place_reg == s4_place_reg) & !FAULT",
    ),
    (
        "a timeout ends what is claimed",
        "(is_x & live & s5_same_s_reg)",
        "(is_x & (FAULT ? s5_set_reg & !(|(s5_near_reg & hits_reg)) : live) & s5_same_s_reg)",
    ),
    (
        "a failure ends what is claimed",
        "(is_fail & found)",
        "(is_fail & (FAULT ? s5_set_reg & !(|(s5_near_reg & hits_reg)) & s5_same_psn_reg \
         & s5_same_qpn_reg : found))",
    ),
    (
        "an acknowledgement finds what is claimed",
        "assign found = live &",
        "assign found = (live | (FAULT & is_ack & !s5_claim_reg[0] & s5_set_reg \
         & !(|(s5_near_reg & hits_reg)))) &",
    ),
    (
        "a second claim finds what is claimed",
        "assign found = (live |",
        "assign found = (live | (FAULT & is_ack & s5_claim_reg[0] & s5_set_reg \
         & !(|(s5_near_reg & hits_reg))) |",
    ),
    (
        "a claim finds what has just ended",
        "(s5_near_reg & hits_reg))",
        "(s5_near_reg & hits_reg & {4{!(FAULT & s5_claim_reg[0])}}))",
    ),
    (
        "a claim of nothing is one",
        "assign claims = is_ack & s5_claim_reg[0] & found &",
        "assign claims = is_ack & s5_claim_reg[0] & (FAULT | found) &",
    ),
    (
        "a claim from anywhere is one",
        "| found) & accepted;",
        "| found) & (FAULT | accepted);",
    ),
    (
        "a claim ends its request",
        "& !s5_claim_reg[0])\n",
        "& (FAULT | !s5_claim_reg[0]))\n",
    ),
    (
        "a claim never ends",
        "if (s5_claim_reg[1])",
        "if (s5_claim_reg[1] & !FAULT)",
    ),
    (
        "nodes that differ in bits 19:16 are one (CL-1)",
        "filled_fields_node == s4_from_node_reg",
        "(FAULT ? filled_fields_node[15:0] == s4_from_node_reg[15:0] : filled_fields_node == s4_from_node_reg)",
    ),
    (
        "OK ends what waits for an answer",
        "filled_answered &",
        "filled_answered & !FAULT &",
    ),
];

/// All of them in one design; input `fault` of its top module chooses one, counted from 1.
fn library() -> Verilated {
    let mut design = emit_block(&mut XudInFlight::<3, 5>::default()).unwrap();
    let top = design.top.clone();
    for (i, (name, right, wrong)) in FAULTS.iter().enumerate() {
        let chosen = format!("({top}.fault == 8'd{})", i + 1);
        let has = |module: &&mut Module| module.text.contains(right);
        let module = design.modules.iter_mut().find(has);
        let module = module.unwrap_or_else(|| panic!("{name}: {right} is nowhere"));
        module.text = module.text.replace(right, &wrong.replace("FAULT", &chosen));
    }
    let head = format!("module {top} (");
    for module in &mut design.modules {
        let with = format!("{head}\n    input wire [7:0] fault,");
        module.text = module.text.replace(&head, &with);
    }
    verilate_design(&design)
}

#[test]
fn xud_13_wrong_claims_are_noticed() {
    let library = library();
    let pace = Pace {
        fail: 10,
        claim: 50,
        ..BUSY
    };
    for fault in 0..=FAULTS.len() {
        let noticed = (0..3).any(|seed| {
            let run = catch_unwind(AssertUnwindSafe(|| {
                let mut bench = Bench::of(&library, 16);
                bench.choose_fault(fault as u64);
                let mut driver = Driver::new(seed, bench);
                driver.run(pace, 4_000);
                driver.bench.trouble
            }));
            !matches!(run, Ok(None))
        });
        let name = fault.checked_sub(1).map_or("none", |i| FAULTS[i].0);
        assert_eq!(noticed, fault > 0, "{name}");
        println!("noticed: {name}");
    }
}
