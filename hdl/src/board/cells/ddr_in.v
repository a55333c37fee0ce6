`ifdef TRIBUTARY_ECP5
genvar g;
generate
    for (g = 0; g < W; g = g + 1) begin : pins
        wire late;
        DELAYG #(.DEL_MODE("USER_DEFINED"), .DEL_VALUE(DELAY)) line (.A(pads[g]), .Z(late));
        IDDRX1F pair (.D(late), .SCLK(clk), .RST(1'b0), .Q0(rise[g]), .Q1(fall[g]));
    end
endgenerate
`else
reg [W-1:0] at_rise;
reg [W-1:0] at_fall;
reg [W-1:0] first;
reg [W-1:0] second;

initial begin
    at_rise = {W{1'b0}};
    at_fall = {W{1'b0}};
    first = {W{1'b0}};
    second = {W{1'b0}};
end

always @(posedge clk) begin
    at_rise <= pads;
    first <= at_rise;
    second <= at_fall;
end

always @(negedge clk) begin
    at_fall <= pads;
end

// The cell has 128 delays; of another one nothing is known.
assign rise = (DELAY > 127) ? {W{1'bx}} : first;
assign fall = (DELAY > 127) ? {W{1'bx}} : second;
`endif
