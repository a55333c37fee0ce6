//! Presets, blocks and sizes as they are named on the command line. What is not on offer is a
//! wrong call, not a failure: the error is one of clap's, for the exit code.

use anyhow::Result;
use clap::error::ErrorKind;
use tributary_hdl::catalog::{self, CatalogError, Choice, PRESETS, Preset};

/// `W=256`.
pub fn size(text: &str) -> Result<(String, usize), String> {
    let wrong = || format!("`{text}` is not a size; W=256 would be one");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let value = value.parse().map_err(|_| wrong())?;
    if name.is_empty() {
        Err(wrong())
    } else {
        Ok((name.to_owned(), value))
    }
}

/// The block called `block` in these sizes.
pub fn choose(block: &str, sizes: &[(String, usize)]) -> Result<Choice> {
    for (index, (name, _)) in sizes.iter().enumerate() {
        if sizes[..index].iter().any(|(other, _)| other == name) {
            return Err(wrong_call(format!("the size {name} is given twice")));
        }
    }
    catalog::choose(block, sizes).map_err(from_catalog)
}

/// The presets of these names, each once; all presets if there is no name.
pub fn presets(names: &[String]) -> Result<Vec<&'static Preset>> {
    let mut presets: Vec<&'static Preset> = Vec::new();
    for name in names {
        let preset = catalog::preset(name).map_err(from_catalog)?;
        if !presets.contains(&preset) {
            presets.push(preset);
        }
    }
    Ok(if names.is_empty() {
        PRESETS.iter().collect()
    } else {
        presets
    })
}

fn from_catalog(error: CatalogError) -> anyhow::Error {
    match error {
        CatalogError::Emit(error) => error.into(),
        error => wrong_call(error.to_string()),
    }
}

fn wrong_call(message: String) -> anyhow::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{message}\n")).into()
}
