// The top of the Alveo U50 from clock to clock: resets of the block at any time, a receiving clock that stands, frames in
// both directions over a line that is joined to itself. Blocks and card are empty; what they drive is forced here.
`timescale 1ns/1ps

module bench;

parameter LIVES = 12;

reg clk = 0, tx_clk = 0, rx_clk = 0, free_clk = 0;
reg rx_runs = 0;
always #4.000 clk = !clk;
always #3.200 tx_clk = !tx_clk;
always #5.000 free_clk = !free_clk;
always begin
    #3.2001 rx_clk = rx_runs;
    #3.2001 rx_clk = 0;
end

reg user_reset = 1;
wire hbm_cattrip, act, green, yellow;

au50_card dut (
    .pcie_refclk_p(1'b0), .pcie_refclk_n(1'b0), .pcie_reset_n(1'b0),
    .pcie_rx_p(2'b00), .pcie_rx_n(2'b00), .pcie_tx_p(), .pcie_tx_n(),
    .qsfp_refclk_p(1'b0), .qsfp_refclk_n(1'b0), .qsfp_rx_p(1'b0), .qsfp_rx_n(1'b0), .qsfp_tx_p(), .qsfp_tx_n(),
    .clk100_p(1'b0), .clk100_n(1'b0),
    .hbm_cattrip(hbm_cattrip), .qsfp_led_act(act), .qsfp_led_stat_g(green), .qsfp_led_stat_y(yellow)
);

initial begin
    force dut.clk = clk;
    force dut.tx_clk = tx_clk;
    force dut.rx_clk = rx_clk;
    force dut.free_clk = free_clk;
    force dut.user_reset = user_reset;
    force dut.cq_dropped = 1'b0;
    force dut.rc_error = 1'b0;
    force dut.card_rx_tready = 1'b1;
end

// The line: what is sent comes back one clock later. The receiving clock is slower by 31 ppm, so one word in 32,000 is lost:
// it is taken from between frames.
reg [71:0] line [0:1023];
integer head = 0, tail = 0;
reg [63:0] rxd = {8{8'h07}};
reg [7:0] rxc = 8'hff;
always @(posedge tx_clk) begin
    if (!(&dut.xgmii_txc & dut.xgmii_txd === {8{8'h07}} & head - tail > 8)) begin
        line[head % 1024] <= {dut.xgmii_txc, dut.xgmii_txd};
        head <= head + 1;
    end
end
always @(posedge rx_clk) begin
    if (head - tail > 1000) begin
        tail <= head - 4;
        {rxc, rxd} <= {8'hff, {8{8'h07}}};
    end else if (head - tail > 2) begin
        {rxc, rxd} <= line[tail % 1024];
        tail <= tail + 1;
    end else begin
        {rxc, rxd} <= {8'hff, {8{8'h07}}};
    end
end
initial begin
    force dut.xgmii_rxd = rxd;
    force dut.xgmii_rxc = rxc;
end

// The card sends frames without end and without gaps within one; a word has the number of its frame and its own.
reg [31:0] number = 0;
reg [15:0] word = 0;
reg sending = 0;
wire [15:0] length = 8 + number % 13;
wire last = word == length - 1;
wire [63:0] data = {number, 16'hcafe, word};
initial begin
    force dut.card_tx_tvalid = sending;
    force dut.card_tx_tdata = data;
    force dut.card_tx_tkeep = 8'hff;
    force dut.card_tx_tlast = last;
end
always @(posedge clk) begin
    if (dut.rst) begin
        sending <= 0;
        if (word != 0) begin
            number <= number + 1;
        end
        word <= 0;
    end else begin
        sending <= 1;
        if (sending & dut.card_tx_tready) begin
            word <= last ? 16'd0 : word + 16'd1;
            number <= number + last;
        end
    end
end

// What comes: whole frames, one behind the other, of this life.
integer bad = 0, came = 0;
reg [31:0] least = 0, expected = 0;
reg [15:0] at = 0;
reg first = 1;
task fail(input [8*40-1:0] what);
    begin
        bad = bad + 1;
        if (bad < 10) $display("%0t: %0s, frame %0d word %0d", $time, what, dut.card_rx_tdata[63:32], dut.card_rx_tdata[15:0]);
    end
endtask
always @(posedge clk) begin
    if (dut.rst) begin
        at <= 0;
        first <= 1;
        least <= number;
    end else if (dut.card_rx_tvalid) begin
        if (dut.card_rx_tdata[31:16] !== 16'hcafe | dut.card_rx_tdata[15:0] !== at) fail("not the word");
        if (at == 0 & first & dut.card_rx_tdata[63:32] < least) fail("of a life before");
        if (at == 0 & !first & dut.card_rx_tdata[63:32] !== expected) fail("not the next frame");
        if (dut.card_rx_tuser & dut.card_rx_tlast) fail("marked");
        at <= dut.card_rx_tlast ? 16'd0 : at + 16'd1;
        if (dut.card_rx_tlast) begin
            if (at + 1 != 8 + dut.card_rx_tdata[63:32] % 13) fail("cut");
            expected <= dut.card_rx_tdata[63:32] + 1;
            first <= 0;
            came <= came + 1;
        end
    end
end

integer had, life;
initial begin
    #1000;
    for (life = 0; life < LIVES; life = life + 1) begin
        // The receiving clock stands while the block comes out of its reset, somewhere in a frame of the card.
        rx_runs = life % 4 == 3;
        user_reset = 1;
        #(200 + 37 * life);
        @(posedge clk) user_reset = 0;
        had = came;
        #(3000 + 8 * (life % 20));
        if (life % 4 != 3) begin
            if (!dut.line.mac_rst | green !== 1'b0) fail("reset of the MAC has ended early");
            if (came != had) fail("a frame came without a clock");
        end
        rx_runs = 1;
        #6000;
        if (dut.line.mac_rst | !green | !act) fail("the MAC does not work");
        if (came - had < 20) fail("few frames");
        // A receiving clock that stands for a while costs frames, and no more than that: the card's reset comes next.
        if (life % 2) rx_runs = 0;
        #500;
    end
    if (hbm_cattrip !== 1'b0) fail("the board switches itself off");
    $display("%0d frames, %0d faults", came, bad);
    $finish;
end

endmodule
