// mac_gmii with counters behind its pulses, for a bench in Python that looks at the end only.
`timescale 1ns/1fs
`default_nettype none

module mac_gmii_bench (
    input wire clk,
    input wire rst,
    input wire rx_clk,
    input wire [7:0] gmii_rxd,
    input wire gmii_rx_dv,
    input wire gmii_rx_er,
    input wire tx_clk,
    output wire [7:0] gmii_txd,
    output wire gmii_tx_en,
    output wire gmii_tx_er,
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
    output reg [31:0] tx_frames,
    output reg [31:0] tx_underruns,
    output reg [31:0] rx_frames,
    output reg [31:0] rx_bad,
    output reg [31:0] rx_dropped,
    output reg [31:0] rx_fragments
);

wire tx_frame, tx_underrun, rx_frame, rx_is_bad, rx_drop, rx_fragment;

mac_gmii mac (
    .clk(clk), .rst(rst),
    .rx_clk(rx_clk), .gmii_rxd(gmii_rxd), .gmii_rx_dv(gmii_rx_dv), .gmii_rx_er(gmii_rx_er),
    .tx_clk(tx_clk), .gmii_txd(gmii_txd), .gmii_tx_en(gmii_tx_en), .gmii_tx_er(gmii_tx_er),
    .s_axis_tx_tdata(s_axis_tx_tdata), .s_axis_tx_tkeep(s_axis_tx_tkeep),
    .s_axis_tx_tvalid(s_axis_tx_tvalid), .s_axis_tx_tready(s_axis_tx_tready), .s_axis_tx_tlast(s_axis_tx_tlast),
    .m_axis_rx_tdata(m_axis_rx_tdata), .m_axis_rx_tkeep(m_axis_rx_tkeep),
    .m_axis_rx_tvalid(m_axis_rx_tvalid), .m_axis_rx_tready(m_axis_rx_tready),
    .m_axis_rx_tlast(m_axis_rx_tlast), .m_axis_rx_tuser(m_axis_rx_tuser),
    .cfg_longest(16'd9022),
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
