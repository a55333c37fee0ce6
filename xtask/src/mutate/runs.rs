//! Running tests on a mutant: which cover it, and what each says.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::blocks::Binary;
use super::target::folder;
use super::yosys::selector;
use crate::process::run_quietly;
use crate::workspace;

/// Names the folder of replaced Verilog; see the simulator's `verilate/replace.rs`.
const REPLACE: &str = "TRIBUTARY_VERILOG_REPLACE";

/// How often a test is asked whether it has ended.
const POLL: Duration = Duration::from_millis(20);

/// A test that runs replaced modules.
pub struct Test {
    binary: PathBuf,
    package: PathBuf,
    pub name: String,
    /// The replaced modules that it builds.
    pub uses: BTreeSet<String>,
    /// Its time on the original.
    pub time: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    TimedOut,
}

/// All tests of `binary`, each with `limit` as its time.
pub fn tests(binary: &Binary, limit: Duration) -> Result<Vec<Test>> {
    let (path, package) = (build(binary)?, package_dir(binary.0));
    let list = run_quietly(Command::new(&path).args(["--list", "--format", "terse"]))?;
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let test = |name: &str| Test {
        binary: path.clone(),
        package: package.clone(),
        name: name.to_owned(),
        uses: BTreeSet::new(),
        time: limit,
    };
    Ok(names.map(test).collect())
}

/// The tests of `binary` that use replaced modules in `dir`, shortest first. Tests longer than
/// `limit` are left out, with a word about it.
pub fn covering(binary: &Binary, dir: &Path, limit: Duration) -> Result<Vec<Test>> {
    let mut covering = Vec::new();
    for mut test in tests(binary, limit)? {
        let used = dir.join("used");
        let _ = fs::remove_file(&used);
        // The first run builds the model, so its time says nothing.
        let outcome = test.run(dir, None, limit)?;
        let Ok(modules) = fs::read_to_string(&used) else {
            continue;
        };
        test.uses = modules.lines().map(str::to_owned).collect();
        let start = Instant::now();
        if outcome == Outcome::Passed && test.run(dir, None, limit)? == Outcome::Passed {
            test.time = start.elapsed();
            covering.push(test);
        } else {
            eprintln!("  left out: {} on the original: {outcome:?}", test.name);
        }
    }
    covering.sort_by_key(|test| test.time);
    Ok(covering)
}

impl Test {
    /// The limit for a mutant: well above the original's time.
    pub fn limit(&self) -> Duration {
        self.time * 10 + Duration::from_secs(10)
    }

    /// Runs it until `limit`, on a mutant (module and number) or on the original.
    pub fn run(
        &self,
        dir: &Path,
        mutant: Option<(&str, usize)>,
        limit: Duration,
    ) -> Result<Outcome> {
        let mut environment = BTreeMap::from([
            (REPLACE.to_owned(), dir.as_os_str().to_owned()),
            ("TRIBUTARY_TOOLS".to_owned(), workspace::tools_dir().into()),
            ("CARGO_MANIFEST_DIR".to_owned(), self.package.clone().into()),
        ]);
        if let Some((module, number)) = mutant {
            environment.insert(selector(module), number.to_string().into());
        }
        let mut command = Command::new(&self.binary);
        command
            .args(["--exact", &self.name])
            .current_dir(&self.package)
            .envs(environment);
        run_until(&mut command, limit)
    }
}

/// Runs `command` without its output; what takes longer than `limit` is ended, with all that it has started.
fn run_until(command: &mut Command, limit: Duration) -> Result<Outcome> {
    let start = Instant::now();
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start a test")?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() {
                Outcome::Passed
            } else {
                Outcome::Failed
            });
        }
        if start.elapsed() > limit {
            end(&mut child)?;
            return Ok(Outcome::TimedOut);
        }
        thread::sleep(POLL);
    }
}

/// Ends a process and its group: compilers that a test has started would go on for minutes.
fn end(child: &mut Child) -> Result<()> {
    #[cfg(unix)]
    Command::new("kill")
        .args(["-KILL", "--", &format!("-{}", child.id())])
        .status()
        .context("cannot run kill")?;
    // A process that is gone already cannot be killed, and need not be.
    let _ = child.kill();
    child.wait()?;
    Ok(())
}

/// Builds a test binary and gives the path of a copy that stays as it is.
pub fn build((package, name): &Binary) -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Of the whole workspace: one package alone has other features, and everything would be built anew for them.
    let output = run_quietly(
        Command::new(cargo)
            .current_dir(workspace::root())
            .env("TRIBUTARY_TOOLS", workspace::tools_dir())
            .args(["test", "--workspace", "--test", name, "--no-run"])
            .arg("--message-format=json"),
    )?;
    let text = String::from_utf8_lossy(&output.stdout);
    let path = text
        .lines()
        .filter_map(|line| executable(line, package, name))
        .next_back()
        .with_context(|| format!("cargo names no executable of test {name} of {package}"))?;
    keep(&path, name)
}

/// The executable of a test, if this is cargo's message of it.
fn executable(message: &str, package: &str, test: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let target = &message["target"];
    // Both forms that the identifier of a package in a folder has: of the folder's name, or with a name of its own.
    let id = message["package_id"]
        .as_str()?
        .split('#')
        .collect::<Vec<_>>();
    let folder = package_dir(package);
    let of = id
        .first()?
        .ends_with(&format!("/{}", folder.file_name()?.to_str()?));
    let is = target["name"] == test && target["kind"][0] == "test";
    (of && is).then(|| message["executable"].as_str().map(PathBuf::from))?
}

/// A copy of a test binary by its content: cargo may build another one while mutants run.
fn keep(built: &Path, name: &str) -> Result<PathBuf> {
    let content =
        fs::read(built).with_context(|| format!("cannot read {}", workspace::shown(built)))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&content);
    let kept = folder().join(format!("test-{name}-{:016x}", hasher.finish()));
    if !kept.is_file() {
        fs::create_dir_all(folder())?;
        let part = kept.with_extension("part");
        fs::copy(built, &part)
            .with_context(|| format!("cannot write {}", workspace::shown(&part)))?;
        fs::rename(&part, &kept)?;
    }
    Ok(kept)
}

fn package_dir(package: &str) -> PathBuf {
    workspace::root().join(package.strip_prefix("tributary-").unwrap_or(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_ended_and_what_fails_is_told_from_what_passes() {
        let limit = Duration::from_secs(20);
        let run = |program: &str| run_until(&mut Command::new(program), limit).unwrap();
        assert_eq!(run("true"), Outcome::Passed);
        assert_eq!(run("false"), Outcome::Failed);
        let short = Duration::from_millis(200);
        let hangs = run_until(Command::new("sleep").arg("60"), short).unwrap();
        assert_eq!(hangs, Outcome::TimedOut);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_test_has_started_ends_with_it() {
        let folder = folder().join(format!("group-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mark = folder.join("outlived");
        let script = format!("(sleep 2; touch {}) & sleep 60", mark.display());
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        let outcome = run_until(&mut command, Duration::from_millis(300)).unwrap();
        assert_eq!(outcome, Outcome::TimedOut);
        thread::sleep(Duration::from_secs(3));
        assert!(!mark.exists(), "a process of the group went on");
        fs::remove_dir_all(&folder).unwrap();
    }
}
