//! Other Verilog in place of a module's own, for measuring how good tests are.
//!
//! The environment variable `TRIBUTARY_VERILOG_REPLACE` names a folder. Each source of a build
//! goes through it, whichever test or program builds:
//!
//! ```text
//! NAME.v            stands in for the source NAME.v ...
//! NAME.v.original   ... where that has exactly this text: other sizes stay, and so do sources
//!                   into which a test has put a fault of its own
//! used              gets a line NAME for each source that was replaced: the test could see
//!                   the change
//! seen/             if there is one, gets a copy of every source of every build, as NAME.v
//!                   and a number that tells texts of one name apart
//! built/            the cache of builds with replaced sources, apart from all others
//! ```
//!
//! A build's key is made of the sources after the replacement. `cargo xtask mutate` uses this.

use std::collections::HashSet;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::error::VerilateError;
use super::options::{BuildOptions, Source};
use crate::content::ContentKey;

/// Names the folder.
const VARIABLE: &str = "TRIBUTARY_VERILOG_REPLACE";

/// The options with sources replaced, if the environment asks for it and something is.
pub(super) fn applied(options: &BuildOptions) -> Result<Option<BuildOptions>, VerilateError> {
    match env::var_os(VARIABLE) {
        Some(dir) if !dir.is_empty() => apply(options, &PathBuf::from(dir)),
        _ => Ok(None),
    }
}

fn apply(options: &BuildOptions, dir: &Path) -> Result<Option<BuildOptions>, VerilateError> {
    let seen = dir.join("seen");
    if seen.is_dir() {
        record(&options.sources, &seen)?;
    }
    let mut changed = options.clone();
    let mut replaced = HashSet::new();
    for source in &mut changed.sources {
        let path = dir.join(&source.name);
        if !path.is_file() {
            continue;
        }
        let original = dir.join(format!("{}.original", source.name));
        if read(&original)? == source.text {
            source.text = read(&path)?;
            replaced.insert(source.name.clone());
        }
    }
    if replaced.is_empty() {
        return Ok(None);
    }
    let names: String = replaced
        .iter()
        .map(|name| format!("{}\n", name.trim_end_matches(".v")))
        .collect();
    append(&dir.join("used"), &names)?;
    changed.cache_dir = Some(dir.join("built"));
    Ok(Some(changed))
}

fn record(sources: &[Source], seen: &Path) -> Result<(), VerilateError> {
    for source in sources {
        let mut key = ContentKey::new();
        key.add(&source.text);
        let path = seen.join(format!("{}.{}", source.name, &key.name()[..8]));
        if !path.is_file() {
            write(&path, &source.text)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, VerilateError> {
    fs::read_to_string(path).map_err(VerilateError::io("cannot read", path))
}

fn append(path: &Path, text: &str) -> Result<(), VerilateError> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(VerilateError::io("cannot write", path))
}

fn write(path: &Path, text: &str) -> Result<(), VerilateError> {
    fs::write(path, text).map_err(VerilateError::io("cannot write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let dir = crate::tools::target_dir().join("test-scratch").join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("seen")).unwrap();
        dir
    }

    #[test]
    fn only_the_very_text_is_replaced() {
        let dir = folder("verilog-replace");
        fs::write(dir.join("a.v"), "other").unwrap();
        fs::write(dir.join("a.v.original"), "first").unwrap();

        let plain = BuildOptions::new("b", &[("b.v", "second"), ("a.v", "third")]);
        assert_eq!(apply(&plain, &dir).unwrap(), None);
        assert!(!dir.join("used").exists());

        let options = BuildOptions::new("b", &[("b.v", "second"), ("a.v", "first")]);
        let changed = apply(&options, &dir).unwrap().unwrap();
        let texts: Vec<&str> = changed.sources.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(texts, ["second", "other"]);
        assert_eq!(changed.cache_dir, Some(dir.join("built")));
        assert_eq!(fs::read_to_string(dir.join("used")).unwrap(), "a\n");

        // One text of b.v, two of a.v.
        assert_eq!(fs::read_dir(dir.join("seen")).unwrap().count(), 3);
    }

    #[test]
    fn a_replacement_without_its_original_is_an_error() {
        let dir = folder("verilog-replace-alone");
        fs::write(dir.join("a.v"), "other").unwrap();
        let options = BuildOptions::new("a", &[("a.v", "first")]);
        let error = apply(&options, &dir).unwrap_err().to_string();
        assert!(error.contains("a.v.original"), "{error}");
    }
}
