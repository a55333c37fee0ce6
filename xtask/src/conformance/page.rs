//! The page, as Markdown.

use std::fmt::Write;

use super::rules::Rules;
use super::scan::Found;

/// The whole page.
pub fn render(rules: &Rules, found: &Found) -> String {
    let mut page = String::from(
        "# Conformance\n\n\
         Which rule is proven by which test. Made by `cargo xtask conformance` from \
         `docs/rules.toml`, the names of the tests and the mentions of rules in the code; \
         do not edit. An id leads to the [rule in full](rules/README.md).\n\n",
    );
    let _ = writeln!(page, "{}.", capital(&summary(rules, found)));
    for family in rules.families() {
        let total = family.rules().count();
        let tested = family
            .rules()
            .filter(|(id, _)| found.tests.contains_key(id))
            .count();
        let _ = writeln!(page, "\n## {}: {tested} of {total}\n", family.title);
        page.push_str("| id | rule | code | tests |\n|---|---|---|---|\n");
        for (id, title) in family.rules() {
            let code = found.code.get(&id).into_iter().flatten();
            let code: Vec<String> = code.map(|file| link(file, file)).collect();
            let tests = found.tests.get(&id).into_iter().flatten();
            let tests: Vec<String> = tests
                .map(|test| link(&format!("`{}`", test.name), &test.file))
                .collect();
            let tests = if tests.is_empty() {
                "**open**".to_owned()
            } else {
                tests.join("<br>")
            };
            let text = format!("rules/{}#{}", family.page, id.to_string().to_lowercase());
            let _ = writeln!(
                page,
                "| [{id}]({text}) | {title} | {} | {tests} |",
                code.join("<br>")
            );
        }
    }
    page
}

/// How many rules have a test.
pub fn summary(rules: &Rules, found: &Found) -> String {
    let total = rules.ids().count();
    let tested = rules
        .ids()
        .filter(|id| found.tests.contains_key(id))
        .count();
    format!(
        "{tested} of {total} rules have a test, {} are open",
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
