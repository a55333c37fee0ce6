//! What to build.

use std::path::PathBuf;

use super::error::VerilateError;
use super::offers;

/// A Verilog file by name and text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// File name, without folders; shown in Verilator's messages.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// What to build, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildOptions {
    /// Name of the top module.
    pub top: String,
    /// All modules that the top module needs.
    pub sources: Vec<Source>,
    /// Name of the clock input that [`Model::clock`](super::Model::clock) drives.
    pub clock: String,
    /// Name of the active-high reset input that [`Model::reset`](super::Model::reset) drives.
    pub reset: String,
    /// Whether waveforms can be recorded. Costs speed even while none is open.
    pub trace: bool,
    /// Whether registers without reset and `x` start with random values, from the seed of
    /// [`Verilated::model_with_seed`](super::Verilated::model_with_seed), instead of zero.
    pub random_init: bool,
    /// Preprocessor definitions, name and value.
    pub defines: Vec<(String, String)>,
    /// Folder of the build cache; `target/verilated` of the workspace if `None`.
    pub cache_dir: Option<PathBuf>,
}

impl BuildOptions {
    /// Options for `top`, found in `sources` given as (file name, text); clock `clk`, reset
    /// `rst`, no tracing, everything starts at zero.
    pub fn new<N: AsRef<str>, T: AsRef<str>>(top: &str, sources: &[(N, T)]) -> Self {
        Self {
            top: top.to_owned(),
            sources: sources
                .iter()
                .map(|(name, text)| Source {
                    name: name.as_ref().to_owned(),
                    text: text.as_ref().to_owned(),
                })
                .collect(),
            clock: "clk".to_owned(),
            reset: "rst".to_owned(),
            trace: false,
            random_init: false,
            defines: Vec::new(),
            cache_dir: None,
        }
    }

    /// The same with waveform recording switched on or off.
    #[must_use]
    pub fn with_trace(mut self, trace: bool) -> Self {
        self.trace = trace;
        self
    }

    /// The same with random instead of zero initial values.
    #[must_use]
    pub fn with_random_init(mut self, random_init: bool) -> Self {
        self.random_init = random_init;
        self
    }

    /// The same with a preprocessor definition more.
    #[must_use]
    pub fn with_define(mut self, name: &str, value: &str) -> Self {
        self.defines.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with checks of what no block may do: depend on a word that is read and written in one clock, which becomes
    /// a wrong one (`TRIBUTARY_RAM_COLLISION`), or take back or change an offer that was not taken, which stops the
    /// simulation.
    #[must_use]
    pub fn with_checks(self) -> Self {
        let mut checked = self.with_define("TRIBUTARY_RAM_COLLISION", "1");
        checked.sources.extend(offers::watchers(&checked.sources));
        checked
    }

    /// Rejects what Verilator would misread: names that are paths or options, no sources.
    pub(super) fn check(&self) -> Result<(), VerilateError> {
        let invalid = |what: String| Err(VerilateError::Options { what });
        if !is_identifier(&self.top) {
            return invalid(format!("{:?} is not the name of a module", self.top));
        }
        if self.sources.is_empty() {
            return invalid(format!("no Verilog source was given for `{}`", self.top));
        }
        for (index, source) in self.sources.iter().enumerate() {
            let name = &source.name;
            if name.is_empty()
                || name.starts_with(['-', '+', '.'])
                || !name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_-.+".contains(&byte))
            {
                return invalid(format!(
                    "source name {name:?} is not a plain file name \
                     (letters, digits and `_-.+`, no folders)"
                ));
            }
            if !name.ends_with(".v") && !name.ends_with(".sv") {
                return invalid(format!("source name {name:?} must end in `.v` or `.sv`"));
            }
            if self.sources[..index]
                .iter()
                .any(|other| other.name == *name)
            {
                return invalid(format!("two sources are named {name:?}"));
            }
        }
        for (name, value) in &self.defines {
            if !is_identifier(name) || value.contains(['\n', '"']) {
                return invalid(format!("cannot define {name:?} as {value:?}"));
            }
        }
        Ok(())
    }
}

fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_$".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(top: &str, sources: &[(&str, &str)]) -> String {
        BuildOptions::new(top, sources)
            .check()
            .expect_err("must be rejected")
            .to_string()
    }

    #[test]
    fn odd_names_are_rejected_with_a_reason() {
        assert!(message("t", &[]).contains("no Verilog source"));
        assert!(message("--cc", &[("t.v", "")]).contains("name of a module"));
        assert!(message("t", &[("../t.v", "")]).contains("plain file name"));
        assert!(message("t", &[("-f.v", "")]).contains("plain file name"));
        assert!(message("t", &[("t.txt", "")]).contains(".v"));
        assert!(message("t", &[("t.v", ""), ("t.v", "")]).contains("two sources"));
    }
}
