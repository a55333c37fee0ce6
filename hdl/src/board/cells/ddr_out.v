`ifdef TRIBUTARY_ECP5
genvar g;
generate
    for (g = 0; g < W; g = g + 1) begin : pins
        wire early;
        ODDRX1F pair (.D0(rise[g]), .D1(fall[g]), .SCLK(clk), .RST(1'b0), .Q(early));
        DELAYG #(.DEL_MODE("USER_DEFINED"), .DEL_VALUE(DELAY)) line (.A(early), .Z(pads[g]));
    end
endgenerate
`else
reg [W-1:0] first;
reg [W-1:0] second;

initial begin
    first = {W{1'b0}};
    second = {W{1'b0}};
end

always @(posedge clk) begin
    first <= rise;
    second <= fall;
end

// The cell has 128 delays; of another one nothing is known.
assign pads = (DELAY > 127) ? {W{1'bx}} : clk ? first : second;
`endif
