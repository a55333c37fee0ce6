//! One block under mutation: its mutants and what is known of each.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use anyhow::{Context, Result};

use super::Options;
use super::blocks;
use super::state::{State, Verdict};
use super::yosys::{Module, Mutant};
use crate::workspace;

/// Where mutants and verdicts are.
pub fn folder() -> PathBuf {
    workspace::root().join("target").join("mutate")
}

/// A block, its mutants, its verdicts.
pub struct Target<'a> {
    module: Module<'a>,
    mutants: Vec<Mutant>,
    state: Mutex<State>,
}

impl<'a> Target<'a> {
    /// Chooses the mutants, or goes on with those that were chosen of the same text. `size` is
    /// the module that the block's own bench builds; without, it is the one of `rtl_out`.
    pub fn open(
        block: &str,
        size: Option<&str>,
        texts: &'a BTreeMap<String, String>,
        options: Options,
    ) -> Result<Self> {
        let (count, seed) = (options.count, options.seed);
        let name = texts
            .keys()
            .find(|module| match size {
                Some(size) => *module == size,
                None => blocks::base(module) == block,
            })
            .with_context(|| format!("rtl_out/sim has no module of block {block}"))?;
        let module = Module {
            name,
            texts,
            dir: folder().join(format!("{block}-n{count}-s{seed}")),
        };
        let kept = fs::read_to_string(module.original());
        let mutants = if kept.is_ok_and(|kept| kept == texts[name]) {
            module.listed()?
        } else {
            // Another version of the block: what was found about it holds no longer.
            if module.dir.exists() {
                fs::remove_dir_all(&module.dir)?;
            }
            fs::create_dir_all(&module.dir)?;
            module.mutants(count.into(), seed)?
        };
        let mut state = State::open(&module.dir.join("results.txt"))?;
        if options.again {
            for survivor in state.with(Verdict::Different) {
                state.add(survivor, Verdict::Distinct)?;
            }
        }
        Ok(Self {
            module,
            mutants,
            state: Mutex::new(state),
        })
    }

    pub fn module(&self) -> &str {
        self.module.name
    }

    /// Puts the mutated module where tests look for it.
    pub fn put_into(&self, build: &Path) -> Result<()> {
        for path in [self.module.mutated(), self.module.original()] {
            let name = path.file_name().context("a file has a name")?;
            fs::copy(&path, build.join(name))
                .with_context(|| format!("cannot copy {}", workspace::shown(&path)))?;
        }
        Ok(())
    }

    /// Mutants of which a further test may find something out.
    pub fn undecided(&self) -> Vec<usize> {
        let state = self.state();
        let numbers = self.mutants.iter().map(|mutant| mutant.number);
        numbers.filter(|number| !state.decided(*number)).collect()
    }

    pub fn decide(&self, number: usize, verdict: Verdict) -> Result<()> {
        self.state().add(number, verdict)
    }

    /// Compares with the original what has survived and was not compared before.
    ///
    /// A mutant that a test has killed is not equivalent: only the others need the check.
    pub fn compare(&self) -> Result<()> {
        let survivors = self.state().with(Verdict::Survived);
        let equivalent = self.module.equivalent(&survivors)?;
        for number in survivors {
            let verdict = if equivalent.contains(&number) {
                Verdict::Equivalent
            } else {
                Verdict::Distinct
            };
            self.decide(number, verdict)?;
        }
        Ok(())
    }

    /// All tests have been tried.
    pub fn close(&self) -> Result<()> {
        let survivors = self.state().with(Verdict::Distinct);
        for number in survivors {
            self.decide(number, Verdict::Different)?;
        }
        Ok(())
    }

    /// The score, and each survivor with its line.
    pub fn print(&self) {
        let state = self.state();
        println!("{}: {}", self.module.name, state.summary());
        if state.verdicts.is_empty() {
            println!("  no test within the limit uses {}", self.module.name);
        }
        for mutant in &self.mutants {
            let word = match state.verdicts.get(&mutant.number) {
                Some(Verdict::Different) => "survivor",
                Some(Verdict::Distinct) => "left",
                _ => continue,
            };
            let Mutant {
                place,
                what,
                number,
            } = mutant;
            println!("  {word} {number}: {place}: {what}");
            println!("    {}", line(&self.module.texts[self.module.name], place));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no worker panicked")
    }
}

/// The line that `file:line.column-...` means.
fn line<'a>(text: &'a str, place: &str) -> &'a str {
    place
        .split_once(':')
        .and_then(|(_, place)| place.split('.').next()?.parse::<usize>().ok())
        .and_then(|number| text.lines().nth(number.checked_sub(1)?))
        .map_or("", str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_leads_to_its_line() {
        assert_eq!(line("a\n  b c\n", "m.v:2.3-2.4"), "b c");
        assert_eq!(line("a\n", "-"), "");
    }
}
