//! Packages that only some tests use, each set in a Python environment of its own, `target/tools/<name>`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{host, pip_install, remove, write};
use crate::process::run_quietly;

/// One set of packages.
struct Extra {
    /// Its folder.
    name: &'static str,
    /// Names and exact versions of every Python package that is installed.
    requirements: &'static str,
    /// Python that fails where the packages are installed and still of no use.
    probe: &'static str,
}

const ALL: [Extra; 2] = [
    Extra {
        name: "cocotb",
        requirements: include_str!("../../cocotb.txt"),
        // cocotb is loaded into a simulator: it needs Python as a shared library, and Verilator needs make.
        probe: "\
import shutil, sys, cocotbext.axi, cocotbext.eth, cocotbext.pcie.xilinx.us, cocotb_tools.runner, find_libpython
if not shutil.which('make'): sys.exit('there is no make')
if not find_libpython.find_libpython(): sys.exit('this Python has no shared library')",
    },
    Extra {
        name: "fusesoc",
        requirements: include_str!("../../fusesoc.txt"),
        probe: "\
import shutil, sys, fusesoc.main, edalize.flows.lint
if not shutil.which('make'): sys.exit('there is no make')",
    },
];

/// Whether all are there at these versions, or are known not to be had: that takes long to find out.
pub fn are_settled(tools: &Path) -> bool {
    ALL.iter().all(|extra| extra.is_settled(tools))
}

/// Installs into `tools` what is not there. Says why where something cannot be had: the tests that need it skip.
pub fn install(tools: &Path, force: bool) {
    for extra in &ALL {
        if force || !extra.is_settled(tools) {
            extra.install(tools);
        }
    }
}

impl Extra {
    fn is_settled(&self, tools: &Path) -> bool {
        let dir = tools.join(self.name);
        ["stamp", "failed"].iter().any(|stamp| {
            fs::read_to_string(dir.join(stamp)).is_ok_and(|stamp| stamp == self.requirements)
        })
    }

    fn install(&self, tools: &Path) {
        let dir = tools.join(self.name);
        let name = self.name;
        if let Err(error) = self.install_anew(&dir) {
            eprintln!("tools: without {name}, tests that need it will be skipped: {error:#}");
            eprintln!("tools: `cargo xtask tools --force` tries again");
            // Without this it is tried each time.
            let _ = write(&dir.join("failed"), self.requirements);
        }
    }

    fn install_anew(&self, dir: &Path) -> Result<()> {
        let name = self.name;
        remove(dir)?;
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        let venv = dir.join("venv");
        run_quietly(
            Command::new(host::python()?)
                .args(["-m", "venv"])
                .arg(&venv),
        )
        .with_context(|| format!("cannot make a Python environment for {name}"))?;
        let requirements = dir.join("requirements.txt");
        write(&requirements, self.requirements)?;
        let python = venv.join("bin").join("python");
        pip_install(&python, &requirements)?;
        run_quietly(Command::new(&python).args(["-c", self.probe]))
            .with_context(|| format!("{name} was installed but does not load"))?;
        write(&dir.join("stamp"), self.requirements)
    }
}
