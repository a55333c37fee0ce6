//! The rules in full: `docs/rules` has a page for each family, and a heading for each rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::documents::pages;
use super::rules::Rules;

/// Where the pages are.
const FOLDER: &str = "docs/rules";
/// The page that lists the others.
const INDEX: &str = "README.md";

/// How a paragraph begins that says which part of a rule the project does not do.
const PART: &str = "**Not there yet";

/// Fails unless every listed rule has its text on its family's page, and every text its rule. The ids of rules that hold in part.
pub fn check(root: &Path, rules: &Rules) -> Result<BTreeSet<String>> {
    let mut texts = BTreeMap::new();
    for shown in pages(root, FOLDER)? {
        let name = shown.rsplit('/').next().unwrap_or(&shown).to_owned();
        if name != INDEX {
            let text = fs::read_to_string(root.join(&shown))
                .with_context(|| format!("cannot read {shown}"))?;
            texts.insert(name, text);
        }
    }
    let wrong = differences(rules, &texts);
    if !wrong.is_empty() {
        bail!(
            "docs/rules.toml and {FOLDER} disagree:\n{}",
            wrong.join("\n")
        );
    }
    Ok(texts.values().flat_map(|text| in_part(text)).collect())
}

/// Rules of a page that a paragraph says are not there as a whole.
fn in_part(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut id = None;
    for line in text.lines() {
        if line.starts_with('#') {
            id = line.strip_prefix("### ").map(str::trim);
        } else if line.starts_with(PART) {
            found.extend(id.map(str::to_owned));
        }
    }
    found
}

fn differences(rules: &Rules, texts: &BTreeMap<String, String>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut wanted: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for family in rules.families() {
        let ids = family.rules().map(|(id, _)| id.to_string());
        wanted.entry(&family.page).or_default().extend(ids);
    }
    for page in wanted.keys().filter(|page| !texts.contains_key(**page)) {
        wrong.push(format!("  {FOLDER}/{page} is missing"));
    }
    for (page, text) in texts {
        let mut left = wanted.remove(page.as_str()).unwrap_or_default();
        for (line, id, empty) in headings(text) {
            if !left.remove(id) {
                wrong.push(format!(
                    "  {FOLDER}/{page}:{line}: {id} is not listed for this page, or is there twice"
                ));
            }
            if empty {
                wrong.push(format!("  {FOLDER}/{page}:{line}: {id} has no text"));
            }
        }
        wrong.extend(
            left.iter()
                .map(|id| format!("  {FOLDER}/{page}: {id} is missing")),
        );
    }
    wrong
}

/// Headings of the third level: (line, id, whether nothing follows). Those of other levels are for the reader.
fn headings(text: &str) -> Vec<(usize, &str, bool)> {
    let lines: Vec<&str> = text.lines().collect();
    let heading = |line: &&&str| line.starts_with('#');
    (0..lines.len())
        .filter_map(|index| {
            let id = lines[index].strip_prefix("### ")?;
            let body = lines[index + 1..].iter().take_while(|line| !heading(line));
            let empty = body.into_iter().all(|line| line.trim().is_empty());
            Some((index + 1, id.trim(), empty))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        toml::from_str(
            "[[family]]\nprefix = \"RW\"\ntitle = \"Window\"\npage = \"w.md\"\n\
             rules = [[1, \"One\"], [2, \"Two\"]]\n\
             [[family]]\nprefix = \"P\"\ntitle = \"Properties\"\npage = \"w.md\"\n\
             rules = [[3, \"Three\"]]\n",
        )
        .unwrap()
    }

    fn of(pages: &[(&str, &str)]) -> Vec<String> {
        let texts = pages
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        differences(&rules(), &texts.collect())
    }

    #[test]
    fn every_rule_has_its_text() {
        let whole = "# W\n## Rules\n### RW-1\nText.\n### RW-2\n\n- Text.\n### P3\nText.\n";
        assert!(of(&[("w.md", whole)]).is_empty());
        assert_eq!(of(&[]), ["  docs/rules/w.md is missing"]);
        let without = "### RW-1\nText.\n### P3\nText.\n";
        assert_eq!(
            of(&[("w.md", without)]),
            ["  docs/rules/w.md: RW-2 is missing"]
        );
    }

    #[test]
    fn every_text_has_its_rule() {
        let more = "### RW-1\nText.\n### RW-2\n### RW-3\nText.\n### P3\nText.\n### RW-1\nText.\n";
        assert_eq!(
            of(&[("w.md", more), ("x.md", "### RW-2\nText.")]),
            [
                "  docs/rules/w.md:3: RW-2 has no text",
                "  docs/rules/w.md:4: RW-3 is not listed for this page, or is there twice",
                "  docs/rules/w.md:8: RW-1 is not listed for this page, or is there twice",
                "  docs/rules/x.md:1: RW-2 is not listed for this page, or is there twice",
            ]
        );
    }

    #[test]
    fn a_paragraph_says_that_a_rule_holds_in_part() {
        let text = "### RW-1\none\n\n### RW-2\ntwo\n\n**Not there yet:** half.\n\n## more\n**Not there yet**\n";
        assert_eq!(in_part(text), ["RW-2"]);
    }
}
