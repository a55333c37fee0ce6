//! The capture of `sim --demo xud`, read by tshark where that is installed.

use std::path::PathBuf;
use std::process::Command;

use tributary_protocol::roce::Link;
use tributary_protocol::rw::{self, Abort, Message, Reason};
use tributary_protocol::xud;
use tributary_protocol::xud::wire::{Ack, Packet, Reply};
use tributary_sim::pcap::Capture;

#[test]
fn tshark_decodes_every_datagram_without_complaint() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed (apt-get install tshark)");
        return;
    }
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("xud.pcapng");
    let path = file.to_str().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tributary"))
        .args([
            "sim",
            "--demo",
            "xud",
            "--messages",
            "200",
            "--size",
            "1001",
            "--loss",
            "0.05",
        ])
        .args(["--dup", "0.02", "--json", "--pcap", path])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let sum: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();

    let mut tshark = Command::new("tshark");
    tshark.args(["-r", path, "-o", "ip.check_checksum:TRUE", "-T", "fields"]);
    for field in [
        "frame.protocols",
        "udp.dstport",
        "infiniband.bth.opcode",
        "infiniband.bth.destqp",
        "infiniband.bth.psn",
        "infiniband.invariant.crc",
        "ip.checksum.status",
        "_ws.malformed",
        "_ws.expert.severity",
    ] {
        tshark.args(["-e", field]);
    }
    let read = tshark.output().unwrap();
    assert!(read.status.success(), "{read:?}");
    let text = String::from_utf8(read.stdout).unwrap();
    let (mut requests, mut acks) = (0, 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        assert!(
            fields[0].starts_with("eth:ethertype:ip:udp:infiniband"),
            "{line}"
        );
        assert_eq!((fields[1], fields[3]), ("4791", "0x000011"), "{line}");
        match fields[2] {
            "208" => requests += 1,
            "209" => acks += 1,
            _ => panic!("{line}"),
        }
        assert!(fields[4].parse::<u32>().is_ok(), "{line}");
        // The checksum is good, nothing is malformed, and no expert has anything to say.
        assert_eq!((fields[6], fields[7], fields[8]), ("1", "", ""), "{line}");
    }
    assert!(requests as u64 > sum["requests"].as_u64().unwrap());
    assert!(acks as u64 > sum["acks"].as_u64().unwrap());
}

/// Frames of datagrams and bulk transfers of nodes above 65,535, whose numbers differ in bits 19:16 alone: their addresses show all
/// of a node, checksum and ICRC are right.
#[test]
fn cl_01_tshark_shows_all_20_bits_of_the_nodes() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed (apt-get install tshark)");
        return;
    }
    let (from, to) = (0x5_0107, 0xF_0107);
    let ack = Packet::Ack(Ack {
        dest_qp: 0x11,
        psn: 7,
        reply: Reply::Ok,
        echo: None,
        marked: false,
    });
    let abort = Message::Abort(Abort {
        src: from,
        slot: 1,
        xid: 2,
        reason: Reason::GaveUp,
    });
    let link = Link::between(from, to);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("nodes.pcapng");
    let out = std::fs::File::create(&file).unwrap();
    let mut capture = Capture::new(out, 8.0).unwrap();
    let frames = [
        xud::wire::encode_frame(&link, &ack).unwrap(),
        rw::wire::encode_frame(&link, &abort, &[]).unwrap(),
    ];
    for (now, frame) in (0..).zip(&frames) {
        capture.frame(0, now, frame).unwrap();
    }
    drop(capture);
    let mut tshark = Command::new("tshark");
    tshark.args(["-r", file.to_str().unwrap(), "-T", "fields"]);
    tshark.args(["-o", "ip.check_checksum:TRUE"]);
    for field in [
        "eth.src",
        "eth.dst",
        "ip.src",
        "ip.dst",
        "ip.checksum.status",
        "_ws.malformed",
        "_ws.expert.severity",
    ] {
        tshark.args(["-e", field]);
    }
    let read = tshark.output().unwrap();
    assert!(read.status.success(), "{read:?}");
    let expected = "02:00:50:10:70:00\t02:00:f0:10:70:00\t10.5.1.7\t10.15.1.7\t1\t\t\n".repeat(2);
    assert_eq!(String::from_utf8(read.stdout).unwrap(), expected);
}
