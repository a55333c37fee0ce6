//! The queue between two clocks, in Verilator: clocks of any two frequencies, and wires between them that are not alike.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;
use tributary_hdl::blocks::FifoAsync;
use tributary_hdl::emit::emit_block;
use tributary_sim::testbench::{Stalls, number, profiles};
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

/// Words that the memory holds.
const DEPTH: usize = 16;

/// A change of the Verilog: the beginning of a file's name, what stands there once, what is to.
type Change = (&'static str, &'static str, &'static str);

/// Each bit of a count comes at once, or a clock of its own side late, for as long as nobody resets: the bound that a board
/// has to keep.
const SKEW: [Change; 2] = [
    (
        "count_cross",
        ".d   (gray_reg),",
        ".d   ((gray_reg & skew) | (before & ~skew)),",
    ),
    (
        "count_cross",
        "    // Combinational logic\n",
        "    reg [4:0] before;\n    reg [4:0] skew;\n    always @(posedge s_clk) before <= gray_reg;\n    \
         always @(posedge m_clk) if (m_rst) skew <= $random;\n",
    ),
];

/// The queue, each change made in the one file that has its place.
fn build(changes: &[Change]) -> Verilated {
    let design = emit_block(&mut FifoAsync::<16, 4, 5>::default()).expect("the block is writable");
    let mut files = design.files();
    for (file, right, wrong) in SKEW.iter().chain(changes) {
        let places: usize = files
            .iter_mut()
            .filter(|(name, _)| name.starts_with(file))
            .map(|(_, text)| {
                let places = text.matches(right).count();
                *text = text.replace(right, wrong);
                places
            })
            .sum();
        assert_eq!(places, 1, "{right}");
    }
    Verilated::build(&BuildOptions::new(&design.top, &files)).unwrap_or_else(|e| panic!("{e}"))
}

/// A run: clocks at their edges, words in and out.
struct Run {
    model: Model,
    /// Of the side of s, of m: clock, reset.
    clocks: [Port; 2],
    resets: [Port; 2],
    s: [Port; 3],
    m: [Port; 3],
    /// Half periods, next edges, levels.
    half: [u64; 2],
    next: [u64; 2],
    high: [bool; 2],
    rng: ChaCha8Rng,
    stalls: Stalls,
    /// Words that are in the queue.
    inside: VecDeque<u64>,
    offered: Option<u64>,
    held: Option<u64>,
    out: u64,
}

impl Run {
    fn new(library: &Verilated, seed: u64) -> Self {
        let model = library.model_with_seed(seed).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let port = |name: &str| model.port(name).unwrap();
        // Alike, nearly alike, and far apart.
        let half = match seed % 4 {
            0 => [100, 100],
            1 => [1_000, 1_001],
            2 => [rng.random_range(50..2_000), 100],
            _ => [100, rng.random_range(50..2_000)],
        };
        let next = half.map(|half| 1 + rng.random_range(0..2 * half));
        let mut run = Self {
            clocks: ["wr_clk", "rd_clk"].map(port),
            resets: ["wr_rst", "rd_rst"].map(port),
            s: ["s_valid", "s_ready", "s_data"].map(port),
            m: ["m_valid", "m_ready", "m_data"].map(port),
            model,
            half,
            next,
            high: [false; 2],
            rng,
            stalls: Stalls::of_seed(seed / 4, 2),
            inside: VecDeque::new(),
            offered: None,
            held: None,
            out: 0,
        };
        run.reset();
        run
    }

    fn reset(&mut self) {
        for port in self.resets {
            self.model.set(port, 1);
        }
        let until = self.next[0].max(self.next[1]) + 20 * self.half[0].max(self.half[1]);
        while self.next[0].min(self.next[1]) < until {
            self.edge(true).unwrap();
        }
        for port in self.resets {
            self.model.set(port, 0);
        }
        self.model.set(self.s[0], 0);
        self.inside.clear();
        (self.offered, self.held) = (None, None);
    }

    /// The next edge, or both if they come at once. In a reset nothing counts.
    fn edge(&mut self, reset: bool) -> Result<(), String> {
        let now = self.next[0].min(self.next[1]);
        let comes = self.next.map(|next| next == now);
        self.model.eval().unwrap();
        let rises = [0, 1].map(|side| comes[side] && !self.high[side]);
        let taken = rises[0] && !reset && self.takes();
        let given = rises[1] && !reset && self.gives()?;
        for side in [0, 1].into_iter().filter(|&side| comes[side]) {
            self.high[side] = !self.high[side];
            self.next[side] += self.half[side];
            self.model.set(self.clocks[side], self.high[side].into());
        }
        self.model.eval().unwrap();
        self.after(rises, taken, given);
        Ok(())
    }

    /// Whether the word that is offered goes in.
    fn takes(&mut self) -> bool {
        let goes = self.offered.is_some() && self.model.is_set(self.s[1]);
        self.inside.extend(self.offered.filter(|_| goes));
        goes
    }

    /// Whether a word comes out; it is the next one, and stays until then.
    fn gives(&mut self) -> Result<bool, String> {
        if !self.model.is_set(self.m[0]) {
            return match self.held {
                Some(_) => Err("a word that was offered has gone".into()),
                None => Ok(false),
            };
        }
        let word = self.model.get(self.m[2]);
        if self.inside.front() != Some(&word) {
            return Err(format!("{word:#x} instead of {:?}", self.inside.front()));
        }
        let goes = self.model.is_set(self.m[1]);
        self.held = Some(word).filter(|_| !goes);
        if goes {
            self.inside.pop_front();
            self.out += 1;
        }
        Ok(goes)
    }

    /// New inputs behind the rising edges.
    fn after(&mut self, rises: [bool; 2], taken: bool, given: bool) {
        if rises[0] {
            self.stalls.observe(0, self.offered.is_some(), taken);
            self.stalls.clock();
            if taken {
                self.offered = None;
            }
            if self.offered.is_none() && self.stalls.ready(0) {
                self.offered = Some(self.rng.next_u64() & 0xFFFF);
            }
            self.model.set(self.s[0], self.offered.is_some().into());
            self.model.set(self.s[2], self.offered.unwrap_or(0xDEAD));
        }
        if rises[1] {
            self.stalls.observe(1, self.held.is_some() || given, given);
            let ready = self.stalls.ready(1);
            self.model.set(self.m[1], ready.into());
        }
    }

    /// So many edges; with resets now and then.
    fn edges(&mut self, edges: u64) -> Result<(), String> {
        for edge in 0..edges {
            self.edge(false)?;
            if self.inside.len() > DEPTH + 2 {
                return Err(format!("{} words are inside", self.inside.len()));
            }
            if edge % 20_000 == 19_999 {
                self.reset();
            }
        }
        Ok(())
    }
}

/// Long form: `TRIBUTARY_FRAMES=1000000 cargo test --release --workspace --test blocks between_clocks -- --nocapture`.
#[test]
fn words_between_clocks_come_once_in_their_order_whatever_the_skew() {
    let library = build(&[]);
    let mut words = 0;
    profiles("fifo_async: words", |seed| {
        let mut run = Run::new(&library, seed);
        run.edges(60_000)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        words += run.out;
        run.out
    });
    if number("TRIBUTARY_SEED").is_none() {
        assert!(words > 20_000, "{words}");
    }
}

#[test]
fn a_word_a_clock_goes_through_the_queue_between_clocks() {
    let library = build(&[]);
    let mut run = Run::new(&library, 0);
    run.stalls = Stalls::new(tributary_sim::testbench::Profile::Free, 0, 2);
    run.next = [1_000_000, 1_000_050];
    run.edges(2_000).unwrap();
    let before = run.out;
    // Four edges are a clock of both.
    run.edges(4_000).unwrap();
    assert_eq!(run.out - before, 1_000);
}

#[test]
fn errors_between_clocks_are_noticed() {
    let faults: [&[Change]; 3] = [
        // The count crosses as it is.
        &[
            (
                "count_cross",
                "gray_reg <= next ^ {1'b0, next[4:1]};",
                "gray_reg <= next;",
            ),
            ("count_cross", "seen_reg <= all;", "seen_reg <= between_q;"),
        ],
        // The last place is given twice.
        &[("fifo_async", "((taken == (DEPTH - 5'd1)) & push)", "1'b0")],
        // The word at m goes when the next one comes.
        &[(
            "fifo_async",
            "assign free = !valid_reg | m_ready;",
            "assign free = 1'b1;",
        )],
    ];
    for fault in faults {
        let library = build(fault);
        let noticed = (0..24).find_map(|seed| Run::new(&library, seed).edges(20_000).err());
        let error = noticed.unwrap_or_else(|| panic!("not noticed: {fault:?}"));
        println!("{}: {error}", fault[0].2);
    }
}
