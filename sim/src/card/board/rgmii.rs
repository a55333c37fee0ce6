//! A PHY of 1 Gb/s at the pads of its RGMII, with a line of its own: frames in and out, as IEEE 802.3 has them.

use std::collections::VecDeque;

use anyhow::{Result, ensure};

use crate::verilate::{Model, Port};

/// Preamble and start of a frame.
const PREAMBLE: [u8; 8] = [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5];
/// Bytes of the shortest frame, FCS included, and of the gap between two.
const SHORTEST: usize = 64;
const GAP: usize = 12;
/// What a PHY says between frames: the line is up, 1 Gb/s, full duplex.
const STATUS: u64 = 0b1101;

/// The pads of a PHY. It delays both clocks, so bits are taken at their edges.
pub(super) struct Rgmii {
    name: &'static str,
    rxc: Port,
    rx: [Port; 2],
    tx: [Port; 2],
    /// Bytes on their way to the board with preamble, FCS and gap; none is a byte of the gap.
    line: VecDeque<Option<u8>>,
    now: Option<u8>,
    /// The lower half of what the board sends, and its frame so far.
    low: u8,
    valid: bool,
    frame: Vec<u8>,
    gap: usize,
}

impl Rgmii {
    /// # Errors
    /// The model has no such pads.
    pub fn new(model: &Model, name: &'static str) -> Result<Self> {
        let pad = |end: &str| model.port(&format!("{name}_rgmii_{end}"));
        Ok(Self {
            name,
            rxc: pad("rxc")?,
            rx: [pad("rx_ctl")?, pad("rxd")?],
            tx: [pad("tx_ctl")?, pad("txd")?],
            line: VecDeque::new(),
            now: None,
            low: 0,
            valid: false,
            frame: vec![],
            gap: GAP,
        })
    }

    /// A frame for the board, behind all others.
    pub fn send(&mut self, frame: &[u8], damaged: bool) {
        let mut bytes = frame.to_vec();
        bytes.resize(bytes.len().max(SHORTEST - 4), 0);
        let fcs = crc32fast::hash(&bytes) ^ u32::from(damaged);
        bytes.extend(fcs.to_le_bytes());
        self.line
            .extend(PREAMBLE.into_iter().chain(bytes).map(Some));
        self.line.extend([None; GAP]);
    }

    /// Bytes that are still to be sent to the board.
    pub fn waiting(&self) -> usize {
        self.line.len()
    }

    /// An edge of the clock that comes from the PHY.
    pub fn receive_edge(&mut self, model: &mut Model, rising: bool) {
        if rising {
            self.now = self.line.pop_front().flatten();
        }
        let shift = if rising { 0 } else { 4 };
        let half = self
            .now
            .map_or(STATUS, |byte| (u64::from(byte) >> shift) & 15);
        model.set(self.rx[0], self.now.is_some().into());
        model.set(self.rx[1], half);
        model.set(self.rxc, rising.into());
    }

    /// Behind an edge of the clock of what is sent: the frame that has ended with it, without FCS.
    ///
    /// # Errors
    /// What was sent is no good frame.
    pub fn sent_edge(&mut self, model: &Model, rising: bool) -> Result<Option<Vec<u8>>> {
        let control = model.is_set(self.tx[0]);
        let half = model.get(self.tx[1]) as u8;
        if rising {
            (self.valid, self.low) = (control, half);
            return Ok(None);
        }
        ensure!(control == self.valid, "{}: an error was sent", self.name);
        if self.valid {
            self.frame.push(half << 4 | self.low);
            return Ok(None);
        }
        let frame = std::mem::take(&mut self.frame);
        if frame.is_empty() {
            self.gap += 1;
            return Ok(None);
        }
        let gap = std::mem::replace(&mut self.gap, 1);
        ensure!(gap >= GAP, "{}: a gap of {gap} bytes", self.name);
        let good = frame.strip_prefix(&PREAMBLE).and_then(|frame| {
            let (bytes, fcs) = frame.split_last_chunk::<4>()?;
            (frame.len() >= SHORTEST && crc32fast::hash(bytes).to_le_bytes() == *fcs)
                .then(|| bytes.to_vec())
        });
        ensure!(good.is_some(), "{}: sent {frame:02x?}", self.name);
        Ok(good)
    }
}
