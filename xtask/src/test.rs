//! `cargo xtask test`: the tools, then every test of the workspace.

mod programs;

use std::env;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};

use crate::process::run_loudly;
use crate::{tools, workspace};

/// What may be asked for and still is every test.
const OF_ALL: [&str; 5] = [
    "--locked",
    "--offline",
    "--frozen",
    "--release",
    "--no-fail-fast",
];

/// Installs the tools if need be and runs all tests, two test programs at a time: many of them end with one long test, or wait
/// for one process of a tool. With any other argument `cargo test` has them all, and runs one program after the other.
pub fn run(arguments: &[String]) -> Result<()> {
    let (of_cargo, of_tests) = match arguments.iter().position(|word| word == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    if !of_cargo.iter().all(|word| OF_ALL.contains(&word.as_str())) {
        tools::install(false)?;
        return run_loudly(cargo("test").args(arguments));
    }
    let goes_on = of_cargo.iter().any(|word| word == "--no-fail-fast");
    // What is missing for the tools is told before the build, which takes minutes; they come while it goes on.
    tools::check_host()?;
    let (installed, said) = thread::scope(|scope| {
        let installing = scope.spawn(|| tools::install(false));
        let said = build(of_cargo);
        (installing.join().expect("no panic"), said)
    });
    installed?;
    let built = programs::of(&said?)?;
    let failed = programs::run(built, of_tests, goes_on)?;
    if !failed.is_empty() && !goes_on {
        bail!("{} failed", failed.join(", "));
    }
    run_loudly(
        cargo("test")
            .arg("--doc")
            .args(of_cargo)
            .arg("--")
            .args(of_tests),
    )?;
    if !failed.is_empty() {
        bail!("{} failed", failed.join(", "));
    }
    Ok(())
}

fn cargo(task: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(workspace::root())
        .env("TRIBUTARY_TOOLS", workspace::tools_dir())
        .args([task, "--workspace"]);
    command
}

/// Builds every test program; what cargo says of them, one JSON object a line.
fn build(arguments: &[String]) -> Result<String> {
    let output = cargo("test")
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo test --no-run failed ({})", output.status);
    }
    String::from_utf8(output.stdout).context("what cargo says is no text")
}
