//! Pads of ECP5 that carry two bits a clock: the cells, and models of them for simulation (`cells/`).

use crate::prelude::*;

hdl_module! {
    /// W pads that bring two bits a clock, each behind a delay of DELAY steps of 25 ps. With TRIBUTARY_ECP5 defined these
    /// are the cells DELAYG and IDDRX1F; otherwise a model of them, without the delay.
    /// Latency: what stood at the pads at a rising edge, and at the falling one behind it, is at rise and fall from the
    /// next rising edge on.
    #[module("ddr_pads_in")]
    pub struct Ecp5DdrIn<const W: usize, const DELAY: usize> {
        /// Clock that comes with the bits.
        pub clk: Signal<In, Clock>,
        /// Pads.
        pub pads: Signal<In, Bits<W>>,
        /// Bits of the rising edge.
        pub rise: Signal<Out, Bits<W>>,
        /// Bits of the falling edge behind it.
        pub fall: Signal<Out, Bits<W>>,
        _at: Vec<Bits<W>>
    }
}

impl<const W: usize, const DELAY: usize> Logic for Ecp5DdrIn<W, DELAY> {
    fn update(&mut self) {
        if self._at.is_empty() {
            self._at = vec![Bits::default(); 2];
        }
        if self.clk.pos_edge() {
            self.rise.next = self._at[0];
            self.fall.next = self._at[1];
            self._at[0] = self.pads.val();
        }
        if self.clk.neg_edge() {
            self._at[1] = self.pads.val();
        }
    }

    fn connect(&mut self) {
        self.rise.connect();
        self.fall.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(include_str!("cells/ddr_in.v").trim_end().into())
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info()
            .parameter("W", W, "pads", &["pads", "rise", "fall"])
            .parameter("DELAY", DELAY, "steps of 25 ps", &[])
            .into_timing()
    }
}

hdl_module! {
    /// W pads that give two bits a clock, each through a delay of DELAY steps of 25 ps. With TRIBUTARY_ECP5 defined these
    /// are the cells ODDRX1F and DELAYG; otherwise a model of them, without the delay.
    /// Latency: rise and fall of a rising edge are at the pads in the first and in the second half of the clock behind it.
    #[module("ddr_pads_out")]
    pub struct Ecp5DdrOut<const W: usize, const DELAY: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Bits of the first half of a clock.
        pub rise: Signal<In, Bits<W>>,
        /// Bits of the second half.
        pub fall: Signal<In, Bits<W>>,
        /// Pads.
        pub pads: Signal<Out, Bits<W>>,
        _second: Bits<W>
    }
}

impl<const W: usize, const DELAY: usize> Logic for Ecp5DdrOut<W, DELAY> {
    fn update(&mut self) {
        if self.clk.pos_edge() {
            self.pads.next = self.rise.val();
            self._second = self.fall.val();
        }
        if self.clk.neg_edge() {
            self.pads.next = self._second;
        }
    }

    fn connect(&mut self) {
        self.pads.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(include_str!("cells/ddr_out.v").trim_end().into())
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info()
            .parameter("W", W, "pads", &["pads", "rise", "fall"])
            .parameter("DELAY", DELAY, "steps of 25 ps", &[])
            .into_timing()
    }
}
