//! How datagrams and bulk transfers share the line of a card.

use tributary_protocol::card::descriptor::ReceiveRequest;
use tributary_protocol::card::regs::BULK_SHARE;
use tributary_protocol::xud::{Outcome, Peer};
use tributary_sim::card::CLOCK_NS;
use tributary_sim::testbench::stall::Profile;

use super::{MTU, pair_of, post, write};
use crate::bench::{NODES, Pair, Queue, READS, Sent, WRITES};
use crate::seed;
use crate::traffic::{WRITABLE, work};

/// Bytes of a frame on the line beside those that a MAC gets: preamble, FCS, gap.
const BESIDE: usize = 24;
/// Place of the BTH's opcode.
const OPCODE: usize = 14 + 20 + 8;
/// Work requests that are kept posted of each kind.
const DATAGRAMS: u16 = 32;
const WRITES_POSTED: u16 = 6;

/// Messages that are always there.
struct Datagrams {
    queue: Queue,
    there: Queue,
}

impl Datagrams {
    fn new(pair: &mut Pair) -> Self {
        let queue = Queue {
            timeout: 10,
            ..Queue::new(6, [6, 6, 7])
        };
        for at in 0..2 {
            pair.create(at, &queue);
        }
        Self {
            there: queue.clone(),
            queue,
        }
    }

    /// Takes what has ended, and posts as many again.
    fn pump(&mut self, pair: &mut Pair, open: &mut u16) {
        let arrived = pair.completions(1, &self.there);
        self.there.consumed = self.there.consumed.wrapping_add(arrived.len() as u16);
        pair.consume(1, &self.there);
        let waiting = self.there.receives.wrapping_sub(self.there.consumed);
        let request = ReceiveRequest {
            wr_id: 0,
            address: WRITES,
            lkey: WRITABLE.key(),
            length: MTU,
        };
        let requests = vec![request; usize::from(60 - waiting)];
        pair.post_receives(1, &self.there, &requests);
        self.there.receives = self.there.receives.wrapping_add(requests.len() as u16);
        let ended = pair.completions(0, &self.queue);
        assert!(
            ended.iter().all(|ended| ended.status == Outcome::Ok),
            "{ended:?}"
        );
        self.queue.consumed = self.queue.consumed.wrapping_add(ended.len() as u16);
        pair.consume(0, &self.queue);
        *open -= ended.len() as u16;
        let to = Peer {
            node: NODES[1],
            qpn: self.queue.qpn,
        };
        while *open < DATAGRAMS {
            let request = work(to, READS, MTU.into(), 0);
            post(pair, 0, &mut self.queue, request);
            *open += 1;
        }
    }
}

/// Bytes on the line that went to card 1: of datagrams, of bulk transfers.
fn bytes(sent: &[Sent]) -> [usize; 2] {
    let mut bytes = [0; 2];
    for sent in sent.iter().filter(|sent| sent.to == Some(1)) {
        let bulk = (0xC0..=0xC9).contains(&sent.frame[OPCODE]);
        bytes[usize::from(bulk)] += sent.frame.len() + BESIDE;
    }
    bytes
}

/// Both always have something to send, and the host brings it faster than the line takes it: each gets its share.
#[test]
fn bw_04_datagrams_and_transfers_have_their_shares_of_the_line() {
    let least = [(128, [0.48, 0.48]), (64, [0.73, 0.23]), (192, [0.22, 0.72])];
    shares(64, &least);
}

/// As a MAC takes words: preamble, FCS and gap are 3 clocks of 75. A datagram and its work request then take the host's link as
/// long as the line, words come in the order of the reads, and neither gets much less than its share, but bulk transfers take
/// long until they have more than half (docs/performance.md).
#[test]
fn bw_04_datagrams_and_transfers_share_a_line_as_fast_as_the_link_to_the_host() {
    let least = [(128, [0.46, 0.46]), (64, [0.73, 0.23]), (192, [0.24, 0.55])];
    shares(10, &least);
}

/// The line takes no word in so many of 256 clocks; of each share datagrams and transfers get as much at least.
fn shares(stalled: u32, least: &[(u32, [f64; 2])]) {
    const BEFORE: u64 = 30_000;
    const CLOCKS: u64 = 100_000;
    let (mut pair, mut queue) = pair_of(seed(), Profile::Free);
    pair.rtl_card(0).0.stall_line(Profile::Independent(stalled));
    let mut datagrams = Datagrams::new(&mut pair);
    let (mut messages, mut writes) = (0, 0);
    let taken = f64::from(256 - stalled) / 256.0;
    for &(share, least) in least {
        pair.write(0, &BULK_SHARE, share);
        for measured in [false, true] {
            pair.sent = Some(Vec::new());
            let end = pair.now + [BEFORE, CLOCKS][usize::from(measured)] * CLOCK_NS;
            while pair.now < end {
                datagrams.pump(&mut pair, &mut messages);
                let ended = pair.completions(0, &queue);
                assert!(
                    ended.iter().all(|ended| ended.status == Outcome::Ok),
                    "{ended:?}"
                );
                queue.consumed = queue.consumed.wrapping_add(ended.len() as u16);
                pair.consume(0, &queue);
                writes -= ended.len() as u16;
                while writes < WRITES_POSTED {
                    let request = write(&queue, 0, 0, 20_000, 0);
                    post(&mut pair, 0, &mut queue, request);
                    writes += 1;
                }
                pair.run(400 * CLOCK_NS);
            }
            let of = bytes(&pair.sent.take().unwrap());
            if !measured {
                continue;
            }
            let all = (of[0] + of[1]) as f64;
            let [datagrams, bulk] = of.map(|of| of as f64 / all);
            let line = all / (8 * CLOCKS) as f64 / taken;
            println!(
                "share {share}: {datagrams:.3} datagrams, {bulk:.3} bulk, {line:.3} of the line"
            );
            assert!(bulk > least[1] && datagrams > least[0], "{share}");
            assert!(line > 0.9, "the line is not full");
        }
    }
}
