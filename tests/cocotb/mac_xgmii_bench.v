// mac_xgmii with counters behind its pulses, for a bench in Python that looks at the end only.
`timescale 1ns/1fs
`default_nettype none

module mac_xgmii_bench (
    input wire clk,
    input wire rst,
    input wire rx_clk,
    input wire [63:0] xgmii_rxd,
    input wire [7:0] xgmii_rxc,
    input wire tx_clk,
    output wire [63:0] xgmii_txd,
    output wire [7:0] xgmii_txc,
    input wire [63:0] s_axis_tx_tdata,
    input wire [7:0] s_axis_tx_tkeep,
    input wire s_axis_tx_tvalid,
    output wire s_axis_tx_tready,
    input wire s_axis_tx_tlast,
    output wire [63:0] m_axis_rx_tdata,
    output wire [7:0] m_axis_rx_tkeep,
    output wire m_axis_rx_tvalid,
    input wire m_axis_rx_tready,
    output wire m_axis_rx_tlast,
    output wire m_axis_rx_tuser,
    output wire local_fault,
    output wire remote_fault,
    output reg [31:0] tx_frames,
    output reg [31:0] tx_underruns,
    output reg [31:0] rx_frames,
    output reg [31:0] rx_bad,
    output reg [31:0] rx_dropped,
    output reg [31:0] rx_fragments
);

wire tx_frame, tx_underrun, rx_frame, rx_is_bad, rx_drop, rx_fragment;

mac_xgmii mac (
    .clk(clk), .rst(rst),
    .rx_clk(rx_clk), .xgmii_rxd(xgmii_rxd), .xgmii_rxc(xgmii_rxc),
    .tx_clk(tx_clk), .xgmii_txd(xgmii_txd), .xgmii_txc(xgmii_txc),
    .s_axis_tx_tdata(s_axis_tx_tdata), .s_axis_tx_tkeep(s_axis_tx_tkeep),
    .s_axis_tx_tvalid(s_axis_tx_tvalid), .s_axis_tx_tready(s_axis_tx_tready), .s_axis_tx_tlast(s_axis_tx_tlast),
    .m_axis_rx_tdata(m_axis_rx_tdata), .m_axis_rx_tkeep(m_axis_rx_tkeep),
    .m_axis_rx_tvalid(m_axis_rx_tvalid), .m_axis_rx_tready(m_axis_rx_tready),
    .m_axis_rx_tlast(m_axis_rx_tlast), .m_axis_rx_tuser(m_axis_rx_tuser),
    .cfg_longest(16'd9022),
    .stat_local_fault(local_fault), .stat_remote_fault(remote_fault),
    .stat_tx_frame(tx_frame), .stat_tx_underrun(tx_underrun), .stat_rx_frame(rx_frame),
    .stat_rx_bad(rx_is_bad), .stat_rx_dropped(rx_drop), .stat_rx_fragment(rx_fragment)
);

always @(posedge clk) begin
    tx_frames <= rst ? 0 : tx_frames + {31'd0, tx_frame};
    tx_underruns <= rst ? 0 : tx_underruns + {31'd0, tx_underrun};
    rx_frames <= rst ? 0 : rx_frames + {31'd0, rx_frame};
    rx_bad <= rst ? 0 : rx_bad + {31'd0, rx_is_bad};
    rx_dropped <= rst ? 0 : rx_dropped + {31'd0, rx_drop};
    rx_fragments <= rst ? 0 : rx_fragments + {31'd0, rx_fragment};
end

endmodule

`default_nettype wire
