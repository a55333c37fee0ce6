//! RoCEv2 framing: Ethernet, IPv4, UDP port 4791, base transport header (BTH), body, invariant CRC (ICRC).
//!
//! [`FRAME`] declares the fields up to the body. Behind the body come 0 to 3 pad bytes of 0, so that it ends at a multiple of four
//! bytes, and the ICRC, least significant byte first.
//!
//! Multi-byte fields are big-endian. The Ethernet frame check sequence is the MAC's business and not part of a frame here.

use crate::red::address::{Address, NODES};
use thiserror::Error;

/// EtherType of IPv4.
pub const ETHERTYPE: u16 = 0x0800;
/// IPv4 version 4 and a header of five words.
pub const IP_VERSION: u8 = 0x45;
/// IPv4 flags and fragment offset: don't fragment.
pub const IP_FLAGS: u16 = 0x4000;
/// IPv4 time to live, as sent.
pub const IP_TTL: u8 = 64;
/// IPv4 protocol: UDP.
pub const IP_PROTOCOL: u8 = 17;
/// First byte of the IPv4 addresses of nodes; the other three are the node number.
pub const IP_NET: u8 = 10;
/// Upper 12 bits of the IPv4 address of every node: 10, and four bits above the 20 of its number.
pub const IP_CARDS: u16 = (IP_NET as u16) << 4;
/// Bits of the highest byte of a node number.
const NODE_TOP: u8 = (NODES >> 16) as u8 - 1;
/// Bits that are set in every UDP source port: the dynamic ports.
pub const UDP_SOURCE: u16 = 0xC000;
/// Bits of BTH byte 1 that are 0: all but the pad count.
pub const BTH_ZERO: u8 = 0xCF;
/// ECN field of IPv4, the lowest two bits of the byte of [`F_IP_DSCP`]: 0 cannot be marked, 1 and 2 can (ECT), 3 is (CE).
pub const ECN_MASK: u8 = 3;
/// ECN field of a frame of a card that may be marked: ECT(0).
pub const ECN_CAPABLE: u8 = 2;
/// BECN among the bits of [`F_BTH_ECN`].
pub const BECN: u64 = 0x40;
/// BTH partition key: the default one.
pub const PARTITION_KEY: u16 = 0xFFFF;
/// UDP destination port of RoCEv2.
pub const UDP_PORT: u16 = 4791;
/// Offset of the IPv4 header in a frame.
pub const IP_OFFSET: usize = 14;
/// Offset of the UDP header.
pub const UDP_OFFSET: usize = IP_OFFSET + 20;
/// Offset of the BTH.
pub const BTH_OFFSET: usize = UDP_OFFSET + 8;
/// Offset of the body.
pub const BODY_OFFSET: usize = BTH_OFFSET + 12;
/// Bytes of the ICRC.
pub const ICRC_LEN: usize = 4;
/// Largest body: the largest message of any protocol of the card, 4,096 bytes of payload and its header.
pub const MAX_BODY: usize = 4096 + 64;

header! {
    FRAME "frame" BODY_OFFSET, "Headers of every frame, from the first byte of the Ethernet header on.";
    F_DST_MAC "dst_mac" [0 / 0 +: 48] "Destination MAC: 02:00 and the fabric address of the node, its number times 4,096.",
    F_SRC_MAC "src_mac" [6 / 0 +: 48] "Source MAC, likewise.",
    F_ETHERTYPE "ethertype" [12 / 0 +: 16] "0x0800.",
    F_IP_VERSION "ip_version" [14 / 0 +: 8] "IPv4 version and header length: 0x45.",
    F_IP_DSCP "ip_dscp" [15 / 0 +: 8] "DSCP and ECN: any; not in the ICRC. A card that looks at marks sends ECN, the lower two bits, as 2; a switch makes it 3.",
    F_IP_LENGTH "ip_length" [16 / 0 +: 16] "IPv4 total length: from here to the end of the ICRC.",
    F_IP_ID "ip_id" [18 / 0 +: 16] "Identification: any.",
    F_IP_FLAGS "ip_flags" [20 / 0 +: 16] "Flags and fragment offset: 0x4000, don't fragment.",
    F_IP_TTL "ip_ttl" [22 / 0 +: 8] "Time to live: any; not in the ICRC.",
    F_IP_PROTOCOL "ip_protocol" [23 / 0 +: 8] "17, UDP.",
    F_IP_CHECKSUM "ip_checksum" [24 / 0 +: 16] "Header checksum: checked; not in the ICRC.",
    F_SRC_IP "src_ip" [26 / 0 +: 32] "Source address: 10 and the node number in three bytes. The receiver takes the node from here; bits 31:20 are checked, 10 and 0, since node numbers have 20 bits.",
    F_DST_IP "dst_ip" [30 / 0 +: 32] "Destination address, likewise; not checked.",
    F_UDP_SOURCE "udp_source" [34 / 0 +: 16] "Source port: any.",
    F_UDP_PORT "udp_port" [36 / 0 +: 16] "Destination port: 4791.",
    F_UDP_LENGTH "udp_length" [38 / 0 +: 16] "UDP length: from the UDP header to the end of the ICRC.",
    F_UDP_CHECKSUM "udp_checksum" [40 / 0 +: 16] "0 sent, ignored; not in the ICRC.",
    F_OPCODE "opcode" [42 / 0 +: 8] "BTH opcode.",
    F_BTH_SOLICITED "bth_solicited" [43 / 0 +: 2] "Solicited and migration bits: 0.",
    F_BTH_PAD "bth_pad" [43 / 2 +: 2] "Pad bytes behind the body.",
    F_BTH_VERSION "bth_version" [43 / 4 +: 4] "0.",
    F_PARTITION "partition" [44 / 0 +: 16] "Partition key: 0xffff.",
    F_BTH_ECN "bth_ecn" [46 / 0 +: 8] "FECN, BECN, reserved: any; not in the ICRC. A card that looks at marks sets BECN, bit 6, in the acknowledgement of a request that came marked.",
    F_DEST_QP "dest_qp" [47 / 0 +: 24] "Destination queue pair.",
    F_BTH_ACK "bth_ack" [50 / 0 +: 8] "Acknowledge request and reserved: 0.",
    F_PSN "psn" [51 / 0 +: 24] "Packet sequence number.",
}

/// Addresses of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// Destination MAC.
    pub dst_mac: [u8; 6],
    /// Source MAC.
    pub src_mac: [u8; 6],
    /// Source IPv4 address.
    pub src_ip: [u8; 4],
    /// Destination IPv4 address.
    pub dst_ip: [u8; 4],
    /// UDP source port; spreads flows over equal-cost paths.
    pub src_port: u16,
}

impl Link {
    /// The addresses of two nodes, below [`NODES`]: the MAC address of endpoint 0 as [`Address::mac`] lays it out, IPv4 10 and the
    /// node number in three bytes. Bits beyond 20 are left out.
    #[must_use]
    pub fn between(src: u32, dst: u32) -> Self {
        let mac = |node: u32| Address::unicast(node, 0).mac();
        let ip = |node: u32| {
            [
                IP_NET,
                (node >> 16) as u8 & NODE_TOP,
                (node >> 8) as u8,
                node as u8,
            ]
        };
        Self {
            dst_mac: mac(dst),
            src_mac: mac(src),
            src_ip: ip(src),
            dst_ip: ip(dst),
            src_port: UDP_SOURCE | (src as u16 & !UDP_SOURCE),
        }
    }

    /// Node that the source address names; of a frame that [`decode`] has passed all of it is in these 20 bits.
    #[must_use]
    pub const fn src_node(&self) -> u32 {
        u32::from_be_bytes(self.src_ip) & (NODES - 1)
    }
}

/// The fields of the BTH that vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bth {
    /// Opcode.
    pub opcode: u8,
    /// Destination queue pair, 24 bits.
    pub dest_qp: u32,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
}

/// A frame taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Addresses.
    pub link: Link,
    /// BTH.
    pub bth: Bth,
    /// Body without padding.
    pub body: &'a [u8],
}

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Shorter than the headers and the ICRC.
    #[error("frame of {0} bytes, the shortest is {min}", min = BODY_OFFSET + ICRC_LEN)]
    Short(usize),
    /// A length field disagrees with the frame.
    #[error("{field} says {said}, the frame has {is}")]
    Length {
        /// Which.
        field: &'static str,
        /// Its value.
        said: usize,
        /// What it should be.
        is: usize,
    },
    /// A field has a value that such a frame never has.
    #[error("{field} is {value:#x}, expected {expected:#x}")]
    Field {
        /// Which.
        field: &'static str,
        /// Its value.
        value: u32,
        /// What it should be.
        expected: u32,
    },
    /// The IPv4 header checksum is wrong.
    #[error("IPv4 header checksum is wrong")]
    IpChecksum,
    /// The ICRC is wrong.
    #[error("ICRC is {found:#010x}, should be {computed:#010x}")]
    Icrc {
        /// In the frame.
        found: u32,
        /// Of the frame.
        computed: u32,
    },
    /// A body that does not fit a frame, or a BTH field of more than 24 bits (encoding only).
    #[error("{field} of {value} does not fit, the most is {max}")]
    TooLarge {
        /// Which.
        field: &'static str,
        /// Its value.
        value: usize,
        /// The largest.
        max: usize,
    },
}

/// ICRC of a packet from its IPv4 header to the last byte before the ICRC: the Ethernet CRC-32 over eight bytes of 0xFF and the
/// packet, with every field that a router may change set to ones: IPv4 DSCP/ECN, time to live and checksum, UDP checksum, BTH
/// byte 4. On the wire the result stands least significant byte first. `None` for less than the three headers.
#[must_use]
pub fn icrc(packet: &[u8]) -> Option<u32> {
    let (headers, rest) = packet.split_at_checked(BODY_OFFSET - IP_OFFSET)?;
    let mut masked = [0xFF; 8 + BODY_OFFSET - IP_OFFSET];
    masked[8..].copy_from_slice(headers);
    let ip = 8;
    let udp = ip + UDP_OFFSET - IP_OFFSET;
    let bth = ip + BTH_OFFSET - IP_OFFSET;
    for at in [ip + 1, ip + 8, ip + 10, ip + 11, udp + 6, udp + 7, bth + 4] {
        masked[at] = 0xFF;
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&masked);
    crc.update(rest);
    Some(crc.finalize())
}

/// One's-complement sum of a header as the IPv4 checksum takes it: 0xFFFF for a header with its right checksum in place.
fn ones_sum(header: &[u8]) -> u16 {
    let sum = header.chunks(2).fold(0u32, |sum, pair| {
        sum + u32::from(pair[0]) * 256 + pair.get(1).map_or(0, |low| u32::from(*low))
    });
    let sum = (sum & 0xFFFF) + (sum >> 16);
    ((sum & 0xFFFF) + (sum >> 16)) as u16
}

/// Headers of a frame up to UDP, if it is IPv4 with a header of five words.
fn ipv4(frame: &mut [u8]) -> Option<&mut [u8; UDP_OFFSET]> {
    let (head, _) = frame.split_first_chunk_mut()?;
    is_ipv4(head).then_some(head)
}

fn is_ipv4(head: &[u8; UDP_OFFSET]) -> bool {
    F_ETHERTYPE.get(head) == u64::from(ETHERTYPE) && F_IP_VERSION.get(head) == u64::from(IP_VERSION)
}

/// Marks a frame for congestion (RFC 3168): its ECN field, if it says ECT(0) or ECT(1), becomes CE, and the IPv4 header checksum
/// follows it as RFC 1624 has it, wrong as before if it was wrong. Whether it did; frames other than IPv4 with a header of five
/// words, those that cannot be marked or are, and those too short for the header stay as they are. The ICRC does not cover what
/// changes.
pub fn mark_congestion(frame: &mut [u8]) -> bool {
    let Some(head) = ipv4(frame) else {
        return false;
    };
    let ecn = head[IP_OFFSET + 1] & ECN_MASK;
    if !matches!(ecn, 1 | 2) {
        return false;
    }
    head[IP_OFFSET + 1] |= ECN_MASK;
    let sum = !(F_IP_CHECKSUM.get(head) as u16);
    let (sum, carry) = sum.overflowing_add((ECN_MASK - ecn).into());
    F_IP_CHECKSUM.put(head, !(sum + u16::from(carry)));
    true
}

/// Builds a frame.
///
/// # Errors
/// [`FrameError::TooLarge`].
pub fn encode(link: &Link, bth: &Bth, body: &[u8]) -> Result<Vec<u8>, FrameError> {
    let fits = |field, value: usize, max| {
        if value <= max {
            Ok(())
        } else {
            Err(FrameError::TooLarge { field, value, max })
        }
    };
    fits("body", body.len(), MAX_BODY)?;
    fits("destination queue pair", bth.dest_qp as usize, 0xFF_FFFF)?;
    fits("packet sequence number", bth.psn as usize, 0xFF_FFFF)?;
    let pad = body.len().next_multiple_of(4) - body.len();
    let total = BODY_OFFSET + body.len() + pad + ICRC_LEN;
    let mut head = [0; BODY_OFFSET];
    let mac = |bytes: [u8; 6]| {
        bytes
            .iter()
            .fold(0, |all, byte| all << 8 | u64::from(*byte))
    };
    F_DST_MAC.put(&mut head, mac(link.dst_mac));
    F_SRC_MAC.put(&mut head, mac(link.src_mac));
    F_ETHERTYPE.put(&mut head, ETHERTYPE);
    F_IP_VERSION.put(&mut head, IP_VERSION);
    F_IP_LENGTH.put(&mut head, (total - IP_OFFSET) as u16);
    F_IP_FLAGS.put(&mut head, IP_FLAGS);
    F_IP_TTL.put(&mut head, IP_TTL);
    F_IP_PROTOCOL.put(&mut head, IP_PROTOCOL);
    F_SRC_IP.put(&mut head, u32::from_be_bytes(link.src_ip));
    F_DST_IP.put(&mut head, u32::from_be_bytes(link.dst_ip));
    let checksum = !ones_sum(&head[IP_OFFSET..UDP_OFFSET]);
    F_IP_CHECKSUM.put(&mut head, checksum);
    F_UDP_SOURCE.put(&mut head, link.src_port);
    F_UDP_PORT.put(&mut head, UDP_PORT);
    F_UDP_LENGTH.put(&mut head, (total - UDP_OFFSET) as u16);
    F_OPCODE.put(&mut head, bth.opcode);
    F_BTH_PAD.put(&mut head, pad as u8);
    F_PARTITION.put(&mut head, PARTITION_KEY);
    F_DEST_QP.put(&mut head, bth.dest_qp);
    F_PSN.put(&mut head, bth.psn);
    let mut frame = Vec::with_capacity(total);
    frame.extend_from_slice(&head);
    frame.extend_from_slice(body);
    frame.resize(frame.len() + pad, 0);
    if let Some(crc) = icrc(&frame[IP_OFFSET..]) {
        frame.extend_from_slice(&crc.to_le_bytes());
    }
    Ok(frame)
}

/// Says of a frame that switches may mark it, ECT(0); one that is not IPv4 stays as it is.
pub fn allow_marks(frame: &mut [u8]) {
    if let Some(head) = ipv4(frame) {
        head[IP_OFFSET + 1] = head[IP_OFFSET + 1] & !ECN_MASK | ECN_CAPABLE;
        F_IP_CHECKSUM.put(head, 0u16);
        let checksum = !ones_sum(&head[IP_OFFSET..]);
        F_IP_CHECKSUM.put(head, checksum);
    }
}

/// Whether a frame was marked on its way, CE.
#[must_use]
pub fn is_marked(frame: &[u8]) -> bool {
    let head = frame.first_chunk();
    head.is_some_and(|head| is_ipv4(head) && head[IP_OFFSET + 1] & ECN_MASK == ECN_MASK)
}

/// Says in an acknowledgement that what it answers came marked (BECN).
pub fn tell_mark(frame: &mut [u8]) {
    if frame.len() >= BODY_OFFSET {
        let flags = F_BTH_ECN.get(frame);
        F_BTH_ECN.put(frame, flags | BECN);
    }
}

/// Whether an acknowledgement says so.
#[must_use]
pub fn tells_mark(frame: &[u8]) -> bool {
    frame.len() >= BODY_OFFSET && F_BTH_ECN.get(frame) & BECN != 0
}

/// Takes a frame apart after checking its checksum, ICRC, lengths and fixed fields.
///
/// # Errors
/// The first check that fails.
pub fn decode(frame: &[u8]) -> Result<Frame<'_>, FrameError> {
    if frame.len() < BODY_OFFSET + ICRC_LEN {
        return Err(FrameError::Short(frame.len()));
    }
    let Some((head, _)) = frame.split_first_chunk::<BODY_OFFSET>() else {
        return Err(FrameError::Short(frame.len()));
    };
    let field = |field, value: u32, expected: u32| {
        if value == expected {
            Ok(())
        } else {
            Err(FrameError::Field {
                field,
                value,
                expected,
            })
        }
    };
    let length = |field, said: u32, is: usize| {
        if said as usize == is {
            Ok(())
        } else {
            Err(FrameError::Length {
                field,
                said: said as usize,
                is,
            })
        }
    };
    field("EtherType", F_ETHERTYPE.get(head) as u32, ETHERTYPE.into())?;
    field(
        "IPv4 version and header length",
        F_IP_VERSION.get(head) as u32,
        IP_VERSION.into(),
    )?;
    if ones_sum(&frame[IP_OFFSET..UDP_OFFSET]) != 0xFFFF {
        return Err(FrameError::IpChecksum);
    }
    length(
        "IPv4 total length",
        F_IP_LENGTH.get(head) as u32,
        frame.len() - IP_OFFSET,
    )?;
    field(
        "IPv4 flags and fragment offset",
        F_IP_FLAGS.get(head) as u32,
        IP_FLAGS.into(),
    )?;
    field(
        "IPv4 protocol",
        F_IP_PROTOCOL.get(head) as u32,
        IP_PROTOCOL.into(),
    )?;
    field(
        "UDP destination port",
        F_UDP_PORT.get(head) as u32,
        UDP_PORT.into(),
    )?;
    field(
        "upper 12 bits of the IPv4 source address",
        (F_SRC_IP.get(head) >> 20) as u32,
        IP_CARDS.into(),
    )?;
    length(
        "UDP length",
        F_UDP_LENGTH.get(head) as u32,
        frame.len() - UDP_OFFSET,
    )?;
    let crc_at = frame.len() - ICRC_LEN;
    let found = u32::from_le_bytes([
        frame[crc_at],
        frame[crc_at + 1],
        frame[crc_at + 2],
        frame[crc_at + 3],
    ]);
    let computed = icrc(&frame[IP_OFFSET..crc_at]).ok_or(FrameError::Short(frame.len()))?;
    if found != computed {
        return Err(FrameError::Icrc { found, computed });
    }
    let flags = frame[BTH_OFFSET + 1];
    field("BTH flags and version", u32::from(flags & BTH_ZERO), 0)?;
    field(
        "BTH partition key",
        F_PARTITION.get(head) as u32,
        PARTITION_KEY.into(),
    )?;
    field("BTH acknowledge request", F_BTH_ACK.get(head) as u32, 0)?;
    let pad = F_BTH_PAD.get(head) as usize;
    let padded = &frame[BODY_OFFSET..crc_at];
    let (body, padding) = padded
        .split_at_checked(padded.len().wrapping_sub(pad))
        .ok_or(FrameError::Length {
            field: "pad count",
            said: pad,
            is: padded.len(),
        })?;
    field(
        "length of body and pad modulo 4",
        (padded.len() % 4) as u32,
        0,
    )?;
    field(
        "pad",
        padding.iter().fold(0, |all, byte| all | u32::from(*byte)),
        0,
    )?;
    let mut link = Link {
        dst_mac: [0; 6],
        src_mac: [0; 6],
        src_ip: (F_SRC_IP.get(head) as u32).to_be_bytes(),
        dst_ip: (F_DST_IP.get(head) as u32).to_be_bytes(),
        src_port: F_UDP_SOURCE.get(head) as u16,
    };
    link.dst_mac.copy_from_slice(&frame[..6]);
    link.src_mac.copy_from_slice(&frame[6..12]);
    let bth = Bth {
        opcode: F_OPCODE.get(head) as u8,
        dest_qp: F_DEST_QP.get(head) as u32,
        psn: F_PSN.get(head) as u32,
    };
    Ok(Frame { link, bth, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text
            .bytes()
            .filter(u8::is_ascii_hexdigit)
            .map(|c| (c as char).to_digit(16).unwrap() as u8)
            .collect();
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect()
    }

    /// A congestion notification captured on a ConnectX-4 Lx, from the RoCE tests of Scapy (test/contrib/roce.uts).
    #[test]
    fn icrc_of_a_captured_cnp_packet() {
        let frame = hex(
            "e41d2dab2bc2 7cfe90643b32 0800 45c2 003c 718c 4000 4011 9161 0a001101 0a001201 0000 12b7 0028 0000
             81 00 ffff 40 000118 00 000000 0000000000000000 0000000000000000 82fd002a",
        );
        let crc_at = frame.len() - ICRC_LEN;
        assert_eq!(
            icrc(&frame[IP_OFFSET..crc_at]).unwrap().to_le_bytes(),
            frame[crc_at..]
        );
        let decoded = decode(&frame).unwrap();
        assert_eq!(
            (decoded.bth.opcode, decoded.bth.dest_qp, decoded.body),
            (0x81, 0x118, [0; 16].as_slice())
        );
    }

    /// The unreliable-connection SEND of the same file: UDP checksum in place, migration bit set, pad count 2.
    #[test]
    fn icrc_of_a_send_packet() {
        let packet = hex(
            "4501 0040 0478 4000 4011 b4d5 c0a80007 c0a80007 c000 12b7 002c aca2
             24 60 ffff 00 0000d3 00 cf1710 4630818be28935d90e9a9550 5401be885e500000 78f353f3",
        );
        let crc_at = packet.len() - ICRC_LEN;
        assert_eq!(
            icrc(&packet[..crc_at]).unwrap().to_le_bytes(),
            packet[crc_at..]
        );
    }

    #[test]
    fn cl_04_a_frame_that_may_be_marked_is_the_same_frame() {
        let bth = Bth {
            opcode: 0xC0,
            dest_qp: 1,
            psn: 2,
        };
        let plain = encode(&Link::between(1, 2), &bth, &[7; 33]).unwrap();
        let mut frame = plain.clone();
        allow_marks(&mut frame);
        assert!(!is_marked(&frame) && frame != plain);
        assert!(mark_congestion(&mut frame) && is_marked(&frame));
        tell_mark(&mut frame);
        assert!(tells_mark(&frame) && !tells_mark(&plain));
        assert_eq!(decode(&frame).unwrap(), decode(&plain).unwrap());
        // Short ones, and those of other protocols, stay as they are.
        let mut other = [0xFF; 60];
        allow_marks(&mut other);
        assert!(other == [0xFF; 60] && !is_marked(&other));
        for length in 0..UDP_OFFSET {
            let mut short = plain[..length].to_vec();
            allow_marks(&mut short);
            assert!(short == plain[..length] && !is_marked(&short));
        }
    }

    #[test]
    fn ipv4_checksum_of_the_captured_header() {
        assert_eq!(
            ones_sum(&hex("45c2 003c 718c 4000 4011 9161 0a001101 0a001201")),
            0xFFFF
        );
    }

    /// A frame with that byte of DSCP and ECN, its checksum right.
    fn with_tos(tos: u8) -> Vec<u8> {
        let bth = Bth {
            opcode: 4,
            dest_qp: 1,
            psn: 2,
        };
        let mut frame = encode(&Link::between(3, 7), &bth, &[5; 33]).unwrap();
        frame[15] = tos;
        frame[24..26].fill(0);
        let checksum = !ones_sum(&frame[IP_OFFSET..UDP_OFFSET]);
        frame[24..26].copy_from_slice(&checksum.to_be_bytes());
        frame
    }

    #[test]
    fn cl_04_a_mark_changes_ecn_and_checksum_of_ect_frames_alone() {
        for tos in 0..=u8::MAX {
            let before = with_tos(tos);
            let mut frame = before.clone();
            let can = matches!(tos & 3, 1 | 2);
            assert_eq!(mark_congestion(&mut frame), can, "{tos:#x}");
            if can {
                assert_eq!(frame[15], tos | 3);
                let mut other = frame.clone();
                other[15] = before[15];
                other[24..26].copy_from_slice(&before[24..26]);
                assert_eq!(other, before, "{tos:#x}");
            } else {
                assert_eq!(frame, before, "{tos:#x}");
            }
            // Header checksum and ICRC are right, so it is the frame that it was.
            let sent = decode(&before).unwrap();
            assert_eq!(decode(&frame).unwrap(), sent, "{tos:#x}");
            assert!(!mark_congestion(&mut frame), "{tos:#x}: marked twice");
        }
    }

    /// The identification moves the checksum over all values that a right one has; a wrong one stays wrong by as much.
    #[test]
    fn cl_04_the_checksum_is_right_after_a_mark_whatever_it_was() {
        let mut seen = std::collections::BTreeSet::new();
        for ecn in [1, 2] {
            let mut frame = with_tos(ecn);
            for id in 0..=u16::MAX {
                frame[15] = ecn;
                frame[18..20].copy_from_slice(&id.to_be_bytes());
                frame[24..26].fill(0);
                let checksum = !ones_sum(&frame[IP_OFFSET..UDP_OFFSET]);
                frame[24..26].copy_from_slice(&checksum.to_be_bytes());
                seen.insert(checksum);
                assert!(mark_congestion(&mut frame));
                assert_eq!(ones_sum(&frame[IP_OFFSET..UDP_OFFSET]), 0xFFFF, "{id:#x}");
            }
        }
        // A header that is not all zero never has the checksum 0xffff.
        assert_eq!(seen.len(), 0xFFFF);
        for (ecn, before, after) in [
            (1, 0x0000, 0xFFFD_u16),
            (2, 0x0000, 0xFFFE),
            (1, 0x0001, 0xFFFE),
            (2, 0x0001, 0x0000),
            (1, 0x0002, 0x0000),
            (1, 0xFFFF, 0xFFFD),
            (2, 0xFFFF, 0xFFFE),
        ] {
            let mut frame = with_tos(ecn);
            frame[24..26].copy_from_slice(&u16::to_be_bytes(before));
            assert!(mark_congestion(&mut frame));
            assert_eq!(frame[24..26], after.to_be_bytes(), "{before:#x}");
        }
    }

    #[test]
    fn cl_04_what_is_not_ipv4_or_too_short_is_not_marked() {
        let whole = with_tos(2);
        for length in 0..UDP_OFFSET {
            let mut frame = whole[..length].to_vec();
            assert!(!mark_congestion(&mut frame), "{length} bytes");
            assert_eq!(frame, whole[..length]);
        }
        for bit in 0..24 {
            let mut frame = whole.clone();
            frame[12 + bit / 8] ^= 1 << (bit % 8);
            let before = frame.clone();
            assert!(!mark_congestion(&mut frame), "bit {bit}");
            assert_eq!(frame, before);
        }
    }
}
