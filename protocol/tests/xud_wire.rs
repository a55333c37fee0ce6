//! Bytes of the datagram packets: what comes out goes in again, and nothing else goes in.

use proptest::prelude::*;
use tributary_protocol::red::address::NODES;
use tributary_protocol::red::{Address, PortSettings, Switch, SwitchConfig};
use tributary_protocol::roce::{self, Bth, Link};
use tributary_protocol::xud::{
    Ack, Card, CardConfig, Drop, Echo, Nak, Packet, Reply, Send, Window,
    control::{Control, Fragment, Open},
    rendezvous::{PART, Place, Said},
    wire::{self, WireError},
};

fn window() -> impl Strategy<Value = Window> {
    any::<(u16, u16, u32)>().prop_map(|(id, epoch, msn)| Window { id, epoch, msn })
}

fn send() -> impl Strategy<Value = Send> {
    let numbers = (0..1u32 << 24, 0..1u32 << 24, 0..1u32 << 24, any::<u32>());
    let rest = (
        0..2u8,
        0..8u8,
        window(),
        prop::collection::vec(any::<u8>(), 0..300),
    );
    (numbers, rest).prop_map(
        |((dest_qp, psn, src_qp, q_key), (version, flags, window, payload))| Send {
            dest_qp,
            psn,
            q_key,
            src_qp,
            version,
            flags: if version == 0 { 0 } else { flags },
            window: Window {
                epoch: if version == 0 { 0 } else { window.epoch },
                ..window
            },
            payload,
            marked: false,
        },
    )
}

fn ack() -> impl Strategy<Value = Ack> {
    let reply = prop_oneof![
        Just(Reply::Ok),
        Just(Reply::Rnr),
        prop::sample::select(Nak::ALL).prop_map(Reply::Nak)
    ];
    let echo = (window(), 0..8u8, 0..1u32 << 24).prop_map(|(window, flags, qpn)| Echo {
        window,
        flags,
        qpn,
    });
    let echo = prop::option::of(echo);
    let numbers = (0..1u32 << 24, 0..1u32 << 24);
    (numbers, reply, echo, any::<bool>()).prop_map(|((dest_qp, psn), reply, echo, marked)| Ack {
        dest_qp,
        psn,
        reply,
        echo,
        marked,
    })
}

proptest! {
    #[test]
    fn cl_01_packets_come_back_from_their_frames_with_all_of_the_node(send in send(), ack in ack(), from in 0..NODES) {
        let link = Link::between(from, 5);
        for packet in [Packet::Send(send), Packet::Ack(ack)] {
            let frame = wire::encode_frame(&link, &packet).unwrap();
            prop_assert_eq!(wire::decode_frame(&frame), Ok((from, packet)));
        }
    }

    /// Any body that is taken is exactly what the packet it became would be sent as.
    #[test]
    fn xud_14_every_accepted_body_is_canonical(opcode in 0xC8u8..=0xEF, body in prop::collection::vec(any::<u8>(), 0..64)) {
        let bth = Bth { opcode, dest_qp: 1, psn: 2 };
        if let Ok(packet) = wire::decode(&bth, &body) {
            let (bth_again, again) = wire::encode(&packet).unwrap();
            let known = !matches!(packet, Packet::Unknown { .. });
            prop_assert_eq!(bth_again, bth);
            prop_assert!(!known || again == body);
        }
    }

    #[test]
    fn xud_14_no_control_message_or_fragment_panics(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Some(control) = Control::decode(&bytes) {
            prop_assert_eq!(control.encode(), bytes.clone());
        }
        if let Some((fragment, rest)) = Fragment::decode(&bytes, 1 << 16) {
            prop_assert_eq!([fragment.encode().as_slice(), rest].concat(), bytes);
        }
    }

    #[test]
    fn xud_12_no_message_of_the_rendezvous_panics(bytes in prop::collection::vec(0u8..9, 0..40), id in any::<u64>()) {
        if let Some((id, said)) = Said::decode(&bytes) {
            prop_assert_eq!(said.encode(id), bytes.clone());
        }
        let said = Said::Part { offset: 1, bytes: &bytes };
        let again = said.encode(id);
        prop_assert_eq!(Said::decode(&again), (!bytes.is_empty()).then_some((id, said)));
    }

    /// A flipped bit anywhere is seen by a check, or is one that routers may change.
    #[test]
    fn xud_14_a_flipped_bit_changes_counters_only(send in send(), at in 14usize..90, bit in 0..8) {
        let packet = Packet::Send(send);
        let mut frame = wire::encode_frame(&Link::between(0, 1), &packet).unwrap();
        let at = at.min(frame.len() - 1);
        frame[at] ^= 1u8 << bit;
        match wire::decode_frame(&frame) {
            Ok(decoded) => prop_assert_eq!(decoded, (0, packet)),
            Err(_) => {
                let mut card = Card::new(CardConfig::default()).unwrap();
                card.receive_frame(&frame, 0);
                prop_assert_eq!(card.stats().drops.total(), 1);
                prop_assert!(card.next_packet(0).is_none());
            }
        }
    }
}

fn sample() -> Send {
    Send {
        dest_qp: 0x0A0B0C,
        psn: 0x010203,
        q_key: 0x1122_3344,
        src_qp: 0x556677,
        version: 1,
        flags: wire::FRAGMENT,
        window: Window {
            id: 0x8899,
            epoch: 0xAABB,
            msn: 0xCCDD_EEFF,
        },
        payload: vec![1, 2, 3],
        marked: false,
    }
}

#[test]
fn xudeth_and_acknowledgement_have_the_documented_bytes() {
    let (bth, body) = wire::encode(&Packet::Send(sample())).unwrap();
    assert_eq!(
        (bth.opcode, bth.dest_qp, bth.psn),
        (0xD0, 0x0A0B0C, 0x010203)
    );
    assert_eq!(
        body,
        [
            0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x12, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD,
            0xEE, 0xFF, 1, 2, 3
        ]
    );
    let ack = Ack {
        dest_qp: 0x556677,
        psn: 0x010203,
        reply: Reply::Nak(Nak::Length),
        echo: Some(Echo {
            window: sample().window,
            flags: wire::FRAGMENT,
            qpn: 0x0A0B0C,
        }),
        marked: true,
    };
    let (bth, body) = wire::encode(&Packet::Ack(ack)).unwrap();
    assert_eq!(
        (bth.opcode, bth.dest_qp, bth.psn),
        (0xD1, 0x556677, 0x010203)
    );
    assert_eq!(
        body,
        [
            0x70, 1, 2, 3, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 0x0A, 0x0B, 0x0C, 0x12
        ]
    );
}

#[test]
fn xud_14_every_malformed_length_version_and_bit_has_its_error() {
    let (bth, body) = wire::encode(&Packet::Send(sample())).unwrap();
    for length in 0..16 {
        let error = wire::decode(&bth, &body[..length]).unwrap_err();
        assert!(matches!(error, WireError::Length { got, .. } if got == length));
    }
    assert!(matches!(
        wire::decode(&bth, &[0; 4113]),
        Err(WireError::Length { got: 4113, .. })
    ));
    let with = |at: usize, value: u8| {
        let mut body = body.clone();
        body[at] = value;
        wire::decode(&bth, &body)
    };
    for version in 2..16 {
        assert_eq!(with(7, version << 4), Err(WireError::Version(version)));
    }
    // One-sided goes with no other flag.
    for others in 1..8 {
        let reserved = Err(WireError::Reserved("reserved flag"));
        assert_eq!(with(7, 0x18 | others), reserved);
    }
    assert!(with(7, 0x18).is_ok());
    assert_eq!(
        with(7, 0x01),
        Err(WireError::Reserved("flags of version 0"))
    );
    assert_eq!(
        with(7, 0x00),
        Err(WireError::Reserved("epoch of version 0"))
    );
    let other = Bth {
        opcode: 0xC0,
        ..bth
    };
    assert_eq!(wire::decode(&other, &body), Err(WireError::Opcode(0xC0)));

    let bth = Bth {
        opcode: 0xD1,
        ..bth
    };
    let ack = [0x1F, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x10];
    assert!(wire::decode(&bth, &ack).is_ok() && wire::decode(&bth, &ack[..4]).is_ok());
    for length in (0..16).filter(|length| *length != 4) {
        assert!(matches!(
            wire::decode(&bth, &ack[..length]),
            Err(WireError::Length { .. })
        ));
    }
    for syndrome in [0x00, 0x1E, 0x21, 0x40, 0x60, 0x63, 0x80, 0xFF] {
        let mut ack = ack;
        ack[0] = syndrome;
        assert_eq!(wire::decode(&bth, &ack), Err(WireError::Syndrome(syndrome)));
    }
    let mut wrong = ack;
    wrong[3] = 4;
    assert!(matches!(
        wire::decode(&bth, &wrong),
        Err(WireError::Psn { .. })
    ));
    wrong = ack;
    wrong[15] = 0x19;
    assert_eq!(
        wire::decode(&bth, &wrong),
        Err(WireError::Reserved("reserved flag"))
    );
    wrong[15] = 0x20;
    assert_eq!(wire::decode(&bth, &wrong), Err(WireError::Version(2)));
}

#[test]
fn a_frame_of_another_protocol_is_counted_as_such() {
    let mut card = Card::new(CardConfig::default()).unwrap();
    let bth = Bth {
        opcode: 0xC0,
        dest_qp: 1,
        psn: 0,
    };
    card.receive_frame(
        &roce::encode(&Link::between(0, 1), &bth, &[0; 16]).unwrap(),
        0,
    );
    assert_eq!(card.stats().drops.of(Drop::NotXud), 1);
}

#[test]
fn control_messages_have_the_documented_bytes() {
    let open = Control::Open(Open {
        windows: 65_536,
        incarnation: 2,
        epoch: 3,
        start: 0x0405_0607,
        last: Some(8),
    });
    let bytes = [1, 1, 0xFF, 0xFF, 0, 2, 0, 3, 4, 5, 6, 7, 0, 8, 0, 0];
    assert_eq!(open.encode(), bytes);
    assert_eq!(Control::decode(&bytes), Some(open));
    let mut wrong = bytes;
    wrong[1] = 2;
    assert_eq!(Control::decode(&wrong), None);
    wrong = bytes;
    wrong[15] = 1;
    assert_eq!(Control::decode(&wrong), None);
    // Without the flag, `last` must be 0.
    wrong = bytes;
    wrong[1] = 0;
    assert_eq!(Control::decode(&wrong), None);
}

/// Every node that a card can be, as destination and as source, and a switch that knows only fabric addresses.
#[test]
fn the_macs_of_datagrams_are_the_fabric_addresses_that_switches_forward_by() {
    let config = SwitchConfig {
        ports: 2,
        unicast_bits: 20,
        ..SwitchConfig::default()
    };
    let mut switch = Switch::new(config).unwrap();
    let settings = PortSettings {
        enable: true,
        ..PortSettings::default()
    };
    (0..2).for_each(|port| switch.set_port(port, settings).unwrap());
    let bth = Bth {
        opcode: 0xC8,
        dest_qp: 1,
        psn: 2,
    };
    // One of every eight numbers, its lowest bits those on top.
    for node in (0..NODES).step_by(8).map(|node| node | node >> 17 & 7) {
        let to = NODES - 1 - node;
        let link = Link::between(node, to);
        assert_eq!((link.src_node(), link.src_ip[0]), (node, 10));
        assert_eq!(link.src_mac, Address::unicast(node, 0).mac());
        assert_eq!(link.dst_mac, Address::unicast(to, 0).mac());
        let frame = roce::encode(&link, &bth, &[0; 16]).unwrap();
        assert_eq!(switch.receive(0, &frame, 0), [], "no entry yet");
        switch.set_unicast(to, Some(1)).unwrap();
        assert_eq!(switch.receive(0, &frame, 0), [(1, frame.clone())]);
        switch.set_unicast(to, None).unwrap();
    }
}

/// Of a request the mark is in the IPv4 header, of its acknowledgement in byte 46; the ICRC covers neither.
#[test]
fn cl_04_a_mark_is_in_the_frame_and_nowhere_in_the_packet() {
    let link = Link::between(3, 5);
    let mut frame = wire::encode_frame(&link, &Packet::Send(sample())).unwrap();
    roce::allow_marks(&mut frame);
    assert_eq!(wire::decode_frame(&frame), Ok((3, Packet::Send(sample()))));
    assert!(roce::mark_congestion(&mut frame));
    let marked = Send {
        marked: true,
        ..sample()
    };
    assert_eq!(wire::decode_frame(&frame), Ok((3, Packet::Send(marked))));
    let ack = Ack {
        dest_qp: 7,
        psn: 8,
        reply: Reply::Ok,
        echo: None,
        marked: true,
    };
    let plain = Ack {
        marked: false,
        ..ack
    };
    let [told, plain] =
        [ack, plain].map(|ack| wire::encode_frame(&link, &Packet::Ack(ack)).unwrap());
    let differ = (0..told.len()).filter(|at| told[*at] != plain[*at]);
    assert_eq!(differ.collect::<Vec<_>>(), [46]);
    assert_eq!((told[46], plain[46]), (0x40, 0));
}

#[test]
fn xud_12_messages_of_the_rendezvous_have_the_documented_bytes() {
    const ID: u64 = 0x0102_0304_0506_0708;
    const ID_BYTES: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
    let place = Place {
        address: 0x1112_1314_1516_1718,
        rkey: 0x2122_2324,
    };
    let announce = Said::Announce {
        bulk: true,
        length: 0x3132_3334,
    };
    let part = Said::Part {
        offset: 0x4000,
        bytes: &[9, 8],
    };
    let grant_behind = [
        0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0x23, 0x24,
    ];
    let all: [(Said, [u8; 4], &[u8]); 10] = [
        (announce, [1, 1, 0, 0], &[0x31, 0x32, 0x33, 0x34]),
        (Said::Grant(Some(place)), [2, 1, 0, 0], &grant_behind),
        (Said::Grant(None), [2, 0, 0, 0], &[0; 12]),
        (Said::Landed, [3, 0, 0, 0], &[]),
        (part, [4, 0, 0, 0], &[0, 0, 0x40, 0, 9, 8]),
        (Said::Done(3), [5, 0, 0, 0], &[3, 0, 0, 0]),
        (Said::Abort, [6, 0, 0, 0], &[]),
        (Said::Ask { receiver: false }, [7, 0, 0, 0], &[]),
        (Said::Ask { receiver: true }, [7, 1, 0, 0], &[]),
        (Said::Done(0), [5, 0, 0, 0], &[0; 4]),
    ];
    for (said, front, behind) in all {
        let bytes = [&front[..], &ID_BYTES, behind].concat();
        assert_eq!(said.encode(ID), bytes, "{said:?}");
        assert_eq!(Said::decode(&bytes), Some((ID, said)));
        // One byte more or fewer, and bits where there must be none.
        let mut longer = bytes.clone();
        longer.push(0);
        let is_part = matches!(said, Said::Part { .. });
        assert_eq!(Said::decode(&longer).is_some(), is_part, "{said:?}");
        let shorter = &bytes[..bytes.len() - 1];
        assert_eq!(Said::decode(shorter).is_some(), is_part, "{said:?}");
        for (at, bit) in [(1, 2), (2, 1), (3, 128)] {
            let mut wrong = bytes.clone();
            wrong[at] |= bit;
            assert_eq!(Said::decode(&wrong), None, "{said:?}");
        }
    }
    let mut wrong = Said::Grant(None).encode(ID);
    wrong[23] = 1;
    assert_eq!(Said::decode(&wrong), None, "a key without bulk");
    let long = vec![1; PART + 1];
    for (bytes, good) in [(&long[..], false), (&long[..PART], true), (&[], false)] {
        let part = Said::Part { offset: 0, bytes }.encode(ID);
        assert_eq!(Said::decode(&part).is_some(), good);
    }
}

#[test]
fn xud_12_a_fragment_says_whose_message_it_is_of() {
    let fragment = Fragment {
        message: 0x0102_0304,
        offset: 5,
        total: 0x1_0000,
        rendezvous: true,
    };
    let bytes = [&fragment.encode()[..], &[7]].concat();
    assert_eq!(bytes[..12], [1, 2, 3, 4, 0, 0, 0, 5, 0x80, 1, 0, 0]);
    assert_eq!(
        Fragment::decode(&bytes, 1 << 16),
        Some((fragment, &[7][..]))
    );
    assert_eq!(Fragment::decode(&bytes, (1 << 16) - 1), None);
}
