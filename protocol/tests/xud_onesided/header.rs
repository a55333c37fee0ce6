//! The header and what it may say.

use proptest::prelude::*;
use tributary_protocol::xud::onesided::{
    Answer, Asked, HeaderError, Operation, Order, Request, is_answer,
};

fn asked(bytes: &[u8]) -> impl Strategy<Value = Asked<'_>> {
    prop_oneof![
        (0..=bytes.len()).prop_map(|n| Asked::Write(&bytes[..n])),
        (1..=240u32).prop_map(Asked::Read),
        any::<u64>().prop_map(Asked::FetchAdd),
        any::<(u64, u64)>().prop_map(|(swap, compare)| Asked::CompareSwap { swap, compare }),
    ]
}

proptest! {
    #[test]
    fn xud_13_a_request_is_what_was_encoded(
        address in any::<u64>(), rkey in any::<u32>(), asked in asked(&[0xA5; 240]),
    ) {
        let address = address & !7;
        let request = Request { address, rkey, asked };
        let payload = request.encode();
        prop_assert_eq!(Request::decode(&payload, 256), Ok(request));
        prop_assert!(!is_answer(&payload));
        // Cut anywhere it is another request at most, and never a READ or an atomic.
        for cut in 0..payload.len() {
            let cut = Request::decode(&payload[..cut], 256).map(|request| request.asked);
            prop_assert!(cut.is_err() || matches!(cut, Ok(Asked::Write(_))));
        }
    }

    #[test]
    fn xud_13_no_payload_is_both_request_and_answer(payload in proptest::collection::vec(any::<u8>(), 0..64)) {
        let request = Request::decode(&payload, 256);
        let answer = Answer::decode(&payload);
        prop_assert_eq!(answer.is_ok(), is_answer(&payload));
        prop_assert!(request.is_err() || answer.is_err());
        if let Ok(request) = request {
            let again = request.encode();
            prop_assert_eq!(Request::decode(&again, 256), Ok(request));
        }
        if let Ok(answer) = answer {
            let again = answer.encode();
            prop_assert_eq!(Answer::decode(&again), Ok(answer));
        }
    }
}

#[test]
fn xud_13_bytes_stand_where_the_table_says() {
    let asked = Asked::CompareSwap {
        swap: 0x1122_3344_5566_7788,
        compare: 9,
    };
    let request = Request {
        address: 0x0102_0304_0506_0708,
        rkey: 0xA1A2_A3A4,
        asked,
    };
    let payload = [
        [1, 2, 3, 4, 5, 6, 7, 8, 0xA1, 0xA2, 0xA3, 0xA4, 4, 0, 0, 0],
        [
            0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 9, 0, 0, 0, 0, 0, 0, 0,
        ],
    ]
    .concat();
    assert_eq!(request.encode(), payload);
    let read = Request {
        address: 1,
        rkey: 2,
        asked: Asked::Read(0x123),
    };
    assert_eq!(read.encode()[12..], [2, 0, 1, 0x23]);
    let answer = Answer {
        operation: Operation::FetchAdd,
        old: [1, 2, 3, 4, 5, 6, 7, 8],
        data: &[],
    };
    assert_eq!(
        answer.encode(),
        [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0x83, 0, 0, 0]
    );
}

#[test]
fn xud_13_every_fault_of_a_header_has_its_error() {
    let with = |operation: u8, to_read: u8, address: u8, length: usize| {
        let mut payload = vec![0; length];
        payload[7] = address;
        payload[12] = operation;
        payload[15] = to_read;
        Request::decode(&payload, 48).map(|_| ())
    };
    let length = |got, min, max| Err(HeaderError::Length { got, min, max });
    assert_eq!(
        Request::decode(&[0; 15], 48).map(|_| ()),
        length(15, 16, 48)
    );
    assert_eq!(with(1, 0, 0, 49), length(49, 16, 48));
    assert_eq!(with(1, 0, 3, 48), Ok(()));
    for operation in [0, 5, 0x81, 0x82, 0xFF] {
        assert_eq!(
            with(operation, 0, 0, 16),
            Err(HeaderError::Operation(operation))
        );
    }
    assert_eq!(with(1, 1, 0, 16), Err(HeaderError::Reserved(1)));
    assert_eq!(with(3, 1, 0, 32), Err(HeaderError::Reserved(1)));
    assert_eq!(
        with(2, 0, 0, 16),
        Err(HeaderError::Read { got: 0, max: 32 })
    );
    assert_eq!(with(2, 32, 5, 16), Ok(()));
    assert_eq!(
        with(2, 33, 0, 16),
        Err(HeaderError::Read { got: 33, max: 32 })
    );
    assert_eq!(with(2, 1, 0, 17), length(17, 16, 16));
    assert_eq!(with(3, 0, 8, 31), length(31, 32, 32));
    assert_eq!(with(4, 0, 8, 33), length(33, 32, 32));
    assert_eq!(with(4, 0, 12, 32), Err(HeaderError::Alignment(12)));
    // An MTU below a header lets nothing through.
    let tiny = Request::decode(&[0; 16], 3).map(|_| ());
    assert_eq!(tiny, length(16, 16, 3));
}

#[test]
fn xud_13_numbers_wrap_at_two_to_the_32() {
    for expected in [0, 1, 7, 1 << 31, u32::MAX] {
        let order = |ahead: u32| Order::of(expected.wrapping_add(ahead), expected);
        assert_eq!(order(0), Order::Next);
        assert_eq!(order(u32::MAX), Order::Last);
        assert_eq!(order(u32::MAX - 1), Order::Behind);
        assert_eq!(order(1 << 31), Order::Behind);
        assert_eq!(order((1 << 31) - 1), Order::Ahead);
        assert_eq!(order(1), Order::Ahead);
    }
}
