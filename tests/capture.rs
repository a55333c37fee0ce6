//! The pcapng capture, read back by an independent parser of the format and by the wire format's own.

use std::borrow::Cow;

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use tributary_protocol::rw::{Message, Mode, wire};
use tributary_sim::pcap::Capture;
use tributary_sim::rw::{Memory, ModelEngine, Plan, Transfer};

#[test]
fn every_frame_of_a_transfer_is_captured_at_both_ends_and_decodes() {
    let plan = Plan {
        mode: Mode::Rw,
        window_packets: 256,
        bytes: 50_000,
        mtu: 9,
        round_trip_slots: 64,
        reorder_slots: 16,
        loss: 0.05,
        loss_back: 0.05,
        copies: 2,
        duplication: 0.05,
        seed: 4,
    };
    let sent = Memory::random_bytes(plan.bytes, plan.seed);
    let mut engine = ModelEngine::new(plan.receiver()).unwrap();
    let mut capture = Capture::new(Vec::new(), 50.0).unwrap();
    let mut transfer = Transfer::of_bytes(plan, sent.clone()).unwrap();
    let report = transfer
        .run(&mut engine, &mut [&mut capture], &mut |_| {})
        .unwrap();
    let file = capture.into_inner();

    let mut reader = PcapNgReader::new(file.as_slice()).unwrap();
    let mut names = Vec::new();
    let mut frames = [0u64; 2];
    let mut data_sent = 0;
    let mut last = std::time::Duration::ZERO;
    let mut received = vec![0; sent.len()];
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                assert_eq!(interface.linktype, DataLink::ETHERNET);
                names.extend(interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                    _ => None,
                }));
                assert!(
                    interface
                        .options
                        .contains(&InterfaceDescriptionOption::IfTsResol(9))
                );
            }
            Block::EnhancedPacket(packet) => {
                let Cow::Borrowed(frame) = packet.data else {
                    panic!("a copy")
                };
                assert!(packet.timestamp >= last && packet.original_len as usize == frame.len());
                last = packet.timestamp;
                frames[packet.interface_id as usize] += 1;
                let decoded = wire::decode_frame(frame).unwrap();
                if let Message::Data(data) = decoded.msg {
                    let from = (data.pidx as usize) << plan.mtu;
                    assert_eq!(decoded.payload, &sent[from..from + decoded.payload.len()]);
                    if packet.interface_id == 0 {
                        data_sent += 1;
                    } else {
                        received[from..from + decoded.payload.len()]
                            .copy_from_slice(decoded.payload);
                    }
                }
            }
            other => panic!("unexpected block {other:?}"),
        }
    }
    assert_eq!(names, ["sender", "receiver"]);
    assert_eq!((data_sent, received == sent), (report.sender.data(), true));
    let (there, back) = (report.to_receiver, report.to_sender);
    let arrived = |link: tributary_sim::link::LinkStats| link.sent - link.lost + link.duplicated;
    assert_eq!(
        frames,
        [there.sent + arrived(back), back.sent + arrived(there)]
    );
    assert!(there.lost > 0 && there.duplicated > 0 && there.overtaken > 0);
}
