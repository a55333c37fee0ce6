//! Simple dual-port memory with the output register of a block RAM.

use crate::prelude::*;

hdl_module! {
    /// Simple dual-port memory with an output register, one write port and one read port.
    /// Latency: rd_data is the word at rd_addr two clocks later. A word read in the very
    /// clock in which it is written is undefined: whoever may do that must forward it.
    /// On AMD parts synthesis folds the second register into the block RAM. For ECP5
    /// define TRIBUTARY_ECP5: yosys does not infer the register of the block RAM (5.8 ns to
    /// the output without it, 1.0 ns with it), so the primitive is instantiated: PDPW16KD, 36
    /// bits wide, up to 512 words, DP16KD beyond.
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
            ecp5(D, A, "1'b1", "1'b1"),
            inferred(D, A, None, None)
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("ram_reg_w{D}_d{}", 1usize << A)).into_timing()
    }
}

/// Block RAM as every other tool infers it. The collision rule of the block's
/// documentation is simulated as a complemented word.
pub(super) fn inferred(d: usize, a: usize, array: Option<&str>, out: Option<&str>) -> String {
    let enabled = |enable: Option<&str>, statement: &str| match enable {
        Some(enable) => format!("if ({enable}) begin\n        {statement}\n    end"),
        None => statement.to_owned(),
    };
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
    {read}
`ifdef TRIBUTARY_RAM_COLLISION
    if ({collides}) begin
        array_out <= ~mem[rd_addr];
    end
`endif
    {out}
end",
        top = d - 1,
        last = (1usize << a) - 1,
        words = 1usize << a,
        read = enabled(array, "array_out <= mem[rd_addr];"),
        collides = match array {
            Some(enable) => format!("{enable} && wr_en && wr_addr == rd_addr"),
            None => "wr_en && wr_addr == rd_addr".to_owned(),
        },
        out = enabled(out, "rd_data <= array_out;"),
    )
}

/// Block RAM of ECP5; `array` enables reading, `enable` the output register.
pub(super) fn ecp5(d: usize, a: usize, array: &str, enable: &str) -> String {
    if a <= 9 {
        wide(d, a, array, enable)
    } else {
        deep(d, a, array, enable)
    }
}

/// Columns of DP16KD: port A writes, port B reads through its output register.
/// A column of `width` bits takes the word address above the bits that select
/// within 18 bits (ECP5 Memory Usage Guide, FPGA-TN-02204).
fn deep(d: usize, a: usize, array: &str, enable: &str) -> String {
    let (width, low) = match a {
        0..=10 => (18, 4),
        11 => (9, 3),
        12 => (4, 2),
        13 => (2, 1),
        _ => (1, 0),
    };
    let columns = d.div_ceil(width);
    let address = |port: &str, signal: &str| {
        let bits: Vec<String> = (0..14)
            .map(|pin| {
                let net = if pin >= low && pin - low < a {
                    bit(signal, a, pin - low)
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
    let ram = format!(
        "        DP16KD #(
            .DATA_WIDTH_A({width}), .DATA_WIDTH_B({width}),
            .REGMODE_A(\"NOREG\"), .REGMODE_B(\"OUTREG\"),
            .WRITEMODE_A(\"NORMAL\"), .WRITEMODE_B(\"NORMAL\"),
            .RESETMODE(\"SYNC\"), .GSR(\"DISABLED\")
        ) ram (
            .CLKA(clk), .CEA(1'b1), .OCEA(1'b1), .WEA(wr_en), .RSTA(1'b0),
            .CSA0(1'b0), .CSA1(1'b0), .CSA2(1'b0),
            {wr_address},
            {data_in},
            .CLKB(clk), .CEB({array}), .OCEB({enable}), .WEB(1'b0), .RSTB(1'b0),
            .CSB0(1'b0), .CSB1(1'b0), .CSB2(1'b0),
            {rd_address},
            {data_out}
        );",
        wr_address = address("A", "wr_addr"),
        rd_address = address("B", "rd_addr"),
        data_in = data_in.join(", "),
        data_out = data_out.join(", "),
    );
    side_by_side(d, width, columns, &ram)
}

/// Columns of PDPW16KD, up to 512 words of 36 bits: half as many as of DP16KD. The
/// halves of a word leave it exchanged, and the pins of the read address begin at 5.
fn wide(d: usize, a: usize, array: &str, enable: &str) -> String {
    const WIDTH: usize = 36;
    let pins = |name: &str, count: usize, net: &dyn Fn(usize) -> String| {
        let pins: Vec<String> = (0..count)
            .map(|pin| format!(".{name}{pin}({})", net(pin)))
            .collect();
        pins.join(", ")
    };
    let address = |signal: &str, i: usize| {
        if i < a {
            bit(signal, a, i)
        } else {
            "1'b0".to_owned()
        }
    };
    let ram = format!(
        "        PDPW16KD #(
            .DATA_WIDTH_W({WIDTH}), .DATA_WIDTH_R({WIDTH}), .REGMODE(\"OUTREG\"),
            .RESETMODE(\"SYNC\"), .GSR(\"DISABLED\")
        ) ram (
            .CLKW(clk), .CEW(wr_en), .RST(1'b0),
            .BE0(1'b1), .BE1(1'b1), .BE2(1'b1), .BE3(1'b1),
            .CSW0(1'b0), .CSW1(1'b0), .CSW2(1'b0),
            {wr_address},
            {data_in},
            .CLKR(clk), .CER({array}), .OCER({enable}),
            .CSR0(1'b0), .CSR1(1'b0), .CSR2(1'b0),
            {rd_address},
            {data_out}
        );",
        wr_address = pins("ADW", 9, &|pin| address("wr_addr", pin)),
        data_in = pins("DI", WIDTH, &|pin| format!("wr_word[{WIDTH} * g + {pin}]")),
        rd_address = pins("ADR", 14, &|pin| match pin {
            0..5 => "1'b0".to_owned(),
            _ => address("rd_addr", pin - 5),
        }),
        data_out = pins("DO", WIDTH, &|pin| format!(
            "rd_word[{WIDTH} * g + {}]",
            (pin + WIDTH / 2) % WIDTH
        )),
    );
    side_by_side(d, WIDTH, d.div_ceil(WIDTH), &ram)
}

/// Bit `i` of an address of `a` bits.
fn bit(signal: &str, a: usize, i: usize) -> String {
    if a == 1 {
        signal.to_owned()
    } else {
        format!("{signal}[{i}]")
    }
}

/// Block RAMs beside each other, `ram` being the one of column g.
fn side_by_side(d: usize, width: usize, columns: usize, ram: &str) -> String {
    let pad = columns * width - d;
    let padding = if pad == 0 {
        String::new()
    } else {
        format!("{pad}'d0, ")
    };
    format!(
        "\
wire [{top_in}:0] wr_word = {{{padding}wr_data}};
wire [{top_in}:0] rd_word;

always @(*) begin
    rd_data = rd_word[{top}:0];
end

genvar g;
generate
    for (g = 0; g < {columns}; g = g + 1) begin : column
{ram}
    end
endgenerate",
        top_in = columns * width - 1,
        top = d - 1,
    )
}
