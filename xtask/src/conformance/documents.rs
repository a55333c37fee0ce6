//! Tests that documents name: each must be there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::scan::{Found, Test, is_test_file};

/// Pages of which every list item is a statement that needs a test.
const STATEMENTS: [&str; 1] = ["docs/arithmetic.md"];

/// Pages of which every row of a table with a column of that name needs a test.
const TABLES: [&str; 1] = ["docs/card-done.md"];
const COLUMN: &str = "| tests |";

/// Made by this command: its links are right.
const GENERATED: &str = "docs/conformance.md";

/// Fails unless every test that a page below `docs` links to is there, and every statement and row that needs one has one.
pub fn check(root: &Path, found: &Found) -> Result<()> {
    let mut wrong = Vec::new();
    for page in pages(root, "docs")? {
        if page == GENERATED {
            continue;
        }
        let text =
            fs::read_to_string(root.join(&page)).with_context(|| format!("cannot read {page}"))?;
        wrong.extend(missing(&text, &page, found));
        if STATEMENTS.contains(&page.as_str()) {
            wrong.extend(unproven(&text, &page));
        }
        if TABLES.contains(&page.as_str()) {
            wrong.extend(unproven_rows(&text, &page));
        }
    }
    if !wrong.is_empty() {
        bail!(
            "documents name tests that are not there, or none:\n{}",
            wrong.join("\n")
        );
    }
    Ok(())
}

/// All Markdown files below a folder, sorted.
pub fn pages(root: &Path, folder: &str) -> Result<Vec<String>> {
    let mut list = Vec::new();
    let entries =
        fs::read_dir(root.join(folder)).with_context(|| format!("cannot list {folder}"))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {folder}"))?;
        let shown = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            list.extend(pages(root, &shown)?);
        } else if shown.ends_with(".md") {
            list.push(shown);
        }
    }
    list.sort();
    Ok(list)
}

/// A test that a line of a page links to: ``[`name`](../crate/tests/file.rs)``.
struct Link {
    line: usize,
    test: Test,
}

/// Links to tests; those to other code do not count.
fn links(text: &str, page: &str) -> Vec<Link> {
    let mut list = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        for piece in content.split("[`").skip(1) {
            let Some((name, rest)) = piece.split_once("`](") else {
                continue;
            };
            let Some(file) = rest.split(')').next().and_then(|file| resolve(page, file)) else {
                continue;
            };
            if is_test_file(&file) {
                let name = name.to_owned();
                list.push(Link {
                    line,
                    test: Test { file, name },
                });
            }
        }
    }
    list
}

/// The Rust source that a link leads to, as a path from the workspace.
fn resolve(page: &str, target: &str) -> Option<String> {
    if !target.ends_with(".rs") {
        return None;
    }
    let mut path = PathBuf::from(page);
    path.pop();
    for part in target.split('/') {
        match part {
            ".." => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    Some(parts.join("/"))
}

fn missing(text: &str, page: &str, found: &Found) -> Vec<String> {
    links(text, page)
        .into_iter()
        .filter(|link| !found.all.contains(&link.test))
        .map(|Link { line, test }| {
            let elsewhere = found.all.iter().find(|other| other.name == test.name);
            let hint =
                elsewhere.map_or_else(String::new, |t| format!("; there is one in {}", t.file));
            format!(
                "  {page}:{line}: no test {} in {}{hint}",
                test.name, test.file
            )
        })
        .collect()
}

/// List items without a link to a test.
fn unproven(text: &str, page: &str) -> Vec<String> {
    let linked: Vec<usize> = links(text, page).iter().map(|link| link.line).collect();
    let lines: Vec<&str> = text.lines().collect();
    let mut wrong = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !line.starts_with("- ") {
            continue;
        }
        let rest = lines[index + 1..].iter();
        let length = 1 + rest.take_while(|line| line.starts_with("  ")).count();
        let numbers = index + 1..index + 1 + length;
        if !linked.iter().any(|number| numbers.contains(number)) {
            wrong.push(format!("  {page}:{}: no test for: {line}", index + 1));
        }
    }
    wrong
}

/// Rows of tables with a column of tests that link to none.
fn unproven_rows(text: &str, page: &str) -> Vec<String> {
    let linked: Vec<usize> = links(text, page).iter().map(|link| link.line).collect();
    let mut wrong = Vec::new();
    let mut within = false;
    for (number, line) in (1..).zip(text.lines()) {
        if !line.starts_with('|') {
            within = false;
        } else if line.ends_with(COLUMN) {
            within = true;
        } else if within && !line.starts_with("|---") && !linked.contains(&number) {
            wrong.push(format!("  {page}:{number}: no test for: {line}"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tests: &[(&str, &str)]) -> Found {
        let all = tests.iter().map(|(file, name)| Test {
            file: (*file).to_owned(),
            name: (*name).to_owned(),
        });
        Found {
            all: all.collect(),
            ..Found::default()
        }
    }

    #[test]
    fn links_to_tests_must_lead_somewhere() {
        let text = "See [`a_b`](../x/tests/t.rs), [`c`](../x/src/lib.rs), [page](y.md).\n\
                    [`gone`](../x/tests/t.rs) and [`moved`](../x/tests/t.rs)";
        let tests = [("x/tests/t.rs", "a_b"), ("x/tests/u.rs", "moved")];
        assert_eq!(
            missing(text, "docs/p.md", &found(&tests)),
            [
                "  docs/p.md:2: no test gone in x/tests/t.rs",
                "  docs/p.md:2: no test moved in x/tests/t.rs; there is one in x/tests/u.rs",
            ]
        );
        let deeper = "[`a_b`](../../x/tests/t.rs)";
        assert!(missing(deeper, "docs/rules/p.md", &found(&tests)).is_empty());
        assert_eq!(missing(deeper, "docs/p.md", &found(&[])).len(), 1);
    }

    #[test]
    fn every_statement_needs_a_test() {
        let text = "- One.\n  Tests: [`a`](../x/tests/t.rs)\n- Two.\n  More.\n\n- [`b`](../x/tests/t.rs)\n\
                    - Three.\n\n[`c`](../x/tests/t.rs)";
        assert_eq!(
            unproven(text, "docs/p.md"),
            [
                "  docs/p.md:3: no test for: - Two.",
                "  docs/p.md:7: no test for: - Three.",
            ]
        );
    }

    #[test]
    fn every_row_of_a_table_of_tests_needs_one() {
        let text = "| what | tests |\n|---|---|\n| one | [`a`](../x/tests/t.rs) |\n| two | none |\n\n\
                    | port | what |\n|---|---|\n| p | q |\n";
        assert_eq!(
            unproven_rows(text, "docs/p.md"),
            ["  docs/p.md:4: no test for: | two | none |"]
        );
    }
}
