"""What the benches of both MACs share: the core's side, clocks, frames, seeds.

TRIBUTARY_SEED repeats the rounds of one seed; TRIBUTARY_FRAMES goes on until so many frames were compared each way.
"""

import logging
import os
from contextlib import asynccontextmanager

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer
from cocotbext.axi import AxiStreamBus, AxiStreamSink, AxiStreamSource

LONGEST = 9_022
# Frames of a round each way.
ROUND = 30


class Bench:
    """The models of others on the ports of the design; a round begins with a reset and clocks of its own.

    Periods of the core's and of the line's clock in femtoseconds are chosen from `cores` and `lines`. `line` sends frames,
    `sent` takes those of the design; `sends` says whether it sends one now.
    """

    def __init__(self, dut, line, sent, sends, cores, lines):
        self.dut, self.line, self.sent, self.sends, self.cores, self.lines = dut, line, sent, sends, cores, lines
        dut.rst.value = 1
        self.core = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis_tx"), dut.clk, dut.rst)
        self.taken = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_rx"), dut.clk, dut.rst)
        for part in (self.core, self.taken, self.line, self.sent):
            part.log.setLevel(logging.WARNING)

    @asynccontextmanager
    async def round(self, rng):
        dut = self.dut
        self.periods = {
            "clk": rng.choice(self.cores),
            "rx_clk": rng.choice(self.lines),
            "tx_clk": rng.choice(self.lines),
        }
        clocks = [Clock(getattr(dut, name), period, unit="fs") for name, period in self.periods.items()]
        self.line.ifg = 12
        dut.rst.value = 1
        for clock in clocks:
            clock.start()
        await Timer(16 * max(self.periods.values()), unit="fs")
        await ClockCycles(dut.clk, 4)
        dut.rst.value = 0
        await ClockCycles(dut.clk, 20)
        yield
        for clock in clocks:
            clock.stop()

    def stats(self):
        names = ["tx_frames", "tx_underruns", "rx_frames", "rx_bad", "rx_dropped", "rx_fragments"]
        return {name: int(getattr(self.dut, name).value) for name in names}

    async def settle(self):
        """Until nothing has come or gone for 1,000 clocks of the line, behind what was queued."""
        await self.line.wait()
        await self.core.wait()
        quiet, last = 0, None
        while quiet < 4:
            await Timer(250 * self.lines[0], unit="fs")
            now = (self.taken.count(), self.sent.count(), self.stats())
            busy = self.sends() or int(self.dut.m_axis_rx_tvalid.value)
            quiet = quiet + 1 if now == last and not busy else 0
            last = now

    def handed_over(self):
        """Bytes and mark of each frame that the core has got."""
        frames = []
        while not self.taken.empty():
            frame = self.taken.recv_nowait()
            user = frame.tuser
            frames.append((bytes(frame.tdata), bool(user[-1] if isinstance(user, list) else user)))
        return frames

    def left(self):
        frames = []
        while not self.sent.empty():
            frames.append(self.sent.recv_nowait())
        return frames


def length(rng, shortest=60, longest=LONGEST - 4):
    return rng.choice([
        rng.randint(shortest, shortest + 12),
        rng.randint(longest - 9, longest),
        rng.randint(shortest, longest),
        rng.randint(shortest, 400),
        rng.randint(shortest, 400),
        rng.randint(shortest, 1514),
    ])


def frames_to_compare(default):
    return int(os.environ.get("TRIBUTARY_FRAMES", default))


def seeds(name):
    """Seeds without end; the one that is named, once."""
    named = os.environ.get("TRIBUTARY_SEED")
    seed = int(named) if named else 1
    while True:
        cocotb.log.info("%s: seed %d", name, seed)
        yield seed
        if named:
            return
        seed += 1


def pauses(rng):
    """Pauses of any length between runs of any length, most of them short."""
    while True:
        for paused in (False, True):
            for _ in range(int(2 ** rng.uniform(0, 11))):
                yield paused
