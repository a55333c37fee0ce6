//! FuseSoC, as `cargo xtask tools` installs it, in a folder of a test.

use std::path::{Path, PathBuf};
use std::process::Command;

/// FuseSoC, and a folder that it works in.
pub struct FuseSoc {
    tools: PathBuf,
    pub folder: PathBuf,
}

impl FuseSoc {
    /// Says so if there is none. The folder is that of the test's name, empty.
    pub fn find() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let tools = std::env::var_os("TRIBUTARY_TOOLS")
            .map_or_else(|| root.join("target/tools"), PathBuf::from);
        if !tools.join("fusesoc/stamp").is_file() || !tools.join("bin/verilator").is_file() {
            eprintln!("skipped: FuseSoC is not installed; `cargo xtask tools` installs it");
            return None;
        }
        let name = std::thread::current().name().unwrap_or("cores").to_owned();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("fusesoc")
            .join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        // Nobody who adds the whole repository as a library is to find copies of cores here.
        std::fs::write(folder.join("../FUSESOC_IGNORE"), "").unwrap();
        Some(Self { tools, folder })
    }

    /// Calls it in its folder, with the pinned tools and no settings of the user's: whether it succeeds, what it says.
    pub fn run(&self, arguments: &[&str]) -> (bool, String) {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new(self.tools.join("fusesoc/venv/bin/python"))
            .arg(self.tools.join("fusesoc/venv/bin/fusesoc"))
            .args(arguments)
            .current_dir(&self.folder)
            .env("HOME", &self.folder)
            .env("XDG_CONFIG_HOME", self.folder.join("config"))
            .env("XDG_CACHE_HOME", self.folder.join("cache"))
            .env("XDG_DATA_HOME", self.folder.join("data"))
            .env(
                "PATH",
                format!("{}:{path}", self.tools.join("bin").display()),
            )
            .output()
            .unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text.into_owned())
    }

    /// A call of the pinned Yosys in `folder`.
    pub fn yosys(&self, folder: &Path, script: &str) -> (bool, String) {
        let output = Command::new(self.tools.join("bin/yosys"))
            .args(["-Q", "-T", "-p", script])
            .current_dir(folder)
            .output()
            .unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text.into_owned())
    }
}
