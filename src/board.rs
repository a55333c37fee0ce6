//! `tributary board`: simulated boards at cables.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tributary_sim::cable::Cable;
use tributary_sim::card::{BoardKind, CabledBoard, CardSizes, build_board};

use crate::Verdict;
use crate::serve::remove_stale;
use crate::signals::Signals;

/// How often it is looked whether boards have ended.
const LOOK: Duration = Duration::from_millis(20);

/// Arguments of `tributary board`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder for the sockets of the hosts' cables, 0 and 1; made if it is not there.
    #[arg(long, value_name = "DIR")]
    cables: PathBuf,
    /// How much of a board there is.
    #[arg(long, default_value = "pads")]
    kind: Kind,
    /// Every random choice comes from this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// How much of a board there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Card and link, without MACs.
    Streams,
    /// All of it, from the pads of one PHY to those of the other: some five times slower.
    Pads,
}

/// Runs two boards, whose networks are one cable, until both hosts are gone, Ctrl-C or SIGTERM.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let kind = match arguments.kind {
        Kind::Streams => BoardKind::Streams,
        Kind::Pads => BoardKind::Pads,
    };
    let library = build_board(kind, CardSizes::default())?;
    let folder = &arguments.cables;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    // Before there are threads: they must leave the signals to this one.
    let signals = Signals::block()?;
    let stop = Arc::new(AtomicBool::new(false));
    let hosts = Arc::new(AtomicUsize::new(2));
    let (one, other) = Cable::pair()?;
    let mut boards = vec![];
    for (at, network) in [one, other].into_iter().enumerate() {
        let path = folder.join(at.to_string());
        remove_stale(&path)?;
        let listener = UnixListener::bind(&path)
            .with_context(|| format!("cannot listen at {}", path.display()))?;
        let (library, stop) = (library.clone(), Arc::clone(&stop));
        let hosts = Arc::clone(&hosts);
        let seed = arguments.seed.wrapping_add(at as u64);
        let board = std::thread::Builder::new().name(format!("board {at}"));
        let thread = board.spawn(move || {
            let host = Cable::accept(&listener)?;
            let mut board = CabledBoard::new(kind, &library, seed, host, network)?;
            board.run(&hosts, &stop)
        })?;
        boards.push((path, thread));
    }
    let mut out = std::io::stdout();
    for (path, _) in &boards {
        writeln!(out, "{}", path.display())?;
    }
    out.flush()?;
    while boards.iter().any(|(_, thread)| !thread.is_finished()) && !signals.came(LOOK) {}
    stop.store(true, Ordering::Release);
    for (path, thread) in boards {
        // One that nobody has come to still waits for its host.
        if thread.is_finished() {
            let ended = thread.join().map_err(|_| anyhow!("a board has panicked"))?;
            ended.with_context(|| path.display().to_string())?;
        }
        std::fs::remove_file(&path)?;
    }
    Ok(Verdict::Good)
}
