"""A host for us_card: the root complex and the UltraScale+ block of cocotbext-pcie, and a small driver for the card.

Numbers of registers, commands and rings are those of rtl_out/registers.
"""

import logging
import random

import cocotb
from cocotb.triggers import ClockCycles, Timer
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.tlp import TlpType
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

BAR_SIZE = 0x20000
CLOCK_NS = 8
OK, LOCAL_PROTECTION, LOCAL_DMA = 0, 14, 16
SEND, RECEIVE = 1, 2
# Counters.
ACCEPTED, BAD_TLP, READ_FAILED, STRAY, INTERRUPTS = 2, 24, 25, 26, 27


class Host:
    """The model on the ports of the bench, and what it saw."""

    def __init__(self, dut, payload=512, wide=False):
        self.dut = dut
        # Names of cocotb that have changed since the model was written, and its settings.
        logging.getLogger("py.warnings").setLevel(logging.ERROR)
        logging.getLogger("cocotb.pcie").setLevel(logging.ERROR)
        self.rc = RootComplex()
        # Otherwise the root complex would grant more than the block supports.
        self.rc.max_payload_size = payload.bit_length() - 8
        self.dev = UltraScalePlusPcieDevice(
            pcie_generation=3,
            pcie_link_width=1,
            user_clk_frequency=125e6,
            alignment="dword",
            max_payload_size=payload,
            enable_client_tag=True,
            enable_extended_tag=False,
            enable_parity=False,
            pf0_msix_enable=True,
            pf0_msix_table_size=7,
            pf0_msix_table_bir=0,
            pf0_msix_table_offset=0x2000,
            pf0_msix_pba_bir=0,
            pf0_msix_pba_offset=0x3000,
            user_clk=dut.clk,
            user_reset=dut.rst,
            user_lnk_up=dut.user_lnk_up,
            rq_bus=AxiStreamBus.from_prefix(dut, "s_axis_rq"),
            rc_bus=AxiStreamBus.from_prefix(dut, "m_axis_rc"),
            cq_bus=AxiStreamBus.from_prefix(dut, "m_axis_cq"),
            cc_bus=AxiStreamBus.from_prefix(dut, "s_axis_cc"),
            pcie_rq_seq_num0=dut.pcie_rq_seq_num0,
            pcie_rq_seq_num_vld0=dut.pcie_rq_seq_num_vld0,
            pcie_rq_seq_num1=dut.pcie_rq_seq_num1,
            pcie_rq_seq_num_vld1=dut.pcie_rq_seq_num_vld1,
            cfg_bus_number=dut.cfg_bus_number,
            cfg_function_status=dut.cfg_function_status,
            cfg_max_payload=dut.cfg_max_payload,
            cfg_max_read_req=dut.cfg_max_read_req,
            cfg_interrupt_msix_enable=dut.cfg_interrupt_msix_enable,
            cfg_interrupt_msix_mask=dut.cfg_interrupt_msix_mask,
        )
        # A BAR above 4 GiB has to be prefetchable in this root complex.
        self.dev.functions[0].configure_bar(0, BAR_SIZE, ext=wide, prefetch=wide)
        # The model raises its reset two clocks late.
        dut.rst.value = 1
        dut.cfg_flr_in_process.value = 0
        dut.cfg_read_timeout.value = 2_000
        self.rc.make_port().connect(self.dev)
        for log in (self.rc.log, self.dev.log, self.dev.rq_sink.log, self.dev.cc_sink.log,
                    self.dev.rc_source.log, self.dev.cq_source.log):
            log.setLevel(logging.ERROR)
        logging.getLogger("cocotb.us_card_bench").setLevel(logging.ERROR)
        self.payload = payload
        self.reads, self.writes, self.broken = 0, 0, []
        self.largest_read, self.largest_write = 4096, 4096
        for kind in (TlpType.MEM_READ, TlpType.MEM_READ_64):
            self.watch(kind, self.rc.rx_tlp_handler[kind], True)
        for kind in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64):
            self.watch(kind, self.rc.rx_tlp_handler[kind], False)

    def watch(self, kind, handle, reads):
        """Counts requests of the card, and notes what PCI Express does not allow."""

        async def handler(tlp):
            limit = self.largest_read if reads else self.largest_write
            if reads:
                self.reads += 1
            else:
                self.writes += 1
            wide = kind in (TlpType.MEM_READ_64, TlpType.MEM_WRITE_64)
            rules = {
                "longer than allowed": tlp.length * 4 > limit,
                "across 4 KiB": (tlp.address & 0xFFF) + tlp.length * 4 > 0x1000,
                "4 words for an address below 4 GiB": wide != (tlp.address >> 32 != 0),
                "no last byte enables of one word": (tlp.length == 1) != (tlp.last_be == 0),
                "no first byte enables": tlp.first_be == 0,
                "not of the function": tlp.requester_id != self.dev.functions[0].pcie_id,
            }
            self.broken += [f"{rule}: {tlp!r}" for rule, broken in rules.items() if broken]
            await handle(tlp)

        self.rc.register_rx_tlp_handler(kind, handler)

    async def start(self):
        """Out of reset, enumerated, bus mastering and MSI-X on."""
        await Timer(300, "ns")
        await ClockCycles(self.dut.clk, 20)
        await self.rc.enumerate()
        self.pci = self.rc.find_device(self.dev.functions[0].pcie_id)
        await self.pci.enable_device()
        await self.pci.set_master()
        self.bar = self.pci.bar_window[0]

    async def limits(self, payload, read):
        """Maximum payload and maximum read request of the function, as system software sets them."""
        control = self.dev.functions[0].pcie_cap
        control.max_payload_size = payload.bit_length() - 8
        control.max_read_request_size = read.bit_length() - 8
        self.rc.max_payload_size = payload.bit_length() - 8
        self.largest_write, self.largest_read = payload, read
        await ClockCycles(self.dut.clk, 8)

    def count(self, name):
        return int(getattr(self.dut, name).value)


class Region:
    """Memory of the host, and its key."""

    def __init__(self, memory, key):
        self.memory, self.key = memory, key
        self.base = memory.get_absolute_address(0)


class Ring:
    def __init__(self, memory, log):
        self.memory, self.mask = memory, (1 << log) - 1
        self.base = memory.get_absolute_address(0)


class Card:
    """What a driver does."""

    def __init__(self, host):
        self.host, self.pairs, self.regions = host, {}, 0

    async def read(self, offset):
        return await self.host.bar.read_dword(offset)

    async def write(self, offset, value):
        await self.host.bar.write_dword(offset, value)

    async def idle(self):
        for _ in range(20_000):
            status = await self.read(0x24)
            if not status & 1:
                return status >> 8 & 0xFF
        raise AssertionError("status.busy stays 1")

    async def command(self, code, index, arguments=()):
        for number, value in enumerate(arguments):
            await self.write(0x40 + 4 * number, value & 0xFFFFFFFF)
        await self.write(0x20, index << 8 | code)
        ended = await self.idle()
        assert ended == 0, f"command {code} of {index} ended with {ended}"

    async def counter(self, number):
        # A count lags by up to 64 clocks.
        await ClockCycles(self.host.dut.clk, 80)
        await self.write(0x80, number)
        return await self.read(0x84) | await self.read(0x88) << 32

    async def reset(self):
        await self.write(0x10, 2)
        await self.idle()

    async def set_up(self, mtu=4096):
        """Registers and MSI-X behind a reset."""
        self.pairs, self.regions = {}, 0
        await self.write(0x14, 1)
        await self.write(0x18, mtu)
        await self.write(0x1C, 512)
        await self.write(0x10, 1)
        await self.host.pci.free_irq_vectors()
        assert await self.host.pci.alloc_irq_vectors(8, 8) == 8
        await ClockCycles(self.host.dut.clk, 8)

    async def region(self, memory, size, local_write=True, base=None):
        index = self.regions
        self.regions += 1
        base = memory.get_absolute_address(0) if base is None else base
        await self.command(6, index, [
            0x5A | local_write << 8, 7, base, base >> 32, size, size >> 32,
        ])
        return index << 8 | 0x5A

    async def pair(self, number, pool, vector=0, log=6):
        """A queue pair that is ready to send."""
        rings = [Ring(pool.alloc_region(size << log), log) for size in (64, 32, 128)]
        rings[2].mask = (2 << log) - 1
        rings[2].memory[0:128 << log] = bytes(128 << log)
        send, receive, complete = (ring.base for ring in rings)
        # Time to wait for an acknowledgement: 16.8 ms, longer than any run between two completions.
        await self.command(1, number, [
            log << 4 | log << 8 | (log + 1) << 12 | 12 << 16 | vector << 24, 0x1234, 7, number << 8,
            send, send >> 32, receive, receive >> 32, complete, complete >> 32,
        ])
        await self.command(2, number, [2])
        await self.command(2, number, [3])
        self.pairs[number] = Pair(self, number, rings)
        return self.pairs[number]


class Pair:
    def __init__(self, card, number, rings):
        self.card, self.number = card, number
        self.send, self.receive, self.complete = rings
        self.sent = self.received = self.completed = 0

    async def bell(self, offset, value):
        await self.card.write(0x10000 + 0x1000 * self.number + offset, value & 0xFFFF)

    def post_receive(self, name, address, key, length):
        entry = b"".join(value.to_bytes(8, "little") for value in (name, address, key | length << 32, 0))
        at = 32 * (self.received & self.receive.mask)
        self.receive.memory[at:at + 32] = entry
        self.received += 1

    def post_send(self, name, address, key, length, to):
        words = (
            SEND | length << 32, name, address, key | 1 << 48, to, 0, 0, 0,
        )
        at = 64 * (self.sent & self.send.mask)
        self.send.memory[at:at + 64] = b"".join(word.to_bytes(8, "little") for word in words)
        self.sent += 1

    def look(self):
        """The next completion: name, outcome, of what, bytes; or None."""
        at = 64 * (self.completed & self.complete.mask)
        entry = bytes(self.complete.memory[at:at + 64])
        words = [int.from_bytes(entry[8 * n:8 * n + 8], "little") for n in range(8)]
        phase = self.completed // (self.complete.mask + 1) & 1 ^ 1
        if words[7] & 1 != phase:
            return None
        assert words[7] >> 16 & 0xFFFF == self.completed & 0xFFFF, "number of a completion"
        self.completed += 1
        return words[0], words[1] & 0xFF, words[1] >> 8 & 0xFF, words[1] >> 32

    async def wait(self, patience=20_000):
        for _ in range(patience):
            entry = self.look()
            if entry:
                return entry
            await ClockCycles(self.card.host.dut.clk, 20)
        raise AssertionError(f"queue pair {self.number}: no completion {self.completed}")


class Talk:
    """Queue pair 0 sends to queue pair 1 of the same card, with memory on both sides."""

    SIZE = 1 << 16

    def __init__(self, card, rng, pool):
        self.card, self.rng, self.pool = card, rng, pool
        self.interrupts = 0

    async def start(self):
        self.a = await self.card.pair(0, self.pool, 0)
        self.b = await self.card.pair(1, self.pool, 1)
        await self.move()
        return self

    async def move(self):
        """Other memory, of the pool: its regions take the place of those before."""
        self.card.regions = 0
        self.source = self.pool.alloc_region(self.SIZE)
        self.target = self.pool.alloc_region(self.SIZE)
        self.source_key = await self.card.region(self.source, self.SIZE, False)
        self.target_key = await self.card.region(self.target, self.SIZE)

    def length(self, mtu):
        return self.rng.choice([0, 1, self.rng.randrange(16), 64, self.rng.randrange(300),
                                self.rng.randrange(mtu + 1), mtu])

    async def batch(self, count, mtu=4096):
        """Up to 15 messages at once, compared byte for byte with what is around them."""
        slots = self.SIZE // 15
        posted, room = [], slots - mtu
        assert count <= 15 and room >= 16
        before = self.rng.randbytes(self.SIZE)
        self.target[0:self.SIZE] = before
        for number in range(count):
            length = self.length(mtu)
            data = self.rng.randbytes(length)
            at = number * slots + self.rng.randrange(room)
            to = number * slots + self.rng.randrange(room)
            self.source[at:at + length] = data
            name = self.rng.getrandbits(64)
            self.b.post_receive(name, self.target.get_absolute_address(to), self.target_key, mtu)
            self.a.post_send(name ^ 1, self.source.get_absolute_address(at), self.source_key, length, 1)
            posted.append((name, data, to))
        await self.b.bell(8, self.b.received)
        await self.ready()
        await self.a.bell(0, self.a.sent)
        expected = bytearray(before)
        for name, data, to in posted:
            got = await self.b.wait()
            assert got == (name, OK, RECEIVE, len(data)), f"{got}, not {name:#x} of {len(data)} bytes"
            expected[to:to + len(data)] = data
        sent = sorted([await self.a.wait() for _ in posted])
        assert sent == sorted((name ^ 1, OK, SEND, 0) for name, _, _ in posted), f"{sent}"
        assert bytes(self.target[0:self.SIZE]) == bytes(expected), "memory differs"
        await self.a.bell(0x10, self.a.completed)
        await self.b.bell(0x10, self.b.completed)
        return sum(len(data) for _, data, _ in posted)

    async def ready(self):
        """The card has read the receive requests: no register says so, so wait for its reads to end."""
        quiet, last = 0, self.card.host.reads
        while quiet < 6:
            await ClockCycles(self.card.host.dut.clk, 25)
            now = self.card.host.reads
            quiet, last = (quiet + 1 if now == last else 0), now


def pauses(rng):
    """Bursts of pauses, for the models' ports."""
    while True:
        for _ in range(rng.choice([1, 3, 30, 200])):
            yield False
        for _ in range(rng.choice([1, 2, 7, 40])):
            yield True


async def started(dut, **kind):
    """A host whose card was reset by its driver."""
    host = Host(dut, **kind)
    await host.start()
    card = Card(host)
    await card.reset()
    await card.set_up()
    return host, card


def generator(name):
    import os
    seed = int(os.environ.get("TRIBUTARY_SEED", 1))
    cocotb.log.info("%s: seed %d", name, seed)
    return random.Random(seed)
