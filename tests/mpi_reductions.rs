//! Unchanged MPI programs whose small reductions go to the switches: `tributary mpi --fabric`. Skipped with a word where no MPI is.
#![cfg(target_os = "linux")]

#[path = "common/programs.rs"]
mod programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use programs::{Mpi, Started, end, is_installed};
use serde_json::Value;

const TRIBUTARY: &str = env!("CARGO_BIN_EXE_tributary");
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/reductions.c");
const FORTRAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/reductions.F90");
/// 8 hosts on 3 switches.
const FABRIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/eight.toml");

/// A folder with the program in it, for one test.
struct Place(PathBuf, Mpi);

impl Place {
    /// Nothing where Open MPI 4 is not installed.
    fn new(name: &str) -> Option<Self> {
        if !Mpi::System.is_there() {
            return None;
        }
        let version = Command::new("mpiexec").arg("--version").output().unwrap();
        let version = String::from_utf8_lossy(&version.stdout);
        let version = version.lines().next().unwrap_or_default();
        if !version.contains("(OpenRTE) 4.") {
            eprintln!("skipped: mpiexec is not that of Open MPI 4: {version}");
            return None;
        }
        Some(Self::of(name, Mpi::System))
    }

    /// The same for MPICH, where it is among the tools.
    fn mpich(name: &str) -> Option<Self> {
        Mpi::Mpich.is_there().then(|| Self::of(name, Mpi::Mpich))
    }

    fn of(name: &str, mpi: Mpi) -> Self {
        let folder = std::env::temp_dir().join(format!("tributary-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        mpi.compiled(Path::new(SOURCE), &folder.join("reductions"));
        Self(folder, mpi)
    }

    /// The same with a program in Fortran, nothing where none can be compiled.
    fn fortran(name: &str, options: &[&str]) -> Option<Self> {
        let place = Self::new(name)?;
        let program = place.0.join("reductions");
        compiled_fortran(Path::new(FORTRAN), &program, options).then_some(place)
    }

    /// A fabric whose cables lose frames.
    fn lossy(&self) -> String {
        let path = self.0.join("lossy.toml");
        let text = std::fs::read_to_string(FABRIC).unwrap();
        let text = text.replacen("[link]", "[link]\nloss = 0.01", 1);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn run(&self, fabric: &str, arguments: &[&str], what: &str) -> Output {
        let child = Command::new(TRIBUTARY)
            .args(["mpi", "--json", "--fabric", fabric, "--mpiexec"])
            .arg(self.1.mpiexec())
            .args(arguments)
            .arg("--")
            .arg(self.0.join("reductions"))
            .arg(what)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        end(Started(child.unwrap()))
    }

    /// A run that ends well: what the program printed of its own calls (small ones, others) and the summary.
    fn good(&self, fabric: &str, arguments: &[&str], what: &str) -> ([u64; 2], String, Value) {
        let output = self.run(fabric, arguments, what);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?} {what}: {output:?}");
        let calls = text.lines().find(|line| line.starts_with("small")).unwrap();
        let mut numbers = calls.split(' ').filter_map(|word| word.parse().ok());
        let calls = [numbers.next().unwrap(), numbers.next().unwrap()];
        let summary = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        (calls, text, summary)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compiles an MPI program in Fortran; says so where that cannot be done.
fn compiled_fortran(source: &Path, program: &Path, options: &[&str]) -> bool {
    let folder = program.parent().unwrap();
    let probe = folder.join("probe.f90");
    std::fs::write(&probe, "program probe\n  use mpi\nend program\n").unwrap();
    let compile = |source: &Path, program: &Path, options: &[&str]| {
        let mut compiler = Command::new("mpifort");
        let compiler = compiler.args(["-cpp", "-ffree-line-length-none", "-Wall", "-Werror"]);
        compiler.args(options).arg("-J").arg(folder).arg(source);
        compiler.arg("-o").arg(program).output()
    };
    if !compile(&probe, &folder.join("probe"), &[]).is_ok_and(|probed| probed.status.success()) {
        println!("skipped: mpifort compiles no program");
        return false;
    }
    let compiled = compile(source, program, options).unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
    true
}

/// Every small call of every rank went through the switches, and no other.
fn all_in_switches([small, others]: [u64; 2], summary: &Value) {
    let of = |name: &str| summary["reductions"][name].as_u64().unwrap();
    assert!(small > 0, "{summary}");
    assert_eq!(of("in_switches"), small, "{summary}");
    assert_eq!(of("by_library"), others, "{summary}");
    assert_eq!(of("by_messages"), 0, "{summary}");
    // And the engines know of it: each call of all ranks has a value at least.
    let calls = small / summary["ranks"].as_u64().unwrap();
    assert!(of("results_of_engines") > calls / 2, "{summary}");
    assert!(of("contributions_combined") > calls / 2, "{summary}");
}

#[test]
fn cl_09_reductions_barriers_and_broadcasts_of_an_unchanged_program_go_through_the_switches() {
    let Some(place) = Place::new("reductions") else {
        return;
    };
    for (ranks, what) in [("2", "all"), ("3", "all"), ("4", "some"), ("8", "some")] {
        let (calls, _, summary) = place.good(FABRIC, &["-n", ranks], what);
        all_in_switches(calls, &summary);
        assert!(calls[0] > 100 && calls[1] > 5, "{calls:?}");
    }
}

/// Two Verilated cards on a Verilated switch, whose cables are as long as the provider's packets.
const VERILATED: &str = r#"
[link]
latency_clocks = 480
[[switch]]
name = "s"
ports = 3
spare = [2]
[[endpoint]]
name = "a"
[[endpoint]]
name = "b"
[[cable]]
ends = ["s.0", "a"]
[[cable]]
ends = ["s.1", "b"]
"#;

#[test]
fn cl_05_cl_09_calls_of_ranks_on_verilated_cards_go_through_a_verilated_switch() {
    let Some(place) = Place::new("reductions-rtl") else {
        return;
    };
    let file = place.0.join("verilated.toml");
    std::fs::write(&file, VERILATED).unwrap();
    let arguments = ["-n", "2", "--engine", "rtl"];
    let (calls, _, summary) = place.good(file.to_str().unwrap(), &arguments, "some");
    assert_eq!(summary["verilated_cards"], 2, "{summary}");
    all_in_switches(calls, &summary);
}

#[test]
fn cl_09_over_cables_that_lose_frames_the_same_calls_are_right() {
    let Some(place) = Place::new("reductions-loss") else {
        return;
    };
    let (calls, _, summary) = place.good(&place.lossy(), &["-n", "4"], "some");
    all_in_switches(calls, &summary);
    // Lost frames of reductions are noticed, and the round begins again.
    assert!(
        summary["reductions"]["again"].as_u64() > Some(0),
        "{summary}"
    );
}

#[test]
fn cl_09_under_mpich_blocking_and_non_blocking_calls_go_through_the_switches() {
    let Some(place) = Place::mpich("reductions-mpich") else {
        return;
    };
    for (ranks, what) in [
        ("2", "all"),
        ("5", "nonblocking"),
        ("4", "nonblocking-threads"),
        ("4", "large"),
        ("3", "many"),
    ] {
        let (calls, _, summary) = place.good(FABRIC, &["-n", ranks], what);
        if what == "many" {
            assert_eq!(summary["reductions"]["in_switches"], 3 * 61, "{summary}");
        } else {
            all_in_switches(calls, &summary);
        }
    }
    let (calls, _, summary) = place.good(&place.lossy(), &["-n", "4"], "some");
    all_in_switches(calls, &summary);
    let (calls, text, summary) = place.good(FABRIC, &["-n", "4", "--reproducible"], "sum");
    all_in_switches(calls, &summary);
    assert!(text.contains("sum 0x1p+1\n"), "{text}");
}

#[test]
fn cl_09_programs_in_fortran_go_through_the_switches_by_old_and_new_names_of_the_functions() {
    for (name, options) in [("mpi", &[][..]), ("mpi_f08", &["-DF08"])] {
        let Some(place) = Place::fortran(&format!("reductions-{name}"), options) else {
            return;
        };
        for (ranks, what) in [("2", "all"), ("4", "some")] {
            let (calls, _, summary) = place.good(FABRIC, &["-n", ranks], what);
            all_in_switches(calls, &summary);
            assert!(calls[0] > 50 && calls[1] > 5, "{calls:?}");
        }
        let (calls, _, summary) = place.good(&place.lossy(), &["-n", "4"], "some");
        all_in_switches(calls, &summary);
    }
}

#[test]
fn cl_09_ranks_in_c_and_in_fortran_reduce_together() {
    use std::os::unix::fs::PermissionsExt;
    let Some(place) = Place::fortran("reductions-mixed", &["-DF08"]) else {
        return;
    };
    let program = place.0.join("reductions");
    std::fs::rename(&program, place.0.join("1")).unwrap();
    Mpi::System.compiled(Path::new(SOURCE), &place.0.join("0"));
    let which = "#!/bin/sh\nexec \"$(dirname \"$0\")/$((OMPI_COMM_WORLD_RANK % 2))\" \"$@\"\n";
    std::fs::write(&program, which).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let (calls, _, summary) = place.good(FABRIC, &["-n", "4"], "mixed");
    // The first barrier, and 20 turns.
    assert_eq!(calls, [4 * 81, 4 * 20]);
    all_in_switches(calls, &summary);
}

#[test]
fn cl_09_red_08_reproducible_sums_have_the_same_bits_at_any_ranks() {
    let Some(place) = Place::new("reductions-sum") else {
        return;
    };
    for ranks in ["4", "8"] {
        let arguments = ["-n", ranks, "--reproducible"];
        let (calls, text, summary) = place.good(FABRIC, &arguments, "sum");
        all_in_switches(calls, &summary);
        assert!(text.contains("sum 0x1p+1\n"), "{text}");
    }
}

/// A card has 64 queue pairs, of which the provider has three, one for bulk transfers.
#[test]
fn cl_09_communicators_that_are_too_many_are_left_to_the_library_by_all_ranks() {
    let Some(place) = Place::new("reductions-many") else {
        return;
    };
    let ([small, _], _, summary) = place.good(FABRIC, &["-n", "3"], "many");
    let of = |name: &str| summary["reductions"][name].as_u64().unwrap();
    assert_eq!(of("in_switches"), 3 * 61, "{summary}");
    assert_eq!(of("in_switches") + of("by_library"), small, "{summary}");
}

/// By hand, as docs/mpi.md says, and two jobs at once.
#[test]
fn cl_09_jobs_on_one_served_fabric_reduce_beside_each_other() {
    let Some(place) = Place::new("reductions-jobs") else {
        return;
    };
    let built = std::env::current_exe().unwrap();
    let (provider, sockets) = (place.0.join("provider"), place.0.join("cards"));
    std::fs::create_dir(&provider).unwrap();
    let loaded = provider.join("libtributary-fi.so");
    std::os::unix::fs::symlink(built.with_file_name("libtributary_fi.so"), loaded).unwrap();
    let server = Command::new(TRIBUTARY)
        .args(["serve", "--fabric", FABRIC, "--sockets"])
        .arg(&sockets)
        .stdout(Stdio::null())
        .spawn();
    let _server = Started(server.unwrap());
    let begun = Instant::now();
    while !sockets.join("trees").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    let jobs = ["4", "3"].map(|ranks| {
        let figures = place.0.join(format!("figures-{ranks}"));
        std::fs::create_dir(&figures).unwrap();
        let mut preload = std::ffi::OsString::from("LD_PRELOAD=");
        preload.push(built.with_file_name("libtributary_pmpi.so"));
        let job = Command::new("mpiexec")
            .args([
                "--oversubscribe",
                "--mca",
                "pml",
                "cm",
                "--mca",
                "mtl",
                "ofi",
            ])
            .args(["--mca", "mtl_ofi_provider_include", "tributary", "-x"])
            .arg(preload)
            .args(["-n", ranks])
            .arg(place.0.join("reductions"))
            .arg("some")
            .env("OMPI_MCA_orte_tmpdir_base", &figures)
            .env("FI_PROVIDER_PATH", &provider)
            .env("TRIBUTARY_SOCKETS", &sockets)
            .env("TRIBUTARY_STATISTICS", &figures)
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        (Started(job.unwrap()), figures)
    });
    for (job, figures) in jobs {
        let output = end(job);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{output:?}");
        // Each rank leaves its own figures, of which the first is for the switches.
        let files = figures.read_dir().unwrap().map(|file| file.unwrap().path());
        let texts = files
            .filter(|file| {
                file.file_name()
                    .unwrap()
                    .to_string_lossy()
                    .starts_with("reductions-")
            })
            .map(|file| std::fs::read_to_string(file).unwrap());
        let first = |text: String| text.split(' ').next().unwrap().parse::<u64>().unwrap();
        let in_switches: u64 = texts.map(first).sum();
        assert!(in_switches > 100, "{in_switches}");
        let said = format!("small {in_switches} others");
        assert!(text.contains(&said), "{text}, {in_switches} in switches");
    }
}

#[test]
fn cl_09_threads_reduce_in_communicators_of_their_own() {
    let Some(place) = Place::new("reductions-threads") else {
        return;
    };
    let (calls, _, summary) = place.good(FABRIC, &["-n", "4"], "threads");
    // Three barriers and 50 sums of each of two threads, at each rank.
    assert_eq!(calls, [4 * 103, 0]);
    all_in_switches(calls, &summary);
}

#[test]
fn cl_09_non_blocking_calls_are_under_way_together_and_end_in_any_order() {
    let Some(place) = Place::new("reductions-nonblocking") else {
        return;
    };
    for (fabric, ranks) in [
        (FABRIC.to_owned(), "2"),
        (FABRIC.to_owned(), "5"),
        (place.lossy(), "4"),
    ] {
        let (calls, _, summary) = place.good(&fabric, &["-n", ranks], "nonblocking");
        // Two barriers, ten times eight of several, one that waits for a message, and 40 sums.
        let ranks: u64 = ranks.parse().unwrap();
        assert_eq!(calls, [ranks * 123, ranks * 11]);
        all_in_switches(calls, &summary);
    }
    let (calls, _, summary) = place.good(FABRIC, &["-n", "4"], "nonblocking-threads");
    assert_eq!(calls, [4 * 203, 0]);
    all_in_switches(calls, &summary);
}

#[test]
fn cl_09_the_library_reduces_if_that_is_wanted() {
    let Some(place) = Place::new("reductions-library") else {
        return;
    };
    let arguments = ["-n", "2", "--reductions", "library"];
    let (_, _, summary) = place.good(FABRIC, &arguments, "some");
    assert_eq!(summary["reductions"], Value::Null);
    assert!(summary["messages"].as_u64() > Some(100), "{summary}");
    // It cannot promise what only switches do.
    let arguments = ["-n", "2", "--reductions", "library", "--reproducible"];
    let refused = place.run(FABRIC, &arguments, "sum");
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(
        text.contains("--reproducible is for sums in switches"),
        "{text}"
    );
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn cl_09_a_rank_that_stops_is_named_on_all_others_in_bounded_time_and_one_that_dies_ends_the_run() {
    let places = [
        Place::new("reductions-stop"),
        Place::mpich("reductions-stop-mpich"),
    ];
    places.iter().flatten().for_each(a_rank_stops);
}

fn a_rank_stops(place: &Place) {
    for (what, call) in [
        ("stop", "MPI_Barrier"),
        ("stop-nonblocking", "MPI_Ibarrier"),
    ] {
        let begun = Instant::now();
        let stopped = place.run(FABRIC, &["-n", "3"], what);
        let text = String::from_utf8_lossy(&stopped.stderr);
        assert!(!stopped.status.success());
        let named = format!("{call}: the communicator has failed: rank 1 (node");
        assert!(
            text.contains(&named) && text.contains("does not answer"),
            "{text}"
        );
        // 12 s until it is known, a minute at most until the group is there, and some for a machine that does other things.
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "{:?}",
            begun.elapsed()
        );
    }
    let died = place.run(FABRIC, &["-n", "3"], "die");
    assert!(!died.status.success());
}

#[test]
fn cl_09_more_ranks_than_cards_are_refused() {
    let output = Command::new(TRIBUTARY)
        .args(["mpi", "--fabric", FABRIC, "-n", "9", "--", "program"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    // Without an MPI that comes first.
    if is_installed("mpiexec") {
        assert!(
            text.contains("9 ranks, but") && text.contains("8 endpoints"),
            "{text}"
        );
        assert_eq!(output.status.code(), Some(2));
    }
}
