//! Entries of completion rings: what decodes must encode to itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tributary_protocol::card::descriptor::{Completion, ReceiveRequest, WorkRequest};

fuzz_target!(|entry: [u8; 64]| {
    if let Ok(completion) = Completion::decode(&entry) {
        assert_eq!(Completion::decode(&completion.encode(3)), Ok(completion));
    }
    let work = WorkRequest::decode(&entry);
    assert_eq!(WorkRequest::decode(&work.encode()), work);
    if let Some(half) = entry.first_chunk::<32>() {
        let receive = ReceiveRequest::decode(half);
        assert_eq!(ReceiveRequest::decode(&receive.encode()), receive);
    }
});
