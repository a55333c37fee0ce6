//! Programs of others, which may not be installed.

// Not every test file uses every function.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longest time of one program.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Whether a program is there; says so if not.
pub fn is_installed(program: impl AsRef<Path>) -> bool {
    let program = program.as_ref();
    let there = Command::new("which")
        .arg(program)
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !there {
        println!("skipped: {} is not installed", program.display());
    }
    there
}

/// Ends with the test.
pub struct Started(pub Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for a program, and reads what it has said.
pub fn end(mut child: Started) -> Output {
    let start = Instant::now();
    while child.0.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < PATIENCE, "it hangs");
        std::thread::sleep(Duration::from_millis(5));
    }
    let read = |pipe: Option<&mut dyn std::io::Read>| {
        let mut text = Vec::new();
        pipe.map(|pipe| pipe.read_to_end(&mut text));
        text
    };
    Output {
        stdout: read(child.0.stdout.as_mut().map(|pipe| pipe as _)),
        stderr: read(child.0.stderr.as_mut().map(|pipe| pipe as _)),
        status: child.0.wait().unwrap(),
    }
}

/// An MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpi {
    /// The system's.
    System,
    /// MPICH among the pinned tools.
    Mpich,
}

impl Mpi {
    /// A program of it.
    fn program(self, name: &str) -> PathBuf {
        match self {
            Self::System => name.into(),
            Self::Mpich => {
                let tools = tributary_sim::tools::Tools::find().unwrap();
                tools.dir().join("venv/bin").join(name)
            }
        }
    }

    /// Its launcher.
    pub fn mpiexec(self) -> PathBuf {
        self.program("mpiexec")
    }

    /// Whether programs can be compiled and run; says so if not.
    pub fn is_there(self) -> bool {
        let all = ["mpicc", "mpiexec"];
        all.iter().all(|name| is_installed(self.program(name)))
    }

    /// Compiles a program.
    pub fn compiled(self, source: &Path, program: &Path) {
        let mut compiler = Command::new(self.program("mpicc"));
        let compiler = compiler.args([
            "-std=c11",
            "-D_POSIX_C_SOURCE=199309L",
            "-Wall",
            "-Wextra",
            "-Werror",
        ]);
        let compiled = compiler
            .arg(source)
            .args(["-pthread", "-o"])
            .arg(program)
            .status();
        assert!(compiled.unwrap().success());
    }
}
