//! Frames as IEEE 802.3 has them on an XGMII, made and read without the MAC's own code.

use tributary_sim::verilate::{Model, Port};

use crate::bench::Line;

/// Control characters.
pub const IDLE: u8 = 0x07;
pub const START: u8 = 0xFB;
pub const END: u8 = 0xFD;
pub const ERROR: u8 = 0xFE;
pub const SEQUENCE: u8 = 0x9C;

/// A lane: its byte, and whether that is a control character.
pub type Lane = (u8, bool);

/// Eight lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes(pub [Lane; 8]);

impl Default for Lanes {
    fn default() -> Self {
        Self([(IDLE, true); 8])
    }
}

/// The ports of an XGMII.
pub struct Xgmii {
    rx: [Port; 2],
    tx: [Port; 2],
}

impl Line for Xgmii {
    type Symbol = Lanes;
    const BLOCK: &str = "mac_xgmii";
    const HALF: u64 = 32_000;

    fn new(model: &Model) -> Self {
        let port = |name: &str| model.port(name).unwrap();
        Self {
            rx: ["xgmii_rxd", "xgmii_rxc"].map(port),
            tx: ["xgmii_txd", "xgmii_txc"].map(port),
        }
    }

    fn sent(&self, model: &Model) -> Lanes {
        let bytes = model.get(self.tx[0]).to_le_bytes();
        let control = model.get(self.tx[1]);
        Lanes(std::array::from_fn(|at| {
            (bytes[at], control >> at & 1 == 1)
        }))
    }

    fn comes(&self, model: &mut Model, lanes: Lanes) {
        let bytes = lanes.0.map(|(byte, _)| byte);
        let control = (0..8).fold(0, |bits, at| bits | u64::from(lanes.0[at].1) << at);
        model.set(self.rx[0], u64::from_le_bytes(bytes));
        model.set(self.rx[1], control);
    }
}

/// A frame on the line that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Lanes from the end of the one before to its start, that end included.
    pub gap: usize,
    /// The lane that it starts in.
    pub lane: usize,
    /// Everything behind the preamble and in front of the first control character, FCS included.
    pub bytes: Vec<u8>,
    /// That character was no end.
    pub error: bool,
}

/// The frames of what was sent; a lane that does not belong where it stands is a failure.
pub fn read(sent: &[Lanes]) -> Vec<Frame> {
    let lanes: Vec<Lane> = sent.iter().flat_map(|lanes| lanes.0).collect();
    let mut frames = vec![];
    let (mut at, mut end) = (0, 0);
    // As long as there may be a whole preamble.
    while at + 8 <= lanes.len() {
        if lanes[at] != (START, true) {
            assert_eq!(lanes[at], (IDLE, true), "between frames, lane {at}");
            at += 1;
            continue;
        }
        assert!(at.is_multiple_of(4), "a start in lane {}", at % 8);
        let preamble = [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5].map(|byte| (byte, false));
        assert_eq!(lanes[at + 1..at + 8], preamble, "preamble");
        let (gap, lane) = (at - end, at % 8);
        let bytes: Vec<u8> = lanes[at + 8..]
            .iter()
            .take_while(|&&(_, control)| !control)
            .map(|&(byte, _)| byte)
            .collect();
        at += 8 + bytes.len();
        let Some(&(last, _)) = lanes.get(at) else {
            break;
        };
        assert!(last == END || last == ERROR, "{last:#x} in a frame");
        let error = last == ERROR;
        at += usize::from(error);
        assert_eq!(lanes.get(at), Some(&(END, true)));
        end = at;
        at += 1;
        frames.push(Frame {
            gap,
            lane,
            bytes,
            error,
        });
    }
    frames
}

/// A line to come, lane by lane.
#[derive(Default)]
pub struct Maker(Vec<Lane>);

impl Maker {
    pub fn put(&mut self, lanes: impl IntoIterator<Item = Lane>) {
        self.0.extend(lanes);
    }

    /// Lane of what comes next.
    pub fn lane(&self) -> usize {
        self.0.len() % 8
    }

    /// Idle characters: so many at least, and until a frame may start.
    pub fn idle(&mut self, at_least: usize) {
        self.put(std::iter::repeat_n((IDLE, true), at_least));
        while !self.0.len().is_multiple_of(4) {
            self.put([(IDLE, true)]);
        }
    }

    /// Start and the rest of the preamble.
    pub fn preamble(&mut self) {
        self.put([(START, true)]);
        self.data(&[0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5]);
    }

    pub fn data(&mut self, bytes: &[u8]) {
        self.put(bytes.iter().map(|&byte| (byte, false)));
    }

    pub fn end(&mut self) {
        self.put([(END, true)]);
    }

    /// A frame behind its preamble.
    pub fn frame(&mut self, bytes: &[u8]) {
        self.preamble();
        self.data(bytes);
        self.end();
    }

    /// So many ordered sets of a fault: 1 local, 2 remote.
    pub fn fault(&mut self, kind: u8, sets: usize) {
        self.idle(0);
        for _ in 0..sets {
            self.put([(SEQUENCE, true), (0, false), (0, false), (kind, false)]);
        }
    }

    /// All of it, idle characters behind it.
    pub fn lanes(mut self) -> impl Iterator<Item = Lanes> {
        while !self.0.len().is_multiple_of(8) {
            self.put([(IDLE, true)]);
        }
        let lanes: Vec<Lanes> = self
            .0
            .chunks(8)
            .map(|chunk| Lanes(chunk.try_into().unwrap()))
            .collect();
        lanes.into_iter()
    }
}
