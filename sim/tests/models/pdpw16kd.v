// Behaviour of the ECP5 block RAM PDPW16KD as Tributary uses it: 512 words of 36 bits, one write
// port, one read port with output register. DO has the halves of the word exchanged.
`timescale 1ns/1ps
`default_nettype none
/* verilator lint_off DECLFILENAME */
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */
/* verilator lint_off PINMISSING */
module PDPW16KD #(
    parameter DATA_WIDTH_W = 36,
    parameter DATA_WIDTH_R = 36,
    parameter REGMODE = "NOREG",
    parameter RESETMODE = "SYNC",
    parameter GSR = "ENABLED"
) (
    input wire CLKW, input wire CEW, input wire RST,
    input wire BE0, input wire BE1, input wire BE2, input wire BE3,
    input wire CSW0, input wire CSW1, input wire CSW2,
    input wire ADW0, input wire ADW1, input wire ADW2, input wire ADW3, input wire ADW4, input wire ADW5, input wire ADW6, input wire ADW7, input wire ADW8,
    input wire DI0, input wire DI1, input wire DI2, input wire DI3, input wire DI4, input wire DI5, input wire DI6, input wire DI7, input wire DI8, input wire DI9, input wire DI10, input wire DI11, input wire DI12, input wire DI13, input wire DI14, input wire DI15, input wire DI16, input wire DI17, input wire DI18, input wire DI19, input wire DI20, input wire DI21, input wire DI22, input wire DI23, input wire DI24, input wire DI25, input wire DI26, input wire DI27, input wire DI28, input wire DI29, input wire DI30, input wire DI31, input wire DI32, input wire DI33, input wire DI34, input wire DI35,
    input wire CLKR, input wire CER, input wire OCER,
    input wire CSR0, input wire CSR1, input wire CSR2,
    input wire ADR0, input wire ADR1, input wire ADR2, input wire ADR3, input wire ADR4, input wire ADR5, input wire ADR6, input wire ADR7, input wire ADR8, input wire ADR9, input wire ADR10, input wire ADR11, input wire ADR12, input wire ADR13,
    output wire DO0, output wire DO1, output wire DO2, output wire DO3, output wire DO4, output wire DO5, output wire DO6, output wire DO7, output wire DO8, output wire DO9, output wire DO10, output wire DO11, output wire DO12, output wire DO13, output wire DO14, output wire DO15, output wire DO16, output wire DO17, output wire DO18, output wire DO19, output wire DO20, output wire DO21, output wire DO22, output wire DO23, output wire DO24, output wire DO25, output wire DO26, output wire DO27, output wire DO28, output wire DO29, output wire DO30, output wire DO31, output wire DO32, output wire DO33, output wire DO34, output wire DO35
);
    wire [3:0]  enable = {BE3, BE2, BE1, BE0};
    wire [8:0]  wr_word = {ADW8, ADW7, ADW6, ADW5, ADW4, ADW3, ADW2, ADW1, ADW0};
    wire [13:0] rd_bits = {ADR13, ADR12, ADR11, ADR10, ADR9, ADR8, ADR7, ADR6, ADR5, ADR4, ADR3, ADR2, ADR1, ADR0};
    wire [35:0] data = {DI35, DI34, DI33, DI32, DI31, DI30, DI29, DI28, DI27, DI26, DI25, DI24, DI23, DI22, DI21, DI20, DI19, DI18, DI17, DI16, DI15, DI14, DI13, DI12, DI11, DI10, DI9, DI8, DI7, DI6, DI5, DI4, DI3, DI2, DI1, DI0};
    reg  [35:0] array [0:511];
    reg  [35:0] array_out;
    reg  [35:0] out;
    wire [35:0] word = (REGMODE == "OUTREG") ? out : array_out;
    assign {DO35, DO34, DO33, DO32, DO31, DO30, DO29, DO28, DO27, DO26, DO25, DO24, DO23, DO22, DO21, DO20, DO19, DO18, DO17, DO16, DO15, DO14, DO13, DO12, DO11, DO10, DO9, DO8, DO7, DO6, DO5, DO4, DO3, DO2, DO1, DO0} = {word[17:0], word[35:18]};

    integer i;
    initial begin
        for (i = 0; i < 512; i = i + 1) array[i] = 36'd0;
        array_out = 36'd0;
        out = 36'd0;
    end
    always @(posedge CLKW) begin
        for (i = 0; i < 4; i = i + 1) begin
            if (CEW && enable[i] && !CSW0 && !CSW1 && !CSW2) array[wr_word][9*i +: 9] <= data[9*i +: 9];
        end
    end
    always @(posedge CLKR) begin
        if (CER && !CSR0 && !CSR1 && !CSR2) array_out <= array[rd_bits[13:5]];
        if (OCER) out <= array_out;
    end
endmodule
`default_nettype wire
