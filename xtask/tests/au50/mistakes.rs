//! Mistakes in script and constraints, and what the complaint names.

use super::designs::Change;

/// Of the card's files.
pub const CARD_MISTAKES: [(Change, &str); 22] = [
    (
        (
            "card_pins.xdc",
            "set_property PACKAGE_PIN AM3 [get_ports {pcie_rx_n[1]}]\n",
            "",
        ),
        "port pcie_rx_n[1] has no PACKAGE_PIN",
    ),
    (
        (
            "card_pins.xdc",
            "PACKAGE_PIN J45 [get_ports qsfp_rx_p]",
            "PACKAGE_PIN J45 [get_ports qsfp_rxp]",
        ),
        "there is no port qsfp_rxp",
    ),
    (
        ("card_pins.xdc", "PACKAGE_PIN AW27", "PACKAGE_PIN AW28"),
        "there is no pin AW28",
    ),
    (
        ("card_pins.xdc", "PACKAGE_PIN E16", "PACKAGE_PIN E18"),
        "pin E18",
    ),
    (
        ("card_pins.xdc", "PACKAGE_PIN J45", "PACKAGE_PIN G45"),
        "qsfp0_RX_P1",
    ),
    (
        (
            "card_pins.xdc",
            "PACKAGE_PIN J18 IOSTANDARD LVCMOS18",
            "PACKAGE_PIN J18",
        ),
        "port hbm_cattrip: IOSTANDARD",
    ),
    (
        ("card_pins.xdc", "PULLUP TRUE", "PULL_UP TRUE"),
        "port has no property PULL_UP",
    ),
    (
        (
            "card_pins.xdc",
            "create_clock -name clk100",
            "make_clock -name clk100",
        ),
        "make_clock",
    ),
    (
        (
            "card_pins.xdc",
            "create_clock -name clk100 -period 10.000 [get_ports clk100_p]",
            "",
        ),
        "there is no clock at clk100_p",
    ),
    (("config.xdc", "CFGBVS GND", "CFGBVS GROUND"), "CFGBVS"),
    (
        (
            "card_timing.xdc",
            "get_pins pcie/user_clk",
            "get_pins pcie/userclk",
        ),
        "there is no pin pcie/userclk",
    ),
    (
        (
            "card_timing.xdc",
            "get_pins pcs/tx_mii_clk_0",
            "get_pins pcs/dclk",
        ),
        "there is no clock",
    ),
    (
        (
            "card_timing.xdc",
            "{line/mac/queues/go/head/gray_reg_reg[*]}",
            "{line/mac/queues/go/head/gray_reg[*]}",
        ),
        "there is no cell",
    ),
    (
        (
            "card_timing.xdc",
            "set_max_delay -datapath_only -from $rx_clk -to $tx_clk 6.400\n",
            "",
        ),
        "have no limit",
    ),
    (
        (
            "card_timing.xdc",
            "-from $tx_clk -to $user_clk",
            "-form $tx_clk -to $user_clk",
        ),
        "set_max_delay has no option -form",
    ),
    (
        ("build.tcl", "report_bus_skew -file", "report_skew -file"),
        "there is no command report_skew",
    ),
    (
        (
            "build.tcl",
            "set_property top au50_$design",
            "set_property top $design",
        ),
        "there is no module card",
    ),
    (
        (
            "build.tcl",
            "create_project $design [file join $folder project] -part $part",
            "create_project $design [file join $folder project] -device $part",
        ),
        "create_project has no option -device",
    ),
    (
        (
            "build.tcl",
            "_timing.xdc]\n    add_files",
            "_timings.xdc]\n    add_files",
        ),
        "there is no file",
    ),
    (
        (
            "build.tcl",
            "CONFIG.LANE1_GT_LOC {X0Y28}",
            "CONFIG.LANE1_GT_LOC {X0Y29}",
        ),
        "the block at Quad_X0Y7 X0Y29",
    ),
    (
        (
            "build.tcl",
            "CONFIG.PF0_MSIX_CAP_TABLE_SIZE {007}",
            "CONFIG.PF0_MSIX_TABLE_SIZE {007}",
        ),
        "has no property CONFIG.PF0_MSIX_TABLE_SIZE",
    ),
    (
        (
            "build.tcl",
            "CONFIG.axisten_if_width {64_bit}\n    CONFIG.axisten_freq {125}",
            "CONFIG.axisten_if_width {64_bit}\n    CONFIG.axisten_freq {250}",
        ),
        "has 4.000 ns instead of 8.000",
    ),
];

/// Of the switch's files.
pub const SWITCH_MISTAKES: [(Change, &str); 5] = [
    (
        ("switch_pins.xdc", "PACKAGE_PIN E46", "PACKAGE_PIN F44"),
        "pin F44",
    ),
    (
        (
            "switch_timing.xdc",
            "get_pins pcs/rx_clk_out_3",
            "get_pins pcs/rx_clk_out_4",
        ),
        "there is no pin pcs/rx_clk_out_4",
    ),
    (
        (
            "switch_timing.xdc",
            "set_max_delay -datapath_only -from $tx_clk_2 -to $user_clk 6.400\n",
            "",
        ),
        "paths from pcs/tx_mii_clk_2 to pcie/axi_aclk have no limit",
    ),
    (
        ("build.tcl", "LANE3_GT_LOC {X0Y30}", "LANE3_GT_LOC {X0Y31}"),
        "the block at Quad_X0Y7 X0Y31",
    ),
    (
        ("build.tcl", "CONFIG.axi_data_width", "CONFIG.axi_width"),
        "has no property CONFIG.axi_width",
    ),
];
