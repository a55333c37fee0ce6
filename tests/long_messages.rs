//! Long messages and memory of peers through libfabric, which go by bulk transfers over served cards: skipped with a word where
//! libfabric-dev is not installed.
#![cfg(target_os = "linux")]

#[path = "common/programs.rs"]
mod programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use programs::{PATIENCE, Started, end, is_installed};

/// A server's folder, and the program.
struct Place {
    folder: PathBuf,
    program: PathBuf,
    /// Dropped before the folder is removed.
    server: Option<Started>,
}

impl Place {
    /// Nothing if it cannot be compiled here.
    fn new(name: &str, cards: usize, options: &[&str]) -> Option<Self> {
        if !Path::new("/usr/include/rdma/fabric.h").exists() || !is_installed("cc") {
            println!("skipped: no libfabric-dev");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("tributary-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("figures")).unwrap();
        std::fs::create_dir_all(folder.join("files")).unwrap();
        let built = (std::env::current_exe().unwrap()).with_file_name("libtributary_fi.so");
        std::os::unix::fs::symlink(built, folder.join("libtributary-fi.so")).unwrap();
        let program = folder.join("long");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/long.c");
        let compiled = Command::new("cc")
            .args(["-O1", "-Wall", "-Werror", "-o"])
            .arg(&program)
            .args([source, "-lfabric"])
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{compiled:?}");
        let sockets = folder.join("cards");
        let server = Command::new(env!("CARGO_BIN_EXE_tributary"))
            .args(["serve", "--sockets"])
            .arg(&sockets)
            .args(options)
            .stdout(Stdio::null())
            .spawn();
        let server = Some(Started(server.unwrap()));
        let start = Instant::now();
        while !sockets.join((cards - 1).to_string()).exists() {
            assert!(start.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(Self {
            folder,
            program,
            server,
        })
    }

    fn start(&self, rank: usize, ranks: usize, more: &[&str]) -> Started {
        let child = Command::new(&self.program)
            .args([rank.to_string(), ranks.to_string()])
            .arg(self.folder.join("files"))
            .args(more)
            .env("FI_PROVIDER_PATH", &self.folder)
            .env("TRIBUTARY_SOCKETS", self.folder.join("cards"))
            .env("TRIBUTARY_STATISTICS", self.folder.join("figures"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Started(child.unwrap())
    }

    /// Messages, reads and writes that came by bulk transfers, at all ends.
    fn by_transfers(&self) -> u64 {
        let files = self.folder.join("figures").read_dir().unwrap();
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let last = |text: String| text.split_whitespace().nth(4).unwrap().parse::<u64>();
        texts.map(|text| last(text).unwrap()).sum()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.server = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// `LONG_SEED` says which lengths.
fn exchange(name: &str, ranks: usize, cards: usize, options: &[&str]) {
    let Some(place) = Place::new(name, cards, options) else {
        return;
    };
    let seed = std::env::var("LONG_SEED").unwrap_or_else(|_| "1".to_owned());
    println!("LONG_SEED={seed}");
    let started: Vec<Started> = (0..ranks)
        .map(|rank| place.start(rank, ranks, &["exchange", &seed]))
        .collect();
    for output in started.into_iter().map(end) {
        assert!(output.status.success(), "{output:?}");
    }
    // Reads and writes of all memory but one's own, and some of the messages.
    let memory = 2 * ranks as u64 * (ranks as u64 - 1);
    let by_transfers = place.by_transfers();
    assert!(by_transfers > memory, "{by_transfers}");
}

#[test]
fn cl_09_xud_12_everyone_sends_long_messages_to_everyone_before_it_receives() {
    exchange("long", 4, 4, &["--cards", "4"]);
}

#[test]
fn cl_09_xud_12_long_messages_arrive_over_a_bad_network() {
    let options = [
        "--cards",
        "2",
        "--loss",
        "0.01",
        "--dup",
        "0.01",
        "--reorder",
        "64",
    ];
    exchange("long-bad", 2, 2, &options);
}

#[test]
fn cl_09_cl_02_long_messages_pass_the_switches_of_a_fabric() {
    let fabric = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/eight.toml");
    exchange("long-switches", 3, 8, &["--fabric", fabric]);
}

/// The last of three ranks dies while it sends, or receives.
fn death(mode: &str) {
    let Some(place) = Place::new(&format!("long-{mode}"), 3, &["--cards", "3"]) else {
        return;
    };
    let mut started: Vec<Started> = (0..3).map(|rank| place.start(rank, 3, &[mode])).collect();
    let died = end(started.pop().unwrap());
    assert_eq!(died.status.code(), None, "{died:?}");
    for output in started.into_iter().map(end) {
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn cl_09_a_sender_that_dies_in_the_middle_of_a_long_message_is_named_within_a_minute() {
    death("sender");
}

#[test]
fn cl_09_a_receiver_that_dies_in_the_middle_of_a_long_message_is_named_within_a_minute() {
    death("receiver");
}
