//! The page, as Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::rules::{Id, Rules};
use super::scan::Found;

/// The whole page.
pub fn render(rules: &Rules, found: &Found, in_part: &BTreeSet<String>) -> String {
    let mut page = String::from(
        "# Conformance\n\n\
         Which rule is proven by which test. Made by `cargo xtask conformance` from \
         `docs/rules.toml`, the names of the tests and the mentions of rules in the code; \
         do not edit. An id leads to the [rule in full](rules/README.md). A test carries the ids \
         of its rules in its name: `cargo test xud_13` runs those of XUD-13.\n\n",
    );
    let _ = writeln!(page, "{}.", capital(&summary(rules, found, in_part)));
    for family in rules.families() {
        let total = family.rules().count();
        let whole = |id: &Id| found.tests.contains_key(id) && !in_part.contains(&id.to_string());
        let tested = family.rules().filter(|(id, _)| whole(id)).count();
        let _ = writeln!(page, "\n## {}: {tested} of {total}\n", family.title);
        page.push_str("| id | rule | code | tests |\n|---|---|---|---|\n");
        for (id, title) in family.rules() {
            let code = found.code.get(&id).map_or(0, |files| files.len());
            let tests = match found.tests.get(&id) {
                Some(tests) => {
                    let tests = format!("[{}](#{})", count(tests.len(), "test"), anchor(id));
                    match in_part.contains(&id.to_string()) {
                        true => format!("**in part**: {tests}"),
                        false => tests,
                    }
                }
                None => "**open**".to_owned(),
            };
            let code = match code {
                0 => String::new(),
                files => format!("[{}](#{})", count(files, "file"), anchor(id)),
            };
            let text = format!("rules/{}#{}", family.page, id.to_string().to_lowercase());
            let _ = writeln!(page, "| [{id}]({text}) | {title} | {code} | {tests} |");
        }
        for (id, _) in family.rules() {
            details(&mut page, id, found);
        }
    }
    page
}

/// Where a rule's code is, and its tests, by file.
fn details(page: &mut String, id: Id, found: &Found) {
    let code = found.code.get(&id);
    let tests = found.tests.get(&id);
    if code.is_none() && tests.is_none() {
        return;
    }
    let _ = writeln!(page, "\n### Code and tests of {id}\n");
    if let Some(files) = code {
        let links: Vec<String> = files.iter().map(|file| link(file, file)).collect();
        let _ = writeln!(page, "Code: {}\n", links.join(", "));
    }
    let mut by_file: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for test in tests.into_iter().flatten() {
        by_file.entry(&test.file).or_default().push(&test.name);
    }
    for (file, names) in by_file {
        let _ = writeln!(page, "- {}: `{}`", link(file, file), names.join("`, `"));
    }
}

/// As Markdown makes it from the heading of [`details`].
fn anchor(id: Id) -> String {
    format!("code-and-tests-of-{}", id.to_string().to_lowercase())
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// How many rules have a test, and for how many of these that is not all of the rule.
pub fn summary(rules: &Rules, found: &Found, in_part: &BTreeSet<String>) -> String {
    let total = rules.ids().count();
    let tested = || rules.ids().filter(|id| found.tests.contains_key(id));
    let parts = tested().filter(|id| in_part.contains(&id.to_string()));
    let (parts, tested) = (parts.count(), tested().count());
    format!(
        "{tested} of {total} rules have a test, {parts} of them hold in part (the rule in full says which), {} are open",
        total - tested
    )
}

fn link(text: &str, file: &str) -> String {
    format!("[{text}](../{file})")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + chars.as_str()
    })
}
