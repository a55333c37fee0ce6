//! Frames of datagrams: what decodes must encode to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tributary_protocol::roce;
use tributary_protocol::xud::wire;

fuzz_target!(|bytes: &[u8]| {
    // The checksums are right, so that the rest is reached.
    let (Some(head), Some(body)) = (bytes.first_chunk::<7>(), bytes.get(7..)) else {
        return;
    };
    let bth = roce::Bth {
        opcode: head[0],
        dest_qp: u32::from_be_bytes([0, head[1], head[2], head[3]]),
        psn: u32::from_be_bytes([0, head[4], head[5], head[6]]),
    };
    let Ok(frame) = roce::encode(&roce::Link::between(1, 2), &bth, body) else {
        return;
    };
    if let Ok((from, packet)) = wire::decode_frame(&frame) {
        assert_eq!(from, 1);
        let (again, encoded) = wire::encode(&packet).expect("what was decoded fits");
        assert_eq!(again, bth);
        // A refused opcode carries no payload.
        assert!(body.starts_with(&encoded));
    }
    let _ = wire::decode_frame(bytes);
});
