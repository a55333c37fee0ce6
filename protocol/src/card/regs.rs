//! BAR0 of the card.
//!
//! | offset | what |
//! |---|---|
//! | 0x0000 | registers of the card |
//! | 0x2000 | MSI-X table ([`MSIX_ENTRY`]), an entry for each vector, as PCI Express lays it out |
//! | 0x3000 | MSI-X pending bits |
//! | 0x10000 + 0x1000 · n | doorbells of queue pair n: a page of their own, so that a process can be given just its own |
//!
//! BAR0 is as large as [`bar0_bytes`] says; the card looks at no bit of an address above that.
//!
//! Registers have 32 bits; an access of 64 bits is two of 32, the lower one first. Bits outside the fields read as 0, and an offset
//! that is not here reads as 0. A write there, to what can only be read, or with a one outside the fields is counted and does
//! nothing: a number that is too large is not taken for the one that its lower bits are. But bits outside the fields are not
//! looked at in doorbells, whose indices count modulo 2^16, and in the MSI-X table, as PCI Express has it.

use crate::registers::{Access, Field, Register};

/// Bytes from one queue pair's doorbells to the next.
pub const PAGE: u32 = 0x1000;
/// Offset of the doorbells of queue pair 0.
pub const DOORBELLS: u32 = 0x1_0000;
/// Offset of the MSI-X table.
pub const MSIX_TABLE: u32 = 0x2000;
/// Offset of the MSI-X pending bits.
pub const MSIX_PENDING: u32 = 0x3000;
/// Bytes of an entry of the MSI-X table.
pub const MSIX_ENTRY_LEN: u32 = 16;
/// Bytes of BAR0 of a card with 2^`qps_log` queue pairs: up to the end of the last doorbell page, rounded up to a power of two.
#[must_use]
pub const fn bar0_bytes(qps_log: u8) -> u32 {
    (DOORBELLS + (PAGE << qps_log)).next_power_of_two()
}
/// Fewest bytes that the register `mtu` counts as.
pub const MTU_LEAST: u16 = 256;
/// Fewest clocks that the register `timeout_unit` counts as.
pub const TIMEOUT_UNIT_LEAST: u32 = 4;
/// Offset of the first argument of a command.
pub const ARG0: u16 = 0x040;
/// Arguments of a command.
pub const ARGS: u16 = 16;
/// Value of the register `id`.
pub const MAGIC: u32 = 0x5452_4e43;
/// Value of the register `version`: major number above, minor below.
pub const MAP_VERSION: u32 = VERSION.reset;
/// Clocks of a tick of the watchdogs of schedule rings.
pub const RING_TICK_CLOCKS: u32 = 1 << 16;
/// Windows of one-sided operations, in every size of the card: value of the register `windows`.
pub const WINDOWS_ONE_SIDED: u32 = 256;
/// Queue pairs of `bulk_card` that can be in reduction groups at once.
pub const REDUCTION_GROUPS: usize = 16;

registers! {
    GLOBAL, "Registers of the card, by ascending offset.";
    ID @ 0x000 ReadOnly reset 0x5452_4e43 "id" "`TRNC` in ASCII." {
        ID_VALUE "id" [0 +: 32] "0x54524e43.",
    }
    VERSION @ 0x004 ReadOnly reset 0x0003_0000 "version" "Version of this map; a driver needs the same major number." {
        VERSION_MINOR "minor" [0 +: 16] "Raised by additions.",
        VERSION_MAJOR "major" [16 +: 16] "Raised by changes.",
    }
    FEATURES @ 0x008 ReadOnly reset 3 "features" "What the card can do." {
        FEATURES_XUD "xud" [0 +: 1] "Extended unreliable datagrams.",
        FEATURES_ONE_SIDED "one_sided" [1 +: 1] "One-sided operations (XUD-13).",
        FEATURES_BULK "bulk" [2 +: 1] "Bulk transfers (BW-1): opcodes bulk_write and bulk_read, the registers of bulk transfers, and their counters. Of cards in RTL, bulk_card has them.",
        FEATURES_REDUCTIONS "reductions" [3 +: 1] "Reductions (CL-5): JOIN_GROUP, the opcode reduce, and their counters. Of cards in RTL, bulk_card has them.",
        FEATURES_RINGS "rings" [4 +: 1] "Schedule rings (MB-16): the registers of schedule rings. Cards with it have bulk, too.",
        FEATURES_CONGESTION "congestion" [5 +: 1] "Marks of switches (CL-4): the registers of congestion and their counters. Cards with it have bulk, too. Of cards in RTL, bulk_card has them.",
    }
    SIZES @ 0x00c ReadOnly reset 0 "sizes" "How large this card was built: log2 of each number." {
        SIZES_QPS "qps" [0 +: 5] "Queue pairs.",
        SIZES_REGIONS "regions" [8 +: 5] "Regions.",
        SIZES_IN_FLIGHT "in_flight" [16 +: 5] "Places of the in-flight table.",
        SIZES_VECTORS "vectors" [24 +: 3] "Interrupt vectors.",
    }
    CONTROL @ 0x010 ReadWrite reset 0 "control" "The whole card." {
        CONTROL_ENABLE "enable" [0 +: 1] "1: frames are received and sent. 0: frames that come are lost, without a count, and work requests wait.",
        CONTROL_RESET "reset" [1 +: 1] "A 1 resets the card as a function-level reset does, the MSI-X table included; reads as 0.",
    }
    NODE @ 0x014 ReadWrite reset 0 "node" "Who this card is." {
        NODE_NUMBER "number" [0 +: 20] "Node number; bits 31:12 of the fabric address in its MAC address, and the last three bytes of its IPv4 address. Another one for each card of a network.",
    }
    MTU @ 0x018 ReadWrite reset 4096 "mtu" "Largest payload of a packet." {
        MTU_BYTES "bytes" [0 +: 13] "256 to 4,096; others count as the nearest. The payload is what stands behind the XUDETH: head and bytes from memory.",
    }
    TIMEOUT_UNIT @ 0x01c ReadWrite reset 512 "timeout_unit" "Clocks in 4.096 µs (XUD-1)." {
        TIMEOUT_CLOCKS "clocks" [0 +: 16] "4 or more; fewer count as 4. 512 at 125 MHz; a board with another clock says its own.",
    }
    COMMAND @ 0x020 WriteOnly reset 0 "command" "A write starts a command; ignored while status.busy is 1." {
        COMMAND_CODE "code" [0 +: 8] "Which.",
        COMMAND_INDEX "index" [8 +: 24] "Queue pair, region or window.",
    }
    STATUS @ 0x024 ReadOnly reset 0 "status" "How the latest command stands." {
        STATUS_BUSY "busy" [0 +: 1] "It runs, or a reset is under way.",
        STATUS_CODE "code" [8 +: 8] "How it ended: see the codes of commands. Holds while busy is 0.",
    }
    RESULT0 @ 0x028 ReadOnly reset 0 "result0" "First result of the latest command." {
        RESULT0_VALUE "value" [0 +: 32] "See the command.",
    }
    RESULT1 @ 0x02c ReadOnly reset 0 "result1" "Second result." {
        RESULT1_VALUE "value" [0 +: 32] "See the command.",
    }
    MODERATION @ 0x030 ReadWrite reset 0 "moderation" "Interrupts that are due wait for more, or for a time." {
        MODERATION_CLOCKS "clocks" [0 +: 16] "Fewest clocks between two interrupts of a vector; 0: no pause.",
    }
    WINDOWS @ 0x034 ReadOnly reset 256 "windows" "Windows of one-sided operations." {
        WINDOWS_COUNT "count" [0 +: 32] "How many; 256.",
    }
    STATISTICS_SELECT @ 0x080 ReadWrite reset 0 "statistics_select" "A write takes a copy of one counter for reading. There is one place for copies: who reads counters takes turns with others." {
        STATISTICS_COUNTER "counter" [0 +: 8] "Index of the counter.",
    }
    STATISTICS_LOW @ 0x084 ReadOnly reset 0 "statistics_low" "The copy, lower half; 0 for a counter that is not there." {
        STATISTICS_LOW_VALUE "value" [0 +: 32] "Bits 31:0.",
    }
    STATISTICS_HIGH @ 0x088 ReadOnly reset 0 "statistics_high" "The copy, upper half." {
        STATISTICS_HIGH_VALUE "value" [0 +: 32] "Bits 63:32.",
    }
}

registers! {
    BULK, "Registers of bulk transfers, by ascending offset; nothing is there without the feature bulk.";
    BULK_SIZES @ 0x0c0 ReadOnly reset 0 "bulk_sizes" "How large the engines of bulk transfers were built." {
        BULK_SIZES_SLOTS "slots" [0 +: 9] "Transfers that the card sends at once: bulk_write, and answers of bulk_read of others.",
        BULK_SIZES_READS "reads" [16 +: 9] "bulk_read under way at once.",
    }
    BULK_WINDOWS @ 0x0c4 ReadOnly reset 0 "bulk_windows" "The same of the receiving side." {
        BULK_WINDOWS_COUNT "windows" [0 +: 16] "Transfers that the card receives at once.",
        BULK_WINDOWS_PACKETS "packets" [16 +: 16] "Packets that a window covers.",
    }
    BULK_LINE @ 0x0c8 ReadOnly reset 0 "bulk_line" "The line that the card was built for." {
        BULK_LINE_MBPS "mbps" [0 +: 32] "Mb/s.",
    }
    BULK_TICK @ 0x0cc ReadWrite reset 42 "bulk_tick" "Unit of time of bulk transfers: what a packet takes on the line." {
        BULK_TICK_CLOCKS "clocks" [0 +: 16] "Clocks, 1 and more: 8 · (packet bytes + 90) bits over the rate of the line.",
    }
    BULK_ROUND_TRIP @ 0x0d0 ReadWrite reset 128 "bulk_round_trip" "Shortest round trip to a peer and back." {
        BULK_ROUND_TRIP_TICKS "ticks" [0 +: 16] "Ticks, 8 to 512; others count as the nearest.",
    }
    BULK_ALLOWANCE @ 0x0d4 ReadWrite reset 34 "bulk_allowance" "How far packets overtake each other on their way (RW-12)." {
        BULK_ALLOWANCE_PACKETS "packets" [0 +: 16] "Packets, and ticks; at most 1,024.",
    }
    BULK_SHARE @ 0x0d8 ReadWrite reset 128 "bulk_share" "Share of the line that bulk transfers have while datagrams have something to send, too (BW-4)." {
        BULK_SHARE_OF_256 "of_256" [0 +: 9] "0 to 256, in 256ths; 256 gives datagrams only what bulk transfers leave, 0 the other way round.",
    }
    BULK_INCARNATION @ 0x0dc ReadWrite reset 0 "bulk_incarnation" "How often this card was reset: peers tell transfers of before from those of after (BW-9)." {
        BULK_INCARNATION_NUMBER "number" [0 +: 16] "Modulo 2^16. A reset adds 1; a driver may write a newer one after power-up.",
    }
}

registers! {
    CONGESTION, "Registers of congestion (CL-4), by ascending offset; nothing is there without the feature congestion.";
    CONGESTION_CONTROL @ 0x0e0 ReadWrite reset 0 "congestion" "What becomes of marks." {
        CONGESTION_ENABLE "enable" [0 +: 1] "1: frames may be marked by switches (ECN), the card tells senders of marks, its transfers slow down when they are told, and completions say of datagrams that they came marked. 0: none of that; congested (BTH opcode 0xca) is a frame of an unknown kind.",
    }
    CONGESTION_INTERVAL @ 0x0e4 ReadWrite reset 48 "congestion_interval" "How often." {
        CONGESTION_INTERVAL_TICKS "ticks" [0 +: 16] "Ticks (bulk_tick) at least between two messages about a window, between two cuts of a transfer, and between two steps of its recovery: a round trip, with the queues on its way. 1 to 4,096; others count as the nearest.",
    }
}

registers! {
    RINGS, "Registers of schedule rings (MB-16), by ascending offset; nothing is there without the feature rings.";
    RING_SIZES @ 0x100 ReadOnly reset 0 "ring_sizes" "How many the card has." {
        RING_SIZES_GROUPS "groups" [0 +: 9] "Groups, each with a ring.",
    }
    RING_ANSWER @ 0x104 ReadOnly reset 0 "ring_answer" "How the latest ring_command stands." {
        RING_ANSWER_BUSY "busy" [0 +: 1] "It waits; another one is ignored meanwhile.",
        RING_ANSWER_OK "ok" [1 +: 1] "It was taken; 0: refused, without effect. Holds while busy is 0.",
    }
    RING_REFUSED @ 0x108 ReadOnly reset 0 "ring_refused" "What no group could take." {
        RING_REFUSED_COUNT "count" [0 +: 32] "Events, entries, commands and bindings that were refused, modulo 2^32.",
    }
    RING_COMMAND @ 0x10c WriteOnly reset 0 "ring_command" "A write gives a group a command; ignored while ring_answer.busy is 1." {
        RING_COMMAND_OP "op" [0 +: 2] "0 open, with the registers below; 1 doorbell; 2 stop; 3 close.",
        RING_COMMAND_GROUP "group" [8 +: 8] "Group.",
        RING_COMMAND_POSTED "posted" [16 +: 16] "Doorbell: entries ever written, modulo 2^16.",
    }
    RING_BASE_LOW @ 0x110 ReadWrite reset 0 "ring_base_low" "Open: address of the ring, lower half." {
        RING_BASE_LOW_VALUE "value" [5 +: 27] "Bits 31:5; it is a multiple of 32.",
    }
    RING_BASE_HIGH @ 0x114 ReadWrite reset 0 "ring_base_high" "The same, upper half." {
        RING_BASE_HIGH_VALUE "value" [0 +: 32] "Bits 63:32.",
    }
    RING_ORIGIN @ 0x118 ReadWrite reset 0 "ring_origin" "Open: what the group's counters begin at." {
        RING_ORIGIN_VALUE "value" [0 +: 32] "Modulo 2^32.",
    }
    RING_SETTINGS @ 0x11c ReadWrite reset 0 "ring_settings" "Open: the rest." {
        RING_SETTINGS_LOG "log" [0 +: 4] "log2 of the entries of the ring, 1 to 15.",
        RING_SETTINGS_TIMED "timed" [4 +: 1] "1: the watchdog runs from the doorbell on, as a root wants; 0: from the first block on.",
        RING_SETTINGS_WATCHDOG "watchdog" [16 +: 16] "Ticks of 65,536 clocks without progress after which the group ends; 0: never.",
    }
    RING_QUEUE @ 0x120 ReadWrite reset 0 "ring_queue" "Open: where the group's ends are told." {
        RING_QUEUE_PAIR "pair" [0 +: 16] "Queue pair whose receive requests they take.",
    }
    RING_BIND @ 0x124 WriteOnly reset 0 "ring_bind" "Gives a queue pair to a group, or takes it back. It acts at once." {
        RING_BIND_SLOT "slot" [0 +: 6] "Slot of the peer, 0 to 62.",
        RING_BIND_GROUP "group" [6 +: 8] "Group.",
        RING_BIND_ROLE "role" [14 +: 2] "0: none. 1: blocks go to the peer, and its grants come. 2: blocks come from it, and grants go.",
        RING_BIND_PAIR "pair" [16 +: 16] "Queue pair, into which nothing was ever posted.",
    }
}

registers! {
    DOORBELL, "Doorbells of a queue pair, by ascending offset within its page. They read as 0.";
    DOORBELL_SEND @ 0x00 WriteOnly reset 0 "doorbell_send" "Send ring." {
        DOORBELL_SEND_INDEX "producer" [0 +: 16] "Work requests ever posted, modulo 2^16.",
    }
    DOORBELL_RECEIVE @ 0x08 WriteOnly reset 0 "doorbell_receive" "Receive ring." {
        DOORBELL_RECEIVE_INDEX "producer" [0 +: 16] "Receive requests ever posted, modulo 2^16.",
    }
    DOORBELL_COMPLETE @ 0x10 WriteOnly reset 0 "doorbell_complete" "Completion ring." {
        DOORBELL_COMPLETE_INDEX "consumer" [0 +: 16] "Completions ever taken, modulo 2^16; their entries are free.",
    }
    DOORBELL_ARM @ 0x18 WriteOnly reset 0 "doorbell_arm" "One interrupt." {
        DOORBELL_ARM_INDEX "consumer" [0 +: 16] "Interrupt once as soon as the card has written more completions than this, 1 to 32,768 more modulo 2^16; at once if it has.",
    }
}

registers! {
    MSIX_ENTRY, "Entry of the MSI-X table, by ascending offset within it.";
    MSIX_ADDRESS_LOW @ 0x0 ReadWrite reset 0 "msix_address_low" "Where the interrupt is written to, lower half." {
        MSIX_ADDRESS_LOW_VALUE "value" [2 +: 30] "Bits 31:2 of the address; it is a multiple of 4.",
    }
    MSIX_ADDRESS_HIGH @ 0x4 ReadWrite reset 0 "msix_address_high" "The same, upper half." {
        MSIX_ADDRESS_HIGH_VALUE "value" [0 +: 32] "Bits 63:32 of the address.",
    }
    MSIX_DATA @ 0x8 ReadWrite reset 0 "msix_data" "What is written there: 4 bytes." {
        MSIX_DATA_VALUE "value" [0 +: 32] "Data of the message.",
    }
    MSIX_CONTROL @ 0xc ReadWrite reset 1 "msix_control" "Vector control." {
        MSIX_CONTROL_MASKED "masked" [0 +: 1] "1: the interrupt waits, and its pending bit is 1.",
    }
}

registers! {
    PENDING, "MSI-X pending bits, from their offset on.";
    PENDING_BITS @ 0x0 ReadOnly reset 0 "msix_pending_bits" "Vectors whose interrupt waits for a mask to fall." {
        PENDING_VECTORS "vectors" [0 +: 8] "Bit v: vector v.",
    }
}

/// What becomes of an access to BAR0: the access, and what happens.
pub const ACCESSES: &[(&str, &str)] = &[
    (
        "read of a 32-bit word at a multiple of 4",
        "Its value. Which bytes of it are enabled does not matter: no read has a side effect.",
    ),
    (
        "read of a word without any byte enabled",
        "0; no register is read. As every read, it is answered when all writes in front of it have taken effect.",
    ),
    (
        "read of two words in one TLP",
        "Two reads, the lower offset first, answered together; not atomic.",
    ),
    (
        "write of a whole 32-bit word",
        "It takes effect in the order of the writes, and a read sees all writes that came before it.",
    ),
    (
        "write of two whole words in one TLP",
        "Two writes, the lower offset first.",
    ),
    (
        "write of a word with some of its bytes enabled",
        "Nothing is written; counted in bad_write. So 8-bit and 16-bit writes do nothing.",
    ),
    (
        "write of one word without any byte enabled",
        "Nothing, without a count.",
    ),
    (
        "more than two words in one TLP, or two words across a multiple of 4,096",
        "Refused: a read gets Unsupported Request, a write is dropped; counted in bad_tlp. So BAR0 is mapped without write combining.",
    ),
    (
        "any request but a memory read or write, another BAR or function, a poisoned write",
        "Refused likewise.",
    ),
    ("read where nothing is", "0."),
    (
        "write where nothing is, or to a register that can only be read",
        "Nothing is written; counted in bad_write.",
    ),
    (
        "write to a register of the card with a one in a bit without a field",
        "Nothing is written; counted in bad_write. So a number that is too large for its field is refused whole.",
    ),
    (
        "write to a doorbell or to the MSI-X table with ones in bits without a field",
        "These bits are not looked at: the index of a doorbell counts modulo 2^16, and may be written with more bits.",
    ),
    (
        "write to a doorbell of a queue pair that the card does not have or that does not exist",
        "Nothing; counted in bad_doorbell.",
    ),
    (
        "write to command or to an argument while status.busy is 1",
        "Nothing, and no counter says so: a driver looks at status.busy first.",
    ),
    (
        "write during a reset",
        "Lost, without a count, in its first 48 clocks. status.busy is 1 until the reset is over, 64 + 4 · 2^n clocks at most, n the largest number in sizes, \
         and longer only until the host interface has taken a TLP that was on offer: a driver writes nothing before it reads 0.",
    ),
    (
        "read during a reset",
        "Answered: status.busy is 1, other registers have their reset values.",
    ),
    (
        "read of a counter",
        "The count when statistics_select was written. A count lags behind what it counts by up to 64 clocks.",
    ),
];

/// What a card does while its host has not enabled bus mastering (bit 2 of the PCI Command register).
pub const WITHOUT_BUS_MASTERING: &[&str] = &[
    "Registers are read and written, and commands run.",
    "The card neither reads nor writes host memory. An interrupt that is due waits, and its pending bit is 1.",
    "A TLP that was offered to the host interface when bus mastering went off still leaves.",
    "A message that arrives waits where it is; it is acknowledged only when its payload and its completion are in host memory (XUD-4). \
     So its sender may see a timeout. \
     16 messages wait at most; frames behind them are dropped, and counted in rx_overflow.",
    "Requests in flight time out, and their completions are written when bus mastering is on again.",
    "DESTROY_QP, CLEAR_REGION and the commands of windows may end with not_idle.",
    "A driver sets bus mastering before CREATE_QP, and clears it only after a reset of the card or when no queue pair exists.",
];

/// Offset of a queue pair's doorbell.
#[must_use]
pub const fn doorbell(qpn: u32, register: &Register) -> u32 {
    DOORBELLS + PAGE * qpn + register.offset as u32
}

codes! {
    /// Counters of the card, by the number that `statistics_select` takes. Each drop has one.
    Counter {
        /// Requests handed to the line, and answers of one-sided operations.
        Sent = 0 "sent",
        /// Acknowledgements handed to the line, of every kind.
        AcksSent = 1 "acks_sent",
        /// Requests accepted.
        Accepted = 2 "accepted",
        /// Requests that ended OK.
        Acknowledged = 3 "acknowledged",
        /// Requests that ended in a timeout.
        Timeouts = 4 "timeouts",
        /// Turns in which a queue pair could not send because its place in the in-flight table was taken.
        StallPlace = 5 "stall_place",
        /// Turns in which a queue pair could not send because its completion ring was full.
        StallCredit = 6 "stall_credit",
        /// Requests dropped because too many acknowledgements waited.
        AckOverload = 7 "ack_overload",
        /// Frames dropped because the buffer was full.
        RxOverflow = 8 "rx_overflow",
        /// Frame: lengths, checksums, ICRC, fixed fields.
        BadFrame = 9 "bad_frame",
        /// Opcode outside of XUD's.
        NotXud = 10 "not_xud",
        /// Opcode without a meaning; answered.
        BadOpcode = 11 "bad_opcode",
        /// Header that no sender makes.
        BadHeader = 12 "bad_header",
        /// No such queue pair.
        BadQp = 13 "bad_qp",
        /// Wrong Q_Key.
        BadKey = 14 "bad_key",
        /// Payload over the MTU or the receive request.
        BadLength = 15 "bad_length",
        /// Epoch of an earlier process.
        StaleEpoch = 16 "stale_epoch",
        /// No receive request or completion slot.
        Rnr = 17 "rnr",
        /// Acknowledgement of nothing in flight.
        AckUnknown = 18 "ack_unknown",
        /// Acknowledgement from elsewhere.
        AckSource = 19 "ack_source",
        /// Acknowledgement with another window identity.
        AckEcho = 20 "ack_echo",
        /// Work or receive requests that ended in a local error.
        LocalError = 21 "local_error",
        /// Doorbells beyond the ring, or of a queue pair that is not there.
        BadDoorbell = 22 "bad_doorbell",
        /// Writes to BAR0 where nothing is, of less than a word, or of what a register has no field for.
        BadWrite = 23 "bad_write",
        /// TLPs that were refused as unsupported, or malformed.
        BadTlp = 24 "bad_tlp",
        /// Reads of host memory that failed; those that wait for bus mastering do not.
        ReadFailed = 25 "read_failed",
        /// Completions for no read of this card.
        StrayCompletion = 26 "stray_completion",
        /// Interrupts sent.
        Interrupts = 27 "interrupts",
        /// Clocks in which a read of host memory was under way.
        WaitRead = 28 "wait_read",
        /// Clocks in which a frame waited for the line.
        WaitLine = 29 "wait_line",
        /// Clocks in which a write waited for credits of the host interface.
        WaitWrite = 30 "wait_write",
        /// One-sided operations done.
        OneSided = 31 "one_sided",
        /// One-sided operations with a number that was done before: answered alike if it was the last, else dropped.
        OneSidedDuplicate = 32 "one_sided_duplicate",
        /// One-sided operations with a number ahead; answered.
        OneSidedAhead = 33 "one_sided_ahead",
        /// One-sided operations that their region forbids; answered.
        OneSidedRefused = 34 "one_sided_refused",
        /// One-sided operations that host memory failed; answered.
        OneSidedFailed = 35 "one_sided_failed",
    }
}

codes! {
    /// Counters of bulk transfers, by the number that `statistics_select` takes; without the feature bulk they read as 0.
    BulkCounter {
        /// bulk_write and bulk_read that ended OK.
        Completed = 64 "bulk_completed",
        /// Those that ended otherwise.
        Failed = 65 "bulk_failed",
        /// READ requests of others that were served to the end.
        Served = 66 "bulk_served",
        /// Transfers received to the end.
        Received = 67 "bulk_received",
        /// Transfers received that ended otherwise.
        ReceivedAborted = 68 "bulk_received_aborted",
        /// DATA packets sent the first time.
        DataSent = 69 "bulk_data_sent",
        /// DATA packets sent again.
        DataResent = 70 "bulk_data_resent",
        /// Other messages of bulk transfers sent.
        ControlSent = 71 "bulk_control_sent",
        /// DATA packets accepted and written.
        DataAccepted = 72 "bulk_data_accepted",
        /// DATA packets that arrived again.
        DataDuplicate = 73 "bulk_data_duplicate",
        /// DATA for a window that is closed, of another use of it, or of another sender.
        DataStale = 74 "bulk_data_stale",
        /// DATA beyond the window or the transfer, or of a length that it cannot have.
        DataWrong = 75 "bulk_data_wrong",
        /// DATA dropped because too much waited for host memory.
        DataOverflow = 76 "bulk_data_overflow",
        /// CONNECT or READ request refused: key, protection domain, right or bounds; answered.
        Access = 77 "bulk_access",
        /// The same: no such queue pair; answered.
        BadQp = 78 "bulk_bad_qp",
        /// The same: wrong Q_Key; never answered.
        BadKey = 79 "bulk_bad_key",
        /// The same: more packets than a transfer can have, or addresses that wrap; answered.
        BadLength = 80 "bulk_bad_length",
        /// CONNECT that answers no READ request of this card; refused.
        NoRead = 81 "bulk_no_read",
        /// CONNECT or READ request answered with busy.
        Busy = 82 "bulk_busy",
        /// CONNECT older than what its sender has sent since.
        OldConnect = 83 "bulk_old_connect",
        /// Messages whose node is not that of their frame, or that answer nothing of this card.
        Stray = 84 "bulk_stray",
        /// Messages of bulk transfers that no card sends.
        BadMessage = 85 "bulk_bad_message",
        /// Messages dropped because too many waited for the line.
        ControlOverflow = 86 "bulk_control_overflow",
        /// Entries of peers forgotten to make room for others (BW-10).
        Forgotten = 87 "bulk_forgotten",
        /// Transfers that ended because no receive request came for their notification (BW-3).
        NotReady = 88 "bulk_not_ready",
        /// Clocks in which transfers were to be sent and all waited for credit.
        WaitCredit = 89 "bulk_wait_credit",
        /// Clocks in which they waited for reads of host memory.
        WaitRead = 90 "bulk_wait_read",
        /// Clocks in which packets left or waited for the line.
        WaitLine = 91 "bulk_wait_line",
        /// Clocks in which all waited for their peer: to connect, or to say that it has everything.
        WaitPeer = 92 "bulk_wait_peer",
        /// Clocks in which windows were open and nothing had come.
        InWaitPeer = 93 "bulk_in_wait_peer",
        /// Clocks in which packets had come and waited for host memory.
        InWaitWrite = 94 "bulk_in_wait_write",
        /// Clocks in which a transfer waited for a receive request.
        InWaitReceive = 95 "bulk_in_wait_receive",
    }
}

codes! {
    /// Counters of congestion, by the number that `statistics_select` takes; without the feature congestion they read as 0.
    CongestionCounter {
        /// Bulk DATA of open windows and datagrams but acknowledgements that came marked.
        MarkedReceived = 104 "ecn_marked_received",
        /// What told senders of it: messages about windows, those at their beginning too, and acknowledgements.
        Sent = 105 "congestion_sent",
        /// The same that came, of transfers and requests of this card.
        Heard = 106 "congestion_heard",
        /// How often a transfer of this card became slower.
        Slowed = 107 "congestion_slowed",
        /// Clocks in which transfers were to be sent and none was allowed to yet.
        WaitPace = 108 "congestion_wait_pace",
    }
}

codes! {
    /// Counters of reductions, by the number that `statistics_select` takes; without the feature reductions they read as 0.
    ReductionCounter {
        /// Reduction frames handed to the line.
        Sent = 96 "reduction_sent",
        /// Reduction frames that became completions.
        Received = 97 "reduction_received",
        /// Frames with the ethertype of reductions that are malformed.
        BadFrame = 98 "reduction_bad_frame",
        /// Reduction frames of no group here: VNI and cookie, tree, node; or the queue pair does not receive.
        Foreign = 99 "reduction_foreign",
        /// Reduction frames dropped because the completion ring was full, or because more waited than the card keeps.
        NoSlot = 100 "reduction_no_slot",
        /// Results that the card of a group's root has answered itself (CL-6).
        Answered = 101 "reduction_answered",
        /// Work requests of a group's root that such an answer has overtaken: nothing was sent.
        Overtaken = 102 "reduction_overtaken",
    }
}
