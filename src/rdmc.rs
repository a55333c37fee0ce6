//! `tributary rdmc`: reliable multicast of large objects.

mod draw;
mod schedule;

use anyhow::Result;
use clap::Subcommand;

use crate::Verdict;

pub use draw::colour;
pub use schedule::Shape;

/// Arguments of `tributary rdmc`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Print who sends which block to whom at which step, or draw it.
    Schedule(schedule::Arguments),
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    match &arguments.what {
        What::Schedule(arguments) => schedule::run(arguments),
    }
}
