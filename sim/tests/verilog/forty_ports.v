// A block with 40 ports beside clock and reset, of the widths of a protocol engine, for the
// measurement in sim/examples/verilate_speed.rs.
`timescale 1ns/1ps
`default_nettype none
module forty_ports (
 input wire clk,
 input wire rst,
 input wire i_valid,
 input wire [2:0] i_kind,
 input wire [5:0] i_wptr,
 input wire [15:0] i_gen,
 input wire [15:0] i_src,
 input wire [21:0] i_pidx,
 input wire i_tail,
 input wire [12:0] i_len,
 input wire [15:0] i_now,
 input wire [15:0] i_slot,
 input wire [31:0] i_xid,
 input wire [63:0] i_addr,
 input wire [31:0] i_rkey,
 input wire [3:0] i_mtu,
 input wire [31:0] i_length,
 input wire i_ack_valid,
 input wire [5:0] i_ack_wptr,
 input wire [15:0] i_ack_gen,
 input wire i_ready_a,
 input wire [255:0] i_vec,
 output reg o_valid,
 output reg [2:0] o_kind,
 output reg [5:0] o_wptr,
 output reg [15:0] o_gen,
 output reg [15:0] o_src,
 output reg [21:0] o_pidx,
 output reg o_tail,
 output reg [12:0] o_len,
 output reg [15:0] o_now,
 output reg [15:0] o_slot,
 output reg [31:0] o_xid,
 output reg [63:0] o_addr,
 output reg [31:0] o_rkey,
 output reg [3:0] o_mtu,
 output reg [31:0] o_length,
 output reg o_ack_valid,
 output reg [5:0] o_ack_wptr,
 output reg [15:0] o_ack_gen,
 output reg o_ready_a,
 output reg [255:0] o_vec
);
reg [255:0] mem [0:63]; reg [255:0] rd; reg [255:0] vec_q;
reg q_valid;
reg [2:0] q_kind;
reg [5:0] q_wptr;
reg [15:0] q_gen;
reg [15:0] q_src;
reg [21:0] q_pidx;
reg q_tail;
reg [12:0] q_len;
reg [15:0] q_now;
reg [15:0] q_slot;
reg [31:0] q_xid;
reg [63:0] q_addr;
reg [31:0] q_rkey;
reg [3:0] q_mtu;
reg [31:0] q_length;
reg q_ack_valid;
reg [5:0] q_ack_wptr;
reg [15:0] q_ack_gen;
reg q_ready_a;
reg [255:0] q_vec;
always @(posedge clk) begin
 rd <= mem[i_wptr]; if (i_valid) mem[i_ack_wptr] <= rd ^ i_vec ^ {i_addr,i_addr,i_addr,i_addr};
 if (rst) begin
  q_valid <= 1'd0; o_valid <= 1'd0;
  q_kind <= 3'd0; o_kind <= 3'd0;
  q_wptr <= 6'd0; o_wptr <= 6'd0;
  q_gen <= 16'd0; o_gen <= 16'd0;
  q_src <= 16'd0; o_src <= 16'd0;
  q_pidx <= 22'd0; o_pidx <= 22'd0;
  q_tail <= 1'd0; o_tail <= 1'd0;
  q_len <= 13'd0; o_len <= 13'd0;
  q_now <= 16'd0; o_now <= 16'd0;
  q_slot <= 16'd0; o_slot <= 16'd0;
  q_xid <= 32'd0; o_xid <= 32'd0;
  q_addr <= 64'd0; o_addr <= 64'd0;
  q_rkey <= 32'd0; o_rkey <= 32'd0;
  q_mtu <= 4'd0; o_mtu <= 4'd0;
  q_length <= 32'd0; o_length <= 32'd0;
  q_ack_valid <= 1'd0; o_ack_valid <= 1'd0;
  q_ack_wptr <= 6'd0; o_ack_wptr <= 6'd0;
  q_ack_gen <= 16'd0; o_ack_gen <= 16'd0;
  q_ready_a <= 1'd0; o_ready_a <= 1'd0;
  q_vec <= 256'd0; o_vec <= 256'd0;
 end else begin
  q_valid <= i_valid + q_valid; o_valid <= q_valid ^ rd[0:0];
  q_kind <= i_kind + q_kind; o_kind <= q_kind ^ rd[2:0];
  q_wptr <= i_wptr + q_wptr; o_wptr <= q_wptr ^ rd[5:0];
  q_gen <= i_gen + q_gen; o_gen <= q_gen ^ rd[15:0];
  q_src <= i_src + q_src; o_src <= q_src ^ rd[15:0];
  q_pidx <= i_pidx + q_pidx; o_pidx <= q_pidx ^ rd[21:0];
  q_tail <= i_tail + q_tail; o_tail <= q_tail ^ rd[0:0];
  q_len <= i_len + q_len; o_len <= q_len ^ rd[12:0];
  q_now <= i_now + q_now; o_now <= q_now ^ rd[15:0];
  q_slot <= i_slot + q_slot; o_slot <= q_slot ^ rd[15:0];
  q_xid <= i_xid + q_xid; o_xid <= q_xid ^ rd[31:0];
  q_addr <= i_addr + q_addr; o_addr <= q_addr ^ rd[63:0];
  q_rkey <= i_rkey + q_rkey; o_rkey <= q_rkey ^ rd[31:0];
  q_mtu <= i_mtu + q_mtu; o_mtu <= q_mtu ^ rd[3:0];
  q_length <= i_length + q_length; o_length <= q_length ^ rd[31:0];
  q_ack_valid <= i_ack_valid + q_ack_valid; o_ack_valid <= q_ack_valid ^ rd[0:0];
  q_ack_wptr <= i_ack_wptr + q_ack_wptr; o_ack_wptr <= q_ack_wptr ^ rd[5:0];
  q_ack_gen <= i_ack_gen + q_ack_gen; o_ack_gen <= q_ack_gen ^ rd[15:0];
  q_ready_a <= i_ready_a + q_ready_a; o_ready_a <= q_ready_a ^ rd[0:0];
  q_vec <= i_vec + q_vec; o_vec <= q_vec ^ rd[255:0];
 end
end
endmodule
`default_nettype wire
