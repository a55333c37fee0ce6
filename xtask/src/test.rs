//! `cargo xtask test`: the tools, then every test of the workspace.

use std::env;
use std::process::Command;

use anyhow::Result;

use crate::process::run_loudly;
use crate::{tools, workspace};

/// Installs the tools if need be and runs all tests; `arguments` go on to `cargo test`.
pub fn run(arguments: &[String]) -> Result<()> {
    tools::install(false)?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run_loudly(
        Command::new(cargo)
            .current_dir(workspace::root())
            .env("TRIBUTARY_TOOLS", workspace::tools_dir())
            .args(["test", "--workspace"])
            .args(arguments),
    )
}
