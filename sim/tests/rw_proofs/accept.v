
    // A transfer at any point: p12_base is its first hole, p12_ahead the packets above that have arrived. The tables say
    // so, and then a record comes. Bit i of p12_got is packet p12_base + i.
    (* anyconst *) reg [21:0] p12_base;
    (* anyconst *) reg [63:0] p12_ahead;
    (* anyconst *) reg [21:0] p12_last;
    (* anyconst *) reg [9:0] p12_hole_if_full;
    reg [4:0] p12_clock = 5'd0;
    reg [127:0] p12_more = 128'd0;

    // The start: every place of the bitmap, from bit p mod 64 on.
    wire [5:0] p12_low = p12_base[5:0];
    wire [127:0] p12_twice = {p12_ahead, p12_ahead} << p12_low;
    wire [63:0] p12_places = p12_twice[127:64];
    wire [63:0] p12_next_lap = (64'd1 << p12_low) - 64'd1;
    wire [63:0] p12_bits = {64{p12_base[6]}} ^ p12_next_lap ^ p12_places;
    wire [31:0] p12_zero_0 = ~p12_places[31:0] & (p12_places[31:0] + 32'd1);
    wire [31:0] p12_zero_1 = ~p12_places[63:32] & (p12_places[63:32] + 32'd1);
    wire [1:0] p12_full = {&p12_places[63:32], &p12_places[31:0]};
    wire [4:0] p12_hole_0 = place_of(p12_zero_0);
    wire [4:0] p12_hole_1 = place_of(p12_zero_1);
    wire [6:0] p12_top = top_of(p12_ahead);
    wire [11:0] p12_highest = p12_base[11:0] + {5'd0, p12_top};

    // Place of the only bit that is set.
    function [4:0] place_of(input [31:0] onehot);
        integer i;
        begin
            place_of = 5'd0;
            for (i = 0; i < 32; i = i + 1) if (onehot[i]) place_of = place_of | i[4:0];
        end
    endfunction

    // Place of the highest bit plus one.
    function [6:0] top_of(input [63:0] set);
        integer i;
        begin
            top_of = 7'd0;
            for (i = 0; i < 64; i = i + 1) if (set[i]) top_of = i[6:0] + 7'd1;
        end
    endfunction

    // What has arrived, and what the record in stage 6 adds.
    wire [127:0] p12_got = p12_more | {64'd0, p12_ahead};
    wire [21:0] p12_place = s6_pidx_reg - p12_base;
    wire [127:0] p12_this = s6_take_reg ? 128'd1 << p12_place[6:0] : 128'd0;
    wire [127:0] p12_next = p12_got | p12_this;
    wire [21:0] p12_moved = s6_wbase_reg - p12_base;
    wire [21:0] p12_end = p12_last - p12_base;
    always @(posedge clk) begin
        if (p12_clock != 5'd31) p12_clock <= p12_clock + 5'd1;
        p12_more <= p12_more | p12_this;
    end
    always @(*) begin
        assume (rst == (p12_clock == 5'd0));
        assume (p12_last < 22'h200000 && p12_base <= p12_last && !p12_ahead[0]);
        assume (p12_end >= 22'd64 || (p12_ahead >> p12_end[5:0]) <= 64'd1);
        assume (cw_en == (p12_clock == 5'd1));
        assume (cw_wptr == 1'b0 && cw_open && cw_gen == 16'd0 && cw_src == 16'd0);
        assume (cw_last == p12_last && cw_mtu == 3'd0 && cw_last_len == 13'd256);
        // Empty clocks carry a row, too: until the tables are read, that of another window.
        assume (s_wptr == (p12_clock < 5'd9 ? 16'd1 : 16'd0) && s_gen == 16'd0 && s_src == 16'd0 && s_len == 13'd256);
        assume (s_pidx < 22'h200000 && !s_init);
        assume (p12_clock > 5'd8 || !s_valid);
        if (p12_clock == 5'd0) begin
            assume (rows_dump[34:0] == {rows_dump[34], p12_highest, p12_base});
            assume (rows_dump[34] == (p12_end < 22'd64 && p12_ahead[p12_end[5:0]]));
            assume (bitmap_dump[63:0] == p12_bits);
            assume (fulls_dump[1:0] == p12_full);
            assume (holes_dump[4:0] == (p12_full[0] ? p12_hole_if_full[4:0] : p12_hole_0));
            assume (holes_dump[9:5] == (p12_full[1] ? p12_hole_if_full[9:5] : p12_hole_1));
        end
        if (p12_clock > 5'd0 && s6_take_reg) begin
            assert (s6_valid_reg && s6_write_row_reg && s6_write_bits_reg);
            // No packet twice, none outside of the window, none above the tail.
            assert (p12_place < 22'd128 && !p12_got[p12_place[6:0]]);
            assert (s6_pidx_reg <= p12_last);
            // wbase <= N, and it is the first hole: its bit is 0 after the slide.
            assert (s6_wbase_reg <= p12_last + 22'd1);
            assert (p12_moved < 22'd128 && (~p12_next & (p12_next + 128'd1)) == 128'd1 << p12_moved[6:0]);
        end
    end
