# Never read by Vivado: docs/ultrascale.md says what was checked.
# Between the clocks of the design `card`: implementation only, behind the constraints of the vendor's blocks, which make
# these clocks under names of their own.

set user_clk [get_clocks -of_objects [get_pins pcie/user_clk]]
set tx_clk [get_clocks -of_objects [get_pins pcs/tx_mii_clk_0]]
set rx_clk [get_clocks -of_objects [get_pins pcs/rx_clk_out_0]]

# What crosses takes at most a clock of the fastest, 156.25 MHz, so that no count is seen before an older one.
set_max_delay -datapath_only -from $user_clk -to $tx_clk 6.400
set_max_delay -datapath_only -from $user_clk -to $rx_clk 6.400
set_max_delay -datapath_only -from $tx_clk -to $user_clk 6.400
set_max_delay -datapath_only -from $rx_clk -to $user_clk 6.400
set_max_delay -datapath_only -from $rx_clk -to $tx_clk 6.400

# The bits of a count in Gray code (count_cross): of two that change in two clocks one behind the other, the other clock
# sees the first one first.
set_bus_skew -from [get_cells {line/mac/queues/come/tail/gray_reg_reg[*]}] -to [get_cells {line/mac/queues/come/tail/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line/mac/queues/come/head/gray_reg_reg[*]}] -to [get_cells {line/mac/queues/come/head/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line/mac/queues/go/tail/gray_reg_reg[*]}] -to [get_cells {line/mac/queues/go/tail/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line/mac/queues/go/head/gray_reg_reg[*]}] -to [get_cells {line/mac/queues/go/head/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line/mac/queues/frames/gray_reg_reg[*]}] -to [get_cells {line/mac/queues/frames/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line/mac/queues/underruns/events/gray_reg_reg[*]}] -to [get_cells {line/mac/queues/underruns/events/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line/mac/queues/drops/events/gray_reg_reg[*]}] -to [get_cells {line/mac/queues/drops/events/between/first_reg[*]}] 6.400
set_bus_skew -from [get_cells {line/mac/queues/fragments/events/gray_reg_reg[*]}] -to [get_cells {line/mac/queues/fragments/events/between/first_reg[*]}] 6.400
