//! What is known of each mutant, in a file: a run that was stopped goes on from there.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A test fails.
    Killed,
    /// A test does not end.
    TimedOut,
    /// The tests of one binary pass; not compared with the original yet.
    Survived,
    /// The tests of one binary pass, and it is not the original; further ones may kill it.
    Distinct,
    /// All tests pass, and nothing tells it from the original.
    Equivalent,
    /// All tests pass, but it is not the original.
    Different,
}

const NAMES: [(Verdict, &str); 6] = [
    (Verdict::Killed, "killed"),
    (Verdict::TimedOut, "timeout"),
    (Verdict::Survived, "survived"),
    (Verdict::Distinct, "distinct"),
    (Verdict::Equivalent, "equivalent"),
    (Verdict::Different, "different"),
];

/// One line for each finding, `number verdict`; a later one holds.
pub struct State {
    pub verdicts: BTreeMap<usize, Verdict>,
    file: File,
}

impl State {
    pub fn open(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| format!("cannot write {}", workspace::shown(path)))?;
        // A line that was cut off is not read, and that mutant runs again.
        let verdicts = text.lines().filter_map(parse).collect();
        Ok(Self { verdicts, file })
    }

    pub fn add(&mut self, number: usize, verdict: Verdict) -> Result<()> {
        for (known, name) in NAMES {
            if known == verdict {
                writeln!(self.file, "{number} {name}").context("cannot write the results")?;
            }
        }
        self.verdicts.insert(number, verdict);
        Ok(())
    }

    /// Whether nothing more is to be found out about this mutant.
    pub fn decided(&self, number: usize) -> bool {
        !matches!(
            self.verdicts.get(&number),
            None | Some(Verdict::Survived | Verdict::Distinct)
        )
    }

    pub fn with(&self, verdict: Verdict) -> Vec<usize> {
        let found = self.verdicts.iter().filter(|(_, v)| **v == verdict);
        found.map(|(number, _)| *number).collect()
    }

    pub fn summary(&self) -> String {
        let count = |verdict| self.with(verdict).len();
        let timed_out = count(Verdict::TimedOut);
        let killed = count(Verdict::Killed) + timed_out;
        let (equivalent, survivors) = (count(Verdict::Equivalent), count(Verdict::Different));
        let share = match killed + survivors {
            0 => String::new(),
            all => format!(", {:.1} % killed", 100.0 * killed as f64 / all as f64),
        };
        format!(
            "{} mutants, {equivalent} equivalent, {killed} killed ({timed_out} by timeout), \
             {survivors} survivors{share}",
            self.verdicts.len()
        )
    }
}

fn parse(line: &str) -> Option<(usize, Verdict)> {
    let (number, name) = line.split_once(' ')?;
    let (verdict, _) = NAMES.into_iter().find(|(_, known)| *known == name)?;
    Some((number.parse().ok()?, verdict))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_where_it_was_stopped() {
        let dir = workspace::root().join("target/mutate");
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("test-state.txt");
        let _ = fs::remove_file(&path);
        let mut state = State::open(&path).unwrap();
        for (number, verdict) in [
            (1, Verdict::Killed),
            (2, Verdict::Survived),
            (3, Verdict::TimedOut),
            (4, Verdict::Survived),
            (2, Verdict::Equivalent),
            (4, Verdict::Different),
        ] {
            state.add(number, verdict).unwrap();
        }
        fs::write(&path, fs::read_to_string(&path).unwrap() + "5 kil").unwrap();
        let state = State::open(&path).unwrap();
        assert_eq!(
            state.summary(),
            "4 mutants, 1 equivalent, 2 killed (1 by timeout), 1 survivors, 66.7 % killed"
        );
        assert!(state.with(Verdict::Survived).is_empty());
        assert!(state.decided(4) && !state.decided(5));
    }
}
