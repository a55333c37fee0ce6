//! `cargo xtask mutate`: how many faults in the generated Verilog the tests notice.
//!
//! Yosys makes mutants of a block: one bit of one cell's port inverted, held, or mixed with its
//! neighbour. All mutants of all blocks that share their tests are in one model, and an
//! environment variable switches one on, so a mutant costs a run of its tests and not a build.
//! What no test notices is compared with the original; a mutant that cannot be told from it
//! counts as equivalent.

pub mod below;
mod blocks;
mod pool;
mod runs;
mod seen;
mod state;
mod target;
mod yosys;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::{tools, workspace};
pub use blocks::binaries;

use blocks::Binary;
use runs::Outcome;
use seen::Seen;
use state::Verdict;
use target::Target;

/// What to run.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// Mutants of each block.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    count: u16,
    /// Chooses the mutants.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seconds that a test may take on the original; longer ones are not used.
    #[arg(long, default_value_t = 120)]
    test_limit: u64,
    /// Mutants that are tried side by side.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    /// Tries what has survived once more: for a look at new tests.
    #[arg(long)]
    again: bool,
    /// Only the block's own bench; what survives it is left for a run without this.
    #[arg(long)]
    own: bool,
}

/// Runs mutants of these blocks, or of all, and prints the scores.
pub fn run(blocks: &[String], options: Options) -> Result<()> {
    let groups = blocks::grouped(blocks)?;
    tools::install(false)?;
    let texts = texts(&workspace::root().join("rtl_out").join("sim"))?;
    for group in groups {
        run_group(&group, &texts, options)
            .with_context(|| format!("blocks {}", group.join(", ")))?;
    }
    Ok(())
}

/// Runs blocks that share their tests, in one model.
fn run_group(names: &[&str], generated: &BTreeMap<String, String>, options: Options) -> Result<()> {
    let binaries = blocks::binaries(names[0])?;
    let seen = Seen::of(&binaries[0], Duration::from_secs(options.test_limit))?;
    let mut texts = generated.clone();
    texts.extend(seen.texts());
    let targets = names
        .iter()
        .map(|block| {
            let size = seen.size_of(block, generated);
            Target::open(block, size, &texts, options)
        })
        .collect::<Result<Vec<_>>>()?;
    if targets.iter().any(|target| !target.undecided().is_empty()) {
        let build = target::folder().join(format!("build-{}", names[0]));
        fs::create_dir_all(&build)?;
        for target in &targets {
            target.put_into(&build)?;
        }
        let wanted = if options.own { 1 } else { binaries.len() };
        for binary in &binaries[..wanted] {
            if targets.iter().all(|target| target.undecided().is_empty()) {
                break;
            }
            try_binary(binary, &targets, &build, options)?;
        }
        if !options.own {
            for target in &targets {
                target.close()?;
            }
        }
        // A model of a whole card takes a hundred megabytes.
        fs::remove_dir_all(&build)?;
    }
    for target in &targets {
        target.print();
    }
    Ok(())
}

/// Runs the tests of one binary on all mutants that are undecided, then compares what survived.
fn try_binary(
    binary: &Binary,
    targets: &[Target<'_>],
    build: &Path,
    options: Options,
) -> Result<()> {
    let limit = Duration::from_secs(options.test_limit);
    let tests = runs::covering(binary, build, limit)?;
    let mut items = Vec::new();
    for target in targets {
        if tests.iter().any(|test| test.uses.contains(target.module())) {
            items.extend(
                target
                    .undecided()
                    .into_iter()
                    .map(|number| (target, number)),
            );
        }
    }
    pool::each(options.jobs.into(), &items, |&(target, number)| {
        let mut verdict = Verdict::Survived;
        for test in tests
            .iter()
            .filter(|test| test.uses.contains(target.module()))
        {
            verdict = match test.run(build, Some((target.module(), number)), test.limit())? {
                Outcome::Passed => continue,
                Outcome::Failed => Verdict::Killed,
                Outcome::TimedOut => Verdict::TimedOut,
            };
            break;
        }
        target.decide(number, verdict)
    })?;
    pool::each(options.jobs.into(), targets, Target::compare)
}

/// All generated modules of a folder, by name.
fn texts(dir: &Path) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for path in blocks::sources(dir)? {
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", workspace::shown(&path)))?;
        texts.insert(blocks::module_of(&path), text);
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_block_is_refused_with_the_list() {
        let options = Options {
            count: 1,
            seed: 1,
            test_limit: 1,
            jobs: 1,
            again: false,
            own: false,
        };
        let error = run(&["no_such_block".to_owned()], options)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no_such_block") && error.contains("rw_window"),
            "{error}"
        );
    }
}
