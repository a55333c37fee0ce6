//! `tributary serve`: simulated cards for other processes.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tributary_host_driver::collective::remote::TREES_SOCKET;
use tributary_sim::card::{SLOT_NS, serve};

use crate::Verdict;
use crate::cards::{Network, OfFabric, cards};
use crate::sim::Engine;

/// How often it is looked whether clients are gone.
const LOOK: Duration = Duration::from_millis(20);

/// Arguments of `tributary serve`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Cards.
    #[arg(long, value_name = "N", default_value_t = 2, conflicts_with = "fabric", value_parser = clap::value_parser!(u16).range(1..=64))]
    cards: u16,
    /// Fabric (TOML) whose endpoints are the cards; its cables, not the options of links, say how frames travel.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["loss", "dup", "reorder", "round_trip"])]
    fabric: Option<PathBuf>,
    /// Folder for the sockets, which are named by node number; made if it is not there.
    #[arg(long, value_name = "DIR")]
    sockets: PathBuf,
    /// What the cards are.
    #[arg(long, default_value = "model")]
    engine: Engine,
    #[command(flatten)]
    network: Network,
    /// End when a client has come and none is left.
    #[arg(long)]
    once: bool,
}

/// Serves until Ctrl-C, SIGTERM, or with --once until the last client is gone.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let folder = &arguments.sockets;
    let engine = arguments.engine;
    let of_fabric = arguments.fabric.as_ref();
    let of_fabric = of_fabric.map(|path| OfFabric::new(path, engine, arguments.network.seed));
    let of_fabric = of_fabric.transpose()?;
    let (cards, nodes) = match &of_fabric {
        Some(OfFabric { cluster, .. }) => (cluster.devices().to_vec(), cluster.nodes().to_vec()),
        None => {
            let cards = cards(engine, arguments.cards, [SLOT_NS; 2], &arguments.network)?;
            (cards, (0..arguments.cards).collect())
        }
    };
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let paths: Vec<PathBuf> = nodes
        .iter()
        .map(|node| folder.join(node.to_string()))
        .collect();
    for path in &paths {
        remove_stale(path)?;
    }
    remove_stale(&folder.join(TREES_SOCKET))?;
    // Before there are threads: they must leave the signals to this one.
    let signals = Signals::block()?;
    let places = cards.iter().cloned().zip(paths.iter().cloned());
    let served = serve(places.collect())?;
    let trees = of_fabric.map(|fabric| fabric.serve_trees(folder));
    let trees = trees.transpose()?.flatten();
    let mut out = std::io::stdout();
    for path in &paths {
        writeln!(out, "{}", path.display())?;
    }
    out.flush()?;
    while !signals.came(LOOK) {
        let (came, there) = served.clients();
        if arguments.once && came > 0 && there == 0 {
            break;
        }
    }
    drop(trees);
    drop(served);
    for (node, card) in nodes.iter().zip(&cards) {
        card.check().with_context(|| format!("card {node}"))?;
    }
    Ok(Verdict::Good)
}

/// Removes a socket that a server left which was killed.
fn remove_stale(path: &Path) -> Result<()> {
    let socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    let refused = || {
        UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    if socket && refused() {
        std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

/// SIGINT and SIGTERM, taken when asked for instead of ending the process.
struct Signals(libc::sigset_t);

impl Signals {
    /// For this thread and those that it starts from now on.
    fn block() -> Result<Self> {
        // SAFETY: a set of signals is plain data; `sigemptyset` makes it a valid one.
        let mut set = unsafe { std::mem::zeroed() };
        // SAFETY: the set is ours.
        let error = unsafe {
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGINT);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut())
        };
        if error != 0 {
            let error = std::io::Error::from_raw_os_error(error);
            return Err(error).context("cannot wait for signals");
        }
        Ok(Self(set))
    }

    /// Whether one comes within this time.
    fn came(&self, within: Duration) -> bool {
        let time = libc::timespec {
            tv_sec: within.as_secs() as libc::time_t,
            tv_nsec: i64::from(within.subsec_nanos()) as libc::c_long,
        };
        // SAFETY: a valid set and time; nobody asks who sent it.
        let signal =
            unsafe { libc::sigtimedwait(&raw const self.0, std::ptr::null_mut(), &raw const time) };
        signal > 0
    }
}
