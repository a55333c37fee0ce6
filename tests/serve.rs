//! `tributary serve`: a card of another process, opened through its socket.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tributary_host_driver::{Context, Options, VfioUserDevice};

#[test]
fn a_served_card_opens_and_the_server_ends_with_its_input() {
    let folder = std::env::temp_dir().join(format!("tributary-serve-{}", std::process::id()));
    let mut server = Command::new(env!("CARGO_BIN_EXE_tributary"))
        .args(["serve", "--nodes", "3", "--loss", "0.01"])
        .arg(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(server.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("3 cards in "), "{line}");
    let device = VfioUserDevice::connect(&folder.join("2")).unwrap();
    let context = Context::open(Arc::new(device), Options::default()).unwrap();
    assert_eq!(context.sizes().queue_pairs, 64);
    assert!(
        context
            .alloc_pd()
            .unwrap()
            .create_qp(&context.create_cq(0).unwrap())
            .build()
            .is_ok()
    );
    drop(server.stdin.take());
    assert!(server.wait().unwrap().success());
    assert!(!folder.join("2").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_probability_above_one_is_refused() {
    let folder = std::env::temp_dir().join(format!("tributary-bad-{}", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_tributary"))
        .args(["serve", "--loss", "2"])
        .arg(&folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text, "error: loss = 2 is not a probability (0 to 1)\n");
    let _ = std::fs::remove_dir_all(&folder);
}
