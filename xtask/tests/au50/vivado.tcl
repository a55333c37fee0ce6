# What constraints/au50 asks of Vivado, without Vivado: every command with its options, and no other. It knows the ports,
# pins of blocks and registers of the design (NETLIST), pins of the board and properties of the vendor's blocks (beside this
# file), and refuses what is not there, as Vivado would do or should. It says what would be done, a line each.
#
#   tclsh vivado.tcl NETLIST SLACK SCRIPT ARGUMENTS
#
# NETLIST is Tcl and sets `ports`, `pins` and `registers`. SLACK is that of set-up which routing ends with.

namespace eval vivado {
    variable here [file dirname [file normalize [info script]]]
    variable files {}
    variable values
    array set values {}
    variable blocks
    array set blocks {}
    variable state
    array set state {}
    variable pads
    array set pads {}
    variable clocks
    array set clocks {}
    variable project ""
    variable top ""
    variable opened 0
}

# Splits arguments by `spec`, options with 1 for those that have a value; gives the options and the rest.
proc vivado::split {command spec words} {
    array set known $spec
    set options {}
    set rest {}
    for {set i 0} {$i < [llength $words]} {incr i} {
        set word [lindex $words $i]
        if {[string match -* $word] && ![string is double -strict $word]} {
            if {![info exists known($word)]} {
                error "$command has no option $word"
            }
            if {$known($word)} {
                incr i
                if {$i >= [llength $words]} {
                    error "$command: $word has no value"
                }
                dict set options $word [lindex $words $i]
            } else {
                dict set options $word 1
            }
        } else {
            lappend rest $word
        }
    }
    return [list $options $rest]
}

proc vivado::read_table {name} {
    variable here
    set file [open [file join $here $name]]
    set rows {}
    foreach line [::split [read $file] \n] {
        if {$line ne "" && ![string match "#*" $line]} {
            lappend rows $line
        }
    }
    close $file
    return $rows
}

proc vivado::need {options command args} {
    foreach option $args {
        if {![dict exists $options $option]} {
            error "$command needs $option"
        }
    }
}

# The values that a property of a kind of object may have.
array set vivado::allowed {
    project,target_language {Verilog VHDL}
    fileset,top *
    file,USED_IN_SYNTHESIS {true false}
    file,PROCESSING_ORDER {EARLY NORMAL LATE}
    run,strategy {Flow_PerfOptimized_high Performance_Explore}
    run,STEPS.SYNTH_DESIGN.ARGS.FLATTEN_HIERARCHY {none rebuilt full}
    run,STEPS.SYNTH_DESIGN.ARGS.KEEP_EQUIVALENT_REGISTERS {true false}
    port,PACKAGE_PIN *
    port,IOSTANDARD {LVCMOS18 LVDS}
    port,SLEW {SLOW FAST}
    port,DRIVE {2 4 6 8 12}
    port,PULLUP {TRUE FALSE}
    design,CFGBVS {GND VCCO}
    design,CONFIG_VOLTAGE 1.8
    design,CONFIG_MODE SPIx4
    design,BITSTREAM.GENERAL.COMPRESS {TRUE FALSE}
    design,BITSTREAM.CONFIG.CONFIGFALLBACK {ENABLE DISABLE}
    design,BITSTREAM.CONFIG.EXTMASTERCCLK_EN {DISABLE DIV-1}
    design,BITSTREAM.CONFIG.CONFIGRATE 85.0
    design,BITSTREAM.CONFIG.SPI_BUSWIDTH 4
    design,BITSTREAM.CONFIG.SPI_FALL_EDGE {YES NO}
    design,BITSTREAM.CONFIG.SPI_32BIT_ADDR {YES NO}
    design,BITSTREAM.CONFIG.UNUSEDPIN {PULLUP PULLDOWN PULLNONE}
    design,BITSTREAM.CONFIG.OVERTEMPSHUTDOWN {ENABLE DISABLE}
}
foreach row [vivado::read_table properties.txt] {
    set vivado::allowed([lindex $row 0],[lindex $row 1]) [lindex $row 2]
}

proc vivado::is_allowed {kind name value} {
    variable allowed
    if {![info exists allowed($kind,$name)]} {
        error "$kind has no property $name"
    }
    foreach pattern $allowed($kind,$name) {
        if {[string match $pattern $value]} {
            return
        }
    }
    error "property $name of $kind cannot be `$value`"
}

proc vivado::tell {text} {
    puts "would: $text"
}

# --- Commands of scripts and of constraints -----------------------------------------------------------------------------

proc vivado::set_property {args} {
    variable values
    variable blocks
    variable pads
    variable top
    lassign [split set_property {-dict 1} $args] options rest
    if {[dict exists $options -dict]} {
        set pairs [dict get $options -dict]
        set objects [lindex $rest 0]
        set count 1
    } else {
        set pairs [lrange $rest 0 1]
        set objects [lindex $rest 2]
        set count 3
    }
    if {[llength $rest] != $count || [llength $pairs] % 2 || [llength $objects] == 0} {
        error "set_property: `$args` has no objects, or too much"
    }
    foreach object $objects {
        lassign $object kind name
        set reset 0
        foreach {property value} $pairs {
            if {$kind eq "ip"} {
                is_allowed $blocks($name) $property $value
                # As reported of xxv_ethernet: with a new CORE all else falls back.
                if {$property eq "CONFIG.CORE" && (![info exists values($object,$property)] || $values($object,$property) ne $value)} {
                    set reset 1
                }
            } else {
                is_allowed $kind $property $value
            }
            if {$property eq "PACKAGE_PIN"} {
                if {[info exists pads($name)]} {
                    error "port $name has two pins"
                }
                set pads($name) $value
            }
            if {$property eq "top"} {
                set top $value
            }
            set values($object,$property) $value
        }
        if {$reset} {
            foreach {property value} $pairs {
                if {$property ne "CONFIG.CORE"} {
                    set values($object,$property) default
                }
            }
        }
    }
}

proc vivado::get_property {args} {
    variable values
    variable state
    variable clocks
    lassign [split get_property {} $args] options rest
    lassign $rest property objects
    if {[llength $rest] != 2 || [llength $objects] != 1} {
        error "get_property: `$args` is not one property of one object"
    }
    set object [lindex $objects 0]
    lassign $object kind name
    if {$kind eq "run"} {
        switch $property {
            PROGRESS { return [expr {$state($name) eq "done" ? "100%" : "0%"}] }
            STATUS { return $state($name) }
            DIRECTORY { return /runs/$name }
            STATS.WNS { return $::vivado::slack }
            STATS.WHS { return 0.010 }
            STATS.TPWS { return 0.000 }
        }
    }
    if {$kind eq "clock" && $property eq "PERIOD"} {
        return $clocks($name)
    }
    if {![info exists values($object,$property)]} {
        error "$kind $name has no property $property"
    }
    # Numbers come back as the tool writes them.
    if {$property eq "CONFIG.GT_DRP_CLK" && [string is double $values($object,$property)]} {
        return [format %.2f $values($object,$property)]
    }
    return $values($object,$property)
}

proc vivado::current_design {} {
    return {{design design}}
}

proc vivado::get_ports {args} {
    lassign [split get_ports {} $args] options rest
    set found {}
    foreach name [lindex $rest 0] {
        if {[lsearch -exact $::ports $name] < 0} {
            error "there is no port $name"
        }
        lappend found [list port $name]
    }
    return $found
}

proc vivado::get_pins {args} {
    lassign [split get_pins {} $args] options rest
    set found {}
    foreach name [lindex $rest 0] {
        if {[lsearch -exact $::pins $name] < 0} {
            error "there is no pin $name"
        }
        lappend found [list pin $name]
    }
    return $found
}

# A pattern's brackets are those of a bus.
proc vivado::get_cells {args} {
    lassign [split get_cells {} $args] options rest
    set found {}
    foreach pattern [lindex $rest 0] {
        set glob [string map {\[ \\\[ \] \\\]} $pattern]
        foreach name [lsearch -all -inline -glob $::registers $glob] {
            lappend found [list cell $name]
        }
    }
    if {[llength $found] == 0} {
        error "there is no cell [lindex $rest 0]"
    }
    return $found
}

proc vivado::get_clocks {args} {
    variable clocks
    lassign [split get_clocks {-of_objects 1} $args] options rest
    set found {}
    if {[dict exists $options -of_objects]} {
        foreach object [dict get $options -of_objects] {
            if {[info exists clocks([lindex $object 1])]} {
                lappend found [list clock [lindex $object 1]]
            }
        }
    } else {
        foreach name [lindex $rest 0] {
            if {[info exists clocks($name)]} {
                lappend found [list clock $name]
            }
        }
    }
    if {[llength $found] == 0} {
        error "there is no clock: $args"
    }
    return $found
}

proc vivado::create_clock {args} {
    variable clocks
    lassign [split create_clock {-name 1 -period 1} $args] options rest
    need $options create_clock -name -period
    if {[llength [lindex $rest 0]] != 1} {
        error "create_clock: `$rest` is not one object"
    }
    set clocks([lindex [lindex $rest 0] 0 1]) [dict get $options -period]
}

proc vivado::ends {command spec least words} {
    lassign [split $command [concat $spec {-from 1 -to 1}] $words] options rest
    if {![dict exists $options -from] && ![dict exists $options -to]} {
        error "$command without -from and -to"
    }
    foreach end {-from -to} {
        if {[dict exists $options $end] && [llength [dict get $options $end]] == 0} {
            error "$command: nothing $end"
        }
    }
    if {[llength $rest] != $least || ($least && ![string is double -strict [lindex $rest 0]])} {
        error "$command: `$rest` are not its values"
    }
    return $options
}

proc vivado::set_false_path {args} {
    ends set_false_path {} 0 $args
}

proc vivado::set_max_delay {args} {
    set options [ends set_max_delay {-datapath_only 0} 1 $args]
    need $options "set_max_delay between clocks" -datapath_only -from -to
    lappend ::vivado::limits [list [lindex [dict get $options -from] 0 1] [lindex [dict get $options -to] 0 1]]
}

proc vivado::set_bus_skew {args} {
    set options [ends set_bus_skew {} 1 $args]
    need $options set_bus_skew -from -to
    if {[llength [dict get $options -from]] != [llength [dict get $options -to]]} {
        error "set_bus_skew: [llength [dict get $options -from]] registers to [llength [dict get $options -to]]"
    }
    lappend ::vivado::skews [lindex [dict get $options -from] 0 1]
}

proc vivado::set_operating_conditions {args} {
    lassign [split set_operating_conditions {-design_power_budget 1} $args] options rest
    need $options set_operating_conditions -design_power_budget
}

# --- Commands of scripts ------------------------------------------------------------------------------------------------

proc vivado::get_parts {args} {
    lassign [split get_parts {-quiet 0} $args] options rest
    return [expr {[lindex $rest 0] eq "xcu50-fsvh2104-2-e" ? $rest : {}}]
}

proc vivado::create_project {args} {
    variable project
    lassign [split create_project {-part 1} $args] options rest
    need $options create_project -part
    if {[llength $rest] != 2 || [llength [get_parts [dict get $options -part]]] == 0} {
        error "create_project: `$args`"
    }
    if {[file exists [lindex $rest 1]]} {
        error "create_project: [lindex $rest 1] is there already"
    }
    set project [lindex $rest 0]
    file mkdir [lindex $rest 1]
    tell "project $project in [lindex $rest 1]"
}

proc vivado::current_project {} {
    variable project
    if {$project eq ""} {
        error "there is no project"
    }
    return [list [list project $project]]
}

proc vivado::get_filesets {args} {
    if {[lindex $args 0] ni {sources_1 constrs_1}} {
        error "there is no set of files $args"
    }
    return [list [list fileset [lindex $args 0]]]
}

proc vivado::add_files {args} {
    variable files
    lassign [split add_files {-fileset 1 -norecurse 0} $args] options rest
    foreach name [lindex $rest 0] {
        if {![file isfile $name]} {
            error "add_files: there is no file $name"
        }
        if {[lsearch -exact $files $name] >= 0} {
            error "add_files: $name twice"
        }
        lappend files $name
        if {([file extension $name] eq ".xdc") != ([dict exists $options -fileset] && [dict get $options -fileset] eq "constrs_1")} {
            error "add_files: $name is in the wrong set of files"
        }
    }
    tell "add [llength [lindex $rest 0]] files"
}

proc vivado::get_files {args} {
    variable files
    lassign [split get_files {} $args] options rest
    set found {}
    foreach name [lindex $rest 0] {
        if {[lsearch -exact $files $name] < 0} {
            error "get_files: $name was not added"
        }
        lappend found [list file $name]
    }
    return $found
}

proc vivado::create_ip {args} {
    variable blocks
    lassign [split create_ip {-name 1 -vendor 1 -library 1 -module_name 1} $args] options rest
    need $options create_ip -name -vendor -library -module_name
    current_project
    if {[dict get $options -name] ni {pcie4c_uscale_plus xdma xxv_ethernet} || [dict get $options -vendor] ne "xilinx.com" || [dict get $options -library] ne "ip"} {
        error "there is no block $options"
    }
    set blocks([dict get $options -module_name]) [dict get $options -name]
    tell "block [dict get $options -name] as [dict get $options -module_name]"
}

proc vivado::get_ips {args} {
    variable blocks
    if {![info exists blocks([lindex $args 0])]} {
        error "there is no block $args"
    }
    return [list [list ip [lindex $args 0]]]
}

proc vivado::generate_target {args} {
    lassign $args what objects
    if {$what ne "all" || [lindex $objects 0 0] ne "ip"} {
        error "generate_target: `$args`"
    }
}

proc vivado::create_ip_run {objects} {
    variable state
    set state([lindex $objects 0 1]_synth_1) new
}

set vivado::state(synth_1) new
set vivado::state(impl_1) new

proc vivado::get_runs {args} {
    variable state
    if {![info exists state([lindex $args 0])]} {
        error "there is no run $args"
    }
    return [list [list run [lindex $args 0]]]
}

proc vivado::launch_runs {args} {
    variable state
    variable blocks
    lassign [split launch_runs {-jobs 1} $args] options rest
    set run [lindex $rest 0]
    get_runs $run
    tell "run $run"
    foreach block [array names blocks] {
        if {$run in {synth_1 impl_1} && $state(${block}_synth_1) ne "done"} {
            error "$run before ${block}_synth_1"
        }
    }
    if {$run eq "synth_1"} {
        elaborate
        foreach file [vivado::constraints true] {
            constrain $file
        }
    }
    if {$run eq "impl_1"} {
        if {$state(synth_1) ne "done"} {
            error "impl_1 before synth_1"
        }
        place
    }
    set state($run) launched
}

proc vivado::wait_on_run {run} {
    variable state
    if {$state($run) ne "launched"} {
        error "wait_on_run: $run does not run"
    }
    set state($run) done
}

# Every module is there, and the top; cells of the FPGA always are.
proc vivado::elaborate {} {
    variable files
    variable top
    variable blocks
    set modules [concat [array names blocks] IBUFDS_GTE4 IBUFDS BUFG]
    foreach name $files {
        if {[file extension $name] eq ".v"} {
            set file [open $name]
            foreach {all module} [regexp -all -inline -line {^module (\w+)} [read $file]] {
                lappend modules $module
            }
            close $file
        }
    }
    foreach module [concat $top $::modules] {
        if {$module ni $modules} {
            error "there is no module $module"
        }
    }
}

# Files of constraints in the order in which they are read: those with or without a use in synthesis.
proc vivado::constraints {synthesis} {
    variable files
    variable values
    set early {}
    set late {}
    foreach name $files {
        if {[file extension $name] ne ".xdc"} {
            continue
        }
        set object [list file $name]
        set used [expr {![info exists values($object,USED_IN_SYNTHESIS)] || $values($object,USED_IN_SYNTHESIS) eq "true"}]
        if {($used && !$synthesis) || (!$used && $synthesis)} {
            continue
        }
        if {[info exists values($object,PROCESSING_ORDER)] && $values($object,PROCESSING_ORDER) eq "LATE"} {
            lappend late $name
        } else {
            lappend early $name
        }
    }
    return [concat $early $late]
}

# Constraints are no scripts: they have few commands.
proc vivado::constrain {name} {
    set child [interp create]
    foreach command [interp eval $child {info commands}] {
        if {$command ni {set list expr}} {
            interp hide $child $command
        }
    }
    foreach command {set_property get_ports get_pins get_cells get_clocks current_design create_clock set_false_path set_max_delay set_bus_skew set_operating_conditions} {
        interp alias $child $command {} vivado::$command
    }
    set file [open $name]
    set text [read $file]
    close $file
    if {[catch {interp eval $child $text} message]} {
        error "[file tail $name]: $message"
    }
    interp delete $child
    tell "read [file tail $name]"
}

proc vivado::value {object property} {
    variable values
    return [expr {[info exists values($object,$property)] ? $values($object,$property) : ""}]
}

# The module that is made of a block of one of these kinds.
proc vivado::made_of {args} {
    variable blocks
    foreach module [array names blocks] {
        if {$blocks($module) in $args} {
            return $module
        }
    }
    error "there is no block $args"
}

# Clocks of the blocks, constraints of implementation, and what Vivado checks of pads.
proc vivado::place {} {
    variable pads
    variable clocks
    variable limits {}
    variable skews {}
    set pcie [list ip [made_of pcie4c_uscale_plus xdma]]
    set pcs [list ip [made_of xxv_ethernet]]
    set core [expr {[lindex $pcie 1] eq "pcie_block" ? "pcie/user_clk" : "pcie/axi_aclk"}]
    set clocks($core) [format %.3f [expr {1000.0 / [value $pcie CONFIG.axisten_freq]}]]
    set crossing {}
    for {set lane 0} {$lane < [value $pcs CONFIG.NUM_OF_CORES]} {incr lane} {
        set tx pcs/tx_mii_clk_$lane
        set rx pcs/rx_clk_out_$lane
        set clocks($tx) 6.400
        set clocks($rx) 6.400
        lappend crossing $core $tx $core $rx $tx $core $rx $core $rx $tx
    }
    foreach file [vivado::constraints false] {
        constrain $file
    }
    foreach row [read_table pins.txt] {
        lassign $row pin board function card switch
        set functions($pin) $function
        set boards($pin) $board
        set belongs($pin) [expr {[lindex $pcie 1] eq "pcie_block" ? $card : $switch}]
    }
    foreach port $::ports {
        if {![info exists pads($port)]} {
            error "port $port has no PACKAGE_PIN"
        }
        set pin $pads($port)
        if {![info exists functions($pin)]} {
            error "port $port: there is no pin $pin"
        }
        if {[info exists used($pin)]} {
            error "pin $pin has two ports, $used($pin) and $port"
        }
        set used($pin) $port
        if {$belongs($pin) ne $port} {
            error "port $port: pin $pin is $boards($pin) of the board"
        }
        if {($functions($pin) eq "-") != ([value [list port $port] IOSTANDARD] ne "")} {
            error "port $port: IOSTANDARD is for pins that are no transceiver's, and for all of them"
        }
        # The transceivers of the blocks are those of the pins.
        if {[regexp {^MGTY[TR]X[PN](\d)_(\d+)$} $functions($pin) all lane quad]} {
            if {[string match pcie_* $port]} {
                set asked [value $pcie CONFIG.select_quad]
                set is GTY_Quad_$quad
            } else {
                set asked "[value $pcs CONFIG.GT_GROUP_SELECT] [value $pcs CONFIG.LANE[expr {$lane + 1}]_GT_LOC]"
                set is "Quad_X0Y[expr {$quad - 124}] X0Y[expr {($quad - 124) * 4 + $lane}]"
            }
            if {$asked ne $is} {
                error "port $port: pin $pin is at $is, the block at $asked"
            }
        }
    }
    foreach port {pcie_refclk_p clk100_p} {
        if {![info exists clocks($port)]} {
            error "there is no clock at $port"
        }
    }
    foreach {from to} $crossing {
        if {[lsearch -exact $limits [list $from $to]] < 0} {
            error "paths from $from to $to have no limit"
        }
    }
    tell "place [llength $::ports] ports, [llength $skews] counts between clocks"
}

proc vivado::open_run {run} {
    variable state
    variable opened
    if {$state($run) ne "done"} {
        error "open_run: $run is not done"
    }
    set opened 1
}

proc vivado::report {command spec words} {
    variable opened
    lassign [split $command [concat $spec {-file 1}] $words] options rest
    need $options $command -file
    if {!$opened || [llength $rest] != 0} {
        error "$command: `$words`, or no run is open"
    }
    close [open [dict get $options -file] w]
}

foreach {command spec} {
    report_timing_summary {} report_utilization {-hierarchical 0} report_cdc {-details 0} report_bus_skew {} report_clocks {}
    check_timing {} report_methodology {} report_drc {} report_power {}
} {
    proc vivado::$command {args} "report $command {$spec} \$args"
}

proc vivado::write_bitstream {args} {
    variable opened
    lassign [split write_bitstream {} $args] options rest
    if {!$opened || [llength $rest] != 1} {
        error "write_bitstream: `$args`, or no run is open"
    }
    tell "bitstream [file tail [lindex $rest 0]]"
    close [open [lindex $rest 0] w]
}

proc vivado::write_cfgmem {args} {
    lassign [split write_cfgmem {-format 1 -size 1 -interface 1 -loadbit 1 -file 1} $args] options rest
    need $options write_cfgmem -format -size -interface -loadbit -file
    lassign [dict get $options -loadbit] direction address name
    if {$direction ne "up" || ![string is integer -strict $address] || ![file isfile $name]} {
        error "write_cfgmem: `[dict get $options -loadbit]`"
    }
}

# --- The script runs where these are the commands -----------------------------------------------------------------------

foreach command {
    set_property get_property current_design get_ports get_pins get_cells get_clocks get_parts create_project current_project
    get_filesets add_files get_files create_ip get_ips generate_target create_ip_run get_runs launch_runs wait_on_run open_run
    report_timing_summary report_utilization report_cdc report_bus_skew report_clocks check_timing report_methodology
    report_drc report_power write_bitstream write_cfgmem
} {
    interp alias {} $command {} vivado::$command
}
proc unknown {args} {
    error "there is no command [lindex $args 0]"
}
rename exec {}

source [lindex $argv 0]
set vivado::slack [lindex $argv 1]
set script [lindex $argv 2]
set argv [lrange $argv 3 end]
source $script
