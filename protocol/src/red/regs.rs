//! Registers of the switch, declared once for the model, the RTL, the driver and the documents.
//!
//! 32-bit registers on AXI4-Lite, byte offsets. Bits outside the fields read as 0. A read or write of an offset that is not here, a
//! write to a read-only register, a write with a one outside the fields, and a commit beyond a table are answered SLVERR, without
//! effect: a number that is too large is not taken for the one that its lower bits are.
//!
//! A table entry is written in full to the staging registers and takes effect with the write of its index to the commit
//! register, at once: a frame sees the old entry or the new one.

pub use crate::registers::{Access, Field, Register};

registers! {
    GLOBAL, "Registers of the whole switch, by ascending offset.";
    ID @ 0x000 ReadOnly reset 0x5452_5357 "id" "`TRSW` in ASCII." {
        ID_VALUE "id" [0 +: 32] "0x54525357.",
    }
    VERSION @ 0x004 ReadOnly reset 0x0002_0002 "version" "Version of this register map; a driver needs the same major number." {
        VERSION_MINOR "minor" [0 +: 16] "Raised by additions: 1 `ecn_threshold`, 2 operations on elements of 32 bits (CL-7).",
        VERSION_MAJOR "major" [16 +: 16] "Raised by changes.",
    }
    SIZES @ 0x008 ReadOnly reset 0 "sizes" "How large this switch was built." {
        SIZES_PORTS "ports" [0 +: 8] "Number of ports, at most 64.",
        SIZES_DESCRIPTORS "descriptors" [8 +: 8] "Descriptors of each engine; 255 stands for 255 or more.",
        SIZES_UNICAST "unicast_bits" [16 +: 5] "log2 of the unicast table's entries.",
        SIZES_MULTICAST "multicast_bits" [24 +: 5] "log2 of the multicast table's entries, at most 13.",
    }
    MODE @ 0x010 ReadWrite reset 0 "mode" "Modes of the operations." {
        MODE_IEEE_NAN "ieee_nan" [0 +: 1] "MINNUM and MAXNUM with a signalling NaN give a NaN (RED-4).",
    }
    ETHERTYPE @ 0x014 ReadWrite reset 0x88b5 "ethertype" "Which frames are reductions." {
        ETHERTYPE_VALUE "ethertype" [0 +: 16] "Ethertype of reduction frames.",
    }
    ECN_THRESHOLD @ 0x018 ReadWrite reset 0 "ecn_threshold" "When frames are marked for congestion (CL-4)." {
        ECN_THRESHOLD_WORDS "words" [0 +: 10] "Length of the queue between an input and an output, in words, above which frames that leave it are marked; 0: none are.",
    }
    THRESHOLD0 @ 0x020 ReadWrite reset 8 "threshold0" "Wait count from which on the next timeout counts (RED-12)." {
        THRESHOLD0_WAIT "wait" [0 +: 20] "Wait count.",
    }
    THRESHOLD1 @ 0x024 ReadWrite reset 64 "threshold1" "As threshold0." {
        THRESHOLD1_WAIT "wait" [0 +: 20] "Wait count.",
    }
    THRESHOLD2 @ 0x028 ReadWrite reset 512 "threshold2" "As threshold0." {
        THRESHOLD2_WAIT "wait" [0 +: 20] "Wait count.",
    }
    TIMEOUT0 @ 0x030 ReadWrite reset 25 "timeout0" "Timeout of wait counts below every threshold (RED-12)." {
        TIMEOUT0_UNITS "units" [0 +: 24] "In units of 1,024 clocks.",
    }
    TIMEOUT1 @ 0x034 ReadWrite reset 50 "timeout1" "Timeout of wait counts that reach one threshold." {
        TIMEOUT1_UNITS "units" [0 +: 24] "In units of 1,024 clocks.",
    }
    TIMEOUT2 @ 0x038 ReadWrite reset 75 "timeout2" "Timeout of wait counts that reach two thresholds." {
        TIMEOUT2_UNITS "units" [0 +: 24] "In units of 1,024 clocks.",
    }
    TIMEOUT3 @ 0x03c ReadWrite reset 100 "timeout3" "Timeout of wait counts that reach all three." {
        TIMEOUT3_UNITS "units" [0 +: 24] "In units of 1,024 clocks.",
    }
    UNICAST_ENTRY @ 0x040 ReadWrite reset 0 "unicast_entry" "Staged entry of the unicast table." {
        UNICAST_PORT "port" [0 +: 6] "Output port.",
        UNICAST_VALID "valid" [8 +: 1] "The entry counts.",
    }
    UNICAST_COMMIT @ 0x044 WriteOnly reset 0 "unicast_commit" "A write puts the staged entry into the table." {
        UNICAST_INDEX "index" [0 +: 20] "Node, as far as the table reaches.",
    }
    MULTICAST_CHILDREN_LOW @ 0x050 ReadWrite reset 0 "multicast_children_low" "Staged entry of the multicast table: child ports 0 to 31." {
        CHILDREN_LOW "mask" [0 +: 32] "Bit p: port p is a child. The parent port among them: the root contributes by its own port, and `wait` counts it (CL-6).",
    }
    MULTICAST_CHILDREN_HIGH @ 0x054 ReadWrite reset 0 "multicast_children_high" "Child ports 32 to 63." {
        CHILDREN_HIGH "mask" [0 +: 32] "Bit p - 32: port p is a child.",
    }
    MULTICAST_ENTRY @ 0x058 ReadWrite reset 0 "multicast_entry" "The rest of the staged entry." {
        MULTICAST_WAIT "wait" [0 +: 20] "Endpoints below this switch; 0: plain multicast (RED-17).",
        MULTICAST_PARENT "parent" [20 +: 6] "Port towards the root.",
        MULTICAST_VALID "valid" [31 +: 1] "The entry counts.",
    }
    MULTICAST_COMMIT @ 0x05c WriteOnly reset 0 "multicast_commit" "A write puts the staged entry into the table." {
        MULTICAST_INDEX "index" [0 +: 13] "Tree.",
    }
    STATISTICS_SELECT @ 0x070 ReadWrite reset 0 "statistics_select" "A write takes a copy of one counter for reading." {
        STATISTICS_COUNTER "counter" [0 +: 8] "Index of the counter.",
        STATISTICS_PORT "port" [8 +: 6] "Port.",
    }
    STATISTICS_LOW @ 0x074 ReadOnly reset 0 "statistics_low" "The copy, lower half; 0 for a counter or port that is not there." {
        STATISTICS_LOW_VALUE "value" [0 +: 32] "Bits 31:0.",
    }
    STATISTICS_HIGH @ 0x078 ReadOnly reset 0 "statistics_high" "The copy, upper half." {
        STATISTICS_HIGH_VALUE "value" [0 +: 32] "Bits 63:32; counters may be narrower in hardware and wrap.",
    }
}

/// Offset of port 0's block.
pub const PORTS_BASE: u16 = 0x400;
/// Bytes from one port's block to the next.
pub const PORT_STRIDE: u16 = 0x10;

registers! {
    PORT, "Registers of each port, by ascending offset within its block.";
    PORT_CONTROL @ 0x0 ReadWrite reset 0 "port_control" "What the port does." {
        PORT_ENABLE "enable" [0 +: 1] "The port receives and sends.",
        PORT_ENGINE "engine" [1 +: 1] "Its engine sees frames; a timeout still runs out when it does not.",
    }
    PORT_ADDRESS @ 0x4 ReadWrite reset 0 "port_address" "Who sends the results." {
        PORT_ADDRESS_VALUE "address" [0 +: 32] "Source address of results.",
    }
}

/// Offset of a port's register.
#[must_use]
pub const fn port_offset(port: u8, register: &Register) -> u16 {
    PORTS_BASE + PORT_STRIDE * port as u16 + register.offset
}

/// The register at an offset, and the port if it is one of a port.
#[must_use]
pub fn find(offset: u16) -> Option<(&'static Register, Option<u8>)> {
    let at = |list: &'static [Register], offset| list.iter().find(|r| r.offset == offset);
    match offset.checked_sub(PORTS_BASE) {
        None => at(GLOBAL, offset).map(|r| (r, None)),
        Some(rest) => {
            let port = u8::try_from(rest / PORT_STRIDE).ok().filter(|&p| p < 64)?;
            at(PORT, rest % PORT_STRIDE).map(|r| (r, Some(port)))
        }
    }
}
