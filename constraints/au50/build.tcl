# Never run by Vivado: no Vivado was at hand. docs/ultrascale.md says what was checked instead, and where each name of a
# block, property and value is from.
#
# A bitstream for the Alveo U50 from nothing, in a new folder:
#
#   vivado -mode batch -source constraints/au50/build.tcl -tclargs DESIGN FOLDER [JOBS]
#
# DESIGN is card or switch. Ends with 0 and FOLDER/DESIGN.bit if all of the timing is met; with 1, a line that begins with
# `au50:` and no bitstream otherwise. Reports are in FOLDER/reports. Needs the Verilog in rtl_out, as it is in the
# repository.

set part xcu50-fsvh2104-2-e
set here [file dirname [file normalize [info script]]]
set root [file dirname [file dirname $here]]

# What the designs are made of: presets whose Verilog they take, blocks of the vendor's (module, block, properties), clocks
# at pins of these (ns), of which constraints make use, and the lines.
array set presets {card au50 switch {au50 ecp5-85f}}
array set blocks {
    card {pcie_block pcie4c_uscale_plus pcie_properties pcs_10g xxv_ethernet pcs_properties}
    switch {pcie_bridge xdma bridge_properties pcs_4x10g xxv_ethernet pcs_four_properties}
}
array set clocks {
    card {pcie/user_clk 8.000 pcs/tx_mii_clk_0 6.400 pcs/rx_clk_out_0 6.400}
    switch {
        pcie/axi_aclk 8.000
        pcs/tx_mii_clk_0 6.400 pcs/rx_clk_out_0 6.400 pcs/tx_mii_clk_1 6.400 pcs/rx_clk_out_1 6.400
        pcs/tx_mii_clk_2 6.400 pcs/rx_clk_out_2 6.400 pcs/tx_mii_clk_3 6.400 pcs/rx_clk_out_3 6.400
    }
}
array set lines {card line switch {line_0 line_1 line_2 line_3}}

# Counts that cross between clocks in a line, which constraints name, and their bits.
set crossings {
    mac/queues/come/tail 10
    mac/queues/come/head 10
    mac/queues/go/tail 10
    mac/queues/go/head 10
    mac/queues/frames 10
    mac/queues/underruns/events 4
    mac/queues/drops/events 4
    mac/queues/fragments/events 4
}

# The PCI Express block, PCIE4C: Gen2 x2, streams of 64 bits at 125 MHz, one function.
set pcie_properties {
    CONFIG.mode_selection {Advanced}
    CONFIG.PL_LINK_CAP_MAX_LINK_SPEED {5.0_GT/s}
    CONFIG.PL_LINK_CAP_MAX_LINK_WIDTH {X2}
    CONFIG.axisten_if_width {64_bit}
    CONFIG.axisten_freq {125}
    CONFIG.en_gt_selection {true}
    CONFIG.pcie_blk_locn {X1Y0}
    CONFIG.select_quad {GTY_Quad_227}
    CONFIG.axisten_if_enable_client_tag {true}
    CONFIG.pf0_dev_cap_max_payload {512_bytes}
    CONFIG.vendor_id {1234}
    CONFIG.PF0_DEVICE_ID {5401}
    CONFIG.PF0_SUBSYSTEM_VENDOR_ID {1234}
    CONFIG.PF0_SUBSYSTEM_ID {5401}
    CONFIG.PF0_Use_Class_Code_Lookup_Assistant {false}
    CONFIG.PF0_CLASS_CODE {028000}
    CONFIG.pf0_bar0_64bit {false}
    CONFIG.pf0_bar0_prefetchable {false}
    CONFIG.pf0_bar0_scale {Megabytes}
    CONFIG.pf0_bar0_size {8}
    CONFIG.pf0_msi_enabled {false}
    CONFIG.pf0_msix_enabled {true}
    CONFIG.MSI_X_OPTIONS {MSI-X_External}
    CONFIG.PF0_MSIX_CAP_TABLE_SIZE {007}
    CONFIG.PF0_MSIX_CAP_TABLE_BIR {BAR_0}
    CONFIG.PF0_MSIX_CAP_TABLE_OFFSET {00002000}
    CONFIG.PF0_MSIX_CAP_PBA_BIR {BAR_0}
    CONFIG.PF0_MSIX_CAP_PBA_OFFSET {00003000}
}

# The same with a bridge to AXI4-Lite, a window of 1 MiB in BAR 0, and a DMA engine that is not used.
set bridge_properties {
    CONFIG.mode_selection {Advanced}
    CONFIG.pl_link_cap_max_link_speed {5.0_GT/s}
    CONFIG.pl_link_cap_max_link_width {X2}
    CONFIG.axi_data_width {64_bit}
    CONFIG.axisten_freq {125}
    CONFIG.en_gt_selection {true}
    CONFIG.pcie_blk_locn {PCIE4C_X1Y0}
    CONFIG.select_quad {GTY_Quad_227}
    CONFIG.vendor_id {1234}
    CONFIG.pf0_device_id {5402}
    CONFIG.xdma_axi_intf_mm {AXI_Stream}
    CONFIG.xdma_axilite_slave {false}
    CONFIG.axilite_master_en {true}
    CONFIG.axilite_master_size {1}
    CONFIG.cfg_mgmt_if {false}
}

# Transceiver and PCS of 10GBASE-R with an XGMII of 64 bits; no MAC, so no licence is paid for.
set pcs_properties {
    CONFIG.CORE {Ethernet PCS/PMA 64-bit}
    CONFIG.LINE_RATE {10}
    CONFIG.BASE_R_KR {BASE-R}
    CONFIG.DATA_PATH_INTERFACE {MII}
    CONFIG.NUM_OF_CORES {1}
    CONFIG.GT_REF_CLK_FREQ {161.1328125}
    CONFIG.GT_DRP_CLK {100.00}
    CONFIG.GT_GROUP_SELECT {Quad_X0Y7}
    CONFIG.LANE1_GT_LOC {X0Y28}
    CONFIG.INCLUDE_AXI4_INTERFACE {0}
    CONFIG.INCLUDE_USER_FIFO {0}
    CONFIG.ENABLE_PIPELINE_REG {0}
}

# The same four times.
set pcs_four_properties [dict merge $pcs_properties {
    CONFIG.NUM_OF_CORES {4}
    CONFIG.LANE2_GT_LOC {X0Y29}
    CONFIG.LANE3_GT_LOC {X0Y30}
    CONFIG.LANE4_GT_LOC {X0Y31}
}]

# Two values of a property mean the same: numbers by value, words in any case.
proc same {a b} {
    if {[string is double -strict $a] && [string is double -strict $b]} {
        return [expr {$a == $b}]
    }
    return [string equal -nocase $a $b]
}

# Makes a block of the vendor's. Setting one property may set others back, so all are set until all of them read as asked.
proc make_block {block module properties} {
    create_ip -name $block -vendor xilinx.com -library ip -module_name $module
    for {set round 0} {$round < 3} {incr round} {
        set_property -dict $properties [get_ips $module]
        set wrong {}
        foreach name [dict keys $properties] {
            set value [dict get $properties $name]
            set got [get_property $name [get_ips $module]]
            if {![same $got $value]} {
                lappend wrong "$name is `$got` instead of `$value`"
            }
        }
        if {[llength $wrong] == 0} {
            break
        }
    }
    if {[llength $wrong] != 0} {
        error "$block does not take what is asked of it: [join $wrong {; }]"
    }
    generate_target all [get_ips $module]
    create_ip_run [get_ips $module]
}

# Runs one and waits; fails if it does.
proc complete {run} {
    global jobs
    launch_runs $run -jobs $jobs
    wait_on_run $run
    if {[get_property PROGRESS [get_runs $run]] ne "100%"} {
        error "$run failed: [get_property STATUS [get_runs $run]]; its log is runme.log in [get_property DIRECTORY [get_runs $run]]"
    }
}

proc sources {design} {
    global root here presets
    set files [list [file join $here $design.v] [file join $here line.v]]
    foreach preset $presets($design) {
        set folder [file join $root rtl_out $preset]
        set list [open [file join $folder files.f]]
        foreach line [split [read $list] \n] {
            if {$line ne ""} {
                lappend files [file normalize [file join $folder $line]]
            }
        }
        close $list
    }
    return [lsort -unique $files]
}

# What the constraints stand on is there, under the names that they use.
proc check_names {design} {
    global clocks lines crossings
    foreach {pin period} $clocks($design) {
        set found [get_clocks -of_objects [get_pins $pin]]
        if {[llength $found] != 1} {
            error "there are [llength $found] clocks at $pin instead of 1"
        }
        set got [get_property PERIOD $found]
        if {abs($got - $period) > 0.002} {
            error "the clock at $pin has $got ns instead of $period"
        }
    }
    foreach line $lines($design) {
        foreach {count bits} $crossings {
            foreach register {gray_reg_reg between/first_reg} {
                set found [llength [get_cells "$line/$count/$register\[*\]"]]
                if {$found != $bits} {
                    error "there are $found registers $line/$count/$register instead of $bits"
                }
            }
        }
    }
}

proc build {design folder} {
    global part here blocks
    if {[llength [get_parts -quiet $part]] == 0} {
        error "this Vivado does not know $part; its device files come with Alveo or Virtex UltraScale+ HBM"
    }
    create_project $design [file join $folder project] -part $part
    set_property target_language Verilog [current_project]
    add_files -norecurse [sources $design]
    set_property top au50_$design [get_filesets sources_1]
    set config [file join $here config.xdc]
    set pins [file join $here ${design}_pins.xdc]
    set timing [file join $here ${design}_timing.xdc]
    add_files -fileset constrs_1 -norecurse [list $config $pins $timing]
    set_property USED_IN_SYNTHESIS false [get_files [list $config $timing]]
    set_property PROCESSING_ORDER LATE [get_files [list $timing]]

    foreach {module block properties} $blocks($design) {
        make_block $block $module [set ::$properties]
        complete ${module}_synth_1
    }

    # The names in the constraints are those of the Verilog.
    set_property strategy Flow_PerfOptimized_high [get_runs synth_1]
    set_property STEPS.SYNTH_DESIGN.ARGS.FLATTEN_HIERARCHY none [get_runs synth_1]
    set_property STEPS.SYNTH_DESIGN.ARGS.KEEP_EQUIVALENT_REGISTERS true [get_runs synth_1]
    complete synth_1
    set_property strategy Performance_Explore [get_runs impl_1]
    complete impl_1

    open_run impl_1
    set reports [file join $folder reports]
    file mkdir $reports
    report_timing_summary -file [file join $reports timing.txt]
    report_utilization -file [file join $reports utilization.txt]
    report_utilization -hierarchical -file [file join $reports utilization_by_module.txt]
    report_cdc -details -file [file join $reports crossings.txt]
    report_bus_skew -file [file join $reports bus_skew.txt]
    report_clocks -file [file join $reports clocks.txt]
    check_timing -file [file join $reports check_timing.txt]
    report_methodology -file [file join $reports methodology.txt]
    report_drc -file [file join $reports drc.txt]
    report_power -file [file join $reports power.txt]
    check_names $design

    # Slack of set-up and hold, and of the widths of pulses, ns.
    set met 1
    foreach {what statistic} {set-up STATS.WNS hold STATS.WHS pulse STATS.TPWS} {
        set slack [get_property $statistic [get_runs impl_1]]
        if {![string is double -strict $slack] || $slack < 0} {
            set met 0
            puts "au50: NOT MET: $what, slack $slack ns"
        } else {
            puts "au50: met: $what, slack $slack ns"
        }
    }
    if {!$met} {
        error "timing of $design is not met, so there is no bitstream; see $reports"
    }
    write_bitstream [file join $folder $design.bit]
    write_cfgmem -format mcs -size 128 -interface SPIx4 -loadbit [list up 0x01002000 [file join $folder $design.bit]] -file [file join $folder $design.mcs]
    puts "au50: [file join $folder $design.bit]"
}

if {[llength $argv] < 2 || [llength $argv] > 3} {
    puts "au50: what to give is DESIGN FOLDER \[JOBS\]"
    exit 1
}
set design [lindex $argv 0]
set folder [file normalize [lindex $argv 1]]
set jobs [expr {[llength $argv] == 3 ? [lindex $argv 2] : 4}]
if {![string is integer -strict $jobs] || $jobs < 1} {
    puts "au50: JOBS is a number from 1 on, not `$jobs`"
    exit 1
}
if {$design ni {card switch}} {
    puts "au50: there is no design `$design`; there are card and switch"
    exit 1
}
if {[file exists $folder]} {
    puts "au50: $folder is there already"
    exit 1
}
if {[catch {build $design $folder} message]} {
    puts "au50: $message"
    exit 1
}
exit 0
