"""us_card, a card behind its shim, at the UltraScale+ block of cocotbext-pcie, which nobody here wrote.

TRIBUTARY_SEED is another seed; TRIBUTARY_FRAMES goes on until so many messages were compared.
"""

import os

import cocotb
from cocotb.triggers import ClockCycles
from cocotbext.pcie.core.tlp import CplStatus, TlpAttr, TlpTc, TlpType
from cocotbext.pcie.core.utils import PcieId
from cocotbext.pcie.xilinx.us.interface import UsPcieFrame
from cocotbext.pcie.xilinx.us.tlp import Tlp_us

from us_host import (
    ACCEPTED, BAD_TLP, BAR_SIZE, INTERRUPTS, LOCAL_DMA, OK, READ_FAILED, RECEIVE, SEND, STRAY, Card, Host, Talk, generator, pauses,
    started,
)

MTU = 4096


def messages(default):
    return int(os.environ.get("TRIBUTARY_FRAMES", default))


def clean(host):
    assert host.broken == [], host.broken[:3]


@cocotb.test()
async def enumeration_and_registers(dut):
    """The function is found, its BAR has the size of the card, and registers are read and written, one word, two, or a
    part of one at a time. The BAR lies above 4 GiB here, below in the other tests."""
    host = Host(dut, wide=True)
    await host.start()
    assert host.pci.bar_size[0] == BAR_SIZE and host.pci.bar_addr[0] >> 32
    card = Card(host)
    assert await card.read(0) == 0x54524E43
    assert await card.read(0xC) == 4 | 5 << 8 | 6 << 16 | 3 << 24
    await card.reset()
    await card.write(0x14, 0xBEEF)
    assert await card.read(0x14) == 0xBEEF
    assert await host.bar.read(0x10, 8) == (0xBEEF << 32).to_bytes(8, "little")
    assert await host.bar.read(0x15, 2) == b"\xbe\x00"
    await host.bar.write(0x40, bytes(range(8)))
    assert await host.bar.read(0x40, 8) == bytes(range(8))
    assert await card.counter(BAD_TLP) == 0
    clean(host)


@cocotb.test()
async def messages_byte_for_byte(dut):
    """Messages of the card to itself under every maximum payload and read request, with completions whole and cut at
    every 64 bytes, memory below and above 4 GiB, and ports of the block that pause."""
    rng = generator("messages")
    host, card = await started(dut)
    above = host.rc.mem_address_space.create_pool(0x12_3456_0000_0000, 1 << 24)
    done, passed = 0, 0
    talk = await Talk(card, rng, host.rc.mem_pool).start()
    payloads, reads = [128, 256, 512], [128, 256, 512, 1024, 2048, 4096]
    plans = [(payload, read) for payload in payloads for read in reads]
    rng.shuffle(plans)
    while done < messages(60):
        for payload, read in plans:
            if done >= messages(60):
                break
            await host.limits(payload, read)
            host.rc.split_on_all_rcb = rng.random() < 0.5
            for port in (host.dev.rq_sink, host.dev.rc_source, host.dev.cc_sink, host.dev.cq_source):
                port.clear_pause_generator()
                port.pause = False
                if rng.random() < 0.5:
                    port.set_pause_generator(pauses(rng))
            count = rng.randrange(1, 16)
            passed += await talk.batch(count, MTU - 16)
            done += count
            if rng.random() < 0.2:
                talk.pool = above if talk.pool is not above else host.rc.mem_pool
                await talk.move()
    for port in (host.dev.rq_sink, host.dev.rc_source, host.dev.cc_sink, host.dev.cq_source):
        port.clear_pause_generator()
        port.pause = False
    cocotb.log.info("%d messages, %d bytes, %d reads, %d writes", done, passed, host.reads, host.writes)
    assert await card.counter(ACCEPTED) == done
    for counter in (BAD_TLP, READ_FAILED, STRAY):
        assert await card.counter(counter) == 0, counter
    assert host.count("cq_dropped") == 0 and host.count("rc_errors") == 0
    clean(host)


@cocotb.test()
async def interrupts(dut):
    """Each arming gives one message of MSI-X, behind the completion that it is about; none while all are masked."""
    rng = generator("interrupts")
    host, card = await started(dut)
    talk = await Talk(card, rng, host.rc.mem_pool).start()
    heard = [0] * 8
    seen = []

    def handler(vector):
        async def hears():
            heard[vector] += 1
            seen.append(talk.b.look())
        return hears

    host.pci.request_irq(1, handler(1))
    for _ in range(4):
        before = heard[1]
        await talk.b.bell(0x18, talk.b.completed)
        talk.source[0:300] = data = rng.randbytes(300)
        name = rng.getrandbits(64)
        talk.b.post_receive(name, talk.target.get_absolute_address(5), talk.target_key, 512)
        await talk.b.bell(8, talk.b.received)
        await talk.ready()
        talk.a.post_send(name, talk.source.get_absolute_address(0), talk.source_key, 300, 1)
        await talk.a.bell(0, talk.a.sent)
        assert await talk.a.wait() == (name, OK, SEND, 0)
        await ClockCycles(dut.clk, 300)
        assert heard[1] == before + 1 and seen.pop() == (name, OK, RECEIVE, 300)
        assert bytes(talk.target[5:305]) == data
    # The function's mask, in its capability.
    capability = host.dev.functions[0].msix_cap
    capability.msix_function_mask = True
    await ClockCycles(dut.clk, 8)
    await talk.b.bell(0x18, talk.b.completed - 1)
    await ClockCycles(dut.clk, 300)
    assert heard[1] == 4 and await card.read(0x3000) == 2
    capability.msix_function_mask = False
    await ClockCycles(dut.clk, 300)
    assert heard[1] == 5 and await card.read(0x3000) == 0
    assert await card.counter(INTERRUPTS) == 5
    clean(host)


def request(host, kind, **fields):
    """A request of the root complex to BAR0, as its block hands it to the completer."""
    tlp = Tlp_us()
    tlp.fmt_type = kind
    tlp.requester_id = PcieId(0, 0, 0)
    tlp.completer_id = host.dev.functions[0].pcie_id
    tlp.address = host.pci.bar_addr[0] + fields.pop("offset", 0x40)
    tlp.length, tlp.first_be, tlp.last_be = 1, 0xF, 0
    for name, value in fields.items():
        setattr(tlp, name, value)
    return tlp


@cocotb.test()
async def requests_that_the_card_does_not_take(dut):
    """Unsupported Request for what wants an answer, with its tag, IDs, traffic class and attributes; a count for the rest.
    What the block discontinues, and a kind that does not exist, end in the shim."""
    rng = generator("requests")
    host, card = await started(dut)
    await card.write(0x40, 0x1234_5678)
    refused = 0
    kinds = [
        (TlpType.FETCH_ADD, 1, 1), (TlpType.SWAP, 1, 1), (TlpType.CAS, 2, 2), (TlpType.IO_READ, 1, 0),
        (TlpType.IO_WRITE, 1, 1), (TlpType.MEM_READ_LOCKED, 1, 0), (TlpType.MEM_READ, 3, 0), (TlpType.MEM_READ, 200, 0),
    ]
    for number, (kind, length, words) in enumerate(kinds):
        tlp = request(
            host, kind, length=length, last_be=0 if length == 1 else 0xF, data=rng.randbytes(4 * words), tag=100 + number,
            tc=TlpTc(rng.randrange(8)), attr=TlpAttr(rng.randrange(8)),
        )
        await host.dev.cq_source.send(tlp.pack_us_cq())
        answer = await host.rc.recv_cpl(tlp.tag, 20_000, "ns")
        refused += 1
        locked = kind == TlpType.MEM_READ_LOCKED
        assert answer and answer.status == CplStatus.UR and answer.length == 0, f"{kind}: {answer!r}"
        assert answer.fmt_type == (TlpType.CPL_LOCKED if locked else TlpType.CPL)
        assert (answer.tc, answer.attr, answer.requester_id) == (tlp.tc, tlp.attr, tlp.requester_id)
        assert answer.completer_id == host.dev.functions[0].pcie_id
        assert answer.byte_count == (4 * length if kind == TlpType.MEM_READ else 4)
    # Posted: a write of three words, a message with and without data.
    for frame in [
        request(host, TlpType.MEM_WRITE, length=3, last_be=0xF, data=bytes(12)).pack_us_cq(),
        message(0, []), message(1, [7]),
    ]:
        await host.dev.cq_source.send(frame)
        refused += 1
    await ClockCycles(dut.clk, 100)
    assert host.count("cq_dropped") == 0
    assert await card.counter(BAD_TLP) == refused
    # Discontinued, and of a kind that is reserved.
    for tlp in (request(host, TlpType.MEM_WRITE, data=bytes(4)), request(host, TlpType.MEM_READ, tag=120)):
        frame = tlp.pack_us_cq()
        frame.discontinue = True
        await host.dev.cq_source.send(frame)
    frame = request(host, TlpType.MEM_READ, tag=120).pack_us_cq()
    frame.data[2] |= 0xF << 11
    await host.dev.cq_source.send(frame)
    assert await host.rc.recv_cpl(120, 5_000, "ns") is None
    assert host.count("cq_dropped") == 3
    assert await card.counter(BAD_TLP) == refused
    assert await card.read(0x40) == 0x1234_5678
    clean(host)


def message(words, data):
    """A message to the function, with so many words of data."""
    frame = UsPcieFrame()
    frame.data = [0x1111_1111, 0x2222_2222, words | 0xC << 11, 0x7E << 8 | 2 << 16] + data
    frame.byte_en = [0] * 4 + [0xF] * words
    frame.update_parity()
    return frame


@cocotb.test()
async def completions_with_errors(dut):
    """Every error of the block's requester completion, and a host that refuses: the read fails, its work request ends in
    LOCAL_DMA, and messages go on."""
    rng = generator("errors")
    host, card = await started(dut)
    talk = await Talk(card, rng, host.rc.mem_pool).start()
    await talk.batch(3, 512)
    plan = []
    send = host.dev.rc_source.send

    async def sends(frame):
        change = plan.pop(0) if plan else None
        if change:
            change(frame)
            frame.update_parity()
        await send(frame)

    host.dev.rc_source.send = sends

    def code(number):
        def change(frame):
            if number >= 8:
                # Only the tag is valid.
                frame.data = [rng.getrandbits(32) & ~0xF000, rng.getrandbits(32), frame.data[2] & 0xFF]
                frame.byte_en = [0] * 3
            frame.data[0] = frame.data[0] & ~0xF000 | number << 12
            if number == 1:
                frame.data[1] |= 1 << 14
        return change

    def poisoned(frame):
        frame.data[1] |= 1 << 14

    def discontinued(frame):
        frame.discontinue = True

    changes = [(code(number), 1) for number in (1, 3, 4, 5, 6, 8, 9)]
    changes += [(poisoned, 0), (discontinued, 1), (None, 1)]
    nowhere = await card.region(None, 4096, False, 0x7777_0000_0000)
    failed, errors = 0, 0
    for change, counted in changes:
        at, key = talk.source.get_absolute_address(64), talk.source_key
        if change is None:
            at, key = 0x7777_0000_0000, nowhere
        plan[:] = [None, change]
        name = rng.getrandbits(64)
        talk.a.post_send(name, at, key, 64, 1)
        await talk.a.bell(0, talk.a.sent)
        assert await talk.a.wait() == (name, LOCAL_DMA, SEND, 0)
        assert not plan
        failed, errors = failed + 1, errors + counted
        await talk.a.bell(0x10, talk.a.completed)
        assert host.count("rc_errors") == errors
        await talk.batch(2, 512)
    assert await card.counter(READ_FAILED) == failed
    clean(host)


@cocotb.test()
async def function_level_resets_in_traffic(dut):
    """A reset of the function at any time of the traffic: the block is told when it has ended, nothing of before leaves
    then, and the card works anew. The model knows no such reset: the bench plays it."""
    rng = generator("resets")
    host, card = await started(dut)
    function = host.dev.functions[0]
    for round in range(2):
        talk = await Talk(card, rng, host.rc.mem_pool).start()
        await talk.batch(4, 2048)
        traffic = cocotb.start_soon(endless(talk))
        if rng.random() < 0.5:
            host.dev.rq_sink.set_pause_generator(pauses(rng))
        await ClockCycles(dut.clk, rng.randrange(1500, 4500))
        traffic.cancel()
        # What the driver was doing ends first: a register access that is cut would keep its tag.
        await ClockCycles(dut.clk, 40)
        function.bus_master_enable = False
        dut.cfg_flr_in_process.value = 1
        for _ in range(100):
            await ClockCycles(dut.clk, 100)
            if host.count("flrs_done") == round + 1:
                break
        assert host.count("flrs_done") == round + 1, "the block is not told"
        dut.cfg_flr_in_process.value = 0
        host.dev.rq_sink.clear_pause_generator()
        host.dev.rq_sink.pause = False
        await ClockCycles(dut.clk, 100)
        requests, memory = (host.reads, host.writes), bytes(talk.target[0:talk.SIZE])
        function.bus_master_enable = True
        assert await card.read(0x24) & 1 == 0, "busy behind a reset that is done"
        assert await card.read(0x10) == 0
        await ClockCycles(dut.clk, 400)
        assert requests == (host.reads, host.writes), "a request of before the reset"
        await card.set_up()
        fresh = await Talk(card, rng, host.rc.mem_pool).start()
        for _ in range(3):
            await fresh.batch(15, 1024)
        assert bytes(talk.target[0:talk.SIZE]) == memory
        for number in (0, 1):
            await card.command(3, number)
    assert host.count("rc_errors") == 0
    clean(host)


async def endless(talk):
    while True:
        for _ in range(6):
            length = talk.rng.randrange(4000)
            talk.b.post_receive(1, talk.target.get_absolute_address(0), talk.target_key, 4096)
            talk.a.post_send(2, talk.source.get_absolute_address(0), talk.source_key, length, 1)
        await talk.b.bell(8, talk.b.received)
        await talk.a.bell(0, talk.a.sent)
        for _ in range(6):
            await talk.a.wait()
        while talk.b.look():
            pass
        await talk.a.bell(0x10, talk.a.completed)
        await talk.b.bell(0x10, talk.b.completed)
