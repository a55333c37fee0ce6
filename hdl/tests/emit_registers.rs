//! Registers, resets and small blocks: proven equivalent to rust-hdl's own Verilog.
#![allow(missing_docs)]

mod emit_support;

use emit_support::cosim::{assert_equivalent, assert_netlist_same, assert_same};
use emit_support::tools::{self, Family};
use emit_support::word;
use rand::RngExt;
use tributary_hdl::prelude::*;

hdl_module! {
    /// Counts while enabled.
    #[module("test_counter_w{N}")]
    pub struct Counter<const N: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Counts while high.
        pub en: Signal<In, Bit>,
        /// Value after reset.
        pub start: Signal<In, Bits<N>>,
        /// Loads `start`.
        pub load: Signal<In, Bit>,
        /// The count.
        pub count: Signal<Out, Bits<N>>,
        /// The count wraps at the next clock.
        pub wraps: Signal<Out, Bit>,
        /// The count of the last clock.
        pub previous: Signal<Out, Bits<N>>,
        /// Running count.
        value: DFF<Bits<N>>,
        /// Last count.
        last: DFF<Bits<N>>
    }
}

impl<const N: usize> Logic for Counter<N> {
    #[hdl_gen]
    fn update(&mut self) {
        // rust-hdl's own writer knows nothing of what connects itself.
        dff_setup!(self, clk, value, last);
        if self.load.val() {
            self.value.d.next = self.start.val();
        } else if self.en.val() {
            self.value.d.next = self.value.q.val() + 1;
        }
        self.last.d.next = self.value.q.val();
        self.count.next = self.value.q.val();
        self.previous.next = self.last.q.val();
        self.wraps.next = self.en.val() & (self.value.q.val().all());
        if self.rst.val() {
            self.value.d.next = 0.into();
            self.last.d.next = 0.into();
        }
    }
}

#[test]
fn a_counter_is_equivalent_to_rust_hdls_own_verilog() {
    let design = assert_equivalent("counter", Counter::<6>::default());
    insta::assert_snapshot!("counter", design.to_text());
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Light {
    Red,
    Green,
    Amber,
}

hdl_module! {
    /// A machine whose reset also clears an output, and whose next state is an output.
    #[module("test_lights")]
    pub struct Lights {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Time to change.
        pub tick: Signal<In, Bit>,
        /// Lights of now.
        pub red: Signal<Out, Bit>,
        /// Ready to go.
        pub go: Signal<Out, Bit>,
        /// Changes at the next clock.
        pub changing: Signal<Out, Bit>,
        /// Which light is on.
        light: DFF<Light>,
        /// Ticks seen.
        ticks: DFF<Bits<4>>
    }
}

impl Logic for Lights {
    #[hdl_gen]
    fn update(&mut self) {
        self.go.next = false;
        match self.light.q.val() {
            Light::Red => {
                if self.tick.val() {
                    self.light.d.next = Light::Green;
                }
            }
            Light::Green => {
                self.go.next = true;
                if self.tick.val() {
                    self.light.d.next = Light::Amber;
                    self.ticks.d.next = self.ticks.q.val() + 1;
                }
            }
            Light::Amber => {
                self.light.d.next = Light::Red;
            }
        }
        self.red.next = self.light.q.val() == Light::Red;
        self.changing.next = self.light.q.val() != self.light.d.val() || self.ticks.q.val() == 9;
        if self.rst.val() {
            self.light.d.next = Light::Red;
            self.ticks.d.next = 3.into();
            self.go.next = false;
        }
    }
}

#[test]
fn a_reset_that_also_clears_outputs_and_a_read_next_state_run_as_in_rust() {
    let design = assert_same(
        "lights",
        Lights::default(),
        1000,
        |b, rng| {
            b.rst.next = rng.random_range(0..20) == 0;
            b.tick.next = rng.random();
        },
        |b, level| b.clk.next = level.into(),
    );
    insta::assert_snapshot!("lights", design.to_text());
}

hdl_module! {
    /// Two clocks, and registers that only follow.
    #[module("test_two_clocks")]
    pub struct TwoClocks {
        /// Write clock.
        pub clk_a: Signal<In, Clock>,
        /// Read clock.
        pub clk_b: Signal<In, Clock>,
        /// Word.
        pub d: Signal<In, Bits<3>>,
        /// Word, two clocks of `clk_b` later.
        pub q: Signal<Out, Bits<3>>,
        /// Held in the write clock.
        hold: DFF<Bits<3>>,
        /// First stage.
        sync: [DFF<Bits<3>>; 2]
    }
}

impl Logic for TwoClocks {
    #[hdl_gen]
    fn update(&mut self) {
        self.hold.clock.next = self.clk_a.val();
        self.hold.d.next = self.d.val();
        for i in 0..2 {
            self.sync[i].clock.next = self.clk_b.val();
        }
        self.sync[0].d.next = self.hold.q.val();
        self.sync[1].d.next = self.sync[0].q.val();
        self.q.next = self.sync[1].q.val();
    }
}

#[test]
fn each_clock_gets_one_clocked_block() {
    let design = assert_equivalent("two_clocks", TwoClocks::default());
    let text = &design.modules[0].text;
    assert_eq!(text.matches("always @(posedge").count(), 2, "{text}");
    assert!(text.contains("sync_1_reg <= sync_0_reg;"), "{text}");
}

hdl_module! {
    /// Arithmetic that rust-hdl's own writer gets right.
    #[module("test_alu")]
    pub struct Alu {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// First operand.
        pub a: Signal<In, Bits<6>>,
        /// Second operand.
        pub b: Signal<In, Bits<6>>,
        /// Operation.
        pub op: Signal<In, Bits<2>>,
        /// Result, one clock later.
        pub y: Signal<Out, Bits<6>>,
        /// Result.
        result: DFF<Bits<6>>
    }
}

impl Logic for Alu {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, result);
        if self.op.val() == 0 {
            self.result.d.next = self.a.val() + self.b.val();
        } else if self.op.val() == 1 {
            self.result.d.next = self.a.val() - self.b.val();
        } else if self.op.val() == 2 {
            self.result.d.next = self.a.val() ^ self.b.val();
        }
        self.y.next = self.result.q.val();
    }
}

#[test]
fn an_alu_is_equivalent_to_rust_hdls_own_verilog_and_synthesises() {
    let design = assert_equivalent("alu", Alu::default());
    tools::assert_synthesise(
        &[design],
        &[Family::Ecp5, Family::Xilinx],
        &tools::scratch("alu_synth"),
    );
}

#[test]
fn a_counter_runs_as_in_rust() {
    assert_same(
        "counter_run",
        Counter::<70>::default(),
        500,
        |b, rng| {
            b.rst.next = rng.random_range(0..40) == 0;
            b.load.next = rng.random_range(0..10) == 0;
            b.en.next = rng.random();
            b.start.next = word(rng);
        },
        |b, level| b.clk.next = level.into(),
    );
}

hdl_module! {
    /// A round of lights that shows nothing before its first reset, described in a line that is too long for a comment of
    /// Verilog and goes on in the next: what is left of the first line has to flow into it.
    /// This sentence has a line of its own.
    #[module("test_round")]
    pub struct Round {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Time to change.
        pub tick: Signal<In, Bit>,
        /// Red.
        pub red: Signal<Out, Bit>,
        /// The light before was amber.
        pub amber: Signal<Out, Bit>,
        /// It has been reset.
        began: DFF<Bit>,
        /// Which light is on.
        light: DFF<Light>,
        /// The one before; never reset.
        before: DFF<Light>
    }
}

impl Logic for Round {
    #[hdl_gen]
    fn update(&mut self) {
        if self.tick.val() {
            self.before.d.next = self.light.q.val();
        }
        match self.light.q.val() {
            Light::Red => {
                if self.tick.val() {
                    self.light.d.next = Light::Green;
                }
            }
            Light::Green => {
                if self.tick.val() {
                    self.light.d.next = Light::Amber;
                }
            }
            Light::Amber => {
                self.light.d.next = Light::Red;
            }
        }
        self.red.next = self.began.q.val() & (self.light.q.val() == Light::Red);
        self.amber.next = self.before.q.val() == Light::Amber;
        if self.rst.val() {
            self.began.d.next = true;
            self.light.d.next = Light::Red;
        }
    }
}

#[test]
fn states_that_a_reset_sets_may_be_encoded_anew_and_headers_flow() {
    let mut first = true;
    let design = assert_same(
        "round",
        Round::default(),
        400,
        |b, rng| {
            b.rst.next = first || rng.random_range(0..20) == 0;
            b.tick.next = !first && rng.random();
            first = false;
        },
        |b, level| b.clk.next = level.into(),
    );
    let text = design.to_text();
    let free = "(* fsm_encoding = \"auto\" *)\n    reg  [1:0] light_reg;";
    assert!(text.contains(free), "{text}");
    assert_eq!(text.matches("fsm_encoding").count(), 1, "{text}");
    // The codes are others behind synthesis, what the lights do is not.
    let said = assert_netlist_same("round", &design);
    assert!(said.contains("Extracting FSM `\\light_reg'"), "{said}");
    let header: Vec<&str> = text.lines().skip(2).take(4).collect();
    assert_eq!(
        header,
        [
            "// A round of lights that shows nothing before its first reset, described in a line that is too long",
            "// for a comment of Verilog and goes on in the next: what is left of the first line has to flow into",
            "// it.",
            "// This sentence has a line of its own.",
        ]
    );
}
