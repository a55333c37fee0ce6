//! What was seen on the cables, as pcapng: an interface for each end of each cable, so that a lost frame is seen at one and
//! not at the other.

use std::borrow::Cow;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness};

use super::cable::{Fate, Sighting};
use super::describe::Fabric;

/// if_tsresol: time stamps in units of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Writes a capture; a clock takes `clock_ns` nanoseconds. Frames are stamped with their first word where they leave and with
/// their last word where they arrive.
///
/// # Errors
/// `out` cannot be written.
pub fn write<W: Write>(
    out: W,
    fabric: &Fabric,
    sightings: &[Sighting],
    clock_ns: f64,
) -> Result<W> {
    let mut writer = PcapNgWriter::with_endianness(out, Endianness::Little)
        .context("cannot write the capture")?;
    for cable in &fabric.cables {
        for end in cable.ends {
            let mut interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0);
            interface
                .options
                .push(InterfaceDescriptionOption::IfName(Cow::Owned(
                    fabric.name(end),
                )));
            interface
                .options
                .push(InterfaceDescriptionOption::IfTsResol(NANOSECONDS));
            writer
                .write_pcapng_block(interface)
                .context("cannot write the capture")?;
        }
    }
    let mut packets: Vec<(u64, usize, &Sighting)> = Vec::new();
    for sighting in sightings {
        packets.push((sighting.start, 2 * sighting.cable + sighting.from, sighting));
        if sighting.fate != Fate::Lost {
            packets.push((
                sighting.end,
                2 * sighting.cable + 1 - sighting.from,
                sighting,
            ));
        }
    }
    packets.sort_by_key(|(clock, interface, _)| (*clock, *interface));
    for (clock, interface, sighting) in packets {
        let block = EnhancedPacketBlock {
            interface_id: u32::try_from(interface).unwrap_or(u32::MAX),
            timestamp: Duration::from_nanos((clock as f64 * clock_ns) as u64),
            original_len: u32::try_from(sighting.bytes.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(&sighting.bytes),
            options: Vec::new(),
        };
        writer
            .write_pcapng_block(block)
            .context("cannot write the capture")?;
    }
    Ok(writer.into_inner())
}
