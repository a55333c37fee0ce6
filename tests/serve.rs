//! `tributary serve`: cards of another process, opened through their sockets.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/server.rs"]
mod server;

use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{failure, json};
use server::Server;
use tributary_host_driver::collective::Trees;
use tributary_host_driver::collective::remote::RemoteTrees;
use tributary_host_driver::{Context, Options, VfioUserDevice};

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_served_card_opens_and_the_server_ends_with_ctrl_c() {
    let mut server = Server::start("open", 3, &["--loss", "0.01"]);
    assert!(server.sockets[2].ends_with("/2"), "{:?}", server.sockets);
    let device = VfioUserDevice::connect(server.sockets[2].as_ref()).unwrap();
    let context = Context::open(Arc::new(device), Options::default()).unwrap();
    assert_eq!(context.sizes().queue_pairs, 64);
    let queue = context.create_cq(0).unwrap();
    assert!(
        context
            .alloc_pd()
            .unwrap()
            .create_qp(&queue)
            .build()
            .is_ok()
    );
    server.signal("-INT");
    server.ends_cleanly();
}

#[test]
fn each_card_of_a_fabric_has_a_socket_and_they_reach_each_other_through_its_switches() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pair.toml");
    let mut server = Server::of_fabric("fabric", file, 4);
    let mut named = server.sockets.iter().zip(["/0", "/1", "/2", "/3"]);
    assert!(named.all(|(path, end)| path.ends_with(end)));
    // Its manager makes trees for other processes.
    let folder = Path::new(&server.sockets[0]).parent().unwrap();
    let grant = RemoteTrees::connect(folder).unwrap().plant(&[0, 3]);
    assert!(grant.is_ok(), "{grant:?}");
    // The hosts of two switches.
    server.sockets = vec![server.sockets[0].clone(), server.sockets[3].clone()];
    let output = server.perf(&["send-lat", "-n", "20", "--json"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all["rows"][0]["iterations"], 20);
    server.signal("-INT");
    server.ends_cleanly();
}

/// Ticks of the processor that a process has used, 100 a second.
fn ticks(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let after_name = text.rsplit_once(')').unwrap().1;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_served_fabric_takes_no_processor_while_no_frame_is_under_way() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pair.toml");
    let mut server = Server::of_fabric("quiet", file, 4);
    server.sockets = vec![server.sockets[0].clone(), server.sockets[3].clone()];
    let perf = server.perf(&["send-lat", "-n", "20", "--json"]).output();
    assert!(perf.unwrap().status.success());
    std::thread::sleep(Duration::from_millis(300));
    let before = ticks(server.process.id());
    std::thread::sleep(Duration::from_secs(1));
    let used = ticks(server.process.id()) - before;
    assert!(used < 12, "{used} of 100 ticks");
    server.signal("-INT");
    server.ends_cleanly();
}

#[test]
fn perf_measures_cards_of_another_process_which_ends_when_its_clients_are_gone() {
    let mut server = Server::start("once", 2, &["--once", "--loss", "0.001"]);
    let output = server.perf(&["send-lat", "-n", "50", "--json"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&all["cards"], &all["clock"]),
        (&"connected".into(), &"wall".into())
    );
    let row = &all["rows"][0];
    assert_eq!(row["iterations"], 50);
    assert!(row["t_min_us"].as_f64().unwrap() > 0.0);
    server.ends_cleanly();
}

#[test]
fn verilated_cards_are_served_and_one_sends_to_itself() {
    let mut server = Server::start("rtl", 1, &["--engine", "rtl"]);
    let output = server
        .perf(&["send-bw", "-s", "256", "-n", "10", "--json"])
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all["rows"][0]["iterations"], 10);
    server.signal("-TERM");
    server.ends_cleanly();
}

#[test]
fn a_server_that_is_killed_is_an_error_that_says_so_and_its_sockets_can_be_used_again() {
    let mut server = Server::start("kill", 2, &[]);
    let client = server.perf(&["send-bw", "-D", "600"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    server.process.kill().unwrap();
    let start = Instant::now();
    let output = client.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let said = text(&output);
    assert!(said.contains(&server.sockets[0]), "{said}");
    assert!(
        said.contains("is gone: its server has ended or closed the socket"),
        "{said}"
    );
    // Nobody is there now; a new server takes the place.
    let (code, said) = failure(&["perf", "send-lat", "--connect", &server.sockets[0]]);
    assert_eq!(code, 1);
    assert!(
        said.contains("cannot open the card at") && said.contains("refused"),
        "{said}"
    );
    let again = Server::start_in(server.folder.clone(), 2, &[]);
    let (code, _) = json(&[
        "perf",
        "send-lat",
        "-n",
        "5",
        "--json",
        "--connect",
        &again.sockets[1],
    ]);
    assert_eq!(code, 0);
}

#[test]
fn a_client_that_is_killed_leaves_the_cards_to_the_next() {
    let server = Server::start("next", 2, &[]);
    let mut client = server.perf(&["send-bw", "-D", "600"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    client.kill().unwrap();
    client.wait().unwrap();
    let output = server.perf(&["send-lat", "-n", "20", "--compare"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn wrong_calls_say_what_is_wrong() {
    let cases: [(&[&str], &str); 5] = [
        (&["serve"], "--sockets <DIR>"),
        (
            &["serve", "--sockets", "x", "--loss", "2"],
            "a probability is 0 to 1",
        ),
        (&["serve", "--sockets", "x", "--cards", "0"], "1..=64"),
        (
            &["perf", "send-lat", "--connect", "card"],
            "the number of its card",
        ),
        (
            &["perf", "send-lat", "--connect", "0", "--engine", "rtl"],
            "cannot be used with",
        ),
    ];
    for (arguments, text) in cases {
        let (code, error) = failure(arguments);
        assert_eq!(code, 2, "{arguments:?}: {error}");
        assert!(error.contains(text), "{arguments:?}: {error}");
    }
    let (code, error) = failure(&["serve", "--sockets", "/proc/none"]);
    assert_eq!(code, 1);
    assert!(
        error.contains("cannot make the folder /proc/none"),
        "{error}"
    );
}
