//! Test programs: which there are, and how they run.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::workspace;

/// Programs that run at the same time. Each has as many threads as there are processors.
const LANES: usize = 2;

/// Programs that run alone, before the others: their tests have processes that wait for each other by the clock on the wall, and
/// are given up when a busy machine keeps them from answering.
const ALONE: [&str; 13] = [
    "fabric/tests/manager_speed.rs",
    "fabric/tests/opensm_live/",
    "host_driver/capi/tests/c.rs",
    "host_driver/fi/tests/",
    "sim/tests/cable.rs",
    "sim/tests/cluster/",
    "sim/tests/host_driver/",
    "tests/board_cables.rs",
    "tests/c_driver.rs",
    "tests/long_messages.rs",
    "tests/mpi.rs",
    "tests/mpi_reductions.rs",
    "tests/serve.rs",
];

/// Of the others, those that take minutes, the longest first: begun last, one would run by itself while a processor waits.
const LONG: [&str; 5] = [
    "sim/tests/card_rtl/",
    "tests/mac_cocotb.rs",
    "tests/fabric.rs",
    "hdl/tests/emit_blocks.rs",
    "tests/gen.rs",
];

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its package and its source, from the root of the workspace.
    name: String,
    file: PathBuf,
    /// Folder of its package, where it runs.
    package: PathBuf,
}

/// A line of `cargo --message-format=json`, as far as it matters here.
#[derive(Deserialize)]
struct Line {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// The test programs that cargo has built.
pub fn of(said: &str) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for text in said.lines().filter(|text| text.starts_with('{')) {
        let line: Line =
            serde_json::from_str(text).with_context(|| format!("cargo says {text}"))?;
        let (Some(manifest), Some(target), Some(file)) =
            (line.manifest_path, line.target, line.executable)
        else {
            continue;
        };
        if line.reason != "compiler-artifact" || !line.profile.is_some_and(|of| of.test) {
            continue;
        }
        programs.push(Program {
            name: workspace::shown(&target.src_path),
            file,
            package: manifest.parent().map(Path::to_path_buf).unwrap_or_default(),
        });
    }
    Ok(programs)
}

/// Runs all, and prints what each says when it has ended; the names of those that failed. Unless `goes_on`, none begins after
/// one has failed.
pub fn run(programs: Vec<Program>, arguments: &[String], goes_on: bool) -> Result<Vec<String>> {
    let count = programs.len();
    let is_alone = |program: &Program| ALONE.iter().any(|name| program.name.starts_with(name));
    let (alone, mut others): (Vec<_>, Vec<_>) = programs.into_iter().partition(is_alone);
    // Stable: all that are not named stay as they come.
    others.sort_by_key(|program| {
        let at = LONG.iter().position(|name| program.name.starts_with(name));
        at.unwrap_or(LONG.len())
    });
    let waiting = Mutex::new(VecDeque::from(alone));
    let ended = Mutex::new((0, Vec::new()));
    let lane = || -> Result<()> {
        loop {
            let stop = !goes_on && !ended.lock().expect("no panic").1.is_empty();
            let next = waiting.lock().expect("no panic").pop_front();
            let Some(program) = next.filter(|_| !stop) else {
                return Ok(());
            };
            let begun = Instant::now();
            let output = start(&program, arguments)?;
            let mut ended = ended.lock().expect("no panic");
            ended.0 += 1;
            tell(&program, &output, begun.elapsed(), (ended.0, count));
            if !output.status.success() {
                ended.1.push(program.name);
            }
        }
    };
    lane()?;
    waiting.lock().expect("no panic").extend(others);
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        lanes
            .into_iter()
            .try_for_each(|lane| lane.join().expect("no panic"))
    })?;
    Ok(ended.into_inner().expect("no panic").1)
}

fn start(program: &Program, arguments: &[String]) -> Result<Output> {
    Command::new(&program.file)
        .args(arguments)
        .current_dir(&program.package)
        .env("CARGO_MANIFEST_DIR", &program.package)
        .env("TRIBUTARY_TOOLS", workspace::tools_dir())
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", program.name))
}

fn tell(program: &Program, output: &Output, took: Duration, (ended, of): (usize, usize)) {
    println!(
        "\n     Running {} ({ended} of {of}, {:.1} s)",
        program.name,
        took.as_secs_f64()
    );
    print!("{}", String::from_utf8_lossy(&output.stdout));
    if !output.status.success() {
        println!("{}", String::from_utf8_lossy(&output.stderr));
        println!("{} failed: {}", program.name, output.status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_that_are_tests() {
        let root = workspace::root();
        let line = |name: &str, test: bool, file: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"{0}/sim/Cargo.toml","target":{{"src_path":"{0}/sim/{name}"}},"profile":{{"test":{test}}},"executable":{file}}}"#,
                root.display()
            )
        };
        let said = [
            line("src/lib.rs", false, "null"),
            line("src/main.rs", false, r#""/t/main""#),
            line("tests/rtl.rs", true, r#""/t/rtl-1""#),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let wanted = Program {
            name: "sim/tests/rtl.rs".to_owned(),
            file: "/t/rtl-1".into(),
            package: root.join("sim"),
        };
        assert_eq!(of(&said.join("\n")).unwrap(), [wanted]);
    }

    #[test]
    fn what_fails_is_named_and_nothing_begins_after_it() {
        let program = |name: &str, file: &str| Program {
            name: name.to_owned(),
            file: file.into(),
            package: workspace::root(),
        };
        let mut programs = vec![program("good", "/bin/true"), program("bad", "/bin/false")];
        programs.extend((0..40).map(|_| program("later", "/bin/false")));
        assert_eq!(run(programs.clone(), &[], true).unwrap().len(), 41);
        let failed = run(programs, &[], false).unwrap();
        assert!((1..=LANES).contains(&failed.len()), "{failed:?}");
        let gone = vec![program("gone", "/does/not/exist")];
        assert!(run(gone, &[], true).is_err());
    }
}
