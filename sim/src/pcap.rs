//! Frames as pcapng, for Wireshark and its like.
//!
//! One interface for each node: what it sends and what arrives at it, so that a lost packet is
//! seen on one and not on the other. Time stamps are slots × the length of a slot.

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

use crate::rw::{End, Event, Observer};

/// if_tsresol: time stamps in units of 10^-9 s.
const NANOSECONDS: u8 = 9;
/// Longest frame that is kept whole.
const SNAP_LEN: u32 = 65_535;

/// Writes every frame that a node sends or takes.
pub struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
    slot_ns: f64,
}

impl<W: Write> Capture<W> {
    /// Starts a capture; a slot takes `slot_ns` nanoseconds.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn new(out: W, slot_ns: f64) -> Result<Self> {
        let mut writer = PcapNgWriter::with_endianness(out, Endianness::Little)
            .context("cannot write the capture")?;
        for end in [End::Sender, End::Receiver] {
            let mut interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, SNAP_LEN);
            interface
                .options
                .push(InterfaceDescriptionOption::IfName(Cow::Borrowed(
                    end.name(),
                )));
            interface
                .options
                .push(InterfaceDescriptionOption::IfTsResol(NANOSECONDS));
            writer
                .write_pcapng_block(interface)
                .context("cannot write the capture")?;
        }
        Ok(Self { writer, slot_ns })
    }

    /// Ends the capture.
    pub fn into_inner(self) -> W {
        self.writer.into_inner()
    }
}

impl<W: Write> Observer for Capture<W> {
    fn event(&mut self, now: u64, event: &Event<'_>) -> Result<()> {
        let (end, frame) = match event {
            Event::Sent { end, frame, .. } | Event::Arrived { end, frame, .. } => (end, *frame),
            Event::Written(_) | Event::Completed(_) | Event::Ended(_) => return Ok(()),
        };
        self.frame(usize::from(*end == End::Receiver), now, frame)
    }
}

impl<W: Write> Capture<W> {
    /// A frame that the sender (0) or the receiver (1) sent or took in a slot.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn frame(&mut self, end: usize, now: u64, frame: &[u8]) -> Result<()> {
        let block = EnhancedPacketBlock {
            interface_id: u32::from(end > 0),
            timestamp: Duration::from_nanos((now as f64 * self.slot_ns) as u64),
            original_len: frame.len() as u32,
            data: Cow::Borrowed(frame),
            options: Vec::new(),
        };
        self.writer
            .write_pcapng_block(block)
            .context("cannot write the capture")?;
        Ok(())
    }
}
