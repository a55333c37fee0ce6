// Behaviour of the ECP5 block RAM DP16KD as Tributary uses it: port A writes, port B reads
// through its output register, both of one width. Address bits below the word are byte enables
// at 18 bits and unused otherwise (Lattice FPGA-TN-02204).
`timescale 1ns/1ps
`default_nettype none
/* verilator lint_off DECLFILENAME */
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */
/* verilator lint_off PINMISSING */
module DP16KD #(
    parameter DATA_WIDTH_A = 18,
    parameter DATA_WIDTH_B = 18,
    parameter REGMODE_A = "NOREG",
    parameter REGMODE_B = "NOREG",
    parameter WRITEMODE_A = "NORMAL",
    parameter WRITEMODE_B = "NORMAL",
    parameter RESETMODE = "SYNC",
    parameter GSR = "ENABLED"
) (
    input wire CLKA, input wire CEA, input wire OCEA, input wire WEA, input wire RSTA,
    input wire CSA0, input wire CSA1, input wire CSA2,
    input wire ADA0, input wire ADA1, input wire ADA2, input wire ADA3, input wire ADA4, input wire ADA5, input wire ADA6, input wire ADA7, input wire ADA8, input wire ADA9, input wire ADA10, input wire ADA11, input wire ADA12, input wire ADA13,
    input wire DIA0, input wire DIA1, input wire DIA2, input wire DIA3, input wire DIA4, input wire DIA5, input wire DIA6, input wire DIA7, input wire DIA8, input wire DIA9, input wire DIA10, input wire DIA11, input wire DIA12, input wire DIA13, input wire DIA14, input wire DIA15, input wire DIA16, input wire DIA17,
    input wire CLKB, input wire CEB, input wire OCEB, input wire WEB, input wire RSTB,
    input wire CSB0, input wire CSB1, input wire CSB2,
    input wire ADB0, input wire ADB1, input wire ADB2, input wire ADB3, input wire ADB4, input wire ADB5, input wire ADB6, input wire ADB7, input wire ADB8, input wire ADB9, input wire ADB10, input wire ADB11, input wire ADB12, input wire ADB13,
    output wire DOB0, output wire DOB1, output wire DOB2, output wire DOB3, output wire DOB4, output wire DOB5, output wire DOB6, output wire DOB7, output wire DOB8, output wire DOB9, output wire DOB10, output wire DOB11, output wire DOB12, output wire DOB13, output wire DOB14, output wire DOB15, output wire DOB16, output wire DOB17
);
    localparam LOW = (DATA_WIDTH_A == 18) ? 4 : (DATA_WIDTH_A == 9) ? 3 : (DATA_WIDTH_A == 4) ? 2
                   : (DATA_WIDTH_A == 2) ? 1 : 0;

    wire [13:0] addr_a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
    wire [13:0] addr_b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
    wire [17:0] data_a = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
    reg  [17:0] array [0:16383];
    reg  [17:0] array_out;
    reg  [17:0] out;
    assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} = (REGMODE_B == "OUTREG") ? out : array_out;

    integer i;
    initial begin
        for (i = 0; i < 16384; i = i + 1) array[i] = 18'd0;
        array_out = 18'd0;
        out = 18'd0;
    end
    always @(posedge CLKA) begin
        if (CEA && WEA && !CSA0 && !CSA1 && !CSA2) begin
            if (DATA_WIDTH_A != 18 || addr_a[0]) array[addr_a >> LOW][8:0] <= data_a[8:0];
            if (DATA_WIDTH_A == 18 && addr_a[1]) array[addr_a >> LOW][17:9] <= data_a[17:9];
        end
    end
    always @(posedge CLKB) begin
        if (CEB && !CSB0 && !CSB1 && !CSB2) array_out <= array[addr_b >> LOW];
        if (OCEB) out <= array_out;
    end
endmodule
`default_nettype wire
