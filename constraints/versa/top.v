// Pads of the ECP5-5G Versa around DESIGN, a block with two PHYs: clocks from 100 MHz, reset, tristate pads, LEDs that
// light when low.
`timescale 1ns/1ps
`default_nettype none

module versa (
    input wire clk100,
    input wire rst_n,
    output wire [7:0] led_n,

    input wire p0_rgmii_rxc,
    input wire p0_rgmii_rx_ctl,
    input wire [3:0] p0_rgmii_rxd,
    output wire p0_rgmii_txc,
    output wire p0_rgmii_tx_ctl,
    output wire [3:0] p0_rgmii_txd,
    output wire p0_phy_rst_n,
    output wire p0_mdc,
    inout wire p0_mdio,

    input wire p1_rgmii_rxc,
    input wire p1_rgmii_rx_ctl,
    input wire [3:0] p1_rgmii_rxd,
    output wire p1_rgmii_txc,
    output wire p1_rgmii_tx_ctl,
    output wire [3:0] p1_rgmii_txd,
    output wire p1_phy_rst_n,
    output wire p1_mdc,
    inout wire p1_mdio
);

wire clk;
wire tx_clk;
wire locked;

// 100 MHz by 4 and times 20 is 500 MHz in the oscillator; by 4 that is 125 MHz, by 5 it is 100 MHz.
(* FREQUENCY_PIN_CLKI = "100", FREQUENCY_PIN_CLKOP = "125", FREQUENCY_PIN_CLKOS = "100",
   ICP_CURRENT = "12", LPF_RESISTOR = "8" *)
EHXPLLL #(
    .PLLRST_ENA("DISABLED"), .INTFB_WAKE("DISABLED"), .STDBY_ENABLE("DISABLED"), .DPHASE_SOURCE("DISABLED"),
    .OUTDIVIDER_MUXA("DIVA"), .OUTDIVIDER_MUXB("DIVB"), .OUTDIVIDER_MUXC("DIVC"), .OUTDIVIDER_MUXD("DIVD"),
    .CLKI_DIV(4), .CLKFB_DIV(5), .FEEDBK_PATH("CLKOP"),
    .CLKOP_ENABLE("ENABLED"), .CLKOP_DIV(4), .CLKOP_CPHASE(3), .CLKOP_FPHASE(0),
    .CLKOS_ENABLE("ENABLED"), .CLKOS_DIV(5), .CLKOS_CPHASE(4), .CLKOS_FPHASE(0)
) pll (
    .RST(1'b0), .STDBY(1'b0), .CLKI(clk100), .CLKOP(tx_clk), .CLKOS(clk), .CLKFB(tx_clk),
    .CLKINTFB(), .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b1), .PHASESTEP(1'b1),
    .PHASELOADREG(1'b1), .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0), .ENCLKOS(1'b0), .LOCK(locked)
);

// Reset: while the clocks are not there or the button is pressed, and some clocks longer.
reg [2:0] held = 3'b111;

always @(posedge clk or negedge locked) begin
    if (!locked) begin
        held <= 3'b111;
    end else begin
        held <= {held[1:0], !rst_n};
    end
end

wire [7:0] leds;
wire p0_mdio_o, p0_mdio_oe, p1_mdio_o, p1_mdio_oe;

assign led_n = ~leds;
assign p0_mdio = p0_mdio_oe ? p0_mdio_o : 1'bz;
assign p1_mdio = p1_mdio_oe ? p1_mdio_o : 1'bz;

`DESIGN core (
    .clk(clk), .rst(held[2]), .tx_clk(tx_clk), .leds(leds),
    .p0_rgmii_rxc(p0_rgmii_rxc), .p0_rgmii_rx_ctl(p0_rgmii_rx_ctl), .p0_rgmii_rxd(p0_rgmii_rxd),
    .p0_rgmii_txc(p0_rgmii_txc), .p0_rgmii_tx_ctl(p0_rgmii_tx_ctl), .p0_rgmii_txd(p0_rgmii_txd),
    .p0_phy_rst_n(p0_phy_rst_n), .p0_mdc(p0_mdc),
    .p0_mdio_o(p0_mdio_o), .p0_mdio_oe(p0_mdio_oe), .p0_mdio_i(p0_mdio),
    .p1_rgmii_rxc(p1_rgmii_rxc), .p1_rgmii_rx_ctl(p1_rgmii_rx_ctl), .p1_rgmii_rxd(p1_rgmii_rxd),
    .p1_rgmii_txc(p1_rgmii_txc), .p1_rgmii_tx_ctl(p1_rgmii_tx_ctl), .p1_rgmii_txd(p1_rgmii_txd),
    .p1_phy_rst_n(p1_phy_rst_n), .p1_mdc(p1_mdc),
    .p1_mdio_o(p1_mdio_o), .p1_mdio_oe(p1_mdio_oe), .p1_mdio_i(p1_mdio)
);

endmodule

`default_nettype wire
