//! Descriptors as bytes.

use proptest::prelude::*;
use tributary_protocol::card::descriptor::*;
use tributary_protocol::xud::{Outcome, Peer, Window};

const PEER: Peer = Peer {
    node: 0xA_0102,
    qpn: 0x03_0405,
};
const WINDOW: Window = Window {
    id: 0x1112,
    epoch: 0x1314,
    msn: 0x1516_1718,
};

#[test]
fn fields_do_not_overlap_and_lie_in_their_words() {
    for (list, words) in [(WORK, 8), (RECEIVE, 4), (COMPLETION, 8)] {
        let mut used = [0u64; 8];
        for place in list {
            let mask = (u64::MAX >> (64 - u32::from(place.width))) << place.lsb;
            assert_eq!(mask.count_ones(), u32::from(place.width), "{}", place.name);
            assert!(usize::from(place.word) < words, "{}", place.name);
            assert_eq!(used[usize::from(place.word)] & mask, 0, "{}", place.name);
            used[usize::from(place.word)] |= mask;
        }
    }
}

#[test]
fn a_work_request_has_its_bytes_where_the_card_reads_them() {
    let request = WorkRequest {
        opcode: OPCODE_SEND,
        flags: 0,
        head_len: 3,
        length: 0x2122_2324,
        wr_id: 0x3132_3334_3536_3738,
        address: 0x4142_4344_4546_4748,
        lkey: 0x5152_5354,
        version_flags: 0x14,
        to: PEER,
        window: WINDOW,
        head: *b"0123456789abcdef",
    };
    let expected = [
        [1, 0, 3, 0, 0x24, 0x23, 0x22, 0x21],
        [0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31],
        [0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41],
        [0x54, 0x53, 0x52, 0x51, 0x14, 0x02, 0x01, 0x0A],
        [0x05, 0x04, 0x03, 0, 0x18, 0x17, 0x16, 0x15],
        [0x12, 0x11, 0x14, 0x13, 0, 0, 0, 0],
        *b"01234567",
        *b"89abcdef",
    ];
    assert_eq!(request.encode(), *expected.as_flattened());
    assert_eq!(WorkRequest::decode(&request.encode()), request);
}

#[test]
fn a_completion_has_its_bytes_where_the_driver_reads_them() {
    let completion = Completion {
        wr_id: 7,
        status: Outcome::LocalDma,
        of: Of::Receive,
        version_flags: 0x12,
        length: 4096,
        peer: PEER,
        window: WINDOW,
        q_key: 0x6162_6364,
        psn: 0x71_7273,
        request: 0x8182,
        number: 0x0010,
        marked: true,
    };
    let expected = [
        [7, 0, 0, 0, 0, 0, 0, 0],
        [16, 2, 0x12, 1, 0, 0x10, 0, 0],
        [0x02, 0x01, 0x0A, 0, 0x05, 0x04, 0x03, 0],
        [0x12, 0x11, 0x14, 0x13, 0x18, 0x17, 0x16, 0x15],
        [0x64, 0x63, 0x62, 0x61, 0x73, 0x72, 0x71, 0],
        [0x82, 0x81, 0, 0, 0, 0, 0, 0],
        [0; 8],
        [0, 0, 0x10, 0, 0, 0, 0, 0],
    ];
    // The 17th completion of a ring of 16 is the first of the second pass.
    assert_eq!(completion.encode(4), *expected.as_flattened());
    assert_eq!(Completion::decode(&completion.encode(4)), Ok(completion));
}

#[test]
fn the_phase_turns_with_each_pass_also_where_numbers_wrap() {
    for log in [0, 1, 4, 15] {
        let ring = 1u32 << log;
        for number in 0..=0xFFFFu32 {
            let phase = Completion::phase(number as u16, log);
            let before = Completion::phase((number.wrapping_sub(ring)) as u16, log);
            assert_ne!(phase, before, "{number} in a ring of {ring}");
        }
        assert!(Completion::phase(0, log), "memory that is 0 holds nothing");
    }
}

proptest! {
    #[test]
    fn a_receive_request_comes_back(wr_id: u64, address: u64, lkey: u32, length: u32) {
        let request = ReceiveRequest { wr_id, address, lkey, length };
        prop_assert_eq!(ReceiveRequest::decode(&request.encode()), request);
    }
}
