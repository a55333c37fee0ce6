//! The capture of `sim --demo xud`, read by tshark where that is installed.

use std::path::PathBuf;
use std::process::Command;

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
