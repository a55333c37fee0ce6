//! `tributary bench`: measurements of protocols.

pub mod incast;
pub mod long;
pub mod multicast;
pub mod rdmc;
pub mod reduction;
pub mod rw;
pub mod vector;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Subcommand;
use tributary_sim::fabric::{Fabric, LinkSpec, file};

use crate::Verdict;

/// Arguments of `tributary bench`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Goodput of the receiver window and of three older ways to send, over a lossy link that reorders.
    Rw(rw::Arguments),
    /// All-reduce in switches, beside the bare time of its frames and beside recursive doubling by the hosts.
    Reduction(reduction::Arguments),
    /// Multicast routers on networks of up to 40,000 endnodes, beside each other and beside the lower bound.
    Multicast(multicast::Arguments),
    /// Block multicast of large objects beside its step bound and beside broadcasts as MPI libraries do them.
    Rdmc(rdmc::Arguments),
    /// Bulk transfers of all hosts of a fabric to one at once, with marks of switches and without.
    Incast(incast::Arguments),
    /// All-reduce of long vectors through switches, over one tree and over several, beside what the line carries.
    Vector(vector::Arguments),
    /// Long operations by messages, over one tree of the switches, and in blocks by bulk transfers.
    Long(long::Arguments),
}

/// Runs it.
pub fn run(arguments: &Arguments) -> Result<Verdict> {
    match &arguments.what {
        What::Rw(arguments) => rw::run(arguments),
        What::Reduction(arguments) => reduction::run(arguments),
        What::Multicast(arguments) => multicast::run(arguments),
        What::Rdmc(arguments) => rdmc::run(arguments),
        What::Incast(arguments) => incast::run(arguments),
        What::Vector(arguments) => vector::run(arguments),
        What::Long(arguments) => long::run(arguments),
    }
}

/// Hosts of the fabrics of measurements without --fabric: on one switch, and on five.
const HOSTS: usize = 16;
const FIVE: &str = include_str!("../sim/fabrics/cluster.toml");

/// The fabric of a file with so many endpoints or more, or those two, with names for tables.
fn fabrics(path: Option<&Path>, least: usize) -> Result<Vec<(String, Fabric)>> {
    let Some(path) = path else {
        let one = Fabric::regular(&[HOSTS], LinkSpec::default())?;
        let five = file::parse(FIVE, "cluster.toml")?;
        return Ok(vec![("1 switch".into(), one), ("5 switches".into(), five)]);
    };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let fabric = file::parse(&text, &name)?;
    let endpoints = fabric.endpoints.len();
    ensure!(
        endpoints >= least,
        "{name}: {endpoints} endpoints; this takes {least}"
    );
    let file = path.file_stem().map(|stem| stem.to_string_lossy());
    Ok(vec![(file.unwrap_or_default().into_owned(), fabric)])
}
