# Never read by Vivado: docs/ultrascale.md says what was checked.
# Between the clocks of the design `switch`, as card_timing.xdc.

set user_clk [get_clocks -of_objects [get_pins pcie/axi_aclk]]

# Lane 0.
set tx_clk_0 [get_clocks -of_objects [get_pins pcs/tx_mii_clk_0]]
set rx_clk_0 [get_clocks -of_objects [get_pins pcs/rx_clk_out_0]]
set_max_delay -datapath_only -from $user_clk -to $tx_clk_0 6.400
set_max_delay -datapath_only -from $user_clk -to $rx_clk_0 6.400
set_max_delay -datapath_only -from $tx_clk_0 -to $user_clk 6.400
set_max_delay -datapath_only -from $rx_clk_0 -to $user_clk 6.400
set_max_delay -datapath_only -from $rx_clk_0 -to $tx_clk_0 6.400
set_bus_skew -from [get_cells {line_0/mac/queues/come/tail/gray_reg_reg[*]}] -to [get_cells {line_0/mac/queues/come/tail/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_0/mac/queues/come/head/gray_reg_reg[*]}] -to [get_cells {line_0/mac/queues/come/head/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_0/mac/queues/go/tail/gray_reg_reg[*]}] -to [get_cells {line_0/mac/queues/go/tail/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_0/mac/queues/go/head/gray_reg_reg[*]}] -to [get_cells {line_0/mac/queues/go/head/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_0/mac/queues/frames/gray_reg_reg[*]}] -to [get_cells {line_0/mac/queues/frames/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_0/mac/queues/underruns/events/gray_reg_reg[*]}] -to [get_cells {line_0/mac/queues/underruns/events/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_0/mac/queues/drops/events/gray_reg_reg[*]}] -to [get_cells {line_0/mac/queues/drops/events/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_0/mac/queues/fragments/events/gray_reg_reg[*]}] -to [get_cells {line_0/mac/queues/fragments/events/between/first_reg[*]}] 6.400

# Lane 1.
set tx_clk_1 [get_clocks -of_objects [get_pins pcs/tx_mii_clk_1]]
set rx_clk_1 [get_clocks -of_objects [get_pins pcs/rx_clk_out_1]]
set_max_delay -datapath_only -from $user_clk -to $tx_clk_1 6.400
set_max_delay -datapath_only -from $user_clk -to $rx_clk_1 6.400
set_max_delay -datapath_only -from $tx_clk_1 -to $user_clk 6.400
set_max_delay -datapath_only -from $rx_clk_1 -to $user_clk 6.400
set_max_delay -datapath_only -from $rx_clk_1 -to $tx_clk_1 6.400
set_bus_skew -from [get_cells {line_1/mac/queues/come/tail/gray_reg_reg[*]}] -to [get_cells {line_1/mac/queues/come/tail/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_1/mac/queues/come/head/gray_reg_reg[*]}] -to [get_cells {line_1/mac/queues/come/head/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_1/mac/queues/go/tail/gray_reg_reg[*]}] -to [get_cells {line_1/mac/queues/go/tail/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_1/mac/queues/go/head/gray_reg_reg[*]}] -to [get_cells {line_1/mac/queues/go/head/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_1/mac/queues/frames/gray_reg_reg[*]}] -to [get_cells {line_1/mac/queues/frames/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_1/mac/queues/underruns/events/gray_reg_reg[*]}] -to [get_cells {line_1/mac/queues/underruns/events/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_1/mac/queues/drops/events/gray_reg_reg[*]}] -to [get_cells {line_1/mac/queues/drops/events/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_1/mac/queues/fragments/events/gray_reg_reg[*]}] -to [get_cells {line_1/mac/queues/fragments/events/between/first_reg[*]}] 6.400

# Lane 2.
set tx_clk_2 [get_clocks -of_objects [get_pins pcs/tx_mii_clk_2]]
set rx_clk_2 [get_clocks -of_objects [get_pins pcs/rx_clk_out_2]]
set_max_delay -datapath_only -from $user_clk -to $tx_clk_2 6.400
set_max_delay -datapath_only -from $user_clk -to $rx_clk_2 6.400
set_max_delay -datapath_only -from $tx_clk_2 -to $user_clk 6.400
set_max_delay -datapath_only -from $rx_clk_2 -to $user_clk 6.400
set_max_delay -datapath_only -from $rx_clk_2 -to $tx_clk_2 6.400
set_bus_skew -from [get_cells {line_2/mac/queues/come/tail/gray_reg_reg[*]}] -to [get_cells {line_2/mac/queues/come/tail/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_2/mac/queues/come/head/gray_reg_reg[*]}] -to [get_cells {line_2/mac/queues/come/head/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_2/mac/queues/go/tail/gray_reg_reg[*]}] -to [get_cells {line_2/mac/queues/go/tail/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_2/mac/queues/go/head/gray_reg_reg[*]}] -to [get_cells {line_2/mac/queues/go/head/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_2/mac/queues/frames/gray_reg_reg[*]}] -to [get_cells {line_2/mac/queues/frames/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_2/mac/queues/underruns/events/gray_reg_reg[*]}] -to [get_cells {line_2/mac/queues/underruns/events/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_2/mac/queues/drops/events/gray_reg_reg[*]}] -to [get_cells {line_2/mac/queues/drops/events/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_2/mac/queues/fragments/events/gray_reg_reg[*]}] -to [get_cells {line_2/mac/queues/fragments/events/between/first_reg[*]}] 6.400

# Lane 3.
set tx_clk_3 [get_clocks -of_objects [get_pins pcs/tx_mii_clk_3]]
set rx_clk_3 [get_clocks -of_objects [get_pins pcs/rx_clk_out_3]]
set_max_delay -datapath_only -from $user_clk -to $tx_clk_3 6.400
set_max_delay -datapath_only -from $user_clk -to $rx_clk_3 6.400
set_max_delay -datapath_only -from $tx_clk_3 -to $user_clk 6.400
set_max_delay -datapath_only -from $rx_clk_3 -to $user_clk 6.400
set_max_delay -datapath_only -from $rx_clk_3 -to $tx_clk_3 6.400
set_bus_skew -from [get_cells {line_3/mac/queues/come/tail/gray_reg_reg[*]}] -to [get_cells {line_3/mac/queues/come/tail/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_3/mac/queues/come/head/gray_reg_reg[*]}] -to [get_cells {line_3/mac/queues/come/head/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_3/mac/queues/go/tail/gray_reg_reg[*]}] -to [get_cells {line_3/mac/queues/go/tail/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_3/mac/queues/go/head/gray_reg_reg[*]}] -to [get_cells {line_3/mac/queues/go/head/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_3/mac/queues/frames/gray_reg_reg[*]}] -to [get_cells {line_3/mac/queues/frames/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_3/mac/queues/underruns/events/gray_reg_reg[*]}] -to [get_cells {line_3/mac/queues/underruns/events/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_3/mac/queues/drops/events/gray_reg_reg[*]}] -to [get_cells {line_3/mac/queues/drops/events/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line_3/mac/queues/fragments/events/gray_reg_reg[*]}] -to [get_cells {line_3/mac/queues/fragments/events/between/first_reg[*]}] 6.400
