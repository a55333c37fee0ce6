//! Acknowledgements of somebody else, or of something else: nothing ends before the true one has come.

use tributary_protocol::card::regs::Counter;
use tributary_protocol::roce::Link;
use tributary_protocol::xud::wire::{self, Ack, CONTROL, Echo, ORDERED, Packet, Reply};
use tributary_protocol::xud::{Nak, Outcome, Peer, Window};
use tributary_sim::card::CLOCK_NS;

use super::bench::{Dice, NODES, Pair, Queue};
use super::seed;
use super::traffic::{READABLE, work};

/// A node that is nobody: no acknowledgement comes but those made here.
const NODE: u32 = 0x4_0009;
const PEER: u32 = 3;
const FLAGS: u8 = CONTROL | ORDERED;
const QUIET: u64 = 1_000 * CLOCK_NS;

/// What one acknowledgement of the request does.
#[derive(Clone, Copy, Debug)]
struct Case {
    from: u32,
    /// What is turned in the second byte of its IPv4 address, whose upper four bits are 0 of all nodes.
    net: u8,
    ack: Ack,
    /// It is counted here, and nowhere else.
    counted: Counter,
}

/// Every way of being almost right; the last one is.
fn cases(dice: &mut Dice, qpn: u32, psn: u32, window: Window) -> Vec<Case> {
    let reply = dice.pick(&[Reply::Ok, Reply::Rnr, Reply::Nak(Nak::Access)]);
    let echo = Echo {
        window,
        flags: FLAGS,
        qpn: PEER,
    };
    let right = Ack {
        dest_qp: qpn,
        psn,
        reply,
        echo: Some(echo),
        marked: false,
    };
    let of = |from, ack, counted| Case {
        from,
        net: 0,
        ack,
        counted,
    };
    let echoes = |echo| Ack {
        echo: Some(echo),
        ..right
    };
    let of_window = |window| echoes(Echo { window, ..echo });
    let bit = |dice: &mut Dice, bits: u64| 1u32 << dice.below(bits);
    let id = window.id ^ bit(dice, 16) as u16;
    let epoch = window.epoch ^ bit(dice, 16) as u16;
    let msn = window.msn ^ bit(dice, 32);
    let source = PEER ^ bit(dice, 24);
    let other = psn ^ bit(dice, 24);
    let node = NODE ^ bit(dice, 20);
    vec![
        of(
            NODE,
            Ack {
                psn: other,
                ..right
            },
            Counter::AckUnknown,
        ),
        of(
            NODE,
            Ack {
                dest_qp: qpn ^ 1,
                ..right
            },
            Counter::AckUnknown,
        ),
        of(
            NODE,
            Ack {
                dest_qp: qpn | 1 << 20,
                ..right
            },
            Counter::AckUnknown,
        ),
        of(node, right, Counter::AckSource),
        // Node 65,536 and some.
        Case {
            net: 0x10 << dice.below(4),
            ..of(NODE, right, Counter::BadFrame)
        },
        of(
            NODE,
            echoes(Echo {
                qpn: source,
                ..echo
            }),
            Counter::AckSource,
        ),
        of(NODE, of_window(Window { id, ..window }), Counter::AckEcho),
        of(
            NODE,
            of_window(Window { epoch, ..window }),
            Counter::AckEcho,
        ),
        of(NODE, of_window(Window { msn, ..window }), Counter::AckEcho),
        of(
            NODE,
            echoes(Echo {
                flags: CONTROL,
                ..echo
            }),
            Counter::AckEcho,
        ),
        of(
            NODE,
            Ack {
                echo: None,
                ..right
            },
            Counter::AckEcho,
        ),
        of(
            NODE,
            Ack {
                reply: Reply::Ok,
                ..right
            },
            Counter::Acknowledged,
        ),
    ]
}

#[test]
fn xud_03_a_forged_acknowledgement_ends_nothing_and_the_true_one_does() {
    let seed = seed();
    for (kind, mut pair) in [Pair::rtl(seed, 32), Pair::model()].into_iter().enumerate() {
        let mut dice = Dice::new(seed);
        pair.open(0, 512);
        pair.set_region(0, &READABLE);
        let mut queue = Queue {
            timeout: 20,
            ..Queue::new(2, [4, 4, 6])
        };
        pair.create(0, &queue);
        for round in 0..8 {
            let mut request = work(
                Peer {
                    node: NODE,
                    qpn: PEER,
                },
                READABLE.base,
                64,
                round,
            );
            request.version_flags = 0x10 | FLAGS;
            request.window = Window {
                id: dice.word() as u16,
                epoch: dice.word() as u16,
                msn: dice.word() as u32,
            };
            let psn = queue.first_psn.wrapping_add(round as u32) & 0xFF_FFFF;
            pair.post_sends(0, &queue, &[request]);
            queue.posted += 1;
            pair.settle(QUIET);
            let cases = cases(&mut dice, queue.qpn, psn, request.window);
            let last = cases.len() - 1;
            for (number, case) in cases.into_iter().enumerate() {
                let what = format!("card {kind}, round {round}: {case:?}");
                let before = Counter::ALL.iter().map(|c| pair.counter(0, *c));
                let before: Vec<u64> = before.collect();
                let mut link = Link::between(case.from, NODES[0]);
                link.src_ip[1] ^= case.net;
                let frame = wire::encode_frame(&link, &Packet::Ack(case.ack)).unwrap();
                pair.hosts[0].inbox.push_back(frame);
                pair.settle(QUIET);
                for (counter, before) in Counter::ALL.iter().zip(before) {
                    let waits = [Counter::WaitRead, Counter::WaitLine, Counter::WaitWrite];
                    if !waits.contains(counter) {
                        let more = pair.counter(0, *counter) - before;
                        assert_eq!(
                            more,
                            u64::from(*counter == case.counted),
                            "{counter:?}, {what}"
                        );
                    }
                }
                let ended = pair.completions(0, &queue);
                if number < last {
                    assert_eq!(ended, [], "{what}");
                    continue;
                }
                let [ended] = ended[..] else { panic!("{what}") };
                assert_eq!((ended.wr_id, ended.status), (round, Outcome::Ok), "{what}");
                queue.consumed += 1;
            }
        }
        pair.destroy(0, &queue);
        pair.check();
    }
}
