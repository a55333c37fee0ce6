//! `tributary board` and `tributary serve --cable`: programs over simulated boards, each with its host at the other end of a
//! cable.
#![cfg(target_os = "linux")]

#[path = "common/boards.rs"]
mod boards;
mod common;
#[path = "common/server.rs"]
mod server;

use std::io::Read;
use std::process::Command;

use boards::Boards;
use common::failure;

#[test]
fn programs_exchange_messages_through_boards_at_the_ends_of_cables() {
    let boards = Boards::start("cables", "pads");
    let mut servers = [0, 1].map(|node| boards.serve(node, &format!("board{node}"), &["--once"]));
    let other = servers[1].sockets[0].clone();
    servers[0].sockets.push(other);
    let output = servers[0]
        .perf(&["send-lat", "-n", "20", "-s", "700", "--json"])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all["rows"][0]["iterations"], 20);
    servers[0].sockets.pop();
    for server in &mut servers {
        server.ends_cleanly();
    }
    boards.end_cleanly();
}

#[test]
fn a_board_that_goes_ends_its_server_with_an_error() {
    let mut boards = Boards::start("gone", "streams");
    let mut server = boards.serve(1, "goes", &[]);
    boards.process.kill().unwrap();
    assert_eq!(server.process.wait().unwrap().code(), Some(1));
}

#[test]
fn what_has_no_board_is_an_error_that_says_so() {
    let serve = |at: &[&str]| {
        let mut arguments = vec!["serve", "--sockets", "target/none"];
        arguments.extend(at);
        let (code, error) = failure(&arguments);
        assert_eq!(code, 1, "{error}");
        error
    };
    let error = serve(&["--cable", "target/no-such-cable"]);
    assert!(
        error.contains("no cable at target/no-such-cable"),
        "{error}"
    );
    let error = serve(&["--interface", "no0"]);
    assert!(
        error.contains("no network interface `no0`; there are"),
        "{error}"
    );
    for alone in [["--node", "1"], ["--link-timeout", "9"]] {
        let mut arguments = vec!["serve", "--sockets", "target/none"];
        arguments.extend(alone);
        let (code, error) = failure(&arguments);
        assert!(code == 2 && error.contains("--interface"), "{error}");
    }
    // Somebody listens, and says nothing.
    let path = std::env::temp_dir().join(format!("tributary-mute-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let mute = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        // Until the other end is closed.
        let _ = socket.read_to_end(&mut vec![]);
    });
    let error = serve(&["--cable", path.to_str().unwrap(), "--link-timeout", "1"]);
    assert!(error.contains("no board answers within 500 ms"), "{error}");
    mute.join().unwrap();
    std::fs::remove_file(&path).unwrap();
}

/// What the host in Python prints when everything is as documented.
const TOLD: &str = "\
session: begun, settings acknowledged
registers: 45 as after reset
mtu: 7 values written and read back
two words: 4 reads as single ones
refused: 3 TLPs unsupported, 3 writes without effect, parts of a word read
timeout: ring and payload read, completion and interrupt written
new life: session begun, registers: 45 as after reset
";

/// A host's end that was written from the documents alone, over a good cable and one that loses and doubles frames.
#[test]
fn a_board_is_as_documented_to_a_host_in_python() {
    let root = env!("CARGO_MANIFEST_DIR");
    for (name, faults) in [
        ("python", &[][..]),
        (
            "python_faults",
            &["--loss", "0.1", "--double", "0.1", "--seed", "7"],
        ),
    ] {
        let boards = Boards::start(name, "streams");
        let output = Command::new("python3")
            .arg(format!("{root}/tests/cables/host.py"))
            .arg(&boards.cables[0])
            .args(faults)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        let (seed, told) = said.split_once('\n').unwrap();
        assert_eq!(told, TOLD, "{seed}, {faults:?}: {error}");
        assert!(output.status.success(), "{error}");
    }
}
