//! Frames as IEEE 802.3 has them on a GMII, made and read without the MAC's own code.

use tributary_sim::verilate::{Model, Port};

use crate::bench::{Line, fcs_fits};

/// What stands at a GMII in a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    pub valid: bool,
    pub error: bool,
    pub byte: u8,
}

/// The ports of a GMII.
pub struct Gmii {
    rx: [Port; 3],
    tx: [Port; 3],
}

impl Line for Gmii {
    type Symbol = Symbol;
    const BLOCK: &str = "mac_gmii";
    const HALF: u64 = 40_000;

    fn new(model: &Model) -> Self {
        let port = |name: &str| model.port(name).unwrap();
        Self {
            rx: ["gmii_rxd", "gmii_rx_dv", "gmii_rx_er"].map(port),
            tx: ["gmii_txd", "gmii_tx_en", "gmii_tx_er"].map(port),
        }
    }

    fn sent(&self, model: &Model) -> Symbol {
        let [byte, valid, error] = self.tx;
        Symbol {
            valid: model.is_set(valid),
            error: model.is_set(error),
            byte: model.get(byte) as u8,
        }
    }

    fn comes(&self, model: &mut Model, symbol: Symbol) {
        let [byte, valid, error] = self.rx;
        model.set(byte, symbol.byte.into());
        model.set(valid, symbol.valid.into());
        model.set(error, symbol.error.into());
    }
}

/// A frame on the line that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Clocks without a byte in front of it.
    pub gap: usize,
    /// Everything behind the start of frame, FCS included.
    pub bytes: Vec<u8>,
    /// tx_er was high.
    pub error: bool,
}

impl Frame {
    /// Whether the FCS is right, and no error was marked.
    pub fn good(&self) -> bool {
        !self.error && fcs_fits(&self.bytes)
    }
}

/// The frames of what was sent; a byte that is no preamble where one belongs is a failure.
pub fn read(symbols: &[Symbol]) -> Vec<Frame> {
    let mut frames = vec![];
    let mut at = 0;
    while at < symbols.len() {
        let gap = symbols[at..].iter().take_while(|s| !s.valid).count();
        at += gap;
        let taken: Vec<_> = symbols[at..].iter().take_while(|s| s.valid).collect();
        at += taken.len();
        if taken.is_empty() || at == symbols.len() {
            break;
        }
        assert!(taken.len() > 8, "a frame of {} bytes", taken.len());
        assert!(taken[..7].iter().all(|s| s.byte == 0x55), "preamble");
        assert_eq!(taken[7].byte, 0xD5, "start of frame");
        frames.push(Frame {
            gap,
            bytes: taken[8..].iter().map(|s| s.byte).collect(),
            error: taken.iter().any(|s| s.error),
        });
    }
    frames
}

/// Bytes on the line with so long a preamble, behind a gap.
pub fn put(
    line: &mut impl Extend<Symbol>,
    gap: usize,
    preamble: usize,
    bytes: &[u8],
    error: Option<usize>,
) {
    line.extend(std::iter::repeat_n(Symbol::default(), gap));
    let start = std::iter::repeat_n(0x55, preamble).chain([0xD5]);
    let symbol = |byte| Symbol {
        valid: true,
        error: false,
        byte,
    };
    line.extend(start.map(symbol));
    line.extend(bytes.iter().enumerate().map(|(at, &byte)| Symbol {
        error: error == Some(at),
        ..symbol(byte)
    }));
}
