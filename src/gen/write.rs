//! Writing: a folder appears under its name when it is complete, in place of the one before.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Result, bail};

use super::check;
use super::cores;
use super::plan::{Folder, LIST};

/// Writes the folders into `out`. All are written beside their places before the first takes its
/// place; folders that are right already are not touched.
pub fn folders(folders: &[Folder], out: &Path) -> Result<()> {
    let mut ready = Vec::new();
    for folder in folders {
        if !check::compare(std::slice::from_ref(folder), out, false)?.is_empty() {
            ready.push(NewFolder::write(folder, out)?);
        }
    }
    ready.into_iter().try_for_each(NewFolder::take_place)
}

/// A folder beside its place. Dropped before it takes its place, it leaves nothing behind.
struct NewFolder {
    place: PathBuf,
    temporary: PathBuf,
    /// Where the folder goes that was there before.
    old: PathBuf,
}

impl NewFolder {
    fn write(folder: &Folder, out: &Path) -> Result<Self> {
        if let Some(file) = out
            .ancestors()
            .find(|path| path.exists())
            .filter(|path| !path.is_dir())
        {
            bail!(
                "cannot write into {}: {} is not a folder",
                out.display(),
                file.display()
            );
        }
        fs::create_dir_all(out).with_context(|| {
            format!(
                "cannot create the folder {}: is that a place that you may write to?",
                out.display()
            )
        })?;
        let place = out.join(&folder.name);
        // A link to a folder stays, and the folder is replaced.
        let place = fs::canonicalize(&place).unwrap_or(place);
        holds_nothing_else(&place)?;
        let beside = |ending: &str| {
            place.with_file_name(format!(".{}.{}.{ending}", folder.name, process::id()))
        };
        let new = Self {
            temporary: beside("partial"),
            old: beside("old"),
            place: place.clone(),
        };
        fs::create_dir(&new.temporary).with_context(|| {
            format!(
                "cannot write {}: is {} a folder that you may write to?",
                place.display(),
                out.display()
            )
        })?;
        for (name, text) in folder.contents() {
            fs::write(new.temporary.join(&name), text)
                .with_context(|| format!("cannot write {}", place.join(&name).display()))?;
        }
        Ok(new)
    }

    fn take_place(self) -> Result<()> {
        let cannot = || format!("cannot replace {}", self.place.display());
        let replaces = self.place.exists();
        if replaces {
            fs::rename(&self.place, &self.old).with_context(cannot)?;
        }
        if let Err(error) = fs::rename(&self.temporary, &self.place) {
            if replaces {
                fs::rename(&self.old, &self.place).with_context(|| {
                    format!("{}; what was there is now {}", cannot(), self.old.display())
                })?;
            }
            return Err(error).with_context(cannot);
        }
        if replaces {
            fs::remove_dir_all(&self.old)
                .with_context(|| format!("cannot remove {}", self.old.display()))?;
        }
        Ok(())
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // Gone if it has taken its place; of no use to anybody otherwise.
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// The folder is replaced as a whole, so it must hold nothing that was not generated.
fn holds_nothing_else(place: &Path) -> Result<()> {
    if place.exists() && !place.is_dir() {
        bail!(
            "{} is in the way: a folder is to be written there",
            place.display()
        );
    }
    for name in check::entries(place)? {
        let endings = [".v", ".h", ".md", cores::ENDING];
        let generated = name == LIST || endings.iter().any(|ending| name.ends_with(ending));
        if !generated || place.join(&name).is_dir() {
            bail!(
                "{} holds `{name}`, which was not generated, and would be replaced: move that away or give another --out",
                place.display()
            );
        }
    }
    Ok(())
}
