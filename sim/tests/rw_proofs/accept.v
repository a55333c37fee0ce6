
    // A transfer at any point: p12_base is its wbase, p12_ahead the packets from there on that have arrived. The tables say
    // so, and then records come, and slides over what has arrived. Bit i of p12_got is packet p12_base + i.
    (* anyconst *) reg [21:0] p12_base;
    (* anyconst *) reg [63:0] p12_ahead;
    (* anyconst *) reg [21:0] p12_last;
    reg [4:0] p12_clock = 5'd0;
    reg [127:0] p12_more = 128'd0;

    // The start: every place of the bitmap, from bit p mod 64 on.
    wire [5:0] p12_low = p12_base[5:0];
    wire [127:0] p12_twice = {p12_ahead, p12_ahead} << p12_low;
    wire [63:0] p12_places = p12_twice[127:64];
    wire [63:0] p12_next_lap = (64'd1 << p12_low) - 64'd1;
    wire [63:0] p12_bits = {64{p12_base[6]}} ^ p12_next_lap ^ p12_places;
    wire [6:0] p12_top = top_of(p12_ahead);
    wire [11:0] p12_highest = p12_base[11:0] + {5'd0, p12_top};

    // Place of the highest bit plus one.
    function [6:0] top_of(input [63:0] set);
        integer i;
        begin
            top_of = 7'd0;
            for (i = 0; i < 64; i = i + 1) if (set[i]) top_of = i[6:0] + 7'd1;
        end
    endfunction

    // What has arrived, and what the record in stage 5 adds.
    wire [127:0] p12_got = p12_more | {64'd0, p12_ahead};
    wire [21:0] p12_place = s5_pidx_reg - p12_base;
    wire [127:0] p12_this = take ? 128'd1 << p12_place[6:0] : 128'd0;
    wire [21:0] p12_end = p12_last - p12_base;
    // Slides: to the first hole at most, of what is in the bitmap.
    wire p12_slides = slides_m_en && slides_m_wptr == 1'b0;
    wire [21:0] p12_to = slides_m_base - p12_base;
    wire [21:0] p12_seen = p12_slides ? slides_m_base : bases_dump;
    // wbase in the clock in which the record in stage 5 was taken.
    reg [21:0] p12_seen_1, p12_seen_2, p12_seen_3, p12_seen_4, p12_seen_5;
    wire [21:0] p12_above = s5_pidx_reg - p12_seen_5;
    always @(posedge clk) begin
        if (p12_clock != 5'd31) p12_clock <= p12_clock + 5'd1;
        p12_more <= p12_more | p12_this;
        {p12_seen_1, p12_seen_2, p12_seen_3, p12_seen_4, p12_seen_5} <=
            {p12_seen, p12_seen_1, p12_seen_2, p12_seen_3, p12_seen_4};
    end
    always @(*) begin
        assume (rst == (p12_clock == 5'd0));
        assume (p12_last < 22'h200000 && p12_base <= p12_last);
        assume (p12_end >= 22'd64 || (p12_ahead >> p12_end[5:0]) <= 64'd1);
        assume (cw_en == (p12_clock == 5'd1));
        assume (cw_wptr == 1'b0 && cw_open && cw_gen == 16'd0 && cw_src == 16'd0);
        assume (cw_last == p12_last && cw_mtu == 3'd0 && cw_last_len == 13'd256);
        // Empty clocks carry a row, too: until the tables are read, that of another window.
        assume (s_wptr == (p12_clock < 5'd9 ? 16'd1 : 16'd0) && s_gen == 16'd0 && s_src == 16'd0 && s_len == 13'd256);
        assume (s_pidx < 22'h200000 && !s_init);
        assume (p12_clock > 5'd8 || !s_valid);
        assume (p12_clock > 5'd8 || !slides_m_en);
        if (p12_slides) begin
            assume (p12_to <= 22'd64 && slides_m_base >= bases_dump);
            assume ((p12_got & ((128'd1 << p12_to[6:0]) - 128'd1)) == (128'd1 << p12_to[6:0]) - 128'd1);
        end
        if (p12_clock == 5'd0) begin
            assume (bases_dump == p12_base);
            assume (rows_dump == {rows_dump[12], p12_highest});
            assume (rows_dump[12] == (p12_end < 22'd64 && p12_ahead[p12_end[5:0]]));
            assume (bitmap_dump == p12_bits);
        end
        if (p12_clock > 5'd0 && take) begin
            assert (s5_valid_reg && !s5_clear_reg);
            // No packet twice, none outside of the window, none above the tail.
            assert (p12_above < 22'd64);
            assert (p12_place < 22'd128 && !p12_got[p12_place[6:0]]);
            assert (s5_pidx_reg <= p12_last);
        end
        // One that is in the window and has not arrived is taken.
        if (p12_clock > 5'd0 && s5_pass_reg && !take) assert (p12_got[p12_place[6:0]]);
        if (p12_clock > 5'd0 && s5_known_reg && p12_above < 22'd64) assert (s5_pass_reg);
    end
