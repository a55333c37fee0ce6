//! `cargo xtask conformance`: which rule is proven by which test, and where its code is.
//!
//! The rules are listed in `docs/rules.toml`; the rest is read from the sources: a test's name
//! carries the ids that it proves, a comment in the code the ids that it implements. The result
//! is `docs/conformance.md`.
//!
//! It fails where documents and sources disagree: a test named for a rule that is not listed, a
//! rule without its text in `docs/rules` or a text without its rule, a link to a test that is not
//! there, a statement of `docs/arithmetic.md` or a row of `docs/card-done.md` without a test.

mod documents;
mod page;
mod rules;
mod scan;
mod texts;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Writes the page, or with `check` fails unless it is up to date.
pub fn run(check: bool) -> Result<()> {
    let root = workspace::root();
    let rules = rules::load(&root.join("docs").join("rules.toml"))?;
    let found = scan::sources(&root)?;
    rules.check_tests(&found)?;
    let in_part = texts::check(&root, &rules)?;
    documents::check(&root, &found)?;
    let text = page::render(&rules, &found, &in_part);

    let path = root.join("docs").join("conformance.md");
    if check {
        // A missing page is a stale page.
        if fs::read_to_string(&path).unwrap_or_default() != text {
            bail!("docs/conformance.md is out of date; run `cargo xtask conformance`");
        }
        println!("docs/conformance.md is up to date");
        return Ok(());
    }
    let temporary = path.with_extension("md.new");
    fs::write(&temporary, text)
        .with_context(|| format!("cannot write {}", workspace::shown(&temporary)))?;
    fs::rename(&temporary, &path)
        .with_context(|| format!("cannot write {}", workspace::shown(&path)))?;
    println!(
        "docs/conformance.md: {}",
        page::summary(&rules, &found, &in_part)
    );
    Ok(())
}
