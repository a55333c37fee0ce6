//! `--ranks`: one simulation on several threads, or on the processes of an MPI job.

use std::thread;

use anyhow::{Context, Result};
use tributary_sim::fabric::ranks::{Carrier, Mpi, RankEnded, threads};

use crate::Verdict;

/// Most threads.
const THREADS: usize = 256;

/// Who simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// So many threads of this process.
    Threads(usize),
    /// The processes of the MPI job that this one is of.
    Mpi,
}

/// `mpi`, or a number of threads.
pub fn ranks(text: &str) -> Result<Ranks, String> {
    if text == "mpi" {
        return Ok(Ranks::Mpi);
    }
    let count = text.parse().ok().filter(|n| (1..=THREADS).contains(n));
    let count = count.ok_or_else(|| format!("{text} is neither 1 to {THREADS} threads nor mpi"))?;
    Ok(Ranks::Threads(count))
}

/// Runs a part of the simulation on each rank, and returns what the first one of this process says.
pub fn run_on(
    ranks: Ranks,
    part: impl Fn(Box<dyn Carrier>) -> Result<Verdict> + Sync,
) -> Result<Verdict> {
    match ranks {
        Ranks::Threads(count) => thread::scope(|scope| {
            let part = &part;
            let parts = threads(count).into_iter();
            let parts: Vec<_> = parts
                .map(|carrier| scope.spawn(move || part(Box::new(carrier))))
                .collect();
            let ends = parts.into_iter().map(|part| part.join().ok());
            let ends = ends.map(|end| end.context("a rank has broken down")?);
            let ends: Vec<_> = ends.collect();
            // The others say that the one that failed has ended.
            let failed = ends.iter().position(|end| match end {
                Err(error) => error.downcast_ref::<RankEnded>().is_none(),
                Ok(_) => false,
            });
            let told = failed.unwrap_or_default();
            ends.into_iter().nth(told).context("no ranks")?
        }),
        Ranks::Mpi => {
            let mpi = Mpi::start()?;
            let end = mpi.carrier().and_then(|carrier| part(Box::new(carrier)));
            if let Err(error) = &end {
                // The library ends this process.
                eprintln!("error: {error:#}");
            }
            mpi.end(end.is_ok())?;
            end
        }
    }
}
