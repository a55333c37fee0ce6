//! Headers and messages of bulk transfers as bytes: round trips, and every kind of damage.

use proptest::prelude::*;
use tributary_protocol::bulk::*;
use tributary_protocol::red::address::NODES;
use tributary_protocol::roce::{Bth, Link};
use tributary_protocol::rw::pace::Congestion;
use tributary_protocol::rw::wire::{self, WireError};
use tributary_protocol::rw::{Connect, Message};

fn transfer() -> impl Strategy<Value = Transfer> {
    let purpose = prop_oneof![
        Just(Purpose::Write),
        any::<u32>().prop_map(Purpose::Notify),
        any::<u64>().prop_map(Purpose::Response),
    ];
    (0..1u32 << 24, 0..1u32 << 24, any::<u32>(), purpose).prop_map(
        |(qpn, source, q_key, purpose)| Transfer {
            qpn,
            source,
            q_key,
            purpose,
        },
    )
}

fn message() -> impl Strategy<Value = ReadMessage> {
    let request = (
        (0..1u32 << 24, 0..1u32 << 24, 8u8..=12),
        (0..NODES, any::<(u32, u64, u32, u64, u32, u64, u32)>()),
    )
        .prop_map(
            |(
                (qpn, source, mtu),
                (node, (q_key, token, length, address, rkey, to_address, to_key)),
            )| {
                ReadMessage::Request(ReadRequest {
                    qpn,
                    node,
                    source,
                    q_key,
                    token,
                    mtu,
                    length,
                    address,
                    rkey,
                    to_address,
                    to_key,
                })
            },
        );
    let reason = proptest::sample::select(Refusal::ALL);
    let refused = (0..1u32 << 24, (0..NODES, any::<(u64, u16)>()), reason).prop_map(
        |(qpn, (node, (token, retry)), reason)| {
            ReadMessage::Refused(ReadRefused {
                qpn,
                node,
                token,
                reason,
                retry,
            })
        },
    );
    prop_oneof![request, refused]
}

fn connect() -> Connect {
    Connect {
        src: 1,
        slot: 5,
        xid: 0x0102_0304,
        incarnation: 8,
        length: 1 << 20,
        addr: 0x1234_5678_9ABC,
        rkey: 6,
        mtu: 9,
    }
}

proptest! {
    #[test]
    fn bw_02_connect_carries_queue_pairs_key_and_purpose(header in transfer()) {
        let (link, msg) = (Link::between(1, 2), Message::Connect(connect()));
        let frame = wire::encode_frame(&link, &msg, &header.encode()).unwrap();
        let decoded = wire::decode_frame(&frame).unwrap();
        prop_assert_eq!(&decoded.msg, &msg);
        prop_assert_eq!(Transfer::decode(decoded.payload), Ok(header));
    }

    #[test]
    fn bw_11_read_messages_survive_the_wire(msg in message()) {
        let (ReadMessage::Request(ReadRequest { node, .. }) | ReadMessage::Refused(ReadRefused { node, .. })) = msg;
        let link = Link::between(node, 2);
        let frame = msg.encode_frame(&link).unwrap();
        let (from, said) = ReadMessage::decode_frame(&frame).unwrap();
        prop_assert_eq!(from, link);
        prop_assert_eq!(said.sent_by(from.src_node()), Some(msg));
        prop_assert_eq!(said.sent_by(node ^ 1 << 7), None);
    }

    /// Whatever is taken apart encodes to the same bytes: no bit is ignored.
    #[test]
    fn bw_02_any_bytes_are_an_error_or_exactly_a_header(
        bytes in proptest::collection::vec(prop_oneof![3 => Just(0u8), 1 => any::<u8>()], 0..60),
        opcode in 0xC8u8..=0xCA, psn in prop_oneof![9 => Just(0u32), 1 => Just(1)],
    ) {
        if let Ok(header) = Transfer::decode(&bytes) {
            prop_assert_eq!(header.encode().to_vec(), bytes.clone());
        }
        let bth = Bth { opcode, dest_qp: 7, psn };
        if let Ok(msg) = ReadMessage::decode(&bth, &bytes) {
            prop_assert_eq!(msg.encode(), (bth, bytes.clone()));
        }
        if let Ok(msg) = Congested::decode(&bth, &bytes) {
            let (again, body) = msg.encode();
            prop_assert_eq!((again, body.to_vec()), (bth, bytes));
        }
    }

    #[test]
    fn cl_04_what_is_said_of_congestion_survives_the_wire(
        node in 0..NODES, slot: u16, xid: u32, marked: bool, share in 1..=u16::MAX,
    ) {
        let said = Congestion { marked, share };
        let msg = Congested { node, slot, xid, said };
        let (bth, body) = msg.encode();
        let decoded = Congested::decode(&bth, &body).unwrap();
        prop_assert_eq!(decoded.node, node & 0xFFFF);
        prop_assert_eq!(Congested { node, ..decoded }, msg);
        for length in 0..body.len() {
            prop_assert!(Congested::decode(&bth, &body[..length]).is_err());
        }
    }
}

#[test]
fn cl_04_each_wrong_bit_of_what_is_said_of_congestion_is_refused_or_another_field() {
    let said = Congestion {
        marked: true,
        share: 15,
    };
    let msg = Congested {
        node: 3,
        slot: 5,
        xid: 9,
        said,
    };
    let (bth, good) = msg.encode();
    let mut refused = 0;
    for bit in 0..CONGESTED_LEN * 8 {
        let mut bytes = good;
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
        match Congested::decode(&bth, &bytes) {
            Ok(other) => assert_ne!(other, msg, "bit {bit}"),
            Err(_) => refused += 1,
        }
    }
    // All but marked, node, xid and share.
    assert_eq!(refused, CONGESTED_LEN * 8 - (1 + 16 + 32 + 16));
    for wrong in [
        Bth { psn: 1, ..bth },
        Bth {
            dest_qp: 1 << 16,
            ..bth
        },
        Bth {
            opcode: OPCODE_READ_REFUSED,
            ..bth
        },
    ] {
        assert!(Congested::decode(&wrong, &good).is_err(), "{wrong:?}");
    }
    let said = Congestion { share: 0, ..said };
    let nobody = Congested { said, ..msg }.encode().1;
    assert!(Congested::decode(&bth, &nobody).is_err());
}

#[test]
fn bw_02_each_wrong_bit_of_a_header_is_refused_or_another_field() {
    let header = Transfer {
        qpn: 0x12_3456,
        source: 0x65_4321,
        q_key: 9,
        purpose: Purpose::Write,
    };
    let good = header.encode();
    let mut refused = 0;
    for bit in 0..TRANSFER_LEN * 8 {
        let mut bytes = good;
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
        match Transfer::decode(&bytes) {
            Ok(other) => assert_ne!(other, header, "bit {bit} means nothing"),
            Err(_) => refused += 1,
        }
    }
    // Version 4, reserved 2 + 8, immediate 32 and token 64 without their flags.
    assert_eq!(refused, 4 + 2 + 8 + 32 + 64);
    let link = Link::between(1, 2);
    let msg = Message::Connect(connect());
    for length in [1, 23, 25] {
        let error = wire::encode_frame(&link, &msg, &vec![0; length]).unwrap_err();
        assert!(matches!(error, WireError::Length { .. }), "{error}");
    }
    let mut both = good;
    both[0] = 0x0C;
    let error = Transfer::decode(&both).unwrap_err();
    assert_eq!(
        error.to_string(),
        "notify and response is 0x3: one of them at most"
    );
}

#[test]
fn bw_11_each_wrong_bit_of_a_read_request_is_refused_or_another_field() {
    let msg = ReadMessage::Request(ReadRequest {
        qpn: 1,
        node: 2,
        source: 3,
        q_key: 4,
        token: 5,
        mtu: 9,
        length: 6,
        address: 7,
        rkey: 8,
        to_address: 9,
        to_key: 10,
    });
    let (bth, good) = msg.encode();
    let mut refused = 0;
    for bit in 0..READ_REQUEST_LEN * 8 {
        let mut body = good.clone();
        body[bit / 8] ^= 0x80 >> (bit % 8);
        match ReadMessage::decode(&bth, &body) {
            Ok(other) => assert_ne!(other, msg, "bit {bit} means nothing"),
            Err(_) => refused += 1,
        }
    }
    // Byte 0, packet sizes other than 8 to 12 (9 becomes 8 and 11), the byte in front of the source.
    assert_eq!(refused, 8 + 6 + 8);
    for length in 0..READ_REQUEST_LEN {
        assert!(ReadMessage::decode(&bth, &good[..length]).is_err());
    }
}
