//! The command line of Tributary. Each command is a module; this one tells them apart.
//!
//! Exit codes: 0 all is well, 1 the command's own work failed, 2 it was called wrongly.

mod bench;
mod files;
mod plot;
mod progress;
mod sim;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Open, generated RTL for HPC network cards and reducing switches.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure a protocol over many simulated transfers.
    Bench(bench::Arguments),
    /// Simulate one transfer, or replay what a receiver got in one.
    Sim(sim::Arguments),
}

/// How a command ended that did not break down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// All is well.
    Good,
    /// What was looked at has failed; the command has said so.
    Bad,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
    };
    match result {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::FAILURE,
        // The reader of a pipe has seen enough.
        Err(error) if error.chain().any(is_broken_pipe) => ExitCode::SUCCESS,
        Err(error) => {
            // Nowhere to complain if even this fails.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
