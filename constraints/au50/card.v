// Pads, clocks and vendor's blocks of the Alveo U50 around a card with one lane of 10 Gb/s: PCI Express block, transceiver
// with its PCS, us_card, line.v. Never in an FPGA: docs/ultrascale.md says what was checked.
`timescale 1ns/1ps
`default_nettype none

module au50_card (
    // PCI Express: lanes 0 and 1 of the slot, its clock of 100 MHz, its reset
    input wire pcie_refclk_p,
    input wire pcie_refclk_n,
    input wire pcie_reset_n,
    input wire [1:0] pcie_rx_p,
    input wire [1:0] pcie_rx_n,
    output wire [1:0] pcie_tx_p,
    output wire [1:0] pcie_tx_n,

    // Lane 0 of the QSFP28, and its clock of 161.1328125 MHz
    input wire qsfp_refclk_p,
    input wire qsfp_refclk_n,
    input wire qsfp_rx_p,
    input wire qsfp_rx_n,
    output wire qsfp_tx_p,
    output wire qsfp_tx_n,

    // 100 MHz that always run
    input wire clk100_p,
    input wire clk100_n,

    // High: the memories of the package are too hot, and the board is to switch itself off.
    output wire hbm_cattrip,

    // LEDs at the QSFP28: good frames, the line is up, faults
    output wire qsfp_led_act,
    output wire qsfp_led_stat_g,
    output wire qsfp_led_stat_y
);

// Nothing here uses the memories.
assign hbm_cattrip = 1'b0;

wire pcie_clk;
wire pcie_clk_gt;

IBUFDS_GTE4 #(.REFCLK_HROW_CK_SEL(2'b00)) pcie_refclk (
    .I(pcie_refclk_p), .IB(pcie_refclk_n), .CEB(1'b0), .O(pcie_clk_gt), .ODIV2(pcie_clk)
);

wire clk100;
wire free_clk;

IBUFDS clk100_pad (.I(clk100_p), .IB(clk100_n), .O(clk100));
BUFG clk100_buffer (.I(clk100), .O(free_clk));

// The transceiver is in reset for 10 ms behind configuration.
reg [19:0] awake;

initial awake = 20'd0;

always @(posedge free_clk) begin
    if (!(&awake)) begin
        awake <= awake + 20'd1;
    end
end

// The clock of all that follows, 125 MHz, and its reset.
wire clk;
wire user_reset;
reg rst;

initial rst = 1'b1;

always @(posedge clk) begin
    rst <= user_reset;
end

// Card and block: names of the block, which sends what has `m` in front.
wire [63:0] rq_tdata, rc_tdata, cq_tdata, cc_tdata;
wire [1:0] rq_tkeep, rc_tkeep, cq_tkeep, cc_tkeep;
wire rq_tlast, rc_tlast, cq_tlast, cc_tlast;
wire rq_tvalid, rc_tvalid, cq_tvalid, cc_tvalid;
wire [3:0] rq_tready, cc_tready;
wire rc_tready, cq_tready;
wire [61:0] rq_tuser;
wire [74:0] rc_tuser;
wire [87:0] cq_tuser;
wire [32:0] cc_tuser;
wire [5:0] seq_num0, seq_num1;
wire seq_num_vld0, seq_num_vld1;
wire [7:0] bus_number;
wire [15:0] function_status;
wire [1:0] max_payload;
wire [2:0] max_read_req;
wire [3:0] msix_enable, msix_mask;
wire [3:0] flr_in_process, flr_done;

pcie_block pcie (
    .sys_clk(pcie_clk), .sys_clk_gt(pcie_clk_gt), .sys_reset(pcie_reset_n),
    .pci_exp_rxp(pcie_rx_p), .pci_exp_rxn(pcie_rx_n), .pci_exp_txp(pcie_tx_p), .pci_exp_txn(pcie_tx_n),
    .user_clk(clk), .user_reset(user_reset), .user_lnk_up(), .phy_rdy_out(),

    .s_axis_rq_tdata(rq_tdata), .s_axis_rq_tkeep(rq_tkeep), .s_axis_rq_tlast(rq_tlast), .s_axis_rq_tuser(rq_tuser),
    .s_axis_rq_tvalid(rq_tvalid), .s_axis_rq_tready(rq_tready),
    .m_axis_rc_tdata(rc_tdata), .m_axis_rc_tkeep(rc_tkeep), .m_axis_rc_tlast(rc_tlast), .m_axis_rc_tuser(rc_tuser),
    .m_axis_rc_tvalid(rc_tvalid), .m_axis_rc_tready(rc_tready),
    .m_axis_cq_tdata(cq_tdata), .m_axis_cq_tkeep(cq_tkeep), .m_axis_cq_tlast(cq_tlast), .m_axis_cq_tuser(cq_tuser),
    .m_axis_cq_tvalid(cq_tvalid), .m_axis_cq_tready(cq_tready),
    .s_axis_cc_tdata(cc_tdata), .s_axis_cc_tkeep(cc_tkeep), .s_axis_cc_tlast(cc_tlast), .s_axis_cc_tuser(cc_tuser),
    .s_axis_cc_tvalid(cc_tvalid), .s_axis_cc_tready(cc_tready),

    .pcie_rq_seq_num0(seq_num0), .pcie_rq_seq_num_vld0(seq_num_vld0),
    .pcie_rq_seq_num1(seq_num1), .pcie_rq_seq_num_vld1(seq_num_vld1),
    .pcie_rq_tag0(), .pcie_rq_tag1(), .pcie_rq_tag_av(), .pcie_rq_tag_vld0(), .pcie_rq_tag_vld1(),
    .pcie_tfc_nph_av(), .pcie_tfc_npd_av(), .pcie_cq_np_req(2'b01), .pcie_cq_np_req_count(),

    .cfg_bus_number(bus_number), .cfg_function_status(function_status),
    .cfg_max_payload(max_payload), .cfg_max_read_req(max_read_req),
    .cfg_interrupt_msix_enable(msix_enable), .cfg_interrupt_msix_mask(msix_mask),
    .cfg_flr_in_process(flr_in_process), .cfg_flr_done(flr_done),

    .cfg_config_space_enable(1'b1), .cfg_link_training_enable(1'b1), .cfg_power_state_change_ack(1'b1),
    .cfg_power_state_change_interrupt(), .cfg_req_pm_transition_l23_ready(1'b0),
    .cfg_pm_aspm_l1_entry_reject(1'b0), .cfg_pm_aspm_tx_l0s_entry_disable(1'b0),
    .cfg_hot_reset_in(1'b0), .cfg_hot_reset_out(),
    .cfg_dsn(64'd0), .cfg_ds_port_number(8'd0), .cfg_ds_bus_number(8'd0), .cfg_ds_device_number(5'd0),
    .cfg_err_cor_in(1'b0), .cfg_err_uncor_in(1'b0),
    .cfg_err_cor_out(), .cfg_err_nonfatal_out(), .cfg_err_fatal_out(),
    .cfg_local_error_valid(), .cfg_local_error_out(),

    .cfg_mgmt_addr(10'd0), .cfg_mgmt_function_number(8'd0), .cfg_mgmt_write(1'b0), .cfg_mgmt_write_data(32'd0),
    .cfg_mgmt_byte_enable(4'd0), .cfg_mgmt_read(1'b0), .cfg_mgmt_read_data(), .cfg_mgmt_read_write_done(),
    .cfg_mgmt_debug_access(1'b0),

    .cfg_msg_received(), .cfg_msg_received_data(), .cfg_msg_received_type(),
    .cfg_msg_transmit(1'b0), .cfg_msg_transmit_type(3'd0), .cfg_msg_transmit_data(32'd0), .cfg_msg_transmit_done(),
    .cfg_fc_ph(), .cfg_fc_pd(), .cfg_fc_nph(), .cfg_fc_npd(), .cfg_fc_cplh(), .cfg_fc_cpld(), .cfg_fc_sel(3'd0),

    .cfg_phy_link_down(), .cfg_phy_link_status(), .cfg_negotiated_width(), .cfg_current_speed(), .cfg_ltssm_state(),
    .cfg_function_power_state(), .cfg_link_power_state(), .cfg_rx_pm_state(), .cfg_tx_pm_state(),
    .cfg_rcb_status(), .cfg_obff_enable(), .cfg_pl_status_change(),
    .cfg_tph_requester_enable(), .cfg_tph_st_mode(),
    .cfg_vf_status(), .cfg_vf_power_state(), .cfg_vf_tph_requester_enable(), .cfg_vf_tph_st_mode(),
    .cfg_vf_flr_in_process(), .cfg_vf_flr_func_num(8'd0), .cfg_vf_flr_done(1'b0),

    .cfg_interrupt_int(4'd0), .cfg_interrupt_pending(4'd0), .cfg_interrupt_sent(),
    .cfg_interrupt_msi_sent(), .cfg_interrupt_msi_fail(), .cfg_interrupt_msi_function_number(8'd0),
    .cfg_interrupt_msix_vf_enable(), .cfg_interrupt_msix_vf_mask(),
    .cfg_interrupt_msix_address(64'd0), .cfg_interrupt_msix_data(32'd0), .cfg_interrupt_msix_int(1'b0),
    .cfg_interrupt_msix_vec_pending(2'd0), .cfg_interrupt_msix_vec_pending_status()
);

// Card and MAC.
wire card_tx_tvalid, card_tx_tready, card_tx_tlast;
wire [63:0] card_tx_tdata;
wire [7:0] card_tx_tkeep;
wire card_rx_tvalid, card_rx_tready, card_rx_tlast, card_rx_tuser;
wire [63:0] card_rx_tdata;
wire [7:0] card_rx_tkeep;
wire cq_dropped, rc_error;

us_card_q1024_r4096_f4096 card (
    .clk(clk), .rst(rst),
    .s_axis_cq_tvalid(cq_tvalid), .s_axis_cq_tready(cq_tready), .s_axis_cq_tdata(cq_tdata), .s_axis_cq_tkeep(cq_tkeep),
    .s_axis_cq_tlast(cq_tlast), .s_axis_cq_tuser(cq_tuser),
    .m_axis_cc_tvalid(cc_tvalid), .m_axis_cc_tready(cc_tready[0]), .m_axis_cc_tdata(cc_tdata), .m_axis_cc_tkeep(cc_tkeep),
    .m_axis_cc_tlast(cc_tlast), .m_axis_cc_tuser(cc_tuser),
    .m_axis_rq_tvalid(rq_tvalid), .m_axis_rq_tready(rq_tready[0]), .m_axis_rq_tdata(rq_tdata), .m_axis_rq_tkeep(rq_tkeep),
    .m_axis_rq_tlast(rq_tlast), .m_axis_rq_tuser(rq_tuser),
    .s_axis_rc_tvalid(rc_tvalid), .s_axis_rc_tready(rc_tready), .s_axis_rc_tdata(rc_tdata), .s_axis_rc_tkeep(rc_tkeep),
    .s_axis_rc_tlast(rc_tlast), .s_axis_rc_tuser(rc_tuser),
    .pcie_rq_seq_num0(seq_num0), .pcie_rq_seq_num_vld0(seq_num_vld0),
    .pcie_rq_seq_num1(seq_num1), .pcie_rq_seq_num_vld1(seq_num_vld1),
    .cfg_bus_number(bus_number), .cfg_function_status(function_status),
    .cfg_max_payload(max_payload), .cfg_max_read_req(max_read_req),
    .cfg_interrupt_msix_enable(msix_enable), .cfg_interrupt_msix_mask(msix_mask),
    .cfg_flr_in_process(flr_in_process), .cfg_flr_done(flr_done),
    // 33.6 ms at 125 MHz, the longest there is.
    .cfg_read_timeout(16'hffff),
    .s_axis_rx_tvalid(card_rx_tvalid), .s_axis_rx_tready(card_rx_tready), .s_axis_rx_tdata(card_rx_tdata),
    .s_axis_rx_tkeep(card_rx_tkeep), .s_axis_rx_tlast(card_rx_tlast), .s_axis_rx_tuser(card_rx_tuser),
    .m_axis_tx_tvalid(card_tx_tvalid), .m_axis_tx_tready(card_tx_tready), .m_axis_tx_tdata(card_tx_tdata),
    .m_axis_tx_tkeep(card_tx_tkeep), .m_axis_tx_tlast(card_tx_tlast),
    .ev_cq_dropped(cq_dropped), .ev_rc_error(rc_error)
);

wire tx_clk, rx_clk;
wire [63:0] xgmii_rxd, xgmii_txd;
wire [7:0] xgmii_rxc, xgmii_txc;
wire up, good, fault;

au50_line line (
    .clk(clk), .rst(rst),
    .s_axis_tx_tvalid(card_tx_tvalid), .s_axis_tx_tready(card_tx_tready), .s_axis_tx_tdata(card_tx_tdata),
    .s_axis_tx_tkeep(card_tx_tkeep), .s_axis_tx_tlast(card_tx_tlast),
    .m_axis_rx_tvalid(card_rx_tvalid), .m_axis_rx_tready(card_rx_tready), .m_axis_rx_tdata(card_rx_tdata),
    .m_axis_rx_tkeep(card_rx_tkeep), .m_axis_rx_tlast(card_rx_tlast), .m_axis_rx_tuser(card_rx_tuser),
    .rx_clk(rx_clk), .xgmii_rxd(xgmii_rxd), .xgmii_rxc(xgmii_rxc),
    .tx_clk(tx_clk), .xgmii_txd(xgmii_txd), .xgmii_txc(xgmii_txc),
    .up(up), .good(good), .fault(fault)
);

pcs_10g pcs (
    .gt_refclk_p(qsfp_refclk_p), .gt_refclk_n(qsfp_refclk_n), .gt_refclk_out(),
    .gt_rxp_in_0(qsfp_rx_p), .gt_rxn_in_0(qsfp_rx_n), .gt_txp_out_0(qsfp_tx_p), .gt_txn_out_0(qsfp_tx_n),
    .dclk(free_clk), .sys_reset(!(&awake)),
    .tx_mii_clk_0(tx_clk), .tx_mii_d_0(xgmii_txd), .tx_mii_c_0(xgmii_txc),
    .rx_clk_out_0(rx_clk), .rx_core_clk_0(rx_clk), .rx_mii_d_0(xgmii_rxd), .rx_mii_c_0(xgmii_rxc),
    .tx_reset_0(1'b0), .rx_reset_0(1'b0), .user_tx_reset_0(), .user_rx_reset_0(),
    .gtwiz_reset_tx_datapath_0(1'b0), .gtwiz_reset_rx_datapath_0(1'b0), .qpllreset_in_0(1'b0),
    .gt_loopback_in_0(3'b000), .gtpowergood_out_0(), .rxrecclkout_0(),
    // No other value may be here.
    .txoutclksel_in_0(3'b101), .rxoutclksel_in_0(3'b101),
    .ctl_rx_wdt_disable_0(1'b0),
    .ctl_rx_test_pattern_0(1'b0), .ctl_rx_test_pattern_enable_0(1'b0), .ctl_rx_data_pattern_select_0(1'b0),
    .ctl_rx_prbs31_test_pattern_enable_0(1'b0),
    .ctl_tx_test_pattern_0(1'b0), .ctl_tx_test_pattern_enable_0(1'b0), .ctl_tx_test_pattern_select_0(1'b0),
    .ctl_tx_data_pattern_select_0(1'b0), .ctl_tx_prbs31_test_pattern_enable_0(1'b0),
    .ctl_tx_test_pattern_seed_a_0(58'd0), .ctl_tx_test_pattern_seed_b_0(58'd0),
    .stat_rx_block_lock_0(), .stat_rx_status_0(), .stat_rx_hi_ber_0(), .stat_rx_local_fault_0(), .stat_tx_local_fault_0(),
    .stat_rx_framing_err_0(), .stat_rx_framing_err_valid_0(), .stat_rx_valid_ctrl_code_0(),
    .stat_rx_bad_code_0(), .stat_rx_bad_code_valid_0(), .stat_rx_error_0(), .stat_rx_error_valid_0(),
    .stat_rx_fifo_error_0()
);

au50_lights lights (.clk(clk), .good(good), .fault(fault | cq_dropped | rc_error), .act(qsfp_led_act), .bad(qsfp_led_stat_y));

assign qsfp_led_stat_g = up;

wire _unused = &{1'b0, rq_tready[3:1], cc_tready[3:1]};

endmodule

`default_nettype wire
