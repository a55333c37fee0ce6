//! Developer commands of Tributary: `cargo xtask tools | test | ci | conformance`.

mod process;
mod tools;
mod workspace;

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
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Task::Tools { force } => {
            tools::install(force)?;
            println!("tools: {}", workspace::shown(&workspace::tools_dir()));
            Ok(())
        }
    }
}
