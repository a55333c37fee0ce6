//! Where the workspace and its folders are.

use std::env;
use std::path::{Path, PathBuf};

/// The root of the workspace: the folder above this crate's manifest.
pub fn root() -> PathBuf {
    // `cargo run` sets CARGO_MANIFEST_DIR at run time; the compile-time value serves a binary
    // that is started by hand. The former follows a moved checkout, the latter does not.
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest
        .parent()
        .map_or_else(|| manifest.clone(), Path::to_path_buf)
}

/// The folder of the pinned tools: `$TRIBUTARY_TOOLS`, or `target/tools` in the workspace.
pub fn tools_dir() -> PathBuf {
    match env::var_os("TRIBUTARY_TOOLS") {
        Some(dir) if !dir.is_empty() => {
            let dir = PathBuf::from(dir);
            std::path::absolute(&dir).unwrap_or(dir)
        }
        _ => root().join("target").join("tools"),
    }
}

/// `path` relative to the workspace root where possible, for messages.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}
