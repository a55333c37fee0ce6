//! The driver in C, which was written from the documents and the generated header alone, on cards of `tributary serve`.
//! Needs a C compiler, as the project does.
#![cfg(target_os = "linux")]

#[path = "common/boards.rs"]
mod boards;
#[path = "common/server.rs"]
mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use boards::Boards;
use server::Server;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What it prints when everything is as documented.
const TOLD: &str = "\
exchange: 300 messages each way, 303350 bytes, each as sent
interrupt: one, with the completion
wrong Q_Key: timeout
no receive request: remote_rnr
queue pair that does not receive yet: bad_qp
longer than the receive request: remote_length
longer than the MTU: local_length
longer with its head: local_length
beyond the region: local_protection
key of another variant: local_protection
no such queue pair: bad_qp
queue pair of 25 bits: local_address
epoch that was not handed out: epoch_mismatch
version 2: local_opcode
command 99: bad_command
queue pair too high: bad_index
window too high: bad_index
ring off its alignment: bad_argument
region of 0 bytes: bad_argument
queue pair that exists: bad_state
queue pair that does not exist: bad_state
back to init: bad_state
recovery: local_queue, then a new queue pair
one-sided: write, read, fetch_add
";

/// Compiles the driver with a header, to wait at most so many milliseconds for anything, requests 4.096 µs · 2^`timeout` of the
/// card's time; the program.
fn compile(name: &str, header: &Path, patience: u32, timeout: u32) -> PathBuf {
    let sources = Path::new(ROOT).join("host_driver/c_driver");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut files: Vec<PathBuf> = std::fs::read_dir(sources)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "c"))
        .collect();
    files.sort();
    assert!(files.len() > 3, "{files:?}");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let compiled = Command::new(compiler)
        .args(["-std=c11", "-O1"])
        .arg(format!("-DPATIENCE_MS={patience}"))
        .arg(format!("-DTIMEOUT_EXPONENT={timeout}u"))
        .arg("-I")
        .arg(header)
        .args(files)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{errors}");
    program
}

fn run(program: &Path, server: &Server, messages: &str) -> Output {
    let mut command = Command::new(program);
    command.args(&server.sockets).arg(messages);
    command.output().unwrap()
}

/// What it says of reductions, where a card has them and where not.
const REDUCED: &str = "reductions: 41 frames by node and by tree, each as posted; 6 results answered by the root's card";
const NOT_REDUCED: &str = "reductions: not in this card";

fn finds_all_as_documented(name: &str, arguments: &[&str], reductions: &str) {
    let server = Server::start(name, 2, arguments);
    finds_all_at(name, &server, reductions, 20_000, 6);
}

/// Twice: the second client finds the cards as the first one did.
fn finds_all_at(name: &str, server: &Server, reductions: &str, patience: u32, timeout: u32) {
    let headers = Path::new(ROOT).join("rtl_out/registers");
    let program = compile(name, &headers, patience, timeout);
    for _ in 0..2 {
        let output = run(&program, server, "300");
        let errors = String::from_utf8_lossy(&output.stderr);
        let told = format!("{TOLD}{reductions}\ntorn down\n");
        assert_eq!(String::from_utf8_lossy(&output.stdout), told, "{errors}");
        assert!(output.status.success(), "{errors}");
    }
}

#[test]
fn xud_02_xud_03_xud_06_xud_13_xud_14_a_driver_in_c_finds_all_as_documented() {
    finds_all_as_documented("c_driver", &[], REDUCED);
}

#[test]
fn xud_02_xud_03_xud_06_xud_13_xud_14_verilated_cards_are_as_documented_to_a_driver_in_c() {
    finds_all_as_documented("c_driver_rtl", &["--engine", "rtl"], NOT_REDUCED);
}

/// Two cards on one cable, as a fabric file has them. Their numbers differ in bits 19:16 alone, so that a driver, a card or a
/// header that leaves one of these out is noticed.
fn on_a_cable(name: &str, arguments: &[&str]) -> Server {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.toml"));
    let text = "[[endpoint]]\nname = \"a\"\nnode = 70007\n[[endpoint]]\nname = \"b\"\nnode = 463223\n\
                [[cable]]\nends = [\"a\", \"b\"]\n";
    std::fs::write(&file, text).unwrap();
    let all = [arguments, &["--fabric", file.to_str().unwrap()]].concat();
    Server::of(name, 2, &all)
}

/// Cards with everything, of nodes above 65,535.
#[test]
fn cl_01_cl_05_cl_06_verilated_cards_reduce_as_documented_to_a_driver_in_c() {
    let server = on_a_cable("c_driver_bulk", &["--engine", "rtl"]);
    finds_all_at("c_driver_bulk", &server, REDUCED, 20_000, 6);
}

#[test]
fn cl_01_cards_of_nodes_above_65_535_are_as_documented_to_a_driver_in_c() {
    let server = on_a_cable("c_driver_nodes", &[]);
    finds_all_at("c_driver_nodes", &server, REDUCED, 20_000, 6);
}

#[test]
fn xud_02_xud_03_xud_06_xud_13_xud_14_boards_are_as_documented_to_a_driver_in_c() {
    let boards = Boards::start("c_driver_boards", "streams");
    let mut server = boards.serve(0, "c_driver_board0", &[]);
    let other = boards.serve(1, "c_driver_board1", &[]);
    server.sockets.extend(other.sockets.iter().cloned());
    // While a host is kept from its processor the boards go on: some 100,000 clocks a second.
    finds_all_at("c_driver_boards", &server, NOT_REDUCED, 60_000, 8);
}

/// The driver takes every number from the header: with a wrong one it must notice.
#[test]
fn a_header_that_is_wrong_in_one_place_is_noticed() {
    let path = Path::new(ROOT).join("rtl_out/registers/tributary_card.h");
    let header = std::fs::read_to_string(path).unwrap();
    let server = on_a_cable("c-driver-wrong", &[]);
    for (name, from, to) in [
        ("TRIB_CARD_DOORBELLS", "0x10000u", "0x20000u"),
        ("TRIB_CREATE_QP_COMPLETE_LOG_SHIFT", "12u", "8u"),
        ("TRIB_CREATE_QP_Q_KEY_ARG", "1u", "3u"),
        ("TRIB_SET_REGION_LENGTH_ARG", "4u", "5u"),
        ("TRIB_WORK_VERSION_FLAGS_SHIFT", "32u", "40u"),
        ("TRIB_RECEIVE_LENGTH_SHIFT", "32u", "33u"),
        ("TRIB_COMPLETION_WIN_MSN_WORD", "3u", "2u"),
        ("TRIB_ONE_SIDED_RKEY_OFFSET", "8u", "9u"),
        ("TRIB_OUTCOME_TIMEOUT", "1u", "2u"),
        ("TRIB_JOIN_GROUP_COOKIE_ARG", "2u", "3u"),
        ("TRIB_REDUCE_KIND_SHIFT", "24u", "25u"),
        ("TRIB_ARRIVAL_FETCHED_SHIFT", "16u", "17u"),
        ("TRIB_ARRIVAL_ANSWERED_SHIFT", "1u", "2u"),
        ("TRIB_JOIN_GROUP_MEMBERS_SHIFT", "13u", "14u"),
        ("TRIB_WORK_NODE_WIDTH", "20u", "16u"),
        ("TRIB_WORK_NODE_SHIFT", "40u", "48u"),
        ("TRIB_COMPLETION_NODE_WIDTH", "20u", "16u"),
        ("TRIB_REDUCE_NODE_WIDTH", "20u", "16u"),
        ("TRIB_OPEN_WINDOW_NODE_WIDTH", "20u", "16u"),
        ("TRIB_CARD_NODE_NUMBER_MASK", "0x000fffffu", "0x0000ffffu"),
    ] {
        let line = format!("#define {name:<48} {from}\n");
        assert_eq!(header.matches(&line).count(), 1, "{line}");
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("c_driver_wrong");
        std::fs::create_dir_all(&folder).unwrap();
        let wrong = header.replace(&line, &format!("#define {name:<48} {to}\n"));
        std::fs::write(folder.join("tributary_card.h"), wrong).unwrap();
        let program = compile("c_driver_wrong_program", &folder, 2_000, 6);
        let output = run(&program, &server, "20");
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(!output.stderr.is_empty(), "{name}");
    }
}
