// Width of a column of block RAM, and the pin at which its word address begins.
localparam COLUMN = (A <= 9) ? 36 : (A == 10) ? 18 : (A == 11) ? 9 : (A == 12) ? 4 : (A == 13) ? 2 : 1;
localparam LOW    = (A == 10) ? 4 : (A == 11) ? 3 : (A == 12) ? 2 : (A == 13) ? 1 : 0;
localparam COLUMNS = (W + COLUMN - 1) / COLUMN;

/* verilator lint_off WIDTH */
wire [COLUMNS*COLUMN-1:0] wr_word = wr_data;
/* verilator lint_on WIDTH */
wire [COLUMNS*COLUMN-1:0] rd_word;

always @(*) begin
    rd_data = rd_word[W-1:0];
end

genvar g;
generate
    if (A <= 4 && W <= 256) begin : few
        (* ram_style = "distributed", no_rw_check *)
        reg [W-1:0] mem [0:(1 << A)-1];
        reg [W-1:0] array_out;
        reg [W-1:0] out;
        /* verilator lint_off WIDTH */
        assign rd_word = out;
        /* verilator lint_on WIDTH */

        integer i;
        initial begin
            for (i = 0; i < (1 << A); i = i + 1) begin
                mem[i] = {W{1'b0}};
            end
            array_out = {W{1'b0}};
            out = {W{1'b0}};
        end

        always @(posedge clk) begin
            if (wr_en) begin
                mem[wr_addr] <= wr_data;
            end
            READ_ARRAY
            READ_OUT
        end
    end else begin : block
        for (g = 0; g < COLUMNS; g = g + 1) begin : column
            if (A <= 9) begin : wide
                /* verilator lint_off WIDTH */
                wire [8:0] wr_pins = wr_addr;
                wire [8:0] rd_pins = rd_addr;
                /* verilator lint_on WIDTH */
                wire [35:0] wr_bits = wr_word[36*g +: 36];
                wire [35:0] rd_bits;
                assign rd_word[36*g +: 36] = {rd_bits[17:0], rd_bits[35:18]};
                PDPW16KD #(
                    .DATA_WIDTH_W(36), .DATA_WIDTH_R(36), .REGMODE("OUTREG"),
                    .RESETMODE("SYNC"), .GSR("DISABLED")
                ) ram (
                    .CLKW(clk), .CEW(wr_en), .RST(1'b0),
                    .BE0(1'b1), .BE1(1'b1), .BE2(1'b1), .BE3(1'b1),
                    .CSW0(1'b0), .CSW1(1'b0), .CSW2(1'b0),
                    .ADW0(wr_pins[0]), .ADW1(wr_pins[1]), .ADW2(wr_pins[2]), .ADW3(wr_pins[3]),
                    .ADW4(wr_pins[4]), .ADW5(wr_pins[5]), .ADW6(wr_pins[6]), .ADW7(wr_pins[7]),
                    .ADW8(wr_pins[8]),
                    .DI0(wr_bits[0]), .DI1(wr_bits[1]), .DI2(wr_bits[2]), .DI3(wr_bits[3]),
                    .DI4(wr_bits[4]), .DI5(wr_bits[5]), .DI6(wr_bits[6]), .DI7(wr_bits[7]),
                    .DI8(wr_bits[8]), .DI9(wr_bits[9]), .DI10(wr_bits[10]), .DI11(wr_bits[11]),
                    .DI12(wr_bits[12]), .DI13(wr_bits[13]), .DI14(wr_bits[14]), .DI15(wr_bits[15]),
                    .DI16(wr_bits[16]), .DI17(wr_bits[17]), .DI18(wr_bits[18]), .DI19(wr_bits[19]),
                    .DI20(wr_bits[20]), .DI21(wr_bits[21]), .DI22(wr_bits[22]), .DI23(wr_bits[23]),
                    .DI24(wr_bits[24]), .DI25(wr_bits[25]), .DI26(wr_bits[26]), .DI27(wr_bits[27]),
                    .DI28(wr_bits[28]), .DI29(wr_bits[29]), .DI30(wr_bits[30]), .DI31(wr_bits[31]),
                    .DI32(wr_bits[32]), .DI33(wr_bits[33]), .DI34(wr_bits[34]), .DI35(wr_bits[35]),
                    .CLKR(clk), .CER(ARRAY_EN), .OCER(OUT_EN),
                    .CSR0(1'b0), .CSR1(1'b0), .CSR2(1'b0),
                    .ADR0(1'b0), .ADR1(1'b0), .ADR2(1'b0), .ADR3(1'b0), .ADR4(1'b0), .ADR5(rd_pins[0]),
                    .ADR6(rd_pins[1]), .ADR7(rd_pins[2]), .ADR8(rd_pins[3]), .ADR9(rd_pins[4]),
                    .ADR10(rd_pins[5]), .ADR11(rd_pins[6]), .ADR12(rd_pins[7]), .ADR13(rd_pins[8]),
                    .DO0(rd_bits[0]), .DO1(rd_bits[1]), .DO2(rd_bits[2]), .DO3(rd_bits[3]),
                    .DO4(rd_bits[4]), .DO5(rd_bits[5]), .DO6(rd_bits[6]), .DO7(rd_bits[7]),
                    .DO8(rd_bits[8]), .DO9(rd_bits[9]), .DO10(rd_bits[10]), .DO11(rd_bits[11]),
                    .DO12(rd_bits[12]), .DO13(rd_bits[13]), .DO14(rd_bits[14]), .DO15(rd_bits[15]),
                    .DO16(rd_bits[16]), .DO17(rd_bits[17]), .DO18(rd_bits[18]), .DO19(rd_bits[19]),
                    .DO20(rd_bits[20]), .DO21(rd_bits[21]), .DO22(rd_bits[22]), .DO23(rd_bits[23]),
                    .DO24(rd_bits[24]), .DO25(rd_bits[25]), .DO26(rd_bits[26]), .DO27(rd_bits[27]),
                    .DO28(rd_bits[28]), .DO29(rd_bits[29]), .DO30(rd_bits[30]), .DO31(rd_bits[31]),
                    .DO32(rd_bits[32]), .DO33(rd_bits[33]), .DO34(rd_bits[34]), .DO35(rd_bits[35])
                );
            end else begin : deep
                /* verilator lint_off WIDTH */
                wire [13:0] wr_pins = (wr_addr << LOW) | ((LOW == 4) ? 14'd3 : 14'd0);
                wire [13:0] rd_pins = rd_addr << LOW;
                wire [17:0] wr_bits = wr_word[COLUMN*g +: COLUMN];
                /* verilator lint_on WIDTH */
                wire [17:0] rd_bits;
                assign rd_word[COLUMN*g +: COLUMN] = rd_bits[COLUMN-1:0];
                DP16KD #(
                    .DATA_WIDTH_A(COLUMN), .DATA_WIDTH_B(COLUMN),
                    .REGMODE_A("NOREG"), .REGMODE_B("OUTREG"),
                    .WRITEMODE_A("NORMAL"), .WRITEMODE_B("NORMAL"),
                    .RESETMODE("SYNC"), .GSR("DISABLED")
                ) ram (
                    .CLKA(clk), .CEA(1'b1), .OCEA(1'b1), .WEA(wr_en), .RSTA(1'b0),
                    .CSA0(1'b0), .CSA1(1'b0), .CSA2(1'b0),
                    .ADA0(wr_pins[0]), .ADA1(wr_pins[1]), .ADA2(wr_pins[2]), .ADA3(wr_pins[3]),
                    .ADA4(wr_pins[4]), .ADA5(wr_pins[5]), .ADA6(wr_pins[6]), .ADA7(wr_pins[7]),
                    .ADA8(wr_pins[8]), .ADA9(wr_pins[9]), .ADA10(wr_pins[10]), .ADA11(wr_pins[11]),
                    .ADA12(wr_pins[12]), .ADA13(wr_pins[13]),
                    .DIA0(wr_bits[0]), .DIA1(wr_bits[1]), .DIA2(wr_bits[2]), .DIA3(wr_bits[3]),
                    .DIA4(wr_bits[4]), .DIA5(wr_bits[5]), .DIA6(wr_bits[6]), .DIA7(wr_bits[7]),
                    .DIA8(wr_bits[8]), .DIA9(wr_bits[9]), .DIA10(wr_bits[10]), .DIA11(wr_bits[11]),
                    .DIA12(wr_bits[12]), .DIA13(wr_bits[13]), .DIA14(wr_bits[14]), .DIA15(wr_bits[15]),
                    .DIA16(wr_bits[16]), .DIA17(wr_bits[17]),
                    .CLKB(clk), .CEB(ARRAY_EN), .OCEB(OUT_EN), .WEB(1'b0), .RSTB(1'b0),
                    .CSB0(1'b0), .CSB1(1'b0), .CSB2(1'b0),
                    .ADB0(rd_pins[0]), .ADB1(rd_pins[1]), .ADB2(rd_pins[2]), .ADB3(rd_pins[3]),
                    .ADB4(rd_pins[4]), .ADB5(rd_pins[5]), .ADB6(rd_pins[6]), .ADB7(rd_pins[7]),
                    .ADB8(rd_pins[8]), .ADB9(rd_pins[9]), .ADB10(rd_pins[10]), .ADB11(rd_pins[11]),
                    .ADB12(rd_pins[12]), .ADB13(rd_pins[13]),
                    .DOB0(rd_bits[0]), .DOB1(rd_bits[1]), .DOB2(rd_bits[2]), .DOB3(rd_bits[3]),
                    .DOB4(rd_bits[4]), .DOB5(rd_bits[5]), .DOB6(rd_bits[6]), .DOB7(rd_bits[7]),
                    .DOB8(rd_bits[8]), .DOB9(rd_bits[9]), .DOB10(rd_bits[10]), .DOB11(rd_bits[11]),
                    .DOB12(rd_bits[12]), .DOB13(rd_bits[13]), .DOB14(rd_bits[14]), .DOB15(rd_bits[15]),
                    .DOB16(rd_bits[16]), .DOB17(rd_bits[17])
                );
            end
        end
    end
endgenerate
