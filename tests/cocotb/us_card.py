"""us_card, a card behind its shim, at the UltraScale+ block of cocotbext-pcie, which nobody here wrote.

TRIBUTARY_SEED is another seed; TRIBUTARY_FRAMES goes on until so many messages were compared.
"""

import os

import cocotb
from cocotb.triggers import ClockCycles
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpAttr, TlpTc, TlpType

from us_host import (
    BAD_TLP, BAR_SIZE, INTERRUPTS, LOCAL_DMA, OK, READ_FAILED, RECEIVE, SEND, STRAY, Card, Host, Talk, generator, pauses,
    started,
)

MTU = 4096


def messages(default):
    return int(os.environ.get("TRIBUTARY_FRAMES", default))


def clean(host):
    assert host.broken == [], host.broken[:3]


@cocotb.test()
async def enumeration_and_registers(dut):
    """The function is found, its BAR has the size of the card, and registers are read and written."""
    for wide in (False, True):
        host = Host(dut, wide=wide)
        await host.start()
        assert host.pci.bar_size[0] == BAR_SIZE
        card = Card(host)
        assert await card.read(0) == 0x54524E43
        assert await card.read(0xC) == 4 | 5 << 8 | 6 << 16 | 3 << 24
        await card.reset()
        await card.write(0x14, 0xBEEF)
        assert await card.read(0x14) == 0xBEEF
        # Two words at once, and a part of one.
        assert await host.bar.read(0x10, 8) == (0x0000_BEEF_0000_0000).to_bytes(8, "little")
        assert await host.bar.read(0x15, 2) == b"\xbe\x00"
        await host.bar.write(0x40, bytes(range(8)))
        assert await host.bar.read(0x40, 8) == bytes(range(8))
        assert await card.counter(BAD_TLP) == 0
        clean(host)
        return
