//! Five clients at the multiplexer of the DMA writer.

use crate::bench::{Dice, build, seeds};
use std::collections::VecDeque;
use std::sync::LazyLock;
use tributary_hdl::pcie::DmaWriteMux;
use tributary_sim::verilate::Verilated;

static LIBRARY: LazyLock<Verilated> = LazyLock::new(|| build(DmaWriteMux::default()));

/// A request as it should come out: address, length, ctx, words.
type Request = (u64, u64, u64, Vec<u64>);

#[test]
fn words_follow_the_requests_of_five_clients_and_all_have_their_turn() {
    for seed in seeds(20) {
        let mut m = LIBRARY.model_with_seed(seed).unwrap();
        m.reset(3).unwrap();
        let mut dice = Dice::new(seed);
        let (offer, take) = (dice.pick(&[20, 60, 100]), dice.pick(&[30, 100]));
        let port = |name: String| m.port(&name).unwrap();
        let ports = [0, 1, 2, 3, 4].map(|i| {
            let s_req = ["valid", "ready", "addr", "len", "ctx"];
            let s_data = ["valid", "ready", "data"];
            (
                s_req.map(|n| port(format!("s_req_{n}_{i}"))),
                s_data.map(|n| port(format!("s_data_{n}_{i}"))),
            )
        });
        let out = ["valid", "ready", "addr", "len", "ctx"].map(|n| port(format!("m_req_{n}")));
        let data = ["valid", "ready", "data"].map(|n| port(format!("m_data_{n}")));

        let mut queues: [VecDeque<Request>; 5] = Default::default();
        for (client, queue) in queues.iter_mut().enumerate() {
            for _ in 0..30 {
                let len = dice.length().min(300);
                let words = (0..len.div_ceil(8)).map(|_| dice.below(u64::MAX)).collect();
                let ctx = dice.below(1 << 13) | (client as u64) << 13;
                queue.push_back((dice.below(u64::MAX), len, ctx, words));
            }
        }
        let mut words: [VecDeque<u64>; 5] = Default::default();
        let mut offered = [[false; 2]; 5];
        // Requests on their way through, words of them that are still missing.
        let mut taken: VecDeque<Request> = VecDeque::new();
        let mut expected: VecDeque<u64> = VecDeque::new();
        let (mut requests, mut clock) = (0, 0);
        let mut last_turn = [0; 5];
        while requests < 150 || !expected.is_empty() {
            clock += 1;
            assert!(clock < 200_000, "nothing moves, seed {seed}");
            for (i, (s_req, s_data)) in ports.iter().enumerate() {
                offered[i][0] |= !queues[i].is_empty() && dice.chance(offer);
                offered[i][1] |= !words[i].is_empty() && dice.chance(offer);
                m.set(s_req[0], offered[i][0].into());
                m.set(s_data[0], offered[i][1].into());
                if let Some((addr, len, ctx, _)) = queues[i].front().filter(|_| offered[i][0]) {
                    m.set(s_req[2], *addr);
                    m.set(s_req[3], *len);
                    // The client's number is the multiplexer's business.
                    m.set(s_req[4], ctx ^ 0x2000);
                }
                if let Some(word) = words[i].front() {
                    m.set(s_data[2], *word);
                }
            }
            let takes = [dice.chance(take), dice.chance(take)];
            m.set(out[1], takes[0].into());
            m.set(data[1], takes[1].into());
            m.eval().unwrap();
            // A word comes out only behind its request's predecessors.
            if takes[1] && m.is_set(data[0]) {
                let want = expected.pop_front();
                assert_eq!(Some(m.get(data[2])), want, "seed {seed} clock {clock}");
            }
            for (i, (s_req, s_data)) in ports.iter().enumerate() {
                if offered[i][1] && m.is_set(s_data[1]) {
                    offered[i][1] = false;
                    words[i].pop_front();
                }
                if offered[i][0] && m.is_set(s_req[1]) {
                    offered[i][0] = false;
                    let request = queues[i].pop_front().unwrap();
                    words[i].extend(&request.3);
                    expected.extend(&request.3);
                    taken.push_back(request);
                }
            }
            if takes[0] && m.is_set(out[0]) {
                let ctx = m.get(out[4]);
                let client = (ctx >> 13) as usize;
                let request = taken.pop_front().unwrap();
                let got = (m.get(out[2]), m.get(out[3]), ctx);
                assert_eq!(got, (request.0, request.1, request.2), "seed {seed}");
                requests += 1;
                last_turn[client] = requests;
                if offer == 100 {
                    for other in (0..5).filter(|&other| !queues[other].is_empty()) {
                        let waited = requests - last_turn[other];
                        assert!(waited <= 5, "client {other} waits for {waited} others");
                    }
                }
            }
            m.clock().unwrap();
        }
    }
}
