//! Statements, hierarchy and registers: the emitted text against rust-hdl's simulation.

#![allow(missing_docs)]

mod emit_support;

use emit_support::cosim::assert_same;
use emit_support::word;
use rand::RngExt;
use tributary_hdl::blocks::SdpRam;
use tributary_hdl::prelude::*;

/// A state machine's state; five of eight codes.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Phase {
    Idle,
    Load,
    Run,
    Drain,
    Done,
}

/// What a packet says.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Header {
    /// Kind.
    pub kind: Bits<3>,
    /// Offset.
    pub delta: Bits<6>,
    /// Last of its train.
    pub last: Bit,
    /// Where the sender is.
    pub phase: Phase,
}

hdl_module! {
    /// One lane: keeps the largest byte that it saw.
    #[module("test_lane_w{N}")]
    pub struct Lane<const N: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Candidate.
        pub x: Signal<In, Bits<N>>,
        /// Largest so far.
        pub y: Signal<Out, Bits<N>>,
        /// The candidate is larger, in the same clock.
        pub larger: Signal<Out, Bit>,
        /// Largest so far.
        #[reset] best: DFF<Bits<N>>
    }
}

impl<const N: usize> Logic for Lane<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.larger.next = self.x.val() > self.best.q.val();
        if self.larger.val() {
            self.best.d.next = self.x.val();
        }
        self.y.next = self.best.q.val();
    }
}

const LANES: usize = 4;

/// A chain of lanes beside structs, enums and loops.
#[derive(LogicBlock)]
pub struct Statements {
    /// Clock.
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub x: Signal<In, Bits<8>>,
    pub header: Signal<In, Header>,
    pub phase: Signal<In, Phase>,
    pub delta: Signal<In, Bits<6>>,
    pub go: Signal<In, Bit>,
    pub out_header: Signal<Out, Header>,
    pub out_phase: Signal<Out, Phase>,
    pub best: Signal<Out, Bits<8>>,
    pub larger: Signal<Out, Bits<4>>,
    pub sum: Signal<Out, Bits<8>>,
    pub held: Signal<Out, Header>,
    pub code: Signal<Out, Bits<4>>,
    pub is_done: Signal<Out, Bit>,
    pub below: Signal<Out, Bit>,
    pub word: Signal<Out, Bits<8>>,
    lanes: Vec<Lane<8>>,
    stage: [Signal<Local, Bits<8>>; 5],
    bits: [Signal<Local, Bits<4>>; 5],
    local: Signal<Local, Header>,
    kept: DFF<Header>,
    state: DFF<Phase>,
    count: DFF<Bits<5>>,
    limit: Constant<Bits<5>>,
    home: Constant<Phase>,
    ram: SdpRam<8, 3>,
    _n: usize,
}

impl Default for Statements {
    fn default() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            x: Default::default(),
            header: Default::default(),
            phase: Default::default(),
            delta: Default::default(),
            go: Default::default(),
            out_header: Default::default(),
            out_phase: Default::default(),
            best: Default::default(),
            larger: Default::default(),
            sum: Default::default(),
            held: Default::default(),
            code: Default::default(),
            is_done: Default::default(),
            below: Default::default(),
            word: Default::default(),
            lanes: (0..LANES).map(|_| Lane::default()).collect(),
            stage: Default::default(),
            bits: Default::default(),
            local: Default::default(),
            kept: Default::default(),
            state: Default::default(),
            count: Default::default(),
            limit: Constant::new(19.into()),
            home: Constant::new(Phase::Idle),
            ram: Default::default(),
            _n: LANES,
        }
    }
}

impl Logic for Statements {
    #[rust_hdl::prelude::hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, kept, state, count);
        // A chain through the lanes: reads of one lane feed the next.
        self.stage[0].next = 0.into();
        self.bits[0].next = 0.into();
        self.lanes[0].x.next = self.x.val();
        for i in 0..self._n {
            self.lanes[i].clk.next = self.clk.val();
            self.lanes[i].rst.next = self.rst.val();
            self.stage[i + 1].next = self.stage[i].val() + self.lanes[i].y.val();
            self.bits[i + 1].next = self.bits[i]
                .val()
                .replace_bit(i, self.lanes[i].larger.val());
        }
        for i in 1..self._n {
            self.lanes[i].x.next = self.lanes[i - 1].y.val() ^ bits::<8>(0x5A);
        }
        self.best.next = self.lanes[3].y.val();
        self.larger.next = self.bits[4].val();
        self.sum.next = self.stage[4].val();
        // A struct, assigned by field after a default.
        self.local.next = self.header.val();
        if self.go.val() {
            self.local.next.delta = self.header.val().delta + self.delta.val();
            self.local.next.phase = self.phase.val();
        }
        self.out_header.next = self.local.val();
        self.below.next = self.local.val().delta < self.delta.val();
        if self.go.val() {
            self.kept.d.next.kind = self.header.val().kind + 1;
            self.kept.d.next.last = !self.kept.q.val().last;
        }
        self.held.next = self.kept.q.val();
        // An enum from a struct.
        match self.header.val().phase {
            Phase::Idle => self.code.next = 1.into(),
            Phase::Load => {
                self.code.next = 2.into();
            }
            Phase::Run => {
                self.code.next = 4.into();
            }
            _ => {
                self.code.next = 8.into();
            }
        }
        // A machine without a default arm.
        comment!("Runs from Idle to Done and waits there for go");
        match self.state.q.val() {
            Phase::Idle => {
                if self.go.val() {
                    self.state.d.next = Phase::Load;
                }
            }
            Phase::Load => {
                self.count.d.next = 0.into();
                self.state.d.next = Phase::Run;
            }
            Phase::Run => {
                self.count.d.next = self.count.q.val() + 1;
                if self.count.q.val() == self.limit.val() {
                    self.state.d.next = Phase::Drain;
                } else if self.phase.val() == Phase::Done {
                    self.state.d.next = self.home.val();
                }
            }
            Phase::Drain => {
                self.state.d.next = Phase::Done;
            }
            Phase::Done => {
                if !self.go.val() {
                    self.state.d.next = Phase::Idle;
                }
            }
        }
        self.out_phase.next = self.state.d.val();
        self.is_done.next = self.state.q.val() == Phase::Done;
        self.ram.clk.next = self.clk.val();
        self.ram.rd.addr.next = self.count.q.val().get_bits::<3>(0);
        self.ram.wr.addr.next = self.x.val().get_bits::<3>(2);
        self.ram.wr.en.next = self.go.val() && !self.rst.val();
        self.ram.wr.data.next = self.x.val();
        self.word.next = self.ram.rd.data.val();
        if self.rst.val() {
            self.state.d.next = Phase::Idle;
            self.count.d.next = 7.into();
        }
    }
}

fn phase(rng: &mut rand_chacha::ChaCha8Rng) -> Phase {
    [
        Phase::Idle,
        Phase::Load,
        Phase::Run,
        Phase::Drain,
        Phase::Done,
    ][rng.random_range(0..5)]
}

#[test]
fn structs_enums_loops_vectors_and_registers_run_as_in_rust() {
    let design = assert_same(
        "statements",
        Statements::default(),
        3000,
        |b, rng| {
            b.rst.next = rng.random_range(0..50) == 0;
            b.x.next = word::<8>(rng) >> rng.random_range(0..8u64);
            b.header.next = Header {
                kind: word(rng),
                delta: word(rng),
                last: rng.random(),
                phase: phase(rng),
            };
            b.phase.next = if rng.random_range(0..20) == 0 {
                Phase::Done
            } else {
                phase(rng)
            };
            b.delta.next = word(rng);
            b.go.next = rng.random();
        },
        |b, level| b.clk.next = level.into(),
    );
    let names: Vec<&str> = design.modules.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(
        names,
        ["test_lane_w8", "ram_sdp_w8_d8", "top"],
        "children first, each once"
    );
    insta::assert_snapshot!("statements", design.to_text());
}

/// 64 equal blocks.
#[derive(LogicBlock)]
struct Many {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub x: Signal<In, Bits<8>>,
    pub y: Signal<Out, Bits<8>>,
    lanes: Vec<Lane<8>>,
    _n: usize,
}

impl Logic for Many {
    #[rust_hdl::prelude::hdl_gen]
    fn update(&mut self) {
        for i in 0..self._n {
            self.lanes[i].clk.next = self.clk.val();
            self.lanes[i].rst.next = self.rst.val();
        }
        self.lanes[0].x.next = self.x.val();
        for i in 1..self._n {
            self.lanes[i].x.next = self.lanes[i - 1].y.val();
        }
        self.y.next = self.lanes[63].y.val();
    }
}

#[test]
fn sixty_four_instances_of_a_block_in_a_vec_emit_one_module() {
    let mut many = Many {
        clk: Default::default(),
        rst: Default::default(),
        x: Default::default(),
        y: Default::default(),
        lanes: (0..64).map(|_| Lane::default()).collect(),
        _n: 64,
    };
    let design = tributary_hdl::emit::emit_block(&mut many).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(design.modules.len(), 2);
    assert_eq!(design.modules[0].name, "test_lane_w8");
    assert_eq!(
        design.modules[1]
            .text
            .matches("test_lane_w8 lanes_")
            .count(),
        64
    );
    assert!(!design.to_text().contains('$'), "no `$` in names");
    emit_support::tools::assert_no_messages(&design, &emit_support::tools::scratch("many"));
}

#[test]
fn the_same_block_gives_the_same_bytes() {
    let text = || tributary_hdl::emit::emit_block(&mut Statements::default()).map(|d| d.to_text());
    assert_eq!(text(), text());
}

hdl_module! {
    /// Two signals that stand in one `if` although one feeds the other through a child.
    #[module("test_tangle")]
    pub struct Tangle {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Picks the input.
        pub pick: Signal<In, Bit>,
        /// Word.
        pub x: Signal<In, Bits<8>>,
        /// The lane took the word.
        pub taken: Signal<Out, Bit>,
        /// Depends on `taken`.
        pub after: Signal<Out, Bits<8>>,
        /// The lane.
        lane: Lane<8>
    }
}

impl Logic for Tangle {
    #[hdl_gen]
    fn update(&mut self) {
        self.taken.next = self.lane.larger.val();
        if self.pick.val() {
            self.lane.x.next = self.x.val();
            self.after.next = bit_cast::<8, 1>(self.lane.larger.val().into()) + self.x.val();
        } else {
            self.lane.x.next = !self.x.val();
            self.after.next = self.lane.y.val();
        }
    }
}

#[test]
fn signals_that_feed_each_other_through_a_child_do_not_share_a_block() {
    let design = assert_same(
        "tangle",
        Tangle::default(),
        500,
        |b, rng| {
            b.rst.next = rng.random_range(0..9) == 0;
            b.pick.next = rng.random();
            b.x.next = word(rng);
        },
        |b, level| b.clk.next = level.into(),
    );
    let text = &design.modules[1].text;
    for line in ["assign lane_x = pick ? x : ~x;", "assign after = pick ?"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}
