//! `tributary gen`: writes the Verilog of presets, or of one block, and the registers for drivers; checks it.

mod check;
pub mod choice;
mod cores;
mod lint;
mod plan;
mod registers;
mod write;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::Verdict;
use check::Differences;
use lint::Lint;
use plan::Folder;

/// Arguments of `tributary gen`.
#[derive(Args, Default)]
pub struct Arguments {
    /// Generate this preset; may be repeated. Without it and --block: every preset.
    #[arg(long = "preset", value_name = "PRESET", conflicts_with = "block")]
    presets: Vec<String>,
    /// Generate this one block, into DIR/`<module>`.
    #[arg(long, value_name = "BLOCK")]
    block: Option<String>,
    /// Size of the block, as W=256; may be repeated. Sizes left out are the smallest on offer.
    #[arg(long = "set", value_name = "NAME=SIZE", requires = "block", value_parser = choice::size)]
    sizes: Vec<(String, usize)>,
    /// Where to write a folder for each preset or for the block [default: rtl_out for presets, the
    /// working folder for a block].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write nothing; fail unless DIR holds exactly what would be written.
    #[arg(long)]
    check: bool,
    /// Check every top module with Verilator as well.
    #[arg(long)]
    lint: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    presets: &'a [Folder],
    files: usize,
    lines: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<&'a Differences>,
    lint: &'a Lint,
    time_s: f64,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let start = Instant::now();
    let mut folders = match &arguments.block {
        Some(block) => vec![plan::block(&choice::choose(block, &arguments.sizes)?)?],
        None => plan::presets(&choice::presets(&arguments.presets)?)?,
    };
    // Registers do not depend on a preset; folders of presets that are no more show only where all are looked at.
    let all = arguments.block.is_none() && arguments.presets.is_empty();
    if all {
        folders.push(registers::folder());
    }
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| match arguments.block {
            Some(_) => PathBuf::from("."),
            None => PathBuf::from("rtl_out"),
        });
    let differences = arguments
        .check
        .then(|| check::compare(&folders, &out, all))
        .transpose()?;
    if differences.is_none() {
        write::folders(&folders, &out)?;
    }
    let current = differences.as_ref().is_none_or(Differences::is_empty);
    let lint = if arguments.lint && current {
        lint::run(&folders, &out)?
    } else {
        Lint::NotAsked
    };

    let report = Report {
        presets: &folders,
        files: folders.iter().map(|folder| folder.files.len()).sum(),
        lines: folders.iter().map(|folder| folder.lines).sum(),
        differences: differences.as_ref(),
        lint: &lint,
        time_s: (start.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
    };
    let text = if arguments.json {
        format!("{}\n", serde_json::to_string_pretty(&report)?)
    } else {
        tell(&report, &out)
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(if current && lint.is_good() {
        Verdict::Good
    } else {
        Verdict::Bad
    })
}

/// The report for people.
fn tell(report: &Report, out: &std::path::Path) -> String {
    let mut text = String::new();
    if let Some(differences) = report.differences {
        text += &differences.tell(out);
    } else {
        for folder in report.presets {
            text += &folder.tell(out);
        }
    }
    text += "checked: module names are unique, every instance has its module\n";
    text += &report.lint.tell();
    let verb = if report.differences.is_some() {
        "compared"
    } else {
        "generated"
    };
    text + &format!(
        "{verb} {} files, {} lines, in {:.2} s\n",
        report.files, report.lines, report.time_s
    )
}
