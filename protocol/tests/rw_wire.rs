//! Messages as bytes: round trips, and every kind of damage.

use proptest::prelude::*;
use tributary_protocol::red::address::NODES;
use tributary_protocol::{
    roce::{self, BODY_OFFSET, IP_OFFSET, Link},
    rw::{wire::*, *},
};

fn status() -> impl Strategy<Value = StatusReport> {
    let sizes = prop_oneof![Just(2usize), Just(64), Just(100), Just(256), Just(1024)];
    let bits = sizes.prop_flat_map(|w| proptest::collection::vec(any::<bool>(), w));
    (
        any::<u16>(),
        any::<u32>(),
        any::<u16>(),
        0..=1u32 << 21,
        any::<bool>(),
        0..=1u32 << 21,
        bits,
    )
        .prop_map(
            |(slot, xid, seq, wbase, w_tail, credit, bits)| StatusReport {
                slot,
                xid,
                seq,
                wbase,
                w_tail,
                credit,
                bitmap: bits.into_iter().collect(),
            },
        )
}

fn data() -> impl Strategy<Value = Data> {
    let len = prop_oneof![
        (8u32..=12).prop_map(|mtu| (1u16 << mtu, false)),
        (0u16..=4096).prop_map(|len| (len, true))
    ];
    (
        0..NODES,
        any::<u16>(),
        0..1u32 << 24,
        0..1u32 << 21,
        0u8..16,
        len,
    )
        .prop_map(|(src, wptr, r#gen, pidx, round, (len, tail))| Data {
            src,
            wptr,
            r#gen,
            pidx,
            tail,
            round,
            len,
        })
}

fn message() -> impl Strategy<Value = Message> {
    let id = || (any::<u16>(), any::<u32>());
    let pidx = || 0..1u32 << 21;
    let reason = || proptest::sample::select(Reason::ALL);
    prop_oneof![
        data().prop_map(Message::Data),
        (id(), proptest::sample::select(Status::ALL))
            .prop_map(|((slot, xid), status)| Message::Complete(Complete { slot, xid, status })),
        (id(), pidx()).prop_map(|((slot, xid), pidx)| Message::RetxOne(RetxOne {
            slot,
            xid,
            pidx
        })),
        (id(), pidx(), 0u8..16).prop_map(|((slot, xid), pidx, round)| Message::RetxRange(
            RetxRange {
                slot,
                xid,
                pidx,
                round
            }
        )),
        (id(), (0..NODES, any::<(u16, u32, u64, u32, u8)>())).prop_map(
            |((slot, xid), (src, (incarnation, length, addr, rkey, mtu)))| {
                Message::Connect(Connect {
                    src,
                    slot,
                    xid,
                    incarnation,
                    length,
                    addr,
                    rkey,
                    mtu,
                })
            }
        ),
        (
            id(),
            proptest::sample::select(ConnectStatus::ALL),
            any::<(u16, u16, u16)>(),
            0..1u32 << 24,
            0..=1u32 << 21
        )
            .prop_map(|((slot, xid), status, (wptr, w, retry), r#gen, credit)| {
                Message::ConnectResp(ConnectResp {
                    slot,
                    xid,
                    status,
                    wptr,
                    r#gen,
                    w,
                    credit,
                    retry,
                })
            }),
        (id(), (0..NODES, any::<(u16, u16)>()), 0..1u32 << 24).prop_map(
            |((slot, xid), (src, (wptr, seq)), r#gen)| Message::Poll(Poll {
                src,
                wptr,
                r#gen,
                slot,
                xid,
                seq
            })
        ),
        status().prop_map(Message::Status),
        (id(), 0..NODES, reason()).prop_map(|((slot, xid), src, reason)| Message::Abort(Abort {
            src,
            slot,
            xid,
            reason
        })),
        (id(), reason()).prop_map(|((slot, xid), reason)| Message::Unknown(Unknown {
            slot,
            xid,
            reason
        })),
    ]
}

fn payload_of(msg: &Message) -> Vec<u8> {
    let len = if let Message::Data(d) = msg { d.len } else { 0 };
    (0..len).map(|i| (i * 7 + 3) as u8).collect()
}

/// One message of every type, small.
fn samples() -> Vec<Message> {
    let (slot, xid) = (5, 0x0102_0304);
    let mut bitmap: Bitmap = Bitmap::repeat(false, 70);
    bitmap.set(1, true);
    bitmap.set(69, true);
    vec![
        Message::Data(Data {
            src: 3,
            wptr: 2,
            r#gen: 0xABCD,
            pidx: 77,
            tail: true,
            round: 1,
            len: 13,
        }),
        Message::Complete(Complete {
            slot,
            xid,
            status: Status::Aborted,
        }),
        Message::RetxOne(RetxOne { slot, xid, pidx: 9 }),
        Message::RetxRange(RetxRange {
            slot,
            xid,
            pidx: 9,
            round: 3,
        }),
        Message::Connect(Connect {
            src: 1,
            slot,
            xid,
            incarnation: 8,
            length: 1 << 20,
            addr: u64::MAX - (1 << 20),
            rkey: 6,
            mtu: 9,
        }),
        Message::ConnectResp(ConnectResp {
            slot,
            xid,
            status: ConnectStatus::Ok,
            wptr: 1,
            r#gen: 2,
            w: 256,
            credit: 256,
            retry: 0,
        }),
        Message::Poll(Poll {
            src: 1,
            wptr: 2,
            r#gen: 3,
            slot,
            xid,
            seq: 4,
        }),
        Message::Status(StatusReport {
            slot,
            xid,
            seq: 4,
            wbase: 100,
            w_tail: true,
            credit: 170,
            bitmap,
        }),
        Message::Abort(Abort {
            src: 1,
            slot,
            xid,
            reason: Reason::GaveUp,
        }),
        Message::Unknown(Unknown {
            slot,
            xid,
            reason: Reason::NoTransfer,
        }),
    ]
}

proptest! {
    #[test]
    fn messages_survive_the_wire(msg in message()) {
        let payload = payload_of(&msg);
        let link = Link::between(msg.src().unwrap_or(3), 4);
        let frame = encode_frame(&link, &msg, &payload).unwrap();
        let Decoded { link: from, msg: said, payload: same } = decode_frame(&frame).unwrap();
        prop_assert_eq!((from, same), (link, payload.as_slice()));
        prop_assert_eq!(said.src(), msg.src().map(|node| node & 0xFFFF));
        prop_assert_eq!(said.sent_by(from.src_node()), Some(msg));
    }

    /// The frame says all of a node, its body 16 bits: they must agree in these.
    #[test]
    fn cl_01_a_message_is_of_the_node_of_its_frame(msg in message(), from in 0..NODES, upper in 0u32..16) {
        let (bth, body) = encode(&msg).unwrap();
        let body = [body, payload_of(&msg)].concat();
        let (said, _) = decode(&bth, &body).unwrap();
        let low = msg.src().unwrap_or(0) & 0xFFFF;
        let same = upper << 16 | low;
        prop_assert_eq!(said.clone().sent_by(same).and_then(|m| m.src()), msg.src().map(|_| same));
        let fits = msg.src().is_none() || from & 0xFFFF == low;
        prop_assert_eq!(said.sent_by(from).is_some(), fits);
    }

    #[test]
    fn cl_01_a_node_of_more_than_20_bits_is_an_error(node in NODES..) {
        let abort = Abort { src: node, slot: 1, xid: 2, reason: Reason::GaveUp };
        let error = encode(&Message::Abort(abort)).unwrap_err();
        prop_assert_eq!(error, WireError::Range { field: "node", value: node.into(), max: (NODES - 1).into() });
    }

    #[test]
    fn random_bytes_are_an_error_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(decode_frame(&bytes).is_err());
    }

    /// Behind a correct frame, the body is what is left to check: whatever is decoded must encode to the same bytes.
    #[test]
    fn rw_20_a_random_body_is_an_error_or_exactly_a_message(
        kind in 0u8..10, dest_qp in 0u32..1 << 17, psn in 0u32..1 << 22,
        flags in 0u8..32, arg in 0u8..20, node in 0u16..2,
        rest in proptest::collection::vec(prop_oneof![4 => Just(0u8), 1 => any::<u8>()], 0..80),
    ) {
        let mut body = vec![flags, arg];
        body.extend(node.to_be_bytes());
        body.extend(rest);
        let bth = roce::Bth { opcode: 0xC0 + kind, dest_qp, psn };
        if let Ok((msg, payload)) = decode(&bth, &body) {
            let (same_bth, mut same_body) = encode(&msg).unwrap();
            same_body.extend_from_slice(payload);
            prop_assert_eq!((same_bth, same_body), (bth, body));
        }
    }
}

#[test]
fn rw_20_every_truncation_is_detected() {
    for msg in samples() {
        let frame = encode_frame(&Link::between(1, 2), &msg, &payload_of(&msg)).unwrap();
        for len in 0..frame.len() {
            assert!(
                decode_frame(&frame[..len]).is_err(),
                "{msg}: first {len} bytes"
            );
        }
        let mut longer = frame;
        longer.push(0);
        assert!(decode_frame(&longer).is_err(), "{msg}: one byte more");
    }
}

#[test]
fn rw_20_every_bit_flip_is_detected_or_harmless() {
    // MAC addresses (covered by the Ethernet check sequence), UDP checksum, and the congestion bits of the BTH.
    let harmless = |at: usize| at < 12 || (40..42).contains(&at) || at == 46;
    for msg in samples() {
        let payload = payload_of(&msg);
        let frame = encode_frame(&Link::between(1, 2), &msg, &payload).unwrap();
        for bit in 0..frame.len() * 8 {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            match decode_frame(&flipped) {
                Err(_) => assert!(!harmless(bit / 8), "{msg}: bit {bit}"),
                Ok(decoded) => {
                    assert!(harmless(bit / 8), "{msg}: bit {bit} went through");
                    assert_eq!(
                        (decoded.msg, decoded.payload),
                        (msg.clone(), payload.as_slice())
                    );
                }
            }
        }
    }
}

/// A body changed after the fact, with a correct ICRC.
fn changed(
    msg: &Message,
    change: impl Fn(&mut roce::Bth, &mut Vec<u8>),
) -> Result<Message, WireError> {
    let (mut bth, mut body) = encode(msg).unwrap();
    body.extend(payload_of(msg));
    change(&mut bth, &mut body);
    let frame = roce::encode(&Link::between(1, 2), &bth, &body)?;
    decode_frame(&frame).map(|decoded| decoded.msg)
}

#[test]
fn malformed_fields_give_their_own_error() {
    let all = samples();
    let [
        data,
        complete,
        retx_one,
        range,
        connect,
        resp,
        poll,
        status,
        abort,
        unknown,
    ] = all.as_slice()
    else {
        panic!()
    };
    assert_eq!(
        changed(data, |bth, _| bth.opcode = 0xC8),
        Err(WireError::Opcode(0xC8))
    );
    assert_eq!(
        changed(data, |bth, _| bth.opcode = 0x04),
        Err(WireError::Opcode(0x04))
    );
    for msg in &all {
        assert_eq!(
            changed(msg, |_, body| body[0] |= 0x10),
            Err(WireError::Version(1)),
            "{msg}"
        );
        assert_eq!(
            changed(msg, |_, body| body[0] |= 1),
            Err(WireError::Reserved("reserved bits of byte 0")),
            "{msg}"
        );
        assert!(
            changed(msg, |bth, _| bth.dest_qp |= 1 << 16).is_err(),
            "{msg}"
        );
        assert!(changed(msg, |bth, _| bth.psn |= 1 << 23).is_err(), "{msg}");
    }
    for msg in [
        complete, retx_one, range, connect, resp, poll, status, abort, unknown,
    ] {
        assert!(
            matches!(
                changed(msg, |_, body| body.push(0)),
                Err(WireError::Length { .. })
            ),
            "{msg}"
        );
        assert!(
            matches!(
                changed(msg, |_, body| body.truncate(7)),
                Err(WireError::Length { .. })
            ),
            "{msg}"
        );
    }
    for msg in [data, complete, retx_one, range, connect, resp] {
        assert!(
            matches!(
                changed(msg, |_, body| body[0] ^= 8),
                Err(WireError::Direction(_))
            ),
            "{msg}"
        );
    }
    for msg in [complete, retx_one, range, resp, status, unknown] {
        assert_eq!(
            changed(msg, |_, body| body[3] = 1),
            Err(WireError::Reserved("node")),
            "{msg}"
        );
    }
    for msg in [retx_one, poll, status] {
        assert_eq!(
            changed(msg, |_, body| body[1] = 1),
            Err(WireError::Reserved("arg")),
            "{msg}"
        );
    }
    for msg in [complete, resp, abort, unknown] {
        assert!(
            matches!(
                changed(msg, |_, body| body[1] = 9),
                Err(WireError::Code { value: 9, .. })
            ),
            "{msg}"
        );
    }
    for (msg, at) in [
        (connect, 10),
        (connect, 31),
        (resp, 23),
        (poll, 11),
        (status, 18),
        (status, 23),
    ] {
        assert_eq!(
            changed(msg, |_, body| body[at] = 1),
            Err(WireError::Reserved("reserved bytes")),
            "{msg}"
        );
    }
    assert_eq!(
        changed(complete, |_, body| body[0] |= 4),
        Err(WireError::Reserved("tail flag"))
    );
    // W = 70: bits 70 to 127 of the second word must be 0; its most significant byte holds bits 127 to 120.
    assert_eq!(
        changed(status, |_, body| body[32] = 0x80),
        Err(WireError::Reserved("bitmap above W"))
    );
    assert_eq!(
        changed(data, |_, body| body[0] &= !4),
        Err(WireError::Payload {
            len: 13,
            tail: false
        })
    );
    assert!(matches!(
        changed(data, |_, body| body[1] = 16),
        Err(WireError::Range { field: "round", .. })
    ));
    assert!(matches!(
        changed(data, |_, body| body[4] = 1),
        Err(WireError::Range { field: "gen", .. })
    ));
    assert!(matches!(
        changed(status, |_, body| body[8] = 1),
        Err(WireError::Range { field: "wbase", .. })
    ));
}

#[test]
fn what_does_not_fit_is_not_encoded() {
    let data = Data {
        src: 0,
        wptr: 0,
        r#gen: 0,
        pidx: 0,
        tail: false,
        round: 0,
        len: 512,
    };
    for bad in [
        Data {
            r#gen: 1 << 24,
            ..data
        },
        Data {
            pidx: 1 << 21,
            ..data
        },
        Data { round: 16, ..data },
        Data { len: 300, ..data },
    ] {
        assert!(encode(&Message::Data(bad)).is_err(), "{bad:?}");
    }
    let wrong = encode_frame(&Link::between(0, 1), &Message::Data(data), &[0; 511]);
    assert!(matches!(
        wrong,
        Err(WireError::Length {
            got: 511,
            expected: 512,
            ..
        })
    ));
}

#[test]
fn a_data_frame_has_its_fields_where_the_table_says() {
    let data = Data {
        src: 0x0102,
        wptr: 0x0304,
        r#gen: 0x05_0607,
        pidx: 0x1A_0B0C,
        tail: false,
        round: 2,
        len: 256,
    };
    let frame = encode_frame(&Link::between(1, 2), &Message::Data(data), &[0x55; 256]).unwrap();
    assert_eq!(frame.len(), BODY_OFFSET + HEADER_LEN + 256 + 4);
    assert_eq!(frame[42], 0xC0);
    assert_eq!(frame[46..54], [0, 0, 3, 4, 0, 0x1A, 0x0B, 0x0C]);
    assert_eq!(frame[54..62], [0, 2, 1, 2, 0, 5, 6, 7]);
    assert_eq!(
        frame[IP_OFFSET + 12..IP_OFFSET + 20],
        [10, 0, 0, 1, 10, 0, 0, 2]
    );
}
