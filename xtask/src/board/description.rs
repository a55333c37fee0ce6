//! `board.toml`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::workspace;

/// A board, and what is built for it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Its name for people.
    pub name: String,
    /// By which tools.
    pub flow: Flow,
}

/// Tools that make a bitstream.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flow {
    /// Yosys, nextpnr, ecppack.
    Nextpnr(Nextpnr),
    /// AMD's.
    Vivado(Vivado),
}

/// A board with an ECP5.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nextpnr {
    /// The designs for it; the first one is built if none is named.
    pub design: Vec<Generated>,
    /// The device, as nextpnr's option names it.
    pub device: String,
    /// The package, as nextpnr names it.
    pub package: String,
    /// Speed grade.
    pub speed: u32,
    /// The module of `top.v`.
    pub top: String,
    /// Frequencies that must be met, MHz, one for each clock of the design.
    pub clocks: Vec<f64>,
    /// Arguments of openFPGALoader in front of the bitstream.
    pub loader: Vec<String>,
    /// What is to be done on the board before it can be loaded.
    pub before_loading: Option<String>,
}

/// A design of one generated block.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generated {
    /// Its name.
    pub name: String,
    /// What it is, for people.
    pub what: String,
    /// The block that `top.v` instantiates as `DESIGN`, as `tributary gen` names it.
    pub block: String,
    /// Its sizes, as `--set` takes them.
    pub set: Vec<String>,
    /// How often everything is placed only to find better sites for its block RAMs.
    #[serde(default)]
    pub ram_rounds: u32,
    /// Arguments of nextpnr that choose the router, if it is not nextpnr's own choice.
    #[serde(default)]
    pub router: Vec<String>,
    /// Seed of the placement that is routed.
    #[serde(default = "first_seed")]
    pub seed: u32,
}

fn first_seed() -> u32 {
    1
}

/// A board with an FPGA of AMD.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vivado {
    /// The designs for it; the first one is built if none is named.
    pub design: Vec<Scripted>,
    /// The part, as Vivado names it.
    pub part: String,
    /// The script in the board's folder that builds a design; its arguments are design and folder.
    pub script: String,
}

/// A design that the board's script knows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scripted {
    /// Its name.
    pub name: String,
    /// What it is, for people.
    pub what: String,
}

/// Something that is built for a board.
pub trait Design {
    /// Its name.
    fn name(&self) -> &str;
    /// What it is, for people.
    fn what(&self) -> &str;
}

impl Design for Generated {
    fn name(&self) -> &str {
        &self.name
    }

    fn what(&self) -> &str {
        &self.what
    }
}

impl Design for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn what(&self) -> &str {
        &self.what
    }
}

/// The folder of a board.
pub fn folder(name: &str) -> PathBuf {
    workspace::root().join("constraints").join(name)
}

/// The boards there are, by name.
pub fn names() -> Result<Vec<String>> {
    let all = workspace::root().join("constraints");
    let entries =
        fs::read_dir(&all).with_context(|| format!("cannot read {}", workspace::shown(&all)))?;
    let mut names = vec![];
    for entry in entries {
        let path = entry?.path();
        if path.join("board.toml").is_file()
            && let Some(name) = path.file_name()
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

impl Board {
    /// The board of this name.
    pub fn read(name: &str) -> Result<Self> {
        let names = names()?;
        if !names.iter().any(|known| known == name) {
            bail!("there is no board `{name}`; there are {}", names.join(", "));
        }
        let path = folder(name).join("board.toml");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", workspace::shown(&path)))?;
        toml::from_str(&text).with_context(|| format!("in {}", workspace::shown(&path)))
    }

    /// The design of this name among `designs`, which are the board's, or the first one.
    pub fn choose<'a, D: Design>(&self, designs: &'a [D], name: Option<&str>) -> Result<&'a D> {
        let found = match name {
            Some(name) => designs.iter().find(|design| design.name() == name),
            None => designs.first(),
        };
        let Some(found) = found else {
            let names: Vec<_> = designs.iter().map(Design::name).collect();
            let name = name.unwrap_or_default();
            bail!(
                "there is no design `{name}` for {}; there are {}",
                self.name,
                names.join(", ")
            );
        };
        Ok(found)
    }
}
