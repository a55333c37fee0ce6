//! The Verilog that a test binary builds: mutants of a block have the size of its own bench.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::blocks::{self, Binary};
use super::runs;
use super::target;
use crate::workspace;

/// Each module that the tests of a binary build: its text, and how many tests build it.
#[derive(Debug, Default)]
pub struct Seen {
    modules: BTreeMap<String, (String, usize)>,
}

impl Seen {
    /// Runs each test once, or reads what an earlier run of the very same binary has found.
    pub fn of(binary: &Binary, limit: Duration) -> Result<Self> {
        let path = runs::build(binary)?;
        let test = path.file_name().context("a test has a name")?;
        let kept = target::folder().join(format!("seen-{}", test.to_string_lossy()));
        if !kept.is_dir() {
            let part = kept.with_extension("part");
            let _ = fs::remove_dir_all(&part);
            let mut votes = BTreeMap::new();
            for test in runs::tests(binary, limit)? {
                let seen = part.join("seen");
                fs::create_dir_all(&seen)?;
                // What a test says is of no interest here.
                let _ = test.run(&part, None, limit)?;
                vote(&seen, &mut votes)?;
                fs::remove_dir_all(&seen)?;
            }
            for ((name, text), count) in votes {
                let file = part.join(&name);
                let before = fs::read_to_string(file.with_extension("votes")).unwrap_or_default();
                // A test may put a fault of its own into a module: what most tests build holds.
                if before.parse().is_ok_and(|before: usize| before >= count) {
                    continue;
                }
                fs::write(&file, text)?;
                fs::write(file.with_extension("votes"), count.to_string())?;
            }
            fs::create_dir_all(&part)?;
            fs::rename(&part, &kept)?;
        }
        Self::read(&kept)
    }

    fn read(dir: &Path) -> Result<Self> {
        let mut modules = BTreeMap::new();
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "v") {
                let votes = fs::read_to_string(path.with_extension("votes"))?.parse()?;
                let text = fs::read_to_string(&path)?;
                modules.insert(blocks::module_of(&path), (text, votes));
            }
        }
        Ok(Self { modules })
    }

    /// The size of a block to take: one of `rtl_out` if it is there, or what most tests build.
    pub fn size_of(&self, block: &str, generated: &BTreeMap<String, String>) -> Option<&str> {
        let sizes = self
            .modules
            .iter()
            .filter(|(name, _)| blocks::base(name) == block);
        sizes
            .max_by_key(|(name, (text, votes))| (generated.get(*name) == Some(text), *votes))
            .map(|(name, _)| name.as_str())
    }

    /// The texts, by module.
    pub fn texts(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let modules = self.modules.iter();
        modules.map(|(name, (text, _))| (name.clone(), text.clone()))
    }
}

/// Counts the sources `NAME.v.KEY` of one test.
fn vote(seen: &Path, votes: &mut BTreeMap<(String, String), usize>) -> Result<()> {
    for entry in fs::read_dir(seen)? {
        let path = entry?.path();
        let name = PathBuf::from(path.file_stem().context("a source has a name")?);
        if name.extension().is_some_and(|extension| extension == "v") {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", workspace::shown(&path)))?;
            *votes
                .entry((name.to_string_lossy().into_owned(), text))
                .or_default() += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_size_goes_before_one_that_more_tests_build() {
        let seen = |modules: &[(&str, &str, usize)]| Seen {
            modules: modules
                .iter()
                .map(|(name, text, votes)| (name.to_string(), (text.to_string(), *votes)))
                .collect(),
        };
        let seen = seen(&[
            ("a_q8", "eight", 9),
            ("a_q16", "sixteen", 1),
            ("ab_q8", "", 99),
        ]);
        let generated = |text: &str| BTreeMap::from([("a_q16".to_owned(), text.to_owned())]);
        assert_eq!(seen.size_of("a", &generated("sixteen")), Some("a_q16"));
        assert_eq!(seen.size_of("a", &generated("another")), Some("a_q8"));
        assert_eq!(seen.size_of("b", &generated("")), None);
    }

    #[test]
    fn sources_of_a_test_are_counted_by_text() {
        let dir = workspace::root().join("target/mutate/test-seen");
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        for (name, text) in [
            ("a.v.0", "one"),
            ("a.v.1", "two"),
            ("b.v.2", "b"),
            ("x.txt", ""),
        ] {
            fs::write(dir.join(name), text).unwrap();
        }
        let mut votes = BTreeMap::new();
        vote(&dir, &mut votes).unwrap();
        fs::remove_file(dir.join("a.v.1")).unwrap();
        vote(&dir, &mut votes).unwrap();
        let of = |name: &str, text: &str| votes[&(name.to_owned(), text.to_owned())];
        assert_eq!(
            (of("a.v", "one"), of("a.v", "two"), of("b.v", "b")),
            (2, 1, 2)
        );
        assert_eq!(votes.len(), 3);
    }
}
