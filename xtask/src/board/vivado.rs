//! Boards with an FPGA of AMD: by Vivado and the script in the board's folder.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::description::{Design, Scripted, Vivado, folder};
use crate::process::{run_loudly, shown};
use crate::workspace;

/// Runs Vivado, or says what to run where it is installed. `dir` is the folder in which the design is built.
pub fn build(name: &str, flow: &Vivado, design: &Scripted, dir: &Path) -> Result<()> {
    let mut command = Command::new("vivado");
    command
        .current_dir(workspace::root())
        .args(["-mode", "batch", "-nojournal", "-nolog", "-source"])
        .arg(workspace::shown(&folder(name).join(&flow.script)))
        .arg("-tclargs")
        .arg(&design.name)
        .arg(workspace::shown(dir));
    let installed = Command::new("vivado")
        .arg("-version")
        .stdin(Stdio::null())
        .output()
        .is_ok();
    if !installed {
        bail!(
            "Vivado is not on the PATH; where it is, run `{}` in the root of the repository",
            shown(&command)
        );
    }
    if dir.exists() {
        fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    run_loudly(&mut command)
}

/// There is nothing that loads it; says so.
pub fn load(name: &str, design: &Scripted) -> Result<()> {
    let bitstream = super::folder(name, design).join(format!("{}.bit", design.name()));
    bail!(
        "load {} with the hardware manager of Vivado, by JTAG; `cargo xtask board build {name} --design {}` makes it",
        workspace::shown(&bitstream),
        design.name
    );
}
