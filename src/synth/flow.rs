//! The runs of Yosys and nextpnr, in a folder named by what they depend on.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use tributary_sim::content::ContentKey;
use tributary_sim::tools::{self, Tools};

use super::report::{self, SeedResult, SynthReport};
use super::{SynthOptions, path, rams};

/// How many lines of a failed tool's output an error shows.
const TAIL_LINES: usize = 30;

/// Raised when the commands change in a way that their arguments do not show.
const VERSION: u32 = 2;

/// The netlist with the block RAMs of a round; 0: as it comes from Yosys.
fn netlist(ram_round: u32) -> String {
    match ram_round {
        0 => "netlist.json".to_owned(),
        round => format!("rams-{round}.json"),
    }
}

/// A synthesis that is about to run.
pub(super) struct Flow<'a> {
    top: &'a str,
    options: &'a SynthOptions,
    progress: &'a (dyn Fn(&str) + Sync),
    sources: &'a [(String, String)],
    tools: Tools,
    /// The working folder.
    dir: PathBuf,
    /// Held while working, so that two processes do not write the same files.
    _lock: File,
}

impl<'a> Flow<'a> {
    /// Finds the tools, makes the folder, writes the sources.
    pub fn prepare(
        sources: &'a [(String, String)],
        top: &'a str,
        options: &'a SynthOptions,
        progress: &'a (dyn Fn(&str) + Sync),
    ) -> Result<Self> {
        let tools = Tools::find()?;
        let mut key = ContentKey::new();
        key.add(VERSION.to_le_bytes());
        // Names the version of every tool.
        key.add(fs::read(tools.dir().join("stamp")).context("cannot read the tools' stamp")?);
        key.add(top);
        for argument in options.device.arguments() {
            key.add(argument);
        }
        for define in options.device.defines() {
            key.add(define);
        }
        key.add(options.target_mhz.to_le_bytes());
        for (name, text) in sources {
            key.add(name);
            key.add(text);
        }
        let base = options
            .work_dir
            .clone()
            .unwrap_or_else(|| tools::target_dir().join("synth"));
        let dir = base.join(key.name());
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        let lock_path = dir.join("lock");
        let lock = File::create(&lock_path)
            .with_context(|| format!("cannot write {}", lock_path.display()))?;
        lock.lock()
            .with_context(|| format!("cannot lock {}", lock_path.display()))?;
        for (name, text) in sources {
            let path = dir.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(Self {
            top,
            options,
            progress,
            sources,
            tools,
            dir,
            _lock: lock,
        })
    }

    /// Runs what has not run yet, and sums up.
    pub fn run(self) -> Result<SynthReport> {
        let start = Instant::now();
        self.yosys()
            .with_context(|| format!("synthesis of `{}` failed", self.top))?;
        let ram_round = self
            .place_rams()
            .with_context(|| format!("placing the block RAMs of `{}` failed", self.top))?;
        let mut seeds = self
            .place_and_route(ram_round)
            .with_context(|| format!("place and route of `{}` failed", self.top))?;
        seeds.sort_by_key(|(result, _)| result.seed);

        let median = report::median(&seeds);
        let (result, report) = &seeds[median];
        let critical_path = path::critical(report, result.seed)
            .with_context(|| format!("cannot read nextpnr's report of seed {}", result.seed))?;
        Ok(SynthReport {
            top: self.top.to_owned(),
            device: self.options.device.name().to_owned(),
            defines: self.options.device.defines(),
            luts: result.luts,
            registers: result.registers,
            block_rams: report::used(report, "DP16KD"),
            lutram_luts: 4 * report::used(report, "TRELLIS_RAMW"),
            multipliers: report::used(report, "MULT18X18D"),
            fmax_mhz: result.fmax_mhz,
            target_mhz: self.options.target_mhz,
            ram_rounds: self.options.ram_rounds,
            ram_round,
            cells: report::cells(&self.read_json("stat.json")?),
            seeds: seeds.iter().map(|(result, _)| result.clone()).collect(),
            critical_path,
            work_dir: self.dir.clone(),
            time_s: start.elapsed().as_secs_f64(),
        })
    }

    fn yosys(&self) -> Result<()> {
        if self.dir.join("netlist.json").is_file() {
            return Ok(());
        }
        let files: Vec<&str> = self.sources.iter().map(|(name, _)| name.as_str()).collect();
        let top = self.top;
        let defines: String = self
            .options
            .device
            .defines()
            .iter()
            .map(|define| format!("-D {define} "))
            .collect();
        // The netlist last and renamed, so that its presence means "complete".
        let script = format!(
            "read_verilog {defines}{}; synth_ecp5 -top {top}; check -assert; \
             tee -q -o stat.json stat -json; write_json netlist.tmp",
            files.join(" ")
        );
        self.call("yosys", &["-q", "-l", "yosys.log", "-p", &script])?;
        self.rename("netlist.tmp", "netlist.json")?;
        (self.progress)("yosys");
        Ok(())
    }

    /// Fixes the block RAMs anew in each round. Returns the round after which nextpnr expects most,
    /// 0 if that is with the sites it chose itself.
    fn place_rams(&self) -> Result<u32> {
        let rounds = self.options.ram_rounds;
        let sites = self.options.device.block_rams();
        let (mut best, mut most) = (0, 0.0);
        // Who comes after the last round is only placed, to know what it is worth.
        for round in (0..=rounds).take_while(|_| rounds > 0) {
            let log = format!("place-{round}.log");
            let next = netlist(round + 1);
            let known = fs::read_to_string(self.dir.join(&log));
            let mut expected = known.ok().and_then(|text| report::expected(&text));
            if expected.is_none() || (round < rounds && !self.dir.join(&next).is_file()) {
                let more = ["--no-route", "--write", "placed.json"];
                self.nextpnr(1, &netlist(round), &log, &more)?;
                let placed = self.dir.join("placed.json");
                if round < rounds {
                    let fixed = rams::fixed(&self.dir.join("netlist.json"), &placed, &sites)?;
                    let path = self.dir.join("rams.tmp");
                    fs::write(&path, fixed)
                        .with_context(|| format!("cannot write {}", path.display()))?;
                    self.rename("rams.tmp", &next)?;
                }
                fs::remove_file(&placed)
                    .with_context(|| format!("cannot remove {}", placed.display()))?;
                let path = self.dir.join(&log);
                let text = fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                expected = report::expected(&text);
            }
            // Without a path from register to register any sites do.
            if let Some(expected) = expected
                && expected > most
            {
                (best, most) = (round, expected);
            }
            (self.progress)(&format!("placed, block RAMs of round {round}"));
        }
        Ok(best)
    }

    fn place_and_route(&self, ram_round: u32) -> Result<Vec<(SeedResult, serde_json::Value)>> {
        let queue: Mutex<VecDeque<u32>> = Mutex::new((1..=self.options.seeds).collect());
        let results = Mutex::new(Vec::new());
        let failure = Mutex::new(None);
        let workers = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(self.options.seeds as usize);
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let Some(seed) = lock(&queue).pop_front() else {
                            break;
                        };
                        match self.seed(seed, ram_round) {
                            Ok(result) => {
                                lock(&results).push(result);
                                (self.progress)(&format!("nextpnr, seed {seed}"));
                            }
                            Err(error) => {
                                lock(&queue).clear();
                                lock(&failure).get_or_insert(error);
                            }
                        }
                    }
                });
            }
        });
        let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failure {
            return Err(error);
        }
        Ok(results.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Places and routes with one seed.
    fn seed(&self, seed: u32, ram_round: u32) -> Result<(SeedResult, serde_json::Value)> {
        let prefix = match ram_round {
            0 => String::new(),
            round => format!("rams-{round}-"),
        };
        let name = format!("{prefix}seed-{seed}.json");
        if !self.dir.join(&name).is_file() {
            let temporary = format!("{prefix}seed-{seed}.tmp");
            let log = format!("{prefix}seed-{seed}.log");
            self.nextpnr(seed, &netlist(ram_round), &log, &["--report", &temporary])?;
            self.rename(&temporary, &name)?;
        }
        let report = self.read_json(&name)?;
        Ok((SeedResult::new(seed, &report), report))
    }

    fn nextpnr(&self, seed: u32, netlist: &str, log: &str, more: &[&str]) -> Result<()> {
        let target = self.options.target_mhz.to_string();
        let seed = seed.to_string();
        let mut arguments = self.options.device.arguments().to_vec();
        arguments.extend(["--out-of-context", "--freq", &target]);
        arguments.extend(["--timing-allow-fail", "--seed", &seed]);
        arguments.extend(["--json", netlist, "--quiet", "--log", log]);
        arguments.extend(more);
        self.call("nextpnr-ecp5", &arguments)
    }

    fn call(&self, tool: &str, arguments: &[&str]) -> Result<()> {
        let mut command = self.tools.command(tool)?;
        command
            .args(arguments)
            .current_dir(&self.dir)
            .stdin(Stdio::null());
        let output = command
            .output()
            .with_context(|| format!("cannot start `{}`", shown(&command)))?;
        if output.status.success() {
            return Ok(());
        }
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        let hint = if text.contains("call stack exhausted") {
            "\nThe WebAssembly tool ran out of stack: the logic is too deep; make it a tree."
        } else {
            ""
        };
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
        bail!(
            "`{}` in {} ({}):\n{tail}{hint}",
            shown(&command),
            self.dir.display(),
            output.status
        );
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (self.dir.join(from), self.dir.join(to));
        fs::rename(&from, &to)
            .with_context(|| format!("the tool ended well but left no {}", from.display()))
    }

    fn read_json(&self, name: &str) -> Result<serde_json::Value> {
        read_json(&self.dir.join(name))
    }
}

fn read_json(path: &Path) -> Result<serde_json::Value> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| {
        anyhow!(
            "{} is not what was expected: {error}; remove its folder to compute it again",
            path.display()
        )
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| {
            let word = word.to_string_lossy();
            if word.contains([' ', ';']) {
                format!("'{word}'")
            } else {
                word.into_owned()
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}
