// The repeater, and the clock by which its PHYs sample what it sends: they delay it by 2 ns. Python drives that one.
`timescale 1ns/1fs
`default_nettype none

module repeater_bench (
    input wire clk,
    input wire rst,
    input wire tx_clk,
    input wire late_txc,
    output wire [7:0] leds,
    input wire p0_rgmii_rxc,
    input wire p0_rgmii_rx_ctl,
    input wire [3:0] p0_rgmii_rxd,
    output wire p0_rgmii_txc,
    output wire p0_rgmii_tx_ctl,
    output wire [3:0] p0_rgmii_txd,
    output wire p0_phy_rst_n,
    output wire p0_mdc,
    output wire p0_mdio_o,
    output wire p0_mdio_oe,
    input wire p0_mdio_i,
    input wire p1_rgmii_rxc,
    input wire p1_rgmii_rx_ctl,
    input wire [3:0] p1_rgmii_rxd,
    output wire p1_rgmii_txc,
    output wire p1_rgmii_tx_ctl,
    output wire [3:0] p1_rgmii_txd,
    output wire p1_phy_rst_n,
    output wire p1_mdc,
    output wire p1_mdio_o,
    output wire p1_mdio_oe,
    input wire p1_mdio_i
);

repeater_rx0_tx0_c8 repeater (
    .clk(clk), .rst(rst), .tx_clk(tx_clk), .leds(leds),
    .p0_rgmii_rxc(p0_rgmii_rxc), .p0_rgmii_rx_ctl(p0_rgmii_rx_ctl), .p0_rgmii_rxd(p0_rgmii_rxd),
    .p0_rgmii_txc(p0_rgmii_txc), .p0_rgmii_tx_ctl(p0_rgmii_tx_ctl), .p0_rgmii_txd(p0_rgmii_txd),
    .p0_phy_rst_n(p0_phy_rst_n), .p0_mdc(p0_mdc),
    .p0_mdio_o(p0_mdio_o), .p0_mdio_oe(p0_mdio_oe), .p0_mdio_i(p0_mdio_i),
    .p1_rgmii_rxc(p1_rgmii_rxc), .p1_rgmii_rx_ctl(p1_rgmii_rx_ctl), .p1_rgmii_rxd(p1_rgmii_rxd),
    .p1_rgmii_txc(p1_rgmii_txc), .p1_rgmii_tx_ctl(p1_rgmii_tx_ctl), .p1_rgmii_txd(p1_rgmii_txd),
    .p1_phy_rst_n(p1_phy_rst_n), .p1_mdc(p1_mdc),
    .p1_mdio_o(p1_mdio_o), .p1_mdio_oe(p1_mdio_oe), .p1_mdio_i(p1_mdio_i)
);

endmodule

`default_nettype wire
