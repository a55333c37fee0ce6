//! The C++ compiler: which one, with which flags, several files at a time.

use std::collections::VecDeque;
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use super::error::VerilateError;

/// How many lines of a failed compiler's output an error shows.
const TAIL_LINES: usize = 40;

/// A C++ compiler.
#[derive(Debug, Clone)]
pub(super) struct Compiler {
    /// Program and leading arguments (`ccache g++` is two words).
    words: Vec<String>,
    /// First line of `--version`, part of every cache key.
    pub version: String,
}

impl Compiler {
    /// `$CXX`, or the first of the usual names that can be called.
    pub fn find() -> Result<Self, VerilateError> {
        static FOUND: OnceLock<Result<Compiler, String>> = OnceLock::new();
        FOUND
            .get_or_init(Self::search)
            .clone()
            .map_err(|tried| VerilateError::NoCompiler { tried })
    }

    fn search() -> Result<Self, String> {
        let names = match env::var("CXX") {
            Ok(name) if !name.trim().is_empty() => vec![name],
            _ => ["c++", "g++", "clang++"].map(str::to_owned).to_vec(),
        };
        for name in &names {
            let words: Vec<String> = name.split_whitespace().map(str::to_owned).collect();
            let output = Command::new(&words[0])
                .args(&words[1..])
                .arg("--version")
                .stdin(Stdio::null())
                .output();
            if let Ok(output) = output
                && output.status.success()
            {
                let text = String::from_utf8_lossy(&output.stdout);
                return Ok(Self {
                    words,
                    version: text.lines().next().unwrap_or_default().to_owned(),
                });
            }
        }
        Err(names.join(", "))
    }

    fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .current_dir(dir)
            .stdin(Stdio::null());
        command
    }

    fn is_clang(&self) -> bool {
        self.version.to_lowercase().contains("clang")
    }

    /// Whether `-include x.h` finds what was made of it before in a file `x.h.gch` beside it.
    pub fn precompiles(&self) -> bool {
        !self.is_clang()
    }

    /// Compiles a file. `before`: a header that stands in front of it.
    pub fn compile(
        &self,
        dir: &Path,
        job: &Job,
        include: &Path,
        trace: bool,
        before: Option<&Path>,
    ) -> Command {
        let mut command = self.command(dir);
        command.args([
            "-std=c++17",
            "-fPIC",
            "-fvisibility=hidden",
            "-w",
            "-pthread",
        ]);
        if !self.is_clang() {
            // Otherwise the dynamic linker would share some statics between two libraries.
            command.arg("-fno-gnu-unique");
        }
        let trace = u8::from(trace);
        command
            .arg(job.optimize)
            .arg("-I.")
            .arg("-I")
            .arg(include)
            .arg("-I")
            .arg(include.join("vltstd"))
            .args([
                "-DVERILATOR=1",
                "-DVM_COVERAGE=0",
                "-DVM_SC=0",
                "-DVM_TIMING=0",
            ])
            .args(["-DVM_TRACE_FST=0", "-DVM_TRACE_SAIF=0"])
            .arg(format!("-DVM_TRACE={trace}"))
            .arg(format!("-DVM_TRACE_VCD={trace}"))
            // The shim brings its own, which do not end the process.
            .args(["-DVL_USER_FINISH", "-DVL_USER_FATAL"]);
        if let Some(header) = before {
            command.arg("-include").arg(header);
        }
        if job.object.ends_with(".gch") {
            command.args(["-x", "c++-header"]);
        } else {
            command.arg("-c");
        }
        command.arg(&job.source).arg("-o").arg(&job.object);
        command
    }

    /// Links objects to a shared library.
    pub fn link(&self, dir: &Path, objects: &[String], library: &str) -> Command {
        let mut command = self.command(dir);
        command
            .args(["-shared", "-pthread", "-o", library])
            .args(objects);
        command
    }
}

/// One file to compile.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The C++ file.
    pub source: String,
    /// The object file.
    pub object: String,
    /// `-O2` and the like.
    pub optimize: &'static str,
}

/// Runs all commands, as many at a time as there are cores. The first failure is returned.
pub(super) fn run_all(top: &str, commands: Vec<Command>) -> Result<(), VerilateError> {
    let workers = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(commands.len());
    let queue = Mutex::new(VecDeque::from(commands));
    let failure = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = lock(&queue).pop_front();
                    let Some(command) = next else { break };
                    if let Err(error) = run(top, command) {
                        lock(&queue).clear();
                        lock(&failure).get_or_insert(error);
                    }
                }
            });
        }
    });
    failure
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs one command of the compiler.
pub(super) fn run(top: &str, mut command: Command) -> Result<(), VerilateError> {
    let output = command.output().map_err(VerilateError::io(
        "cannot start",
        Path::new(command.get_program()),
    ))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().collect();
    // The first errors of a compiler say more than the last.
    Err(VerilateError::Compiler {
        top: top.to_owned(),
        command: shown(&command),
        output: lines[..lines.len().min(TAIL_LINES)].join("\n"),
    })
}

fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
