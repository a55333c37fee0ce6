//! The tests of mpi4py, as its source distribution has them, with the mpi4py that is installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::{End, Judge, Over, Score};
use crate::process::run_quietly;
use crate::workspace;

/// They start processes, each of which would need a card that the run has not.
const STARTING: [&str; 2] = ["test_spawn", "test_dynproc"];

/// Runs every file of tests; of one that fails, every test by its name.
pub fn run(judge: &Judge, score: &mut Score) -> Result<()> {
    let python = &*judge.mpi.python.to_string_lossy();
    let barrier = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()";
    let patience = judge.options.patience;
    let good = |_: &str| true;
    if let End::Bad(why) = judge.run(
        Over::Tcp,
        &judge.folder,
        &[python, "-c", barrier],
        patience,
        good,
    )? {
        bail!("a barrier over TCP fails, so nothing can be compared with it:\n{why}");
    }
    let tests = tests(judge, python)?;
    let mut files: Vec<PathBuf> = std::fs::read_dir(tests.join("test"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.sort();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let is_test = name.starts_with("test_")
            && !STARTING.contains(&&*name)
            && !judge.mpi.mpi.left_out().contains(&&*name);
        if !is_test || !judge.options.wants(&name) {
            continue;
        }
        let start = Instant::now();
        let whole = |over| one(judge, over, python, &tests, &name, None);
        if let End::Good = whole(Over::Tributary)? {
            println!("{name}: good, {:.1} s", start.elapsed().as_secs_f64());
            score.good += 1;
            continue;
        }
        let text = std::fs::read_to_string(&file)?;
        let before = score.bad.len();
        for test in named(&text) {
            let alone = |over| one(judge, over, python, &tests, &name, Some(test));
            let End::Bad(why) = alone(Over::Tributary)? else {
                continue;
            };
            let full = format!("{name} {test}");
            if let End::Bad(_) = alone(Over::Tcp)? {
                println!("{full}: fails over TCP as well");
                score.others.push(full);
            } else {
                println!("{full}: BAD\n{why}");
                score.bad.push(full);
            }
        }
        if score.bad.len() == before {
            let seconds = start.elapsed().as_secs_f64();
            println!("{name}: good but for these, {seconds:.1} s");
            score.good += 1;
        }
    }
    Ok(())
}

fn one(
    judge: &Judge,
    over: Over,
    python: &str,
    tests: &Path,
    file: &str,
    test: Option<&str>,
) -> Result<End> {
    // Versions differ in whether the name has its ending.
    let only = format!(r"^{file}(\.py)?$");
    let mut words = vec![
        python,
        "test/runtests.py",
        "--no-builddir",
        "-q",
        "-i",
        &only,
    ];
    words.extend(test.iter().flat_map(|test| ["-k", test]));
    // A name alone may be one of something else than a test; a file has some.
    let ended = |text: &str| match text.contains("Ran 0 tests") {
        true => test.is_some(),
        false => text.contains("\nOK"),
    };
    let patience = judge.options.patience / if test.is_some() { 5 } else { 1 };
    judge.run(over, tests, &words, patience, ended)
}

/// Names of tests in a file, each once.
fn named(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("def "))
        .filter_map(|rest| rest.split('(').next())
        .filter(|name| name.starts_with("test"))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The source distribution of the version that is installed.
fn tests(judge: &Judge, python: &str) -> Result<PathBuf> {
    let print = "import mpi4py; print(mpi4py.__version__)";
    let mut command = Command::new(python);
    judge.mpi.tell(&mut command);
    let output = run_quietly(command.args(["-c", print]))?;
    let version = String::from_utf8(output.stdout)?.trim().to_owned();
    let folder = judge.folder.join(format!("mpi4py-{version}"));
    if !folder.join("test/runtests.py").is_file() {
        let pip = workspace::tools_dir().join("venv/bin/python");
        run_quietly(
            Command::new(&pip)
                .args(["-m", "pip", "download", "--quiet", "--no-deps"])
                .args(["--no-binary", "mpi4py"])
                .arg(format!("mpi4py=={version}"))
                .arg("--dest")
                .arg(&judge.folder),
        )
        .context("cannot get mpi4py's tests; `cargo xtask tools` installs pip")?;
        let archive = judge.folder.join(format!("mpi4py-{version}.tar.gz"));
        let mut tar = Command::new("tar");
        run_quietly(tar.arg("xf").arg(archive).arg("-C").arg(&judge.folder))?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    #[test]
    fn tests_are_found_by_name() {
        let text = "class A:\n    def testB(self):\n    def test_c(self, x):\n  def testB(self):\n def other(self):\n";
        assert_eq!(super::named(text), ["testB", "test_c"]);
    }
}
