//! Programs of others, unchanged, over served cards: they are skipped with a word where they are not installed.
#![cfg(target_os = "linux")]

#[path = "common/programs.rs"]
mod programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use programs::{Mpi, PATIENCE, Started, end, is_installed};

const TRIBUTARY: &str = env!("CARGO_BIN_EXE_tributary");

/// A folder of this test; with the provider as libfabric looks for it.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tributary-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let deps = std::env::current_exe().unwrap();
    let built = deps.with_file_name("libtributary_fi.so");
    std::os::unix::fs::symlink(built, folder.join("libtributary-fi.so")).unwrap();
    folder
}

fn serve(sockets: &Path, cards: usize, faults: &[&str]) -> Started {
    let number = cards.to_string();
    let options = [&["--cards", &number][..], faults].concat();
    serve_with(sockets, cards, &options)
}

/// With these options it has so many cards.
fn serve_with(sockets: &Path, cards: usize, options: &[&str]) -> Started {
    let child = Command::new(TRIBUTARY)
        .args(["serve", "--sockets"])
        .arg(sockets)
        .args(options)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !sockets.join((cards - 1).to_string()).exists() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
    Started(child)
}

fn pingpong(folder: &Path, arguments: &[&str], place: &[&str]) -> Started {
    let child = Command::new("fi_pingpong")
        .args(["-p", "tributary", "-e", "rdm", "-c"])
        .args(arguments)
        .args(place)
        .env("FI_PROVIDER_PATH", folder)
        .env("TRIBUTARY_SOCKETS", folder.join("cards"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Started(child)
}

#[test]
fn cl_9_fi_pingpong_checks_messages_of_all_sizes_with_and_without_faults() {
    if !is_installed("fi_pingpong") {
        return;
    }
    let faults = ["--loss", "0.01", "--dup", "0.01", "--reorder", "64"];
    for (run, faults) in [&[][..], &faults].into_iter().enumerate() {
        let folder = folder(&format!("pingpong-{run}"));
        let server = serve(&folder.join("cards"), 2, faults);
        for (at, mode) in ["msg", "tagged"].into_iter().enumerate() {
            let port = (47_610 + 2 * run + at).to_string();
            let arguments = ["-m", mode, "-I", "10", "-S", "all"];
            let listener = pingpong(&folder, &arguments, &["-B", &port]);
            let start = Instant::now();
            let caller = loop {
                let caller = end(pingpong(&folder, &arguments, &["-P", &port, "127.0.0.1"]));
                // The other may not listen yet.
                let early = String::from_utf8_lossy(&caller.stderr).contains("failed to connect");
                if !early || start.elapsed() > PATIENCE {
                    break caller;
                }
                std::thread::sleep(Duration::from_millis(50));
            };
            let text = String::from_utf8_lossy(&caller.stdout);
            assert!(caller.status.success() && text.contains("6m"), "{caller:?}");
            assert!(end(listener).status.success());
        }
        drop(server);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// A program of `tests/data` that is linked to libfabric.
fn compiled(folder: &Path, name: &str) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let program = folder.join(name);
    let compiled = Command::new("cc")
        .args(["-Wall", "-Werror", "-o"])
        .arg(&program)
        .arg(data.join(name).with_extension("c"))
        .arg("-lfabric")
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
    program
}

/// Runs `tests/data/collectives.c` on so many ranks of a server; calls of all that went to the switches, and by messages.
fn collectives(name: &str, ranks: usize, cards: (usize, &[&str]), more: &[&str]) -> [u64; 2] {
    let folder = folder(name);
    let program = compiled(&folder, "collectives");
    let (files, figures) = (folder.join("files"), folder.join("figures"));
    std::fs::create_dir_all(&files).unwrap();
    std::fs::create_dir_all(&figures).unwrap();
    let server = serve_with(&folder.join("cards"), cards.0, cards.1);
    let start = |rank: usize| {
        let child = Command::new(&program)
            .args([rank.to_string(), ranks.to_string()])
            .arg(&files)
            .args(more)
            .env("FI_PROVIDER_PATH", &folder)
            .env("TRIBUTARY_SOCKETS", folder.join("cards"))
            .env("TRIBUTARY_STATISTICS", &figures)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Started(child.unwrap())
    };
    let started: Vec<Started> = (0..ranks).map(start).collect();
    for output in started.into_iter().map(end) {
        assert!(output.status.success(), "{output:?}");
    }
    drop(server);
    let mut sums = [0; 2];
    for file in figures.read_dir().unwrap().map(|file| file.unwrap()) {
        if file
            .file_name()
            .to_string_lossy()
            .starts_with("reductions-")
        {
            let text = std::fs::read_to_string(file.path()).unwrap();
            let numbers = text
                .split(' ')
                .map(|word| word.trim().parse::<u64>().unwrap());
            (sums.iter_mut().zip(numbers)).for_each(|(sum, number)| *sum += number);
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
    sums
}

#[test]
fn cl_9_collective_operations_of_libfabric_by_messages_and_a_rank_that_dies() {
    if !Path::new("/usr/include/rdma/fabric.h").exists() || !is_installed("cc") {
        println!("skipped: no libfabric-dev");
        return;
    }
    let [in_switches, by_messages] =
        collectives("groups", 3, (3, &["--cards", "3"]), &["one dies"]);
    assert_eq!(in_switches, 0, "there is no switch");
    assert!(by_messages >= 2 * 116, "{by_messages}");
}

#[test]
fn cl_9_cl_05_collective_operations_of_libfabric_in_the_switches() {
    if !Path::new("/usr/include/rdma/fabric.h").exists() || !is_installed("cc") {
        println!("skipped: no libfabric-dev");
        return;
    }
    let fabric = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/eight.toml");
    let [in_switches, by_messages] =
        collectives("groups-in-switches", 5, (8, &["--fabric", fabric]), &[]);
    // Broadcasts of more than 256 bytes are for messages: from each of five of 1,000, and of shares of 61 and of 1,000; ten products, and
    // four long ones.
    assert_eq!(by_messages, 5 * 29);
    // What the program counts, and in its half each rank another 3 and one for each member.
    assert!(in_switches >= 3 * 177 + 2 * 176, "{in_switches}");
}

#[test]
fn cl_9_memory_of_peers_atomic_operations_counters_and_queues_through_libfabric() {
    if !Path::new("/usr/include/rdma/fabric.h").exists() || !is_installed("cc") {
        println!("skipped: no libfabric-dev");
        return;
    }
    let folder = folder("provider");
    let program = compiled(&folder, "provider");
    let server = serve(&folder.join("cards"), 2, &[]);
    let child = Command::new(&program)
        .env("FI_PROVIDER_PATH", &folder)
        .env("TRIBUTARY_SOCKETS", folder.join("cards"))
        .stderr(Stdio::piped())
        .spawn();
    let output = end(Started(child.unwrap()));
    assert!(output.status.success(), "{output:?}");
    drop(server);
    std::fs::remove_dir_all(folder).unwrap();
}

const HELLO: &str = r#"
#include <mpi.h>
#include <stdlib.h>
int main(int count, char **arguments) {
    int rank, ranks, sum;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != ranks * (ranks - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 3);
    if (count > 1 && rank == 1) abort();
    for (int bytes = 1; bytes <= 1 << 20; bytes *= 4) {
        char *out = malloc(bytes), *in = malloc(bytes);
        int before = (rank + ranks - 1) % ranks;
        for (int at = 0; at < bytes; at++) out[at] = at * 7 + rank;
        MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % ranks, 1, in, bytes, MPI_CHAR, before, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int at = 0; at < bytes; at++)
            if (in[at] != (char)(at * 7 + before)) MPI_Abort(MPI_COMM_WORLD, 4);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"#;

#[test]
fn cl_9_an_mpi_program_runs_unchanged_and_one_that_dies_ends_the_run() {
    for mpi in [Mpi::System, Mpi::Mpich] {
        if mpi.is_there() {
            runs_unchanged(mpi);
        }
    }
}

fn runs_unchanged(mpi: Mpi) {
    let folder = folder(&format!("hello-{mpi:?}"));
    let (source, program) = (folder.join("hello.c"), folder.join("hello"));
    std::fs::write(&source, HELLO).unwrap();
    mpi.compiled(&source, &program);
    let run = |arguments: &[&str], more: &[&str]| {
        let child = Command::new(TRIBUTARY)
            .args(["mpi", "--json", "--mpiexec"])
            .arg(mpi.mpiexec())
            .args(arguments)
            .arg("--")
            .arg(&program)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        end(Started(child.unwrap()))
    };
    let faults = [
        "-n",
        "2",
        "--loss",
        "0.01",
        "--dup",
        "0.01",
        "--reorder",
        "64",
    ];
    for arguments in [&["-n", "4"][..], &faults] {
        let output = run(arguments, &[]);
        let text = String::from_utf8_lossy(&output.stdout);
        let summary = text.lines().last().unwrap_or_default();
        let summary: serde_json::Value = serde_json::from_str(summary).expect(&text);
        assert!(output.status.success(), "{output:?}");
        assert!(summary["messages"].as_u64() > Some(20), "{summary}");
        assert!(summary["long_messages"].as_u64() > Some(3), "{summary}");
        assert!(summary["by_transfers"].as_u64() > Some(3), "{summary}");
        let lost = summary["frames_lost"].as_u64() > Some(0);
        assert_eq!(lost, arguments.len() > 2, "{summary}");
    }
    let died = run(&["-n", "3"], &["die"]);
    assert!(!died.status.success());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn cl_9_a_run_that_is_told_to_end_leaves_no_process_and_no_folder() {
    if !is_installed("mpiexec") || !is_installed("pgrep") {
        return;
    }
    let place = folder("told");
    let child = Command::new(TRIBUTARY)
        .args(["mpi", "-n", "2", "--", "sleep", "86397"])
        .env("TMPDIR", &place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let runs = || {
        let found = Command::new("pgrep").args(["-fx", "sleep 86397"]).output();
        String::from_utf8_lossy(&found.unwrap().stdout)
            .lines()
            .count()
    };
    let start = Instant::now();
    while runs() < 2 {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    let told = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(told.success());
    assert!(!end(Started(child)).status.success());
    while runs() > 0 {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = place.read_dir().unwrap().map(|file| file.unwrap().path());
    let left: Vec<PathBuf> = left
        .filter(|path| path.to_string_lossy().contains("tributary-mpi"))
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    std::fs::remove_dir_all(place).unwrap();
}

/// Two models and a Verilated card on a Verilated switch.
fn mixed(latency: u32) -> String {
    format!(
        r#"
[link]
latency_clocks = {latency}
[[switch]]
name = "s"
ports = 3
kind = "rtl"
[[endpoint]]
name = "a"
[[endpoint]]
name = "b"
kind = "rtl"
[[endpoint]]
name = "c"
[[cable]]
ends = ["s.0", "a"]
[[cable]]
ends = ["s.1", "b"]
[[cable]]
ends = ["s.2", "c"]
"#
    )
}

#[test]
fn cl_9_cl_02_ranks_on_verilated_cards_and_switches_and_a_fabric_that_breaks_down() {
    let mpi = Mpi::System;
    if !mpi.is_there() {
        return;
    }
    let folder = folder("verilated");
    let (source, program) = (folder.join("hello.c"), folder.join("hello"));
    std::fs::write(&source, HELLO).unwrap();
    mpi.compiled(&source, &program);
    let run = |arguments: &[&str]| {
        let child = Command::new(TRIBUTARY)
            .args(["mpi", "--json"])
            .args(arguments)
            .arg("--")
            .arg(&program)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        end(Started(child.unwrap()))
    };
    let good = |arguments: &[&str], verilated: u64| {
        let output = run(arguments);
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        let summary = text.lines().last().unwrap_or_default();
        let summary: serde_json::Value = serde_json::from_str(summary).expect(&text);
        assert_eq!(summary["verilated_cards"], verilated, "{summary}");
        // The cards without switches have no bulk transfers: their long messages go as datagrams.
        let can = arguments.contains(&"--fabric");
        let by_transfers = summary["by_transfers"].as_u64();
        assert_eq!(by_transfers > Some(3), can, "{summary}");
        assert!(can || by_transfers == Some(0), "{summary}");
        assert!(summary["long_messages"].as_u64() > Some(3), "{summary}");
        // What is sent again was lost.
        let lost =
            ["frames_lost", "frames_dropped"].map(|name| summary[name].as_u64().unwrap_or(0));
        assert!(
            summary["resent"].as_u64() <= Some(lost[0] + lost[1] + 20),
            "{summary}"
        );
    };
    good(&["-n", "2", "--engine", "rtl", "--dup", "0.01"], 2);
    let file = folder.join("mixed.toml");
    std::fs::write(&file, mixed(480)).unwrap();
    good(&["-n", "3", "--fabric", file.to_str().unwrap()], 1);
    // Packets of the provider are longer than these cables: nobody is left to wait.
    std::fs::write(&file, mixed(100)).unwrap();
    let broken = run(&["-n", "3", "--fabric", file.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&broken.stderr);
    assert!(!broken.status.success());
    assert!(
        text.contains("longer than its cable of 100 clocks"),
        "{text}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn cl_9_a_launcher_that_is_not_there_or_not_known_is_named() {
    for (launcher, says) in [
        ("/nowhere/mpiexec", "install an MPI"),
        ("true", "not known here"),
    ] {
        let output = Command::new(TRIBUTARY)
            .args(["mpi", "--mpiexec", launcher, "--", "program"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1));
        assert!(text.contains(says) && text.contains(launcher), "{text}");
    }
}
