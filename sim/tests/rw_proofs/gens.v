    // Appended to rw_control. A window's incarnation rises by one at each opening, and only there.
    wire [15:0] old_gen = gens_dump[16 * wptr_reg +: 16];
    reg seen = 1'b0;
    // The table is written one clock after the opening.
    reg announced = 1'b0;
    reg announced_wptr = 1'b0;
    reg was_opened = 1'b0;
    reg was_wptr = 1'b0;
    reg [31:0] was;
    always @(posedge clk) begin
        seen <= 1'b1;
        announced <= cw_en & cw_open;
        announced_wptr <= cw_wptr;
        was_opened <= announced;
        was_wptr <= announced_wptr;
        was <= gens_dump[31:0];
        if (cw_en & cw_open) assert (cw_gen == gens_dump[16 * cw_wptr +: 16] + 16'd1);
        if (seen) begin
            assert (gens_dump[15:0] == was[15:0] + {15'd0, was_opened & !was_wptr});
            assert (gens_dump[31:16] == was[31:16] + {15'd0, was_opened & was_wptr});
        end
`ifdef HELPERS
        if (!seen) assume (rst);
        assert (opened_reg == announced);
        if (announced) assert (wptr_reg == announced_wptr & generation_reg == old_gen + 16'd1);
        if (state_reg == STATE_ALLOC_WAIT & timer_reg != 4'd0)
            assert (gens_dump[47:32] == old_gen);
        if (state_reg == STATE_ALLOC_WAIT & timer_reg >= 4'd2) assert (gens_rd_data == old_gen);
        if (state_reg == STATE_HOLD)
            assert (gens_dump[47:32] == old_gen & gens_rd_data == old_gen);
        if (state_reg == STATE_HOLD & timer_reg != 4'd0) assert (generation_reg == old_gen + 16'd1);
        if (state_reg == STATE_INIT | state_reg == STATE_INIT_DRAIN | state_reg == STATE_OPEN)
            assert (generation_reg == old_gen + 16'd1);
`else
        // From State Alloc on, without a reset.
        assume (!rst);
        assume (m_msg_ready & m_cpl_ready);
`endif
    end
