//! The ICRC block against `roce::icrc`, in rust-hdl's own simulation.

use rand::RngExt;
use tributary_hdl::blocks::CrcRetreat;
use tributary_hdl::prelude::*;
use tributary_hdl::xud::XudIcrc;
use tributary_protocol::roce;

use super::rtl::{chance, frame, packet, rng, words};

struct Bench {
    uut: XudIcrc,
    states: Vec<u32>,
    /// Clocks since the last word of each frame.
    waits: Vec<usize>,
}

impl Bench {
    fn new() -> Self {
        let mut uut = XudIcrc::default();
        uut.connect_all();
        let mut bench = Self {
            uut,
            states: vec![],
            waits: vec![],
        };
        bench.uut.rst.next = true;
        bench.clock();
        bench.uut.rst.next = false;
        bench
    }

    fn clock(&mut self) {
        for clk in [false, true] {
            self.uut.clk.next = Clock { clk };
            assert!(simulate(&mut self.uut, 100));
        }
        self.waits.iter_mut().for_each(|wait| *wait += 1);
        if self.uut.m_valid.val() {
            assert_eq!(self.waits.remove(0), 3, "latency");
            self.states.push(self.uut.m_state.val().to_u64() as u32);
        }
    }

    fn word(&mut self, data: u64, last: bool) {
        self.uut.s_valid.next = true;
        self.uut.s_data.next = data.into();
        self.uut.s_last.next = last;
        if last {
            self.waits.push(0);
        }
        self.clock();
        self.uut.s_valid.next = false;
    }
}

/// The state before `bytes` bytes of zero.
fn back(state: u32, bytes: usize) -> u32 {
    let mut uut = CrcRetreat::<16>::default();
    uut.connect_all();
    let mut state = state;
    for _ in 0..bytes / 2 {
        uut.s.next = u64::from(state).into();
        simulate(&mut uut, 10);
        state = uut.m.val().to_u64() as u32;
    }
    state
}

#[test]
fn xud_14_icrc_is_that_of_the_model_for_every_length_frames_back_to_back_and_with_gaps() {
    let mut rng = rng(1);
    let (mut bench, mut expected) = (Bench::new(), vec![]);
    for length in (0..80).chain([300, 4096]) {
        let mut frame = vec![0; 54 + 4 * length.min(1032) / 4 * 4];
        frame.iter_mut().for_each(|byte| *byte = rng.random());
        frame[14] = 0x45;
        frame.resize(frame.len().next_multiple_of(4) + 2, 0);
        expected.push((roce::icrc(&frame[14..]).unwrap(), 8 - frame.len() % 8));
        let words = words(&frame);
        for (i, (data, _)) in words.iter().enumerate() {
            bench.word(*data, i + 1 == words.len());
            while chance(&mut rng, if length % 2 == 0 { 0 } else { 30 }) {
                bench.clock();
            }
        }
    }
    (0..5).for_each(|_| bench.clock());
    assert_eq!(bench.states.len(), expected.len());
    for (state, (crc, zeros)) in bench.states.iter().zip(expected) {
        assert_eq!(!back(*state, zeros), crc);
    }
}

#[test]
fn xud_14_icrc_of_a_whole_frame_leaves_the_residue_and_a_wrong_one_does_not() {
    let mut rng = rng(2);
    let mut bench = Bench::new();
    let mut wrong = vec![];
    for _ in 0..60 {
        let mut bytes = frame(1, 2, &packet(&mut rng, 100));
        let flip = chance(&mut rng, 50);
        // Anywhere but in what routers may change, the UDP checksum among it.
        if flip {
            let at = [26, 34, 53, 54, bytes.len() - 1][rng.random_range(0..5)];
            bytes[at] ^= 1 << rng.random_range(0..8);
        }
        wrong.push((flip, 8 - bytes.len() % 8));
        let words = words(&bytes);
        for (i, (data, _)) in words.iter().enumerate() {
            bench.word(*data, i + 1 == words.len());
        }
    }
    (0..5).for_each(|_| bench.clock());
    for (state, (wrong, zeros)) in bench.states.iter().zip(wrong) {
        assert_eq!(back(*state, zeros) != 0xdebb_20e3, wrong);
    }
}
