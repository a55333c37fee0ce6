//! Messages with the reliable layer.

use std::collections::HashMap;

use anyhow::{Result, bail};
use tributary_host_driver::{
    AddressHandle, EndpointEvent, PostError, ReliableEndpoint, WorkCompletionStatus,
};

use super::Budget;
use super::figures::Sample;
use super::station::Station;

/// Messages of an endpoint that have been delivered, or have ended OK by their names.
#[derive(Default)]
struct Seen {
    delivered: usize,
    ended: Vec<u64>,
}

/// All that has happened at an endpoint. A message that ended otherwise than OK ends the measurement.
fn drain(endpoint: &mut ReliableEndpoint) -> Result<Seen> {
    let mut seen = Seen::default();
    while let Some(event) = endpoint.poll()? {
        match event {
            EndpointEvent::Delivered { .. } => seen.delivered += 1,
            EndpointEvent::Completed {
                id,
                status: WorkCompletionStatus::Ok,
                ..
            } => seen.ended.push(id),
            EndpointEvent::Completed { id, status, .. } => bail!(
                "message {id} ended as {status}: the network loses more than the reliable layer mends"
            ),
        }
    }
    Ok(seen)
}

/// One message there and one back.
fn ping(
    station: &Station,
    ends: &mut [ReliableEndpoint; 2],
    to: &[AddressHandle; 2],
    payload: &[u8],
    budget: &Budget<'_>,
) -> Result<(u64, u64)> {
    let begun = station.now_ns();
    ends[0].send_copy(to[1], payload)?;
    loop {
        for _ in 0..drain(&mut ends[1])?.delivered {
            ends[1].send_copy(to[0], payload)?;
        }
        if drain(&mut ends[0])?.delivered > 0 {
            return Ok((begun, station.now_ns()));
        }
        budget.idle()?;
    }
}

/// Messages there and back, one at a time.
pub fn latency(station: &Station, budget: &mut Budget<'_>) -> Result<Sample> {
    // One under way, and those that were answered but not yet acknowledged.
    let mut ends = station.endpoints(budget.bytes, 64)?;
    let to = ends.each_ref().map(ReliableEndpoint::address);
    let payload = vec![0x5A; budget.bytes];
    // Opens the connections.
    ping(station, &mut ends, &to, &payload, budget)?;
    let mut sample = Sample::default();
    while budget.more(sample.times.len() as u64) {
        let times = ping(station, &mut ends, &to, &payload, budget)?;
        sample.times.push(times);
        budget.ended();
    }
    Ok(sample)
}

/// As many messages as may be, in one direction.
pub fn rate(station: &Station, budget: &mut Budget<'_>) -> Result<Sample> {
    let mut ends = station.endpoints(budget.bytes, budget.depth.max(64))?;
    let to = ends.each_ref().map(ReliableEndpoint::address);
    let payload = vec![0x5A; budget.bytes];
    ping(station, &mut ends, &to, &payload, budget)?;
    while ends.iter().any(|end| end.pending() > 0) {
        for end in &mut ends {
            drain(end)?;
        }
        budget.idle()?;
    }
    let mut sample = Sample::default();
    let mut under_way = HashMap::new();
    loop {
        while budget.more(sample.times.len() as u64) && under_way.len() < budget.depth {
            let begun = station.now_ns();
            let id = match ends[0].send_copy(to[1], &payload) {
                Ok(id) => id,
                // Pieces of memory come back with the messages.
                Err(PostError::Full(_)) if !under_way.is_empty() => break,
                Err(error) => return Err(error.into()),
            };
            under_way.insert(id, sample.times.len());
            sample.times.push((begun, begun));
        }
        if under_way.is_empty() {
            return Ok(sample);
        }
        let ended = drain(&mut ends[0])?.ended;
        let now = station.now_ns();
        for at in ended.iter().filter_map(|id| under_way.remove(id)) {
            sample.times[at].1 = now;
            budget.ended();
        }
        drain(&mut ends[1])?;
        budget.idle()?;
    }
}
