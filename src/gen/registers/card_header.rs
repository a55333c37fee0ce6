//! The card as a C header.

use std::fmt::Write;

use tributary_protocol::bulk;
use tributary_protocol::card::command::{CALLS, Call, KEY_INDEX, KEY_VARIANT, Status};
use tributary_protocol::card::{descriptor, regs};
use tributary_protocol::red::address;
use tributary_protocol::roce;
use tributary_protocol::xud::{
    OPCODE_ACK, OPCODE_SEND, Outcome, control, onesided, rendezvous, wire,
};

use super::c;
use super::codes;

/// Conventions, and functions that take fields out of numbers and put them in.
const PRELUDE: &str = include_str!("prelude.h.in");

/// All headers of packets.
pub const HEADERS: [tributary_protocol::header::Header; 22] = [
    roce::FRAME,
    wire::XUDETH,
    wire::AETH,
    wire::ECHO,
    wire::SOURCE,
    onesided::ONE_SIDED_HEADER,
    control::OPEN,
    control::OPEN_ACK,
    control::REFUSE,
    control::FRAGMENT,
    control::STREAM,
    rendezvous::ANNOUNCE,
    rendezvous::GRANT,
    rendezvous::LANDED,
    rendezvous::PART_HEADER,
    rendezvous::DONE,
    rendezvous::ABORT,
    rendezvous::ASK,
    bulk::TRANSFER,
    bulk::READ_REQUEST,
    bulk::READ_REFUSED,
    bulk::CONGESTED,
];

/// The header.
pub fn text() -> String {
    let mut out = PRELUDE.to_owned();
    bar0(&mut out);
    commands(&mut out);
    queues(&mut out);
    frames(&mut out);
    c::codes(
        &mut out,
        "trib_counter",
        "Counters, by the number that statistics_select takes",
        &codes!(regs::Counter),
    );
    c::codes(
        &mut out,
        "trib_bulk_counter",
        "Counters of bulk transfers, likewise",
        &codes!(regs::BulkCounter),
    );
    c::codes(
        &mut out,
        "trib_reduction_counter",
        "Counters of reductions, likewise",
        &codes!(regs::ReductionCounter),
    );
    c::codes(
        &mut out,
        "trib_congestion_counter",
        "Counters of congestion, likewise",
        &codes!(regs::CongestionCounter),
    );
    out.push('\n');
    c::header(
        "TRIBUTARY_CARD_H",
        "Registers, commands, descriptors and frames of the card. How they work together: docs/card.md.",
        &out,
    )
}

fn bar0(out: &mut String) {
    c::title(out, "BAR0");
    let hex = |value: u32| format!("0x{value:x}u");
    for (doc, name, value) in [
        ("Value of the register id.", "magic", hex(regs::MAGIC)),
        (
            "Value of the register version that this header is of.",
            "map_version",
            hex(regs::MAP_VERSION),
        ),
        (
            "Argument registers: the first, how many.",
            "arg0",
            hex(regs::ARG0.into()),
        ),
        ("", "args", format!("{}u", regs::ARGS)),
        (
            "MSI-X table: an entry for each vector, and its bytes.",
            "msix_table",
            hex(regs::MSIX_TABLE),
        ),
        ("", "msix_entry_bytes", format!("{}u", regs::MSIX_ENTRY_LEN)),
        (
            "MSI-X pending bits.",
            "msix_pending",
            hex(regs::MSIX_PENDING),
        ),
        (
            "Doorbells of queue pair 0; bytes from those of one queue pair to the next.",
            "doorbells",
            hex(regs::DOORBELLS),
        ),
        ("", "page", hex(regs::PAGE)),
        (
            "Windows of one-sided operations.",
            "one_sided_windows",
            format!("{}u", regs::WINDOWS_ONE_SIDED),
        ),
    ] {
        if !doc.is_empty() {
            c::comment(out, doc);
        }
        c::define(out, &format!("trib_card_{name}"), value);
    }
    *out += "\n/* Bytes of BAR0 of a card with 2^qps_log queue pairs (sizes.qps). */\n\
         static inline uint32_t trib_card_bar0_bytes(unsigned qps_log)\n{\n    uint32_t end = TRIB_CARD_DOORBELLS + (TRIB_CARD_PAGE << qps_log);\n    \
         uint32_t bytes = 1u;\n    while (bytes < end)\n        bytes <<= 1;\n    return bytes;\n}\n\n\
         /* Offset of a doorbell of queue pair qpn. */\n\
         #define TRIB_CARD_DOORBELL(qpn, doorbell) (TRIB_CARD_DOORBELLS + TRIB_CARD_PAGE * (qpn) + (doorbell))\n\n\
         /* Offset of a register of a vector's entry in the MSI-X table. */\n\
         #define TRIB_CARD_MSIX(vector, reg) (TRIB_CARD_MSIX_TABLE + TRIB_CARD_MSIX_ENTRY_BYTES * (vector) + (reg))\n";
    let p = "trib_card";
    c::registers(out, p, "Registers of BAR0: byte offsets", regs::GLOBAL);
    c::registers(
        out,
        p,
        "Registers of bulk transfers: byte offsets; nothing is there without the feature bulk",
        regs::BULK,
    );
    c::registers(
        out,
        p,
        "Registers of congestion: byte offsets; nothing is there without the feature congestion",
        regs::CONGESTION,
    );
    c::registers(
        out,
        p,
        "Registers of schedule rings: byte offsets; nothing is there without the feature rings",
        regs::RINGS,
    );
    c::registers(
        out,
        p,
        "Doorbells: offsets within the page of a queue pair",
        regs::DOORBELL,
    );
    c::registers(
        out,
        p,
        "Entry of the MSI-X table: offsets within it",
        regs::MSIX_ENTRY,
    );
    c::registers(
        out,
        p,
        "MSI-X pending bits: offsets from TRIB_CARD_MSIX_PENDING",
        regs::PENDING,
    );
}

fn commands(out: &mut String) {
    c::codes(
        out,
        "trib_command",
        "Commands: codes for the register command",
        &codes!(tributary_protocol::card::command::Command),
    );
    c::codes(
        out,
        "trib_status",
        "How a command ended: status.code",
        &codes!(Status),
    );
    c::codes(
        out,
        "trib_state",
        "States of a queue pair",
        &codes!(tributary_protocol::card::command::State),
    );
    c::title(out, "Arguments and results of commands");
    for call in CALLS {
        one_command(out, call);
    }
    c::title(out, "Key of a region");
    for field in [KEY_VARIANT, KEY_INDEX] {
        c::field(out, "trib_key", &field);
    }
}

fn one_command(out: &mut String, call: &Call) {
    let name = call.command.name();
    let mut about = format!("{}. Index: a {}. ", name.to_uppercase(), call.index.name());
    if !call.state.is_empty() {
        let _ = write!(about, "bad_state if {}. ", call.state);
    }
    if call.waits {
        about += "Waits until nothing is under way on the card; may end with not_idle. ";
    }
    about += call.effect;
    c::comment(out, &about);
    c::comment(
        out,
        "Argument registers that it looks at: the first so many.",
    );
    let prefix = format!("trib_{name}");
    c::define(
        out,
        &format!("{prefix}_args"),
        format_args!("{}u", call.registers()),
    );
    for argument in call.arguments {
        c::argument(out, &prefix, argument);
    }
    for returned in call.results {
        c::returned(out, &prefix, returned);
    }
    out.push('\n');
}

/// Rings: prefix, title, bytes of an entry, fields.
pub const DESCRIPTORS: [(&str, &str, usize, &[descriptor::Place]); 5] = [
    (
        "work",
        "Work request: entry of the send ring",
        descriptor::WORK_LEN,
        descriptor::WORK,
    ),
    (
        "receive",
        "Receive request: entry of the receive ring",
        descriptor::RECEIVE_LEN,
        descriptor::RECEIVE,
    ),
    (
        "completion",
        "Completion: entry of the completion ring",
        descriptor::COMPLETION_LEN,
        descriptor::COMPLETION,
    ),
    (
        "reduce",
        "Work request of a queue pair in a reduction group",
        descriptor::WORK_LEN,
        descriptor::REDUCE,
    ),
    (
        "arrival",
        "Completion that is a reduction frame",
        descriptor::COMPLETION_LEN,
        descriptor::ARRIVAL,
    ),
];

fn queues(out: &mut String) {
    for (name, about, bytes, places) in DESCRIPTORS {
        c::title(out, about);
        c::define(out, &format!("trib_{name}_bytes"), format_args!("{bytes}u"));
        for place in places {
            c::place(out, &format!("trib_{name}"), place);
        }
    }
    c::title(out, "Limits of rings and requests");
    c::define(
        out,
        "trib_ring_log_max",
        format_args!("{}u", tributary_protocol::card::command::RING_LOG_MAX),
    );
    c::define(
        out,
        "trib_ring_align",
        format_args!(
            "{}u",
            tributary_protocol::card::command::argument::create_qp::RING_ALIGN
        ),
    );
    c::define(
        out,
        "trib_head_max",
        format_args!("{}u", descriptor::HEAD_MAX),
    );
    c::title(out, "version_flags of work requests and completions");
    for field in wire::VERSION_FLAGS {
        c::field(out, "trib_version_flags", field);
    }
    c::title(out, "flags of work requests");
    for field in descriptor::flags::FLAGS {
        c::field(out, "trib_work_flags", field);
    }
    c::codes(
        out,
        "trib_opcode",
        "Opcodes of work requests",
        &codes!(descriptor::Opcode),
    );
    c::codes(
        out,
        "trib_of",
        "What a completion is of",
        &codes!(descriptor::Of),
    );
    c::codes(
        out,
        "trib_outcome",
        "How a request ended: status of a completion",
        &codes!(Outcome),
    );
}

fn frames(out: &mut String) {
    for header in &HEADERS {
        c::packet_header(out, "trib", header);
    }
    c::title(out, "Values in frames");
    let hex = |value: u32| format!("0x{value:x}u");
    for (doc, name, value) in [
        (
            "EtherType of IPv4.",
            "ethertype",
            hex(roce::ETHERTYPE.into()),
        ),
        (
            "UDP destination port.",
            "udp_port",
            format!("{}u", roce::UDP_PORT),
        ),
        (
            "First two bytes of MAC addresses; the fabric address follows: node, 12 bits of 0.",
            "mac_prefix",
            hex(address::MAC.into()),
        ),
        (
            "First byte of IPv4 addresses; the node number follows in three bytes.",
            "ip_prefix",
            hex(roce::IP_NET.into()),
        ),
        (
            "BTH opcodes: request, acknowledgement.",
            "bth_request",
            hex(OPCODE_SEND.into()),
        ),
        ("", "bth_acknowledgement", hex(OPCODE_ACK.into())),
        (
            "BTH opcodes of bulk transfers: the first of the receiver window's eight, READ request, its refusal.",
            "bth_window",
            hex(tributary_protocol::rw::opcode(tributary_protocol::rw::MessageType::Data).into()),
        ),
        (
            "",
            "bth_read_request",
            hex(bulk::OPCODE_READ_REQUEST.into()),
        ),
        (
            "",
            "bth_read_refused",
            hex(bulk::OPCODE_READ_REFUSED.into()),
        ),
        (
            "BTH opcode of what the receiver of a transfer says of congestion.",
            "bth_congested",
            hex(bulk::OPCODE_CONGESTED.into()),
        ),
        (
            "Syndromes of acknowledgements: OK, no receive request, refused (plus a code of trib_nak).",
            "syndrome_ok",
            hex(wire::SYNDROME_OK.into()),
        ),
        ("", "syndrome_rnr", hex(wire::SYNDROME_RNR.into())),
        ("", "syndrome_nak", hex(wire::SYNDROME_NAK.into())),
        (
            "Bytes of an acknowledgement's body, version 0 and 1.",
            "ack_bytes_0",
            format!("{}u", wire::ACK_LEN[0]),
        ),
        ("", "ack_bytes_1", format!("{}u", wire::ACK_LEN[1])),
        (
            "Bytes of the ICRC.",
            "icrc_bytes",
            format!("{}u", roce::ICRC_LEN),
        ),
        (
            "Largest payload.",
            "payload_max",
            format!("{}u", wire::MAX_PAYLOAD),
        ),
        (
            "Bytes of operands behind the header of an atomic; bytes that it changes.",
            "operands_bytes",
            format!("{}u", onesided::OPERANDS_LEN),
        ),
        ("", "atomic_bytes", format!("{}u", onesided::ATOMIC_LEN)),
    ] {
        if !doc.is_empty() {
            c::comment(out, doc);
        }
        c::define(out, &format!("trib_{name}"), value);
    }
    c::codes(
        out,
        "trib_nak",
        "Why a request was refused: lower five bits of the syndrome",
        &codes!(tributary_protocol::xud::Nak),
    );
    c::codes(
        out,
        "trib_refusal",
        "Why a READ request of any size is not served",
        &codes!(bulk::Refusal),
    );
    c::codes(
        out,
        "trib_operation",
        "Operations of the one-sided header",
        &codes!(onesided::Operation),
    );
}
