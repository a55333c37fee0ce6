//! Whether files are those that would be written.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::plan::{Folder, LIST};

/// How files differ from what would be written; each as `<folder>/<file>`.
#[derive(Default, Serialize)]
pub struct Differences {
    /// There, with other contents.
    pub stale: Vec<String>,
    /// Not there.
    pub missing: Vec<String>,
    /// There, but no part of what would be written.
    pub surplus: Vec<String>,
}

impl Differences {
    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.stale.is_empty() && self.missing.is_empty() && self.surplus.is_empty()
    }

    /// The differences for people.
    pub fn tell(&self, out: &Path) -> String {
        if self.is_empty() {
            return format!("{}: up to date\n", out.display());
        }
        let mut text = format!(
            "{}: NOT up to date; `tributary gen` with the same arguments but --check writes it anew\n",
            out.display()
        );
        for (what, names) in [
            ("stale", &self.stale),
            ("missing", &self.missing),
            ("surplus", &self.surplus),
        ] {
            for name in names {
                text += &format!("  {what:7}  {name}\n");
            }
        }
        text
    }
}

/// Compares the folders with those in `out`; with `all`, other folders of Verilog there are surplus.
pub fn compare(folders: &[Folder], out: &Path, all: bool) -> Result<Differences> {
    let mut differences = Differences::default();
    for folder in folders {
        one(folder, out, &mut differences)?;
    }
    if all {
        let names: BTreeSet<&str> = folders.iter().map(|folder| folder.name.as_str()).collect();
        let others = entries(out)?
            .into_iter()
            .filter(|name| !names.contains(name.as_str()));
        differences
            .surplus
            .extend(others.filter(|name| out.join(name).join(LIST).exists()));
    }
    Ok(differences)
}

fn one(folder: &Folder, out: &Path, differences: &mut Differences) -> Result<()> {
    let path = out.join(&folder.name);
    let contents = folder.contents();
    for (name, text) in &contents {
        let shown = format!("{}/{name}", folder.name);
        match fs::read(path.join(name)) {
            Ok(bytes) if bytes == text.as_bytes() => {}
            Ok(_) => differences.stale.push(shown),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                differences.missing.push(shown)
            }
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot read {}", path.join(name).display()));
            }
        }
    }
    let surplus = entries(&path)?
        .into_iter()
        .filter(|name| !contents.contains_key(name));
    differences
        .surplus
        .extend(surplus.map(|name| format!("{}/{name}", folder.name)));
    Ok(())
}

/// Names in a folder, in order; none if there is no such folder.
pub fn entries(path: &Path) -> Result<Vec<String>> {
    let cannot = || format!("cannot list {}", path.display());
    let mut names = Vec::new();
    match fs::read_dir(path) {
        Ok(entries) => {
            for entry in entries {
                names.push(
                    entry
                        .with_context(cannot)?
                        .file_name()
                        .to_string_lossy()
                        .into_owned(),
                );
            }
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
        Err(error) => return Err(error).with_context(cannot),
    }
    names.sort();
    Ok(names)
}
