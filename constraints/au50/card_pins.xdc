# Never read by Vivado: docs/ultrascale.md says what was checked. Sources of all that is here: there too.
# Pins of the design `card`, and clocks that come by them.

# PCI Express: the slot's clock (MGTREFCLK0 of quad 225), reset, lanes 0 and 1 (channels 3 and 2 of quad 227).
set_property PACKAGE_PIN AF9 [get_ports pcie_refclk_p]
set_property PACKAGE_PIN AF8 [get_ports pcie_refclk_n]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_p]
set_property -dict {PACKAGE_PIN AW27 IOSTANDARD LVCMOS18 PULLUP TRUE} [get_ports pcie_reset_n]
set_false_path -from [get_ports pcie_reset_n]
set_property PACKAGE_PIN AL2 [get_ports {pcie_rx_p[0]}]
set_property PACKAGE_PIN AL1 [get_ports {pcie_rx_n[0]}]
set_property PACKAGE_PIN Y5 [get_ports {pcie_tx_p[0]}]
set_property PACKAGE_PIN Y4 [get_ports {pcie_tx_n[0]}]
set_property PACKAGE_PIN AM4 [get_ports {pcie_rx_p[1]}]
set_property PACKAGE_PIN AM3 [get_ports {pcie_rx_n[1]}]
set_property PACKAGE_PIN AA7 [get_ports {pcie_tx_p[1]}]
set_property PACKAGE_PIN AA6 [get_ports {pcie_tx_n[1]}]

# QSFP28: 161.1328125 MHz (MGTREFCLK0 of quad 131), of which the transceiver's own constraints make a clock, and lane 0
# (channel 0 of quad 131).
set_property PACKAGE_PIN N36 [get_ports qsfp_refclk_p]
set_property PACKAGE_PIN N37 [get_ports qsfp_refclk_n]
set_property PACKAGE_PIN J45 [get_ports qsfp_rx_p]
set_property PACKAGE_PIN J46 [get_ports qsfp_rx_n]
set_property PACKAGE_PIN D42 [get_ports qsfp_tx_p]
set_property PACKAGE_PIN D43 [get_ports qsfp_tx_n]

# 100 MHz from the board's oscillator.
set_property -dict {PACKAGE_PIN BB18 IOSTANDARD LVDS} [get_ports clk100_p]
set_property -dict {PACKAGE_PIN BC18 IOSTANDARD LVDS} [get_ports clk100_n]
create_clock -name clk100 -period 10.000 [get_ports clk100_p]

set_property -dict {PACKAGE_PIN J18 IOSTANDARD LVCMOS18} [get_ports hbm_cattrip]
set_property -dict {PACKAGE_PIN E18 IOSTANDARD LVCMOS18 SLEW SLOW DRIVE 8} [get_ports qsfp_led_act]
set_property -dict {PACKAGE_PIN E16 IOSTANDARD LVCMOS18 SLEW SLOW DRIVE 8} [get_ports qsfp_led_stat_g]
set_property -dict {PACKAGE_PIN F17 IOSTANDARD LVCMOS18 SLEW SLOW DRIVE 8} [get_ports qsfp_led_stat_y]
set_false_path -to [get_ports {hbm_cattrip qsfp_led_act qsfp_led_stat_g qsfp_led_stat_y}]
