//! The Verilated MAC between three clocks, a line on one side and a core on the other.

use std::collections::VecDeque;

use tributary_hdl::catalog::choose;
use tributary_sim::testbench::Stalls;
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

/// Bytes of the longest frame that counts as good, FCS included.
pub const LONGEST: u64 = 9_022;

/// What stands at a GMII in a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    pub valid: bool,
    pub error: bool,
    pub byte: u8,
}

/// A frame that the MAC has handed to the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub bytes: Vec<u8>,
    pub bad: bool,
}

/// Half periods of the clocks of core, sender and receiver in picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    pub core: u64,
    pub tx: u64,
    pub rx: u64,
}

/// Pulses of the `stat_*` ports, in the order of [`STATS`].
pub const STATS: [&str; 6] = [
    "stat_tx_frame",
    "stat_tx_underrun",
    "stat_rx_frame",
    "stat_rx_bad",
    "stat_rx_dropped",
    "stat_rx_fragment",
];

pub fn build(edit: impl Fn(&str, &str) -> String) -> Verilated {
    let design = choose("mac_gmii", &[] as &[(&str, usize)])
        .unwrap()
        .emit()
        .unwrap();
    let files: Vec<(String, String)> = design
        .files()
        .iter()
        .map(|(name, text)| (name.to_string(), edit(name.as_ref(), text.as_ref())))
        .collect();
    Verilated::build(&BuildOptions::new(&design.top, &files)).unwrap()
}

struct Ports {
    core: [Port; 2],
    lines: [Port; 2],
    rx: [Port; 3],
    tx: [Port; 3],
    s: [Port; 5],
    m: [Port; 6],
    stats: [Port; 6],
}

pub struct Bench {
    model: Model,
    ports: Ports,
    /// Half periods, and when each clock's next edge is.
    half: [u64; 3],
    next: [u64; 3],
    high: [bool; 3],
    /// Words that wait to be offered: data, keep, last.
    words: VecDeque<(u64, u8, bool)>,
    /// Whether the core offers words, and takes them.
    pub offers: Stalls,
    pub takes: Stalls,
    /// The word that was offered is taken at the edge.
    taken: bool,
    ready: bool,
    /// What comes on the line.
    pub line: VecDeque<Symbol>,
    /// What was sent.
    pub sent: Vec<Symbol>,
    pub received: Vec<Received>,
    within: Vec<u8>,
    pub stats: [u64; 6],
    pub core_clocks: u64,
}

impl Bench {
    pub fn new(library: &Verilated, clocks: Clocks, phase: u64, seed: u64) -> Self {
        let mut model = library.model().unwrap();
        let port = |name: &str| model.port(name).unwrap();
        let ports = Ports {
            core: [port("clk"), port("rst")],
            lines: [port("tx_clk"), port("rx_clk")],
            rx: ["gmii_rxd", "gmii_rx_dv", "gmii_rx_er"].map(port),
            tx: ["gmii_txd", "gmii_tx_en", "gmii_tx_er"].map(port),
            s: ["tvalid", "tready", "tdata", "tkeep", "tlast"]
                .map(|name| port(&format!("s_axis_tx_{name}"))),
            m: ["tvalid", "tready", "tdata", "tkeep", "tlast", "tuser"]
                .map(|name| port(&format!("m_axis_rx_{name}"))),
            stats: STATS.map(port),
        };
        let longest = port("cfg_longest");
        model.set(longest, LONGEST);
        let half = [clocks.core, clocks.tx, clocks.rx];
        let mut bench = Self {
            model,
            ports,
            half,
            next: [1_000, 1_000 + phase % half[1], 1_000 + phase / 7 % half[2]],
            high: [false; 3],
            words: VecDeque::new(),
            offers: Stalls::of_seed(seed, 1).stream(1),
            takes: Stalls::of_seed(seed / 3, 1).stream(2),
            taken: false,
            ready: false,
            line: VecDeque::new(),
            sent: vec![],
            received: vec![],
            within: vec![],
            stats: [0; 6],
            core_clocks: 0,
        };
        bench.reset();
        bench
    }

    /// Holds reset for 24 clocks of the slowest clock.
    pub fn reset(&mut self) {
        self.model.set(self.ports.core[1], 1);
        let slowest = *self.half.iter().max().unwrap();
        let until = self.next[0] + 48 * slowest;
        while self.next[0] < until {
            self.edge();
        }
        self.model.set(self.ports.core[1], 0);
        self.model.set(self.ports.s[0], 0);
        self.words.clear();
        self.line.clear();
        self.sent.clear();
        self.received.clear();
        self.within.clear();
        self.stats = [0; 6];
    }

    /// Queues a frame of the core.
    pub fn send(&mut self, frame: &[u8]) {
        let words = frame.len().div_ceil(8);
        for (at, part) in frame.chunks(8).enumerate() {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            let keep = u8::MAX >> (8 - part.len());
            self.words
                .push_back((u64::from_le_bytes(bytes), keep, at + 1 == words));
        }
    }

    /// Words of the core that are not taken yet.
    pub fn waiting(&self) -> usize {
        self.words.len()
    }

    pub fn run(&mut self, core_clocks: u64) {
        let until = self.core_clocks + core_clocks;
        while self.core_clocks < until {
            self.edge();
        }
    }

    /// The next edge of any clock.
    pub fn edge(&mut self) {
        let which = (0..3).min_by_key(|&i| self.next[i]).unwrap();
        self.next[which] += self.half[which];
        self.high[which] = !self.high[which];
        let clock = match which {
            0 => self.ports.core[0],
            1 => self.ports.lines[0],
            _ => self.ports.lines[1],
        };
        let rising = self.high[which];
        if rising {
            match which {
                0 => self.before_core(),
                1 => self.before_tx(),
                _ => {}
            }
        }
        self.model.set(clock, rising.into());
        self.model.eval().unwrap();
        if rising {
            match which {
                0 => self.after_core(),
                2 => self.after_rx(),
                _ => {}
            }
        }
    }

    /// What is handed over at this edge.
    fn before_core(&mut self) {
        self.core_clocks += 1;
        let Ports { s, m, stats, .. } = &self.ports;
        // While the core may offer words, one moves when it is taken; while it may not, one waits.
        let moves = if self.offers.ready(0) {
            self.model.is_set(s[0]) && self.model.is_set(s[1])
        } else {
            !self.words.is_empty()
        };
        let last = self.words.front().is_some_and(|&(_, _, last)| last);
        self.offers.observe(0, moves, last);
        if self.model.is_set(s[0]) && self.model.is_set(s[1]) {
            self.words.pop_front();
            self.taken = true;
        }
        for (count, &port) in self.stats.iter_mut().zip(stats) {
            *count += u64::from(self.model.is_set(port));
        }
        let offered = self.model.is_set(m[0]);
        self.takes.observe(0, offered, self.model.is_set(m[4]));
        if offered && self.ready {
            let keep = self.model.get(m[3]) as u8;
            let word = self.model.get(m[2]).to_le_bytes();
            let count = keep.count_ones() as usize;
            assert_eq!(keep, u8::MAX >> (8 - count), "bytes from the first on");
            let last = self.model.is_set(m[4]);
            assert!(last || count == 8, "full words but the last");
            self.within.extend_from_slice(&word[..count]);
            if last {
                self.received.push(Received {
                    bytes: std::mem::take(&mut self.within),
                    bad: self.model.is_set(m[5]),
                });
            }
        }
    }

    /// What the core offers and takes from now on.
    fn after_core(&mut self) {
        let Ports { s, m, .. } = &self.ports;
        if std::mem::take(&mut self.taken) {
            self.model.set(s[0], 0);
        }
        self.offers.clock();
        // An offer that was made stays.
        if !self.model.is_set(s[0])
            && let Some(&(data, keep, last)) = self.words.front()
            && self.offers.ready(0)
        {
            self.model.set(s[0], 1);
            self.model.set(s[2], data);
            self.model.set(s[3], keep.into());
            self.model.set(s[4], last.into());
        }
        self.takes.clock();
        self.ready = self.takes.ready(0);
        self.model.set(m[1], self.ready.into());
        self.model.eval().unwrap();
    }

    fn before_tx(&mut self) {
        let [byte, valid, error] = self.ports.tx;
        self.sent.push(Symbol {
            valid: self.model.is_set(valid),
            error: self.model.is_set(error),
            byte: self.model.get(byte) as u8,
        });
    }

    fn after_rx(&mut self) {
        let symbol = self.line.pop_front().unwrap_or_default();
        let [byte, valid, error] = self.ports.rx;
        self.model.set(byte, symbol.byte.into());
        self.model.set(valid, symbol.valid.into());
        self.model.set(error, symbol.error.into());
        self.model.eval().unwrap();
    }
}
