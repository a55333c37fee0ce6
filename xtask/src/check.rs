//! `cargo xtask check`: one block from its source to its figures.
//!
//! It writes the block's Verilog and lints it, runs the block's own tests, synthesises it with
//! one seed, and compares size and frequency with the block's row of docs/performance.md.

mod figures;

use std::env;
use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::process::{run_loudly, run_quietly};
use crate::{mutate, tools, workspace};
use figures::Figures;

/// What to check.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Size of the block, as W=256; may be repeated. Without any, those of its first row in docs/performance.md, or the
    /// smallest on offer.
    #[arg(long = "set", value_name = "NAME=SIZE")]
    sizes: Vec<String>,
}

/// What `tributary synth --json` says, as far as it is compared.
#[derive(Debug, Deserialize)]
struct Report {
    luts: u64,
    registers: u64,
    block_rams: u64,
    fmax_mhz: Option<f64>,
}

/// Checks `block`.
pub fn run(block: &str, options: &Options) -> Result<()> {
    let tests = mutate::binaries(block)?;
    let page = workspace::root().join("docs/performance.md");
    let page = fs::read_to_string(&page)
        .with_context(|| format!("cannot read {}", workspace::shown(&page)))?;
    let recorded = Figures::of(&page, block, &options.sizes);
    let mut sizes = options.sizes.clone();
    if let Some(recorded) = recorded.as_ref().filter(|_| sizes.is_empty()) {
        sizes.clone_from(&recorded.sizes);
    }
    tools::install(false)?;
    let start = Instant::now();
    let set: Vec<&str> = sizes.iter().flat_map(|size| ["--set", size]).collect();

    let out = workspace::root().join("target/check").join(block);
    run_loudly(
        tributary()
            .args(["gen", "--block", block, "--lint", "--out"])
            .arg(&out)
            .args(&set),
    )?;
    // The block's own bench; whole cards and switches, which come behind it, are for `cargo xtask test`.
    if let Some((package, name)) = tests.first() {
        run_loudly(
            cargo()
                .env("TRIBUTARY_TOOLS", workspace::tools_dir())
                .args(["test", "--quiet", "--package", package, "--test", name]),
        )?;
    }
    eprintln!("synthesis ...");
    let output = run_quietly(
        tributary()
            .args(["synth", block, "--seeds", "1", "--json"])
            .args(&set),
    )?;
    let report: Report = serde_json::from_slice(&output.stdout)
        .context("`tributary synth --json` gave no report")?;
    let seconds = start.elapsed().as_secs();
    println!(
        "{block} {}: {} LUTs, {} registers, {} block RAMs, {} MHz with seed 1; {seconds} s",
        sizes.join(" "),
        report.luts,
        report.registers,
        report.block_rams,
        report
            .fmax_mhz
            .map_or("-".to_owned(), |mhz| mhz.to_string()),
    );
    match recorded {
        None => println!("docs/performance.md has no row of it in these sizes"),
        Some(recorded) => {
            println!("recorded: {recorded}");
            let worse = recorded.worse(&report);
            if !worse.is_empty() {
                bail!(
                    "worse than docs/performance.md has it: {}",
                    worse.join("; ")
                );
            }
        }
    }
    Ok(())
}

fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root());
    command
}

fn tributary() -> Command {
    let mut command = cargo();
    command
        .env("TRIBUTARY_TOOLS", workspace::tools_dir())
        .args(["run", "--release", "--quiet", "--"]);
    command
}
