"""mac_gmii between the GMII models of cocotbext-eth and the AXI4-Stream models of cocotbext-axi.

TRIBUTARY_SEED repeats the rounds of one seed; TRIBUTARY_FRAMES goes on until so many frames were compared each way.
"""

import random

import cocotb
from cocotb.utils import get_sim_time
from cocotbext.eth import GmiiFrame, GmiiSink, GmiiSource

from mac import LONGEST, ROUND, Bench, frames_to_compare, length, pauses, seeds

# Periods in femtoseconds: the line 100 ppm slower or faster than 125 MHz, the core of 40 to 200 MHz.
LINE = 8_000_000
LINES = [LINE - 800, LINE, LINE + 800]
CORES = [25_000_000, 10_000_000, 8_000_000, 8_000_800, 5_000_000]


def bench_of(dut):
    line = GmiiSource(dut.gmii_rxd, dut.gmii_rx_er, dut.gmii_rx_dv, dut.rx_clk, dut.rst)
    sent = GmiiSink(dut.gmii_txd, dut.gmii_tx_er, dut.gmii_tx_en, dut.tx_clk, dut.rst)
    return Bench(dut, line, sent, lambda: int(dut.gmii_tx_en.value), CORES, LINES)


@cocotb.test()
async def frames_both_ways_at_line_rate(dut):
    """Frames of 60 to 9,018 bytes back to back each way: each once, in order, with its FCS, behind a gap of 12."""
    bench, compared = bench_of(dut), 0
    for seed in seeds("line rate"):
        rng = random.Random(seed)
        async with bench.round(rng):
            out = [rng.randbytes(length(rng)) for _ in range(ROUND)]
            into = [rng.randbytes(length(rng)) for _ in range(ROUND)]
            start = get_sim_time()
            for frame in out:
                bench.core.send_nowait(frame)
            for frame in into:
                bench.line.send_nowait(GmiiFrame.from_payload(frame))
            await bench.settle()

            left = bench.left()
            assert [bytes(frame.get_payload()) for frame in left] == out, f"seed {seed}"
            assert all(frame.check_fcs() and not frame.error for frame in left), f"seed {seed}"
            period, waits = bench.periods["tx_clk"], 0
            # A frame may begin when all of it or 256 words of it have come from the core, which gives a word a clock.
            words = 0
            for at, frame in enumerate(left):
                needed = words + min(256, -(-len(out[at]) // 8))
                words += -(-len(out[at]) // 8)
                there = start + (needed + 4) * bench.periods["clk"] + 16 * period
                gap = at and (frame.sim_time_start - left[at - 1].sim_time_end) // period
                assert gap == 12 or frame.sim_time_start <= there, f"seed {seed}: a gap of {gap} in front of frame {at}"
                waits += at > 0 and gap != 12
            # That is so while the queue fills only: the core is faster than the line.
            assert waits <= 4, f"seed {seed}: {waits} frames waited"

            assert bench.handed_over() == [(frame, False) for frame in into], f"seed {seed}"
            assert bench.stats() == {
                "tx_frames": ROUND, "tx_underruns": 0, "rx_frames": ROUND,
                "rx_bad": 0, "rx_dropped": 0, "rx_fragments": 0,
            }, f"seed {seed}"
        compared += ROUND
        if compared >= frames_to_compare(120):
            break
    cocotb.log.info("%d frames each way at line rate", compared)


def spoil(rng):
    """What comes on the line, the bytes behind its preamble without FCS, and what is wrong with it."""
    kind = rng.choice(["good", "good", "good", "fcs", "error", "runt", "fragment", "long"])
    bytes_ = {
        "runt": rng.randint(1, 59),
        "long": rng.randint(LONGEST - 3, LONGEST + 400),
    }.get(kind) or length(rng)
    payload = rng.randbytes(bytes_)
    if kind == "fragment":
        frame = GmiiFrame.from_raw_payload(rng.randbytes(rng.randint(0, 4)))
    else:
        frame = GmiiFrame.from_payload(payload, min_len=0)
    start = len(frame) - len(payload) - 4
    if kind == "fcs":
        at = rng.randrange(start, len(frame))
        frame.data[at] ^= 1 << rng.randrange(8)
        payload = bytes(frame.data[start:-4])
    if kind == "error":
        frame.error = [0] * len(frame)
        frame.error[rng.randrange(start, len(frame))] = 1
    if kind != "fragment" and rng.random() < 0.3:
        # Preambles shorten on their way, or grow. The first byte of the frame is 10 clocks or more behind the last one.
        if rng.random() < 0.5:
            shorter = rng.randint(1, 3)
            frame.data = frame.data[shorter:]
            frame.error = frame.error and frame.error[shorter:]
        else:
            longer = rng.randint(1, 6)
            frame.data = bytearray(b"\x55" * longer) + frame.data
            frame.error = frame.error and [0] * longer + frame.error
    return kind, payload, frame


@cocotb.test()
async def bad_frames_are_marked(dut):
    """Wrong FCS, errors of the PHY, runts, fragments and overlong frames between good ones, gaps of 5 to 100."""
    bench, compared = bench_of(dut), 0
    for seed in seeds("bad frames"):
        rng = random.Random(seed)
        async with bench.round(rng):

            def next_gap(_):
                bench.line.ifg = rng.randint(5, 100) if rng.random() < 0.5 else 5

            came = [spoil(rng) for _ in range(ROUND)]
            for _, _, frame in came:
                frame.tx_complete = next_gap
                bench.line.send_nowait(frame)
            await bench.settle()
            fragments = sum(kind == "fragment" for kind, _, _ in came)
            good = sum(kind == "good" for kind, _, _ in came)
            want = [(payload, kind != "good") for kind, payload, _ in came if kind != "fragment"]
            got = bench.handed_over()
            for at, (one, other) in enumerate(zip(got, want)):
                assert one == other, f"seed {seed}: frame {at} of {len(other[0])} bytes"
            assert len(got) == len(want), f"seed {seed}"
            stats = bench.stats()
            assert (stats["rx_frames"], stats["rx_bad"]) == (good, ROUND - good - fragments), f"seed {seed}: {stats}"
            assert (stats["rx_dropped"], stats["rx_fragments"]) == (0, fragments), f"seed {seed}: {stats}"
        compared += ROUND
        if compared >= frames_to_compare(120):
            break
    cocotb.log.info("%d frames, good and bad", compared)


@cocotb.test()
async def a_slow_core_loses_whole_frames(dut):
    """With pauses on both streams what arrives whole arrives as it was sent and in order; the rest is counted."""
    bench, compared = bench_of(dut), 0
    for seed in seeds("slow core"):
        rng = random.Random(seed)
        async with bench.round(rng):
            bench.core.set_pause_generator(pauses(rng))
            bench.taken.set_pause_generator(pauses(rng))
            out = [rng.randbytes(length(rng)) for _ in range(ROUND)]
            into = [rng.randbytes(length(rng)) for _ in range(ROUND)]
            for frame in out:
                bench.core.send_nowait(frame)
            for frame in into:
                bench.line.send_nowait(GmiiFrame.from_payload(frame))
            await bench.settle()
            bench.taken.clear_pause_generator()
            bench.taken.pause = False
            bench.core.clear_pause_generator()
            bench.core.pause = False
            await bench.settle()
            stats = bench.stats()

            left = bench.left()
            assert len(left) == ROUND, f"seed {seed}"
            cut = 0
            for want, frame in zip(out, left):
                if frame.error and any(frame.error):
                    cut += 1
                    sent = bytes(frame.get_payload(strip_fcs=False))[:-1]
                    assert want.startswith(sent), f"seed {seed}"
                else:
                    assert bytes(frame.get_payload()) == want and frame.check_fcs(), f"seed {seed}"
            assert (stats["tx_frames"], stats["tx_underruns"]) == (ROUND, cut), f"seed {seed}: {stats}"

            got = bench.handed_over()
            rest = iter(into)
            for frame, bad in got:
                if bad:
                    # Cut: what is there is the beginning of a frame, and a byte of 0.
                    assert any(want.startswith(frame[:-1]) for want in rest), f"seed {seed}"
                else:
                    assert frame in rest, f"seed {seed}"
            good = sum(not bad for _, bad in got)
            assert (stats["rx_frames"], stats["rx_bad"]) == (good, len(got) - good), f"seed {seed}: {stats}"
            # Of frames dropped in a row, all are counted.
            assert stats["rx_dropped"] == ROUND - good, f"seed {seed}: {stats}"
        compared += ROUND
        if compared >= frames_to_compare(60):
            break
    cocotb.log.info("%d frames each way of a core that pauses", compared)
