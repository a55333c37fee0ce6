//! `cargo xtask mutate`: how many faults in the generated Verilog the tests notice.
//!
//! Yosys makes mutants of a block: one bit of one cell's port inverted, held, or mixed with its
//! neighbour. All mutants of a block are in one model, and an environment variable switches one
//! on, so a mutant costs a run of its tests and not a build. What no test notices is compared
//! with the original; a mutant that cannot be told from it counts as equivalent.

mod below;
mod blocks;
mod runs;
mod state;
mod yosys;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::{tools, workspace};
use runs::Outcome;
use state::{State, Verdict};
use yosys::{Module, Mutant};

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
}

/// Runs mutants of `block`, or of all blocks, and prints the scores.
pub fn run(block: &str, options: Options) -> Result<()> {
    let names = if block == "all" {
        blocks::all()
    } else {
        blocks::binaries(block)?;
        vec![block]
    };
    tools::install(false)?;
    let texts = texts(&workspace::root().join("rtl_out").join("sim"))?;
    for block in names {
        run_block(block, &texts, options).with_context(|| format!("block {block}"))?;
    }
    Ok(())
}

fn run_block(block: &str, texts: &BTreeMap<String, String>, options: Options) -> Result<()> {
    let module = texts
        .keys()
        .find(|module| blocks::base(module) == block)
        .context("rtl_out/sim has no such module")?;
    let folder = format!("{block}-n{}-s{}", options.count, options.seed);
    let dir = workspace::root().join("target/mutate").join(folder);
    let module = Module {
        name: module,
        texts,
        dir: &dir,
    };
    let original = &texts[module.name];
    let kept = fs::read_to_string(dir.join(format!("{}.v.original", module.name)));
    let mutants = if kept.is_ok_and(|kept| kept == *original) {
        module.listed()?
    } else {
        // Another version of the block: what was found about it holds no longer.
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::create_dir_all(&dir)?;
        module.mutants(options.count.into(), options.seed)?
    };

    let mut state = State::open(&dir.join("results.txt"))?;
    let left: Vec<usize> = mutants
        .iter()
        .map(|mutant| mutant.number)
        .filter(|number| !state.verdicts.contains_key(number))
        .collect();
    if !left.is_empty() {
        let limit = Duration::from_secs(options.test_limit);
        let tests = runs::covering(blocks::binaries(block)?, &dir, limit)?;
        if tests.is_empty() {
            println!(
                "{block}: not run, no test of at most {limit:?} uses {}",
                module.name
            );
            return Ok(());
        }
        for number in left {
            let mut verdict = Verdict::Survived;
            for test in &tests {
                verdict = match test.run(&dir, number, test.limit())? {
                    Outcome::Passed => continue,
                    Outcome::Failed => Verdict::Killed,
                    Outcome::TimedOut => Verdict::TimedOut,
                };
                break;
            }
            state.add(number, verdict)?;
        }
    }
    // A mutant that a test has killed is not equivalent: only the others need the check.
    let survivors = state.with(Verdict::Survived);
    let equivalent = module.equivalent(&survivors)?;
    for number in &survivors {
        let verdict = if equivalent.contains(number) {
            Verdict::Equivalent
        } else {
            Verdict::Different
        };
        state.add(*number, verdict)?;
    }

    println!("{block}: {}", state.summary());
    for mutant in &mutants {
        if state.verdicts.get(&mutant.number) == Some(&Verdict::Different) {
            let Mutant {
                place,
                what,
                number,
            } = mutant;
            println!("  survivor {number}: {place}: {what}");
            println!("    {}", line(original, place));
        }
    }
    Ok(())
}

/// The line that `file:line.column-...` means.
fn line<'a>(text: &'a str, place: &str) -> &'a str {
    place
        .split_once(':')
        .and_then(|(_, place)| place.split('.').next()?.parse::<usize>().ok())
        .and_then(|number| text.lines().nth(number.checked_sub(1)?))
        .map_or("", str::trim)
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
        };
        let error = run("no_such_block", options).unwrap_err().to_string();
        assert!(
            error.contains("no_such_block") && error.contains("rw_window"),
            "{error}"
        );
    }

    #[test]
    fn a_place_leads_to_its_line() {
        assert_eq!(line("a\n  b c\n", "m.v:2.3-2.4"), "b c");
        assert_eq!(line("a\n", "-"), "");
    }
}
