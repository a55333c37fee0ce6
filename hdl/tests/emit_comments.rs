//! Every comment of a kernel stands in its Verilog.

#![allow(missing_docs)]

use tributary_hdl::catalog::PRESETS;
use tributary_hdl::emit::{Design, emit_block};
use tributary_hdl::prelude::*;

#[test]
fn every_comment_of_every_kernel_reaches_the_verilog_of_every_preset() {
    let mut said = 0;
    for preset in PRESETS {
        for choice in preset.choices().unwrap() {
            let design: Design = choice.emit().unwrap();
            for module in &design.modules {
                let lost = &module.lost;
                assert!(lost.is_empty(), "{}: {lost:#?}", module.file_name());
                said += module.text.matches("    // ").count();
            }
        }
    }
    assert!(said > 1_000, "{said} comments");
}

hdl_module! {
    /// Comments at every kind of place.
    #[module("test_talkative")]
    pub struct Talkative {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// What to do.
        pub op: Signal<In, Bits<2>>,
        /// Words.
        pub words: [Signal<In, Bits<4>>; 2],
        /// Sum.
        pub sum: Signal<Out, Bits<4>>,
        count: DFF<Bits<4>>,
        #[reset] other: DFF<Bits<4>>,
        kept: [DFF<Bits<4>>; 2],
        last: Signal<Local, Bit>,
    }
}

impl Logic for Talkative {
    #[hdl_gen]
    fn update(&mut self) {
        // Before the registers.
        for i in 0..2 {
            // Once for all of the loop.
            self.kept[i].d.next = self.words[i].val();
        }
        // A wire, "quoted" and with a back\slash.
        self.last.next = self.op.val() == 3;
        // Before a decision about two registers.
        if self.last.val() {
            // Within it.
            self.count.d.next = self.count.q.val() + 1;
            self.other.d.next = self.count.q.val();
        } else if self.op.val() == 2 {
            // In the other branch.
            self.other.d.next = self.kept[1].q.val();
        }
        match self.op.val().index() {
            // Before an arm.
            0 => {
                self.sum.next = self.count.q.val();
            }
            1 => {
                // In an arm.
                self.sum.next = self.other.q.val();
            }
            _ => {
                self.sum.next = self.kept[0].q.val();
            }
        }
        // Before the reset,
        // on two lines.
        if self.rst.val() {
            // In the reset.
            self.count.d.next = 3.into();
        }
    }
}

#[test]
fn comments_stand_before_what_they_speak_of() {
    let design = emit_block(&mut Talkative::default()).unwrap();
    let module = &design.modules[0];
    assert!(module.lost.is_empty(), "{:?}", module.lost);
    insta::assert_snapshot!("talkative", module.text);
}
