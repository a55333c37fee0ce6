//! cocotb in a Python environment of its own, `target/tools/cocotb`: only some tests need it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{host, pip_install, remove, write};
use crate::process::run_quietly;

/// Names and exact versions of every Python package that is installed.
const REQUIREMENTS: &str = include_str!("../../cocotb.txt");

/// Fails where cocotb cannot be loaded into a simulator: it needs Python as a shared library, and Verilator needs make.
const PROBE: &str = "\
import shutil, sys, cocotbext.axi, cocotbext.eth, cocotbext.pcie.xilinx.us, cocotb_tools.runner, find_libpython
if not shutil.which('make'): sys.exit('there is no make')
if not find_libpython.find_libpython(): sys.exit('this Python has no shared library')";

/// Whether it is there at these versions, or is known not to be had: that takes long to find out.
pub fn is_settled(tools: &Path) -> bool {
    ["cocotb/stamp", "cocotb/failed"]
        .iter()
        .any(|stamp| fs::read_to_string(tools.join(stamp)).is_ok_and(|stamp| stamp == REQUIREMENTS))
}

/// Installs it into `tools` unless it is there. Says why where it cannot be had: the tests that need it skip.
pub fn install(tools: &Path, force: bool) {
    if is_settled(tools) && !force {
        return;
    }
    let dir = tools.join("cocotb");
    if let Err(error) = install_anew(&dir) {
        eprintln!("tools: without cocotb, tests that need it will be skipped: {error:#}");
        eprintln!("tools: `cargo xtask tools --force` tries again");
        // Without this it is tried each time.
        let _ = write(&dir.join("failed"), REQUIREMENTS);
    }
}

fn install_anew(dir: &Path) -> Result<()> {
    remove(dir)?;
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let venv = dir.join("venv");
    run_quietly(
        Command::new(host::python()?)
            .args(["-m", "venv"])
            .arg(&venv),
    )
    .context("cannot make a Python environment for cocotb")?;
    let requirements = dir.join("requirements.txt");
    write(&requirements, REQUIREMENTS)?;
    let python = venv.join("bin").join("python");
    pip_install(&python, &requirements)?;
    run_quietly(Command::new(&python).args(["-c", PROBE]))
        .context("cocotb was installed but does not load")?;
    write(&dir.join("stamp"), REQUIREMENTS)
}
