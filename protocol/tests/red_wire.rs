//! Reduction frames as bytes: the worked vector, round trips, and every kind of damage.

use proptest::prelude::*;
use tributary_protocol::red::{wire::*, *};

fn sample() -> Frame {
    Frame {
        fabric: Fabric::new(
            Address::unicast(0x12345, 0x678),
            Key {
                tree: 0x1abc,
                reduction: 5,
            }
            .address(),
            0xbeef,
        ),
        restricted: Restricted::default(),
        red: Reduction {
            seqno: 0x2a5,
            arm: true,
            op: Op::FltSumDownFtz,
            count: 0xabcde,
            resno: 0x15a,
            rc: Rc::new(9),
            m: 0xe6u8 as i8,
            oflow: 2,
            pad: 1,
            cookie: 0x677d_b234,
        },
        data: [1, 0x0123_4567_89ab_cdef, u64::MAX, 4],
    }
}

/// The vector of the specification (RED-15: pad bits and resno have their own places).
#[test]
fn red_15_reduction_header_vector() {
    let want = [
        0x67, 0x7d, 0xb2, 0x34, 0x37, 0x34, 0xab, 0x55, 0x79, 0xbd, 0x76, 0xa5,
    ];
    assert_eq!(sample().red.to_bytes(), want);
    assert_eq!(Reduction::from_bytes(want), Ok(sample().red));
}

#[test]
fn red_10_addresses() {
    let key = Key {
        tree: 0x1abc,
        reduction: 5,
    };
    assert_eq!(key.address().0, 0x1ff << 23 | 5 << 18 | 0x1abc << 3 | 7);
    assert_eq!(key.address().multicast(), Some(key));
    assert_eq!(key.address().mac(), [3, 0, 0xff, 0x94, 0xd5, 0xe7]);
    assert_eq!(key.address().to_string(), "tree 6844.5");
    let host = Address::unicast(0x12345, 0x678);
    assert_eq!(
        (host.node(), host.endpoint(), host.multicast()),
        (0x12345, 0x678, None)
    );
    assert_eq!(host.mac(), [2, 0, 0x12, 0x34, 0x56, 0x78]);
    assert_eq!(host.to_string(), "74565:1656");
    // Every fixed bit counts.
    for bit in (0..3).chain([16, 17, 21, 22]).chain(23..32) {
        assert_eq!(Address(key.address().0 ^ 1 << bit).multicast(), None);
    }
}

/// Every byte of one frame, by hand.
#[test]
fn red_15_a_whole_frame() {
    let bytes = sample().to_bytes(DEFAULT_ETHERTYPE);
    assert_eq!(
        bytes[..14],
        [
            3, 0, 0xff, 0x94, 0xd5, 0xe7, 2, 0, 0x12, 0x34, 0x56, 0x78, 0x88, 0xb5
        ]
    );
    assert_eq!(bytes[14..24], [0x45, 0, 0, 80, 0xbe, 0xef, 0, 0, 64, 253]);
    // 4500 + 0050 + beef + 0000 + 40fd + 1234 + 5678 + ff94 + d5e7, folded and inverted.
    assert_eq!(bytes[24..26], [0x7c, 0x99]);
    assert_eq!(
        bytes[26..34],
        [0x12, 0x34, 0x56, 0x78, 0xff, 0x94, 0xd5, 0xe7]
    );
    assert_eq!(
        bytes[34..50],
        [0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 49, 0, 0, 0, 0, 0]
    );
    assert_eq!(bytes[62..70], [0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bytes[70..78], [1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]);
    assert_eq!(Frame::parse(&bytes, DEFAULT_ETHERTYPE), Ok(sample()));
}

/// Sets bytes, puts the checksum right, and says what a reader thinks of it.
fn damaged(changes: &[(usize, u8)]) -> WireError {
    let mut bytes = sample().to_bytes(DEFAULT_ETHERTYPE);
    for &(at, value) in changes {
        bytes[at] = value;
    }
    if changes.iter().all(|&(at, _)| at != 24) {
        let sum: u32 = (14..34)
            .step_by(2)
            .filter(|&i| i != 24)
            .map(|i| u32::from(bytes[i]) << 8 | u32::from(bytes[i + 1]))
            .sum();
        let folded = sum % 0xffff;
        bytes[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    }
    Frame::parse(&bytes, DEFAULT_ETHERTYPE).expect_err("damaged")
}

#[test]
fn red_10_every_damage_has_its_error() {
    use WireError::*;
    let field = |field, got, expected| Field {
        field,
        got,
        expected,
    };
    assert_eq!(
        damaged(&[(12, 8)]),
        Ethertype {
            got: 0x08b5,
            expected: DEFAULT_ETHERTYPE
        }
    );
    assert_eq!(damaged(&[(14, 0x65)]), field("version", 6, 4));
    assert_eq!(damaged(&[(14, 0x46)]), field("header length", 6, 5));
    assert_eq!(damaged(&[(17, 81)]), field("length", 81, 80));
    assert_eq!(
        damaged(&[(20, 0x40)]),
        Reserved("reserved bits of the fabric header")
    );
    assert_eq!(
        damaged(&[(20, 0x80)]),
        Reserved("reserved bits of the fabric header")
    );
    assert_eq!(damaged(&[(23, 17)]), field("protocol", 17, 253));
    assert_eq!(
        damaged(&[(24, 0x7d)]),
        Checksum {
            got: 0x7d99,
            expected: 0x7c99
        }
    );
    let dfa = Address(sample().fabric.dfa.0);
    assert_eq!(damaged(&[(0, 2)]), Mac(dfa));
    assert_eq!(damaged(&[(5, 0xef)]), Mac(dfa));
    assert_eq!(damaged(&[(1, 1)]), Mac(dfa));
    assert_eq!(damaged(&[(34, 0xd0)]), field("type", 5, 4));
    for bit in [0x20, 0x40, 0x80] {
        assert_eq!(
            damaged(&[(43, bit)]),
            Reserved("reserved bits of the restricted header")
        );
    }
    assert_eq!(damaged(&[(44, 50)]), field("request_len", 50, 49));
    for at in 45..50 {
        assert_eq!(damaged(&[(at, 1)]), Reserved("pad"));
    }
    // Bits 16:11 of the reduction header: op 0x2e becomes 0x0e.
    assert_eq!(damaged(&[(59, 0xbd & !1)]), Op(0x0e));
    for len in [0, 13, 93, 95, 1500] {
        assert_eq!(
            Frame::parse(&vec![0; len], DEFAULT_ETHERTYPE),
            Err(Length(len))
        );
    }
    let mut frame = sample();
    assert_eq!(frame.check_up(), Ok(()));
    frame.red.count = 0;
    assert_eq!(frame.check_up(), Err(ZeroCount));
}

/// The checksum is the sum modulo 65,535, whatever carries there are.
#[test]
fn red_10_checksum_of_every_carry() {
    let mut zeros = 0;
    for low in 0..=0xffffu32 {
        let mut frame = sample();
        frame.fabric.sfa = Address(0xffff_0000 | low);
        let bytes = frame.to_bytes(DEFAULT_ETHERTYPE);
        let word = |i: usize| u32::from(bytes[i]) << 8 | u32::from(bytes[i + 1]);
        let sum: u32 = (14..34).step_by(2).map(word).sum();
        assert_eq!(sum % 0xffff, 0);
        assert_eq!(Frame::parse(&bytes, DEFAULT_ETHERTYPE), Ok(frame));
        if bytes[24..26] == [0, 0] {
            let mut other = bytes;
            other[24..26].fill(0xff);
            assert_eq!(Frame::parse(&other, DEFAULT_ETHERTYPE), Ok(frame));
            zeros += 1;
        }
    }
    assert!(zeros > 0);
}

fn frames() -> impl Strategy<Value = Frame> {
    let fabric = (
        0u8..64,
        0u8..4,
        any::<u16>(),
        0u16..2048,
        0u8..8,
        any::<u8>(),
        any::<u32>(),
        address(),
    );
    let restricted = (
        any::<bool>(),
        0u8..16,
        any::<bool>(),
        0u8..4,
        0u8..32,
        0u64..1 << 56,
        any::<bool>(),
    );
    let low = (
        0u16..1024,
        any::<bool>(),
        proptest::sample::select(Op::ALL),
        0..=COUNT_MAX,
        0u16..1024,
    );
    let high = (0u8..16, any::<i8>(), 0u8..4, 0u8..8, any::<u32>());
    (fabric, restricted, low, high, any::<[u64; 4]>()).prop_map(|(f, r, l, h, data)| Frame {
        fabric: Fabric {
            dscp: f.0,
            ecn: f.1,
            vni: f.2,
            spt_idx: f.3,
            r#try: f.4,
            ttl: f.5,
            sfa: Address(f.6),
            dfa: f.7,
        },
        restricted: Restricted {
            req_not_rsp: r.0,
            opcode: r.1,
            flush: r.2,
            pktid_ext: r.3,
            index_ext: r.4,
            remote_offset: r.5,
            src_error: r.6,
        },
        red: Reduction {
            seqno: l.0,
            arm: l.1,
            op: l.2,
            count: l.3,
            resno: l.4,
            rc: Rc::new(h.0),
            m: h.1,
            oflow: h.2,
            pad: h.3,
            cookie: h.4,
        },
        data,
    })
}

fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        any::<u32>().prop_map(Address),
        (0u16..8192, 0u8..8).prop_map(|(tree, reduction)| Key { tree, reduction }.address()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn red_15_round_trip(frame in frames(), ethertype: u16) {
        let bytes = frame.to_bytes(ethertype);
        prop_assert_eq!(Frame::parse(&bytes, ethertype), Ok(frame));
    }

    /// What is read back and written again is the same to the bit, but for the source MAC.
    #[test]
    fn damaged_bytes_never_panic_and_nothing_is_lost(frame in frames(), at in 0usize..94, value: u8) {
        let mut bytes = frame.to_bytes(DEFAULT_ETHERTYPE);
        bytes[at] = value;
        if let Ok(read) = Frame::parse(&bytes, DEFAULT_ETHERTYPE) {
            bytes[6..12].copy_from_slice(&read.fabric.sfa.mac());
            prop_assert_eq!(read.to_bytes(DEFAULT_ETHERTYPE), bytes);
        }
    }

    #[test]
    fn any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), ethertype: u16) {
        let _ = Frame::parse(&bytes, ethertype);
    }

    #[test]
    fn red_14_newer_is_within_half_the_circle(a in 0u16..1024, ahead in 0u16..1024) {
        let b = (a + ahead) % 1024;
        prop_assert_eq!(seqno_newer(b, a), (1..512).contains(&ahead));
        prop_assert!(seqno_newer(seqno_after(a), a));
    }
}
