//! Simple dual-port memory with the output register of a block RAM.

use crate::bus::{RamReadIn, RamWriteIn};
use crate::prelude::*;

hdl_module! {
    /// Simple dual-port memory with an output register, one write port and one read port.
    /// Latency: rd_data is the word at rd_addr two clocks later. A word read in the very
    /// clock in which it is written is undefined: whoever may do that must forward it.
    /// On AMD parts synthesis folds the second register into the block RAM. For ECP5
    /// define TRIBUTARY_ECP5: yosys does not infer the register of the block RAM (5.8 ns to
    /// the output without it, 1.0 ns with it), so the primitive is instantiated: PDPW16KD, 36
    /// bits wide, up to 512 words, DP16KD beyond. Memories of up to 16 words of up to 256 bits lie in LUTs there.
    #[module("ram_reg")]
    pub struct RamReg<const D: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Read port: the word comes two clocks later.
        pub rd: RamReadIn<D, A>,
        /// Write port.
        pub wr: RamWriteIn<D, A>,
        _words: Vec<Bits<D>>,
        _array_out: Bits<D>
    }
}

impl<const D: usize, const A: usize> Logic for RamReg<D, A> {
    fn update(&mut self) {
        if self._words.is_empty() {
            self._words = vec![Bits::default(); 1 << A];
        }
        if self.clk.pos_edge() {
            let read = self.rd.addr.val().index();
            self.rd.data.next = self._array_out;
            self._array_out = self._words[read];
            if self.wr.en.val() {
                let write = self.wr.addr.val().index();
                if write == read {
                    // Undefined in hardware: complemented here, so that a missing forward shows.
                    self._array_out = !self._array_out;
                }
                self._words[write] = self.wr.data.val();
            }
        }
    }

    fn connect(&mut self) {
        self.rd.data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(either(None, None))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        ram_parameters(Self::module_info(), D, A).into_timing()
    }
}

/// Parameters of a memory of 2^`a` words of `d` bits.
pub(super) fn ram_parameters(info: ModuleInfo, d: usize, a: usize) -> ModuleInfo {
    info.parameter("W", d, "bits of a word", &["rd_data", "wr_data"])
        .parameter(
            "A",
            a,
            "bits of an address: 2^A words",
            &["rd_addr", "wr_addr"],
        )
}

/// The primitives of ECP5, or what other tools infer block RAM from; `array` enables reading, `out` the output register.
pub(super) fn either(array: Option<&str>, out: Option<&str>) -> String {
    let indent = " ".repeat(12);
    let read = enabled(array, "array_out <= mem[rd_addr];", &indent);
    let ecp5 = ECP5
        .replace("READ_ARRAY", &read)
        .replace("READ_OUT", &enabled(out, "out <= array_out;", &indent))
        .replace("ARRAY_EN", array.unwrap_or("1'b1"))
        .replace("OUT_EN", out.unwrap_or("1'b1"));
    let inferred = inferred(array, out);
    format!("`ifdef TRIBUTARY_ECP5\n{ecp5}\n`else\n{inferred}\n`endif")
}

/// A statement at this indentation, under its enable if it has one.
fn enabled(enable: Option<&str>, statement: &str, indent: &str) -> String {
    match enable {
        Some(enable) => format!("if ({enable}) begin\n{indent}    {statement}\n{indent}end"),
        None => statement.to_owned(),
    }
}

/// Block RAM as every other tool infers it. The collision rule of the block's
/// documentation is simulated as a complemented word.
fn inferred(array: Option<&str>, out: Option<&str>) -> String {
    format!(
        "\
(* ram_style = \"block\", no_rw_check *)
reg [W-1:0] mem [0:(1 << A)-1];
reg [W-1:0] array_out;

integer i;
initial begin
    for (i = 0; i < (1 << A); i = i + 1) begin
        mem[i] = {{W{{1'b0}}}};
    end
    array_out = {{W{{1'b0}}}};
    rd_data = {{W{{1'b0}}}};
end

always @(posedge clk) begin
    if (wr_en) begin
        mem[wr_addr] <= wr_data;
    end
    {read}
`ifdef TRIBUTARY_RAM_COLLISION
    if ({collides}) begin
        array_out <= ~mem[rd_addr];
    end
`endif
    {out}
end",
        read = enabled(array, "array_out <= mem[rd_addr];", "    "),
        collides = match array {
            Some(enable) => format!("{enable} && wr_en && wr_addr == rd_addr"),
            None => "wr_en && wr_addr == rd_addr".to_owned(),
        },
        out = enabled(out, "rd_data <= array_out;", "    "),
    )
}

/// Memories of ECP5. Up to 16 words of up to 256 bits in LUTs, beyond block RAMs beside each other. Up to 512 words PDPW16KD, 36 bits wide: the halves of a word leave it exchanged,
/// and the pins of the read address begin at 5. Beyond DP16KD, half as wide: port A writes, port B reads through its output
/// register, and a column takes the word address above the bits that select within 18 bits; pins 0 and 1 are byte enables
/// of an 18-bit write (ECP5 Memory Usage Guide, FPGA-TN-02204).
const ECP5: &str = include_str!("ram_reg_ecp5.v");
