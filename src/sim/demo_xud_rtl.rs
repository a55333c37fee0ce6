//! `tributary sim --demo xud --engine rtl`: the same plan through the driver, on Verilated cards.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_host_driver::{
    Context, Counter, EndpointConfig, EndpointEvent, Options, PostError, ReliableEndpoint,
    WorkCompletionStatus,
};
use tributary_protocol::xud::{CardStats, MAX_MESSAGE};
use tributary_sim::card::{CardSizes, SimDevice};
use tributary_sim::xud::{Plan, Report};

use crate::cards::{Network, cards};
use crate::sim::Engine;

/// Without a message that ends for so long, a run is given up.
const PATIENCE: Duration = Duration::from_secs(120);
/// Counters of packets that were not acted upon.
const DROPS: [Counter; 14] = [
    Counter::AckOverload,
    Counter::RxOverflow,
    Counter::BadFrame,
    Counter::NotXud,
    Counter::BadOpcode,
    Counter::BadHeader,
    Counter::BadQp,
    Counter::BadKey,
    Counter::BadLength,
    Counter::StaleEpoch,
    Counter::Rnr,
    Counter::AckUnknown,
    Counter::AckSource,
    Counter::AckEcho,
];

/// What cards dropped, by reason.
pub type Dropped = BTreeMap<&'static str, u64>;

/// A host at either end.
struct Host {
    context: Context,
    device: SimDevice,
    endpoint: ReliableEndpoint,
}

/// Message `number`: its number, then bytes that follow from it.
fn message(plan: &Plan, number: u64) -> Vec<u8> {
    let mut bytes = vec![0; plan.size];
    let mut rng = ChaCha8Rng::seed_from_u64(plan.seed ^ number.wrapping_mul(0x9E37_79B9));
    rng.fill_bytes(&mut bytes);
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// Two hosts on Verilated cards.
fn hosts(plan: &Plan) -> Result<[Host; 2]> {
    let network = Network {
        loss: plan.loss,
        dup: plan.duplication,
        reorder: plan.reorder_slots,
        round_trip: plan.round_trip_slots,
        seed: plan.seed,
    };
    let config = EndpointConfig {
        windows: plan.windows,
        receives: 1_024,
        sends: 1_024,
        timeout: plan.timeout(),
        attempts: 16,
        ordered: plan.ordered,
        copy_bytes: (2 * MAX_MESSAGE).max(1 << 20),
        ..EndpointConfig::default()
    };
    let host = |(node, device): (usize, SimDevice)| {
        let options = Options {
            node: node as u32,
            mtu: plan.mtu,
        };
        let context = Context::open(Arc::new(device.clone()), options)?;
        let endpoint = ReliableEndpoint::new(&context.alloc_pd()?, config)?;
        Ok(Host {
            context,
            device,
            endpoint,
        })
    };
    let devices = cards(
        Engine::Rtl,
        CardSizes::default(),
        2,
        [plan.slot_ns; 2],
        &network,
    )?;
    let hosts = devices.into_iter().enumerate().map(host);
    let hosts: Vec<Host> = hosts.collect::<Result<_>>()?;
    hosts.try_into().ok().context("two cards were made")
}

/// Runs it; with what the cards dropped. `watch` is told how many messages have ended.
pub fn run(plan: &Plan, watch: &mut dyn FnMut(u64)) -> Result<(Report, [Dropped; 2])> {
    let mut hosts = hosts(plan)?;
    let to = hosts[1].endpoint.address();
    let begun = now(&hosts);
    let mut report = Report {
        completed: 0,
        failed: 0,
        first_failure: None,
        delivered: 0,
        duplicated: 0,
        corrupted: 0,
        overtaken: 0,
        layers: Default::default(),
        cards: Default::default(),
        links: Default::default(),
        connection_bytes: [0; 2],
        slots: 0,
    };
    let mut seen = vec![false; plan.messages as usize];
    let (mut submitted, mut newest) = (0, 0);
    let mut last = Instant::now();
    while report.completed + report.failed < plan.messages {
        while submitted < plan.messages && hosts[0].endpoint.pending() < 2 * plan.windows as usize {
            match hosts[0].endpoint.send_copy(to, &message(plan, submitted)) {
                Ok(_) => submitted += 1,
                Err(PostError::Full(_)) => break,
                Err(error) => bail!(error),
            }
        }
        for host in &mut hosts {
            while let Some(event) = host.endpoint.poll()? {
                last = Instant::now();
                match event {
                    EndpointEvent::Completed {
                        status: WorkCompletionStatus::Ok,
                        ..
                    } => report.completed += 1,
                    EndpointEvent::Completed { status, .. } => {
                        report.failed += 1;
                        report.first_failure.get_or_insert(status);
                    }
                    EndpointEvent::Delivered { payload, .. } => {
                        let head = payload.first_chunk();
                        let number = head.map_or(u64::MAX, |head| u64::from_le_bytes(*head));
                        if number >= submitted || payload != message(plan, number) {
                            report.corrupted += 1;
                        } else if std::mem::replace(&mut seen[number as usize], true) {
                            report.duplicated += 1;
                        } else {
                            report.delivered += 1;
                            report.overtaken += u64::from(number < newest);
                            newest = newest.max(number);
                        }
                    }
                }
            }
        }
        ensure!(
            last.elapsed() < PATIENCE,
            "messages do not end: {} of {} have",
            report.completed + report.failed,
            plan.messages
        );
        watch(report.completed + report.failed);
    }
    report.slots = (now(&hosts) - begun) / plan.slot_ns;
    let mut dropped = [Dropped::new(), Dropped::new()];
    for (at, host) in hosts.iter().enumerate() {
        let counter = |counter| host.context.counter(counter);
        report.cards[at] = CardStats {
            sent: counter(Counter::Sent)?,
            acks_sent: counter(Counter::AcksSent)?,
            accepted: counter(Counter::Accepted)?,
            acknowledged: counter(Counter::Acknowledged)?,
            timeouts: counter(Counter::Timeouts)?,
            stalls: counter(Counter::StallPlace)?,
            ack_overload: counter(Counter::AckOverload)?,
            ..CardStats::default()
        };
        for reason in DROPS {
            let count = counter(reason)?;
            if count > 0 {
                dropped[at].insert(reason.name(), count);
            }
        }
        report.layers[at] = host.endpoint.stats();
        report.connection_bytes[at] = host.endpoint.connection_bytes();
        report.links[at] = host.device.link_stats()[1 - at];
        host.device.check().with_context(|| format!("card {at}"))?;
    }
    Ok((report, dropped))
}

fn now(hosts: &[Host; 2]) -> u64 {
    tributary_host_driver::Device::now_ns(&hosts[0].device)
}
