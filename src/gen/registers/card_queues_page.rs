//! The card as pages: rings, frames.

use std::fmt::Write;

use tributary_protocol::bulk::{
    OPCODE_CONGESTED, OPCODE_READ_REFUSED, OPCODE_READ_REQUEST, Refusal,
};
use tributary_protocol::card::command::RING_LOG_MAX;
use tributary_protocol::card::command::argument::create_qp::RING_ALIGN;
use tributary_protocol::card::descriptor::{Of, Opcode, flags};
use tributary_protocol::red::address;
use tributary_protocol::roce;
use tributary_protocol::xud::onesided::Operation;
use tributary_protocol::xud::{Nak, OPCODE_ACK, OPCODE_SEND, OPCODES, Outcome, wire};

use super::card_header::{DESCRIPTORS, HEADERS};
use super::page::{self as p, bits};
use super::{codes, text};

/// Rings, their entries, outcomes.
pub fn queues() -> String {
    let mut out = p::page(
        "Card: rings and their entries",
        "protocol/src/card/descriptor.rs",
    );
    let _ = writeln!(
        out,
        "\nA ring has 2^log entries, log 0 to {RING_LOG_MAX}, and starts at a multiple of {RING_ALIGN} bytes. Indices count entries modulo 2^16; entry \
         i of a ring is at base + (i modulo 2^log) · bytes of an entry. An entry is made of little-endian 64-bit words. Bits without a field are 0; \
         of a request, the card does not look at them."
    );
    for (_, title, bytes, places) in DESCRIPTORS {
        let rows: Vec<_> = places
            .iter()
            .map(|place| {
                vec![
                    place.word.to_string(),
                    bits(place.lsb, place.width),
                    place.name.to_owned(),
                    text(place.doc),
                ]
            })
            .collect();
        let title = format!("{title}, {bytes} bytes");
        p::table(
            &mut out,
            &title,
            &["word", "bits", "field", "meaning"],
            &rows,
        );
    }
    p::fields(&mut out, "version_flags", wire::VERSION_FLAGS);
    out += "\nTogether: version 0 has no flags. Version 1 has any of control, fragment and ordered, or one_sided alone. So 0x10 is a plain message of version 1.\n";
    p::fields(&mut out, "flags of work requests", flags::FLAGS);
    p::codes(&mut out, "Opcodes of work requests", &codes!(Opcode));
    p::codes(&mut out, "What a completion is of", &codes!(Of));
    p::codes(&mut out, "Outcomes: how a request ended", &codes!(Outcome));
    out += "\nOf a receive request: ok, local_protection (its sender is told remote_access), local_queue; unless it ended ok, length is 0. Of a work request: any but \
            flushed, and of other than bulk requests unreachable, unresponsive and aborted, which no card writes: software gives those names. After local_queue the queue pair is in the \
            state error, after any other it goes on. Of a \
            local_queue, all is 0 but status, of, number and phase, and of a work request psn and request.\n";
    out
}

/// Frames.
pub fn wire() -> String {
    let mut out = p::page(
        "Card: frames",
        "protocol/src/roce.rs` and `protocol/src/xud/",
    );
    let _ = writeln!(
        out,
        "\nA frame is: frame headers; for a request XUDETH and payload, for an acknowledgement of version 0 AETH, of version 1 AETH, echo and source; 0 to \
         3 pad bytes of 0; {} bytes of ICRC, least significant byte first. The Ethernet frame check sequence is the MAC's. All fields are big-endian; bits \
         without a field are 0.\n\n\
         BTH opcode {OPCODE_SEND:#x} is a request, {OPCODE_ACK:#x} an acknowledgement; of {:#x} to {:#x} the others are refused. UDP port {}. \
         A request goes to the queue pair that receives it, its acknowledgement to the node and the queue pair that sent it, with the PSN of the request.\n\n\
         Control messages (open, open_ack, refuse) are the payload of requests of version 1 with the flag control alone; win_id is 0, and epoch and win_msn \
         are any, for the acknowledgement to repeat. Fragment header and stream number stand in front of the payload of requests with these flags, the one-sided \
         header of those with one_sided.\n\n\
         Bulk transfers have the BTH opcodes 0xc0 to 0xc7 of the receiver window, whose bodies `protocol/src/rw/wire.rs` declares, with the header transfer behind \
         CONNECT; {OPCODE_READ_REQUEST:#x} and {OPCODE_READ_REFUSED:#x}; and, of cards with the feature congestion, {OPCODE_CONGESTED:#x}. `docs/bulk.md` says who sends what.\n\n\
         The MAC address of node n is {:#06x} and the four bytes of its fabric address, 4,096 n (endpoint 0); its IPv4 address is {} and the three bytes of n.\n\n\
         The ICRC is Ethernet's CRC-32 (polynomial 0x04c11db7, reflected, begun with ones and inverted at the end) over 8 bytes of 0xff and all from the IPv4 \
         header to the last pad byte, with ones where the tables say \"not in the ICRC\". Cards make and check it. The shortest frame has {} bytes, so \
         Ethernet's padding never occurs; a frame with bytes behind its ICRC is refused.\n\n\
         Bits below are those of a big-endian number of so many bytes at the offset.",
        roce::ICRC_LEN,
        OPCODES.start(),
        OPCODES.end(),
        roce::UDP_PORT,
        address::MAC,
        roce::IP_NET,
        roce::FRAME.length + wire::ACK_LEN[0] + roce::ICRC_LEN
    );
    for header in &HEADERS {
        let rows: Vec<_> = header
            .fields
            .iter()
            .map(|field| {
                vec![
                    field.offset.to_string(),
                    field.bytes().to_string(),
                    bits(field.shift(), field.width),
                    field.name.to_owned(),
                    text(field.doc),
                ]
            })
            .collect();
        let title = format!("{}, {} bytes", header.name, header.length);
        let _ = writeln!(out, "\n## {title}\n\n{}", text(header.doc));
        let head = ["offset", "bytes", "bits", "field", "meaning"];
        p::table(&mut out, "", &head, &rows);
    }
    let rows = [
        (
            wire::SYNDROME_OK,
            "acknowledged: the receiver's software will see it",
        ),
        (
            wire::SYNDROME_RNR,
            "no receive request or no completion slot",
        ),
        (
            wire::SYNDROME_NAK,
            "refused; the code is in the lower five bits",
        ),
    ];
    let rows = rows.map(|(code, what)| vec![format!("{code:#04x}"), what.to_owned()]);
    p::table(&mut out, "Syndromes", &["syndrome", "meaning"], &rows);
    p::codes(&mut out, "Why a request was refused", &codes!(Nak));
    p::codes(
        &mut out,
        "Why a READ request of any size is not served",
        &codes!(Refusal),
    );
    p::codes(
        &mut out,
        "Operations of the one-sided header",
        &codes!(Operation),
    );
    out += "\nBehind the one-sided header: of WRITE its bytes; of READ nothing; of FETCH_ADD what is added (8 bytes) and 8 that are ignored; of COMPARE_SWAP \
            what is put (8) and what must be there (8). These numbers and those in memory are little-endian. Behind the header of a READ's answer: the bytes; \
            of an atomic's: nothing. WRITE is acknowledged, the others are answered by a request frame whose PSN and window identity are those of the \
            request.\n";
    out
}
