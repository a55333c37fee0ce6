//! The command line of Tributary. Each command is a module; this one tells them apart.
//!
//! Exit codes: 0 all is well, 1 the command's own work failed, 2 it was called wrongly.

mod bench;
#[cfg(target_os = "linux")]
mod board;
mod cards;
mod files;
mod r#gen;
#[cfg(target_os = "linux")]
mod mpi;
mod perf;
mod plot;
mod plot_rdmc;
mod plot_reduction;
mod progress;
mod rdmc;
mod report;
mod route;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod signals;
mod sim;
mod synth;
mod synth_command;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Open, generated RTL for HPC network cards and reducing switches.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Without a command: `gen`, of every preset.
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Write the Verilog of presets or of one block, and check it. What is done without a command.
    Gen(r#gen::Arguments),
    /// Measure a protocol over many simulated transfers.
    Bench(bench::Arguments),
    /// Demonstrations: transfers, datagrams, reductions in switches, multicast, a whole cluster; `--demo NAME --help` for each.
    Sim(sim::Arguments),
    /// Route multicast groups over a network: load of the cables, height of the trees, time; drawings and tables.
    Route(route::Arguments),
    /// Schedules of reliable multicast: who relays which block to whom.
    Rdmc(rdmc::Arguments),
    /// Draw one reduction over a fabric: tree, frames over time, latency per level (HTML).
    Report(report::Arguments),
    /// Latency, bandwidth and message rate of cards, as the tools of perftest measure them.
    Perf(perf::Arguments),
    /// Give simulated cards, or the one on a board, to other processes, each behind a vfio-user socket.
    #[cfg(target_os = "linux")]
    Serve(serve::Arguments),
    /// Simulate two boards with network cards, joined by a cable, for `serve --cable`; needs `cargo xtask tools`.
    #[cfg(target_os = "linux")]
    Board(board::Arguments),
    /// Run an MPI program, unchanged, over simulated cards.
    #[cfg(target_os = "linux")]
    Mpi(mpi::Arguments),
    /// Size and speed of a block on an FPGA, from Yosys and nextpnr.
    Synth(synth_command::Arguments),
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
    let words = sim::demo_first(std::env::args_os().collect()).unwrap_or_else(|error| error.exit());
    let command = Arguments::parse_from(words)
        .command
        .unwrap_or_else(|| Command::Gen(r#gen::Arguments::default()));
    let result = match command {
        Command::Gen(arguments) => r#gen::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
        Command::Route(arguments) => route::run(&arguments),
        Command::Rdmc(arguments) => rdmc::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Perf(arguments) => perf::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Serve(arguments) => serve::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Board(arguments) => board::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Mpi(arguments) => mpi::run(&arguments),
        Command::Synth(arguments) => synth_command::run(&arguments),
    };
    match result {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::FAILURE,
        // The reader of a pipe has seen enough.
        Err(error) if error.chain().any(is_broken_pipe) => ExitCode::SUCCESS,
        Err(error) if error.is::<clap::Error>() => {
            let _ = write!(io::stderr(), "{error}");
            ExitCode::from(2)
        }
        Err(error) => {
            // Nowhere to complain if even this fails.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
