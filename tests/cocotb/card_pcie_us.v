// The card behind pcie_us_if of verilog-pcie: ports are those of AMD's PCI Express block of UltraScale+ at 64 bits.
// docs/integration.md has the same as tables.

`default_nettype none

module card_pcie_us (
    input  wire         user_clk,
    input  wire         user_reset,

    // Completions for the card, its requests
    input  wire [63:0]  rc_tdata,
    input  wire [1:0]   rc_tkeep,
    input  wire         rc_tvalid,
    output wire         rc_tready,
    input  wire         rc_tlast,
    input  wire [74:0]  rc_tuser,
    output wire [63:0]  rq_tdata,
    output wire [1:0]   rq_tkeep,
    output wire         rq_tvalid,
    input  wire         rq_tready,
    output wire         rq_tlast,
    output wire [61:0]  rq_tuser,
    input  wire [5:0]   pcie_rq_seq_num0,
    input  wire         pcie_rq_seq_num_vld0,

    // Requests of the host, completions for them
    input  wire [63:0]  cq_tdata,
    input  wire [1:0]   cq_tkeep,
    input  wire         cq_tvalid,
    output wire         cq_tready,
    input  wire         cq_tlast,
    input  wire [87:0]  cq_tuser,
    output wire [63:0]  cc_tdata,
    output wire [1:0]   cc_tkeep,
    output wire         cc_tvalid,
    input  wire         cc_tready,
    output wire         cc_tlast,
    output wire [32:0]  cc_tuser,

    // Configuration
    output wire [9:0]   cfg_mgmt_addr,
    output wire [7:0]   cfg_mgmt_function_number,
    output wire         cfg_mgmt_write,
    output wire [31:0]  cfg_mgmt_write_data,
    output wire [3:0]   cfg_mgmt_byte_enable,
    output wire         cfg_mgmt_read,
    input  wire [31:0]  cfg_mgmt_read_data,
    input  wire         cfg_mgmt_read_write_done,
    input  wire [1:0]   cfg_max_payload,
    input  wire [2:0]   cfg_max_read_req,
    input  wire [7:0]   cfg_fc_ph,
    input  wire [11:0]  cfg_fc_pd,
    input  wire [7:0]   cfg_fc_nph,
    input  wire [11:0]  cfg_fc_npd,
    input  wire [7:0]   cfg_fc_cplh,
    input  wire [11:0]  cfg_fc_cpld,
    output wire [2:0]   cfg_fc_sel,
    input  wire [3:0]   cfg_interrupt_msix_enable,
    input  wire [3:0]   cfg_interrupt_msix_mask,
    input  wire [7:0]   cfg_bus_number,
    input  wire [15:0]  cfg_function_status,
    input  wire [3:0]   cfg_flr_in_process,
    output reg  [3:0]   cfg_flr_done,

    // The line
    input  wire [63:0]  s_axis_rx_tdata,
    input  wire [7:0]   s_axis_rx_tkeep,
    input  wire         s_axis_rx_tvalid,
    output wire         s_axis_rx_tready,
    input  wire         s_axis_rx_tlast,
    input  wire         s_axis_rx_tuser,
    output wire [63:0]  m_axis_tx_tdata,
    output wire [7:0]   m_axis_tx_tkeep,
    output wire         m_axis_tx_tvalid,
    input  wire         m_axis_tx_tready,
    output wire         m_axis_tx_tlast
);

    wire [63:0]  rx_req_data, rx_cpl_data, tx_cpl_data, tx_wr_data;
    wire [1:0]   rx_req_strb, rx_cpl_strb, tx_cpl_strb, tx_wr_strb;
    wire [127:0] rx_req_hdr, rx_cpl_hdr, tx_cpl_hdr, tx_wr_hdr, tx_rd_hdr;
    wire [2:0]   rx_req_bar_id;
    wire [7:0]   rx_req_func_num;
    wire [3:0]   rx_cpl_error;
    wire         rx_req_valid, rx_req_sop, rx_req_eop, rx_req_ready;
    wire         rx_cpl_valid, rx_cpl_sop, rx_cpl_eop, rx_cpl_ready;
    wire         tx_cpl_valid, tx_cpl_sop, tx_cpl_eop, tx_cpl_ready;
    wire         tx_wr_valid, tx_wr_sop, tx_wr_eop, tx_wr_ready;
    wire         tx_rd_valid, tx_rd_sop, tx_rd_eop, tx_rd_ready;
    wire [5:0]   tx_rd_seq, tx_wr_seq;
    wire [4:0]   seq_num;
    wire         seq_num_valid;
    wire [2:0]   max_payload_size, max_read_request_size;
    wire         msix_enable, msix_mask;

    // The shim takes addresses from where headers of four words have them.
    function [127:0] four(input [127:0] hdr);
        four = hdr[125] ? hdr : {hdr[127:126], 1'b1, hdr[124:64], 32'd0, hdr[63:32]};
    endfunction

    // Bit 5 of the numbers that are out: the shim's have five bits. Writes stay in order.
    reg [127:0] laps;
    reg [6:0] put, get;
    always @(posedge user_clk) begin
        if (tx_wr_valid & tx_wr_ready & tx_wr_sop) begin
            laps[put] <= tx_wr_seq[5];
            put <= put + 7'd1;
        end
        if (seq_num_valid) get <= get + 7'd1;
        if (user_reset) begin
            put <= 7'd0;
            get <= 7'd0;
        end
    end

    // A function-level reset is a pulse for the card, and done for the block in the clock behind it.
    reg flr_was;
    wire flr = cfg_flr_in_process[0] & !flr_was;
    always @(posedge user_clk) begin
        flr_was <= cfg_flr_in_process[0];
        cfg_flr_done <= {3'd0, flr};
        if (user_reset) begin
            flr_was <= 1'b0;
            cfg_flr_done <= 4'd0;
        end
    end

    pcie_us_if #(
        .AXIS_PCIE_DATA_WIDTH(64), .AXIS_PCIE_RQ_USER_WIDTH(62), .AXIS_PCIE_CQ_USER_WIDTH(88),
        .RC_STRADDLE(0), .RQ_STRADDLE(0), .CQ_STRADDLE(0), .CC_STRADDLE(0),
        .TLP_SEG_COUNT(1), .PF_COUNT(1), .VF_COUNT(0), .MSIX_ENABLE(1), .MSI_ENABLE(0)
    ) shim (
        .clk(user_clk), .rst(user_reset),
        .s_axis_rc_tdata(rc_tdata), .s_axis_rc_tkeep(rc_tkeep), .s_axis_rc_tvalid(rc_tvalid),
        .s_axis_rc_tready(rc_tready), .s_axis_rc_tlast(rc_tlast), .s_axis_rc_tuser(rc_tuser),
        .m_axis_rq_tdata(rq_tdata), .m_axis_rq_tkeep(rq_tkeep), .m_axis_rq_tvalid(rq_tvalid),
        .m_axis_rq_tready(rq_tready), .m_axis_rq_tlast(rq_tlast), .m_axis_rq_tuser(rq_tuser),
        .s_axis_cq_tdata(cq_tdata), .s_axis_cq_tkeep(cq_tkeep), .s_axis_cq_tvalid(cq_tvalid),
        .s_axis_cq_tready(cq_tready), .s_axis_cq_tlast(cq_tlast), .s_axis_cq_tuser(cq_tuser),
        .m_axis_cc_tdata(cc_tdata), .m_axis_cc_tkeep(cc_tkeep), .m_axis_cc_tvalid(cc_tvalid),
        .m_axis_cc_tready(cc_tready), .m_axis_cc_tlast(cc_tlast), .m_axis_cc_tuser(cc_tuser),
        .s_axis_rq_seq_num_0(pcie_rq_seq_num0), .s_axis_rq_seq_num_valid_0(pcie_rq_seq_num_vld0),
        .s_axis_rq_seq_num_1(6'd0), .s_axis_rq_seq_num_valid_1(1'b0),
        .cfg_mgmt_addr(cfg_mgmt_addr), .cfg_mgmt_function_number(cfg_mgmt_function_number),
        .cfg_mgmt_write(cfg_mgmt_write), .cfg_mgmt_write_data(cfg_mgmt_write_data),
        .cfg_mgmt_byte_enable(cfg_mgmt_byte_enable), .cfg_mgmt_read(cfg_mgmt_read),
        .cfg_mgmt_read_data(cfg_mgmt_read_data), .cfg_mgmt_read_write_done(cfg_mgmt_read_write_done),
        .cfg_max_payload({1'b0, cfg_max_payload}), .cfg_max_read_req(cfg_max_read_req),
        .cfg_fc_ph(cfg_fc_ph), .cfg_fc_pd(cfg_fc_pd), .cfg_fc_nph(cfg_fc_nph), .cfg_fc_npd(cfg_fc_npd),
        .cfg_fc_cplh(cfg_fc_cplh), .cfg_fc_cpld(cfg_fc_cpld), .cfg_fc_sel(cfg_fc_sel),
        .cfg_interrupt_msi_enable(4'd0), .cfg_interrupt_msi_vf_enable(8'd0),
        .cfg_interrupt_msi_mmenable(12'd0), .cfg_interrupt_msi_mask_update(1'b0),
        .cfg_interrupt_msi_data(32'd0), .cfg_interrupt_msi_sent(1'b0), .cfg_interrupt_msi_fail(1'b0),
        .cfg_interrupt_msix_enable(cfg_interrupt_msix_enable), .cfg_interrupt_msix_mask(cfg_interrupt_msix_mask),
        .cfg_interrupt_msix_vf_enable(252'd0), .cfg_interrupt_msix_vf_mask(252'd0),
        .cfg_interrupt_msix_vec_pending_status(1'b0), .cfg_interrupt_msix_sent(1'b0),
        .cfg_interrupt_msix_fail(1'b0),
        .rx_req_tlp_data(rx_req_data), .rx_req_tlp_strb(rx_req_strb), .rx_req_tlp_hdr(rx_req_hdr),
        .rx_req_tlp_bar_id(rx_req_bar_id), .rx_req_tlp_func_num(rx_req_func_num),
        .rx_req_tlp_valid(rx_req_valid), .rx_req_tlp_sop(rx_req_sop), .rx_req_tlp_eop(rx_req_eop),
        .rx_req_tlp_ready(rx_req_ready),
        .rx_cpl_tlp_data(rx_cpl_data), .rx_cpl_tlp_strb(rx_cpl_strb), .rx_cpl_tlp_hdr(rx_cpl_hdr),
        .rx_cpl_tlp_error(rx_cpl_error), .rx_cpl_tlp_valid(rx_cpl_valid), .rx_cpl_tlp_sop(rx_cpl_sop),
        .rx_cpl_tlp_eop(rx_cpl_eop), .rx_cpl_tlp_ready(rx_cpl_ready),
        .tx_rd_req_tlp_hdr(four(tx_rd_hdr)), .tx_rd_req_tlp_seq(tx_rd_seq[4:0]),
        .tx_rd_req_tlp_valid(tx_rd_valid), .tx_rd_req_tlp_sop(tx_rd_sop), .tx_rd_req_tlp_eop(tx_rd_eop),
        .tx_rd_req_tlp_ready(tx_rd_ready),
        .tx_wr_req_tlp_data(tx_wr_data), .tx_wr_req_tlp_strb(tx_wr_strb),
        .tx_wr_req_tlp_hdr(four(tx_wr_hdr)), .tx_wr_req_tlp_seq(tx_wr_seq[4:0]),
        .tx_wr_req_tlp_valid(tx_wr_valid), .tx_wr_req_tlp_sop(tx_wr_sop), .tx_wr_req_tlp_eop(tx_wr_eop),
        .tx_wr_req_tlp_ready(tx_wr_ready),
        .m_axis_wr_req_tx_seq_num(seq_num), .m_axis_wr_req_tx_seq_num_valid(seq_num_valid),
        .tx_cpl_tlp_data(tx_cpl_data), .tx_cpl_tlp_strb(tx_cpl_strb), .tx_cpl_tlp_hdr(tx_cpl_hdr),
        .tx_cpl_tlp_valid(tx_cpl_valid), .tx_cpl_tlp_sop(tx_cpl_sop), .tx_cpl_tlp_eop(tx_cpl_eop),
        .tx_cpl_tlp_ready(tx_cpl_ready),
        .tx_msix_wr_req_tlp_data(32'd0), .tx_msix_wr_req_tlp_strb(1'b0), .tx_msix_wr_req_tlp_hdr(128'd0),
        .tx_msix_wr_req_tlp_valid(1'b0), .tx_msix_wr_req_tlp_sop(1'b0), .tx_msix_wr_req_tlp_eop(1'b0),
        .max_read_request_size(max_read_request_size), .max_payload_size(max_payload_size),
        .msix_enable(msix_enable), .msix_mask(msix_mask), .msi_irq(32'd0)
    );

    card_q16_r32_f64 card (
        .clk(user_clk), .rst(user_reset), .flr(flr),
        .completer_id({cfg_bus_number, 8'd0}), .requester_id({cfg_bus_number, 8'd0}),
        .max_payload_size(max_payload_size), .max_read_request_size(max_read_request_size),
        .bus_master_enable(cfg_function_status[2]), .msix_enable(msix_enable), .msix_mask(msix_mask),
        .s_axis_wr_req_tx_seq_num({laps[get], seq_num}), .s_axis_wr_req_tx_seq_num_valid(seq_num_valid),
        .s_rx_req_tlp_data(rx_req_data), .s_rx_req_tlp_strb(rx_req_strb), .s_rx_req_tlp_hdr(rx_req_hdr),
        .s_rx_req_tlp_bar_id(rx_req_bar_id), .s_rx_req_tlp_func_num(rx_req_func_num),
        .s_rx_req_tlp_valid(rx_req_valid), .s_rx_req_tlp_sop(rx_req_sop), .s_rx_req_tlp_eop(rx_req_eop),
        .s_rx_req_tlp_ready(rx_req_ready),
        .m_tx_cpl_tlp_data(tx_cpl_data), .m_tx_cpl_tlp_strb(tx_cpl_strb), .m_tx_cpl_tlp_hdr(tx_cpl_hdr),
        .m_tx_cpl_tlp_valid(tx_cpl_valid), .m_tx_cpl_tlp_sop(tx_cpl_sop), .m_tx_cpl_tlp_eop(tx_cpl_eop),
        .m_tx_cpl_tlp_ready(tx_cpl_ready),
        .m_tx_rd_req_tlp_hdr(tx_rd_hdr), .m_tx_rd_req_tlp_seq(tx_rd_seq), .m_tx_rd_req_tlp_valid(tx_rd_valid),
        .m_tx_rd_req_tlp_sop(tx_rd_sop), .m_tx_rd_req_tlp_eop(tx_rd_eop), .m_tx_rd_req_tlp_ready(tx_rd_ready),
        .s_rx_cpl_tlp_data(rx_cpl_data), .s_rx_cpl_tlp_strb(rx_cpl_strb), .s_rx_cpl_tlp_hdr(rx_cpl_hdr),
        .s_rx_cpl_tlp_error(rx_cpl_error), .s_rx_cpl_tlp_valid(rx_cpl_valid), .s_rx_cpl_tlp_sop(rx_cpl_sop),
        .s_rx_cpl_tlp_eop(rx_cpl_eop), .s_rx_cpl_tlp_ready(rx_cpl_ready),
        .m_tx_wr_req_tlp_data(tx_wr_data), .m_tx_wr_req_tlp_strb(tx_wr_strb), .m_tx_wr_req_tlp_hdr(tx_wr_hdr),
        .m_tx_wr_req_tlp_seq(tx_wr_seq), .m_tx_wr_req_tlp_valid(tx_wr_valid),
        .m_tx_wr_req_tlp_sop(tx_wr_sop), .m_tx_wr_req_tlp_eop(tx_wr_eop), .m_tx_wr_req_tlp_ready(tx_wr_ready),
        .s_axis_rx_tdata(s_axis_rx_tdata), .s_axis_rx_tkeep(s_axis_rx_tkeep),
        .s_axis_rx_tvalid(s_axis_rx_tvalid), .s_axis_rx_tready(s_axis_rx_tready),
        .s_axis_rx_tlast(s_axis_rx_tlast), .s_axis_rx_tuser(s_axis_rx_tuser),
        .m_axis_tx_tdata(m_axis_tx_tdata), .m_axis_tx_tkeep(m_axis_tx_tkeep),
        .m_axis_tx_tvalid(m_axis_tx_tvalid), .m_axis_tx_tready(m_axis_tx_tready),
        .m_axis_tx_tlast(m_axis_tx_tlast),
        .cfg_read_timeout(16'd65535), .cfg_write_returns(1'b1)
    );

endmodule

`default_nettype wire
