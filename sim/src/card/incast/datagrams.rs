//! The same with messages of the reliable layer, each of one packet, of which every sender always has some waiting.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use tributary_host_driver::{
    AddressHandle, Context, Device, EndpointConfig, EndpointEvent, Options, ReliableEndpoint,
    WorkCompletionStatus,
};
use tributary_protocol::xud::{Packet, wire};

use super::{Incast, IncastReport, PATIENCE, Passed, SimDevice, content, prepare, watched};
use crate::card::Cluster;
use crate::fabric::{Fabric, Simulator};

/// Messages of a sender that have not ended, at most.
const WAITING: usize = 128;
/// Bytes of the number that a message begins with.
const NUMBER: usize = 4;

/// Sends instead of writing: `plan.bytes` of each sender in messages of an MTU. Of the plan the deliberate errors are not looked
/// at.
///
/// # Errors
/// A fabric that cannot be or is too small, an error of the driver or of `cards`, or messages that do not end.
pub fn incast_datagrams(
    fabric: &Fabric,
    plan: &Incast,
    cards: impl FnOnce(Simulator) -> Result<Cluster>,
    watch: &mut dyn FnMut(u64),
) -> Result<IncastReport> {
    let cluster = cards(Simulator::new(prepare(fabric, plan)?, plan.seed)?)?;
    let seen = watched(&cluster, message);
    let (device, mut receiver) = open(&cluster, plan, 0)?;
    let to = receiver.address();
    let mut senders = Vec::new();
    for endpoint in 1..plan.bytes.len() {
        if plan.bytes[endpoint] > 0 {
            senders.push(Sender::new(&cluster, plan, endpoint)?);
        }
    }
    let by_address = senders.iter().enumerate();
    let by_address = by_address.map(|(at, sender)| (sender.endpoint.address(), at));
    let by_address: HashMap<AddressHandle, usize> = by_address.collect();
    let (mut delivered, mut ended) = (0, 0);
    for looked in 0.. {
        let mut now = 0;
        for sender in &mut senders {
            now += sender.work(to)?;
        }
        receiver.flush()?;
        while receiver.stats().delivered > delivered {
            // An event waits, so the simulation stands.
            let Some(EndpointEvent::Delivered { from, payload }) = receiver.poll()? else {
                bail!("the receiver has sent nothing, and is told that it has");
            };
            delivered += 1;
            let at = by_address.get(&from).context("a message of nobody")?;
            senders[*at].arrived(&payload);
        }
        if now > ended {
            ended = now;
            watch(ended);
        }
        if senders.iter().all(Sender::is_over) {
            break;
        }
        ensure!(looked < PATIENCE, "{ended} messages have ended");
        device.idle()?;
    }
    let mut report = IncastReport::default();
    for sender in &senders {
        let stats = sender.endpoint.stats();
        report.sent += stats.posted;
        report.resent += stats.resent + stats.rnr_resent;
        report.told += stats.marked;
        report.ok += usize::from(sender.ok == sender.count);
        report.right += usize::from(sender.right == sender.count);
    }
    report.look(&cluster, &seen)?;
    Ok(report)
}

fn open(
    cluster: &Cluster,
    plan: &Incast,
    endpoint: usize,
) -> Result<(SimDevice, ReliableEndpoint)> {
    let options = Options {
        node: cluster.nodes()[endpoint],
        mtu: plan.mtu,
    };
    let device = cluster.devices()[endpoint].clone();
    let context = Context::open(Arc::new(device.clone()), options)?;
    context.set_congestion(plan.congestion)?;
    let config = EndpointConfig {
        // All windows of all senders, so that nobody is told to wait for the host.
        receives: (plan.bytes.len() * 32).next_power_of_two() as u16,
        ..EndpointConfig::default()
    };
    let endpoint = ReliableEndpoint::new(&context.alloc_pd()?, config)?;
    Ok((device, endpoint))
}

/// Who sends, and what became of it.
struct Sender {
    endpoint: ReliableEndpoint,
    /// Of each message: a number, then bytes that only this sender has.
    content: Vec<u8>,
    count: usize,
    sent: usize,
    ended: usize,
    ok: usize,
    /// Messages that came right, each once.
    right: usize,
    here: Vec<bool>,
}

impl Sender {
    fn new(cluster: &Cluster, plan: &Incast, endpoint: usize) -> Result<Self> {
        let mtu = usize::from(plan.mtu);
        let count = plan.bytes[endpoint].div_ceil(mtu);
        Ok(Self {
            endpoint: open(cluster, plan, endpoint)?.1,
            content: content(plan.seed, endpoint, mtu - NUMBER),
            count,
            sent: 0,
            ended: 0,
            ok: 0,
            right: 0,
            here: vec![false; count],
        })
    }

    /// Sends what may wait and takes what has ended, while the simulation stands; how many messages have ended.
    fn work(&mut self, to: AddressHandle) -> Result<u64> {
        while self.sent < self.count && self.sent - self.ended < WAITING {
            let number = (self.sent as u32).to_le_bytes();
            let message = [number.as_slice(), &self.content].concat();
            self.endpoint.send_copy(to, &message)?;
            self.sent += 1;
        }
        self.endpoint.flush()?;
        while self.ended + self.endpoint.pending() < self.sent {
            let Some(EndpointEvent::Completed { status, .. }) = self.endpoint.poll()? else {
                bail!("a sender has received something");
            };
            self.ended += 1;
            self.ok += usize::from(status == WorkCompletionStatus::Ok);
        }
        Ok(self.ended as u64)
    }

    fn arrived(&mut self, payload: &[u8]) {
        let Some((number, rest)) = payload.split_first_chunk::<NUMBER>() else {
            return;
        };
        let here = self.here.get_mut(u32::from_le_bytes(*number) as usize);
        if let Some(here) = here
            && rest == self.content
            && !std::mem::replace(here, true)
        {
            self.right += 1;
        }
    }

    fn is_over(&self) -> bool {
        self.ended == self.count
    }
}

/// What of a frame counts, if it is a message.
fn message(frame: &[u8], clock: u64, clocks: u64) -> Option<Passed> {
    let (from, Packet::Send(send)) = wire::decode_frame(frame).ok()? else {
        return None;
    };
    let (number, _) = send.payload.split_first_chunk::<NUMBER>()?;
    (send.flags == 0).then(|| Passed {
        clock,
        from,
        number: u32::from_le_bytes(*number),
        payload: send.payload.len(),
        clocks,
    })
}
