//! Simple dual-port memory with the output register of a block RAM.

use crate::prelude::*;

hdl_module! {
    /// Simple dual-port memory with an output register, one write port and one read port.
    /// Latency: rd_data is the word at rd_addr two clocks later. A word read in the very
    /// clock in which it is written is undefined: whoever may do that must forward it.
    /// On AMD parts synthesis folds the second register into the block RAM. For ECP5
    /// define TRIBUTARY_ECP5: yosys does not infer the register of DP16KD (5.8 ns to the
    /// output without it, 1.0 ns with it), so the primitive is instantiated.
    pub struct RamReg<const D: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Read address.
        pub rd_addr: Signal<In, Bits<A>>,
        /// Word at rd_addr, two clocks later.
        pub rd_data: Signal<Out, Bits<D>>,
        /// Write wr_data to wr_addr.
        pub wr_en: Signal<In, Bit>,
        /// Write address.
        pub wr_addr: Signal<In, Bits<A>>,
        /// Word to write.
        pub wr_data: Signal<In, Bits<D>>,
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
            let read = self.rd_addr.val().index();
            self.rd_data.next = self._array_out;
            self._array_out = self._words[read];
            if self.wr_en.val() {
                let write = self.wr_addr.val().index();
                if write == read {
                    // Undefined in hardware: complemented here, so that a missing forward shows.
                    self._array_out = !self._array_out;
                }
                self._words[write] = self.wr_data.val();
            }
        }
    }

    fn connect(&mut self) {
        self.rd_data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "`ifdef TRIBUTARY_ECP5\n{}\n`else\n{}\n`endif",
            ecp5(D, A),
            inferred(D, A)
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("ram_reg_w{D}_d{}", 1usize << A)).into_timing()
    }
}

/// Block RAM as every other tool infers it. The collision rule of the block's
/// documentation is simulated as a complemented word.
fn inferred(d: usize, a: usize) -> String {
    format!(
        "\
(* ram_style = \"block\", no_rw_check *)
reg [{top}:0] mem [0:{last}];
reg [{top}:0] array_out;

integer i;
initial begin
    for (i = 0; i < {words}; i = i + 1) begin
        mem[i] = {d}'d0;
    end
    array_out = {d}'d0;
    rd_data = {d}'d0;
end

always @(posedge clk) begin
    if (wr_en) begin
        mem[wr_addr] <= wr_data;
    end
    array_out <= mem[rd_addr];
`ifdef TRIBUTARY_RAM_COLLISION
    if (wr_en && wr_addr == rd_addr) begin
        array_out <= ~mem[rd_addr];
    end
`endif
    rd_data <= array_out;
end",
        top = d - 1,
        last = (1usize << a) - 1,
        words = 1usize << a,
    )
}

/// Columns of DP16KD: port A writes, port B reads through its output register.
/// A column of `width` bits takes the word address above the bits that select
/// within 18 bits (ECP5 Memory Usage Guide, FPGA-TN-02204).
fn ecp5(d: usize, a: usize) -> String {
    let (width, low) = match a {
        0..=10 => (18, 4),
        11 => (9, 3),
        12 => (4, 2),
        13 => (2, 1),
        _ => (1, 0),
    };
    let columns = d.div_ceil(width);
    let pad = columns * width - d;
    let padding = if pad == 0 {
        String::new()
    } else {
        format!("{pad}'d0, ")
    };
    let address = |port: &str, signal: &str| {
        let bits: Vec<String> = (0..14)
            .map(|pin| {
                let net = if pin >= low && pin - low < a {
                    if a == 1 {
                        signal.to_owned()
                    } else {
                        format!("{signal}[{}]", pin - low)
                    }
                } else if low == 4 && pin < 2 && port == "A" {
                    "1'b1".to_owned() // byte enables of an 18-bit write
                } else {
                    "1'b0".to_owned()
                };
                format!(".AD{port}{pin}({net})")
            })
            .collect();
        bits.join(", ")
    };
    let data_in: Vec<String> = (0..18)
        .map(|pin| {
            if pin < width {
                format!(".DIA{pin}(wr_word[{width} * g + {pin}])")
            } else {
                format!(".DIA{pin}(1'b0)")
            }
        })
        .collect();
    let data_out: Vec<String> = (0..width)
        .map(|pin| format!(".DOB{pin}(rd_word[{width} * g + {pin}])"))
        .collect();
    format!(
        "\
wire [{wide}:0] wr_word = {{{padding}wr_data}};
wire [{wide}:0] rd_word;

always @(*) begin
    rd_data = rd_word[{top}:0];
end

genvar g;
generate
    for (g = 0; g < {columns}; g = g + 1) begin : column
        DP16KD #(
            .DATA_WIDTH_A({width}), .DATA_WIDTH_B({width}),
            .REGMODE_A(\"NOREG\"), .REGMODE_B(\"OUTREG\"),
            .WRITEMODE_A(\"NORMAL\"), .WRITEMODE_B(\"NORMAL\"),
            .RESETMODE(\"SYNC\"), .GSR(\"DISABLED\")
        ) ram (
            .CLKA(clk), .CEA(1'b1), .OCEA(1'b1), .WEA(wr_en), .RSTA(1'b0),
            .CSA0(1'b0), .CSA1(1'b0), .CSA2(1'b0),
            {wr_address},
            {data_in},
            .CLKB(clk), .CEB(1'b1), .OCEB(1'b1), .WEB(1'b0), .RSTB(1'b0),
            .CSB0(1'b0), .CSB1(1'b0), .CSB2(1'b0),
            {rd_address},
            {data_out}
        );
    end
endgenerate",
        wide = columns * width - 1,
        top = d - 1,
        wr_address = address("A", "wr_addr"),
        rd_address = address("B", "rd_addr"),
        data_in = data_in.join(", "),
        data_out = data_out.join(", "),
    )
}
