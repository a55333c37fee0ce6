//! `cargo xtask judge`: MPI programs and tests of libfabric that were not written here, over the provider of libfabric.
//!
//! What fails is run again over libfabric's own TCP provider: a failure there too is one of the program or of the MPI library. So a
//! run begins with a program that must work over TCP.

mod fabtests;
mod hpcc;
mod imb;
mod mpi;
mod mpi4py;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::mpi::{Installed, Mpi};
use crate::process::run_loudly;
use crate::workspace;

/// How often a run that goes on is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How long a run that is asked to end may take for it.
const GRACE: Duration = Duration::from_secs(10);

/// Whose programs.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Programs {
    /// mpi4py's tests, HPC Challenge, Intel's benchmarks.
    Mpi(Options),
    /// libfabric's tests of providers.
    Fabtests(fabtests::Options),
}

/// How to judge MPI programs.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Processes of each run.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=16))]
    ranks: u16,
    /// The MPI library of the programs.
    #[arg(long, value_enum, default_value = "system")]
    mpi: Mpi,
    /// Only test files of mpi4py with one of these in their name; `hpcc`, `IMB` for these programs. May be given several times.
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    /// Loss, doubling and overtaking of the simulated network.
    #[arg(long)]
    faults: bool,
    /// Over the cards and switches of a fabric file; the switches do small reductions.
    #[arg(long, value_name = "FILE", conflicts_with = "faults")]
    fabric: Option<PathBuf>,
    /// The program `tributary` that carries messages, its libraries beside it; otherwise a release build.
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
    /// A file of tests or a program that takes longer than this has failed, s; a test alone gets a fifth.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    patience: u64,
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part))
    }
}

/// What carries the messages of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Tributary,
    Tcp,
}

/// How a run ended.
enum End {
    Good,
    /// The last lines of what it said.
    Bad(String),
}

/// Starts programs.
struct Judge {
    options: Options,
    mpi: Installed,
    tributary: PathBuf,
    folder: PathBuf,
}

impl Judge {
    /// A program's run in a folder of its own. `seems`: whether what it printed is good, too.
    fn run(
        &self,
        over: Over,
        place: &Path,
        program: &[&str],
        patience: u64,
        seems: impl Fn(&str) -> bool,
    ) -> Result<End> {
        let mut command = match over {
            Over::Tributary => {
                let mut command = Command::new(&self.tributary);
                command.args(["mpi", "-n", &self.options.ranks.to_string()]);
                if self.options.faults {
                    let faults = ["--loss", "0.01", "--dup", "0.01", "--reorder", "64"];
                    command.args(faults);
                }
                if let Some(fabric) = &self.options.fabric {
                    // The run is in a folder of its own.
                    command.arg("--fabric").arg(std::path::absolute(fabric)?);
                }
                command.arg("--mpiexec").arg(&self.mpi.mpiexec).arg("--");
                command
            }
            Over::Tcp => {
                let mut command = Command::new(&self.mpi.mpiexec);
                let (arguments, variables) = self.mpi.mpi.over_tcp();
                command.args(["-n", &self.options.ranks.to_string()]);
                command.args(arguments).envs(variables.iter().copied());
                // Of all interfaces it would take one that need not lead anywhere.
                command.env("FI_TCP_IFACE", "lo");
                command
            }
        };
        self.mpi.tell(&mut command);
        let log = self.folder.join("run.log");
        let output = std::fs::File::create(&log)?;
        command
            .args(program)
            .current_dir(place)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {:?}", command.get_program()))?;
        let ended = wait(&mut [child], patience)?;
        let text = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
        Ok(match ended {
            Some(true) if seems(&text) => End::Good,
            Some(_) => End::Bad(tail(&text)),
            None => End::Bad(format!("no end after {patience} s")),
        })
    }
}

/// Waits until all have ended, and ends those that take longer than so many seconds: whether all ended well, if in time.
fn wait(children: &mut [Child], patience: u64) -> Result<Option<bool>> {
    let start = Instant::now();
    loop {
        let mut well = Some(true);
        for child in &mut *children {
            well = match (well, child.try_wait()?) {
                (Some(well), Some(status)) => Some(well && status.success()),
                _ => None,
            };
        }
        if well.is_some() {
            return Ok(well);
        }
        if start.elapsed() > Duration::from_secs(patience) {
            children.iter_mut().try_for_each(end)?;
            return Ok(None);
        }
        sleep(LOOK);
    }
}

/// Asks a run to end, so that its launcher ends the processes as well, and makes it end if it does not.
fn end(child: &mut Child) -> Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    let mut ask = Command::new("kill");
    ask.args(["-TERM", &child.id().to_string()]).status()?;
    let start = Instant::now();
    while child.try_wait()?.is_none() {
        if start.elapsed() > GRACE {
            child.kill()?;
        }
        sleep(LOOK);
    }
    Ok(())
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

/// What was found, over all programs.
#[derive(Default)]
struct Score {
    good: usize,
    /// Fail over TCP as well.
    others: Vec<String>,
    bad: Vec<String>,
}

impl Score {
    /// Counts a program, which is run again over TCP if it fails.
    fn program(&mut self, name: &str, once: impl Fn(Over) -> Result<End>) -> Result<()> {
        match once(Over::Tributary)? {
            End::Good => {
                println!("{name}: good");
                self.good += 1;
            }
            End::Bad(why) => match once(Over::Tcp)? {
                End::Bad(_) => {
                    println!("{name}: fails over TCP as well");
                    self.others.push(name.to_owned());
                }
                End::Good => {
                    println!("{name}: BAD\n{why}");
                    self.bad.push(name.to_owned());
                }
            },
        }
        Ok(())
    }

    /// Says what was found; fails for what fails over this provider alone.
    fn conclude(&self) -> Result<()> {
        let (good, others, bad) = (self.good, &self.others, &self.bad);
        println!(
            "{good} good, {} that fail over TCP as well{}, {} bad",
            others.len(),
            list(others),
            bad.len()
        );
        if good + others.len() + bad.len() == 0 {
            bail!("nothing was run: --only names no test");
        }
        if !bad.is_empty() {
            bail!("failed only over this provider{}", list(bad));
        }
        Ok(())
    }
}

/// Judges.
pub fn run(programs: Programs) -> Result<()> {
    match programs {
        Programs::Mpi(options) => run_mpi(options),
        Programs::Fabtests(options) => fabtests::run(options),
    }
}

fn run_mpi(options: Options) -> Result<()> {
    let tributary = program(options.program.as_deref())?;
    let folder = workspace::root().join("target/judge");
    std::fs::create_dir_all(&folder)?;
    let judge = Judge {
        mpi: Installed::of(options.mpi, &folder)?,
        options,
        tributary,
        folder,
    };
    let mut score = Score::default();
    mpi4py::run(&judge, &mut score)?;
    match judge.mpi.mpi {
        // The package is linked to the system's MPI, the benchmarks to Intel's.
        Mpi::System if judge.options.wants("hpcc") => hpcc::run(&judge, &mut score)?,
        Mpi::Intel => imb::run(&judge, &mut score)?,
        _ => {}
    }
    score.conclude()
}

/// The program that carries messages: the one that is named, or a release build.
fn program(named: Option<&Path>) -> Result<PathBuf> {
    match named {
        Some(program) => Ok(std::path::absolute(program)?),
        None => build(),
    }
}

/// A release build.
fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run_loudly(Command::new(cargo).current_dir(workspace::root()).args([
        "build",
        "--release",
        "--quiet",
    ]))?;
    Ok(workspace::root().join("target/release/tributary"))
}

fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!(" ({})", names.join(", ")),
    }
}
