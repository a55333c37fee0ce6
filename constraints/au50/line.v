// One lane of 10 Gb/s at a core of the Alveo U50: mac_xgmii and its reset; and what LEDs show of all lanes.
`timescale 1ns/1ps
`default_nettype none

module au50_line (
    input wire clk,                  // Clock of the core.
    input wire rst,                  // Reset of the core.

    // Frames from the core; until the MAC works they are lost.
    input wire s_axis_tx_tvalid,
    output wire s_axis_tx_tready,
    input wire [63:0] s_axis_tx_tdata,
    input wire [7:0] s_axis_tx_tkeep,
    input wire s_axis_tx_tlast,

    // Frames to the core.
    output wire m_axis_rx_tvalid,
    input wire m_axis_rx_tready,
    output wire [63:0] m_axis_rx_tdata,
    output wire [7:0] m_axis_rx_tkeep,
    output wire m_axis_rx_tlast,
    output wire m_axis_rx_tuser,

    // The transceiver's PCS.
    input wire rx_clk,
    input wire [63:0] xgmii_rxd,
    input wire [7:0] xgmii_rxc,
    input wire tx_clk,
    output wire [63:0] xgmii_txd,
    output wire [7:0] xgmii_txc,

    output wire up,                  // The MAC works, and neither end tells a fault.
    output wire good,                // A good frame; pulse.
    output wire fault                // A frame that is bad or lost; pulse.
);

// Reset of the MAC: until both clocks of the line have seen it and come back, since the one of what comes may stand while
// the transceiver looks for a signal. The core does not wait for that.
wire tx_seen, tx_back, rx_seen, rx_back;
reg mac_rst;
reg [5:0] held;

sync_bits #(.W(1)) mac_rst_tx (.clk(tx_clk), .d(mac_rst), .q(tx_seen));
sync_bits #(.W(1)) mac_rst_rx (.clk(rx_clk), .d(mac_rst), .q(rx_seen));
sync_bits #(.W(1)) mac_rst_tx_back (.clk(clk), .d(tx_seen), .q(tx_back));
sync_bits #(.W(1)) mac_rst_rx_back (.clk(clk), .d(rx_seen), .q(rx_back));

initial begin
    mac_rst = 1'b1;
    held = 6'd0;
end

always @(posedge clk) begin
    if (rst) begin
        mac_rst <= 1'b1;
        held <= 6'd0;
    end else if (mac_rst) begin
        held <= (tx_back & rx_back) ? held + 6'd1 : 6'd0;
        if (&held) begin
            mac_rst <= 1'b0;
        end
    end
end

// What the core sends until then is lost, and the first frame that passes is a whole one.
reg pass;
reg midway;
wire taken = s_axis_tx_tvalid & s_axis_tx_tready;

initial begin
    pass = 1'b0;
    midway = 1'b0;
end

always @(posedge clk) begin
    if (rst) begin
        pass <= 1'b0;
        midway <= 1'b0;
    end else begin
        if (taken) begin
            midway <= !s_axis_tx_tlast;
        end
        if (!mac_rst & !(taken ? !s_axis_tx_tlast : midway)) begin
            pass <= 1'b1;
        end
    end
end

wire local_fault, remote_fault;
wire tx_frame, tx_underrun, rx_frame, rx_bad, rx_dropped, rx_fragment;

mac_xgmii mac (
    .clk(clk), .rst(mac_rst),
    .rx_clk(rx_clk), .xgmii_rxd(xgmii_rxd), .xgmii_rxc(xgmii_rxc),
    .tx_clk(tx_clk), .xgmii_txd(xgmii_txd), .xgmii_txc(xgmii_txc),
    .s_axis_tx_tvalid(s_axis_tx_tvalid & pass), .s_axis_tx_tready(s_axis_tx_tready), .s_axis_tx_tdata(s_axis_tx_tdata),
    .s_axis_tx_tkeep(s_axis_tx_tkeep), .s_axis_tx_tlast(s_axis_tx_tlast),
    .m_axis_rx_tvalid(m_axis_rx_tvalid), .m_axis_rx_tready(m_axis_rx_tready), .m_axis_rx_tdata(m_axis_rx_tdata),
    .m_axis_rx_tkeep(m_axis_rx_tkeep), .m_axis_rx_tlast(m_axis_rx_tlast), .m_axis_rx_tuser(m_axis_rx_tuser),
    .cfg_longest(16'd9022),
    .stat_local_fault(local_fault), .stat_remote_fault(remote_fault),
    .stat_tx_frame(tx_frame), .stat_tx_underrun(tx_underrun), .stat_rx_frame(rx_frame), .stat_rx_bad(rx_bad),
    .stat_rx_dropped(rx_dropped), .stat_rx_fragment(rx_fragment)
);

assign up = !mac_rst & !local_fault & !remote_fault;
assign good = tx_frame | rx_frame;
assign fault = tx_underrun | rx_bad | rx_dropped | rx_fragment;

endmodule

// Pulses are seen for 67 ms.
module au50_lights (
    input wire clk,
    input wire good,
    input wire fault,
    output wire act,
    output wire bad
);

reg [23:0] since_good;
reg [23:0] since_fault;

initial begin
    since_good = 24'd0;
    since_fault = 24'd0;
end

always @(posedge clk) begin
    if (good) begin
        since_good <= 24'h800000;
    end else if (since_good[23]) begin
        since_good <= since_good + 24'd1;
    end
    if (fault) begin
        since_fault <= 24'h800000;
    end else if (since_fault[23]) begin
        since_fault <= since_fault + 24'd1;
    end
end

assign act = since_good[23];
assign bad = since_fault[23];

endmodule

`default_nettype wire
