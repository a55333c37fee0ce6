//! Records: in registers, local signals, buses and memories.
#![allow(missing_docs)]

mod emit_support;

use emit_support::cosim::assert_same_quickly;
use emit_support::word;
use rand::RngExt;
use tributary_hdl::blocks::RamReg;
use tributary_hdl::prelude::*;

hdl_record! {
    /// Who.
    pub struct Peer {
        /// Node.
        node: Bits<5>,
        /// Queue pair there.
        qpn: Bits<3>,
    }
}

hdl_record! {
    /// A request. Q bits for a queue pair.
    pub struct Request<const Q: usize> {
        /// Own queue pair.
        own: Bits<Q>,
        /// Peer.
        peer: Peer,
        /// It writes.
        write: Bit,
        /// Bytes.
        len: Bits<6>,
    }
}

hdl_bus! {
    /// A request that is offered.
    pub struct Offer<const Q: usize> {
        /// A request is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The request.
        of: Request<Q>,
    }
}

hdl_module! {
    /// Keeps requests in two stages; the length counts in the first one alone.
    #[module("test_record_stages_q{Q}")]
    pub struct Stages<const Q: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Requests in.
        pub s: OfferIn<Q>,
        /// Requests out.
        pub m: OfferOut<Q>,
        /// The longest so far.
        pub longest: Signal<Out, Bits<6>>,
        /// Stage 1.
        #[reset] s1: DFF<Request<Q>>,
        /// Stage 2.
        s2: DFF<Request<Q>>,
        #[reset] most: DFF<Bits<6>>,
        /// What leaves.
        next: Signal<Local, Request<Q>>,
    }
}

impl<const Q: usize> Logic for Stages<Q> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = self.m.ready.val();
        self.m.valid.next = self.s.valid.val();
        // A request comes.
        if self.s.valid.val() {
            self.s1.d.next = self.s.of.val();
            self.s1.d.next.write = !self.s.of.val().write;
        }
        if self.s1.q.val().len > self.most.q.val() {
            self.most.d.next = self.s1.q.val().len;
        }
        // The node goes up.
        self.s2.d.next = Request::<Q> {
            own: self.s1.q.val().own,
            peer: Peer {
                // By one.
                node: self.s1.q.val().peer.node + 1,
                qpn: self.s1.q.val().peer.qpn,
            },
            write: self.s1.q.val().write,
            len: self.s1.q.val().len,
        };
        self.next.next = Request::<Q> {
            len: 3.into(),
            ..self.s2.q.val()
        };
        self.m.of.next = self.next.val();
        self.longest.next = self.most.q.val();
    }
}

hdl_module! {
    /// Remembers requests by their queue pair there.
    #[module("test_record_memory")]
    pub struct Memory {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Requests in.
        pub s: OfferIn<4>,
        /// Where to read.
        pub at: Signal<In, Bits<3>>,
        /// The request there.
        pub found: Signal<Out, Request<4>>,
        /// Its word.
        pub word: Signal<Out, Bits<19>>,
        ram: RamReg<19, 3>,
        /// What was found.
        got: Signal<Local, Request<4>>,
    }
}

impl Logic for Memory {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = true;
        self.ram.wr.en.next = self.s.valid.val();
        self.ram.wr.addr.next = self.s.of.val().peer.qpn;
        self.ram.wr.data.next = self.s.of.val().to_bits();
        self.ram.rd.addr.next = self.at.val();
        self.got.next = self.ram.rd.data.val().into();
        self.found.next = self.got.val();
        self.word.next = self.got.val().to_bits();
    }
}

hdl_module! {
    /// Hands requests on through two blocks.
    #[module("test_record_chain")]
    pub struct Chain {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Requests in.
        pub s: OfferIn<2>,
        /// Requests out.
        pub m: OfferOut<2>,
        a: Stages<2>,
        b: Stages<2>,
    }
}

impl Logic for Chain {
    #[hdl_gen]
    fn update(&mut self) {
        OfferIn::<2>::link(&mut self.s, &mut self.a.s);
        OfferOut::<2>::join(&mut self.a.m, &mut self.b.s);
        OfferOut::<2>::link(&mut self.m, &mut self.b.m);
    }
}

fn request<const Q: usize>(rng: &mut rand_chacha::ChaCha8Rng) -> Request<Q> {
    Request {
        own: word(rng),
        peer: Peer {
            node: word(rng),
            qpn: word(rng),
        },
        write: rng.random(),
        len: word(rng),
    }
}

#[test]
fn stages_of_records_have_a_register_for_each_field_that_is_read() {
    let design = assert_same_quickly(
        "record_stages",
        Stages::<2>::default(),
        400,
        |block, rng| {
            block.rst.next = rng.random_range(0..20) == 0;
            block.s.valid.next = rng.random();
            block.m.ready.next = rng.random();
            block.s.of.next = request(rng);
        },
        |block, level| block.clk.next.clk = level,
    );
    let text = &design
        .module("test_record_stages_q2")
        .expect("the top")
        .text;
    for part in [
        "input  wire [4:0] s_peer_node",
        "// Queue pair there.",
        "reg  [1:0] s1_own_reg;",
        "s2_peer_node_reg <= s1_peer_node_reg + 5'd1;",
        "// By one.",
        "assign m_len = 6'd3;",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    // Nothing reads the length of stage 2, and what leaves has no name of its own.
    for part in ["s2_len", "next_own"] {
        assert!(!text.contains(part), "`{part}` in\n{text}");
    }
}

#[test]
fn a_record_goes_through_a_memory_as_one_word() {
    assert_same_quickly(
        "record_memory",
        Memory::default(),
        400,
        |block, rng| {
            block.s.valid.next = rng.random();
            block.s.of.next = request(rng);
            block.at.next = word(rng);
        },
        |block, level| block.clk.next.clk = level,
    );
}

#[test]
fn a_bus_joins_and_links_its_record() {
    let design = assert_same_quickly(
        "record_chain",
        Chain::default(),
        400,
        |block, rng| {
            block.rst.next = rng.random_range(0..20) == 0;
            block.s.valid.next = rng.random();
            block.m.ready.next = rng.random();
            block.s.of.next = request(rng);
        },
        |block, level| block.clk.next.clk = level,
    );
    let text = &design.module("test_record_chain").expect("the top").text;
    assert!(text.contains(".s_peer_node (s_peer_node)"), "{text}");
}

#[test]
fn a_word_is_the_fields_with_the_first_in_the_lowest_bits() {
    let request = Request::<4> {
        own: 0x9.into(),
        peer: Peer {
            node: 0x15.into(),
            qpn: 0x3.into(),
        },
        write: true,
        len: 0x2a.into(),
    };
    let word: Bits<19> = request.to_bits();
    assert_eq!(
        word,
        bits(0x9 | 0x15 << 4 | 0x3 << 9 | 1 << 12 | 0x2a << 13)
    );
    assert_eq!(Request::<4>::from(word), request);
}
