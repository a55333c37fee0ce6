// Pads, clocks and vendor's blocks of the Alveo U50 around a reducing switch with the four lanes of 10 Gb/s of the QSFP28:
// PCI Express block with a bridge to the registers, transceivers with their PCS, switch, line.v for each lane. Never in an
// FPGA: docs/ultrascale.md says what was checked.
`timescale 1ns/1ps
`default_nettype none

module au50_switch (
    // PCI Express: lanes 0 and 1 of the slot, its clock of 100 MHz, its reset
    input wire pcie_refclk_p,
    input wire pcie_refclk_n,
    input wire pcie_reset_n,
    input wire [1:0] pcie_rx_p,
    input wire [1:0] pcie_rx_n,
    output wire [1:0] pcie_tx_p,
    output wire [1:0] pcie_tx_n,

    // QSFP28: its lanes are the ports of the switch; its clock of 161.1328125 MHz
    input wire qsfp_refclk_p,
    input wire qsfp_refclk_n,
    input wire [3:0] qsfp_rx_p,
    input wire [3:0] qsfp_rx_n,
    output wire [3:0] qsfp_tx_p,
    output wire [3:0] qsfp_tx_n,

    // 100 MHz that always run
    input wire clk100_p,
    input wire clk100_n,

    // High: the memories of the package are too hot, and the board is to switch itself off.
    output wire hbm_cattrip,

    // LEDs at the QSFP28: good frames, a line is up, faults
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

// The transceivers are in reset for 10 ms behind configuration.
reg [19:0] awake;

initial awake = 20'd0;

always @(posedge free_clk) begin
    if (!(&awake)) begin
        awake <= awake + 20'd1;
    end
end

// The clock of all that follows, 125 MHz, and its reset.
wire clk;
wire axi_aresetn;
reg rst;

initial rst = 1'b1;

always @(posedge clk) begin
    rst <= !axi_aresetn;
end

// The registers, 4 KiB that repeat in the BAR.
wire [31:0] axil_awaddr, axil_araddr, axil_wdata, axil_rdata;
wire [3:0] axil_wstrb;
wire [1:0] axil_bresp, axil_rresp;
wire axil_awvalid, axil_awready, axil_wvalid, axil_wready, axil_bvalid, axil_bready;
wire axil_arvalid, axil_arready, axil_rvalid, axil_rready;

pcie_bridge pcie (
    .sys_clk(pcie_clk), .sys_clk_gt(pcie_clk_gt), .sys_rst_n(pcie_reset_n),
    .pci_exp_rxp(pcie_rx_p), .pci_exp_rxn(pcie_rx_n), .pci_exp_txp(pcie_tx_p), .pci_exp_txn(pcie_tx_n),
    .axi_aclk(clk), .axi_aresetn(axi_aresetn), .user_lnk_up(),
    .m_axil_awaddr(axil_awaddr), .m_axil_awprot(), .m_axil_awvalid(axil_awvalid), .m_axil_awready(axil_awready),
    .m_axil_wdata(axil_wdata), .m_axil_wstrb(axil_wstrb), .m_axil_wvalid(axil_wvalid), .m_axil_wready(axil_wready),
    .m_axil_bresp(axil_bresp), .m_axil_bvalid(axil_bvalid), .m_axil_bready(axil_bready),
    .m_axil_araddr(axil_araddr), .m_axil_arprot(), .m_axil_arvalid(axil_arvalid), .m_axil_arready(axil_arready),
    .m_axil_rdata(axil_rdata), .m_axil_rresp(axil_rresp), .m_axil_rvalid(axil_rvalid), .m_axil_rready(axil_rready),
    // Its DMA engine is not used.
    .s_axis_c2h_tdata_0(64'd0), .s_axis_c2h_tkeep_0(8'd0), .s_axis_c2h_tlast_0(1'b0), .s_axis_c2h_tvalid_0(1'b0),
    .s_axis_c2h_tready_0(),
    .m_axis_h2c_tdata_0(), .m_axis_h2c_tkeep_0(), .m_axis_h2c_tlast_0(), .m_axis_h2c_tvalid_0(), .m_axis_h2c_tready_0(1'b1),
    .usr_irq_req(1'b0), .usr_irq_ack(), .msi_enable(), .msi_vector_width()
);

wire [63:0] tx_tdata_0, rx_tdata_0, txd_0, rxd_0;
wire [7:0] tx_tkeep_0, rx_tkeep_0, txc_0, rxc_0;
wire tx_tvalid_0, tx_tready_0, tx_tlast_0, rx_tvalid_0, rx_tready_0, rx_tlast_0, rx_tuser_0;
wire tx_clk_0, rx_clk_0;
wire [63:0] tx_tdata_1, rx_tdata_1, txd_1, rxd_1;
wire [7:0] tx_tkeep_1, rx_tkeep_1, txc_1, rxc_1;
wire tx_tvalid_1, tx_tready_1, tx_tlast_1, rx_tvalid_1, rx_tready_1, rx_tlast_1, rx_tuser_1;
wire tx_clk_1, rx_clk_1;
wire [63:0] tx_tdata_2, rx_tdata_2, txd_2, rxd_2;
wire [7:0] tx_tkeep_2, rx_tkeep_2, txc_2, rxc_2;
wire tx_tvalid_2, tx_tready_2, tx_tlast_2, rx_tvalid_2, rx_tready_2, rx_tlast_2, rx_tuser_2;
wire tx_clk_2, rx_clk_2;
wire [63:0] tx_tdata_3, rx_tdata_3, txd_3, rxd_3;
wire [7:0] tx_tkeep_3, rx_tkeep_3, txc_3, rxc_3;
wire tx_tvalid_3, tx_tready_3, tx_tlast_3, rx_tvalid_3, rx_tready_3, rx_tlast_3, rx_tuser_3;
wire tx_clk_3, rx_clk_3;

switch_n4_d512_u1024_t512 switch (
    .clk(clk), .rst(rst),
    .s_axil_awvalid(axil_awvalid), .s_axil_awready(axil_awready), .s_axil_awaddr(axil_awaddr[11:0]),
    .s_axil_wvalid(axil_wvalid), .s_axil_wready(axil_wready), .s_axil_wdata(axil_wdata), .s_axil_wstrb(axil_wstrb),
    .s_axil_bvalid(axil_bvalid), .s_axil_bready(axil_bready), .s_axil_bresp(axil_bresp),
    .s_axil_arvalid(axil_arvalid), .s_axil_arready(axil_arready), .s_axil_araddr(axil_araddr[11:0]),
    .s_axil_rvalid(axil_rvalid), .s_axil_rready(axil_rready), .s_axil_rdata(axil_rdata), .s_axil_rresp(axil_rresp),
    .s_axis_rx_tvalid_0(rx_tvalid_0), .s_axis_rx_tready_0(rx_tready_0), .s_axis_rx_tdata_0(rx_tdata_0),
    .s_axis_rx_tkeep_0(rx_tkeep_0), .s_axis_rx_tlast_0(rx_tlast_0), .s_axis_rx_tuser_0(rx_tuser_0),
    .m_axis_tx_tvalid_0(tx_tvalid_0), .m_axis_tx_tready_0(tx_tready_0), .m_axis_tx_tdata_0(tx_tdata_0),
    .m_axis_tx_tkeep_0(tx_tkeep_0), .m_axis_tx_tlast_0(tx_tlast_0),
    .s_axis_rx_tvalid_1(rx_tvalid_1), .s_axis_rx_tready_1(rx_tready_1), .s_axis_rx_tdata_1(rx_tdata_1),
    .s_axis_rx_tkeep_1(rx_tkeep_1), .s_axis_rx_tlast_1(rx_tlast_1), .s_axis_rx_tuser_1(rx_tuser_1),
    .m_axis_tx_tvalid_1(tx_tvalid_1), .m_axis_tx_tready_1(tx_tready_1), .m_axis_tx_tdata_1(tx_tdata_1),
    .m_axis_tx_tkeep_1(tx_tkeep_1), .m_axis_tx_tlast_1(tx_tlast_1),
    .s_axis_rx_tvalid_2(rx_tvalid_2), .s_axis_rx_tready_2(rx_tready_2), .s_axis_rx_tdata_2(rx_tdata_2),
    .s_axis_rx_tkeep_2(rx_tkeep_2), .s_axis_rx_tlast_2(rx_tlast_2), .s_axis_rx_tuser_2(rx_tuser_2),
    .m_axis_tx_tvalid_2(tx_tvalid_2), .m_axis_tx_tready_2(tx_tready_2), .m_axis_tx_tdata_2(tx_tdata_2),
    .m_axis_tx_tkeep_2(tx_tkeep_2), .m_axis_tx_tlast_2(tx_tlast_2),
    .s_axis_rx_tvalid_3(rx_tvalid_3), .s_axis_rx_tready_3(rx_tready_3), .s_axis_rx_tdata_3(rx_tdata_3),
    .s_axis_rx_tkeep_3(rx_tkeep_3), .s_axis_rx_tlast_3(rx_tlast_3), .s_axis_rx_tuser_3(rx_tuser_3),
    .m_axis_tx_tvalid_3(tx_tvalid_3), .m_axis_tx_tready_3(tx_tready_3), .m_axis_tx_tdata_3(tx_tdata_3),
    .m_axis_tx_tkeep_3(tx_tkeep_3), .m_axis_tx_tlast_3(tx_tlast_3)
);

wire [3:0] up, good, fault;

au50_line line_0 (
    .clk(clk), .rst(rst),
    .s_axis_tx_tvalid(tx_tvalid_0), .s_axis_tx_tready(tx_tready_0), .s_axis_tx_tdata(tx_tdata_0),
    .s_axis_tx_tkeep(tx_tkeep_0), .s_axis_tx_tlast(tx_tlast_0),
    .m_axis_rx_tvalid(rx_tvalid_0), .m_axis_rx_tready(rx_tready_0), .m_axis_rx_tdata(rx_tdata_0),
    .m_axis_rx_tkeep(rx_tkeep_0), .m_axis_rx_tlast(rx_tlast_0), .m_axis_rx_tuser(rx_tuser_0),
    .rx_clk(rx_clk_0), .xgmii_rxd(rxd_0), .xgmii_rxc(rxc_0),
    .tx_clk(tx_clk_0), .xgmii_txd(txd_0), .xgmii_txc(txc_0),
    .up(up[0]), .good(good[0]), .fault(fault[0])
);

au50_line line_1 (
    .clk(clk), .rst(rst),
    .s_axis_tx_tvalid(tx_tvalid_1), .s_axis_tx_tready(tx_tready_1), .s_axis_tx_tdata(tx_tdata_1),
    .s_axis_tx_tkeep(tx_tkeep_1), .s_axis_tx_tlast(tx_tlast_1),
    .m_axis_rx_tvalid(rx_tvalid_1), .m_axis_rx_tready(rx_tready_1), .m_axis_rx_tdata(rx_tdata_1),
    .m_axis_rx_tkeep(rx_tkeep_1), .m_axis_rx_tlast(rx_tlast_1), .m_axis_rx_tuser(rx_tuser_1),
    .rx_clk(rx_clk_1), .xgmii_rxd(rxd_1), .xgmii_rxc(rxc_1),
    .tx_clk(tx_clk_1), .xgmii_txd(txd_1), .xgmii_txc(txc_1),
    .up(up[1]), .good(good[1]), .fault(fault[1])
);

au50_line line_2 (
    .clk(clk), .rst(rst),
    .s_axis_tx_tvalid(tx_tvalid_2), .s_axis_tx_tready(tx_tready_2), .s_axis_tx_tdata(tx_tdata_2),
    .s_axis_tx_tkeep(tx_tkeep_2), .s_axis_tx_tlast(tx_tlast_2),
    .m_axis_rx_tvalid(rx_tvalid_2), .m_axis_rx_tready(rx_tready_2), .m_axis_rx_tdata(rx_tdata_2),
    .m_axis_rx_tkeep(rx_tkeep_2), .m_axis_rx_tlast(rx_tlast_2), .m_axis_rx_tuser(rx_tuser_2),
    .rx_clk(rx_clk_2), .xgmii_rxd(rxd_2), .xgmii_rxc(rxc_2),
    .tx_clk(tx_clk_2), .xgmii_txd(txd_2), .xgmii_txc(txc_2),
    .up(up[2]), .good(good[2]), .fault(fault[2])
);

au50_line line_3 (
    .clk(clk), .rst(rst),
    .s_axis_tx_tvalid(tx_tvalid_3), .s_axis_tx_tready(tx_tready_3), .s_axis_tx_tdata(tx_tdata_3),
    .s_axis_tx_tkeep(tx_tkeep_3), .s_axis_tx_tlast(tx_tlast_3),
    .m_axis_rx_tvalid(rx_tvalid_3), .m_axis_rx_tready(rx_tready_3), .m_axis_rx_tdata(rx_tdata_3),
    .m_axis_rx_tkeep(rx_tkeep_3), .m_axis_rx_tlast(rx_tlast_3), .m_axis_rx_tuser(rx_tuser_3),
    .rx_clk(rx_clk_3), .xgmii_rxd(rxd_3), .xgmii_rxc(rxc_3),
    .tx_clk(tx_clk_3), .xgmii_txd(txd_3), .xgmii_txc(txc_3),
    .up(up[3]), .good(good[3]), .fault(fault[3])
);

pcs_4x10g pcs (
    .gt_refclk_p(qsfp_refclk_p), .gt_refclk_n(qsfp_refclk_n), .gt_refclk_out(),
    .gt_rxp_in(qsfp_rx_p), .gt_rxn_in(qsfp_rx_n), .gt_txp_out(qsfp_tx_p), .gt_txn_out(qsfp_tx_n),
    .dclk(free_clk), .sys_reset(!(&awake)), .qpllreset_in_0(1'b0),
    .tx_mii_clk_0(tx_clk_0), .tx_mii_d_0(txd_0), .tx_mii_c_0(txc_0),
    .rx_clk_out_0(rx_clk_0), .rx_core_clk_0(rx_clk_0), .rx_mii_d_0(rxd_0), .rx_mii_c_0(rxc_0),
    .tx_reset_0(1'b0), .rx_reset_0(1'b0), .user_tx_reset_0(), .user_rx_reset_0(),
    .gtwiz_reset_tx_datapath_0(1'b0), .gtwiz_reset_rx_datapath_0(1'b0),
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
    .stat_rx_fifo_error_0(),

    .tx_mii_clk_1(tx_clk_1), .tx_mii_d_1(txd_1), .tx_mii_c_1(txc_1),
    .rx_clk_out_1(rx_clk_1), .rx_core_clk_1(rx_clk_1), .rx_mii_d_1(rxd_1), .rx_mii_c_1(rxc_1),
    .tx_reset_1(1'b0), .rx_reset_1(1'b0), .user_tx_reset_1(), .user_rx_reset_1(),
    .gtwiz_reset_tx_datapath_1(1'b0), .gtwiz_reset_rx_datapath_1(1'b0),
    .gt_loopback_in_1(3'b000), .gtpowergood_out_1(), .rxrecclkout_1(),
    .txoutclksel_in_1(3'b101), .rxoutclksel_in_1(3'b101),
    .ctl_rx_wdt_disable_1(1'b0),
    .ctl_rx_test_pattern_1(1'b0), .ctl_rx_test_pattern_enable_1(1'b0), .ctl_rx_data_pattern_select_1(1'b0),
    .ctl_rx_prbs31_test_pattern_enable_1(1'b0),
    .ctl_tx_test_pattern_1(1'b0), .ctl_tx_test_pattern_enable_1(1'b0), .ctl_tx_test_pattern_select_1(1'b0),
    .ctl_tx_data_pattern_select_1(1'b0), .ctl_tx_prbs31_test_pattern_enable_1(1'b0),
    .ctl_tx_test_pattern_seed_a_1(58'd0), .ctl_tx_test_pattern_seed_b_1(58'd0),
    .stat_rx_block_lock_1(), .stat_rx_status_1(), .stat_rx_hi_ber_1(), .stat_rx_local_fault_1(), .stat_tx_local_fault_1(),
    .stat_rx_framing_err_1(), .stat_rx_framing_err_valid_1(), .stat_rx_valid_ctrl_code_1(),
    .stat_rx_bad_code_1(), .stat_rx_bad_code_valid_1(), .stat_rx_error_1(), .stat_rx_error_valid_1(),
    .stat_rx_fifo_error_1(),

    .tx_mii_clk_2(tx_clk_2), .tx_mii_d_2(txd_2), .tx_mii_c_2(txc_2),
    .rx_clk_out_2(rx_clk_2), .rx_core_clk_2(rx_clk_2), .rx_mii_d_2(rxd_2), .rx_mii_c_2(rxc_2),
    .tx_reset_2(1'b0), .rx_reset_2(1'b0), .user_tx_reset_2(), .user_rx_reset_2(),
    .gtwiz_reset_tx_datapath_2(1'b0), .gtwiz_reset_rx_datapath_2(1'b0),
    .gt_loopback_in_2(3'b000), .gtpowergood_out_2(), .rxrecclkout_2(),
    .txoutclksel_in_2(3'b101), .rxoutclksel_in_2(3'b101),
    .ctl_rx_wdt_disable_2(1'b0),
    .ctl_rx_test_pattern_2(1'b0), .ctl_rx_test_pattern_enable_2(1'b0), .ctl_rx_data_pattern_select_2(1'b0),
    .ctl_rx_prbs31_test_pattern_enable_2(1'b0),
    .ctl_tx_test_pattern_2(1'b0), .ctl_tx_test_pattern_enable_2(1'b0), .ctl_tx_test_pattern_select_2(1'b0),
    .ctl_tx_data_pattern_select_2(1'b0), .ctl_tx_prbs31_test_pattern_enable_2(1'b0),
    .ctl_tx_test_pattern_seed_a_2(58'd0), .ctl_tx_test_pattern_seed_b_2(58'd0),
    .stat_rx_block_lock_2(), .stat_rx_status_2(), .stat_rx_hi_ber_2(), .stat_rx_local_fault_2(), .stat_tx_local_fault_2(),
    .stat_rx_framing_err_2(), .stat_rx_framing_err_valid_2(), .stat_rx_valid_ctrl_code_2(),
    .stat_rx_bad_code_2(), .stat_rx_bad_code_valid_2(), .stat_rx_error_2(), .stat_rx_error_valid_2(),
    .stat_rx_fifo_error_2(),

    .tx_mii_clk_3(tx_clk_3), .tx_mii_d_3(txd_3), .tx_mii_c_3(txc_3),
    .rx_clk_out_3(rx_clk_3), .rx_core_clk_3(rx_clk_3), .rx_mii_d_3(rxd_3), .rx_mii_c_3(rxc_3),
    .tx_reset_3(1'b0), .rx_reset_3(1'b0), .user_tx_reset_3(), .user_rx_reset_3(),
    .gtwiz_reset_tx_datapath_3(1'b0), .gtwiz_reset_rx_datapath_3(1'b0),
    .gt_loopback_in_3(3'b000), .gtpowergood_out_3(), .rxrecclkout_3(),
    .txoutclksel_in_3(3'b101), .rxoutclksel_in_3(3'b101),
    .ctl_rx_wdt_disable_3(1'b0),
    .ctl_rx_test_pattern_3(1'b0), .ctl_rx_test_pattern_enable_3(1'b0), .ctl_rx_data_pattern_select_3(1'b0),
    .ctl_rx_prbs31_test_pattern_enable_3(1'b0),
    .ctl_tx_test_pattern_3(1'b0), .ctl_tx_test_pattern_enable_3(1'b0), .ctl_tx_test_pattern_select_3(1'b0),
    .ctl_tx_data_pattern_select_3(1'b0), .ctl_tx_prbs31_test_pattern_enable_3(1'b0),
    .ctl_tx_test_pattern_seed_a_3(58'd0), .ctl_tx_test_pattern_seed_b_3(58'd0),
    .stat_rx_block_lock_3(), .stat_rx_status_3(), .stat_rx_hi_ber_3(), .stat_rx_local_fault_3(), .stat_tx_local_fault_3(),
    .stat_rx_framing_err_3(), .stat_rx_framing_err_valid_3(), .stat_rx_valid_ctrl_code_3(),
    .stat_rx_bad_code_3(), .stat_rx_bad_code_valid_3(), .stat_rx_error_3(), .stat_rx_error_valid_3(),
    .stat_rx_fifo_error_3()
);

au50_lights lights (.clk(clk), .good(|good), .fault(|fault), .act(qsfp_led_act), .bad(qsfp_led_stat_y));

assign qsfp_led_stat_g = |up;

wire _unused = &{1'b0, axil_awaddr[31:12], axil_araddr[31:12]};

endmodule

`default_nettype wire
