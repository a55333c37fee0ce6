//! Receivers and senders that lose what is said of marks (CL-4), or make some up, and that random frames notice each.

use std::sync::OnceLock;

use tributary_hdl::emit::emit_block;
use tributary_hdl::xud::{XudRx, XudTx};
use tributary_sim::verilate::Verilated;

use super::nodes::{Wrong, every_is_noticed, library};
use super::rtl::rng;
use super::rx::{Bench as Receiver, Consumer};
use super::rx_random::any_frame;
use super::tx::lose;

const RX: [Wrong; 7] = [
    (
        "a request that came marked",
        "assign m_rq_marked = request_m_data[212]",
        "assign m_rq_marked = request_m_data[212] & !WRONG",
    ),
    (
        "a frame of a bulk transfer that did",
        "assign m_bulk_marked = request_m_data[4]",
        "assign m_bulk_marked = request_m_data[4] & !WRONG",
    ),
    (
        "an acknowledgement that says so",
        "assign m_ak_marked = acks_m_data[166]",
        "assign m_ak_marked = acks_m_data[166] & !WRONG",
    ),
    (
        "one of the two bits is a mark",
        "ce_reg <= &word[1:0]",
        "ce_reg <= WRONG ? word[1] : &word[1:0]",
    ),
    (
        "the bit beside BECN says it",
        "told_reg <= |(word[15:8] & BECN)",
        "told_reg <= WRONG ? word[15] : |(word[15:8] & BECN)",
    ),
    (
        "marks of requests while nobody looks at marks",
        "marked_reg <= header_marked & cfg_marks",
        "marked_reg <= header_marked & (WRONG | cfg_marks)",
    ),
    (
        "what acknowledgements say then",
        "marked_reg <= header_tells & cfg_marks",
        "marked_reg <= header_tells & (WRONG | cfg_marks)",
    ),
];

const TX: [Wrong; 3] = [
    (
        "the acknowledgement of a marked request",
        "told_next = a_valid_reg & a_marked_reg",
        "told_next = a_valid_reg & a_marked_reg & !WRONG",
    ),
    (
        "of the request behind it",
        "a_marked_reg <= s_ak_marked",
        "a_marked_reg <= WRONG ? a_marked_reg : s_ak_marked",
    ),
    (
        "requests say it, too",
        "ecn = told_reg ?",
        "ecn = (told_reg | (WRONG & !ack_reg)) ?",
    ),
];

#[test]
fn cl_04_receivers_that_lose_marks_are_noticed() {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    let library =
        LIBRARY.get_or_init(|| library(emit_block(&mut XudRx::<10>::default()).unwrap(), &RX));
    every_is_noticed(&RX, |number| {
        for marks in [true, false] {
            let mut bench = Receiver::of(library, true, true);
            bench.look_at_marks(marks);
            bench.choose(number);
            let mut rng = rng(11);
            for _ in 0..300 {
                let frame = any_frame(&mut rng, 60);
                bench.frame(&frame, false, || false, || Consumer::EAGER);
            }
            bench.finish();
        }
    });
}

#[test]
fn cl_04_senders_that_lose_marks_are_noticed() {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    let library =
        LIBRARY.get_or_init(|| library(emit_block(&mut XudTx::<11>::default()).unwrap(), &TX));
    every_is_noticed(&TX, |number| lose(library, number));
}
