// us_card behind a PCI Express block that a model plays, its network's side joined to itself: frames to the own node come
// back. With counters behind its pulses, for a bench in Python that looks at the end only.
`timescale 1ns/1fs
`default_nettype none

module us_card_bench (
    input wire clk,
    input wire rst,
    input wire user_lnk_up,
    input wire [63:0] m_axis_cq_tdata,
    input wire [1:0] m_axis_cq_tkeep,
    input wire m_axis_cq_tlast,
    output wire m_axis_cq_tready,
    input wire [87:0] m_axis_cq_tuser,
    input wire m_axis_cq_tvalid,
    output wire [63:0] s_axis_cc_tdata,
    output wire [1:0] s_axis_cc_tkeep,
    output wire s_axis_cc_tlast,
    input wire s_axis_cc_tready,
    output wire [32:0] s_axis_cc_tuser,
    output wire s_axis_cc_tvalid,
    output wire [63:0] s_axis_rq_tdata,
    output wire [1:0] s_axis_rq_tkeep,
    output wire s_axis_rq_tlast,
    input wire s_axis_rq_tready,
    output wire [61:0] s_axis_rq_tuser,
    output wire s_axis_rq_tvalid,
    input wire [63:0] m_axis_rc_tdata,
    input wire [1:0] m_axis_rc_tkeep,
    input wire m_axis_rc_tlast,
    output wire m_axis_rc_tready,
    input wire [74:0] m_axis_rc_tuser,
    input wire m_axis_rc_tvalid,
    input wire [5:0] pcie_rq_seq_num0,
    input wire pcie_rq_seq_num_vld0,
    input wire [5:0] pcie_rq_seq_num1,
    input wire pcie_rq_seq_num_vld1,
    input wire [7:0] cfg_bus_number,
    input wire [15:0] cfg_function_status,
    input wire [1:0] cfg_max_payload,
    input wire [2:0] cfg_max_read_req,
    input wire [3:0] cfg_interrupt_msix_enable,
    input wire [3:0] cfg_interrupt_msix_mask,
    input wire [3:0] cfg_flr_in_process,
    output wire [3:0] cfg_flr_done,
    input wire [15:0] cfg_read_timeout,
    output reg [31:0] cq_dropped,
    output reg [31:0] rc_errors,
    output reg [31:0] flrs_done
);

wire [63:0] line_tdata;
wire [7:0] line_tkeep;
wire line_tvalid, line_tready, line_tlast;
wire ev_cq_dropped, ev_rc_error;

us_card_q16_r32_f64 card (
    .clk(clk), .rst(rst),
    .s_axis_cq_tvalid(m_axis_cq_tvalid), .s_axis_cq_tready(m_axis_cq_tready), .s_axis_cq_tdata(m_axis_cq_tdata),
    .s_axis_cq_tkeep(m_axis_cq_tkeep), .s_axis_cq_tlast(m_axis_cq_tlast), .s_axis_cq_tuser(m_axis_cq_tuser),
    .m_axis_cc_tvalid(s_axis_cc_tvalid), .m_axis_cc_tready(s_axis_cc_tready), .m_axis_cc_tdata(s_axis_cc_tdata),
    .m_axis_cc_tkeep(s_axis_cc_tkeep), .m_axis_cc_tlast(s_axis_cc_tlast), .m_axis_cc_tuser(s_axis_cc_tuser),
    .m_axis_rq_tvalid(s_axis_rq_tvalid), .m_axis_rq_tready(s_axis_rq_tready), .m_axis_rq_tdata(s_axis_rq_tdata),
    .m_axis_rq_tkeep(s_axis_rq_tkeep), .m_axis_rq_tlast(s_axis_rq_tlast), .m_axis_rq_tuser(s_axis_rq_tuser),
    .s_axis_rc_tvalid(m_axis_rc_tvalid), .s_axis_rc_tready(m_axis_rc_tready), .s_axis_rc_tdata(m_axis_rc_tdata),
    .s_axis_rc_tkeep(m_axis_rc_tkeep), .s_axis_rc_tlast(m_axis_rc_tlast), .s_axis_rc_tuser(m_axis_rc_tuser),
    .pcie_rq_seq_num0(pcie_rq_seq_num0), .pcie_rq_seq_num_vld0(pcie_rq_seq_num_vld0),
    .pcie_rq_seq_num1(pcie_rq_seq_num1), .pcie_rq_seq_num_vld1(pcie_rq_seq_num_vld1),
    .cfg_bus_number(cfg_bus_number), .cfg_function_status(cfg_function_status), .cfg_max_payload(cfg_max_payload),
    .cfg_max_read_req(cfg_max_read_req), .cfg_interrupt_msix_enable(cfg_interrupt_msix_enable),
    .cfg_interrupt_msix_mask(cfg_interrupt_msix_mask), .cfg_flr_in_process(cfg_flr_in_process),
    .cfg_flr_done(cfg_flr_done), .cfg_read_timeout(cfg_read_timeout),
    .s_axis_rx_tvalid(line_tvalid), .s_axis_rx_tready(line_tready), .s_axis_rx_tdata(line_tdata),
    .s_axis_rx_tkeep(line_tkeep), .s_axis_rx_tlast(line_tlast), .s_axis_rx_tuser(1'b0),
    .m_axis_tx_tvalid(line_tvalid), .m_axis_tx_tready(line_tready), .m_axis_tx_tdata(line_tdata),
    .m_axis_tx_tkeep(line_tkeep), .m_axis_tx_tlast(line_tlast),
    .ev_cq_dropped(ev_cq_dropped), .ev_rc_error(ev_rc_error)
);

always @(posedge clk) begin
    cq_dropped <= rst ? 0 : cq_dropped + {31'd0, ev_cq_dropped};
    rc_errors <= rst ? 0 : rc_errors + {31'd0, ev_rc_error};
    flrs_done <= rst ? 0 : flrs_done + {31'd0, cfg_flr_done[0]};
end

endmodule

`default_nettype wire
