//! `tributary serve`: simulated cards for other processes.

use std::io::{Read, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use tributary_sim::card::{NetworkConfig, network, serve};
use tributary_sim::link::LinkConfig;

use crate::Verdict;

/// Arguments of `tributary serve`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder for the sockets, which are named by node number; made if it is not there.
    folder: PathBuf,
    /// Cards.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    nodes: u16,
    /// Probability that a frame is lost.
    #[arg(long, default_value_t = 0.0)]
    loss: f64,
    /// Probability that a frame arrives twice.
    #[arg(long, default_value_t = 0.0)]
    dup: f64,
    /// How far frames overtake each other, slots of 100 ns.
    #[arg(long, default_value_t = 0)]
    reorder: u32,
    /// Seed of every random choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Serves until its input ends or it is stopped.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    let config = NetworkConfig {
        nodes: arguments.nodes,
        link: LinkConfig {
            loss: arguments.loss,
            duplication: arguments.dup,
            reorder_slots: arguments.reorder,
            ..NetworkConfig::default().link
        },
        seed: arguments.seed,
        ..NetworkConfig::default()
    };
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let cards = network(&config)?.into_iter().enumerate();
    let cards = cards.map(|(node, card)| (card, folder.join(node.to_string())));
    let served = serve(cards.collect())?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "{} cards in {}; end the input to stop",
        arguments.nodes,
        folder.display()
    )?;
    out.flush()?;
    std::io::copy(&mut std::io::stdin().take(u64::MAX), &mut std::io::sink())?;
    drop(served);
    Ok(Verdict::Good)
}
