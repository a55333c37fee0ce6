//! Interfaces, links, joins and rust-hdl's stock widgets.
#![allow(missing_docs)]

mod emit_support;

use emit_support::cosim::assert_same_quickly;
use emit_support::word;
use rand::RngExt;
use rust_hdl_widgets::edge_ff::EdgeDFF;
use tributary_hdl::prelude::*;

hdl_bus! {
    /// A request to a memory, and the answer.
    pub struct Request {
        /// There is a request.
        valid: Bit,
        /// Address.
        addr: Bits<4>,
        /// Answer, at once.
        #[back] data: Bits<8>,
    }
}

hdl_module! {
    /// Answers with the address, doubled.
    #[module("test_answer")]
    pub struct Answer {
        /// Requests.
        pub s: RequestIn
    }
}

impl Logic for Answer {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.data.next = bits::<8>(0);
        if self.s.valid.val() {
            self.s.data.next = bit_cast::<8, 4>(self.s.addr.val()) << 1;
        }
    }
}

hdl_module! {
    /// Asks for what it is told.
    #[module("test_ask")]
    pub struct Ask {
        /// Address.
        pub addr: Signal<In, Bits<4>>,
        /// Answer.
        pub answer: Signal<Out, Bits<8>>,
        /// Requests.
        pub m: RequestOut
    }
}

impl Logic for Ask {
    #[hdl_gen]
    fn update(&mut self) {
        self.m.valid.next = self.addr.val() != 3;
        self.m.addr.next = self.addr.val() + 1;
        self.answer.next = self.m.data.val();
    }
}

hdl_module! {
    /// One request goes through, another is answered inside.
    #[module("test_bridge")]
    pub struct Bridge {
        /// Requests from outside.
        pub s: RequestIn,
        /// Address.
        pub addr: Signal<In, Bits<4>>,
        /// Answer.
        pub answer: Signal<Out, Bits<8>>,
        /// Serves outside.
        outer: Answer,
        /// Asks inside.
        ask: Ask,
        /// Answers inside.
        inner: Answer
    }
}

impl Logic for Bridge {
    #[hdl_gen]
    fn update(&mut self) {
        RequestIn::link(&mut self.s, &mut self.outer.s);
        RequestOut::join(&mut self.ask.m, &mut self.inner.s);
        self.ask.addr.next = self.addr.val();
        self.answer.next = self.ask.answer.val();
    }
}

#[test]
fn interfaces_linked_and_joined_run_as_in_rust() {
    let design = assert_same_quickly(
        "bridge",
        Bridge::default(),
        300,
        |b, rng| {
            b.s.valid.next = rng.random();
            b.s.addr.next = word(rng);
            b.addr.next = word(rng);
        },
        |_, _| {},
    );
    insta::assert_snapshot!("bridge", design.to_text());
}

/// Stock widgets that are kernels over flip-flops.
#[derive(LogicBlock)]
pub struct Widgets {
    pub clk: Signal<In, Clock>,
    pub enable: Signal<In, Bit>,
    pub trigger: Signal<In, Bit>,
    pub strobes: Signal<Out, Bit>,
    pub fired: Signal<Out, Bit>,
    pub kept: Signal<Out, Bits<4>>,
    pub late: Signal<Out, Bits<4>>,
    pub d: Signal<In, Bits<4>>,
    strobe: Strobe<8>,
    shot: Shot<8>,
    held: DFFWithInit<Bits<4>>,
    edge_ff: EdgeDFF<Bits<4>>,
}

impl Default for Widgets {
    fn default() -> Self {
        Self {
            clk: Default::default(),
            enable: Default::default(),
            trigger: Default::default(),
            strobes: Default::default(),
            fired: Default::default(),
            kept: Default::default(),
            late: Default::default(),
            d: Default::default(),
            strobe: Strobe::new(1_000, 100.0),
            shot: Shot::new(1_000, std::time::Duration::from_millis(5)),
            held: DFFWithInit::new(9.into()),
            edge_ff: EdgeDFF::new(6.into()),
        }
    }
}

impl Logic for Widgets {
    #[rust_hdl::prelude::hdl_gen]
    fn update(&mut self) {
        self.strobe.clock.next = self.clk.val();
        self.shot.clock.next = self.clk.val();
        self.held.clock.next = self.clk.val();
        self.edge_ff.clk.next = self.clk.val();
        self.strobe.enable.next = self.enable.val();
        self.shot.trigger.next = self.trigger.val();
        self.strobes.next = self.strobe.strobe.val();
        self.fired.next = self.shot.fired.val();
        self.held.d.next = self.d.val();
        self.edge_ff.d.next = self.held.q.val();
        self.kept.next = self.held.q.val();
        self.late.next = self.edge_ff.q.val();
    }
}

#[test]
fn stock_widgets_made_of_kernels_run_as_in_rust() {
    let design = assert_same_quickly(
        "widgets",
        Widgets::default(),
        500,
        |b, rng| {
            b.enable.next = rng.random();
            b.trigger.next = rng.random_range(0..9) == 0;
            b.d.next = word(rng);
        },
        |b, level| b.clk.next = level.into(),
    );
    assert!(
        design.modules.iter().any(|m| m.name == "top_strobe"),
        "a block without a name takes its field's"
    );
}
