"""The card behind the shim of verilog-pcie, in the model of AMD's PCI Express block of cocotbext-pcie.

The host enumerates it, makes a queue pair and sends messages to the card's own node over a looped line.
"""

import logging
import os
import random

import cocotb
from cocotb.triggers import RisingEdge, Timer
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

MESSAGES = 4
# Registers, commands and states: rtl_out/registers/card.md, card_commands.md.
# Above 65,535, and not a power of two.
OWN_NODE = 0xA_0C01
ID, CONTROL, NODE, TIMEOUT_UNIT, COMMAND, STATUS, ARGUMENTS = 0x00, 0x10, 0x14, 0x1C, 0x20, 0x24, 0x40
CREATE_QP, MODIFY_QP, SET_REGION = 1, 2, 6
DOORBELL_SEND, DOORBELL_RECEIVE = 0x10000, 0x10008
# Places in a piece of host memory.
SEND, RECEIVE, COMPLETE, FROM, TO = 0, 0x1000, 0x2000, 0x4000, 0x8000
SIZE = 0x10000
ROOM = 2048


def words(value):
    return [value & 0xFFFFFFFF, value >> 32]


def entry(*quads):
    return b"".join(quad.to_bytes(8, "little") for quad in quads)


def block(dut):
    """The model, on the ports of the bench of the same names."""
    streams = {f"{name}_bus": AxiStreamBus.from_prefix(dut, name) for name in ["rq", "rc", "cq", "cc"]}
    names = "user_clk user_reset pcie_rq_seq_num0 pcie_rq_seq_num_vld0 cfg_mgmt_addr cfg_mgmt_function_number \
        cfg_mgmt_write cfg_mgmt_write_data cfg_mgmt_byte_enable cfg_mgmt_read cfg_mgmt_read_data \
        cfg_mgmt_read_write_done cfg_max_payload cfg_max_read_req cfg_fc_ph cfg_fc_pd cfg_fc_nph cfg_fc_npd \
        cfg_fc_cplh cfg_fc_cpld cfg_fc_sel cfg_interrupt_msix_enable cfg_interrupt_msix_mask \
        cfg_function_status cfg_flr_in_process cfg_flr_done"
    ports = {name: getattr(dut, name) for name in names.split()}
    return UltraScalePlusPcieDevice(
        pcie_generation=2,
        pcie_link_width=2,
        user_clk_frequency=125e6,
        alignment="dword",
        max_payload_size=512,
        enable_client_tag=True,
        pf0_msix_enable=True,
        pf0_msix_table_size=7,
        pf0_msix_table_offset=0x2000,
        pf0_msix_pba_offset=0x3000,
        **streams,
        **ports,
    )


@cocotb.test(timeout_time=60, timeout_unit="us")
async def messages_reach_host_memory_byte_for_byte(dut):
    # Enumeration warns of every device that is not there.
    logging.getLogger("cocotb.pcie").setLevel(logging.ERROR)
    for name in ["rq", "rc", "cq", "cc"]:
        logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(logging.WARNING)
    host = RootComplex()
    dev = block(dut)
    host.make_port().connect(dev)
    dev.functions[0].configure_bar(0, 0x20000)
    dut.cfg_bus_number.value = 0
    await RisingEdge(dut.user_reset)
    await Timer(1, "us")
    await host.enumerate()
    device = host.find_device(dev.functions[0].pcie_id)
    await device.enable_device()
    await device.set_master()
    # The model has no port for it.
    assert device.pcie_id.bus != 0
    dut.cfg_bus_number.value = device.pcie_id.bus
    bar = device.bar_window[0]

    async def idle():
        while (status := await bar.read_dword(STATUS)) & 1:
            pass
        return status >> 8 & 0xFF

    async def command(code, index, *arguments):
        for place, argument in enumerate(arguments):
            await bar.write_dword(ARGUMENTS + 4 * place, argument)
        await bar.write_dword(COMMAND, code | index << 8)
        assert await idle() == 0, f"command {code}"

    assert await bar.read_dword(ID) == 0x54524E43
    memory = host.mem_pool.alloc_region(SIZE)
    base = memory.get_absolute_address(0)
    rng = random.Random(int(os.environ.get("TRIBUTARY_SEED", "1")))
    # A reset changes bit 5 of the sequence numbers, so both kinds return.
    for _ in range(2):
        await bar.write_dword(CONTROL, 2)
        await idle()
        await bar.write_dword(NODE, OWN_NODE)
        await bar.write_dword(TIMEOUT_UNIT, 512)
        await bar.write_dword(CONTROL, 1)
        memory[0:SIZE] = bytes(SIZE)
        # Region 0, domain 5, local_write; queue pair 0 with rings of 16, 16 and 32.
        await command(SET_REGION, 0, 0x100, 5, *words(base), *words(SIZE))
        rings = [*words(base + SEND), *words(base + RECEIVE), *words(base + COMPLETE)]
        await command(CREATE_QP, 0, 4 << 4 | 4 << 8 | 5 << 12 | 12 << 16, 77, 5, 100, *rings)
        data = [rng.randbytes(rng.randint(1, 1500)) for _ in range(MESSAGES)]
        for i, message in enumerate(data):
            # Any byte, so that the first and the last word are partial.
            begin, end = FROM + ROOM * i + i % 4, TO + ROOM * i + (3 * i + 1) % 8
            memory[begin : begin + len(message)] = message
            receive = entry(1000 + i, base + end, 1500 << 32, 0)
            memory[RECEIVE + 32 * i : RECEIVE + 32 * (i + 1)] = receive
            send = entry(1 | len(message) << 32, i, base + begin, OWN_NODE << 40, 0, 0, 0, 0)
            memory[SEND + 64 * i : SEND + 64 * (i + 1)] = send
        await command(MODIFY_QP, 0, 2)
        await command(MODIFY_QP, 0, 3)
        await bar.write_dword(DOORBELL_RECEIVE, MESSAGES)
        await Timer(5, "us")
        await bar.write_dword(DOORBELL_SEND, MESSAGES)

        done = []
        while len(done) < 2 * MESSAGES:
            place = COMPLETE + 64 * len(done)
            completion = bytes(memory[place : place + 64])
            if not completion[56] & 1:
                await Timer(200, "ns")
                continue
            status, of = completion[8], completion[9]
            assert status == 0, completion.hex()
            done.append((of, int.from_bytes(completion[:8], "little")))
        assert sorted(done) == [(1, i) for i in range(MESSAGES)] + [(2, 1000 + i) for i in range(MESSAGES)]
        for i, message in enumerate(data):
            end = TO + ROOM * i + (3 * i + 1) % 8
            around = bytes(memory[end - 1 : end + len(message) + 1])
            assert around == b"\0" + message + b"\0", f"message {i}"
        print(f"{MESSAGES} messages, {sum(map(len, data))} bytes")
