//! bulk_hear: messages of receivers, each looked at as the protocol's own decoder does.

use std::collections::VecDeque;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::bulk::BulkHear;
use tributary_protocol::bulk::Congested;
use tributary_protocol::roce::Bth;
use tributary_protocol::rw::pace::Congestion;
use tributary_protocol::rw::wire::{decode, encode};
use tributary_protocol::rw::{
    Bitmap, Complete, ConnectResp, ConnectStatus, Message, Reason, RetxOne, RetxRange, Status,
    StatusReport, Unknown,
};
use tributary_sim::testbench::seeds;

use super::ports::{Group, Record, build, rng};

/// log2 of the transfer slots.
const LS: usize = 4;
/// Words that are kept of a bitmap.
const MOST: usize = 16;

/// A number of up to `bits` bits, of any size.
fn some(rng: &mut ChaCha8Rng, bits: u32) -> u32 {
    let width = rng.random_range(0..=bits);
    rng.random_range(0..=(1u64 << width) - 1) as u32
}

/// One of them.
fn any<T: Copy>(rng: &mut ChaCha8Rng, all: &[T]) -> T {
    all[rng.random_range(0..all.len())]
}

/// A message that is right, from this node.
fn draw(rng: &mut ChaCha8Rng, node: u32) -> (Bth, Vec<u8>) {
    let slot = rng.random_range(0..1 << LS);
    let (xid, pidx) = (rng.random(), some(rng, 21));
    let numbers = [some(rng, 21), some(rng, 21), 1 << 21];
    let (wbase, credit) = (any(rng, &numbers), any(rng, &numbers));
    let width = any(rng, &[16, 16, 16, 24]);
    let message = match rng.random_range(0..9) {
        0 => Message::Complete(Complete {
            slot,
            xid,
            status: any(rng, Status::ALL),
        }),
        1 => Message::RetxOne(RetxOne { slot, xid, pidx }),
        2 => Message::RetxRange(RetxRange {
            slot,
            xid,
            pidx,
            round: rng.random_range(0..16),
        }),
        3 | 4 => Message::ConnectResp(ConnectResp {
            slot,
            xid,
            status: any(rng, ConnectStatus::ALL),
            wptr: rng.random(),
            r#gen: some(rng, width),
            w: rng.random(),
            credit,
            retry: rng.random(),
        }),
        5 | 6 => {
            let w = match rng.random_range(0..3) {
                0 => rng.random_range(0..130),
                1 => 64 * rng.random_range(0..20),
                _ => rng.random_range(0..1_300),
            };
            let mut bitmap = Bitmap::from_vec((0..21).map(|_| rng.random()).collect());
            bitmap.truncate(w);
            Message::Status(StatusReport {
                slot,
                xid,
                seq: rng.random(),
                wbase,
                w_tail: rng.random(),
                credit,
                bitmap,
            })
        }
        7 => Message::Unknown(Unknown {
            slot,
            xid,
            reason: any(rng, Reason::ALL),
        }),
        _ => {
            let said = Congestion {
                marked: rng.random(),
                share: some(rng, 16).max(1) as u16,
            };
            let (bth, body) = Congested {
                node,
                slot,
                xid,
                said,
            }
            .encode();
            return (bth, body.to_vec());
        }
    };
    encode(&message).expect("a message that is right")
}

/// What is to leave of it.
#[derive(Debug)]
enum Wanted {
    Bad,
    Stray,
    Said(Congestion),
    Message(Message),
}

/// Fields of m that a message of this kind has, beside type, slot and xid.
fn fields(message: &Message) -> Vec<(&'static str, u64)> {
    match message {
        Message::Complete(m) => vec![("status", m.status as u64)],
        Message::Unknown(m) => vec![("status", m.reason as u64)],
        Message::RetxOne(m) => vec![("pidx", m.pidx.into())],
        Message::RetxRange(m) => vec![("pidx", m.pidx.into())],
        Message::ConnectResp(m) => vec![
            ("status", m.status as u64),
            ("wptr", m.wptr.into()),
            ("gen", m.r#gen.into()),
            ("w", m.w.into()),
            ("hint", m.retry.into()),
            ("credit", m.credit.into()),
        ],
        Message::Status(m) => vec![
            ("seq", m.seq.into()),
            ("pidx", m.wbase.into()),
            ("credit", m.credit.into()),
        ],
        _ => panic!("{message:?} goes to a receiver"),
    }
}

/// Words of a STATUS that go on: at least one.
fn bitmap(message: &Message) -> VecDeque<u64> {
    let Message::Status(status) = message else {
        return VecDeque::new();
    };
    let mut bits = status.bitmap.clone();
    bits.resize(bits.len().next_multiple_of(64).max(64), false);
    bits.into_vec().into_iter().take(MOST).collect()
}

/// Every bit of a message counts: what the decoder refuses is bad, what is of no transfer under way to its node is a stray, and
/// all else leaves with each of its fields and words.
#[test]
fn rw_07_rw_20_cl_04_messages_are_looked_at_as_the_decoder_does() {
    let library = build(BulkHear::<LS>::default());
    let s = Group::of(&library, "s").without(&["active", "xid", "node_of", "unwanted", "pl"]);
    let pl = Group::of(&library, "s_pl");
    let m = Group::of(&library, "m").without(&["look", "said", "bitmap"]);
    let [m_said, m_bitmap] = ["m_said", "m_bitmap"].map(|prefix| Group::of(&library, prefix));
    let port = |name: &str| library.port(name).unwrap();
    let [rst, look, active, xid_of, node_of, unwanted] = [
        "rst",
        "m_look",
        "s_active",
        "s_xid",
        "s_node_of_slot",
        "s_unwanted",
    ]
    .map(port);
    let [ev_bad, ev_stray] = ["ev_bad_message", "ev_stray"].map(port);
    for seed in seeds(4) {
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        model.reset(2).unwrap();
        let mut looks: VecDeque<usize> = [0, 0].into();
        let mut counts = [0; 4];
        for round in 0..1_500 {
            let node: u32 = rng.random_range(0..1 << 20);
            let (mut bth, mut body) = draw(&mut rng, node);
            // One wrong bit, or another length.
            match rng.random_range(0..6) {
                0 => {
                    let bit = rng.random_range(0..8 * body.len());
                    body[bit / 8] ^= 1 << (bit % 8);
                }
                1 => {
                    let bit = rng.random_range(0..64);
                    body[bit / 8] ^= 1 << (bit % 8);
                }
                // A bit beyond a bitmap, in its last word.
                2 if rng.random() && bth.opcode & 15 == 6 && body.len() > 24 => {
                    let w = usize::from(u16::from_be_bytes([body[16], body[17]]));
                    if !w.is_multiple_of(64) {
                        let bit = rng.random_range(w % 64..64);
                        let at = body.len() - 1 - bit / 8;
                        body[at] ^= 1 << (bit % 8);
                    }
                }
                2 if rng.random() => match rng.random_range(0..3) {
                    0 => bth.psn ^= 1 << rng.random_range(0..24),
                    1 => bth.dest_qp ^= 1 << rng.random_range(0..24),
                    _ => {
                        let len = match rng.random_range(0..3) {
                            0 => body.len() + 8 * rng.random_range(1..3),
                            1 => body.len().saturating_sub(8 * rng.random_range(1..3)),
                            _ => rng.random_range(0..body.len() + 16),
                        };
                        body.resize(len, 0);
                    }
                },
                _ => {}
            }
            let congested = bth.opcode == 0xCA;
            let decoded = match congested {
                true => Congested::decode(&bth, &body)
                    .ok()
                    .map(|message| (message.slot, message.xid, None, Some(message))),
                false => match decode(&bth, &body) {
                    Ok((message, _)) if !message.to_receiver() => {
                        let xid = u32::from_be_bytes(body[4..8].try_into().unwrap());
                        Some((bth.dest_qp as u16, xid, Some(message), None))
                    }
                    _ => None,
                },
            };
            // Its transfer is under way, or differs in one bit.
            let mut slots = [(); 1 << LS].map(|()| (rng.random(), rng.random(), rng.random()));
            let at = bth.dest_qp as usize % (1 << LS);
            let head_xid = body
                .get(4..8)
                .map_or(0, |b| u32::from_be_bytes(b.try_into().unwrap()));
            slots[at] = (true, head_xid, node);
            match rng.random_range(0..8) {
                0 => slots[at].0 = false,
                1 => slots[at].1 ^= 1 << rng.random_range(0..32),
                2 => slots[at].2 ^= 1 << rng.random_range(0..20),
                _ => {}
            }
            let wanted = match decoded {
                None => Wanted::Bad,
                Some((slot, xid, message, said)) => {
                    let wide =
                        matches!(&message, Some(Message::ConnectResp(m)) if m.r#gen >> 16 > 0);
                    let other = said.is_some_and(|said| said.node != node & 0xffff);
                    let own = slots.get(usize::from(slot)) == Some(&(true, xid, node));
                    match (own && !wide && !other, message, said) {
                        (false, ..) => Wanted::Stray,
                        (true, Some(message), _) => Wanted::Message(message),
                        (true, None, said) => Wanted::Said(said.expect("one of both").said),
                    }
                }
            };
            let short = body.len() < 8;
            let rest = body.get(8..).unwrap_or_default();
            let mut head = [0; 8];
            head[..body.len().min(8)].copy_from_slice(&body[..body.len().min(8)]);
            let mut arrival = s.draw(&mut rng);
            for (field, value) in [
                ("node", node.into()),
                ("opcode", u64::from(bth.opcode & 15)),
                ("dest", bth.dest_qp.into()),
                ("psn", bth.psn.into()),
                ("head", u64::from_be_bytes(head)),
                ("short", short.into()),
                ("len", rest.len() as u64),
            ] {
                assert!(arrival.insert(field.into(), vec![value]).is_some());
            }
            let mut words: VecDeque<u64> = rest
                .chunks(8)
                .map(|chunk| {
                    let mut word = [0; 8];
                    word[..chunk.len()].copy_from_slice(chunk);
                    u64::from_le_bytes(word)
                })
                .collect();
            let (mut offered, mut comes) = (true, false);
            let reset_at = (rng.random_range(0..30) == 0).then(|| rng.random_range(0..40));
            // What has left so far: events, and the message with its words.
            let (mut events, mut gone) = ((0, 0), false);
            let mut left: VecDeque<u64> = match &wanted {
                Wanted::Message(message) => bitmap(message),
                _ => VecDeque::new(),
            };
            let mut after = rng.random_range(0..3);
            for clock in 0.. {
                let place = format!("seed {seed}, round {round}, clock {clock}: {wanted:?}");
                let reset = reset_at == Some(clock);
                model.set(rst, reset.into());
                s.offer(&mut model, &mut rng, Some(&arrival).filter(|_| offered));
                let word = words
                    .front()
                    .filter(|_| comes && rng.random_range(0..4) > 0);
                let word = word.map(|word| {
                    let last = words.len() == 1;
                    Record::from([
                        ("data".into(), vec![*word]),
                        ("last".into(), vec![last.into()]),
                    ])
                });
                pl.offer(&mut model, &mut rng, word.as_ref());
                let slot = looks.pop_front().expect("two are under way");
                model.set(active, u64::from(slots[slot].0));
                model.set(xid_of, slots[slot].1.into());
                model.set(node_of, u64::from(slots[slot].2 % (1 << 20)));
                let ready = [(); 3].map(|()| rng.random_range(0..3) > 0);
                m.set_ready(&mut model, ready[0]);
                m_said.set_ready(&mut model, ready[1]);
                m_bitmap.set_ready(&mut model, ready[2]);
                model.eval().unwrap();
                looks.push_back(model.get(look) as usize);
                events.0 += u32::from(model.is_set(ev_bad));
                events.1 += u32::from(model.is_set(ev_stray));
                if let Some(out) = m.offered(&model) {
                    let Wanted::Message(message) = &wanted else {
                        panic!("{place}: {out:?}")
                    };
                    let all = [
                        ("type", message.kind() as u64),
                        ("slot", u64::from(bth.dest_qp)),
                        ("xid", head_xid.into()),
                    ];
                    for (field, value) in all.into_iter().chain(fields(message)) {
                        assert_eq!(out[field], [value], "{place}: {field}");
                    }
                    assert!(!gone, "{place}: twice");
                    gone = ready[0];
                }
                if let Some(out) = m_said.offered(&model) {
                    let Wanted::Said(said) = &wanted else {
                        panic!("{place}: {out:?}")
                    };
                    let said = [at as u64, said.marked.into(), said.share.into()];
                    let got = ["slot", "marked", "share"].map(|field| out[field][0]);
                    assert_eq!(got, said, "{place}");
                    assert!(!gone, "{place}: twice");
                    gone = ready[1];
                }
                if let Some(out) = m_bitmap.offered(&model) {
                    assert!(gone, "{place}: a word before its message");
                    let last = left.len() == 1;
                    let front = left.front().copied();
                    assert_eq!(Some(out["data"][0]), front, "{place}");
                    assert_eq!(out["last"], [u64::from(last)], "{place}");
                    if ready[2] {
                        left.pop_front();
                    }
                }
                if offered && s.is_ready(&model) {
                    offered = false;
                    comes = !model.is_set(unwanted);
                }
                if word.is_some() && pl.is_ready(&model) {
                    words.pop_front();
                }
                model.clock().unwrap();
                if reset {
                    break;
                }
                let over = match wanted {
                    Wanted::Bad => events == (1, 0),
                    Wanted::Stray => events == (0, 1),
                    _ => gone && left.is_empty() && events == (0, 0),
                };
                if over {
                    assert!(!comes || words.is_empty(), "{place}: words are left");
                    if after == 0 {
                        break;
                    }
                    after -= 1;
                }
                assert!(clock < 600, "{place}: {events:?} {gone} {left:?}");
            }
            if reset_at.is_none() {
                counts[match wanted {
                    Wanted::Bad => 0,
                    Wanted::Stray => 1,
                    Wanted::Said(_) => 2,
                    Wanted::Message(_) => 3,
                }] += 1;
            }
        }
        assert!(counts.iter().all(|&count| count > 40), "{counts:?}");
    }
}
