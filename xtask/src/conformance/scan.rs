//! Reads tests and mentions of rules from the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::rules::{Id, known_prefix};

/// The folders with sources; those that are not there (yet) are skipped.
const FOLDERS: [&str; 7] = [
    "protocol",
    "hdl",
    "sim",
    "fabric",
    "host_driver",
    "src",
    "tests",
];

/// A test function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Test {
    /// Path from the workspace, with `/`.
    pub file: String,
    /// Name of the function.
    pub name: String,
}

/// What the sources say about each rule.
#[derive(Debug, Default)]
pub struct Found {
    /// Every test.
    pub all: BTreeSet<Test>,
    /// Tests by the ids in their names.
    pub tests: BTreeMap<Id, BTreeSet<Test>>,
    /// Files outside of tests that mention an id.
    pub code: BTreeMap<Id, BTreeSet<String>>,
}

/// Scans all `*.rs` below the known folders.
pub fn sources(root: &Path) -> Result<Found> {
    let mut found = Found::default();
    for folder in FOLDERS {
        let dir = root.join(folder);
        if dir.is_dir() {
            scan_dir(&dir, folder, &mut found)?;
        }
    }
    Ok(found)
}

fn scan_dir(dir: &Path, shown: &str, found: &mut Found) -> Result<()> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot list {shown}"))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {shown}"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        let shown = format!("{shown}/{name}");
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                scan_dir(&path, &shown, found)?;
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
            scan_file(&text, &shown, found);
        }
    }
    Ok(())
}

fn scan_file(text: &str, file: &str, found: &mut Found) {
    for name in test_names(text) {
        let test = Test {
            file: file.to_owned(),
            name: name.to_owned(),
        };
        for id in ids_in_name(name) {
            found.tests.entry(id).or_default().insert(test.clone());
        }
        found.all.insert(test);
    }
    if !is_test_file(file) {
        for id in text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .filter_map(mention)
        {
            found.code.entry(id).or_default().insert(file.to_owned());
        }
    }
}

/// Whether a file is no part of what the project does, but of how it is checked.
pub fn is_test_file(file: &str) -> bool {
    file.split('/')
        .any(|part| matches!(part, "tests" | "tests.rs" | "examples" | "benches"))
}

/// Names of the functions under `#[test]`, inside `proptest!` or not.
fn test_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in text.lines() {
        let line = line.trim_start();
        let rest = match line.strip_prefix("#[test]") {
            Some(rest) => {
                is_test = true;
                rest.trim_start()
            }
            None => line,
        };
        if !is_test {
            continue;
        }
        if let Some(at) = rest
            .strip_prefix("fn ")
            .or_else(|| rest.strip_prefix("pub fn "))
        {
            let end = at
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(at.len());
            names.push(&at[..end]);
            is_test = false;
        }
    }
    names
}

/// `rw_07_x`, `rw_01_rw_02_x`, `p_12_x`, `p12_x`.
fn ids_in_name(name: &str) -> Vec<Id> {
    let words: Vec<&str> = name.split('_').collect();
    let mut ids = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let next = words.get(index + 1).and_then(|next| number(next));
        let id = match (known_prefix(word), next) {
            (Some(prefix), Some(number)) => Some(Id { prefix, number }),
            _ => word.strip_prefix('p').and_then(number).map(|number| Id {
                prefix: "P",
                number,
            }),
        };
        ids.extend(id);
    }
    ids
}

/// `RW-7`, `P12`.
fn mention(word: &str) -> Option<Id> {
    let word = word.trim_end_matches('-');
    if let Some((prefix, digits)) = word.split_once('-') {
        let known = known_prefix(prefix).filter(|known| *known == prefix && prefix != "P")?;
        return Some(Id {
            prefix: known,
            number: number(digits)?,
        });
    }
    let number = number(word.strip_prefix('P')?)?;
    Some(Id {
        prefix: "P",
        number,
    })
}

fn number(digits: &str) -> Option<u32> {
    if digits.is_empty() || digits.len() > 2 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(name: &str) -> Vec<String> {
        ids_in_name(name).iter().map(Id::to_string).collect()
    }

    #[test]
    fn names_carry_ids() {
        assert_eq!(ids("rw_07_stale_generation"), ["RW-7"]);
        assert_eq!(ids("rw_01_rw_22_first_and_last"), ["RW-1", "RW-22"]);
        assert_eq!(ids("p_12_base_below_count"), ["P12"]);
        assert_eq!(ids("p12_base_below_count"), ["P12"]);
        assert_eq!(ids("rw_04_p_12_both"), ["RW-4", "P12"]);
        assert_eq!(ids("mutation_caught_by_p3"), ["P3"]);
        assert!(ids("window_rw_w256").is_empty());
        assert!(ids("port_8_of_8").is_empty());
    }

    #[test]
    fn comments_mention_ids() {
        let mut found = Found::default();
        scan_file(
            "//! Does RW-1, RW-22 (and P12).\n// no RW-1x, no RW-",
            "hdl/src/a.rs",
            &mut found,
        );
        let seen: Vec<String> = found.code.keys().map(Id::to_string).collect();
        assert_eq!(seen, ["P12", "RW-1", "RW-22"]);
    }

    #[test]
    fn tests_are_found_in_every_form() {
        let text = "#[test]\nfn rw_01_a() {}\n\nproptest! {\n    #[test]\n    #[ignore]\n    \
                    fn rw_02_b(x in 0..3) {}\n}\nfn rw_03_helper() {}\n#[test] fn rw_04_d() {}";
        assert_eq!(test_names(text), ["rw_01_a", "rw_02_b", "rw_04_d"]);
    }

    #[test]
    fn ids_sort_by_number() {
        let id = |number| Id {
            prefix: "RW",
            number,
        };
        assert!(id(2) < id(10));
    }
}
