//! Wrong blocks, and that the random frames notice each.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary_hdl::card::CardOneSided;
use tributary_hdl::emit::emit_block;
use tributary_sim::verilate::Verilated;

use crate::bench::verilate;
use crate::random::{BUSY, traffic};
use crate::world::World;

/// What is wrong, and the pieces of Verilog that are replaced; FAULT is true if this one is chosen.
type Fault = (&'static str, &'static [(&'static str, &'static str)]);

const FAULTS: &[Fault] = &[
    (
        "no check of the number",
        &[("!(|ahead_reg)", "(FAULT | !(|ahead_reg))")],
    ),
    (
        "a write is done before its number is refused",
        &[
            (
                "state_next = RUN_STATE_DRAIN;",
                "state_next = FAULT & (state_reg == RUN_STATE_BRANCH) & write & verdict[6] \
                 ? RUN_STATE_WRITE : RUN_STATE_DRAIN;",
            ),
            (
                "(&reply_reg)",
                "(FAULT & (state_reg == RUN_STATE_LANDED) ? |reply_reg : &reply_reg)",
            ),
        ],
    ),
    (
        "no replay value",
        &[(
            "found_next = replay;",
            "found_next = FAULT ? 64'd0 : replay;",
        )],
    ),
    (
        "bytes of an answer that nothing waits for",
        &[("if (claim_ok)", "if (FAULT | claim_ok)")],
    ),
    (
        "no region for an answer",
        &[("if (!look_ok)", "if (!look_ok & !(FAULT & (&reply_reg)))")],
    ),
    (
        "a window of a node that differs in bits 19:16 (CL-1)",
        &[(
            "opened[19:0] != node",
            "(FAULT ? opened[15:0] != node[15:0] : opened[19:0] != node)",
        )],
    ),
    (
        "bits 19:16 of the node of an acknowledgement (CL-1)",
        &[(
            "assign m_ak_node = acks_m_data[19:0]",
            "assign m_ak_node = FAULT ? {4'd0, acks_m_data[15:0]} : acks_m_data[19:0]",
        )],
    ),
    (
        "an acknowledgement that loses the mark of its request (CL-4)",
        &[(
            "assign m_ak_marked = acks_m_data[164]",
            "assign m_ak_marked = acks_m_data[164] & !FAULT",
        )],
    ),
    (
        "a read that failed is sent",
        &[("if (rd_error)", "if (rd_error & !FAULT)")],
    ),
];

/// All of them in one design; input `fault` of its top module chooses one, counted from 1.
fn library() -> Verilated {
    let design = emit_block(&mut CardOneSided::<3, 5>::default()).unwrap();
    let mut files = design.files();
    let top = &design.top;
    for (i, (name, pieces)) in FAULTS.iter().enumerate() {
        for (right, wrong) in *pieces {
            let chosen = format!("({top}.fault == 8'd{})", i + 1);
            let (_, text) = files
                .iter_mut()
                .find(|(_, text)| text.contains(right))
                .unwrap_or_else(|| panic!("{name}: {right} is nowhere"));
            *text = text.replace(right, &wrong.replace("FAULT", &chosen));
        }
    }
    let head = format!("module {top} (");
    for (_, text) in &mut files {
        *text = text.replace(&head, &format!("{head}\n    input wire [7:0] fault,"));
    }
    verilate(top, &files)
}

#[test]
fn xud_13_wrong_blocks_are_noticed() {
    let library = library();
    for fault in 0..=FAULTS.len() {
        let noticed = (0..3).any(|seed| {
            let run = catch_unwind(AssertUnwindSafe(|| {
                let mut world = World::of(&library, seed, BUSY);
                world.rtl.set("fault", fault as u64);
                traffic(&mut world, 100)
            }));
            !matches!(run, Ok(Ok(())))
        });
        let name = fault.checked_sub(1).map_or("none", |i| FAULTS[i].0);
        assert_eq!(noticed, fault > 0, "{name}");
        println!("noticed: {name}");
    }
}
