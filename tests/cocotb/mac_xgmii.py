"""mac_xgmii between the XGMII models of cocotbext-eth and the AXI4-Stream models of cocotbext-axi.

TRIBUTARY_SEED repeats the rounds of one seed; TRIBUTARY_FRAMES goes on until so many frames were compared each way.
"""

import random

import cocotb
from cocotb.triggers import ClockCycles, Timer
from cocotbext.eth import XgmiiFrame, XgmiiSink, XgmiiSource

from mac import LONGEST, ROUND, Bench, frames_to_compare, length, pauses, seeds

# Periods in femtoseconds: the line 100 ppm slower or faster than 156.25 MHz, the core as fast or faster. Multiples of 8 for lanes.
LINE = 6_400_000
LINES = [LINE - 640, LINE, LINE + 640]
CORES = [2_000_000, 3_200_000, 4_000_000, 6_000_000]
# Lanes of preamble, FCS and gap.
AROUND = 8 + 4 + 12


def bench_of(dut, cores=CORES):
    line = XgmiiSource(dut.xgmii_rxd, dut.xgmii_rxc, dut.rx_clk, dut.rst)
    sent = XgmiiSink(dut.xgmii_txd, dut.xgmii_txc, dut.tx_clk, dut.rst)
    return Bench(dut, line, sent, lambda: int(dut.xgmii_txc.value) != 0xFF, cores, LINES)


@cocotb.test()
async def frames_both_ways_at_line_rate(dut):
    """Frames of 60 to 9,018 bytes back to back each way: each once, in order, with its FCS, behind gaps of 12 on average."""
    # A core so fast that the next frame always waits.
    bench, compared = bench_of(dut, CORES[:2]), 0
    for seed in seeds("line rate"):
        rng = random.Random(seed)
        async with bench.round(rng):
            out = [rng.randbytes(length(rng)) for _ in range(ROUND)]
            into = [rng.randbytes(length(rng)) for _ in range(ROUND)]
            for frame in out:
                bench.core.send_nowait(frame)
            for frame in into:
                bench.line.send_nowait(XgmiiFrame.from_payload(frame))
            await bench.settle()

            left = bench.left()
            assert [bytes(frame.get_payload()) for frame in left] == out, f"seed {seed}"
            assert all(frame.check_fcs() and not frame.ctrl for frame in left), f"seed {seed}"
            # The model's times are exact for those that start in lane 0. The queue fills in the first third.
            exact = [at for at, frame in enumerate(left) if frame.start_lane == 0 and at >= ROUND // 3]
            assert len(exact) > 3 and len(exact) < ROUND - ROUND // 3, f"seed {seed}: {exact}"
            for first, then in zip(exact, exact[1:]):
                lanes = (left[then].sim_time_start - left[first].sim_time_start) * 8 // bench.periods["tx_clk"]
                wanted = sum(len(out[at]) + AROUND for at in range(first, then))
                assert abs(lanes - wanted) <= 3, f"seed {seed}: {lanes} lanes, not {wanted}, from {first} to {then}"

            assert bench.handed_over() == [(frame, False) for frame in into], f"seed {seed}"
            assert bench.stats() == {
                "tx_frames": ROUND, "tx_underruns": 0, "rx_frames": ROUND,
                "rx_bad": 0, "rx_dropped": 0, "rx_fragments": 0,
            }, f"seed {seed}"
        compared += ROUND
        if compared >= frames_to_compare(60):
            break
    cocotb.log.info("%d frames each way at line rate", compared)


def spoil(rng):
    """What comes on the line, what the core gets of it, and what is wrong with it."""
    kind = rng.choice(["good", "good", "good", "fcs", "error", "runt", "fragment", "long", "start"])
    bytes_ = {
        "runt": rng.randint(1, 59),
        "long": rng.randint(LONGEST - 3, LONGEST + 400),
    }.get(kind) or length(rng)
    payload = rng.randbytes(bytes_)
    if kind == "fragment":
        frame = XgmiiFrame.from_raw_payload(rng.randbytes(rng.randint(0, 4)))
    else:
        frame = XgmiiFrame.from_payload(payload, min_len=0)
    if kind == "fcs":
        at = rng.randrange(8, len(frame))
        frame.data[at] ^= 1 << rng.randrange(8)
        payload = bytes(frame.data[8:-4])
    if kind == "error":
        # Another control character than the end ends it.
        at = rng.randrange(8 + 5, len(frame))
        frame.ctrl = [0] * len(frame)
        frame.ctrl[at] = 1
        frame.data[at] = rng.choice([0x07, 0x9C, 0xFE])
        payload = bytes(frame.data[8:at - 4])
    if kind == "start":
        frame.data[7] = rng.randrange(0xD5)
    return kind, payload, frame


@cocotb.test()
async def bad_frames_are_marked(dut):
    """Wrong FCS, control characters, runts, fragments, overlong frames and starts without frame between good ones, gaps of 5
    to 100."""
    bench, compared = bench_of(dut), 0
    for seed in seeds("bad frames"):
        rng = random.Random(seed)
        async with bench.round(rng):

            def next_gap(_):
                bench.line.ifg = rng.randint(5, 100) if rng.random() < 0.5 else 5

            # Gaps are what is told, not more and less in turns.
            bench.line.enable_dic = False
            came = [spoil(rng) for _ in range(ROUND)]
            for _, _, frame in came:
                frame.tx_complete = next_gap
                bench.line.send_nowait(frame)
            await bench.settle()
            fragments = sum(kind in ("fragment", "start") for kind, _, _ in came)
            good = sum(kind == "good" for kind, _, _ in came)
            want = [(payload, kind != "good") for kind, payload, _ in came if kind not in ("fragment", "start")]
            got = bench.handed_over()
            for at, (one, other) in enumerate(zip(got, want)):
                assert one == other, f"seed {seed}: frame {at} of {len(other[0])} bytes"
            assert len(got) == len(want), f"seed {seed}"
            stats = bench.stats()
            assert (stats["rx_frames"], stats["rx_bad"]) == (good, ROUND - good - fragments), f"seed {seed}: {stats}"
            assert (stats["rx_dropped"], stats["rx_fragments"]) == (0, fragments), f"seed {seed}: {stats}"
        compared += ROUND
        if compared >= frames_to_compare(60):
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
                bench.line.send_nowait(XgmiiFrame.from_payload(frame))
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
                if frame.ctrl and any(frame.ctrl):
                    cut += 1
                    assert frame.data[-1] == 0xFE, f"seed {seed}"
                    sent = bytes(frame.get_payload(strip_fcs=False))[:-1]
                    assert len(sent) >= 2048 and want.startswith(sent), f"seed {seed}"
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
        if compared >= frames_to_compare(30):
            break
    cocotb.log.info("%d frames each way of a core that pauses", compared)


@cocotb.test()
async def faults_of_the_link_are_told(dut):
    """While the PHY tells a local fault the other end is told a remote one; while that tells one nothing is sent."""
    bench = bench_of(dut)
    for kind, told in ((1, 2), (2, None)):
        async with bench.round(random.Random(kind)):
            bench.line.set_seq_os(kind)
            await ClockCycles(dut.rx_clk, 40)
            assert (int(dut.local_fault.value), int(dut.remote_fault.value)) == (kind == 1, kind == 2)
            bench.sent.os = None
            bench.core.send_nowait(bytes(100))
            await Timer(200 * LINE, unit="fs")
            assert bench.sent.empty() and bench.sent.os == told, f"fault {kind}: {bench.sent.os}"
            bench.line.set_seq_os()
            await Timer(80 * LINE, unit="fs")
            assert (int(dut.local_fault.value), int(dut.remote_fault.value)) == (0, 0)
            bench.core.send_nowait(bytes([7] * 100))
            await bench.settle()
            assert [bytes(frame.get_payload()) for frame in bench.left()] == [bytes([7] * 100)]
            assert bench.stats()["tx_frames"] == 2
