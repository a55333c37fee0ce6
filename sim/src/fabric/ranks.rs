//! A simulation over several ranks (CL-10): threads of one process, or processes of an MPI job on any number of machines.
//!
//! Each rank runs the same program on the same fabric from the same seed, and makes, steps and keeps only its own switches and
//! endpoints ([`owners`]). Time goes on in windows: no frame that is sent in one arrives in it, because every cable takes at
//! least so long ([`Simulator::lookahead`](super::Simulator::lookahead)). Between two windows the ranks tell each other the
//! frames that cross from one to another, and when something happens next. A window depends on the fabric alone and not on
//! where it is cut, and so does the order of what happens at a node: frames and results are the same to the bit, whatever the
//! number of ranks.
//!
//! ```
//! use std::thread;
//! use tributary_sim::fabric::{Fabric, GroupConfig, LinkSpec, Options, Simulator, ranks};
//!
//! let fabric = Fabric::regular(&[4, 4], LinkSpec::default())?;
//! let run = |carrier| {
//!     let options = Options { carrier: Some(Box::new(carrier)), ..Options::default() };
//!     let mut sim = Simulator::build(fabric.clone(), 1, options)?;
//!     sim.record();
//!     sim.add_group(0, &GroupConfig::default())?;
//!     sim.run(10_000)?;
//!     // The first rank knows all that was seen.
//!     sim.gather()?;
//!     anyhow::Ok(sim.sightings().len())
//! };
//! let seen = thread::scope(|scope| {
//!     let ranks: Vec<_> = ranks::threads(2).into_iter().map(|carrier| scope.spawn(move || run(carrier))).collect();
//!     ranks.into_iter().map(|rank| rank.join().unwrap()).collect::<Result<Vec<_>, _>>()
//! })?;
//! assert!(seen[0] > 0);
//! # Ok::<(), anyhow::Error>(())
//! ```

mod mpi;
mod threads;

use std::sync::Arc;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::describe::{Fabric, Place};

pub use mpi::{Mpi, MpiCarrier};
pub use threads::{ThreadCarrier, threads};

/// A rank takes part no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("rank {0} has ended")]
pub struct RankEnded(pub usize);

/// What joins the ranks of a simulation.
pub trait Carrier: Send {
    /// This rank, from 0.
    fn rank(&self) -> usize;
    /// How many there are.
    fn ranks(&self) -> usize;
    /// Gives every rank the message with its number, and takes one of each, its own among them. All ranks make this call as often.
    ///
    /// # Errors
    /// A rank has ended.
    fn exchange(&mut self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>>;
}

/// A frame on its way to a node of another rank.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Crossing {
    /// Clock at which it acts there.
    pub clock: u64,
    pub wire: usize,
    pub number: u64,
    pub damaged: bool,
    pub bytes: Arc<[u8]>,
}

/// What a rank tells another between two windows.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Told {
    /// Clock of what happens next at the sender, or by what it sends.
    next: Option<u64>,
    /// Whether it wants to go on.
    on: bool,
    crossings: Vec<Crossing>,
}

/// What the ranks agree on between two windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    /// Clock of what happens next anywhere.
    pub next: Option<u64>,
    /// Whether one of them wants to go on.
    pub on: bool,
}

/// This rank's part, and its way to the others. Without a carrier it has everything.
pub(super) struct Ranks {
    carrier: Option<Box<dyn Carrier>>,
    /// By slot of a node.
    owners: Vec<usize>,
    /// What leaves for each rank.
    outbox: Vec<Vec<Crossing>>,
}

impl Ranks {
    pub fn new(fabric: &Fabric, carrier: Option<Box<dyn Carrier>>) -> Result<Self> {
        let count = carrier.as_ref().map_or(1, |carrier| carrier.ranks());
        Ok(Self {
            carrier,
            owners: owners(fabric, count)?,
            outbox: (0..count).map(|_| Vec::new()).collect(),
        })
    }

    pub fn rank(&self) -> usize {
        self.carrier.as_ref().map_or(0, |carrier| carrier.rank())
    }

    /// The rank that has a node.
    pub fn owner(&self, slot: usize) -> usize {
        self.owners.get(slot).copied().unwrap_or_default()
    }

    pub fn is_own(&self, slot: usize) -> bool {
        self.owner(slot) == self.rank()
    }

    pub fn send(&mut self, rank: usize, crossing: Crossing) {
        self.outbox[rank].push(crossing);
    }

    /// The end of a window: frames that came for this rank, and what all agree on. `next` is what happens next among its own events.
    pub fn meet(&mut self, next: Option<u64>, on: bool) -> Result<(Agreed, Vec<Crossing>)> {
        let leaving = self.outbox.iter().flatten().map(|crossing| crossing.clock);
        let next = next.into_iter().chain(leaving).min();
        if self.carrier.is_none() {
            return Ok((Agreed { next, on }, Vec::new()));
        }
        let outbox = self.outbox.iter_mut().map(std::mem::take);
        let told = outbox.map(|crossings| Told {
            next,
            on,
            crossings,
        });
        let told = told.collect();
        let told: Vec<Told> = self.exchange(told)?;
        let agreed = Agreed {
            next: told.iter().filter_map(|told| told.next).min(),
            on: told.iter().any(|told| told.on),
        };
        let crossings = told.into_iter().flat_map(|told| told.crossings);
        Ok((agreed, crossings.collect()))
    }

    /// Ends a simulation whose ranks were not given the same: what they tell each other names things by their index.
    pub fn agree_on(&mut self, simulated: &str) -> Result<()> {
        let digest: [u8; 32] = Sha256::digest(simulated).into();
        let told = self.tell(digest)?;
        let other = told.iter().position(|other| *other != digest);
        anyhow::ensure!(
            other.is_none(),
            "rank {} simulates another fabric, seed or kind of switches than rank {}; all ranks must be given the same",
            other.unwrap_or_default(),
            self.rank()
        );
        Ok(())
    }

    /// One message to each rank, and of each, in their order.
    pub fn exchange<T: Serialize + DeserializeOwned>(
        &mut self,
        messages: Vec<T>,
    ) -> Result<Vec<T>> {
        let Some(carrier) = &mut self.carrier else {
            return Ok(messages);
        };
        let bytes = messages.iter().map(postcard::to_stdvec);
        let bytes = bytes.collect::<Result<_, _>>()?;
        let came = carrier.exchange(bytes)?;
        let read = came.iter().map(|bytes| postcard::from_bytes(bytes));
        read.collect::<Result<_, _>>()
            .context("a rank says what cannot be read: it runs another version of this program")
    }

    /// A message to the first rank, which gets that of each.
    pub fn tell_first<T: Serialize + DeserializeOwned + Default>(
        &mut self,
        message: T,
    ) -> Result<Vec<T>> {
        let mut messages: Vec<T> = self.outbox.iter().map(|_| T::default()).collect();
        messages[0] = message;
        self.exchange(messages)
    }

    /// The same message to all.
    pub fn tell<T: Serialize + DeserializeOwned + Clone>(&mut self, message: T) -> Result<Vec<T>> {
        self.exchange(vec![message; self.outbox.len()])
    }
}

/// The rank of each node, switches first, then endpoints: switches that follow each other in the fabric, with what hangs on them,
/// so that all ranks have about as many ports and endpoints. Only cables between switches are cut, and those without a switch.
///
/// # Errors
/// There are more ranks than switches; or, without switches, than endpoints.
pub fn owners(fabric: &Fabric, ranks: usize) -> Result<Vec<usize>> {
    let (switches, endpoints) = (fabric.switches.len(), fabric.endpoints.len());
    let (parts, what) = match switches {
        0 => (endpoints, "endpoints"),
        _ => (switches, "switches"),
    };
    anyhow::ensure!(
        ranks <= parts.max(1),
        "{ranks} ranks for {parts} {what}; each rank has at least one"
    );
    let mut weights = vec![1; parts];
    for (weight, switch) in weights.iter_mut().zip(&fabric.switches) {
        *weight = u64::from(switch.ports);
    }
    let mut homes = vec![None; endpoints];
    for cable in &fabric.cables {
        if let [Place::Endpoint(e), Place::Switch(s, _)]
        | [Place::Switch(s, _), Place::Endpoint(e)] = cable.ends
        {
            homes[e] = Some(s);
            weights[s] += 1;
        }
    }
    let shares = shares(&weights, ranks);
    let of_switches = shares.iter().copied().take(switches);
    let of_endpoints = (0..endpoints).map(|e| match homes[e] {
        Some(switch) => shares[switch],
        None => shares.get(e).copied().unwrap_or_default(),
    });
    Ok(of_switches.chain(of_endpoints).collect())
}

/// Cuts a row into parts of about the same weight, none of them empty.
fn shares(weights: &[u64], parts: usize) -> Vec<usize> {
    let total: u64 = weights.iter().sum();
    let mut before = 0;
    let mut part = 0;
    let mut shares = Vec::new();
    for (at, weight) in weights.iter().enumerate() {
        let left = weights.len() - at;
        // Its middle lies in the next part, or the parts that are left need one each.
        let middle = (2 * before + weight) * parts as u64;
        let beyond = at > 0 && middle >= 2 * total * (part as u64 + 1) && part + 1 < parts;
        if at > 0 && (beyond || left < parts - part) {
            part += 1;
        }
        shares.push(part);
        before += weight;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::LinkSpec;

    #[test]
    fn every_rank_has_a_part_and_the_parts_are_alike() {
        for switches in 1..40 {
            for parts in 1..=switches {
                let shares = shares(&vec![7; switches], parts);
                assert!(shares.is_sorted());
                let count = |part| shares.iter().filter(|p| **p == part).count();
                let counts: Vec<_> = (0..parts).map(count).collect();
                let (least, most) = (counts.iter().min(), counts.iter().max());
                assert!(
                    least.zip(most).is_some_and(|(a, b)| *a > 0 && b - a <= 1),
                    "{counts:?}"
                );
            }
        }
        // One that is heavier than all others together.
        assert_eq!(shares(&[1, 1, 100, 1], 3), [0, 0, 1, 2]);
        assert_eq!(shares(&[100, 1, 1, 1], 4), [0, 1, 2, 3]);
    }

    #[test]
    fn endpoints_are_where_their_switch_is() {
        let fabric = Fabric::regular(&[4, 4], LinkSpec::default()).unwrap();
        let owners = owners(&fabric, 3).unwrap();
        for cable in &fabric.cables {
            if let [Place::Endpoint(e), Place::Switch(s, _)]
            | [Place::Switch(s, _), Place::Endpoint(e)] = cable.ends
            {
                assert_eq!(owners[fabric.switches.len() + e], owners[s]);
            }
        }
        let error = super::owners(&fabric, 6).unwrap_err();
        assert_eq!(
            error.to_string(),
            "6 ranks for 5 switches; each rank has at least one"
        );
    }
}
