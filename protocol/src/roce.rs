//! RoCEv2 framing: Ethernet, IPv4, UDP port 4791, base transport header (BTH), body, invariant CRC (ICRC).
//!
//! | offset | bytes | field | value |
//! |---|---|---|---|
//! | 0 | 6 | destination MAC | |
//! | 6 | 6 | source MAC | |
//! | 12 | 2 | EtherType | 0x0800 |
//! | 14 | 1 | IPv4 version, header length | 0x45 |
//! | 15 | 1 | DSCP, ECN | any; not in the ICRC |
//! | 16 | 2 | total length | 44 + body + pad |
//! | 18 | 2 | identification | any |
//! | 20 | 2 | flags, fragment offset | 0x4000 (don't fragment) |
//! | 22 | 1 | time to live | any; not in the ICRC |
//! | 23 | 1 | protocol | 17 |
//! | 24 | 2 | header checksum | checked; not in the ICRC |
//! | 26 | 4 | source address | |
//! | 30 | 4 | destination address | |
//! | 34 | 2 | UDP source port | any |
//! | 36 | 2 | UDP destination port | 4791 |
//! | 38 | 2 | UDP length | 24 + body + pad |
//! | 40 | 2 | UDP checksum | 0 sent, ignored; not in the ICRC |
//! | 42 | 1 | BTH opcode | 0xC0 to 0xFF: the card's own |
//! | 43 | 1 | solicited (1), migration (1), pad count (2), version (4) | 0, 0, pad, 0 |
//! | 44 | 2 | partition key | 0xFFFF |
//! | 46 | 1 | FECN (1), BECN (1), reserved (6) | any; not in the ICRC |
//! | 47 | 3 | destination queue pair | |
//! | 50 | 1 | acknowledge request (1), reserved (7) | 0 |
//! | 51 | 3 | packet sequence number | |
//! | 54 | n | body, then 0 to 3 pad bytes of 0 | |
//! | 54 + n + pad | 4 | ICRC, least significant byte first | |
//!
//! Multi-byte fields are big-endian. The Ethernet frame check sequence is the MAC's business and not part of a frame here.

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
/// First byte of the IPv4 addresses that simulated nodes and cards have; the second is 0, then comes the node.
pub const IP_NET: u8 = 10;
/// First byte of their MAC addresses: locally administered.
pub const MAC_NET: u8 = 2;
/// Bits that are set in every UDP source port: the dynamic ports.
pub const UDP_SOURCE: u16 = 0xC000;
/// Bits of BTH byte 1 that are 0: all but the pad count.
pub const BTH_ZERO: u8 = 0xCF;
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
    /// The addresses that simulated nodes have: MAC 02:00:00:00:hh:ll, IPv4 10.0.hh.ll, for node number hhll.
    #[must_use]
    pub fn between(src: u16, dst: u16) -> Self {
        let mac = |node: u16| [MAC_NET, 0, 0, 0, (node >> 8) as u8, node as u8];
        let ip = |node: u16| [IP_NET, 0, (node >> 8) as u8, node as u8];
        Self {
            dst_mac: mac(dst),
            src_mac: mac(src),
            src_ip: ip(src),
            dst_ip: ip(dst),
            src_port: UDP_SOURCE | (src & !UDP_SOURCE),
        }
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
    let mut frame = Vec::with_capacity(total);
    frame.extend_from_slice(&link.dst_mac);
    frame.extend_from_slice(&link.src_mac);
    frame.extend_from_slice(&ETHERTYPE.to_be_bytes());
    frame.extend_from_slice(&[IP_VERSION, 0]);
    frame.extend_from_slice(&((total - IP_OFFSET) as u16).to_be_bytes());
    frame.extend_from_slice(&u32::from(IP_FLAGS).to_be_bytes());
    frame.extend_from_slice(&[IP_TTL, IP_PROTOCOL, 0, 0]);
    frame.extend_from_slice(&link.src_ip);
    frame.extend_from_slice(&link.dst_ip);
    let checksum = !ones_sum(&frame[IP_OFFSET..]);
    frame[IP_OFFSET + 10..IP_OFFSET + 12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend_from_slice(&link.src_port.to_be_bytes());
    frame.extend_from_slice(&UDP_PORT.to_be_bytes());
    frame.extend_from_slice(&((total - UDP_OFFSET) as u16).to_be_bytes());
    frame.extend_from_slice(&[0, 0, bth.opcode, (pad as u8) << 4]);
    frame.extend_from_slice(&PARTITION_KEY.to_be_bytes());
    frame.extend_from_slice(&bth.dest_qp.to_be_bytes());
    frame.extend_from_slice(&bth.psn.to_be_bytes());
    frame.extend_from_slice(body);
    frame.resize(frame.len() + pad, 0);
    if let Some(crc) = icrc(&frame[IP_OFFSET..]) {
        frame.extend_from_slice(&crc.to_le_bytes());
    }
    Ok(frame)
}

/// Takes a frame apart after checking its checksum, ICRC, lengths and fixed fields.
///
/// # Errors
/// The first check that fails.
pub fn decode(frame: &[u8]) -> Result<Frame<'_>, FrameError> {
    if frame.len() < BODY_OFFSET + ICRC_LEN {
        return Err(FrameError::Short(frame.len()));
    }
    let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let triple = |at: usize| u32::from_be_bytes([0, frame[at], frame[at + 1], frame[at + 2]]);
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
    let length = |field, said: u16, is: usize| {
        if usize::from(said) == is {
            Ok(())
        } else {
            Err(FrameError::Length {
                field,
                said: said.into(),
                is,
            })
        }
    };
    field("EtherType", word(12).into(), ETHERTYPE.into())?;
    field(
        "IPv4 version and header length",
        frame[IP_OFFSET].into(),
        IP_VERSION.into(),
    )?;
    if ones_sum(&frame[IP_OFFSET..UDP_OFFSET]) != 0xFFFF {
        return Err(FrameError::IpChecksum);
    }
    length(
        "IPv4 total length",
        word(IP_OFFSET + 2),
        frame.len() - IP_OFFSET,
    )?;
    field(
        "IPv4 flags and fragment offset",
        word(IP_OFFSET + 6).into(),
        IP_FLAGS.into(),
    )?;
    field(
        "IPv4 protocol",
        frame[IP_OFFSET + 9].into(),
        IP_PROTOCOL.into(),
    )?;
    field(
        "UDP destination port",
        word(UDP_OFFSET + 2).into(),
        UDP_PORT.into(),
    )?;
    length("UDP length", word(UDP_OFFSET + 4), frame.len() - UDP_OFFSET)?;
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
        word(BTH_OFFSET + 2).into(),
        PARTITION_KEY.into(),
    )?;
    field("BTH acknowledge request", frame[BTH_OFFSET + 8].into(), 0)?;
    let pad = usize::from(flags >> 4 & 3);
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
        src_ip: [0; 4],
        dst_ip: [0; 4],
        src_port: word(UDP_OFFSET),
    };
    link.dst_mac.copy_from_slice(&frame[..6]);
    link.src_mac.copy_from_slice(&frame[6..12]);
    link.src_ip
        .copy_from_slice(&frame[IP_OFFSET + 12..IP_OFFSET + 16]);
    link.dst_ip
        .copy_from_slice(&frame[IP_OFFSET + 16..UDP_OFFSET]);
    let bth = Bth {
        opcode: frame[BTH_OFFSET],
        dest_qp: triple(BTH_OFFSET + 5),
        psn: triple(BTH_OFFSET + 9),
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
    fn ipv4_checksum_of_the_captured_header() {
        assert_eq!(
            ones_sum(&hex("45c2 003c 718c 4000 4011 9161 0a001101 0a001201")),
            0xFFFF
        );
    }
}
