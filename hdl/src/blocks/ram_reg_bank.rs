//! Words of several fields in one memory.

use super::ram_reg::{ecp5, inferred};
use crate::prelude::*;

hdl_module! {
    /// Simple dual-port memory with an output register for words of several equal fields, side by
    /// side in as few block RAMs as hold them. Latency: rd_data is the word at rd_addr two
    /// clocks later. A word read in the very clock in which it is written is undefined.
    /// Block RAM as in ram_reg.
    pub struct RamRegBank<const D: usize, const N: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Read address.
        pub rd_addr: Signal<In, Bits<A>>,
        /// Word at rd_addr, two clocks later.
        pub rd_data: Bank<Signal<Out, Bits<D>>, N>,
        /// Write wr_data to wr_addr.
        pub wr_en: Signal<In, Bit>,
        /// Write address.
        pub wr_addr: Signal<In, Bits<A>>,
        /// Word to write.
        pub wr_data: Bank<Signal<In, Bits<D>>, N>,
        _words: Vec<Bits<D>>,
        _array_out: Vec<Bits<D>>
    }
}

impl<const D: usize, const N: usize, const A: usize> Logic for RamRegBank<D, N, A> {
    fn update(&mut self) {
        if self._words.is_empty() {
            self._words = vec![Bits::default(); N << A];
            self._array_out = vec![Bits::default(); N];
        }
        if self.clk.pos_edge() {
            let read = self.rd_addr.val().index();
            let write = self.wr_addr.val().index();
            for i in 0..N {
                self.rd_data[i].next = self._array_out[i];
                self._array_out[i] = self._words[N * read + i];
                if self.wr_en.val() {
                    if write == read {
                        // Undefined in hardware: complemented here.
                        self._array_out[i] = !self._array_out[i];
                    }
                    self._words[N * write + i] = self.wr_data[i].val();
                }
            }
        }
    }

    fn connect(&mut self) {
        for i in 0..N {
            self.rd_data[i].connect();
        }
    }

    fn hdl(&self) -> Verilog {
        let top = N * D - 1;
        let fields: Vec<String> = (0..N).rev().map(|i| format!("wr_data_{i}")).collect();
        let outputs: String = (0..N)
            .map(|i| {
                let (high, low) = (D * i + D - 1, D * i);
                format!("    rd_data_{i} = rd_data[{high}:{low}];\n")
            })
            .collect();
        Verilog::Custom(format!(
            "wire [{top}:0] wr_data = {{{}}};\nreg [{top}:0] rd_data;\n\n\
             always @(*) begin\n{outputs}end\n\n\
             `ifdef TRIBUTARY_ECP5\n{}\n`else\n{}\n`endif",
            fields.join(", "),
            ecp5(N * D, A, "1'b1", "1'b1"),
            inferred(N * D, A, None, None)
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("ram_reg_bank_w{D}_n{N}_d{}", 1usize << A)).into_timing()
    }
}
