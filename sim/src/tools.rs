//! Where the pinned tools are: Verilator, Yosys, nextpnr, the solver.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

/// Names the folder of the tools where they are not in the workspace.
pub const TOOLS_VARIABLE: &str = "TRIBUTARY_TOOLS";

/// The version of Verilator that is pinned, as its `--version` begins.
pub const VERILATOR_VERSION: &str = "Verilator 5.048";

/// A tool that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ToolsError {
    /// The folder holds no finished installation.
    #[error(
        "the pinned tools are not installed in {}; run `cargo xtask tools` in the workspace, \
         or set {TOOLS_VARIABLE} to a folder that holds them",
        dir.display()
    )]
    NotInstalled {
        /// Where they were expected.
        dir: PathBuf,
    },
    /// The installation lacks one tool.
    #[error(
        "{tool} is missing in {}; run `cargo xtask tools --force` in the workspace",
        dir.display()
    )]
    Missing {
        /// The tool's name.
        tool: String,
        /// The folder of the tools.
        dir: PathBuf,
    },
}

/// An installation of the pinned tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    dir: PathBuf,
}

impl Tools {
    /// Finds the tools: `$TRIBUTARY_TOOLS`, then `target/tools` of the workspace.
    pub fn find() -> Result<Self, ToolsError> {
        let dir = match env::var_os(TOOLS_VARIABLE) {
            Some(dir) if !dir.is_empty() => {
                let dir = PathBuf::from(dir);
                std::path::absolute(&dir).unwrap_or(dir)
            }
            _ => target_dir().join("tools"),
        };
        Self::at(dir)
    }

    /// The tools in `dir`, which must hold a finished installation.
    pub fn at(dir: impl Into<PathBuf>) -> Result<Self, ToolsError> {
        let dir = dir.into();
        if dir.join("stamp").is_file() {
            Ok(Self { dir })
        } else {
            Err(ToolsError::NotInstalled { dir })
        }
    }

    /// The folder of the installation.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The path of a tool by name: `verilator`, `yosys`, `nextpnr-ecp5`, `ecppack`,
    /// `yosys-smtbmc`, `sby`, `z3`.
    pub fn path(&self, tool: &str) -> Result<PathBuf, ToolsError> {
        let path = self.dir.join("bin").join(tool);
        if path.is_file() {
            Ok(path)
        } else {
            Err(ToolsError::Missing {
                tool: tool.to_owned(),
                dir: self.dir.clone(),
            })
        }
    }

    /// A command that runs a tool by name.
    ///
    /// Yosys and nextpnr are WebAssembly: give them paths relative to the command's working
    /// folder, and let that folder be inside `target/`, since they see a `/tmp` of their own.
    pub fn command(&self, tool: &str) -> Result<Command, ToolsError> {
        self.path(tool).map(Command::new)
    }

    /// The folder that holds Verilator's `include/`.
    pub fn verilator_root(&self) -> Result<PathBuf, ToolsError> {
        let lib = self.dir.join("venv").join("lib");
        lib.read_dir()
            .into_iter()
            .flatten()
            .flatten()
            .map(|python| python.path().join("site-packages").join("verilator"))
            .find(|root| root.join("include").join("verilated.h").is_file())
            .ok_or_else(|| ToolsError::Missing {
                tool: "Verilator's include folder".to_owned(),
                dir: self.dir.clone(),
            })
    }
}

/// The workspace's `target` folder, where tools and caches are.
///
/// The workspace is looked for upwards of the working folder, so that a moved checkout works;
/// failing that it is the one this crate was compiled in.
pub fn target_dir() -> PathBuf {
    workspace_dir().join("target")
}

/// The root folder of the workspace; see [`target_dir`].
pub fn workspace_dir() -> PathBuf {
    let here = env::current_dir().unwrap_or_default();
    here.ancestors()
        .find(|dir| dir.join("xtask").join("requirements.txt").is_file())
        .map_or_else(
            || {
                let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
                manifest.parent().unwrap_or(manifest).to_path_buf()
            },
            Path::to_path_buf,
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tools_say_how_to_install_them() {
        let error = Tools::at("/nonexistent/tools").unwrap_err().to_string();
        assert!(error.contains("cargo xtask tools"), "{error}");
        assert!(error.contains("/nonexistent/tools"), "{error}");
    }

    #[test]
    fn workspace_is_found_from_a_crate_folder() {
        assert!(workspace_dir().join("sim").join("Cargo.toml").is_file());
    }
}
