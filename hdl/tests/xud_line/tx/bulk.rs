//! Frames of bulk transfers beside requests and acknowledgements.

use tributary_protocol::red::address::NODES;
use tributary_protocol::roce::{self, Bth, Link};

use super::super::rtl::length;
use super::*;

impl Bench {
    pub(super) fn bulk(&mut self, longest: usize, errors: u32) {
        let rng = &mut self.rng;
        let mut body = vec![0; 8 + length(rng, longest)];
        body.iter_mut().for_each(|byte| *byte = rng.random());
        let bth = Bth {
            opcode: rng.random_range(0xC0..=0xC9),
            dest_qp: rng.random_range(0..1 << 24),
            psn: rng.random_range(0..1 << 24),
        };
        let error = body.len() > 8 && chance(rng, errors);
        let to = rng.random_range(0..NODES);
        let bulk = Bulk {
            to,
            bth,
            body,
            error,
        };
        self.bulks.push_back(bulk);
    }

    pub(super) fn offer_bulk(&mut self) {
        let bulk = self.offering[3].then(|| self.bulks.front()).flatten();
        let rtl = &mut self.rtl;
        rtl.set("s_bulk_valid", bulk.is_some());
        if let Some(Bulk { to, bth, body, .. }) = bulk {
            rtl.set("s_bulk_node", *to);
            rtl.set("s_bulk_opcode", bth.opcode & 15);
            rtl.set("s_bulk_dest", bth.dest_qp);
            rtl.set("s_bulk_psn", bth.psn);
            let head = u64::from_be_bytes(body[..8].try_into().unwrap());
            rtl.set("s_bulk_head", head);
            rtl.set("s_bulk_len", body.len() as u64 - 8);
        }
        let word = self.offering[4]
            .then(|| self.bulk_payload.front())
            .flatten();
        rtl.set("s_bulk_pl_valid", word.is_some());
        if let Some((data, bytes, last, error)) = word {
            rtl.set("s_bulk_pl_data", *data);
            rtl.set("s_bulk_pl_bytes", *bytes);
            rtl.set("s_bulk_pl_last", *last);
            rtl.set("s_bulk_pl_error", *error);
        }
        let (turn, stop) = (self.turn, self.stop);
        rtl.set("turn", chance(&mut self.rng, turn));
        rtl.set("stop", chance(&mut self.rng, stop));
    }

    pub(super) fn take_bulk(&mut self) {
        let Bulk {
            to,
            bth,
            body,
            error,
        } = self.bulks.pop_front().unwrap();
        self.offering[3] = false;
        self.bulk_payload.extend(payload_words(&body[8..], error));
        if !error {
            let frame = roce::encode(&Link::between(NODE, to), &bth, &body).unwrap();
            self.bulk_frames.push_back(frame);
        }
    }
}

#[test]
fn bulk_frames_of_every_short_length_are_those_of_the_encoder() {
    let mut bench = Bench::new(2);
    bench.turn = 100;
    for length in (0..40).chain([248, 256, 4_093, 4_096]) {
        for _ in 0..3 {
            bench.bulk(60, 0);
            let last = bench.bulks.back_mut().unwrap();
            last.body.resize(8 + length, 0xb7);
        }
    }
    bench.finish(FULL);
    assert_eq!((bench.sent, bench.bulk_sent), ([0; 2], 132));
    // Without payload one leaves every 10 clocks.
    let mut bench = Bench::new(2);
    bench.turn = 100;
    for _ in 0..50 {
        bench.bulk(60, 0);
        bench.bulks.back_mut().unwrap().body.truncate(8);
        bench.bulks.back_mut().unwrap().error = false;
    }
    bench.finish(FULL);
    let clocks = bench.left[49] - bench.left[9];
    println!("a message of 8 bytes: {} clocks each", clocks as f64 / 40.0);
    assert_eq!(clocks, 40 * 10);
}

/// Requests, acknowledgements and bulk frames in any order, those of which reading fails among them: each comes out as the
/// encoder makes it, in the order of its kind, and what fails is told of requests alone.
#[test]
fn bw_04_bulk_frames_leave_whole_beside_datagrams_under_every_profile_of_stalls() {
    profiles("xud_tx: frames beside bulk", |seed| {
        let mut bench = Bench::new(seed);
        bench.stalls = Stalls::of_seed(seed, 2);
        (bench.turn, bench.stop) = ([50, 10, 90][seed as usize % 3], [0, 40][seed as usize % 2]);
        let longest = if seed % 3 == 0 { 4096 } else { 100 };
        for _ in 0..80 {
            bench.request(longest, 10);
            bench.bulk(longest, 10);
            if chance(&mut bench.rng, 40) {
                let (to, ack) = (bench.rng.random_range(0..NODES), ack(&mut bench.rng));
                bench.acks.push_back((to, ack));
            }
        }
        let pace = match seed % 4 {
            0 => Pace {
                payload: 60,
                request: 30,
                ..FULL
            },
            _ => FULL,
        };
        bench.finish(pace);
        assert!(bench.sent[0] > 50 && bench.bulk_sent > 50);
        bench.sent[0] + bench.sent[1] + bench.bulk_sent
    });
}
