//! Messages between hosts through the driver, checked to the byte.

use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_host_driver::{
    AddressHandle, Context, EndpointConfig, EndpointEvent, Options, PostError, ReliableEndpoint,
    WorkCompletionStatus,
};

use super::{NetworkConfig, SimDevice, network};

/// Messages that a host has under way.
const UNDER_WAY: usize = 256;
/// Rounds in which nothing ends before a run is given up.
const PATIENCE: u64 = 1_000_000;

/// Every host sends to every other, in turns.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// The network.
    pub network: NetworkConfig,
    /// The endpoint of each host.
    pub endpoint: EndpointConfig,
    /// Largest payload of a packet, bytes.
    pub mtu: u16,
    /// Messages, of all hosts together.
    pub messages: u64,
    /// Bytes of a message: from 16 to this.
    pub largest: usize,
    /// One message in so many has up to so many bytes instead.
    pub longer: Option<(u64, usize)>,
}

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeReport {
    /// Messages that ended OK.
    pub completed: u64,
    /// Messages that ended otherwise.
    pub failed: u64,
    /// Messages that arrived for the first time, with every byte as sent.
    pub delivered: u64,
    /// Messages that arrived again.
    pub duplicated: u64,
    /// Messages that arrived with a byte that was not sent so, or at another host.
    pub corrupted: u64,
    /// Messages that arrived behind one that their sender sent them later.
    pub overtaken: u64,
    /// Packets that were sent again.
    pub resent: u64,
    /// Frames that the links lost.
    pub lost: u64,
    /// Simulated time, ns.
    pub now_ns: u64,
}

impl ExchangeReport {
    /// True if every message ended OK and arrived once, unchanged.
    #[must_use]
    pub fn good(&self, messages: u64) -> bool {
        (self.completed, self.delivered) == (messages, messages)
            && (self.failed, self.duplicated, self.corrupted) == (0, 0, 0)
    }
}

/// Message `number` from one host to another: its number, who it is between, and bytes that follow from these.
fn message(plan: &Exchange, number: u64, between: [u8; 2]) -> Vec<u8> {
    let seed = plan.network.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let largest = match plan.longer {
        Some((every, largest)) if number % every == every - 1 => largest,
        _ => plan.largest,
    };
    let length = 16 + (rng.next_u64() % (largest as u64 - 15)) as usize;
    let mut bytes = vec![0; length];
    rng.fill_bytes(&mut bytes);
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..10].copy_from_slice(&between);
    bytes
}

struct Host {
    device: SimDevice,
    endpoint: ReliableEndpoint,
}

/// Runs it over cards of the model. `watch` is told how many messages have ended.
///
/// # Errors
/// A parameter out of range, an error of the driver, or messages that do not end.
pub fn exchange(plan: &Exchange, watch: &mut dyn FnMut(u64)) -> Result<ExchangeReport> {
    exchange_over(plan, (0..).zip(network(&plan.network)?).collect(), watch)
}

/// The same over cards that are there, each with its node number; of `plan.network`, only the seed counts.
///
/// # Errors
/// As [`exchange`].
pub fn exchange_over(
    plan: &Exchange,
    devices: Vec<(u32, SimDevice)>,
    watch: &mut dyn FnMut(u64),
) -> Result<ExchangeReport> {
    let (every, longest) = plan.longer.unwrap_or((1, 16));
    let largest = plan.largest.min(longest);
    ensure!(largest >= 16, "messages of {largest} bytes: at least 16");
    ensure!(every > 0, "one message in 0 is longer");
    ensure!((2..=64).contains(&devices.len()), "2 to 64 hosts");
    let hosts = devices.into_iter().map(|(node, device)| {
        let options = Options {
            node,
            mtu: plan.mtu,
        };
        let domain = Context::open(Arc::new(device.clone()), options)?.alloc_pd()?;
        let endpoint = ReliableEndpoint::new(&domain, plan.endpoint)?;
        Ok(Host { device, endpoint })
    });
    let mut hosts: Vec<Host> = hosts.collect::<Result<_>>()?;
    let addresses: Vec<AddressHandle> = hosts.iter().map(|host| host.endpoint.address()).collect();
    let mut report = ExchangeReport::default();
    let mut seen = vec![0u64; plan.messages.div_ceil(64) as usize];
    let mut newest = vec![0u64; hosts.len() * hosts.len()];
    let (mut submitted, mut idle) = (0, 0);
    while report.completed + report.failed < plan.messages {
        idle += 1;
        ensure!(idle < PATIENCE, "messages do not end: {report:?}");
        for at in 0..hosts.len() {
            while submitted < plan.messages
                && (submitted % addresses.len() as u64) as usize == at
                && hosts[at].endpoint.pending() < UNDER_WAY
            {
                let turn = submitted / addresses.len() as u64;
                let to = (at + 1 + turn as usize % (addresses.len() - 1)) % addresses.len();
                let bytes = message(plan, submitted, [at as u8, to as u8]);
                match hosts[at].endpoint.send_copy(addresses[to], &bytes) {
                    Ok(_) => submitted += 1,
                    Err(PostError::Full(_)) => break,
                    Err(error) => bail!(error),
                }
            }
            while let Some(event) = hosts[at].endpoint.poll()? {
                idle = 0;
                match event {
                    EndpointEvent::Completed {
                        status: WorkCompletionStatus::Ok,
                        ..
                    } => report.completed += 1,
                    EndpointEvent::Completed { .. } => report.failed += 1,
                    EndpointEvent::Delivered { from, payload } => {
                        let number = payload
                            .first_chunk()
                            .map_or(u64::MAX, |head| u64::from_le_bytes(*head));
                        let sender = addresses.iter().position(|address| *address == from);
                        let between = [sender.map_or(u8::MAX, |at| at as u8), at as u8];
                        if number >= submitted || payload != message(plan, number, between) {
                            report.corrupted += 1;
                            continue;
                        }
                        let (word, bit) = (&mut seen[(number / 64) as usize], 1 << (number % 64));
                        if *word & bit == 0 {
                            report.delivered += 1;
                        } else {
                            report.duplicated += 1;
                        }
                        *word |= bit;
                        let newest = &mut newest[at * addresses.len() + usize::from(between[0])];
                        report.overtaken += u64::from(number < *newest);
                        *newest = number.max(*newest);
                    }
                }
            }
        }
        watch(report.completed + report.failed);
    }
    for host in &hosts {
        let stats = host.endpoint.stats();
        report.resent += stats.resent + stats.rnr_resent;
        report.lost += host
            .device
            .link_stats()
            .iter()
            .map(|link| link.lost)
            .sum::<u64>();
        report.now_ns = tributary_host_driver::Device::now_ns(&host.device);
        let stray = host.device.host_stats().stray;
        ensure!(stray == 0, "{stray} accesses where no memory is");
    }
    Ok(report)
}
