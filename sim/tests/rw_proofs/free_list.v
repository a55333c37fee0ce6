    // Appended to free_list_d4. The environment returns only ids that it holds.
    wire [1:0] queue_tail = queue_dump[9:8];
    reg seen = 1'b0;
    reg [3:0] held = 4'd0;
    wire [2:0] holding = {2'd0, held[0]} + {2'd0, held[1]} + {2'd0, held[2]} + {2'd0, held[3]};
    reg [3:0] queued;
    reg twice;
    integer k;
    reg [1:0] at;
    always @(*) begin
        queued = 4'd0;
        twice = 1'b0;
        at = 2'd0;
        for (k = 0; k < 4; k = k + 1) begin
            at = queue_tail - 2'd1 - k[1:0];
            if (k < count) begin
                if (queued[queue_dump[2 * at +: 2]]) twice = 1'b1;
                queued = queued | (4'd1 << queue_dump[2 * at +: 2]);
            end
        end
    end
    always @(posedge clk) begin
        seen <= 1'b1;
        if (!seen) assume (rst);
        assume (last == 2'd3);
        if (s_valid) assume (ready & held[s_data]);
        if (s_valid & s_ready) held[s_data] <= 1'b0;
        if (m_valid & m_ready) held[m_data] <= 1'b1;
        if (rst) held <= 4'd0;
        if (seen) begin
            if (m_valid) assert (!held[m_data]);
            if (ready) assert (count + holding == 16'd4);
            if (s_valid) assert (s_ready);
        end
`ifdef HELPERS
        if (seen) begin
            assert (!twice);
            assert ((queued & held) == 4'd0);
            assert (count + holding == (ready ? 16'd4 : {14'd0, fill_reg}));
            assert ((queued | held) == (ready ? 4'd15 : (4'd1 << fill_reg) - 4'd1));
            assert (!ready | fill_reg == 2'd0);
        end
`endif
    end
