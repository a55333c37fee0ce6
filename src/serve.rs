//! `tributary serve`: simulated cards, or a board, for other processes.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tributary_host_driver::collective::remote::TREES_SOCKET;
use tributary_protocol::red::address::NODES;
use tributary_sim::cable::Cable;
use tributary_sim::card::{
    CardSizes, NetworkConfig, RemoteBoard, SLOT_NS, SimDevice, network_of, serve,
};

use crate::Verdict;
use crate::cards::{Network, OfFabric, cards};
use crate::signals::Signals;
use crate::sim::Engine;

/// How often it is looked whether clients are gone.
const LOOK: Duration = Duration::from_millis(20);

/// Arguments of `tributary serve`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Cards.
    #[arg(long, value_name = "N", default_value_t = 2, conflicts_with = "fabric", value_parser = clap::value_parser!(u32).range(1..=64))]
    cards: u32,
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
    #[command(flatten)]
    board: At,
    /// End when a client has come and none is left.
    #[arg(long)]
    once: bool,
}

/// Where a board is, instead of simulated cards.
#[derive(clap::Args)]
pub struct At {
    /// A board at this network interface, by a cable and no switch. Needs CAP_NET_RAW.
    #[arg(long, value_name = "NAME", group = "at", conflicts_with_all = BOARD_HAS)]
    interface: Option<String>,
    /// A board at this Unix socket: one that `tributary board` simulates.
    #[arg(long, value_name = "SOCKET", group = "at", conflicts_with_all = BOARD_HAS)]
    cable: Option<PathBuf>,
    /// Number of the board's node, which names its socket.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "at", value_parser = clap::value_parser!(u32).range(..i64::from(NODES)))]
    node: u32,
    /// Time after which the link to the board sends again what is not acknowledged, ms. A simulated board is slow.
    #[arg(long, value_name = "MS", default_value_t = 2, requires = "at", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    link_timeout: u64,
}

/// What a board has by itself.
const BOARD_HAS: [&str; 7] = [
    "cards",
    "fabric",
    "engine",
    "loss",
    "dup",
    "reorder",
    "round_trip",
];

impl At {
    /// Whether there is to be a board.
    fn is_named(&self) -> bool {
        self.interface.is_some() || self.cable.is_some()
    }

    /// The board as a card, if there is to be one.
    fn card(&self) -> Result<Option<SimDevice>> {
        let cable = match (&self.interface, &self.cable) {
            (Some(name), _) => {
                Cable::interface(name).with_context(|| format!("interface {name}"))?
            }
            (_, Some(path)) => {
                Cable::connect(path).with_context(|| format!("no cable at {}", path.display()))?
            }
            (None, None) => return Ok(None),
        };
        let board = RemoteBoard::new(cable, Duration::from_millis(self.link_timeout))?;
        let config = NetworkConfig {
            nodes: 1,
            ..NetworkConfig::default()
        };
        let mut cards = network_of(&config, vec![Box::new(board)])?;
        Ok(cards.pop())
    }
}

/// Serves until Ctrl-C, SIGTERM, or with --once until the last client is gone.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let folder = &arguments.sockets;
    let engine = arguments.engine;
    let of_fabric = arguments.fabric.as_ref();
    let of_fabric = of_fabric.map(|path| OfFabric::new(path, engine, arguments.network.seed));
    let of_fabric = of_fabric.transpose()?;
    let (cards, nodes) = match (arguments.board.card()?, &of_fabric) {
        (Some(board), _) => (vec![board], vec![arguments.board.node]),
        (None, Some(OfFabric { cluster, .. })) => {
            (cluster.devices().to_vec(), cluster.nodes().to_vec())
        }
        (None, None) => {
            let sizes = CardSizes::default();
            let cards = cards(
                engine,
                sizes,
                arguments.cards,
                [SLOT_NS; 2],
                &arguments.network,
            )?;
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
    // Whoever finds a card sees by then whether there are switches.
    let trees = of_fabric.map(|fabric| fabric.serve_trees(folder));
    let trees = trees.transpose()?.flatten();
    let places = cards.iter().cloned().zip(paths.iter().cloned());
    let served = serve(places.collect())?;
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
        if arguments.board.is_named() {
            cards.iter().try_for_each(SimDevice::check)?;
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
pub fn remove_stale(path: &Path) -> Result<()> {
    let socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    let refused = || {
        UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    if socket && refused() {
        std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}
