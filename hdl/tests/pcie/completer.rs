//! Accesses of the host to BAR0: registers in a plain array beside the block.

use crate::bench::{Dice, build, runs, seeds};
use std::collections::HashMap;
use std::sync::LazyLock;
use tributary_hdl::pcie::PcieCompleter;
use tributary_protocol::pcie::Status;
use tributary_sim::pcie::{Config, RawTlp, RootComplex, Ticket};
use tributary_sim::testbench::stall::Profile;
use tributary_sim::verilate::{Model, Port, Verilated};

static LIBRARY: LazyLock<Verilated> = LazyLock::new(|| build(PcieCompleter::default()));

struct Bench {
    model: Model,
    root: RootComplex,
    wr: [Port; 4],
    rd: [Port; 4],
    bad: Port,
    regs: HashMap<u64, u32>,
    /// A read that the registers will answer: clocks left, word.
    answer: Option<(u64, u32)>,
    /// Writes and reads of registers.
    accesses: Vec<(bool, u64, u32, u64)>,
    bads: u64,
    dice: Dice,
    seed: u64,
}

/// What a register holds that was not written.
fn fresh(word: u64) -> u32 {
    (word as u32).wrapping_mul(0x9E37_79B9)
}

impl Bench {
    fn new(seed: u64, stall: Profile) -> Self {
        let mut model = LIBRARY.model_with_seed(seed).unwrap();
        let config = Config {
            seed,
            stall,
            host_id: 0xA5C3,
            ..Config::default()
        };
        let root = RootComplex::new(&mut model, config).unwrap();
        model.reset(3).unwrap();
        let port = |name: &str| model.port(name).unwrap();
        Self {
            wr: ["valid", "addr", "data", "strb"].map(|n| port(&format!("reg_wr_{n}"))),
            rd: ["valid", "addr", "done", "data"].map(|n| port(&format!("reg_rd_{n}"))),
            bad: port("ev_bad_tlp"),
            model,
            root,
            regs: HashMap::new(),
            answer: None,
            accesses: Vec::new(),
            bads: 0,
            dice: Dice::new(seed),
            seed,
        }
    }

    fn tick(&mut self) {
        let m = &mut self.model;
        let done = self.answer.filter(|(clocks, _)| *clocks == 0);
        m.set(self.rd[2], done.is_some().into());
        m.set(
            self.rd[3],
            done.map_or(self.dice.below(1 << 32), |(_, word)| word.into()),
        );
        self.answer = match self.answer {
            Some((clocks, word)) if clocks > 0 => Some((clocks - 1, word)),
            _ => None,
        };
        self.root.drive(m).unwrap();
        m.eval().unwrap();
        self.root.sample(m).unwrap();
        self.bads += m.get(self.bad);
        if m.is_set(self.wr[0]) {
            let [addr, data, strb] = [1, 2, 3].map(|i| m.get(self.wr[i]));
            assert_ne!(strb, 0, "a write of nothing, seed {}", self.seed);
            self.accesses.push((true, addr, data as u32, strb));
            let word = self.regs.entry(addr).or_insert(fresh(addr));
            for byte in (0..4).filter(|byte| strb >> byte & 1 == 1) {
                let mask = 0xFF << (8 * byte);
                *word = *word & !mask | data as u32 & mask;
            }
        }
        if m.is_set(self.rd[0]) {
            assert!(
                self.answer.is_none() && done.is_none(),
                "two reads at once, seed {}",
                self.seed
            );
            let addr = m.get(self.rd[1]);
            let word = self.regs.get(&addr).copied().unwrap_or(fresh(addr));
            self.accesses.push((false, addr, word, 0xF));
            self.answer = Some((self.dice.below(6), word));
        }
        m.clock().unwrap();
    }

    fn drain(&mut self) {
        let mut clocks = 0;
        while !self.root.is_idle() {
            self.tick();
            clocks += 1;
            assert!(clocks < 2_000_000, "no answer, seed {}", self.seed);
        }
        (0..20).for_each(|_| self.tick());
        if let Err(errors) = self.root.check() {
            panic!("{errors}\nseed {}", self.seed);
        }
    }

    fn status(&mut self, ticket: Ticket) -> (Status, Vec<u8>) {
        let answer = self.root.answer(ticket).expect("it was answered");
        (answer.status, answer.bytes)
    }
}

#[test]
fn random_reads_and_writes_of_one_and_two_words_see_the_registers_in_order() {
    for seed in runs(20, 200) {
        let mut dice = Dice::new(seed);
        let mut bench = Bench::new(seed, Profile::of_seed(seed));
        let mut model: HashMap<u64, u8> = HashMap::new();
        let mut expected = Vec::new();
        for _ in 0..200 {
            // Any bytes within two words of 32 bits, in a page; sometimes above 4 GiB.
            let bytes = 1 + dice.below(8);
            let offset = dice.below(9 - bytes);
            // Mostly where others are, too.
            let (page, word) = match dice.below(4) {
                0 => (dice.below(1 << 12) << 12, dice.below(1023)),
                _ => (
                    dice.pick(&[0x0, 0x3000, 0xFF_F000]),
                    dice.pick(&[0, 1, 2, 5, 1022]),
                ),
            };
            let offset = page + 4 * word + offset;
            let base = dice.pick(&[0xC000_0000, 0x40_0000_0000]);
            if dice.chance(50) {
                let data = dice.bytes(bytes as usize);
                bench.root.bar_write(base + offset, &data);
                for (i, byte) in data.into_iter().enumerate() {
                    model.insert(offset + i as u64, byte);
                }
            } else {
                let want = (offset..offset + bytes).map(|at| {
                    let old = fresh(at / 4 % (1 << 22)).to_le_bytes()[(at % 4) as usize];
                    model.get(&at).copied().unwrap_or(old)
                });
                let want: Vec<u8> = want.collect();
                expected.push((bench.root.bar_read(base + offset, bytes as u32), want));
            }
        }
        bench.drain();
        for (ticket, want) in expected {
            let (status, got) = bench.status(ticket);
            assert_eq!((status, got), (Status::Successful, want), "seed {seed}");
        }
        assert_eq!(bench.bads, 0, "seed {seed}");
    }
}

#[test]
fn a_read_of_no_byte_is_answered_without_touching_a_register() {
    let mut bench = Bench::new(1, Profile::Free);
    bench.root.bar_write(0xC000_0010, &[1, 2, 3, 4]);
    let ticket = bench.root.bar_read(0xC000_0010, 0);
    bench.drain();
    let answer = bench.root.answer(ticket).unwrap();
    assert_eq!(answer.status, Status::Successful);
    assert_eq!(
        (
            answer.completion.byte_count,
            answer.completion.lower_address
        ),
        (1, 0x10)
    );
    assert_eq!(bench.accesses, [(true, 4, 0x0403_0201, 0xF)]);
    // A write of no byte does nothing either.
    let header = [0x4000_0001, 0, 0xC000_0010, 0];
    bench.root.send(RawTlp {
        header,
        data: vec![9],
        beside: 0,
    });
    bench.drain();
    assert_eq!((bench.accesses.len(), bench.bads), (1, 0));
}

#[test]
fn traffic_class_attributes_and_all_bits_of_the_tag_come_back() {
    let mut bench = Bench::new(2, Profile::Free);
    let dw0 = 5 << 20 | 1 << 18 | 3 << 12 | 2;
    let ticket = bench.root.ask(RawTlp {
        header: [dw0, 0xFF, 0xC000_0008, 0],
        ..RawTlp::default()
    });
    bench.drain();
    let completion = bench.root.answer(ticket).unwrap().completion;
    assert_eq!(
        (completion.attributes.tc, completion.attributes.attr),
        (5, 7)
    );
    assert_eq!((completion.length, completion.byte_count), (2, 8));
    // Bits 9:8 of the tag stand in DW0; nobody waits for this tag, which shows that it came back.
    let header = [1 << 23 | 1 << 19 | 1, 0xA5C3_550F, 0xC000_0008, 0];
    bench.root.send(RawTlp {
        header,
        ..RawTlp::default()
    });
    (0..60).for_each(|_| bench.tick());
    let errors = bench.root.take_errors();
    assert!(
        errors.len() == 1 && errors[0].contains("tag 0x355"),
        "{errors:?}"
    );
}

/// A header: format, type, length, byte enables; and what stands beside it.
fn tlp(fmt: u32, ty: u32, length: u32, bes: u32, words: usize) -> RawTlp {
    let dw0 = fmt << 29 | ty << 24 | length & 0x3FF;
    let header = match fmt & 1 {
        0 => [dw0, bes, 0xC000_0100, 0],
        _ => [dw0, bes, 1, 0xC000_0100],
    };
    RawTlp {
        header,
        data: vec![0xDEAD_BEEF; words],
        beside: 0,
    }
}

#[test]
fn what_is_not_supported_is_refused_if_it_wants_an_answer_and_touches_nothing() {
    let mut bench = Bench::new(3, Profile::Independent(100));
    let read = tlp(0, 0, 1, 0xF, 0);
    let at = |tlp: &RawTlp, address| RawTlp {
        header: [tlp.header[0], tlp.header[1], address, 0],
        ..tlp.clone()
    };
    let beside = |beside| RawTlp {
        beside,
        ..read.clone()
    };
    let requests = [
        tlp(0, 0, 3, 0xFF, 0),
        tlp(1, 0, 0, 0xFF, 0),
        tlp(0, 0, 128, 0xFF, 0),
        tlp(0, 0, 1, 0xFF, 0),
        tlp(0, 0, 2, 0x0F, 0),
        tlp(0, 0, 2, 0xF0, 0),
        at(&tlp(0, 0, 2, 0xFF, 0), 0xC000_0FFC),
        tlp(0, 0b00001, 1, 0xF, 0),
        tlp(1, 0b00001, 1, 0xF, 0),
        tlp(0, 0b00010, 1, 0xF, 0),
        tlp(2, 0b00010, 1, 0xF, 1),
        tlp(0, 0b00100, 1, 0xF, 0),
        tlp(2, 0b00100, 1, 0xF, 1),
        tlp(0, 0b00101, 1, 0xF, 0),
        tlp(2, 0b00101, 1, 0xF, 1),
        tlp(2, 0b01100, 1, 0, 1),
        tlp(3, 0b01101, 2, 0, 2),
        tlp(2, 0b01110, 8, 0, 8),
        tlp(2, 0b11011, 1, 0xF, 1),
        beside(1),
        beside(6),
        beside(0x0100),
    ];
    let count = requests.len() as u64;
    let tickets = requests.map(|tlp| bench.root.ask(tlp));
    bench.drain();
    for (i, ticket) in tickets.into_iter().enumerate() {
        let answer = bench.root.answer(ticket).unwrap();
        assert_eq!(answer.status, Status::UnsupportedRequest, "request {i}");
        assert_eq!(answer.completion.length, 0, "request {i}");
        // A locked read has a completion of its own kind.
        assert_eq!(answer.completion.locked, i == 7 || i == 8, "request {i}");
    }
    assert_eq!((bench.accesses.len(), bench.bads), (0, count));
}

#[test]
fn what_is_not_supported_and_wants_no_answer_is_dropped_and_counted() {
    let mut bench = Bench::new(4, Profile::Independent(100));
    let write = tlp(2, 0, 1, 0xF, 1);
    let mut poisoned = write.clone();
    poisoned.header[0] |= 1 << 14;
    let beside = |beside| RawTlp {
        beside,
        ..write.clone()
    };
    let bad = [
        // Length, byte enables, and data that do not match.
        tlp(2, 0, 3, 0xFF, 3),
        tlp(2, 0, 0, 0xFF, 1024),
        tlp(3, 0, 16, 0xFF, 16),
        tlp(2, 0, 1, 0xFF, 1),
        tlp(2, 0, 2, 0x0F, 2),
        tlp(2, 0, 1, 0xF, 2),
        tlp(2, 0, 1, 0xF, 5),
        tlp(2, 0, 2, 0xFF, 1),
        tlp(2, 0, 2, 0xFF, 3),
        tlp(2, 0, 2, 0xFF, 0),
        poisoned,
        beside(2),
        beside(0x0300),
        // Messages, a completion, prefixes, types without a meaning.
        tlp(1, 0b10000, 0, 0, 0),
        tlp(3, 0b10100, 4, 0, 4),
        tlp(0, 0b01010, 0, 0, 0),
        tlp(2, 0b01010, 1, 0, 1),
        tlp(4, 0b00000, 1, 0xF, 0),
        tlp(6, 0b00000, 1, 0xF, 1),
        tlp(2, 0b00001, 1, 0xF, 1),
        tlp(0, 0b11111, 1, 0xF, 0),
    ];
    let count = bad.len() as u64;
    for tlp in bad {
        bench.root.send(tlp);
        // What follows is not harmed.
        bench.root.bar_write(0xC000_0020, &[7; 4]);
    }
    bench.drain();
    assert_eq!(bench.bads, count);
    assert_eq!(bench.accesses.len() as u64, count);
    assert!(
        bench
            .accesses
            .iter()
            .all(|&access| access == (true, 8, 0x0707_0707, 0xF))
    );
    assert_eq!(bench.root.seen.completions, 0);
}

#[test]
fn words_that_belong_to_no_tlp_are_dropped() {
    let mut bench = Bench::new(5, Profile::Free);
    for words in [1, 4] {
        bench.root.send_headless(words);
        let ticket = bench.root.bar_read(0xC000_0004, 4);
        bench.drain();
        assert_eq!(
            bench.status(ticket),
            (Status::Successful, fresh(1).to_le_bytes().into())
        );
    }
    assert_eq!(bench.bads, 2);
}

#[test]
fn a_write_takes_4_clocks() {
    let mut bench = Bench::new(6, Profile::Free);
    for i in 0..100u64 {
        bench.root.bar_write(0xC000_0000 + 4 * i, &[1; 4]);
    }
    let mut clocks = 0;
    while bench.accesses.len() < 100 {
        bench.tick();
        clocks += 1;
        assert!(
            clocks <= 100 * 4 + 10,
            "{} writes in {clocks} clocks",
            bench.accesses.len()
        );
    }
}

#[test]
fn every_byte_enable_of_one_word_has_its_byte_count_and_lower_address() {
    let mut bench = Bench::new(7, Profile::Free);
    for be in 0..16 {
        let ticket = bench.root.ask(tlp(0, 0, 1, be, 0));
        bench.drain();
        let answer = bench.root.answer(ticket).unwrap();
        // The root complex has checked byte count and lower address against the model.
        assert_eq!(answer.status, Status::Successful, "{be:#06b}");
        assert_eq!(answer.completion.length, 1, "{be:#06b}");
    }
}

/// The header of what is on offer must not change while it is held, whatever happens to the card's IDs.
#[test]
fn a_completion_that_is_held_keeps_its_id() {
    let seed = seeds(1).start;
    let mut dice = Dice::new(seed);
    let mut model = LIBRARY.model_with_seed(seed).unwrap();
    model.reset(3).unwrap();
    let port = |name: &str| model.port(name).unwrap();
    let [valid, sop, eop, strb] =
        ["valid", "sop", "eop", "strb"].map(|n| port(&format!("s_rx_req_tlp_{n}")));
    let (request, id) = (port("s_rx_req_tlp_hdr"), port("completer_id"));
    let (done, data) = (port("reg_rd_done"), port("reg_rd_data"));
    let reads = port("reg_rd_valid");
    let [offered, ready, header] =
        ["valid", "ready", "hdr"].map(|n| port(&format!("m_tx_cpl_tlp_{n}")));
    for round in 0..200_u64 {
        // A read of one word by 3-DW header, answered after a while, and held for a while.
        let tlp = [round << 34, 1 << 32 | 0xF];
        model.set_wide(request, &tlp).unwrap();
        for (port, value) in [(valid, 1), (sop, 1), (eop, 1), (strb, 0), (ready, 0)] {
            model.set(port, value);
        }
        model.set(id, dice.below(1 << 16));
        model.clock().unwrap();
        model.set(valid, 0);
        let mut held: Option<Vec<u64>> = None;
        let mut wait = dice.below(60) + 2;
        for clock in 0.. {
            assert!(clock < 1_000, "no completion, seed {seed}");
            model.set(id, dice.below(1 << 16));
            model.set(ready, u64::from(wait == 0));
            model.eval().unwrap();
            let answer = model.is_set(reads);
            if model.is_set(offered) {
                let now = model.words(header);
                let first = held.get_or_insert_with(|| now.clone());
                assert_eq!(&now, first, "round {round}, seed {seed}");
                if wait == 0 {
                    model.clock().unwrap();
                    break;
                }
                wait -= 1;
            }
            model.clock().unwrap();
            model.set(done, answer.into());
            model.set(data, dice.below(1 << 32));
        }
        model.set(ready, 0);
    }
}
