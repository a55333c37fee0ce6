//! Every parser takes any bytes: an error, never a panic, and what it takes it writes back alike.
//!
//! `cargo test -p tributary-fuzz` tries some inputs. With cargo-bolero each test is a target for libFuzzer, as
//! `docs/guide.md` says.

use bolero::check;
use tributary_fabric::pattern::Pattern;
use tributary_fabric::read;
use tributary_fabric::topology::Topology;
use tributary_protocol::card::descriptor;
use tributary_protocol::roce::{self, Bth};
use tributary_protocol::tlp_link::Content;
use tributary_protocol::tlp_link::wire::{Frame, Kind};
use tributary_protocol::xud::control::{Control, Fragment};
use tributary_protocol::xud::onesided::{Answer, Request, is_answer};
use tributary_protocol::xud::rendezvous::Said;
use tributary_protocol::{red, rw, xud};

/// BTH of the first bytes, and the rest.
fn split(input: &[u8]) -> Option<(Bth, &[u8])> {
    let (head, body) = input.split_first_chunk::<7>()?;
    let triple = |at: usize| u32::from_be_bytes([0, head[at], head[at + 1], head[at + 2]]);
    let bth = Bth {
        opcode: head[0],
        dest_qp: triple(1),
        psn: triple(4),
    };
    Some((bth, body))
}

/// The bytes as the body of a frame whose checksums are right, so that they reach what is behind those.
fn framed(input: &[u8]) -> Option<Vec<u8>> {
    let (bth, body) = split(input)?;
    roce::encode(&roce::Link::between(1, 2), &bth, body).ok()
}

#[test]
fn a_roce_frame_is_taken_apart_or_refused() {
    check!().for_each(|input: &[u8]| {
        let _ = roce::decode(input);
        if let Some(frame) = framed(input) {
            let decoded = roce::decode(&frame).unwrap();
            let again = roce::encode(&decoded.link, &decoded.bth, decoded.body).unwrap();
            assert_eq!(again, frame);
        }
    });
}

#[test]
fn a_datagram_is_taken_apart_or_refused() {
    check!().for_each(|input: &[u8]| {
        let Some((bth, body)) = split(input) else {
            return;
        };
        if let Ok(packet) = xud::wire::decode(&bth, body) {
            let (again, bytes) = xud::wire::encode(&packet).unwrap();
            assert_eq!(again, bth);
            if !matches!(packet, xud::Packet::Unknown { .. }) {
                assert_eq!(bytes, body);
            }
        }
    });
}

#[test]
fn what_layers_say_is_taken_apart_or_refused() {
    check!().for_each(|input: &[u8]| {
        if let Some(control) = Control::decode(input) {
            assert_eq!(control.encode(), input);
        }
        if let Some((id, said)) = Said::decode(input) {
            assert_eq!(said.encode(id), input);
        }
        if let Some((fragment, rest)) = Fragment::decode(input, xud::MAX_MESSAGE) {
            assert_eq!([fragment.encode().as_slice(), rest].concat(), input);
        }
    });
}

#[test]
fn a_one_sided_header_is_taken_apart_or_refused() {
    check!().for_each(|input: &[u8]| {
        let answer = Answer::decode(input);
        assert_eq!(answer.is_ok(), is_answer(input) && input.len() <= 4_096);
        if let Ok(answer) = answer {
            assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
        }
        if let Ok(request) = Request::decode(input, 4_096) {
            let again = request.encode();
            assert_eq!(again.len(), input.len());
            assert_eq!(Request::decode(&again, 4_096), Ok(request));
        }
    });
}

#[test]
fn a_window_message_is_taken_apart_or_refused() {
    check!().for_each(|input: &[u8]| {
        let Some((bth, body)) = split(input) else {
            return;
        };
        if let Ok((message, payload)) = rw::wire::decode(&bth, body) {
            let (again, mut bytes) = rw::wire::encode(&message).unwrap();
            bytes.extend_from_slice(payload);
            assert_eq!((again, bytes.as_slice()), (bth, body));
        }
    });
}

#[test]
fn a_reduction_frame_is_taken_apart_or_refused() {
    check!().for_each(|input: &[u8]| {
        let mut frame = [0; red::wire::FRAME_LEN];
        for (place, byte) in frame.iter_mut().zip(input) {
            *place = *byte;
        }
        let ethertype = u16::from_be_bytes([frame[12], frame[13]]);
        let _ = red::wire::Frame::parse(input, ethertype);
        if let Ok(parsed) = red::wire::Frame::parse(&frame, ethertype) {
            let again = red::wire::Frame::parse(&parsed.to_bytes(ethertype), ethertype);
            assert_eq!(again.unwrap(), parsed);
        }
    });
}

#[test]
fn a_descriptor_means_something_or_is_refused() {
    check!().for_each(|input: &[u8]| {
        let mut entry = [0; 64];
        for (place, byte) in entry.iter_mut().zip(input) {
            *place = *byte;
        }
        let work = descriptor::WorkRequest::decode(&entry);
        assert_eq!(descriptor::WorkRequest::decode(&work.encode()), work);
        if let Ok(completion) = descriptor::Completion::decode(&entry) {
            let again = descriptor::Completion::decode(&completion.encode(4));
            assert_eq!(again.unwrap(), completion);
        }
    });
}

#[test]
fn a_network_file_is_read_or_refused() {
    check!().for_each(|input: &[u8]| {
        let _ = read::parse(input, "fuzz", "net");
        let _ = read::parse(
            &[b"topo net switches 2 endnodes 2\n", input].concat(),
            "fuzz",
            "net",
        );
    });
}

#[test]
fn names_of_networks_and_groups_are_read_or_refused() {
    check!().for_each(|input: &[u8]| {
        let Ok(text) = std::str::from_utf8(input) else {
            return;
        };
        let _ = text.parse::<Topology>();
        for family in ["ft", "torus:", "df:"] {
            let _ = format!("{family}{text}").parse::<Topology>();
        }
        let _ = text.parse::<Pattern>();
        let _ = format!("rnd{text}").parse::<Pattern>();
    });
}

#[test]
fn a_fabric_file_is_read_or_refused() {
    check!().for_each(|input: &[u8]| {
        if let Ok(text) = std::str::from_utf8(input) {
            let _ = tributary_sim::fabric::file::parse(text, "fuzz");
        }
    });
}

#[test]
fn a_recorded_trace_is_read_or_refused() {
    check!().for_each(|input: &[u8]| {
        let _ = tributary_sim::rw::trace::Trace::read(input);
    });
}

#[test]
fn a_unit_of_the_host_link_is_taken_apart_or_refused() {
    check!().for_each(|input: &[u8]| {
        let _ = Frame::parse(input);
        for kind in [Kind::Tlp, Kind::Settings] {
            if let Ok(content) = Content::parse(&(kind, input.to_vec())) {
                let unit = content.emit().unwrap();
                assert_eq!((unit.0, unit.1.len()), (kind, input.len()));
                assert_eq!(Content::parse(&unit), Ok(content));
            }
        }
    });
}
