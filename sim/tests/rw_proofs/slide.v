
    // Window 0 from clock 12 on: p12_base is its wbase, p12_ahead the packets from there on that have arrived. More arrive
    // while visits go on. Bit i of p12_got is packet p12_base + i.
    (* anyconst *) reg [21:0] p12_base;
    (* anyconst *) reg [63:0] p12_ahead;
    reg [4:0] p12_clock = 5'd0;
    reg [127:0] p12_more = 128'd0;

    wire [5:0] p12_low = p12_base[5:0];
    wire [127:0] p12_twice = {p12_ahead, p12_ahead} << p12_low;
    wire [63:0] p12_places = p12_twice[127:64];
    wire [63:0] p12_next_lap = (64'd1 << p12_low) - 64'd1;
    wire [63:0] p12_bits = {64{p12_base[6]}} ^ p12_next_lap ^ p12_places;
    wire [127:0] p12_got = p12_more | {64'd0, p12_ahead};
    // As the visit that moves wbase now has read the bitmap, six clocks ago.
    reg [127:0] p12_1, p12_2, p12_3, p12_4, p12_5, p12_6;

    // A packet arrives: in the window, and not before.
    (* anyseq *) reg [21:0] p12_pidx;
    wire [21:0] p12_place = p12_pidx - p12_base;
    wire [21:0] p12_above = p12_pidx - bases_dump;
    wire [31:0] p12_word = p12_pidx[5] ? bitmap_dump[63:32] : bitmap_dump[31:0];
    wire [127:0] p12_this = wr_en ? 128'd1 << p12_place[6:0] : 128'd0;
    wire [21:0] p12_to = base_reg - p12_base;
    wire [127:0] p12_below = (128'd1 << p12_to[6:0]) - 128'd1;
    always @(posedge clk) begin
        if (p12_clock != 5'd31) p12_clock <= p12_clock + 5'd1;
        p12_more <= p12_more | p12_this;
        {p12_1, p12_2, p12_3, p12_4, p12_5, p12_6} <= {p12_got | p12_this, p12_1, p12_2, p12_3, p12_4, p12_5};
    end
    always @(*) begin
        assume (rst == (p12_clock == 5'd0));
        assume (p12_base < 22'h200000);
        assume (p12_clock > 5'd12 || !wr_en);
        assume (!clear_valid || s_wptr == 1'b1);
        if (wr_en) begin
            assume (p12_above < 22'd64 && p12_place < 22'd128 && !p12_got[p12_place[6:0]]);
            assume (wr_addr == {1'b0, p12_pidx[5]} && wr_data == (p12_word ^ (32'd1 << p12_pidx[4:0])));
        end
        if (p12_clock == 5'd12) begin
            assume (bases_dump == p12_base);
            assume (bitmap_dump == p12_bits);
        end
        if (p12_clock > 5'd12 && en_reg && wptr_reg == 1'b0) begin
            // wbase rises, over nothing but what has arrived.
            assert (p12_to < 22'd128 && p12_to > bases_dump - p12_base);
            assert ((p12_got & p12_below) == p12_below);
            // To the first hole that the visit has seen, or the end of a word.
            if (p12_clock > 5'd18) assert (base_reg[4:0] == 5'd0 || !p12_6[p12_to[6:0]]);
        end
    end
