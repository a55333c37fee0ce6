//! TLP streams of the card: a header beside the first word of 64 bits.

use anyhow::Result;
use std::collections::VecDeque;
use tributary_protocol::pcie::Header;

use crate::verilate::{Model, Port, PortError};

/// A TLP as it passes a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawTlp {
    /// Header.
    pub header: Header,
    /// Data, 32 bits each.
    pub data: Vec<u32>,
    /// What stands beside the header: BAR 2:0 and function 15:8 of a request, error of a completion.
    pub beside: u16,
}

/// A word of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beat {
    pub header: Header,
    pub beside: u16,
    pub data: u64,
    pub strb: u8,
    pub sop: bool,
    pub eop: bool,
}

impl RawTlp {
    /// As words; a TLP without data has one.
    pub(super) fn beats(&self) -> impl Iterator<Item = Beat> {
        let last = self.data.len().div_ceil(2).max(1) - 1;
        (0..=last).map(move |i| {
            let word = |i: usize| self.data.get(i).copied().unwrap_or(0);
            Beat {
                header: self.header,
                beside: self.beside,
                data: u64::from(word(2 * i)) | u64::from(word(2 * i + 1)) << 32,
                strb: match self.data.len().saturating_sub(2 * i) {
                    0 => 0,
                    1 => 1,
                    _ => 3,
                },
                sop: i == 0,
                eop: i == last,
            }
        })
    }
}

/// Whether the model has the stream at all.
pub(super) fn present(model: &Model, stream: &str) -> bool {
    model.port(&format!("{stream}_valid")).is_ok()
}

/// A stream into the card.
#[derive(Debug)]
pub(super) struct ToCard {
    valid: Port,
    ready: Port,
    sop: Port,
    eop: Port,
    hdr: Port,
    data: Port,
    strb: Port,
    /// bar_id and func_num, or error.
    beside: [Option<Port>; 2],
    beats: VecDeque<Beat>,
    offered: bool,
}

impl ToCard {
    pub fn new(model: &Model, stream: &str, beside: [Option<&str>; 2]) -> Result<Self, PortError> {
        let port = |name: &str| model.port(&format!("{stream}_{name}"));
        let optional = |name: Option<&str>| name.map(port).transpose();
        Ok(Self {
            valid: port("valid")?,
            ready: port("ready")?,
            sop: port("sop")?,
            eop: port("eop")?,
            hdr: port("hdr")?,
            data: port("data")?,
            strb: port("strb")?,
            beside: [optional(beside[0])?, optional(beside[1])?],
            beats: VecDeque::new(),
            offered: false,
        })
    }

    pub fn push(&mut self, tlp: &RawTlp) {
        self.beats.extend(tlp.beats());
    }

    pub fn push_beat(&mut self, beat: Beat) {
        self.beats.push_back(beat);
    }

    /// The word on offer is the last of its TLP.
    pub fn ends(&self) -> bool {
        self.beats.front().is_some_and(|beat| beat.eop)
    }

    /// Words that wait.
    pub fn waiting(&self) -> usize {
        self.beats.len()
    }

    /// Drives the inputs. What is offered stays until it is taken; beside a word that is not the first there is noise.
    pub fn drive(&mut self, model: &mut Model, moves: bool, noise: u64) -> Result<()> {
        let Some(beat) = self.beats.front().filter(|_| self.offered || moves) else {
            model.set(self.valid, 0);
            return Ok(());
        };
        self.offered = true;
        model.set(self.valid, 1);
        model.set(self.sop, beat.sop.into());
        model.set(self.eop, beat.eop.into());
        model.set(self.data, beat.data);
        model.set(self.strb, beat.strb.into());
        let [a, b, c, d] = beat.header.map(u64::from);
        let (mut header, mut beside) = ([c << 32 | d, a << 32 | b], u64::from(beat.beside));
        if !beat.sop {
            header = [noise, !noise];
            beside = 0;
        }
        model.set_wide(self.hdr, &header)?;
        if let Some(port) = self.beside[0] {
            model.set(port, beside & 0xFF);
        }
        if let Some(port) = self.beside[1] {
            model.set(port, beside >> 8);
        }
        Ok(())
    }

    /// Whether a word passes in this clock.
    pub fn sample(&mut self, model: &Model) -> bool {
        let taken = self.offered && model.is_set(self.ready);
        if taken {
            self.offered = false;
            self.beats.pop_front();
        }
        taken
    }
}

/// A stream out of the card.
#[derive(Debug)]
pub(super) struct FromCard {
    valid: Port,
    ready: Port,
    sop: Port,
    eop: Port,
    hdr: Port,
    /// data and strb, of streams that carry data.
    data: Option<(Port, Port)>,
    takes: bool,
    /// What was offered and not taken in the clock before.
    held: Option<Beat>,
    /// Clock in which the latest TLP was first offered.
    began: u64,
    /// The TLP under way.
    tlp: Option<RawTlp>,
}

impl FromCard {
    pub fn new(model: &Model, stream: &str) -> Result<Self, PortError> {
        let port = |name: &str| model.port(&format!("{stream}_{name}"));
        Ok(Self {
            valid: port("valid")?,
            ready: port("ready")?,
            sop: port("sop")?,
            eop: port("eop")?,
            hdr: port("hdr")?,
            data: match port("data") {
                Ok(data) => Some((data, port("strb")?)),
                Err(_) => None,
            },
            takes: false,
            held: None,
            began: 0,
            tlp: None,
        })
    }

    pub fn drive(&mut self, model: &mut Model, moves: bool) {
        self.takes = moves;
        model.set(self.ready, moves.into());
    }

    /// Whether a word is on offer, and whether it is the last of its TLP.
    pub fn stands(&self, model: &Model) -> (bool, bool) {
        (model.is_set(self.valid), model.is_set(self.eop))
    }

    /// A reset takes back what was offered.
    pub fn forget(&mut self) {
        self.held = None;
        self.tlp = None;
    }

    /// Clock in which the latest TLP was first offered.
    pub fn began(&self) -> u64 {
        self.began
    }

    /// A TLP has begun and not ended.
    pub fn is_within(&self) -> bool {
        self.tlp.is_some()
    }

    fn beat(&self, model: &Model) -> Result<Beat> {
        let mut header = [0; 2];
        model.get_wide(self.hdr, &mut header)?;
        let [low, high] = header;
        let (data, strb) = match self.data {
            Some((data, strb)) => (model.get(data), model.get(strb) as u8),
            None => (0, 0),
        };
        Ok(Beat {
            header: [high >> 32, high, low >> 32, low].map(|word| word as u32),
            beside: 0,
            data,
            strb,
            sop: model.is_set(self.sop),
            eop: model.is_set(self.eop),
        })
    }

    /// The TLP that ends in this clock. What is wrong with the stream goes to `wrong`.
    pub fn sample(
        &mut self,
        model: &Model,
        clock: u64,
        mut wrong: impl FnMut(String),
    ) -> Result<Option<RawTlp>> {
        if !model.is_set(self.valid) {
            if self.held.take().is_some() {
                wrong("valid fell before the word was taken".to_owned());
            }
            return Ok(None);
        }
        let mut beat = self.beat(model)?;
        if beat.sop && self.held.is_none() {
            self.began = clock;
        }
        if !beat.sop {
            // The header counts beside the first word only.
            beat.header = [0; 4];
        }
        if let Some(held) = self.held.take().filter(|held| *held != beat) {
            wrong(format!("{held:x?} became {beat:x?} before it was taken"));
        }
        if !self.takes {
            self.held = Some(beat);
            return Ok(None);
        }
        let fits = match (beat.eop, beat.strb) {
            (_, 3) => true,
            (true, 1) => true,
            // A TLP without data.
            (true, 0) => beat.sop,
            _ => false,
        };
        if !fits {
            wrong(format!("strb {:#b}, eop {}", beat.strb, beat.eop));
        }
        if beat.sop == self.tlp.is_some() {
            wrong(format!("sop {} in the wrong place", beat.sop));
        }
        let mut tlp = match self.tlp.take() {
            Some(tlp) if !beat.sop => tlp,
            _ => RawTlp {
                header: beat.header,
                ..RawTlp::default()
            },
        };
        let words = [beat.data as u32, (beat.data >> 32) as u32];
        tlp.data
            .extend(&words[..usize::from(beat.strb.count_ones() as u8)]);
        if beat.eop {
            return Ok(Some(tlp));
        }
        self.tlp = Some(tlp);
        Ok(None)
    }
}
