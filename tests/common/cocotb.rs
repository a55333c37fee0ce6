//! Benches in Python, from `tests/cocotb`, with the cocotb that `cargo xtask tools` installs.

// Not every test file uses every function.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::success;

/// cocotb, and a folder for what is generated and built.
pub struct Cocotb {
    python: PathBuf,
    tools: PathBuf,
    folder: PathBuf,
    /// As cocotb names it: `verilator`, the pinned one, unless set to another.
    pub simulator: &'static str,
}

impl Cocotb {
    /// Says so if there is none.
    pub fn find() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let tools = std::env::var_os("TRIBUTARY_TOOLS")
            .map_or_else(|| root.join("target/tools"), PathBuf::from);
        // Not resolved: Python finds its environment by the name under which it is called.
        let python = tools.join("cocotb/venv/bin/python");
        if !tools.join("cocotb/stamp").is_file() {
            eprintln!("skipped: cocotb is not installed; `cargo xtask tools` installs it");
            return None;
        }
        let name = std::thread::current().name().unwrap_or("cocotb").to_owned();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Some(Self {
            python,
            tools,
            folder,
            simulator: "verilator",
        })
    }

    /// A file of `tests/cocotb`.
    pub fn bench(&self, name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cocotb")
            .join(name)
    }

    /// The Verilog of a block in sizes as `--set` takes them, and of what is in it.
    pub fn generate(&self, block: &str, sizes: &[&str]) -> Vec<PathBuf> {
        let out = self.folder.join("rtl");
        let mut arguments = vec!["gen", "--block", block, "--out", out.to_str().unwrap()];
        arguments.extend(sizes.iter().flat_map(|size| ["--set", size]));
        success(&arguments);
        let folders: Vec<_> = std::fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        let [folder] = &folders[..] else {
            panic!("one folder for a block, not {folders:?}");
        };
        let list = std::fs::read_to_string(folder.join("files.f")).unwrap();
        list.lines().map(|line| folder.join(line)).collect()
    }

    /// Runs the tests of a module of `tests/cocotb`: whether they passed, and what was printed.
    pub fn run(
        &self,
        top: &str,
        module: &str,
        sources: &[PathBuf],
        more: &[PathBuf],
    ) -> (bool, String) {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new(&self.python)
            .arg(self.bench("run.py"))
            .args([top, module])
            .arg(self.folder.join("build"))
            .args(sources)
            .args(more)
            .env("TRIBUTARY_SIMULATOR", self.simulator)
            .env(
                "PATH",
                format!("{}:{path}", self.tools.join("bin").display()),
            )
            .output()
            .unwrap();
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        if let Ok(log) = std::fs::read_to_string(self.folder.join("build/build.log"))
            && !output.status.success()
        {
            text.push_str(&log);
        }
        println!("{text}");
        (output.status.success(), text)
    }
}
