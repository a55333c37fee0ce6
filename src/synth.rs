//! Synthesis, placement and routing with the pinned Yosys and nextpnr: how large a block is and
//! how fast it runs on an ECP5-85k, speed grade 6.
//!
//! Every figure comes from the same setting: `yosys synth_ecp5`, then `nextpnr-ecp5 --85k
//! --package CABGA756 --speed 6 --out-of-context --freq 200 --timing-allow-fail` once per seed.
//! What is counted:
//!
//! - `defines`: the Verilog is read with `TRIBUTARY_ECP5`, which has memories instantiate the
//!   block RAM with its output register, since Yosys does not infer that.
//! - `luts`: LUT4 sites in use (`TRELLIS_COMB` after placement). That includes those that carry
//!   chains, wide multiplexers and distributed RAM take.
//! - `registers`: flip-flops in use (`TRELLIS_FF`).
//! - `block_rams`: block RAMs of 18 Kbit in use (`DP16KD`, as which nextpnr counts `PDPW16KD` too).
//! - `lutram_luts`: those of `luts` that hold distributed RAM: four for each 16×4 RAM.
//! - `ram_rounds`: how often the block RAMs were placed ahead of the rest, see [`tributary_fpga::rams`]; 0 leaves
//!   them to nextpnr. The arguments stay the same: their sites are attributes in the netlist.
//! - `ram_round`: after which of these rounds they were kept: that of which nextpnr expects most
//!   once all is placed with seed 1.
//! - `fmax_mhz`: the median over the seeds of the slowest clock's reachable frequency; of an
//!   even number of seeds the lower of the two in the middle.
//!
//! Everything happens in `target/synth/<content>/`: what is there already is not computed again.

mod flow;
mod path;
mod report;

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, bail};
use tributary_fpga::{rams, sites};

use report::SynthReport;

/// A device that figures can be had for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// Lattice ECP5 with 84k LUTs, package CABGA756, speed grade 6.
    #[default]
    Ecp5_85k,
}

impl Device {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ecp5_85k => "ecp5-85k",
        }
    }

    /// What the Verilog is read with.
    fn defines(self) -> &'static [&'static str] {
        match self {
            Self::Ecp5_85k => &["TRIBUTARY_ECP5"],
        }
    }

    /// The arguments of nextpnr that choose it.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Ecp5_85k => &["--85k", "--package", "CABGA756", "--speed", "6"],
        }
    }

    /// The sites of its block RAMs.
    fn block_rams(self) -> Vec<rams::Site> {
        let device = match self {
            Self::Ecp5_85k => "85k",
        };
        sites::ecp5(device).unwrap_or_default()
    }
}

impl FromStr for Device {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "ecp5-85k" => Ok(Self::Ecp5_85k),
            _ => bail!("unknown device `{name}`; the one on offer is `ecp5-85k`"),
        }
    }
}

/// How to synthesise.
#[derive(Debug, Clone, PartialEq)]
pub struct SynthOptions {
    /// For which device.
    pub device: Device,
    /// How many times to place and route, with seeds 1 to this.
    pub seeds: u32,
    /// The frequency that nextpnr aims at.
    pub target_mhz: u32,
    /// How many times to place everything only to find better sites for the block RAMs.
    pub ram_rounds: u32,
    /// Where to work; `target/synth` of the workspace if `None`. Not below the system's
    /// temporary folder, which the WebAssembly tools do not see.
    pub work_dir: Option<PathBuf>,
}

impl Default for SynthOptions {
    fn default() -> Self {
        Self {
            device: Device::default(),
            seeds: 3,
            target_mhz: 200,
            ram_rounds: 0,
            work_dir: None,
        }
    }
}

/// Synthesises module `top` of `sources`, given as (file name, text), and places and routes it
/// once per seed. Tells `progress` of each step that ends, from any thread.
pub fn synth(
    sources: &[(String, String)],
    top: &str,
    options: &SynthOptions,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<SynthReport> {
    if options.seeds == 0 {
        bail!("cannot place and route with 0 seeds; 1 or more is right");
    }
    if options.target_mhz == 0 {
        bail!("cannot aim at 0 MHz; the usual target is 200");
    }
    check_names(sources, top)?;
    flow::Flow::prepare(sources, top, options, progress)?.run()
}

/// Rejects names that the tools would take for options, paths or commands.
fn check_names(sources: &[(String, String)], top: &str) -> Result<()> {
    let plain = |name: &str, more: &[u8]| {
        name.bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || more.contains(&byte))
    };
    if !plain(top, b"") {
        bail!("{top:?} is not the name of a module");
    }
    if sources.is_empty() {
        bail!("no Verilog source was given for `{top}`");
    }
    for (index, (name, _)) in sources.iter().enumerate() {
        if !plain(name, b".-") || !name.ends_with(".v") {
            bail!("source name {name:?} is not a plain file name that ends in `.v`");
        }
        if sources[..index].iter().any(|(other, _)| other == name) {
            bail!("two sources are named {name:?}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
