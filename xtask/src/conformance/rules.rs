//! The list of rules.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::scan::Found;

/// The prefixes that rule ids have; a test's name has them in lower case.
pub const PREFIXES: [&str; 8] = ["RW", "P", "XUD", "RED", "MC", "MB", "BW", "CL"];

/// A rule's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// One of [`PREFIXES`].
    pub prefix: &'static str,
    /// From 1 up.
    pub number: u32,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Properties are written P12, rules RW-12.
        let dash = if self.prefix == "P" { "" } else { "-" };
        write!(f, "{}{dash}{}", self.prefix, self.number)
    }
}

/// All rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    family: Vec<Family>,
}

/// The rules of one prefix.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    prefix: String,
    /// What they are about.
    pub title: String,
    /// The file in `docs/rules` that has them in full.
    pub page: String,
    rules: Vec<(u32, String)>,
}

impl Family {
    /// Ids and titles, in order.
    pub fn rules(&self) -> impl Iterator<Item = (Id, &str)> {
        let prefix = known_prefix(&self.prefix).unwrap_or_default();
        self.rules.iter().map(move |(number, title)| {
            (
                Id {
                    prefix,
                    number: *number,
                },
                title.as_str(),
            )
        })
    }
}

/// Reads and checks the list.
pub fn load(path: &Path) -> Result<Rules> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let rules: Rules = toml::from_str(&text).context("docs/rules.toml is not well formed")?;
    for family in &rules.family {
        if known_prefix(&family.prefix).is_none() {
            bail!(
                "docs/rules.toml: unknown prefix {:?}; known are {}",
                family.prefix,
                PREFIXES.join(", ")
            );
        }
        if !family.rules.is_sorted_by(|a, b| a.0 < b.0) {
            bail!(
                "docs/rules.toml: the rules of {} must ascend",
                family.prefix
            );
        }
    }
    Ok(rules)
}

impl Rules {
    /// The families, in the order of the file.
    pub fn families(&self) -> impl Iterator<Item = &Family> {
        self.family.iter()
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.families().flat_map(Family::rules).map(|(id, _)| id)
    }

    /// Fails if a test's name carries an id that is not listed: a slip of the pen would
    /// otherwise leave the rule open and the test unseen.
    pub fn check_tests(&self, found: &Found) -> Result<()> {
        let unknown: Vec<String> = found
            .tests
            .iter()
            .filter(|(id, _)| !self.ids().any(|known| known == **id))
            .flat_map(|(id, tests)| {
                tests
                    .iter()
                    .map(move |test| format!("  {} in {}: no rule {id}", test.name, test.file))
            })
            .collect();
        if !unknown.is_empty() {
            bail!(
                "tests name rules that docs/rules.toml does not list:\n{}",
                unknown.join("\n")
            );
        }
        Ok(())
    }
}

/// The prefix as a constant, whatever its case.
pub fn known_prefix(text: &str) -> Option<&'static str> {
    PREFIXES
        .into_iter()
        .find(|prefix| prefix.eq_ignore_ascii_case(text))
}
