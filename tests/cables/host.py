#!/usr/bin/env python3
"""A host's end of the link "TLPs in Ethernet frames", written from docs/boards.md and the generated register pages alone.

`python3 host.py CABLE --header tributary_card.h [--loss P] [--double P] [--seed N]` connects to a simulated board's cable
(`tributary board`), loses and doubles frames of both directions at its own end, and goes through seven steps with the
card. One line for each step; exit 0, or 1 with what was expected and what came.
"""

import argparse
import os
import random
import re
import select
import socket
import struct
import sys
import time

STEP_SECONDS = 60
# From here: docs/boards.md, "TLPs in frames" and "Units".
BOARD_ADDRESS = bytes.fromhex("025452494201")
HOST_ADDRESS = bytes.fromhex("020000000002")
ETHERTYPE, VERSION = 0x88B5, 1
NOTHING, TLP, SETTINGS = 0, 1, 2
AGAIN, BUSY, LENGTH_MASK = 0x8000, 0x4000, 0x0FFF
# Addresses, EtherType, version, kind; number, acknowledgement, limit, flags and length; lives of sender and receiver.
HEADER = struct.Struct(">6s6sHBBHHHHII")
SHORTEST_FRAME, LONGEST_UNIT = 60, 1121
# Words that the board may send beyond those that were taken here: fewer than two of its largest units have.
ROOM = 64
REQUESTER, MAX_PAYLOAD, MAX_READ, COMPLETION_BOUNDARY = 0x0100, 256, 512, 64
# First byte of a TLP's header, without its upper DWs: format and type.
READ3, READ4, WRITE3, WRITE4, COMPLETION, COMPLETION_DATA = 0x00, 0x20, 0x40, 0x60, 0x0A, 0x4A
SUCCESSFUL, UNSUPPORTED = 0, 1


class Failure(Exception):
    """Something that came is not what was expected, or nothing came in time."""


def expect(what, expected, came):
    """Fails unless both are equal."""
    if expected != came:
        show = lambda value: f"{value:#x}" if type(value) is int else str(value)
        raise Failure(f"{what}: expected {show(expected)}, came {show(came)}")


def ahead(a, b):
    """How far `a` is ahead of `b`, modulo 2^16; negative behind it."""
    return (a - b + 0x8000) % 0x10000 - 0x8000


class Cable:
    """Frames without FCS on a Unix stream socket, each behind its length in 4 bytes; some are lost, some come twice."""

    def __init__(self, path, loss, double, rng):
        self.loss, self.double, self.rng = loss, double, rng
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # A board that takes nothing must not stop this program.
        self.socket.settimeout(STEP_SECONDS)
        self.socket.connect(path)
        self.came = b""

    def copies(self):
        return 0 if self.rng.random() < self.loss else 2 if self.rng.random() < self.double else 1

    def send(self, frame):
        frame = frame.ljust(SHORTEST_FRAME, b"\0")
        self.socket.sendall((len(frame).to_bytes(4, "big") + frame) * self.copies())

    def receive(self, seconds):
        """The frames that are there, after at most so many seconds."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return []
        more = self.socket.recv(1 << 16)
        if not more:
            raise Failure("the board has closed its cable")
        self.came += more
        frames = []
        while len(self.came) >= 4:
            end = 4 + int.from_bytes(self.came[:4], "big")
            if len(self.came) < end:
                break
            frames += [self.came[4:end]] * self.copies()
            self.came = self.came[end:]
        return frames


class Frame:
    """The header of a frame and its unit."""

    def __init__(self, data):
        (ethertype, version, self.kind, self.number, self.acknowledgement, self.limit, flags_length, self.sender,
         self.receiver) = HEADER.unpack(data[:HEADER.size].ljust(HEADER.size, b"\0"))[2:]
        self.flags, self.words = flags_length & ~LENGTH_MASK, flags_length & LENGTH_MASK
        # Behind the unit may be the zeros that a MAC adds.
        self.unit = data[HEADER.size:HEADER.size + 8 * self.words]
        self.good = (ethertype == ETHERTYPE and version == VERSION and self.sender != 0
                     and len(self.unit) == 8 * self.words and self.words <= LONGEST_UNIT
                     and (self.kind == NOTHING) == (self.words == 0))


class Link:
    """One end of the link: units in order, once each, within a session, which is a pair of lives."""

    def __init__(self, cable, timeout, life):
        self.cable, self.timeout, self.life = cable, timeout, life
        self.reset()

    def reset(self):
        # 0 stands for no life: no session yet.
        self.peer = 0
        self.next_number, self.waiting, self.unacknowledged = 0, [], []
        self.words_sent, self.limit = 0, 0
        self.expected, self.words_taken, self.told_limit, self.asked = 0, 0, ROOM, False
        self.timer = 0.0

    def emit(self, kind=NOTHING, number=None, unit=b"", flags=0, receiver=None):
        number = self.next_number if number is None else number
        self.told_limit = (self.words_taken + ROOM) % 0x10000
        self.cable.send(HEADER.pack(BOARD_ADDRESS, HOST_ADDRESS, ETHERTYPE, VERSION, kind, number, self.expected,
                                    self.told_limit, flags | len(unit) // 8, self.life,
                                    self.peer if receiver is None else receiver) + unit)

    def send(self, kind, unit):
        """Takes a unit that is to be sent."""
        self.waiting.append((kind, unit))
        self.send_waiting()

    def send_waiting(self):
        """Sends what the other end has room for."""
        while self.peer and self.waiting:
            kind, unit = self.waiting[0]
            words = len(unit) // 8
            if ahead(self.limit, self.words_sent + words) < 0:
                break
            self.waiting.pop(0)
            if not self.unacknowledged:
                self.timer = time.monotonic() + self.timeout
            self.unacknowledged.append((self.next_number, kind, unit))
            self.emit(kind, self.next_number, unit)
            self.next_number = (self.next_number + 1) % 0x10000
            self.words_sent = (self.words_sent + words) % 0x10000

    def send_again(self):
        """All that is not acknowledged, or a frame without a unit: so limits, lost or not, and lives are told."""
        for number, kind, unit in self.unacknowledged:
            self.emit(kind, number, unit)
        if not self.unacknowledged:
            self.emit()
        self.timer = time.monotonic() + self.timeout

    def poll(self, seconds):
        """Lets frames pass for at most so many seconds; the units that came, each with its kind."""
        units = []
        for data in self.cable.receive(max(0.0, min(seconds, self.timer - time.monotonic()))):
            frame = Frame(data)
            if frame.good:
                units += self.take(frame)
        self.send_waiting()
        if time.monotonic() >= self.timer:
            self.send_again()
        return units

    def take(self, frame):
        """What a frame of this session brings, and what one of another session leads to."""
        if frame.receiver != self.life:
            # It does not know this life, or is late: an answer tells.
            self.emit(flags=BUSY if self.peer not in (0, frame.sender) else 0, receiver=frame.sender)
            return []
        if self.peer and frame.sender != self.peer:
            self.life = self.life % 0xFFFFFFFF + 1
            self.reset()
            raise Failure("the session is lost: the board has begun a new life")
        if frame.flags & BUSY:
            # In a session with a life before this one: hearing its own life from this one ends that.
            if not self.peer:
                self.emit(receiver=frame.sender)
            return []
        if not self.peer:
            self.peer, self.limit = frame.sender, frame.limit
            # The other end has a session when it hears its own life.
            self.emit()
        if 0 < ahead(frame.acknowledgement, self.next_number - len(self.unacknowledged)) <= len(self.unacknowledged):
            while self.unacknowledged and ahead(frame.acknowledgement, self.unacknowledged[0][0]) > 0:
                self.unacknowledged.pop(0)
            self.timer = time.monotonic() + self.timeout
        if ahead(frame.limit, self.limit) > 0:
            self.limit = frame.limit
        if frame.flags & AGAIN and self.unacknowledged:
            self.send_again()
        return self.take_unit(frame) if frame.words else []

    def take_unit(self, frame):
        units, flags = [], 0
        if frame.number == self.expected:
            self.expected = (self.expected + 1) % 0x10000
            # Units are taken at once, so all of the room is there again.
            self.words_taken = (self.words_taken + frame.words) % 0x10000
            if ahead(self.words_taken, self.told_limit) > 0:
                raise Failure(f"expected no unit beyond {self.told_limit} words in all, came one of {frame.words} words")
            self.asked = False
            units.append((frame.kind, frame.unit))
        elif ahead(frame.number, self.expected) > 0 and not self.asked:
            # One before it was lost: asked for once, then its sender's timer has to do.
            self.asked, flags = True, AGAIN
        # Acknowledged at once, also what came before: then it was the acknowledgement that was lost.
        self.emit(flags=flags)
        return units


class Memory:
    """A piece of host memory, and which of its bytes the card has read and written."""

    def __init__(self, base, data):
        self.base, self.data, self.end = base, bytearray(data), base + len(data)
        self.read, self.written = set(), set()


class Host:
    """A root complex: registers of the card by TLPs, host memory for the card's own ones."""

    def __init__(self, link, rng):
        self.link, self.rng, self.memories, self.reads, self.tag = link, rng, [], {}, 0
        self.deadline = 0.0

    def wait(self, what, until):
        """Serves the link until that is so, or the step's time is over."""
        while not until():
            if time.monotonic() >= self.deadline:
                raise Failure(f"expected {what} within {STEP_SECONDS} s of the step, came none")
            for kind, unit in self.link.poll(0.1):
                self.unit(kind, unit)

    def send_tlp(self, dwords, data=b""):
        """Packs a TLP: a header of three or four words, and its data up to whole words of 64 bits."""
        header = struct.pack(f">{len(dwords)}I", *dwords).ljust(16, b"\0")
        self.link.send(TLP, header + data + bytes(-len(data) % 8))

    def unit(self, kind, unit):
        """What the board sends: completions, and its own reads and writes. It is under test, so all else is a failure."""
        dwords = struct.unpack(">4I", unit[:16].ljust(16, b"\0"))
        what, count = dwords[0] >> 24, dwords[0] & 0x3FF or 1024
        data = 4 * count if what & 0x40 else 0
        # Bits 15 and 14 of DW0 are TD and EP; DW3 is 0 behind a header of three words.
        if (kind != TLP or what not in (READ3, READ4, WRITE3, WRITE4, COMPLETION, COMPLETION_DATA) or data > MAX_PAYLOAD
                or len(unit) != 16 + (data + 7) // 8 * 8 or dwords[0] & 0xC000 or not what & 0x20 and dwords[3]):
            raise Failure(f"expected a TLP as a board may send it, came kind {kind}, {len(unit)} bytes, {unit[:16].hex()}")
        if what in (COMPLETION, COMPLETION_DATA):
            self.completion(dwords, unit[16:16 + data])
        else:
            self.access(what, dwords, count, unit[16:16 + data])

    def completion(self, dwords, body):
        """An answer to a read of here, known by its tag."""
        tag = dwords[2] >> 8 & 0xFF
        if self.reads.get(tag, b"") is not None or dwords[2] >> 16 or dwords[1] >> 16 != REQUESTER:
            raise Failure(f"expected completions of reads that are under way, came one of {dwords[1] >> 16:#06x} for "
                          f"{dwords[2] >> 16:#06x}, tag {tag}")
        self.reads[tag] = (dwords[1] >> 13 & 7, dwords[1] & 0xFFF, dwords[2] & 0x7F, body)

    def access(self, what, dwords, count, body):
        """The card's access of host memory: byte enables, limits and boundaries are as PCI Express has them."""
        address = dwords[2] << 32 | dwords[3] if what & 0x20 else dwords[2]
        first, last = dwords[1] & 15, dwords[1] >> 4 & 15
        enables = [first] if count == 1 else [first] + [15] * (count - 2) + [last]
        enabled = [4 * word + byte for word in range(count) for byte in range(4) if enables[word] >> byte & 1]
        memory = next((m for m in self.memories if m.base <= address and address + 4 * count <= m.end), None)
        if (memory is None or dwords[1] >> 16 != REQUESTER or (count == 1) != (last == 0) or address & 3
                or address % 4096 + 4 * count > 4096 or what & 0x20 and not dwords[2] or 4 * count > MAX_READ):
            raise Failure(f"expected accesses of memory that the card was given, in the limits of PCI Express and of the "
                          f"settings, came {address:#x}, {count} words, {what:#04x}, DW1 {dwords[1]:#010x}")
        at = address - memory.base
        if what & 0x40:
            for byte in enabled:
                memory.data[at + byte] = body[byte]
                memory.written.add(at + byte)
            return
        memory.read.update(at + byte for byte in enabled)
        # A read without bytes enabled is answered as one of one byte.
        begin, end = (address + enabled[0], address + enabled[-1] + 1) if enabled else (address, address + 1)
        while begin < end:
            # Completions end at boundaries; how many of these one takes is the completer's choice.
            most = self.rng.choice((COMPLETION_BOUNDARY, 2 * COMPLETION_BOUNDARY, MAX_PAYLOAD))
            stop = min(end, begin // COMPLETION_BOUNDARY * COMPLETION_BOUNDARY + most)
            low, high = begin & ~3, (stop + 3) & ~3
            self.send_tlp([COMPLETION_DATA << 24 | dwords[0] & 0x703000 | (high - low) // 4, (end - begin) & 0xFFF,
                           (dwords[1] & 0xFFFFFF00) | begin & 0x7F],
                          bytes(memory.data[low - memory.base:high - memory.base]))
            begin = stop

    def settings(self):
        """Bus mastering and MSI-X on, largest payload and read request; codes are log2 of the bytes less 7."""
        codes = (MAX_PAYLOAD.bit_length() - 8) << 4 | MAX_READ.bit_length() - 8
        self.link.send(SETTINGS, REQUESTER.to_bytes(2, "big") + bytes([0xC0, codes]) + bytes(4))

    def read_tlp(self, offset, words=1, first=15):
        """Reads BAR0 with one TLP: status of the completion, and its words."""
        tag = self.tag = (self.tag + 1) % 256
        self.reads[tag] = None
        self.send_tlp([READ3 << 24 | words, tag << 8 | (0xF0 if words > 1 else 0) | first, offset])
        self.wait(f"a completion of a read at {offset:#x}", lambda: self.reads[tag] is not None)
        status, count, lower, body = self.reads.pop(tag)
        if status == SUCCESSFUL:
            expect(f"data of a read at {offset:#x}", 4 * words, len(body))
            skip = (first & -first).bit_length() - 1 if first else 0
            bytes_read = 4 * words if words > 1 else first.bit_length() - skip if first else 1
            expect(f"byte count of a read at {offset:#x}", bytes_read, count)
            expect(f"lower address of a read at {offset:#x}", offset + skip & 0x7F, lower)
        else:
            expect(f"data of a refused read at {offset:#x}", 0, len(body))
        return status, list(struct.unpack(f"<{len(body) // 4}I", body))

    def read(self, offset):
        """A word of BAR0."""
        status, words = self.read_tlp(offset)
        expect(f"status of a read at {offset:#x}", SUCCESSFUL, status)
        return words[0]

    def write(self, offset, *values, first=15):
        """Writes words of BAR0 with one TLP."""
        self.send_tlp([WRITE3 << 24 | len(values), (0xF0 if len(values) > 1 else 0) | first, offset],
                      struct.pack(f"<{len(values)}I", *values))


class Header:
    """The numbers of tributary_card.h, and which registers are in which part of it."""

    def __init__(self, path):
        self.numbers, self.registers, part = {}, [], ""
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                title = re.match(r"/\* ---- (.*?)(?:: .*)? ---- \*/", line)
                number = re.match(r"#define (TRIB_\w+) +(0x[0-9a-f]+|\d+)u?l?l?$", line)
                part = title[1] if title else part
                if number:
                    self.numbers[number[1]] = int(number[2], 0)
                    if number[1].endswith("_AFTER_RESET"):
                        self.registers.append((part, number[1].removesuffix("_AFTER_RESET")))

    def __getitem__(self, name):
        if "TRIB_" + name not in self.numbers:
            raise Failure(f"expected TRIB_{name} in the header, came none")
        return self.numbers["TRIB_" + name]

    def place(self, entry, fields):
        """Little-endian 64-bit words of a ring's entry with these fields."""
        words = [0] * (self[entry + "_BYTES"] // 8)
        for field, value in fields.items():
            words[self[f"{entry}_{field}_WORD"]] |= value << self[f"{entry}_{field}_SHIFT"]
        return struct.pack(f"<{len(words)}Q", *words)


class Steps:
    """What is done with the card, step by step; each returns the line that it prints."""

    def __init__(self, host, header):
        self.host, self.header = host, header

    def register(self, name):
        return self.host.read(self.header["CARD_" + name])

    def idle(self):
        """Waits until no command and no reset is under way; the code of the latest command."""
        status = busy = self.header["CARD_STATUS_BUSY_MASK"]
        while status & busy:
            if time.monotonic() >= self.host.deadline:
                raise Failure(f"expected status.busy 0 within {STEP_SECONDS} s of the step, came 1")
            status = self.register("STATUS")
        return status >> self.header["CARD_STATUS_CODE_SHIFT"]

    def command(self, name, index, **values):
        """A command that has to end well; its first result."""
        arguments = [0] * self.header[name + "_ARGS"]
        for field, value in values.items():
            value <<= self.header[f"{name}_{field}_SHIFT"]
            at = self.header[f"{name}_{field}_ARG"]
            arguments[at] |= value & 0xFFFFFFFF
            if value >> 32:
                arguments[at + 1] |= value >> 32
        self.idle()
        for at, value in enumerate(arguments):
            self.host.write(self.header["CARD_ARG0"] + 4 * at, value)
        self.host.write(self.header["CARD_COMMAND"],
                        self.header["COMMAND_" + name] | index << self.header["CARD_COMMAND_INDEX_SHIFT"])
        expect(f"code of {name}", self.header["STATUS_OK"], self.idle())
        return self.register("RESULT0")

    def counter(self, name, expected):
        """A counter gets to that value; it lags behind by some clocks."""
        def read():
            self.host.write(self.header["CARD_STATISTICS_SELECT"], self.header["COUNTER_" + name])
            return self.register("STATISTICS_LOW")
        if read() != expected:
            expect(f"counter {name}", expected, read())

    def session(self):
        self.host.wait("a session", lambda: self.host.link.peer)
        self.host.settings()
        self.host.wait("an acknowledgement of the settings", lambda: not self.host.link.unacknowledged)
        expect("status.code after reset", 0, self.idle())
        return "session: begun, settings acknowledged"

    def after_reset(self):
        sizes = {"QPS": 4, "REGIONS": 5, "IN_FLIGHT": 6, "VECTORS": 3}
        expect("SIZES", sum(value << self.header[f"CARD_SIZES_{name}_SHIFT"] for name, value in sizes.items()),
               self.register("SIZES"))
        expect("VERSION", self.header["CARD_MAP_VERSION"], self.register("VERSION"))
        features = {"TRIB_CARD_BULK_": "BULK", "TRIB_CARD_CONGESTION": "CONGESTION", "TRIB_CARD_RING": "RINGS"}
        missing = tuple(prefix for prefix, name in features.items()
                        if not self.header["CARD_FEATURES_AFTER_RESET"] & self.header[f"CARD_FEATURES_{name}_MASK"])
        bases = {"Doorbells": self.header["CARD_DOORBELLS"], "Entry of the MSI-X table": self.header["CARD_MSIX_TABLE"],
                 "MSI-X pending bits": self.header["CARD_MSIX_PENDING"]}
        for part, name in self.header.registers:
            # Registers of a feature that the card does not have are not there, and read as 0.
            absent = name.startswith(missing)
            expect(f"{name} after reset", 0 if absent else self.header.numbers[name + "_AFTER_RESET"],
                   self.host.read(bases.get(part, 0) + self.header.numbers[name]))
        return f"registers: {len(self.header.registers)} as after reset"

    def mtu(self):
        values = (256, 1024, 1500, 2047, 4096, 512)
        for value in values:
            self.host.write(self.header["CARD_MTU"], value)
            expect("MTU", value, self.register("MTU"))
        self.host.write(self.header["CARD_NODE"], 0x1234, 2048)
        expect("NODE and MTU, written with one TLP as the two words that follow each other", (0x1234, 2048),
               (self.register("NODE"), self.register("MTU")))
        return f"mtu: {len(values) + 1} values written and read back"

    def two_words(self):
        pairs = [("ID", "VERSION"), ("VERSION", "FEATURES"), ("NODE", "MTU"), ("MTU", "TIMEOUT_UNIT")]
        for low, high in pairs:
            expect(f"{high} behind {low}", self.header["CARD_" + low] + 4, self.header["CARD_" + high])
            expect(f"{low} and {high} with one TLP", (SUCCESSFUL, [self.register(low), self.register(high)]),
                   self.host.read_tlp(self.header["CARD_" + low], 2))
        return f"two words: {len(pairs)} reads as single ones"

    def refused(self):
        mtu, value = self.header["CARD_MTU"], self.register("MTU")
        self.counter("BAD_TLP", 0)
        self.counter("BAD_WRITE", 0)
        expect("a read of three words", (UNSUPPORTED, []), self.host.read_tlp(0, 3))
        expect("a read of two words across 4,096", (UNSUPPORTED, []), self.host.read_tlp(4096 - 4, 2))
        self.host.write(mtu - 4, 1, 512, 1)
        self.counter("BAD_TLP", 3)
        expect("a read of a part of a word", (SUCCESSFUL, [value]), self.host.read_tlp(mtu, 1, first=2))
        expect("a read of a word without any byte", (SUCCESSFUL, [0]), self.host.read_tlp(mtu, 1, first=0))
        self.host.write(mtu, 512, first=3)
        self.host.write(mtu, 0x10000 | 512)
        self.host.write(self.header["CARD_ID"], 1)
        self.host.write(mtu, 512, first=0)
        self.counter("BAD_WRITE", 3)
        expect("MTU after writes without effect", value, self.register("MTU"))
        return "refused: 3 TLPs unsupported, 3 writes without effect, parts of a word read"

    def timeout(self):
        header, host = self.header, self.host
        # Addresses below and above 4 GiB: headers of three words and of four. The payload begins and ends inside words.
        ring, payload = Memory(0x40000, bytes(256)), Memory(0x1_2345_6000, host.rng.randbytes(1024))
        complete, doorbell = Memory(0x2_0000_0040, bytes(256)), Memory(0xFEE00000, bytes(4))
        host.memories = [ring, payload, complete, doorbell]
        begin, length, qpn, node, key = 0x103, 701, 3, 0x4321, 5 << header["KEY_INDEX_SHIFT"] | 0x77
        msix = header["CARD_MSIX_TABLE"] + header["CARD_MSIX_ENTRY_BYTES"]
        host.write(msix, doorbell.base, 0)
        host.write(msix + header["CARD_MSIX_DATA"], 0xCAFE, 0)
        host.write(header["CARD_CONTROL"], header["CARD_CONTROL_ENABLE_MASK"])
        self.command("SET_REGION", 5, VARIANT=0x77, DOMAIN=9, BASE=payload.base + begin, LENGTH=length)
        self.epoch = self.command("CREATE_QP", qpn, SEND_LOG=2, RECEIVE_LOG=0, COMPLETE_LOG=2, TIMEOUT=3, VECTOR=1, Q_KEY=7,
                                  DOMAIN=9, FIRST_PSN=0x123456, SEND_BASE=ring.base, RECEIVE_BASE=0x80000,
                                  COMPLETE_BASE=complete.base)
        for state in ("READY_TO_RECEIVE", "READY_TO_SEND"):
            self.command("MODIFY_QP", qpn, STATE=header["STATE_" + state])
        ring.data[:64] = header.place("WORK", {
            "OPCODE": header["OPCODE_SEND"], "HEAD_LEN": 5, "LENGTH": length, "WR_ID": 0x1122334455667788, "NODE": node,
            "ADDRESS": payload.base + begin, "LKEY": key, "QPN": 2, "HEAD_LOW": 0x5544332211})
        bell = header["CARD_DOORBELLS"] + header["CARD_PAGE"] * qpn
        host.write(bell + header["CARD_DOORBELL_ARM"], 0)
        host.write(bell + header["CARD_DOORBELL_SEND"], 1)
        host.wait("a completion in the ring", lambda: complete.data[header["COMPLETION_PHASE_WORD"] * 8] & 1)
        came = bytes(complete.data[:64])
        expect("bytes of the completion ring that were written", set(range(64)), complete.written)
        expected = header.place("COMPLETION", {
            "WR_ID": 0x1122334455667788, "STATUS": header["OUTCOME_TIMEOUT"], "OF": header["OF_SEND"], "NODE": node, "QPN": 2,
            "PSN": 0x123456, "PHASE": 1})
        expect("completion", expected.hex(), came.hex())
        host.wait("a read of the whole payload", lambda: len(payload.read) >= length)
        expect("bytes of the payload that were read", set(range(begin, begin + length)), payload.read)
        expect("bytes of the send ring that were read", set(range(64)), ring.read)
        host.wait("an interrupt", lambda: doorbell.written)
        expect("data of the interrupt", 0xCAFE, int.from_bytes(doorbell.data, "little"))
        host.write(bell + header["CARD_DOORBELL_COMPLETE"], 1)
        for name, count in (("TIMEOUTS", 1), ("INTERRUPTS", 1), ("READ_FAILED", 0), ("BAD_DOORBELL", 0)):
            self.counter(name, count)
        return "timeout: ring and payload read, completion and interrupt written"

    def new_life(self):
        old = self.host.link
        self.host.memories, self.host.reads = [], {}
        self.host.link = Link(old.cable, old.timeout, old.life % 0xFFFFFFFF + 1)
        before = old.peer
        self.session()
        if self.host.link.peer == before:
            raise Failure("expected a new life of the board, came that of before")
        line = self.after_reset()
        # Only the newest epoch of a queue pair's number outlives a reset.
        expect("state of the queue pair", self.header["STATE_RESET"], self.command("QUERY_QP", 3))
        expect("newest epoch of the queue pair", self.epoch, self.register("RESULT1"))
        return "new life: session begun, " + line


def main():
    parser = argparse.ArgumentParser(description="A host's end of a simulated board's cable.")
    parser.add_argument("cable", metavar="CABLE", help="Unix socket that `tributary board` prints")
    parser.add_argument("--header", default=os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                         "../../rtl_out/registers/tributary_card.h"))
    parser.add_argument("--loss", type=float, default=0, help="share of frames that is lost")
    parser.add_argument("--double", type=float, default=0, help="share of frames that comes twice")
    parser.add_argument("--seed", type=int, default=1, help="of what is lost and doubled")
    parser.add_argument("--timeout", type=float, default=0.1, help="seconds until something is sent again")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    rng, step = random.Random(options.seed), "start"
    try:
        header = Header(options.header)
        cable = Cable(options.cable, options.loss, options.double, rng)
        # Not from the seed: no life of a run before may have this number.
        host = Host(Link(cable, options.timeout, random.SystemRandom().randrange(1, 1 << 32)), rng)
        steps = Steps(host, header)
        for step in ("session", "after_reset", "mtu", "two_words", "refused", "timeout", "new_life"):
            host.deadline = time.monotonic() + STEP_SECONDS
            print(getattr(steps, step)(), flush=True)
    except (Failure, OSError) as error:
        print(f"{step}: {error}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
