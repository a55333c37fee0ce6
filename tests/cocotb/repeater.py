"""The repeater, pads and all, between the RGMII models of cocotbext-eth and a model of the PHYs' registers.

TRIBUTARY_SEED repeats one seed; TRIBUTARY_FRAMES goes on until so many frames were compared each way.
"""

import logging
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer
from cocotbext.eth import GmiiFrame, RgmiiSink, RgmiiSource

# Periods in femtoseconds. The two PHYs have crystals of their own, 100 ppm apart from each other's and the board's.
CORE = 10_000_000
TX = 8_000_000
RX = [8_000_800, 7_999_200]
LONGEST = 9_022


class Registers:
    """A PHY's registers behind MDIO, by IEEE 802.3 clause 22: pages by register 22, as Marvell has them."""

    def __init__(self, dut, port, address):
        self.rng = random.Random(int(os.environ.get("TRIBUTARY_SEED", 1)) * 2 + port)
        self.mdc = getattr(dut, f"p{port}_mdc")
        self.said = getattr(dut, f"p{port}_mdio_o")
        self.says = getattr(dut, f"p{port}_mdio_oe")
        self.answer = getattr(dut, f"p{port}_mdio_i")
        self.address = address
        self.answer.value = 1
        # Both identifiers; a control register and delays that are not set yet, with other bits that are.
        self.values = {(0, 2): 0x0141, (0, 3): 0x0DD1, (0, 0): 0x1140, (2, 21): 0x1046}
        self.page = 0
        self.writes = []
        cocotb.start_soon(self.run())

    async def bit(self):
        """What the line has at the rising edge of mdc: pulled up where nobody says anything."""
        await RisingEdge(self.mdc)
        return int(self.said.value) if int(self.says.value) else 1

    async def word(self, bits):
        value = 0
        for _ in range(bits):
            value = value << 1 | await self.bit()
        return value

    async def run(self):
        ones = 0
        while True:
            if await self.bit():
                ones += 1
                continue
            # A start: 32 ones or more, then 01.
            whole, ones = ones >= 32, 0
            if not await self.bit() or not whole:
                continue
            what, phy, at = await self.word(2), await self.word(5), await self.word(5)
            if what == 2:
                value = self.values.get((self.page, at), 0) if phy == self.address else None
                await self.word(1)
                # Driven behind the rising edge, 1 to 300 ns later; the second bit of the turnaround is 0.
                for bit in [0] + [value >> i & 1 for i in range(15, -1, -1)] if value is not None else []:
                    await Timer(self.rng.randint(1, 300), unit="ns")
                    assert not int(self.says.value), "both say something"
                    self.answer.value = bit
                    await RisingEdge(self.mdc)
                await Timer(10, unit="ns")
                self.answer.value = 1
            elif what == 1:
                assert await self.word(2) == 2
                value = await self.word(16)
                if phy == self.address:
                    self.writes.append((self.page, at, value))
                    if at == 22:
                        self.page = value
                    else:
                        self.values[self.page, at] = value


async def txc_is_tx_clk(dut, txc):
    """The clock at the pad has the edges of tx_clk, so that the PHYs' delayed one is tx_clk 2 ns late."""
    for edge in (RisingEdge, FallingEdge) * 4:
        await edge(dut.tx_clk)
        await Timer(100, unit="ps")
        assert int(txc.value) == (edge is RisingEdge)


async def start(dut):
    """Clocks, reset, PHYs at addresses 0 and 1; until both are set up."""
    dut.rst.value = 1
    phys = [Registers(dut, port, port) for port in range(2)]
    Clock(dut.clk, CORE, unit="fs").start()
    Clock(dut.tx_clk, TX, unit="fs").start()
    for port, period in enumerate(RX):
        Clock(getattr(dut, f"p{port}_rgmii_rxc"), period, unit="fs").start()
    lines = []
    for port in range(2):
        signals = {name: getattr(dut, f"p{port}_rgmii_{name}") for name in ("rxd", "rx_ctl", "rxc", "txd", "tx_ctl", "txc")}
        came = RgmiiSource(signals["rxd"], signals["rx_ctl"], signals["rxc"])
        left = RgmiiSink(signals["txd"], signals["tx_ctl"], dut.late_txc)
        for part in (came, left):
            part.log.setLevel(logging.WARNING)
        lines.append((came, left))
    for port in range(2):
        await txc_is_tx_clk(dut, getattr(dut, f"p{port}_rgmii_txc"))
    await RisingEdge(dut.tx_clk)
    await Timer(2, unit="ns")
    Clock(dut.late_txc, TX, unit="fs").start()
    await ClockCycles(dut.clk, 20)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 100)
    # In reset, each of them.
    assert not int(dut.p0_phy_rst_n.value) and not int(dut.p1_phy_rst_n.value)
    for _ in range(200):
        if int(dut.leds.value) & 0x11 == 0x11:
            break
        await ClockCycles(dut.clk, 1000)
    return phys, lines


@cocotb.test()
async def phys_are_set_up(dut):
    """Both PHYs are found at their addresses, both delays are set, nothing else is changed, and the reset makes it work."""
    phys, _ = await start(dut)
    assert int(dut.leds.value) & 0x11 == 0x11, "both ready"
    for phy in phys:
        assert phy.writes == [(0, 22, 2), (2, 21, 0x1076), (2, 22, 0), (0, 0, 0x9140)], phy.writes


def length(rng):
    return rng.choice([rng.randint(60, 72), rng.randint(LONGEST - 12, LONGEST - 4), rng.randint(60, 1514), rng.randint(60, 300)])


@cocotb.test()
async def frames_pass_from_pad_to_pad(dut):
    """Back to back both ways at line rate: good frames pass once each and in order, bad ones do not; LEDs say so."""
    _, lines = await start(dut)
    wanted = int(os.environ.get("TRIBUTARY_FRAMES", 60))
    named = os.environ.get("TRIBUTARY_SEED")
    seed, compared = int(named or 1), 0
    while compared < wanted:
        rng = random.Random(seed)
        cocotb.log.info("seed %d", seed)
        sent = []
        for came, _ in lines:
            good = []
            for _ in range(30):
                payload = rng.randbytes(length(rng))
                frame = GmiiFrame.from_payload(payload)
                # The line is 100 ppm faster than the side that sends: a gap that is a little longer now and then makes up.
                came.ifg = 13
                if rng.random() < 0.2:
                    frame.data[rng.randrange(8, len(frame))] ^= 1 << rng.randrange(8)
                elif rng.random() < 0.1:
                    frame.error = [0] * len(frame)
                    frame.error[rng.randrange(8, len(frame))] = 1
                else:
                    good.append(payload)
                came.send_nowait(frame)
            sent.append(good)
        for came, _ in lines:
            await came.wait()
        # The last frame is stored and forwarded.
        await ClockCycles(dut.clk, 10_000)
        for port, good in enumerate(sent):
            left = lines[1 - port][1]
            got = []
            while not left.empty():
                frame = left.recv_nowait()
                assert frame.check_fcs() and not frame.error, f"seed {seed}"
                got.append(bytes(frame.get_payload()))
            assert [len(frame) for frame in got] == [len(frame) for frame in good], f"seed {seed}, from PHY {port}"
            assert got == good, f"seed {seed}, from PHY {port}"
        compared += 30
        seed += 1
        if named:
            break
    cocotb.log.info("%d frames each way from pad to pad", compared)


@cocotb.test()
async def leds_show_link_frames_and_faults(dut):
    """What PHYs say of their lines between frames, one good frame and one bad one, each at its LED alone."""
    _, lines = await start(dut)
    await ClockCycles(dut.clk, 2000)
    assert int(dut.leds.value) == 0x11, "no line is up yet"
    source = lines[1][0]
    # In-band status: line up, 1 Gb/s, full duplex.
    for edge in (FallingEdge, RisingEdge) * 2:
        await edge(source.clock)
        source.data.value = 0b1101
    await ClockCycles(dut.clk, 20)
    assert int(dut.leds.value) == 0x31, "the line of PHY 1"
    source.send_nowait(GmiiFrame.from_payload(bytes(range(60))))
    seen = 0
    for _ in range(60):
        await ClockCycles(dut.clk, 4)
        seen |= int(dut.leds.value)
    assert seen & 0xCC == 0x40, f"a good frame from PHY 1, {seen:#04x}"
    lines[0][0].send_nowait(GmiiFrame.from_raw_payload(bytes(64)))
    seen = 0
    for _ in range(60):
        await ClockCycles(dut.clk, 4)
        seen |= int(dut.leds.value)
    assert seen & 0x0C == 0x08, f"a bad frame from PHY 0, {seen:#04x}"
