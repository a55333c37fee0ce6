// A counter, and an inverter for each width that Verilator keeps in another way.
`timescale 1ns/1ps
`default_nettype none

module wide_counter (
    input  wire clk,
    input  wire rst,
    input  wire en,
    input  wire a1,
    output wire y1,
    input  wire [6:0] a7,
    output wire [6:0] y7,
    input  wire [7:0] a8,
    output wire [7:0] y8,
    input  wire [8:0] a9,
    output wire [8:0] y9,
    input  wire [15:0] a16,
    output wire [15:0] y16,
    input  wire [16:0] a17,
    output wire [16:0] y17,
    input  wire [31:0] a32,
    output wire [31:0] y32,
    input  wire [32:0] a33,
    output wire [32:0] y33,
    input  wire [62:0] a63,
    output wire [62:0] y63,
    input  wire [63:0] a64,
    output wire [63:0] y64,
    input  wire [64:0] a65,
    output wire [64:0] y65,
    input  wire [126:0] a127,
    output wire [126:0] y127,
    input  wire [127:0] a128,
    output wire [127:0] y128,
    input  wire [299:0] a300,
    output wire [299:0] y300,
    input  wire [1054:0] a1055,
    output wire [1054:0] y1055,
    output reg  [11:0] count
);

assign y1 = ~a1;
assign y7 = ~a7;
assign y8 = ~a8;
assign y9 = ~a9;
assign y16 = ~a16;
assign y17 = ~a17;
assign y32 = ~a32;
assign y33 = ~a33;
assign y63 = ~a63;
assign y64 = ~a64;
assign y65 = ~a65;
assign y127 = ~a127;
assign y128 = ~a128;
assign y300 = ~a300;
assign y1055 = ~a1055;

always @(posedge clk)
    if (rst)
        count <= 12'd0;
    else if (en)
        count <= count + 12'd1;

endmodule

`default_nettype wire
