//! The Verilated MAC between three clocks, a line on one side and a core on the other.

use std::collections::VecDeque;

use rand::{RngExt, rngs::SmallRng};
use tributary_hdl::catalog::choose;
use tributary_sim::testbench::Stalls;
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

/// Bytes of the longest frame that counts as good, FCS included.
pub const LONGEST: u64 = 9_022;

/// The side of the line of a MAC.
pub trait Line: Sized {
    /// What stands there in a clock; nothing unless told otherwise.
    type Symbol: Copy + Default;
    /// The block, and how long half a period of its line's clocks is in tenths of a picosecond.
    const BLOCK: &str;
    const HALF: u64;

    fn new(model: &Model) -> Self;
    /// What is sent.
    fn sent(&self, model: &Model) -> Self::Symbol;
    /// What comes from now on.
    fn comes(&self, model: &mut Model, symbol: Self::Symbol);
}

/// A frame that the MAC has handed to the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub bytes: Vec<u8>,
    pub bad: bool,
}

/// Half periods of the clocks of core, sender and receiver in tenths of a picosecond.
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

impl Clocks {
    /// Clocks of the core as given, in tenths of a nanosecond, and of a line that is up to 100 ppm off.
    pub fn of<L: Line>(rng: &mut SmallRng, core: &[u64]) -> Self {
        Self {
            core: core[rng.random_range(0..core.len())] * 500,
            tx: L::HALF,
            rx: L::HALF + rng.random_range(0..=L::HALF / 5_000) - L::HALF / 10_000,
        }
    }
}

/// The MAC, each file of its Verilog changed so.
pub fn build<L: Line>(edit: impl Fn(&str, &str) -> String) -> Verilated {
    let design = choose(L::BLOCK, &[] as &[(&str, usize)])
        .unwrap()
        .emit()
        .unwrap();
    let files: Vec<(String, String)> = design
        .files()
        .iter()
        .map(|(name, text)| (name.to_string(), edit(name.as_ref(), text.as_ref())))
        .collect();
    Verilated::build(&BuildOptions::new(&design.top, &files).with_checks()).unwrap()
}

struct Ports {
    core: [Port; 2],
    lines: [Port; 2],
    s: [Port; 5],
    m: [Port; 6],
    stats: [Port; 6],
}

pub struct Bench<L: Line> {
    model: Model,
    ports: Ports,
    side: L,
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
    pub line: VecDeque<L::Symbol>,
    /// What was sent.
    pub sent: Vec<L::Symbol>,
    pub received: Vec<Received>,
    within: Vec<u8>,
    pub stats: [u64; 6],
    pub core_clocks: u64,
}

impl<L: Line> Bench<L> {
    pub fn new(library: &Verilated, clocks: Clocks, phase: u64, seed: u64) -> Self {
        let mut model = library.model().unwrap();
        let port = |name: &str| model.port(name).unwrap();
        let ports = Ports {
            core: [port("clk"), port("rst")],
            lines: [port("tx_clk"), port("rx_clk")],
            s: ["tvalid", "tready", "tdata", "tkeep", "tlast"]
                .map(|name| port(&format!("s_axis_tx_{name}"))),
            m: ["tvalid", "tready", "tdata", "tkeep", "tlast", "tuser"]
                .map(|name| port(&format!("m_axis_rx_{name}"))),
            stats: STATS.map(port),
        };
        let longest = port("cfg_longest");
        model.set(longest, LONGEST);
        let half = [clocks.core, clocks.tx, clocks.rx];
        let side = L::new(&model);
        side.comes(&mut model, L::Symbol::default());
        let mut bench = Self {
            model,
            ports,
            side,
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

    /// What an output of the core's side says.
    pub fn is_set(&self, port: &str) -> bool {
        self.model.is_set(self.model.port(port).unwrap())
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
        self.sent.push(self.side.sent(&self.model));
    }

    fn after_rx(&mut self) {
        let symbol = self.line.pop_front().unwrap_or_default();
        self.side.comes(&mut self.model, symbol);
        self.model.eval().unwrap();
    }
}

/// A frame of one of the lengths at which something changes, or of any.
pub fn frame(rng: &mut SmallRng, longest: usize) -> Vec<u8> {
    let length = match rng.random_range(0..6) {
        0 => rng.random_range(1..60),
        1 => rng.random_range(56..76),
        2 => longest - rng.random_range(0..9),
        3 => rng.random_range(60..=longest),
        _ => rng.random_range(60..400),
    };
    (0..length).map(|_| rng.random()).collect()
}

/// A frame and its FCS, by code that has nothing of the MAC.
pub fn with_fcs(frame: &[u8]) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    bytes.extend(crc32fast::hash(frame).to_le_bytes());
    bytes
}

/// Whether what stands behind a preamble ends in its FCS.
pub fn fcs_fits(bytes: &[u8]) -> bool {
    let (bytes, fcs) = bytes.split_at(bytes.len() - 4);
    crc32fast::hash(bytes).to_le_bytes() == fcs
}

/// Compares what came to the core with the frames that stood on the line and whether each is good: what is missing, or was
/// cut, must be what the MAC counts as dropped.
pub fn compare<L: Line>(bench: &Bench<L>, want: &[(Vec<u8>, bool)], fragments: u64, seed: u64) {
    let mut dropped = 0;
    let mut got = bench.received.iter().peekable();
    for (bytes, good) in want {
        let whole = got.peek().is_some_and(|got| got.bytes == *bytes);
        if whole {
            assert_eq!(got.next().unwrap().bad, !good, "seed {seed}");
            continue;
        }
        dropped += 1;
        // Cut: words of it, and one byte that ends it.
        let is_part = |got: &Received| {
            let part = got.bytes.len() - 1;
            got.bad && part > 0 && part.is_multiple_of(8) && bytes.starts_with(&got.bytes[..part])
        };
        if got.peek().is_some_and(|got| is_part(got)) {
            got.next();
        }
    }
    assert_eq!(got.next(), None, "seed {seed}");
    assert_eq!(bench.stats[4], dropped, "dropped, seed {seed}");
    assert_eq!(bench.stats[5], fragments, "fragments, seed {seed}");
    let whole = bench.received.iter().filter(|got| !got.bad).count() as u64;
    assert_eq!(
        bench.stats[2..4],
        [whole, bench.received.len() as u64 - whole]
    );
}
