//! Datagrams of groups: what is written is read, and other bytes are refused.

use bitvec::vec::BitVec;
use proptest::prelude::*;
use tributary_protocol::multicast::Algorithm;
use tributary_protocol::multicast::group::wire::{Body, Datagram, Place, Ticket, WireError};
use tributary_protocol::multicast::group::{
    Control, Expected, GroupConfig, Holdings, Parameters, Partial, Repairs, Verdict, Why,
};

fn why() -> impl Strategy<Value = Why> {
    prop_oneof![
        Just(Why::Gone),
        Just(Why::Parameters),
        Just(Why::Length),
        Just(Why::Stuck),
        Just(Why::Ticket)
    ]
}

fn set() -> impl Strategy<Value = BitVec> {
    prop::collection::vec(any::<bool>(), 0..40).prop_map(|bits| bits.into_iter().collect())
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let racks = prop::collection::vec(any::<u32>(), 0..5);
    let numbers = (any::<u32>(), any::<u32>(), any::<u64>());
    (numbers, 0..5usize, racks, any::<bool>()).prop_map(|(numbers, algorithm, racks, offload)| {
        Parameters {
            members: numbers.0,
            algorithm: Algorithm::ALL[algorithm],
            racks,
            block_bytes: numbers.1,
            offload,
            identity: numbers.2,
        }
    })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let watermarks = prop::collection::vec(any::<Option<u32>>(), 0..9);
    prop_oneof![
        any::<u32>().prop_map(|messages| Verdict::Success { messages }),
        (any::<u32>(), why(), watermarks).prop_map(|(suspect, why, watermarks)| {
            Verdict::Failure {
                suspect,
                why,
                watermarks,
            }
        })
    ]
}

fn control() -> impl Strategy<Value = Control> {
    let partial = (any::<u64>(), set()).prop_map(|(length, have)| Partial { length, have });
    let whole = prop::collection::vec(any::<u64>(), 0..5);
    let holdings = (whole, prop::collection::vec(partial, 0..4));
    let repair = (any::<u64>(), prop::collection::vec(set(), 0..5));
    let repairs = (any::<u32>(), prop::collection::vec(repair, 0..4));
    prop_oneof![
        parameters().prop_map(Control::Join),
        holdings.prop_map(|(whole, partial)| Control::Holdings(Holdings { whole, partial })),
        repairs.prop_map(|(first, messages)| Control::Repairs(Repairs { first, messages })),
        Just(Control::Open),
        Just(Control::Done),
        any::<u32>().prop_map(|messages| Control::Close { messages }),
        (any::<u32>(), why()).prop_map(|(suspect, why)| Control::Notice { suspect, why }),
        (any::<u32>(), why()).prop_map(|(suspect, why)| Control::Ask { suspect, why }),
        (any::<u32>(), why(), any::<u32>()).prop_map(|(suspect, why, watermark)| {
            Control::Report {
                suspect,
                why,
                watermark,
            }
        }),
        verdict().prop_map(Control::Verdict),
    ]
}

fn body() -> impl Strategy<Value = Body> {
    let place = (any::<[u32; 3]>(), any::<u64>());
    let place = place.prop_map(|([tag, qp_num, rkey], address)| Place {
        tag,
        qp_num,
        rkey,
        address,
    });
    let pairs = || prop::collection::vec(any::<u32>(), 0..5);
    let ticket = (any::<u64>(), any::<u32>(), pairs(), pairs());
    let ticket = ticket.prop_map(|(address, rkey, sends, receives)| Ticket {
        address,
        rkey,
        sends,
        receives,
    });
    let expected = (any::<u32>(), any::<Option<u32>>());
    let expected = expected.prop_map(|(message, block)| Expected { message, block });
    prop_oneof![
        6 => control().prop_map(Body::Control),
        2 => (any::<u32>(), expected, place).prop_map(|(granted, expected, place)| Body::Credit {
            granted,
            expected,
            place,
        }),
        1 => (any::<[u32; 3]>(), any::<u64>()).prop_map(|([tag, message, block], length)| {
            Body::Carried { tag, message, block, length }
        }),
        1 => Just(Body::Ping),
        1 => Just(Body::Pong),
        1 => ticket.prop_map(Body::Ticket),
        1 => (any::<u32>(), any::<u64>()).prop_map(|(message, length)| Body::Length {
            message,
            length,
        }),
    ]
}

proptest! {
    #[test]
    fn mb_08_what_is_written_is_read(epoch: u32, body in body()) {
        let datagram = Datagram { epoch, body };
        let bytes = datagram.encode().unwrap();
        prop_assert_eq!(Datagram::decode(&bytes).unwrap(), datagram);
        // Cut short it is refused, and so is more.
        for end in 0..bytes.len() {
            prop_assert!(Datagram::decode(&bytes[..end]).is_err());
        }
        let more = [&bytes[..], &[0]].concat();
        prop_assert!(Datagram::decode(&more).is_err());
    }

    /// What is read has one form only: nothing in a datagram is ignored.
    #[test]
    fn mb_08_damaged_datagrams_are_refused_or_mean_something_else(
        epoch: u32, body in body(), at: prop::sample::Index, bit in 0..8
    ) {
        let datagram = Datagram { epoch, body };
        let mut bytes = datagram.encode().unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        if let Ok(other) = Datagram::decode(&bytes) {
            prop_assert_ne!(&other, &datagram);
            prop_assert_eq!(other.encode().unwrap(), bytes);
        }
    }

    #[test]
    fn mb_08_any_bytes_are_read_without_harm(kind in 0u8..19, rest: Vec<u8>) {
        let bytes = [&[0xB1, kind, 0, 0, 0, 0, 0, 1], &rest[..]].concat();
        for bytes in [&rest[..], &bytes[..]] {
            if let Ok(datagram) = Datagram::decode(bytes) {
                prop_assert_eq!(datagram.encode().unwrap(), bytes);
            }
        }
    }
}

#[test]
fn mb_08_errors_of_datagrams_say_what_is_wrong() {
    let text = |bytes: &[u8]| Datagram::decode(bytes).unwrap_err().to_string();
    assert_eq!(
        text(&[1]),
        "byte 0 is 0x01, not 0xb1: no block multicast of version 1"
    );
    assert_eq!(text(&[0xB1, 13]), "it ends at byte 2, before its fields do");
    assert_eq!(text(&[0xB1, 99, 0, 0, 0, 0, 0, 0]), "kind 99");
    assert_eq!(
        text(&[0xB1, 13, 0, 0, 0, 0, 0, 0, 5]),
        "1 bytes behind the last field"
    );
    // A count of 4 thousand million members is not believed, nor made room for.
    let verdict = [
        0xB1, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255,
    ];
    assert_eq!(text(&verdict), "members is 4294967295");
    let expected = Expected {
        message: 0,
        block: None,
    };
    let credit = Control::Credit {
        granted: 1,
        expected,
    };
    let body = Body::Control(credit);
    assert_eq!(
        Datagram { epoch: 1, body }.encode(),
        Err(WireError::NoPlace)
    );
}

#[test]
fn mb_14_what_does_not_fit_a_group_is_told_apart() {
    let config = GroupConfig::new(3, 100);
    let bits = |count| BitVec::repeat(true, count);
    let holdings = |length, count| {
        let have = bits(count);
        Control::Holdings(Holdings {
            whole: vec![5],
            partial: vec![Partial { length, have }],
        })
    };
    assert!(holdings(250, 3).fits(&config));
    assert!(!holdings(250, 4).fits(&config));
    assert!(!holdings(u64::MAX, 3).fits(&config));
    let repairs = |first, members, count| {
        let messages = vec![(250, vec![bits(count); members])];
        Control::Repairs(Repairs { first, messages })
    };
    assert!(repairs(0, 3, 3).fits(&config));
    assert!(!repairs(0, 2, 3).fits(&config));
    assert!(!repairs(0, 3, 2).fits(&config));
    assert!(!repairs(u32::MAX, 3, 3).fits(&config));
    let notice = |suspect| {
        let why = Why::Gone;
        Control::Notice { suspect, why }
    };
    assert!(notice(2).fits(&config));
    assert!(!notice(3).fits(&config));
    let verdict = |count| {
        Control::Verdict(Verdict::Failure {
            suspect: 0,
            why: Why::Gone,
            watermarks: vec![None; count],
        })
    };
    assert!(verdict(3).fits(&config));
    assert!(!verdict(2).fits(&config));
}
