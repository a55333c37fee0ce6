    // Appended to fifo_bram_w2_d4. All words are in the RAM still; the rest is copies of them.
    wire [2:0] words_in = count[2:0];
    wire [2:0] unread = words_in - reserved_reg;
    wire [1:0] oldest = tail_reg - words_in[1:0];
    wire [1:0] head_1 = head_reg - 2'd1;
    wire [1:0] head_2 = head_reg - 2'd1 - {1'b0, flight1_reg};
    wire [1:0] ahead_head = ahead_dump[9:8];
    wire [1:0] ahead_tail = ahead_dump[11:10];
    wire ahead_some = ahead_dump[12];
    wire ahead_full = ahead_dump[13];
    reg copies;
    integer k;
    reg [1:0] from;
    reg [1:0] to;
    always @(*) begin
        copies = 1'b1;
        from = 2'd0;
        to = 2'd0;
        for (k = 0; k < 4; k = k + 1) begin
            from = oldest + k[1:0];
            to = ahead_head + k[1:0];
            if (k < ahead_count & ahead_dump[2 * to +: 2] != words_dump[2 * from +: 2])
                copies = 1'b0;
        end
    end
    assign dump = {tail_reg, words_dump[7:0]};
`ifdef HELPERS
    always @(posedge clk) begin
        assert (!full_reg | level_reg == 2'd0);
        assert (!ahead_full | ahead_head == ahead_tail);
        assert (ahead_some == (ahead_full | ahead_head != ahead_tail));
        assert (reserved_reg <= 3'd4);
        assert (ahead_count + {15'd0, flight1_reg} + {15'd0, flight2_reg} == {13'd0, reserved_reg});
        assert (words_in >= reserved_reg);
        assert (head_reg + unread[1:0] == tail_reg);
        assert (more_reg == (unread != 3'd0));
        assert (!flight1_reg | words_dump[9:8] == words_dump[2 * head_1 +: 2]);
        assert (!flight2_reg | words_rd_data == words_dump[2 * head_2 +: 2]);
        assert (copies);
    end
`endif
