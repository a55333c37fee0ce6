//! One simulation over several threads, and over the processes of an MPI job, on the command line.

#![cfg(target_os = "linux")]

mod common;
#[path = "common/programs.rs"]
mod programs;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use common::{failure, json};
use programs::is_installed;
use serde_json::Value;

/// A path for the files of one test.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ranks");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let _ = fs::remove_file(&path);
    path
}

const DEMO: [&str; 6] = ["sim", "--demo", "allreduce", "--loss", "0.02", "--json"];

/// What does not depend on the machine.
fn simulated(mut sum: Value) -> Value {
    for key in ["ranks", "time_s", "clocks_per_s"] {
        assert!(sum.as_object_mut().unwrap().remove(key).is_some(), "{key}");
    }
    sum
}

/// A call by the processes of an MPI job, as many as the processors or more.
fn processes(ranks: &str, arguments: &[&str]) -> Output {
    Command::new("mpiexec")
        // Of Open MPI 4 and 5, which refuse otherwise; others do not know these.
        .envs([
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ])
        .args(["-n", ranks])
        .arg(env!("CARGO_BIN_EXE_tributary"))
        .args(arguments)
        .args(["--ranks", "mpi"])
        .output()
        .unwrap()
}

#[test]
fn cl_10_threads_and_processes_of_an_mpi_job_report_the_same_and_capture_the_same_bytes() {
    let capture = scratch("frames.pcapng");
    let mut arguments = DEMO.to_vec();
    arguments.extend(["--pcap", capture.to_str().unwrap()]);
    let (code, alone) = json(&arguments);
    assert_eq!(code, 0);
    let (alone, frames) = (simulated(alone), fs::read(&capture).unwrap());
    for ranks in ["1", "2", "5"] {
        let (code, sum) = json(&[&arguments[..], &["--ranks", ranks]].concat());
        assert_eq!((code, sum["ranks"].to_string()), (0, ranks.to_owned()));
        assert_eq!(simulated(sum), alone);
        assert!(fs::read(&capture).unwrap() == frames, "{ranks} ranks");
    }
    if !is_installed("mpiexec") {
        return;
    }
    for ranks in ["1", "3"] {
        let output = processes(ranks, &arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        let sum: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(sum["ranks"].to_string(), ranks);
        assert_eq!(simulated(sum), alone);
        assert!(fs::read(&capture).unwrap() == frames, "{ranks} processes");
    }
    // All processes end with the error of any.
    let output = processes("6", &DEMO);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(text.contains("6 ranks for 5 switches"), "{text}");
}

#[test]
fn ranks_that_cannot_be_are_refused() {
    for (ranks, code, reason) in [
        ("0", 2, "0 is neither 1 to 256 threads nor mpi"),
        ("many", 2, "many is neither"),
        ("6", 1, "6 ranks for 5 switches; each rank has at least one"),
    ] {
        let (ended, message) = failure(&[&DEMO[..], &["--ranks", ranks]].concat());
        assert_eq!(ended, code, "{message}");
        assert!(message.contains(reason), "{message}");
    }
}
