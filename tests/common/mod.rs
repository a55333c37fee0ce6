//! How the tests call the command line.

// Not every test file uses every function.
#![allow(dead_code)]

use std::process::{Command, Output};

use serde_json::Value;

/// A call.
pub fn tributary(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tributary"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Exit code and stderr of a call that must fail and print nothing else.
pub fn failure(arguments: &[&str]) -> (i32, String) {
    let output = tributary(arguments);
    assert!(
        output.stdout.is_empty(),
        "{arguments:?} printed {}",
        String::from_utf8_lossy(&output.stdout)
    );
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// Exit code and stdout of a call that has nothing to complain about.
pub fn success(arguments: &[&str]) -> (i32, String) {
    let output = tributary(arguments);
    assert!(
        output.stderr.is_empty(),
        "{arguments:?} complains {}",
        String::from_utf8_lossy(&output.stderr)
    );
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

/// Exit code and output of a call that prints one JSON value and has nothing to complain about.
pub fn json(arguments: &[&str]) -> (i32, Value) {
    let (code, text) = success(arguments);
    (
        code,
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")),
    )
}
